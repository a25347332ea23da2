"""Short names of agents: the name of a run's folder in place of its path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath


def short_names(whats: Sequence[str]) -> list[str]:
    """The end of each path, with as many folders as make it unique; options after `?` stay.

    >>> short_names(["runs/a/demo", "runs/b/other?post=purify", "uniform"])
    ['demo', 'other?post=purify', 'uniform']
    >>> short_names(["runs/a/demo", "runs/b/demo"])
    ['a/demo', 'b/demo']
    """
    return [_short(what, {other for other in whats if other != what}) for what in whats]


def _short(what: str, others: set[str]) -> str:
    parts = PurePath(what.partition("?")[0]).parts
    least = 2 if parts and parts[-1].startswith("strategy.") else 1  # a file of a run: its folder has the name
    for count in range(least, len(parts)):
        if (ending := _ending(what, count)) not in {_ending(other, count) for other in others}:
            return ending
    return what


def _ending(what: str, count: int) -> str:
    """The last parts of a path, with its options."""
    path, mark, options = what.partition("?")
    return "/".join(PurePath(path).parts[-count:]) + mark + options
