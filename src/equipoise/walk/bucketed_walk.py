"""One street of the vector walk for players who act by bucket: reach and values by hole, tables by bucket.

A bucketed player plays in proportion to the positive entries of its table. Its regrets are summed over the holes of a
bucket: values are counterfactual, without the player's own reach, so this is exact for perfect and imperfect recall. A
responder takes the best action of each hole and records it for the walk that answers. The same two passes serve whole
games (`BoardRule`, every board with its probability) and public chance sampling (`solvers/public_chance.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Float, Int
from equipoise.core.jit import F32, F64, I32, I64, U8, U16, U32, inlined, inner, kernel, view
from equipoise.tree.betting_tree import DECISION
from equipoise.tree.board_buckets import PresentBuckets
from equipoise.walk.bucket_decisions import (
    BucketBuffers,
    add_average_by_bucket,
    add_regrets_by_bucket,
    choose_best,
    match_regrets_by_bucket,
    mean_value_by_bucket,
    pass_chosen,
    pass_reach_by_bucket,
    sum_by_bucket,
)
from equipoise.walk.plan import Plan, WalkBuffers, padded, row_of, rows_of
from equipoise.walk.regret_matching import best_value, sum_rows


class WalkFlags(NamedTuple):
    """What a walk does at decisions, and its discounts. A walker who does not respond plays its table and regrets."""

    trunk: int = 0  # number of streets on which a responder plays by tables, too
    responds: bool = False  # below the trunk, the walker takes the best action of each hole
    writes: bool = False  # and records it
    answers: bool = False  # the opponent plays the recorded actions
    averaging: bool = False  # otherwise it may add to its average
    positive: Float = np.float32(1)  # factor of positive regrets before adding
    negative: Float = np.float32(1)  # factor of negative regrets
    keep: Float = np.float32(1)  # factor of the average
    floor: Float = np.float32(-np.inf)  # least regret


class RecordedActions(NamedTuple):
    """The recorded actions of a responder; empty where nobody responds."""

    action: U8 = np.zeros(0, np.uint8)  # flat, blocks of [decision, hole]
    first: I64 = np.zeros((0, 2), np.int64)  # [board, player] where a block starts
    row: I32 = np.zeros(0, np.int32)  # [place] a decision's row in its block


class BucketRule(NamedTuple):
    """The decision rule of players who act by bucket."""

    offset: I64  # [place] a decision's slot in its player's table, first action of the first bucket
    stride: I64  # [place] from bucket to bucket
    mine: F32  # [slot] the walker's table
    theirs: F32  # [slot] the opponent's
    regret: F32  # [slot] IN OUT: the walker's regrets are added here
    average: F32  # [slot] IN OUT: the opponent's reach x strategy is added here
    buffers: BucketBuffers
    flags: WalkFlags
    recorded: RecordedActions


class Cells(NamedTuple):
    """The buckets of one player's holes on one board."""

    board: Int
    street: Int
    number: U16  # [hole] of its bucket among the present ones
    present: U32  # [present bucket] the bucket


class BoardRule(NamedTuple):
    """A bucket rule on the boards of a game."""

    present: PresentBuckets
    board_weight: F64  # [board] its probability given two holes, times the size of its class
    rule: BucketRule


@inner
def descend_by_bucket(group: Int, cells: Cells, gain: Float, plan: Plan, rule: BucketRule, work: WalkBuffers) -> None:
    """Pass the opponent's reach from a group's entries to all of its nodes, and add to its average, times `gain`."""
    program, walker, flags, number = plan.program, plan.walker, rule.flags, cells.number
    size, street, buffers = number.size, cells.street, rule.buffers
    base, length = work.reach_base[street], padded(size)
    rows = program.reach_row[walker]
    for place in range(program.group_first[group], program.group_first[group + 1]):
        if program.kind[place] != DECISION or program.player[place] == walker:
            continue
        reach = row_of(work.reach, base, rows[place], length)[:size]
        child, count = program.first_child[place], np.int64(program.num_children[place])
        below = rows_of(work.reach, base, rows[child], count, length)
        if flags.answers and street >= flags.trunk:
            chosen = rule.recorded.first[cells.board, 1 - walker] + rule.recorded.row[place] * size
            pass_chosen(reach, rule.recorded.action[chosen : chosen + size], below)
            continue
        chance = rows_of(buffers.chance, 0, 0, count, cells.present.size)
        match_regrets_by_bucket(rule.theirs[rule.offset[place] :], rule.stride[place], cells.present, count, chance)
        pass_reach_by_bucket(reach, number, chance, below)
        if flags.averaging:
            total = buffers.total[: cells.present.size]
            sum_by_bucket(reach, number, total)
            block = rule.average[rule.offset[place] :]
            add_average_by_bucket(cells.present, chance, total, gain, flags.keep, rule.stride[place], block)


@inner
def ascend_by_bucket(
    group: Int, cells: Cells, symmetric: bool, orbit: U16, gain: Float, plan: Plan, rule: BucketRule, work: WalkBuffers
) -> None:
    """Turn the values of a group's terminals and deals into those of its decisions; add regrets, times `gain`.

    IN: where a responder's holes are `symmetric`, uint16[hole] the first of each orbit.
    """
    program, walker, flags, number = plan.program, plan.walker, rule.flags, cells.number
    size, street, buffers = number.size, cells.street, rule.buffers
    start, base, length = program.group_first[group], work.value_base[street], padded(size)
    responds = flags.responds and street >= flags.trunk
    for place in range(program.group_first[group + 1] - 1, start - 1, -1):
        if program.kind[place] != DECISION:
            continue
        value = row_of(work.value, base, place - start, length)[:size]
        count = np.int64(program.num_children[place])
        values = rows_of(work.value, base, program.first_child[place] - start, count, length)
        if program.player[place] != walker:
            sum_rows(values, value)
            continue
        if responds and flags.writes:
            chosen = rule.recorded.first[cells.board, walker] + rule.recorded.row[place] * size
            choose_best(values, symmetric, orbit, rule.recorded.action[chosen : chosen + size], value)
            continue
        if responds:
            best_value(values, value)
            continue
        chance = rows_of(buffers.chance, 0, 0, count, cells.present.size)
        total = rows_of(buffers.total, 0, 0, count, cells.present.size)
        match_regrets_by_bucket(rule.mine[rule.offset[place] :], rule.stride[place], cells.present, count, chance)
        mean_value_by_bucket(values, number, chance, value)
        for action in range(count):
            sum_by_bucket(values[action][:size], number, total[action])
        block, stride = rule.regret[rule.offset[place] :], rule.stride[place]
        add_regrets_by_bucket(
            cells.present, chance, total, gain, flags.positive, flags.negative, flags.floor, buffers.mean, stride, block
        )


@view
def cells_of(board: Int, street: Int, player: Int, plan: Plan, present: PresentBuckets) -> Cells:
    """A player's buckets on a board of a game."""
    holes, size = plan.boards.first[board, player], plan.boards.counts[board, player]
    first, count = present.first[board, player], present.counts[board, player]
    return Cells(
        np.int64(board), np.int64(street), present.number[holes : holes + size], present.bucket[first : first + count]
    )


@inlined
def descend_board(group: Int, board: Int, street: Int, plan: Plan, rule: BoardRule, work: WalkBuffers) -> None:
    """Reach down a group on a board of a game."""
    cells = cells_of(board, street, 1 - plan.walker, plan, rule.present)
    descend_by_bucket(group, cells, work.reach.dtype.type(rule.board_weight[board]), plan, rule.rule, work)


@inlined
def ascend_board(
    group: Int, board: Int, street: Int, last: bool, plan: Plan, rule: BoardRule, work: WalkBuffers
) -> None:
    """Values up a group on a board of a game."""
    cells = cells_of(board, street, plan.walker, plan, rule.present)
    first = plan.boards.first[board, plan.walker]
    orbit = plan.boards.orbit[first : first + cells.number.size]
    gain, symmetric = work.value.dtype.type(rule.board_weight[board]), plan.boards.symmetric[board] != 0 and not last
    ascend_by_bucket(group, cells, symmetric, orbit, gain, plan, rule.rule, work)


@kernel
def add_thread_sums(first: Int, stop: Int, positive: Float, negative: Float, sums: F32, table: F32) -> None:
    """Discount some slots, add the sums of all threads, and clear those. IN OUT: float[thread, slot], float[slot]."""
    for slot in range(first, stop):
        old = table[slot]
        total = old * (positive if old > 0 else negative)
        for thread in range(sums.shape[0]):
            total += sums[thread, slot]
            sums[thread, slot] = 0
        table[slot] = total
