"""Draws the equity of the 169 hands (docs/student.md) from computed numbers: `.venv/bin/python docs/draw.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import equipoise
from equipoise.cards.deck import RANKS
from equipoise.cards.ranges import GRID

PICTURES = Path(__file__).parent / "pictures"


def draw_preflop_equity() -> None:
    """Exact equity of each of the 169 hands against any other, all boards enumerated."""
    by_hole = equipoise.equity("any", "any").hole_equity[0]
    grid = np.zeros((13, 13))
    for cell in GRID:
        row, column = (cell.high, cell.low) if cell.kind == "s" else (cell.low, cell.high)
        grid[12 - row, 12 - column] = by_hole[cell.holes[0]]
    figure, axes = plt.subplots(figsize=(8.2, 7.2), dpi=85)
    image = axes.imshow(grid, cmap="RdYlGn", vmin=0.28, vmax=0.72)
    for cell in GRID:
        row, column = (cell.high, cell.low) if cell.kind == "s" else (cell.low, cell.high)
        share = grid[12 - row, 12 - column]
        axes.text(12 - column, 12 - row, f"{cell.name}\n{100 * share:.1f}", ha="center", va="center", fontsize=7.5)
    axes.set_xticks(range(13), reversed(RANKS))
    axes.set_yticks(range(13), reversed(RANKS))
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title("Exact equity against a random hand, percent (suited above the diagonal)", fontsize=11)
    figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03, format=lambda share, _: f"{share:.0%}")
    figure.tight_layout()
    figure.savefig(PICTURES / "preflop-equity.png")


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    draw_preflop_equity()
