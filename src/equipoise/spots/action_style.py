"""One symbol and one colour for each action, the same in every grid, table and picture.

`f` fold, `x` check, `c` call, `A` all-in, and `1`, `2`, ... for bets and raises from small to large. Colours are those
of most solvers: folds blue, checks and calls green, bets red, the larger the darker.
"""

from __future__ import annotations

from collections.abc import Sequence

_PASSIVE = {"fold": ("f", "#5b8bd0"), "check": ("x", "#6fbf73"), "call": ("c", "#6fbf73")}
_BETS = ("#f4a582", "#e8704a", "#cf3f34", "#a81f2b", "#7d1128")
_ALL_IN = "#58101f"
_SIGNS = "123456789bdeghijklmnopqrstuvwyz"


def action_symbols(actions: Sequence[str]) -> list[str]:
    """A letter or digit for each action name.

    >>> action_symbols(["fold", "call", "raise 300", "all-in 800"])
    ['f', 'c', '1', 'A']
    """
    return [style[0] for style in _styles(actions)]


def action_colours(actions: Sequence[str]) -> list[str]:
    """A colour for each action name, as #rrggbb."""
    return [style[1] for style in _styles(actions)]


def _styles(actions: Sequence[str]) -> list[tuple[str, str]]:
    bets = [action for action in actions if action not in _PASSIVE and not action.startswith("all-in")]
    found = []
    for action in actions:
        if action in _PASSIVE:
            found.append(_PASSIVE[action])
        elif action in bets:
            place = bets.index(action)
            found.append((_SIGNS[place % len(_SIGNS)], _BETS[place * len(_BETS) // max(len(bets), len(_BETS))]))
        else:
            found.append(("A", _ALL_IN))
    return found
