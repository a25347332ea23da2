"""What `equity` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.render.tables import Table, print_table, say

if TYPE_CHECKING:
    from equipoise.cards.equity import Equity
    from equipoise.cards.ranges import Range


def print_equity(result: Equity, names: tuple[str, str]) -> None:
    """Equity of both sides."""
    table = Table("", ["hands", "equity", "win", "tie", "lose"])
    shares = ((result.win, result.lose), (result.lose, result.win))
    for name, equity, (win, lose) in zip(names, result.equity, shares, strict=True):
        table.add_row(name, *(f"{share:.4%}" for share in (equity, win, result.tie, lose)))
    print_table(table)
    say(f"exact: {result.boards:,} board{'s' * (result.boards > 1)} for each pair of hands")


def print_hole_equities(result: Equity, ranges: tuple[Range, Range]) -> None:
    """Each hand of the first range, best first."""
    import numpy as np

    from equipoise.cards.ranges import hole_text

    shares = result.hole_equity[0]
    held = [hole for hole in np.argsort(-shares, kind="stable") if shares[hole] == shares[hole]]
    for hole in held:
        print(f"{hole_text(int(hole))}  weight {ranges[0].weights[hole]:.3g}  equity {shares[hole]:9.4%}")
