"""One symbol and one colour for each action, the same in every grid, table and picture.

`f` fold, `x` check, `c` call, `A` all-in, and `1`, `2`, ... for bets and raises from small to large. Colours are those
of most solvers: folds blue, checks and calls green, bets red, the larger the darker.
"""

from __future__ import annotations

from collections.abc import Sequence

SELDOM = 5e-5  # an action that is shown as 0.00%: the few hands that take it are the noise of the solve
_GREEN = "#6fbf73", "black on green"
_PASSIVE = {"fold": ("f", "#5b8bd0", "bright_white on blue"), "check": ("x", *_GREEN), "call": ("c", *_GREEN)}
_BETS = (
    ("#f4a582", "black on bright_yellow"),
    ("#e8704a", "black on yellow"),
    ("#cf3f34", "black on bright_red"),
    ("#a81f2b", "white on red"),
)
_ALL_IN = "A", "#58101f", "white on magenta"
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


def terminal_styles(actions: Sequence[str]) -> list[str]:
    """A style for each action name, in colours that every terminal has."""
    return [style[2] for style in _styles(actions)]


def _styles(actions: Sequence[str]) -> list[tuple[str, str, str]]:
    """Symbol, colour and terminal style of each action."""
    bets = [action for action in actions if action not in _PASSIVE and not action.startswith("all-in")]
    found = []
    for action in actions:
        if action in _PASSIVE:
            found.append(_PASSIVE[action])
        elif action in bets:
            place = bets.index(action)
            found.append((_SIGNS[place % len(_SIGNS)], *_BETS[(place + 1) * len(_BETS) // (len(bets) + 1)]))
        else:
            found.append(_ALL_IN)
    return found
