"""The 13 x 13 grid of hands at a terminal: a bar of letters in each cell, one letter an action.

With 80 columns a cell has five letters, each a fifth of the hand's play; narrower terminals get shorter bars. Colours
are added where the terminal has them, and never needed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.cards.action_style import action_symbols, terminal_styles
from equipoise.cli.render.tables import layout_width
from equipoise.core.visible_text import drawing_stream, visible

if TYPE_CHECKING:
    from rich.text import Text

    from equipoise.cards.range_grid import GridCell

LEAST_WEIGHT = 1e-3  # of a hand: below, it counts as never here
_RANKS = "AKQJT98765432"


def print_grid(grid: list[list[GridCell]], actions: Sequence[str], *, key: bool = True) -> None:
    """The grid, and with `key` the letters of its actions."""
    length = max(2, min(5, (layout_width() - 1) // 13 - 1))  # letters a cell, with a space before each
    lines = [_plain("  " + " ".join(f"{rank:^{length}}" for rank in _RANKS).rstrip())]
    for rank, cells in zip(_RANKS, grid, strict=True):
        line = _plain(rank)
        for cell in cells:
            line.append(" ")
            line.append_text(_cell_text(cell, actions, length))
        lines.append(line)
    if key:
        print_legend(actions)
    parts = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth"}[length]
    for line in lines:
        _print(line)
    _print(_plain(f"a letter is {parts} of a hand's play; suited hands top right"))
    _print(_plain(". not in the range   - in the range, but never here"))


def print_legend(actions: Sequence[str]) -> None:
    """The letter of each action, on as many lines as the terminal needs."""
    line = _plain("")
    for symbol, style, action in zip(action_symbols(actions), terminal_styles(actions), actions, strict=True):
        if line.cell_len + len(action) + 2 > layout_width():
            _print(line)
            line = _plain("")
        line.append(symbol, style=style)
        line.append(f" {action}   ")
    _print(line)


def bar(mix: Sequence[float], length: int) -> list[int]:
    """[letter] the action of each letter of a bar: as many letters as its share, the largest remainders rounded up."""
    exact = [share * length for share in mix]
    letters = [int(share) for share in exact]
    by_remainder = sorted(range(len(mix)), key=lambda a: letters[a] - exact[a])
    for action in by_remainder[: length - sum(letters)]:
        letters[action] += 1
    return [action for action, count in enumerate(letters) for _ in range(count)]


def _cell_text(cell: GridCell, actions: Sequence[str], length: int) -> Text:
    if cell.weight < LEAST_WEIGHT:
        return _plain(f"{'-' if cell.holes else '.':^{length}}")
    text = _plain("")
    letters = bar(cell.mix, length)
    for action, (symbol, style) in enumerate(zip(action_symbols(actions), terminal_styles(actions), strict=True)):
        if action in letters:
            text.append(symbol * letters.count(action), style=style)
    return text


def _plain(text: str) -> Text:
    from rich.text import Text

    return Text(visible(text))


def _print(line: Text) -> None:
    from rich.console import Console

    line.rstrip()
    Console(file=drawing_stream(sys.stdout), highlight=False, soft_wrap=True).print(line)
