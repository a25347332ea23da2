"""The last street of public chance sampling, sixteen betting entries side by side (`walk/last_street/`).

A decision reads sixteen blocks of regrets into [bucket, action, lane] for the buckets that are present on the board, so
that a hole finds sixteen probabilities in one place. Sums over the holes of a bucket are written back the same way.
Unlike a best response, a decision needs the value of every action: those rows are kept separate until it is finished.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equipoise.cards.showdown import without
from equipoise.core.arrays import Float, Int, aligned_zeros
from equipoise.core.jit import F32, I32, I64, U16, U32, inlined, inner, kernel
from equipoise.core.simd import LANES, add, load, multiply, multiply_add, store, subtract, zeros
from equipoise.solvers.board_samples import Samples
from equipoise.walk.betting_program import BettingProgram
from equipoise.walk.last_street.packing import (
    EntryBatches,
    LaneAddresses,
    factors_at,
    gather_batch,
    make_addresses,
    pack_entries,
    row_at,
    scatter_batch,
)
from equipoise.walk.last_street.program import BEGIN_THEIRS, FINISH_MINE, NOTHING, LastStreetOp, op_at
from equipoise.walk.last_street.terminals import (
    ALL,
    SUMS,
    BoardHoles,
    MyTerminals,
    OpBuffers,
    board_holes,
    called,
    folded,
    make_op_buffers,
    run_op,
)
from equipoise.walk.plan import Plan, WalkBuffers, padded
from equipoise.walk.regret_matching import LEAST


class BucketedTables(NamedTuple):
    """The tables of a run, and how much is added to them. Sums over holes are weighted by the board's weight."""

    offset: I64  # [place] the slot of a decision's first action in the first bucket
    stride: I64  # [place] distance to the next bucket
    regret: F32
    increment: F32  # where regrets are added: the same array as `regret` where an iteration has one board
    average: F32
    gain: Float  # factor of new regrets
    floor: Float  # lower bound of regrets
    average_gain: Float  # factor of reach x strategy


class LastStreetBuffers(NamedTuple):
    """Memory of one thread."""

    ops: OpBuffers
    chance: F32  # [level, present bucket, action, lane] of the opponent's decisions; a last level for mine
    total: F32  # [present bucket, action, lane]
    inverse: F32  # [lane]
    uniform: F32  # [lane]
    starts: I64  # [lane]
    addresses: LaneAddresses


def pack_by_slot(program: BettingProgram, walker: int, slots: I64) -> EntryBatches:
    """The batches of one walker, with the value of every action. IN: int64[place] the slots of decisions."""
    return pack_entries(program, walker, separate=True, slots=slots).arrays()


def make_last_street_buffers(batches: EntryBatches, holes: int, present: int) -> LastStreetBuffers:
    """Memory for boards with `holes` holes and at most `present` buckets."""
    slots = present * batches.max_actions * LANES
    return LastStreetBuffers(
        ops=make_op_buffers(batches.reach_rows, batches.value_rows, int(padded(holes)), np.float32),
        chance=aligned_zeros((batches.reach_rows + 1) * slots, np.float32),
        total=aligned_zeros(slots, np.float32),
        inverse=aligned_zeros(LANES, np.float32),
        uniform=aligned_zeros(LANES, np.float32),
        starts=np.zeros(LANES, np.int64),
        addresses=make_addresses(),
    )


@kernel
def walk_sampled_batches(
    first: Int,
    stop: Int,
    board: Int,
    plan: Plan,
    batches: EntryBatches,
    samples: Samples,
    tables: BucketedTables,
    buffers: LastStreetBuffers,
    above: WalkBuffers,
) -> None:
    """Walk batches of the last street. Reach comes from the street before, in `above`, and values go there.

    At the root of a game of one street the reach is the board's weight. Nine parameters: those of a walk, and a range.
    """
    street = samples.num_present.shape[1] - 1
    local_bucket = samples.number[board, street]
    present = samples.present[board, street, : samples.num_present[board, street]]
    holes, rows = board_holes(board, plan, buffers.ops), buffers.ops
    slots, length = batches.max_actions * present.size * LANES, padded(local_bucket.size)
    for batch in range(first, stop):
        if street:
            base = above.reach_base[street - 1]
            gather_batch(batch, base, length, batches, above.reach, buffers.addresses, rows.reach)
        else:
            rows.reach[: local_bucket.size * LANES] = samples.weight[board]
        end_levels(local_bucket.size, batches.reach_rows, rows.reach)
        for i in range(batches.first_op[batch], batches.end_op[batch]):
            op, factor = op_at(batches.ops, i), factors_at(i, batch, batches)
            places = batches.places[batches.first_node[batch] + op.node][: batches.num_lanes[batch]]
            level = batches.reach_rows if op.code == FINISH_MINE else np.int64(op.reach)
            chance = buffers.chance[level * slots : (level + 1) * slots]
            if op.code == BEGIN_THEIRS:
                begin_theirs(op, places, local_bucket, present, chance, tables, buffers)
            elif op.code == FINISH_MINE:
                finish_mine(op, factor, places, local_bucket, present, chance, holes, tables, buffers)
            else:
                run_op(op, MyTerminals(factor, False, False, True), factor, chance, local_bucket, holes, rows)
        if street:
            base = above.value_base[street - 1]
            scatter_batch(batch, base, length, batches, rows.value, buffers.addresses, above.value)


@inlined
def end_levels(size: Int, levels: Int, reach: F32) -> None:
    """Put zeros after the last hole of each level: the hole that nobody holds."""
    for level in range(levels):
        store(reach, level * (size + 1) + size, zeros(reach))


@inlined
def match_lanes(
    starts: I64, stride: Int, present: U32, actions: Int, regret: F32, inverse: F32, uniform: F32, chance: F32
) -> None:
    """Regret matching of up to sixteen decisions. IN: int64[lane] where they start, uint32[present bucket];

    scratch: float[lane] x 2; OUT: float[present bucket, action, lane]. Unused lanes are not set.
    """
    zero, one = np.float32(0), np.float32(1)
    share = one / np.float32(actions)
    for k in range(present.size):
        rows, at = chance[k * actions * LANES : (k + 1) * actions * LANES], np.int64(present[k]) * stride
        total = zeros(chance)
        for action in range(actions):
            row = rows[action * LANES : (action + 1) * LANES]
            for lane in range(starts.size):
                row[lane] = max(regret[starts[lane] + at + action], zero)
            total = add(total, load(row, 0))
        store(inverse, 0, total)
        for lane in range(LANES):
            played = inverse[lane] > LEAST
            uniform[lane] = zero if played else share
            inverse[lane] = one / inverse[lane] if played else zero
        for action in range(actions):
            store(rows, action, multiply_add(load(rows, action), load(inverse, 0), load(uniform, 0)))


@inlined
def slot_starts(places: I32, offset: I64, starts: I64) -> None:
    """The first slots of up to sixteen decisions. OUT: int64[lane]."""
    for lane in range(places.size):
        starts[lane] = offset[places[lane]]


@inner
def begin_theirs(
    op: LastStreetOp,
    places: I32,
    local_bucket: U16,
    present: U32,
    chance: F32,
    tables: BucketedTables,
    buffers: LastStreetBuffers,
) -> None:
    """The opponent's decisions: its strategies, and its averages."""
    actions = np.int64(op.actions)
    starts = buffers.starts[: places.size]
    slot_starts(places, tables.offset, starts)
    stride = tables.stride[places[0]]  # one street and player: the same for all
    match_lanes(starts, stride, present, actions, tables.regret, buffers.inverse, buffers.uniform, chance)
    total = buffers.total
    for k in range(present.size):
        store(total, k, zeros(total))
    add_by_bucket(row_at(buffers.ops.reach, np.int64(op.reach), local_bucket.size + 1), local_bucket, 1, total)
    average, gain = tables.average, tables.average_gain
    for k in range(present.size):
        at, reached = np.int64(present[k]) * stride, total[k * LANES : (k + 1) * LANES]
        for action in range(actions):
            mine = chance[(k * actions + action) * LANES : (k * actions + action + 1) * LANES]
            for lane in range(starts.size):
                average[starts[lane] + at + action] += gain * reached[lane] * mine[lane]


@inlined
def add_by_bucket(row: F32, local_bucket: U16, stride: Int, total: F32) -> None:
    """Sum a row by bucket. Neighbours in strength often share a bucket: a run is summed before it is stored.

    IN: float[hole, lane], uint16[hole]; IN OUT: float[bucket x stride, lane].
    """
    run, held = local_bucket[0], zeros(row)
    for h in range(local_bucket.size):
        if local_bucket[h] != run:
            add_at(total, np.int64(run) * stride, held)
            run, held = local_bucket[h], zeros(row)
        held = add(held, load(row, h))
    add_at(total, np.int64(run) * stride, held)


@inlined
def add_at(total: F32, index: Int, more: Any) -> None:
    """Add sixteen numbers to a row. IN OUT: float[index, lane]."""
    store(total, index, add(load(total, index), more))


@inner
def finish_mine(
    op: LastStreetOp,
    factor: F32,
    places: I32,
    local_bucket: U16,
    present: U32,
    chance: F32,
    holes: BoardHoles,
    tables: BucketedTables,
    buffers: LastStreetBuffers,
) -> None:
    """The walker's decisions: values under its strategy, and regrets of its buckets."""
    actions, total = np.int64(op.actions), buffers.total
    starts = buffers.starts[: places.size]
    slot_starts(places, tables.offset, starts)
    stride = tables.stride[places[0]]  # one street and player: the same for all
    match_lanes(starts, stride, present, actions, tables.regret, buffers.inverse, buffers.uniform, chance)
    for i in range(present.size * actions):
        store(total, i, zeros(total))
    mean_value_lanes(op, factor, local_bucket, chance, holes, buffers.ops, total)
    increment, gain, floor = tables.increment, tables.gain, tables.floor
    for k in range(present.size):
        at, mean = np.int64(present[k]) * stride, zeros(total)
        for i in range(k * actions, (k + 1) * actions):
            mean = multiply_add(load(chance, i), load(total, i), mean)
        for action in range(actions):
            more = total[(k * actions + action) * LANES : (k * actions + action + 1) * LANES]
            store(more, 0, subtract(load(more, 0), mean))
            for lane in range(starts.size):
                slot = starts[lane] + at + action
                increment[slot] = max(increment[slot] + gain * more[lane], floor)


@inner
def mean_value_lanes(
    op: LastStreetOp, factor: F32, local_bucket: U16, chance: F32, holes: BoardHoles, rows: OpBuffers, total: F32
) -> None:
    """The value of the walker's decision under its strategy, and of each action, summed by bucket.

    IN: float[bucket, action, lane]; IN OUT: float[bucket, action, lane]; rows of action values as in `LastStreetOp`.
    """
    actions, size, row = np.int64(op.actions), local_bucket.size, np.int64(op.row)
    value = row_at(rows.value, row, size)
    if op.join:
        _mean_terminals(op, factor, local_bucket, chance, holes, rows, total)
    below = row + op.join
    for action in range(actions):
        if action in (op.fold, op.call):
            continue
        worth, mine = row_at(rows.value, below, size), chance[action * LANES :]
        add_by_bucket(worth, local_bucket, actions, total[action * LANES :])
        first = below == row
        for h in range(size):
            here = multiply(load(worth, h), load(mine, np.int64(local_bucket[h]) * actions))
            store(value, h, here if first else add(load(value, h), here))
        below += 1


@inlined
def _mean_terminals(
    op: LastStreetOp, factor: F32, local_bucket: U16, chance: F32, holes: BoardHoles, rows: OpBuffers, total: F32
) -> None:
    """The part of a decision's fold and call; the row of values holds A(start) + A(end of ties) before."""
    actions, size, add_back = np.int64(op.actions), local_bucket.size, holes.add_back
    value, reach = row_at(rows.value, np.int64(op.row), size), row_at(rows.reach, np.int64(op.reach), size + 1)
    sums, folding, calling = row_at(rows.sums, np.int64(op.reach), SUMS), load(factor, 0), load(factor, 1)
    has_fold, has_call = op.fold != NOTHING, op.call != NOTHING
    fold, call = max(op.fold, 0), max(op.call, 0)
    everyone, nothing = load(sums, ALL), zeros(value)
    run, fold_held, call_held = local_bucket[0], nothing, nothing
    for h in range(size):
        if local_bucket[h] != run:
            at = np.int64(run) * actions
            add_at(total, at + fold, fold_held)
            add_at(total, at + call, call_held)
            run, fold_held, call_held = local_bucket[h], nothing, nothing
        at, worth = np.int64(local_bucket[h]) * actions, nothing
        everything = without(everyone, sums, holes.mine.card1[h], holes.mine.card2[h])
        if has_call:
            here = called(load(value, h), everything, calling)
            call_held, worth = add(call_held, here), multiply(here, load(chance, at + call))
        if has_fold:
            here = folded(everything, load(reach, holes.opponent_pos[h]), add_back, folding)
            fold_held, worth = add(fold_held, here), multiply_add(here, load(chance, at + fold), worth)
        store(value, h, worth)
    at = np.int64(run) * actions
    add_at(total, at + fold, fold_held)
    add_at(total, at + call, call_held)
