"""Small pieces of sentences: counted things, sizes of memory, and what a misspelt word was meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def counted(count: int, thing: str, things: str = "") -> str:
    """A number of things; the plural is written out where it has more than an `s`.

    >>> counted(1, "board"), counted(1755, "board"), counted(2, "entry", "entries")
    ('1 board', '1,755 boards', '2 entries')
    """
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def the_street(name: str) -> str:
    """A street in a sentence.

    >>> the_street("flop"), the_street("preflop"), the_street("round 2")
    ('the flop', 'preflop', 'round 2')
    """
    return f"the {name}" if name in ("flop", "turn", "river") else name


def size_text(count: float) -> str:
    """Bytes in the largest unit that leaves at least one: 1.18 GB. Units of 1,000."""
    unit = 0
    while count >= 1000 and unit < len(_UNITS) - 1:
        count /= 1000
        unit += 1
    return counted(round(count), "byte") if unit == 0 else f"{count:,.3g} {_UNITS[unit]}"


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """The remedy for an unknown word: the name that was probably meant, and all names.

    >>> did_you_mean("sede", ["method", "seed"])
    'did you mean seed? known: method, seed'
    """
    names = list(names)
    near = get_close_matches(word, names, 1)
    return f"{f'did you mean {near[0]}? ' if near else ''}known: {', '.join(names)}"
