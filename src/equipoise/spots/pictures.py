"""Pictures of solutions: a decision as a grid with bars, a report as heat maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from equipoise.cards.action_style import SELDOM, action_colours
from equipoise.cards.deck import FULL_DECK, RANKS, SUITS
from equipoise.core.errors import InputError
from equipoise.core.files.writing import write_whole
from equipoise.core.pictures import plain_texts, save_figure
from equipoise.spots.report import PLAYER_NAMES, SpotReport
from equipoise.spots.solution import NodeView

_EMPTY, _UNREACHED = "#efefef", "#d9d9d9"
_FEWEST_BARS = 4  # room for this many bars, so that two are not as thick as the picture
_MAPS = {"fold": "Blues", "check": "Greens", "call": "Greens"}  # of frequencies; bets are red
_SUIT_SIGNS = dict(zip(SUITS, "♣♦♥♠", strict=True))


def draw_node(view: NodeView, path: str | Path) -> None:
    """The grid of a decision: each cell is filled by its actions, as high as its weight. Beside it a bar an action."""
    if not view.has_grid:
        raise InputError("no grid for this game", remedy="pictures are of hold'em hands")
    with plain_texts():
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(10.4, 6.6), dpi=100, gridspec_kw={"width_ratios": (2.1, 1)}, layout="constrained"
        )
        _draw_grid(view, left)
        _draw_bars(view, right)
        figure.suptitle(_title(view), fontsize=12)
        _save(figure, path)


def _title(view: NodeView) -> str:
    where = f"after {view.line}" if view.line else "at the root"
    side = f"{PLAYER_NAMES[view.player]} to act"
    reached = "" if view.reached else "  (never reached: these numbers mean nothing)"
    return f"{pretty_cards(view.deck.text(view.board))}   {where}: {side}, pot {view.pot:,}{reached}"


def pretty_cards(text: str) -> str:
    """Cards with suit signs: Q♠ J♥ 2♥."""
    return " ".join(text[i] + _SUIT_SIGNS[text[i + 1]] for i in range(0, len(text), 2))


def _draw_grid(view: NodeView, axes: Any) -> None:
    colours = action_colours(view.actions)
    for row, cells in enumerate(view.grid()):
        for column, cell in enumerate(cells):
            axes.add_patch(Rectangle((column, row), 1, 1, fc=_UNREACHED if cell.holes else _EMPTY))
            start = float(column)
            for share, colour in zip(cell.mix, colours, strict=False):
                box = Rectangle((start, row + 1 - cell.weight), share, cell.weight, fc=colour, ec="none")
                axes.add_patch(box)
                start += share
            axes.add_patch(Rectangle((column, row), 1, 1, fc="none", ec="white", lw=1.2))
            axes.text(
                column + 0.06, row + 0.3, cell.name, fontsize=8, ha="left", va="center",
                color="black" if cell.mix else "#999999",
            )  # fmt: skip
    axes.set(xlim=(0, 13), ylim=(13, 0), aspect="equal")
    axes.axis("off")


def _draw_bars(view: NodeView, axes: Any) -> None:
    colours = action_colours(view.actions)
    count = len(view.actions)
    frequency, worth = np.nan_to_num(view.frequency), view.action_ev
    axes.barh(range(count), 100 * frequency, color=colours, height=0.6)
    for i, action in enumerate(view.actions):
        ev = "" if frequency[i] < SELDOM else f"   EV {worth[i]:,.1f}"
        axes.text(0, i - 0.36, f"{action}   {frequency[i]:.1%}{ev}", fontsize=10, va="bottom")
    axes.set(xlim=(0, 100), ylim=(max(count, _FEWEST_BARS) - 0.4, -1), xlabel="how often, percent", yticks=[])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    other = PLAYER_NAMES[1 - view.player]
    axes.set_title(
        f"{PLAYER_NAMES[view.player]}: EV {view.range_ev:,.2f}, equity {view.range_equity:.1%}\n"
        f"{other}: EV {view.opponent_ev:,.2f}, equity {1 - view.range_equity:.1%}",
        fontsize=10,
    )


def draw_report(report: SpotReport, path: str | Path) -> None:
    """A runout report as heat maps of rank and suit; a report over flops as stacked bars."""
    with plain_texts():
        figure = _runout_maps(report) if report.what != "flop" else _flop_bars(report)
        _save(figure, path)


def _runout_maps(report: SpotReport) -> Any:
    """For each action its frequency, then the player's EV and equity: four rows of thirteen cards each."""
    player = PLAYER_NAMES[report.player]
    maps = [(f"{action}, percent", action, _MAPS.get(action, "Reds"), 100.0) for action in report.actions]
    maps += [
        (f"EV of {player}, chips", "ev", "viridis", 1.0),
        (f"equity of {player}, percent", "equity", "viridis", 100.0),
    ]
    rows = (len(maps) + 1) // 2
    figure, axes = plt.subplots(
        rows, 2, figsize=(11.5, 2.05 * rows + 0.4), dpi=100, layout="constrained", squeeze=False
    )
    for (title, column, colours, scale), axis in zip(maps, axes.flat, strict=False):
        grid = np.full((4, 13), np.nan)
        for row, value in zip(report.rows, report.values(column), strict=True):
            card = FULL_DECK.read_card(row.cards)
            if row.reached:
                grid[3 - FULL_DECK.suit(card), 12 - FULL_DECK.rank(card)] = scale * value
        shares = column in report.actions
        image = axis.imshow(grid, cmap=colours, vmin=0 if shares else None, vmax=100 if shares else None, aspect="auto")
        for (y, x), value in np.ndenumerate(grid):
            if not np.isnan(value):
                dark = image.norm(value) > 0.6 if shares else image.norm(value) < 0.5
                axis.text(
                    x, y, f"{value:.0f}", ha="center", va="center", fontsize=8, color="white" if dark else "black"
                )
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(13), reversed(RANKS))
        axis.set_yticks(range(4), [_SUIT_SIGNS[suit] for suit in reversed(SUITS)])
        axis.tick_params(length=0)
    for axis in list(axes.flat)[len(maps) :]:
        axis.axis("off")
    after = f"after {report.line} on {pretty_cards(report.board)}"
    figure.suptitle(f"each {report.what} {after}: {player} to act", fontsize=12)
    return figure


def _flop_bars(report: SpotReport) -> Any:
    """For each flop a bar of its actions, and both players' EV beside it."""
    count, player = len(report.rows), PLAYER_NAMES[report.player]
    figure, axes = plt.subplots(figsize=(9, 1.4 + 0.32 * count), dpi=100, layout="constrained")
    left = np.zeros(count)
    for number, (action, colour) in enumerate(zip(report.actions, action_colours(report.actions), strict=True)):
        shares = 100 * np.nan_to_num(np.array([row.frequency[number] for row in report.rows]))
        axes.barh(range(count), shares, left=left, color=colour, label=action, height=0.8)
        left += shares
    for number, row in enumerate(report.rows):
        axes.text(101, number, f"EV {row.ev[report.player]:,.1f}", va="center", fontsize=9)
    axes.set_yticks(range(count), [pretty_cards(row.cards) for row in report.rows])
    axes.set(xlim=(0, 100), ylim=(count - 0.5, -0.5), xlabel="how often, percent")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6, frameon=False, fontsize=9)
    where = f"after {report.line}" if report.line else "at the root"
    axes.set_title(f"{player} {where}", loc="right", fontsize=10)
    return figure


def _save(figure: Any, path: str | Path) -> None:
    write_whole(Path(path), lambda unfinished: save_figure(figure, unfinished))
