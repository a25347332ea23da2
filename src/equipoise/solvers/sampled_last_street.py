"""The last street of a sampled board, sixteen betting entries side by side: see `public_chance.py`.

Entries that offer the same actions differ in chips and tables only (`last_street.py`): they are walked together, a lane
each, depth first, in a few rows of [hole, lane], and end as `ends.py` has it. A decision reads sixteen blocks of
regrets into [bucket, action, lane] for the buckets that are present on the board; holes then find sixteen probabilities
in one place. Sums over the holes of a bucket go back the same way.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from equipoise.cards.showdown import without
from equipoise.core.arrays import Float, Int, aligned, aligned_zeros
from equipoise.core.jit import F32, I32, I64, U16, U32, inlined, inner, kernel, view
from equipoise.core.simd import (
    LANES,
    add,
    gather_tile,
    load,
    multiply,
    multiply_add,
    scatter_tile,
    store,
    subtract,
    zeros,
)
from equipoise.solvers.board_samples import Samples
from equipoise.walk.betting_program import BettingProgram
from equipoise.walk.last_street.program import CHOOSE, NOTHING, OPEN, Step, compile_shape, factors_of, shape_of, step_at
from equipoise.walk.last_street.terminals import (
    ALL,
    SUMS,
    Holes,
    MyEnds,
    Rows,
    called,
    folded,
    holes_of,
    make_rows,
    row_at,
    take_step,
)
from equipoise.walk.plan import Plan, WalkBuffers, padded
from equipoise.walk.regret_matching import LEAST

ROOT = -1


class BucketedTables(NamedTuple):
    """The tables of a run, and what is added to them. Sums over holes are times the board's weight, by its reach."""

    offset: I64  # [place] the slot of a decision's first action in the first bucket
    stride: I64  # [place] how far the next bucket is
    regret: F32
    increment: F32  # where regrets are added: the same array as `regret` where an iteration has one board
    average: F32
    gain: Float  # what new regrets are multiplied by
    floor: Float  # regrets are not let below this
    average_gain: Float  # what reach x strategy is multiplied by


class Batches(NamedTuple):
    """The last street for one walker, in batches of entries."""

    steps: I32  # [step, column] as `last_street.Step`
    first_step: I32  # [batch]
    end_step: I32  # [batch]
    factor: F32  # [step of a batch, fold or call, lane] chips, flat
    first_factor: I64  # [batch] in steps
    place: I32  # [node of a batch, lane] the last lane repeated where there are fewer entries
    first_place: I64  # [batch]
    lanes: I32  # [batch] how many entries it has
    deal: I32  # [batch, lane] the place of the deal that an entry opens from; ROOT at the start of the game
    levels: int  # rows of reach
    rows: int  # of values
    actions: int  # the most of any decision


class LaneSpace(NamedTuple):
    """Memory of one thread."""

    rows: Rows
    chance: F32  # [level, present bucket, action, lane] of the opponent's decisions; a last level for mine
    total: F32  # [present bucket, action, lane]
    inverse: F32  # [lane]
    alike: F32  # [lane]
    ones: F32  # [lane]
    starts: I64  # [lane]
    reach_at: I64  # [lane]
    value_at: I64  # [lane]


def compile_batches(program: BettingProgram, walker: int, offset: I64) -> Batches:
    """The batches of one walker: entries of one shape, sixteen at a time. IN: int64[place] the slots of decisions.

    Entries go by their slots: those of a batch are then neighbours in the row of a bucket, in one page of it.
    """
    arrays = program.arrays
    first = arrays.group_first[arrays.street_groups[program.tree.rules.rounds - 1]]
    deal_of = dict(zip(arrays.entries.tolist(), arrays.entry_deal.tolist(), strict=True))
    alike: dict[Any, list[list[int]]] = defaultdict(list)
    for entry in sorted(arrays.entries[arrays.entries >= first].tolist(), key=offset.__getitem__):
        places: list[int] = []
        alike[shape_of(program, walker, entry, places)].append(places)
    shapes = [compile_shape(program, walker, entries[0], apart=True) for entries in alike.values()]
    steps: list[Step] = []
    parts: dict[str, list[Any]] = defaultdict(list)
    for shape, entries in zip(shapes, alike.values(), strict=True):
        start = len(steps)
        steps += shape.steps
        for at in range(0, len(entries), LANES):
            lanes = entries[at : at + LANES]
            places_of = [lanes[min(lane, len(lanes) - 1)] for lane in range(LANES)]
            parts["first_step"].append(start)
            parts["end_step"].append(len(steps))
            parts["first_factor"].append(sum(len(part) for part in parts["factor"]))
            parts["factor"].append(factors_of(program, walker, shape, lanes))
            parts["first_place"].append(sum(len(part) for part in parts["place"]))
            parts["place"].append(np.array(places_of, np.int32).T)
            parts["lanes"].append(len(lanes))
            parts["deal"].append([deal_of[lane[0]] for lane in places_of])
    factor = np.concatenate(parts["factor"] or [np.zeros(0)]).ravel()
    return Batches(
        steps=np.array(steps, np.int32).reshape(-1, len(Step._fields)),
        first_step=np.array(parts["first_step"], np.int32),
        end_step=np.array(parts["end_step"], np.int32),
        factor=aligned(factor, np.float32),
        first_factor=np.array(parts["first_factor"], np.int64),
        place=np.ascontiguousarray(np.concatenate(parts["place"] or [np.zeros((0, LANES), np.int32)])),
        first_place=np.array(parts["first_place"], np.int64),
        lanes=np.array(parts["lanes"], np.int32),
        deal=np.array(parts["deal"], np.int32).reshape(-1, LANES),
        levels=max((shape.reach_rows for shape in shapes), default=1),
        rows=max((shape.value_rows for shape in shapes), default=1),
        actions=max((step.actions for step in steps), default=1),
    )


def make_lane_space(batches: Batches, holes: int, present: int) -> LaneSpace:
    """Memory for boards with so many holes and at most so many buckets present."""
    slots = present * batches.actions * LANES
    ones = aligned_zeros(LANES, np.float32)
    ones[:] = 1
    return LaneSpace(
        rows=make_rows(batches.levels, batches.rows, int(padded(holes)), np.float32),
        chance=aligned_zeros((batches.levels + 1) * slots, np.float32),
        total=aligned_zeros(slots, np.float32),
        inverse=aligned_zeros(LANES, np.float32),
        alike=aligned_zeros(LANES, np.float32),
        ones=ones,
        starts=np.zeros(LANES, np.int64),
        reach_at=np.zeros(LANES, np.int64),
        value_at=np.zeros(LANES, np.int64),
    )


@kernel
def walk_batches(
    first: Int,
    stop: Int,
    board: Int,
    plan: Plan,
    batches: Batches,
    samples: Samples,
    tables: BucketedTables,
    space: LaneSpace,
    above: WalkBuffers,
) -> None:
    """Batches of the last street, down and up. Reach comes from the street before, in `above`, and values go there."""
    street = samples.num_present.shape[1] - 1
    number = samples.number[board, street]
    present = samples.present[board, street, : samples.num_present[board, street]]
    holes = holes_of(board, plan, space.rows)
    slots = batches.actions * present.size * LANES
    for batch in range(first, stop):
        bring_lanes(batch, street, samples.weight[board], number.size, plan, batches, space, above)
        end_levels(number.size, batches.levels, space.rows.reach)
        for i in range(batches.first_step[batch], batches.end_step[batch]):
            step, factor = step_at(batches.steps, i), factors_at(i, batch, batches)
            places = batches.place[batches.first_place[batch] + step.node][: batches.lanes[batch]]
            level = batches.levels if step.code == CHOOSE else np.int64(step.reach)
            chance = space.chance[level * slots : (level + 1) * slots]
            if step.code == OPEN:
                open_step(step, places, number, present, chance, tables, space)
            elif step.code == CHOOSE:
                mean_step(step, factor, places, number, present, chance, holes, tables, space)
            else:
                take_step(step, MyEnds(factor, False, False, True), factor, chance, number, holes, space.rows)
        hand_back_lanes(batch, street, number.size, plan, batches, space, above)


@view
def factors_at(step: Int, batch: Int, batches: Batches) -> F32:
    """What a step's ends are multiplied by: [fold or call, lane]."""
    at = 2 * (batches.first_factor[batch] + step - batches.first_step[batch])
    return batches.factor[at * LANES : (at + 2) * LANES]


@inlined
def end_levels(size: Int, levels: Int, reach: F32) -> None:
    """A row of zeros after each level: the hole that nobody has."""
    for level in range(levels):
        store(reach, level * (size + 1) + size, zeros(reach))


@view
def bring_lanes(
    batch: Int,
    street: Int,
    weight: Float,
    size: Int,
    plan: Plan,
    batches: Batches,
    space: LaneSpace,
    above: WalkBuffers,
) -> None:
    """The reach of a batch's entries, side by side; at the root, the board's weight."""
    if batches.deal[batch, 0] == ROOT:
        for i in range(size * LANES):
            space.rows.reach[i] = weight
        return
    for lane in range(LANES):
        row = np.int64(plan.program.reach_row[plan.walker, batches.deal[batch, lane]])
        space.reach_at[lane] = above.reach_base[street - 1] + row * padded(size)
    for start in range(0, size, LANES):
        gather_tile(above.reach, space.reach_at, start, space.rows.reach)


@view
def hand_back_lanes(
    batch: Int, street: Int, size: Int, plan: Plan, batches: Batches, space: LaneSpace, above: WalkBuffers
) -> None:
    """The values of a batch's entries as those of the deals they open from."""
    if batches.deal[batch, 0] == ROOT:
        return
    first = np.int64(plan.program.group_first[plan.program.street_groups[street - 1]])
    for lane in range(LANES):
        row = np.int64(batches.deal[batch, lane]) - first
        spare = above.value.size - padded(size)
        space.value_at[lane] = (
            above.value_base[street - 1] + row * padded(size) if lane < batches.lanes[batch] else spare
        )
    for start in range(0, size, LANES):
        scatter_tile(space.rows.value, start, space.ones, space.value_at, above.value)


@inlined
def match_lanes(
    starts: I64, stride: Int, present: U32, actions: Int, regret: F32, inverse: F32, alike: F32, chance: F32
) -> None:
    """Regret matching of up to sixteen decisions. IN: int64[lane] where they start, uint32[present bucket];

    scratch: float[lane] x 2; OUT: float[present bucket, action, lane]. Lanes without an entry play anything.
    """
    zero, one = np.float32(0), np.float32(1)
    uniform = one / np.float32(actions)
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
            alike[lane] = zero if played else uniform
            inverse[lane] = one / inverse[lane] if played else zero
        for action in range(actions):
            store(rows, action, multiply_add(load(rows, action), load(inverse, 0), load(alike, 0)))


@view
def find_starts(places: I32, offset: I64, starts: I64) -> None:
    """The first slots of up to sixteen decisions. OUT: int64[lane]."""
    for lane in range(places.size):
        starts[lane] = offset[places[lane]]


@inner
def open_step(
    step: Step, places: I32, number: U16, present: U32, chance: F32, tables: BucketedTables, space: LaneSpace
) -> None:
    """The opponent's decisions: what it plays, and its average."""
    actions = np.int64(step.actions)
    starts = space.starts[: places.size]
    find_starts(places, tables.offset, starts)
    stride = tables.stride[places[0]]  # of one street and player: the same for all
    match_lanes(starts, stride, present, actions, tables.regret, space.inverse, space.alike, chance)
    total = space.total
    for k in range(present.size):
        store(total, k, zeros(total))
    add_runs(row_at(space.rows.reach, np.int64(step.reach), number.size + 1), number, 1, total)
    average, gain = tables.average, tables.average_gain
    for k in range(present.size):
        at, reached = np.int64(present[k]) * stride, total[k * LANES : (k + 1) * LANES]
        for action in range(actions):
            mine = chance[(k * actions + action) * LANES : (k * actions + action + 1) * LANES]
            for lane in range(starts.size):
                average[starts[lane] + at + action] += gain * reached[lane] * mine[lane]


@inlined
def add_runs(row: F32, number: U16, stride: Int, total: F32) -> None:
    """Sum a row by the numbers of holes. Neighbours in strength often share one: a run is summed before it is stored.

    IN: float[hole, lane], uint16[hole]; IN OUT: float[number x stride, lane].
    """
    run, held = number[0], zeros(row)
    for h in range(number.size):
        if number[h] != run:
            add_at(total, np.int64(run) * stride, held)
            run, held = number[h], zeros(row)
        held = add(held, load(row, h))
    add_at(total, np.int64(run) * stride, held)


@inlined
def add_at(total: F32, place: Int, more: Any) -> None:
    """IN OUT: float[place, lane]."""
    store(total, place, add(load(total, place), more))


@inner
def mean_step(
    step: Step,
    factor: F32,
    places: I32,
    number: U16,
    present: U32,
    chance: F32,
    holes: Holes,
    tables: BucketedTables,
    space: LaneSpace,
) -> None:
    """The walker's decisions: values by its strategy, and what its buckets regret."""
    actions, total = np.int64(step.actions), space.total
    starts = space.starts[: places.size]
    find_starts(places, tables.offset, starts)
    stride = tables.stride[places[0]]  # of one street and player: the same for all
    match_lanes(starts, stride, present, actions, tables.regret, space.inverse, space.alike, chance)
    for i in range(present.size * actions):
        store(total, i, zeros(total))
    mean_lanes(step, factor, number, chance, holes, space.rows, total)
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
def mean_lanes(step: Step, factor: F32, number: U16, chance: F32, holes: Holes, rows: Rows, total: F32) -> None:
    """What the walker's decision is worth by its strategy, and what each action is, summed by the numbers of holes.

    IN: float[number, action, lane]; IN OUT: float[number, action, lane]; values of actions as `Step` has them.
    """
    actions, size, row = np.int64(step.actions), number.size, np.int64(step.row)
    value = row_at(rows.value, row, size)
    if step.join:
        _mean_ends(step, factor, number, chance, holes, rows, total)
    below = row + step.join
    for action in range(actions):
        if action in (step.fold, step.call):
            continue
        worth, mine = row_at(rows.value, below, size), chance[action * LANES :]
        add_runs(worth, number, actions, total[action * LANES :])
        first = below == row
        for h in range(size):
            here = multiply(load(worth, h), load(mine, np.int64(number[h]) * actions))
            store(value, h, here if first else add(load(value, h), here))
        below += 1


@view
def _mean_ends(step: Step, factor: F32, number: U16, chance: F32, holes: Holes, rows: Rows, total: F32) -> None:
    """The part of a decision's fold and call; of the row of values, A(start) + A(end of ties) before."""
    actions, size, back = np.int64(step.actions), number.size, holes.back
    value, reach = row_at(rows.value, np.int64(step.row), size), row_at(rows.reach, np.int64(step.reach), size + 1)
    sums, folding, calling = row_at(rows.sums, np.int64(step.reach), SUMS), load(factor, 0), load(factor, 1)
    has_fold, has_call = step.fold != NOTHING, step.call != NOTHING
    fold, call = max(step.fold, 0), max(step.call, 0)
    all_told, nothing = load(sums, ALL), zeros(value)
    run, fold_held, call_held = number[0], nothing, nothing
    for h in range(size):
        if number[h] != run:
            at = np.int64(run) * actions
            add_at(total, at + fold, fold_held)
            add_at(total, at + call, call_held)
            run, fold_held, call_held = number[h], nothing, nothing
        at, worth = np.int64(number[h]) * actions, nothing
        everything = without(all_told, sums, holes.mine.card1[h], holes.mine.card2[h])
        if has_call:
            here = called(load(value, h), everything, calling)
            call_held, worth = add(call_held, here), multiply(here, load(chance, at + call))
        if has_fold:
            here = folded(everything, load(reach, holes.same[h]), back, folding)
            fold_held, worth = add(fold_held, here), multiply_add(here, load(chance, at + fold), worth)
        store(value, h, worth)
    at = np.int64(run) * actions
    add_at(total, at + fold, fold_held)
    add_at(total, at + call, call_held)
