"""The 13 x 13 grid of hold'em hands as data: what pages, pictures and terminals draw. Nothing is drawn here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.cards.ranges import GRID, HOLES, Cell


@dataclass(frozen=True)
class GridCell:
    """A cell of the grid: a hand such as `AKs`, and what the player does with it."""

    name: str
    holes: int  # number of holes that can be held here: blocked ones are left out
    weight: float  # their mean weight; 0 if the hand is not in the range
    mix: tuple[float, ...]  # the frequency of each action; empty where the weight is 0


def range_grid(holes: Any, weight: Any, strategy: Any) -> list[list[GridCell]]:
    """Thirteen rows of thirteen cells, aces first, suited hands above the diagonal.

    IN: int[place] the holes, float[place] their weights, float[action, place] how often each takes each action.
    """
    place = np.full(HOLES, -1)
    place[holes] = np.arange(len(holes))
    rows: list[list[GridCell]] = [[] for _ in range(13)]
    for row in range(13):
        for column in range(13):
            cell = _cell(row, column)
            held = place[list(cell.holes)]
            held = held[held >= 0]
            total = float(weight[held].sum())
            mix = strategy[:, held] @ weight[held] / total if total > 0 else ()
            mean = total / len(held) if len(held) else 0.0
            rows[row].append(GridCell(cell.name, len(held), mean, tuple(float(share) for share in mix)))
    return rows


def _cell(row: int, column: int) -> Cell:
    """The hand at a place of the grid."""
    high, low = 12 - min(row, column), 12 - max(row, column)
    return _CELLS[high, low, "" if row == column else "s" if row < column else "o"]


_CELLS = {(cell.high, cell.low, cell.kind): cell for cell in GRID}
