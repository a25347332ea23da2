"""What `strategy show` and `strategy pack` print for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.render.spot_grid import print_grid
from equipoise.cli.render.tables import Table, print_table, say
from equipoise.core.wording import counted, size_text

if TYPE_CHECKING:
    from equipoise.strategy.packed import Packed
    from equipoise.strategy.show import StrategyView

MOST_ROWS = 200  # of a table of buckets


def print_strategy(view: StrategyView) -> None:
    """A decision of a strategy: the grid, each hand, or each bucket."""
    where = f"after {view.line}" if view.line else "at the root"
    board = f"{view.deck.text(view.board, ' ')}  " if view.board else ""
    say(f"{board}{view.street}, {where}: {view.seat} to act")
    if view.by_hole:
        for action, often in zip(view.actions, view.frequency, strict=True):
            print(f"  {action:<12} {often:8.2%}")
    if view.has_grid:
        from equipoise.cards.range_grid import range_grid

        print_grid(range_grid(view.holes, view.weight, view.strategy), view.actions)
    elif view.by_hole:
        table = Table("action frequencies by hand, percent", ["hand", "bucket", "weight", *view.actions])
        for i in range(len(view.holes)):
            mix = (f"{100 * p:.1f}" for p in view.strategy[:, i])
            table.add_row(view.hole_text(i), f"{view.bucket[i]:,}", f"{view.weight[i]:.3f}", *mix)
        print_table(table)
    else:
        table = Table("action frequencies by bucket, percent", ["bucket", *view.actions])
        for bucket, row in enumerate(view.table[:MOST_ROWS]):
            table.add_row(f"{bucket:,}", *(f"{100 * p:.1f}" for p in row))
        print_table(table)
        if len(view.table) > MOST_ROWS:
            say(f"and {len(view.table) - MOST_ROWS:,} more buckets; --json has all, --board shows hands")


def print_packed(packed: Packed) -> None:
    """What a packed file holds, and how large it is."""
    parts = f"probabilities {size_text(packed.levels_bytes)}, cards {size_text(packed.cards_bytes)}"
    bits = 8 * packed.levels_bytes / packed.infosets
    say(f"{packed.path}: {size_text(packed.bytes)} ({parts})")
    say(f"{counted(packed.infosets, 'information set')}, units of 1/{packed.units}, {bits:.1f} bits each")
