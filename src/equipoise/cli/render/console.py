"""What commands print for people: tables, sizes, progress. Numbers come in, text goes out; nothing is computed here."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from equipoise.cli.render.tables import size_text

if TYPE_CHECKING:
    from rich.table import Table

    from equipoise.spots.problem import Problem
    from equipoise.spots.solution import NodeView, Solution
    from equipoise.strategy.show import StrategyView


def print_table(table: Table) -> None:
    """To standard output, as wide as it needs when that is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=160)
    console.print(table)


def plain_table(title: str, columns: list[str], *, left: int = 1) -> Table:
    """An empty table; the first columns are aligned to the left, numbers to the right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < left else "right")
    return table


def print_solution(solution: Solution, saved: str, *, by_hand: bool) -> None:
    """The result of a solve and the strategy at the root."""
    spot = solution.problem.spot
    print(f"{solution.iterations} iterations in {solution.seconds:.1f} s ({solution.cpu_seconds:.1f} s of CPU)")
    if spot:
        half = spot.pot / 2
        print(f"exploitability {solution.percent:.3f}% of the pot")
        print(f"EV  oop {solution.value(0) + half:.2f}   ip {solution.value(1) + half:.2f}   of a pot of {spot.pot}")
    else:
        print(f"exploitability {10 * solution.percent:.3f} mbb/g")
        print(f"value of player 0: {solution.value(0):.7g} chips a hand")
    print_node(solution.strategy(), by_hand=by_hand)
    print(f"saved as {saved}; show it with: equipoise solve show {saved} --line ...")


def print_node(view: NodeView, *, by_hand: bool) -> None:
    """A decision of a solution: action frequencies, the grid of hands, and optionally each hand."""
    import numpy as np

    where = f"after {view.line}" if view.line else "at the root"
    side = ("oop", "ip")[view.player] if view.hole_cards == 2 else f"player {view.player}"
    print(f"\n{view.deck.text(view.board, ' ')}  {where}: {side} to act")
    total = float(view.weight.sum())
    ev = (view.ev * view.strategy * view.weight).sum(axis=1)
    for action, often, worth in zip(view.actions, view.frequency, ev, strict=True):
        mean = f"EV {worth / (often * total):9.2f}" if often * total > 1e-9 else ""
        print(f"  {action:<12} {often:8.2%}  {mean}")
    if view.hole_cards == 2 and view.deck.size == 52:
        print_grid(view)
    if by_hand or view.hole_cards == 1:
        print()
        for i in np.argsort(-view.weight, kind="stable"):
            if view.weight[i] > 0 or view.hole_cards == 1:
                mix = "  ".join(f"{name} {p:6.1%}" for name, p in zip(view.actions, view.strategy[:, i], strict=True))
                best = float(view.ev[:, i] @ view.strategy[:, i])
                share = f"{view.equity[i]:7.2%}" if view.equity[i] == view.equity[i] else "      -"
                print(f"{view.hole_text(int(i))}  weight {view.weight[i]:5.3f}  EV {best:9.2f}  equity {share}  {mix}")


def print_grid(view: NodeView | StrategyView) -> None:
    """The 13 x 13 grid: for each cell, the most frequent action and its frequency."""
    import numpy as np
    from rich.text import Text

    from equipoise.cards.ranges import GRID, HOLES

    colours = ("cyan", "green", "yellow", "red", "magenta", "blue")
    place = np.full(HOLES, -1)
    place[view.holes] = np.arange(len(view.holes))
    rows = [[Text("") for _ in range(13)] for _ in range(13)]
    for cell in GRID:
        held = place[list(cell.holes)]
        held = held[held >= 0]
        weight = view.weight[held]
        row, column = (cell.high, cell.low) if cell.kind == "s" else (cell.low, cell.high)
        text = Text(f"{cell.name:<3}", style="dim")
        if weight.sum() > 0:
            mix = view.strategy[:, held] @ weight / weight.sum()
            main = int(mix.argmax())
            text = Text(
                f"{cell.name:<3}{view.actions[main][0]}{100 * mix[main]:3.0f}", style=colours[main % len(colours)]
            )
        rows[12 - row][12 - column] = text
    table = plain_table("most frequent action of each hand, percent (suited above the diagonal)", [""] * 13, left=13)
    table.show_header = False
    for cells in rows:
        table.add_row(*cells)
    print_table(table)


@contextmanager
def solve_progress(problem: Problem, storage: str, *, quiet: bool) -> Iterator[Callable[[int, float, float], None]]:
    """Print the size of a solve, then its progress, on standard error."""
    unit = "% of the pot" if problem.spot else "% of the big blind"
    if not quiet:
        from equipoise.walk.table_storage import table_type

        boards, nodes = len(problem.cards.cards), len(problem.tree)
        size = size_text(problem.memory_bytes(stored=table_type(storage)))
        menu = f"menu {problem.tree.menu.name}, " if problem.tree.menu and problem.tree.menu.name else ""
        print(
            f"{menu}{nodes} betting nodes, {boards} boards, {size}; compiling on the first run",
            file=sys.stderr,
        )
    last = 0.0

    def show(iteration: int, seconds: float, left: float) -> None:
        nonlocal last
        if sys.stderr.isatty() and time.monotonic() - last > 0.5 and not quiet:
            last = time.monotonic()
            print(
                f"\riteration {iteration}  {seconds:.1f} s  exploitability {left:.3f}{unit} ", end="", file=sys.stderr
            )

    yield show
    if last:
        print(file=sys.stderr)
