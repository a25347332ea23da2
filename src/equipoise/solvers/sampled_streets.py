"""The walk of public chance sampling on sampled boards: of a whole game, of its first street, of a subtree below it.

Reach goes down and values come up by the passes of `walk/bucketed_walk.py`, street by street; one board follows each
deal, and both players have the same list of holes on all streets. `sampled_last_street.py` walks the last street.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Float, Int
from equipoise.core.jit import F32, I64, inlined, kernel, view
from equipoise.solvers.board_samples import Samples
from equipoise.solvers.sampled_last_street import BucketedTables, LastStreetBuffers, walk_sampled_batches
from equipoise.walk.bucket_decisions import BucketBuffers
from equipoise.walk.bucketed_walk import (
    BucketRule,
    Cells,
    RecordedActions,
    WalkFlags,
    ascend_by_bucket,
    descend_by_bucket,
)
from equipoise.walk.last_street.packing import ROOT, EntryBatches
from equipoise.walk.plan import Plan, WalkBuffers, padded, row_of
from equipoise.walk.terminals import evaluate_terminals

ANY_REGRET = np.float32(-np.inf)  # no lower bound


def rule_of(tables: BucketedTables, buffers: BucketBuffers) -> BucketRule:
    """The decisions of the streets before the last."""
    return BucketRule(
        tables.offset, tables.stride, tables.regret, tables.regret, tables.increment, tables.average,
        buffers, WalkFlags(averaging=True, floor=tables.floor), RecordedActions(),
    )  # fmt: skip


@view
def sampled_cells(board: Int, street: Int, samples: Samples) -> Cells:
    """The buckets of a sampled board on a street: both players have the same holes."""
    present = samples.present[board, street, : samples.num_present[board, street]]
    return Cells(np.int64(board), np.int64(street), samples.number[board, street], present)


@inlined
def copy_reach_down(group: Int, board: Int, street: Int, plan: Plan, samples: Samples, work: WalkBuffers) -> None:
    """Set the reach of a group's entries to that of their deals, for the same list of holes; at the root, a weight."""
    program, size = plan.program, samples.number.shape[2]
    rows = program.reach_row[plan.walker]
    for entry in range(program.group_entries[group], program.group_entries[group + 1]):
        reach = row_of(work.reach, work.reach_base[street], rows[program.entries[entry]], padded(size))
        deal = program.entry_deal[entry]
        if deal == ROOT:
            for h in range(size):
                reach[h] = samples.weight[board]
        else:
            source = row_of(work.reach, work.reach_base[int(street) - 1], rows[deal], padded(size))
            for h in range(size):
                reach[h] = source[h]


@inlined
def copy_values_up(group: Int, street: Int, plan: Plan, samples: Samples, work: WalkBuffers) -> None:
    """Set the values of the deals above a group to those of its entries: one board follows each deal."""
    program, size = plan.program, samples.number.shape[2]
    for entry in range(program.group_entries[group], program.group_entries[group + 1]):
        deal = program.entry_deal[entry]
        if deal == ROOT:
            continue
        row = program.entries[entry] - program.group_first[group]
        value = row_of(work.value, work.value_base[street], row, padded(size))
        row = deal - program.group_first[program.street_groups[street - 1]]
        target = row_of(work.value, work.value_base[int(street) - 1], row, padded(size))
        for h in range(size):
            target[h] = value[h]


@kernel
def descend_streets(
    first: Int, stop: Int, board: Int, gain: Float, plan: Plan, samples: Samples, rule: BucketRule, work: WalkBuffers
) -> None:
    """Some streets before the last, down. Showdowns there see the full board. The average's increments count `gain`."""
    groups = plan.program.street_groups
    for street in range(first, stop):
        for group in range(groups[street], groups[street + 1]):
            copy_reach_down(group, board, street, plan, samples, work)
            descend_by_bucket(group, sampled_cells(board, street, samples), gain, plan, rule, work)
            evaluate_terminals(group, board, street, True, plan, work)


@kernel
def ascend_streets(
    first: Int, stop: Int, board: Int, gain: Float, plan: Plan, samples: Samples, rule: BucketRule, work: WalkBuffers
) -> None:
    """Some streets before the last, up. Regrets count `gain`."""
    groups, orbit = plan.program.street_groups, plan.boards.orbit
    for street in range(int(stop) - 1, int(first) - 1, -1):
        for group in range(groups[street], groups[street + 1]):
            cells = sampled_cells(board, street, samples)
            ascend_by_bucket(group, cells, False, orbit, gain, plan, rule, work)
            copy_values_up(group, street, plan, samples, work)


@kernel
def walk_samples(
    plan: Plan, batches: EntryBatches, samples: Samples, tables: BucketedTables, rule: BucketRule,
    space: LastStreetBuffers, work: WalkBuffers,
) -> None:  # fmt: skip
    """All boards of an iteration in one thread."""
    last = samples.num_present.shape[1] - 1
    for board in range(samples.weight.size):
        descend_streets(0, last, board, tables.average_gain, plan, samples, rule, work)
        walk_sampled_batches(0, batches.num_lanes.size, board, plan, batches, samples, tables, space, work)
        ascend_streets(0, last, board, tables.gain, plan, samples, rule, work)


class SubtreeRows(NamedTuple):
    """The boards of a subtree, and the rows that come in and go out at the deal that it hangs from."""

    boards: I64  # [row] the board
    reach: F32  # [row, hole] the opponent's
    value: F32  # [row, hole] OUT: the walker's


@kernel
def walk_subtree(
    rows: SubtreeRows, plan: Plan, batches: EntryBatches, samples: Samples, tables: BucketedTables, rule: BucketRule,
    space: LastStreetBuffers, work: WalkBuffers,
) -> None:  # fmt: skip
    """Boards below a deal that ends the first street, which is the whole first street of the program."""
    last, size = samples.num_present.shape[1] - 1, samples.number.shape[2]
    reach = row_of(work.reach, work.reach_base[0], 0, padded(size))
    value = row_of(work.value, work.value_base[0], 0, padded(size))
    for row in range(rows.boards.size):
        board = rows.boards[row]
        for h in range(size):
            reach[h] = rows.reach[row, h]
        descend_streets(1, last, board, tables.average_gain, plan, samples, rule, work)
        walk_sampled_batches(0, batches.num_lanes.size, board, plan, batches, samples, tables, space, work)
        ascend_streets(1, last, board, tables.gain, plan, samples, rule, work)
        for h in range(size):
            rows.value[row, h] = value[h]


@kernel
def add_increments(floor: Float, increment: F32, regret: F32) -> None:
    """Add the increments of all boards to regrets, and clear them. IN OUT: float[slot] x 2."""
    for i in range(regret.size):
        regret[i] = max(regret[i] + increment[i], floor)
        increment[i] = 0
