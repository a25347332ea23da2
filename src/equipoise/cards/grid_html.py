"""The 13 x 13 grid of hold'em hands in HTML, for notebooks: a range, or what a player does with each hand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from equipoise.cards.action_style import action_colours
from equipoise.cards.deck import FULL_DECK
from equipoise.cards.range_grid import GridCell, range_grid
from equipoise.core.display import TEXT, caption_html, rows_html

_IN_RANGE = "#e8b64c"
_EMPTY = "#f2f2f2"
_CELL = "width:34px;height:26px;font:11px sans-serif;text-align:center;border:1px solid #fff"


def decision_text(view: Any) -> str:
    """A decision in one line: the class, the line and board, how often each action is taken."""
    often = zip(view.actions, view.frequency.tolist(), strict=True)
    return f"{type(view).__name__}({_place(view)}: {', '.join(f'{action} {share:.1%}' for action, share in often)})"


def _place(view: Any) -> str:
    """The line and the board of a decision."""
    return ", ".join(filter(None, (view.line or "first decision", view.deck.text(view.board))))


def decision_html(view: Any) -> str:
    """The grid of a decision in hold'em; in other games a row for each hole: `_repr_html_ = decision_html`."""
    if view.hole_cards == 2 and view.deck.size == FULL_DECK.size and len(view.holes):
        grid = range_grid(view.holes, view.weight, view.strategy)
        return grid_html(grid, view.actions, view.frequency.tolist(), _place(view))
    rows = [
        {"hand": view.hole_text(i), **dict(zip(view.actions, view.strategy[:, i].tolist(), strict=True))}
        for i in range(len(view.holes))
    ]
    return rows_html(rows or view.to_rows(), repr(view))


def grid_html(
    grid: Sequence[Sequence[GridCell]], actions: Sequence[str] = (), often: Sequence[float] = (), caption: str = ""
) -> str:
    """The grid with a legend; without actions, the weight of each hand."""
    colours = action_colours(actions)
    rows = "".join(f"<tr>{''.join(_cell(cell, actions, colours) for cell in row)}</tr>" for row in grid)
    legend = "".join(
        f'<span style="border-left:14px solid {colour};padding:0 14px 0 5px">{escape(action)} {share:.1%}</span>'
        for action, colour, share in zip(actions, colours, often, strict=True)
    )
    table = f'<table style="border-collapse:collapse">{rows}</table>'
    return f'{caption_html(caption)}{table}<div style="{TEXT}">{legend}</div>'


def _cell(cell: GridCell, actions: Sequence[str], colours: Sequence[str]) -> str:
    """A cell filled from below to its weight, in the colours of its actions."""
    if cell.weight <= 0:
        return f'<td style="{_CELL};background:{_EMPTY};color:#aaa">{cell.name}</td>'
    parts, at = [], 0.0
    for colour, share in zip(colours or [_IN_RANGE], cell.mix if actions else [1.0], strict=True):
        parts.append(f"{colour} {100 * at:.1f}% {100 * (at + share):.1f}%")
        at += share
    mixed = ", ".join(f"{action} {share:.0%}" for action, share in zip(actions, cell.mix, strict=False) if share > 0)
    title = escape(f"{cell.name}: weight {cell.weight:.2f}" + (f"; {mixed}" if mixed else ""))
    fill = (
        f"linear-gradient(90deg, {', '.join(parts)}) bottom / 100% {100 * min(cell.weight, 1):.0f}% no-repeat {_EMPTY}"
    )
    return f'<td title="{title}" style="{_CELL};background:{fill};color:#000">{cell.name}</td>'
