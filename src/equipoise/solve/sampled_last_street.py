"""The last street of a sampled board, sixteen betting entries side by side: see `public_chance.py`.

Entries that offer the same actions differ in chips and tables only (`last_street.py`): they are walked together, a lane
each, depth first, in a few rows of [hole, lane]. A decision reads sixteen blocks of regrets into [bucket, action, lane]
for the buckets that are present on the board; holes then find sixteen probabilities in one place. Sums over the holes
of a bucket go back the same way.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from equipoise._arrays import Float, Int, aligned_zeros
from equipoise._jit import F32, I32, I64, U16, U32, inlined, kernel, view
from equipoise._simd import (
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
from equipoise.cards.showdown import DECK, Cards, meeting_lanes, showdown_lanes
from equipoise.solve.board_samples import Samples
from equipoise.solve.last_street import shape_of
from equipoise.solve.plan import Plan, Workspace, padded
from equipoise.solve.program import BettingProgram
from equipoise.tree.public_tree import DECISION, SHOWDOWN

CALLED, FOLDED, PASS, SUM, MEAN = range(5)  # codes of steps
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
    """The last street for one walker, in batches of entries. Rows of reach and values are used again and again."""

    code: I32  # [step]
    node: I32  # [step] which of an entry's nodes
    reach: I32  # [step] the row read
    below: I32  # [step] the row of the first action's reach: PASS
    value: I32  # [step] the row written; values of actions stand in it and those after it
    actions: I32  # [step]
    first_step: I32  # [batch]
    end_step: I32  # [batch]
    place: I32  # [node of a batch, lane] the last lane repeated where there are fewer entries
    first_place: I64  # [batch]
    lanes: I32  # [batch] how many entries it has
    deal: I32  # [batch, lane] the place of the deal that an entry opens from; ROOT at the start of the game


class LaneSpace(NamedTuple):
    """Memory of one thread."""

    reach: F32  # [row, hole, lane]
    value: F32  # [row, hole, lane]
    chance: F32  # [present bucket, action, lane]
    total: F32  # [present bucket, action, lane]
    run: F32  # [card, lane]
    factor: F32  # [lane]
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
    steps: list[tuple[int, ...]] = []
    parts: dict[str, list[Any]] = defaultdict(list)
    for entries in alike.values():
        start = len(steps)
        steps += _steps(program, walker, entries[0])
        for at in range(0, len(entries), LANES):
            lanes = entries[at : at + LANES]
            places_of = [lanes[min(lane, len(lanes) - 1)] for lane in range(LANES)]
            parts["first_step"].append(start)
            parts["end_step"].append(len(steps))
            parts["first_place"].append(sum(len(part) for part in parts["place"]))
            parts["place"].append(np.array(places_of, np.int32).T)
            parts["lanes"].append(len(lanes))
            parts["deal"].append([deal_of[lane[0]] for lane in places_of])
    columns = [np.array(column, np.int32) for column in zip(*steps, strict=True)] or [np.zeros(0, np.int32)] * 6
    code, node, reach, below, value, actions = columns
    return Batches(
        code=code,
        node=node,
        reach=reach,
        below=below,
        value=value,
        actions=actions,
        first_step=np.array(parts["first_step"], np.int32),
        end_step=np.array(parts["end_step"], np.int32),
        place=np.ascontiguousarray(np.concatenate(parts["place"] or [np.zeros((0, LANES), np.int32)])),
        first_place=np.array(parts["first_place"], np.int64),
        lanes=np.array(parts["lanes"], np.int32),
        deal=np.array(parts["deal"], np.int32).reshape(-1, LANES),
    )


def _steps(program: BettingProgram, walker: int, places: list[int]) -> list[tuple[int, ...]]:
    """What is done for entries of one shape: (code, node, reach, below, value, actions)."""
    arrays, node = program.arrays, {place: i for i, place in enumerate(places)}
    steps: list[tuple[int, ...]] = []

    def visit(place: int, reach: int, free: int, value: int) -> None:
        if arrays.kind[place] != DECISION:
            code = CALLED if arrays.kind[place] == SHOWDOWN else FOLDED
            steps.append((code, node[place], reach, 0, value, 0))
            return
        first, count = int(arrays.first_child[place]), int(arrays.num_children[place])
        mine = arrays.player[place] == walker
        if not mine:
            steps.append((PASS, node[place], reach, free, value, count))
        for action in range(count):
            if mine:
                visit(first + action, reach, free, value + action)
            else:
                visit(first + action, free + action, free + count, value + action)
        steps.append((MEAN if mine else SUM, node[place], reach, 0, value, count))

    visit(places[0], 0, 1, 0)
    return steps


def make_lane_space(batches: Batches, holes: int, present: int) -> LaneSpace:
    """Memory for boards with so many holes and at most so many buckets present."""
    row, most = (padded(holes) + 1) * LANES, int(batches.actions.max(initial=1))
    ones = aligned_zeros(LANES, np.float32)
    ones[:] = 1
    return LaneSpace(
        reach=aligned_zeros((int((batches.below + batches.actions).max(initial=1)) + 1) * row, np.float32),
        value=aligned_zeros((int((batches.value + batches.actions).max(initial=1)) + 1) * row, np.float32),
        chance=aligned_zeros(present * most * LANES, np.float32),
        total=aligned_zeros(present * most * LANES, np.float32),
        run=aligned_zeros(DECK * LANES, np.float32),
        factor=aligned_zeros(LANES, np.float32),
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
    above: Workspace,
) -> None:
    """Batches of the last street, down and up. Reach comes from the street before, in `above`, and values go there."""
    street = samples.num_present.shape[1] - 1
    number = samples.number[board, street]
    present = samples.present[board, street, : samples.num_present[board, street]]
    for batch in range(first, stop):
        bring_lanes(batch, street, samples.weight[board], number.size, plan, batches, space, above)
        for step in range(batches.first_step[batch], batches.end_step[batch]):
            places = batches.place[batches.first_place[batch] + batches.node[step]]
            places = places[: batches.lanes[batch]]
            code = batches.code[step]
            if code in (CALLED, FOLDED):
                end_lanes(code, step, board, places, plan, batches, space)
            elif code == PASS:
                pass_step(step, places, number, present, batches, tables, space)
            elif code == SUM:
                sum_lanes(batches.value[step], batches.actions[step], number.size, space.value)
            else:
                mean_step(step, places, number, present, batches, tables, space)
        hand_back_lanes(batch, street, number.size, plan, batches, space, above)


@view
def bring_lanes(
    batch: Int,
    street: Int,
    weight: Float,
    size: Int,
    plan: Plan,
    batches: Batches,
    space: LaneSpace,
    above: Workspace,
) -> None:
    """The reach of a batch's entries, side by side; at the root, the board's weight."""
    if batches.deal[batch, 0] == ROOT:
        for i in range(size * LANES):
            space.reach[i] = weight
        return
    for lane in range(LANES):
        row = np.int64(plan.program.reach_row[plan.step.walker, batches.deal[batch, lane]])
        space.reach_at[lane] = above.reach_base[street - 1] + row * padded(size)
    for start in range(0, size, LANES):
        gather_tile(above.reach, space.reach_at, start, space.reach)


@view
def hand_back_lanes(
    batch: Int, street: Int, size: Int, plan: Plan, batches: Batches, space: LaneSpace, above: Workspace
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
        scatter_tile(space.value, start, space.ones, space.value_at, above.value)


@view
def lane_row(flat: F32, row: Int, size: Int) -> F32:
    """One row of lanes, one hole longer than the board's list."""
    length = (padded(size) + 1) * LANES
    return flat[row * length : row * length + length]


@kernel
def end_lanes(code: Int, step: Int, board: Int, places: I32, plan: Plan, batches: Batches, space: LaneSpace) -> None:
    """Showdowns or folds of sixteen entries."""
    boards, program, walker = plan.boards, plan.program, plan.step.walker
    first, size = boards.first[board, walker], np.int64(boards.counts[board, walker])
    cards = Cards(boards.card1[first : first + size], boards.card2[first : first + size])
    reach = lane_row(space.reach, np.int64(batches.reach[step]), size)
    value = lane_row(space.value, np.int64(batches.value[step]), size)
    if code == CALLED:
        start = boards.group_first[board]
        groups = boards.groups[start : start + boards.num_groups[board] + 1]
        showdown_lanes(reach, value, space.run, cards, cards, groups, walker, plan.two_cards)
    else:
        same = boards.same[first : first + size]
        meeting_lanes(reach, value, space.run, cards, cards, same, plan.two_cards)
    for lane in range(places.size):
        chips = program.win[walker, places[lane]] if code == CALLED else program.meet[walker, places[lane]]
        space.factor[lane] = chips
    factor = load(space.factor, 0)
    for h in range(size):
        store(value, h, multiply(load(value, h), factor))


@inlined
def sum_lanes(first: Int, actions: Int, size: Int, values: F32) -> None:
    """Add the rows of the other actions to the first. IN OUT: float[row, hole, lane]."""
    out = lane_row(values, np.int64(first), size)
    for action in range(1, actions):
        row = lane_row(values, np.int64(first) + action, size)
        for h in range(size):
            store(out, h, add(load(out, h), load(row, h)))


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
            played = inverse[lane] > zero
            alike[lane] = zero if played else uniform
            inverse[lane] = one / inverse[lane] if played else zero
        for action in range(actions):
            store(rows, action, multiply_add(load(rows, action), load(inverse, 0), load(alike, 0)))


@view
def find_starts(places: I32, offset: I64, starts: I64) -> None:
    """The first slots of up to sixteen decisions. OUT: int64[lane]."""
    for lane in range(places.size):
        starts[lane] = offset[places[lane]]


@kernel
def pass_step(
    step: Int, places: I32, number: U16, present: U32, batches: Batches, tables: BucketedTables, space: LaneSpace
) -> None:
    """The opponent's decisions: pass its reach on, and add to its average."""
    actions, below, size = np.int64(batches.actions[step]), np.int64(batches.below[step]), number.size
    chance, total = space.chance, space.total
    starts = space.starts[: places.size]
    find_starts(places, tables.offset, starts)
    stride = tables.stride[places[0]]  # of one street and player: the same for all
    match_lanes(starts, stride, present, actions, tables.regret, space.inverse, space.alike, chance)
    reach = lane_row(space.reach, np.int64(batches.reach[step]), size)
    for action in range(actions):
        out, mine = lane_row(space.reach, below + action, size), chance[action * LANES :]
        for h in range(size):
            store(out, h, multiply(load(reach, h), load(mine, np.int64(number[h]) * actions)))
    for k in range(present.size):
        store(total, k, zeros(total))
    for h in range(size):
        store(total, number[h], add(load(total, number[h]), load(reach, h)))
    average, gain = tables.average, tables.average_gain
    for k in range(present.size):
        at, reached = np.int64(present[k]) * stride, total[k * LANES : (k + 1) * LANES]
        for action in range(actions):
            mine = chance[(k * actions + action) * LANES : (k * actions + action + 1) * LANES]
            for lane in range(starts.size):
                average[starts[lane] + at + action] += gain * reached[lane] * mine[lane]


@kernel
def mean_step(
    step: Int, places: I32, number: U16, present: U32, batches: Batches, tables: BucketedTables, space: LaneSpace
) -> None:
    """The walker's decisions: values by its strategy, and what its buckets regret."""
    actions, first, size = np.int64(batches.actions[step]), np.int64(batches.value[step]), number.size
    chance, total = space.chance, space.total
    starts = space.starts[: places.size]
    find_starts(places, tables.offset, starts)
    stride = tables.stride[places[0]]  # of one street and player: the same for all
    match_lanes(starts, stride, present, actions, tables.regret, space.inverse, space.alike, chance)
    for i in range(present.size * actions):
        store(total, i, zeros(total))
    value = lane_row(space.value, first, size)
    for action in range(actions):
        row, mine, sums = lane_row(space.value, first + action, size), chance[action * LANES :], total[action * LANES :]
        for h in range(size):
            at, here = np.int64(number[h]) * actions, load(row, h)
            store(sums, at, add(load(sums, at), here))
            worth = multiply(here, load(mine, at))
            if action:
                worth = add(load(value, h), worth)
            store(value, h, worth)
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
