"""The last street of a subgame, sixteen betting entries side by side: see `subgame_walk.py`.

Steps are those of `sampled_last_street.py`, on all last boards below one. Strategies of the subgame's rows stand ready
as [decision, row, action, lane], so that a hole finds sixteen probabilities in one place; what regrets and averages
need is summed in the same layout, over all boards: the values of actions, and the reach. A responder's choices are
bits: of each action and hole, the lanes that take it. Of equally good actions it takes the one that checks or calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise._arrays import Float, Int
from equipoise._jit import F32, F64, I32, I64, U16, U32, inlined, kernel, view
from equipoise._simd import (
    LANES,
    add,
    add_scaled,
    gather_tile,
    load,
    maximum,
    multiply,
    only,
    scatter_tile,
    store,
    where_above,
    zeros,
)
from equipoise.solve.plan import Plan, Workspace, padded
from equipoise.solve.sampled_last_street import (
    CALLED,
    FOLDED,
    PASS,
    SUM,
    Batches,
    LaneSpace,
    end_lanes,
    lane_row,
    sum_lanes,
)

NOWHERE = -1


class LaneRows(NamedTuple):
    """A player's rows on the last street: tables in lanes. Empty for one that responds there."""

    first: I32  # [node of a batch] how many actions stand before those of a decision of its; NOWHERE
    chance: F32  # [decision, row, action, lane] flat, as are the others
    total: F32  # the same: values of actions
    reach: F32  # [decision, row, lane]; empty if nobody asks for the average
    before: I32  # [node of a batch] how many decisions stand before
    rows: int


class Choices(NamedTuple):
    """What a responder does on the last street."""

    first: I32  # [node of a batch] how many actions stand before those of its decision; NOWHERE
    passive: I32  # [node of a batch] the action that checks or calls
    lanes: U16  # [board, action of all decisions, hole]
    actions: int  # of all decisions
    holes: int
    first_board: int


class Above(NamedTuple):
    """Entries of the last street, in lanes, on the board before: [batch, hole, lane]."""

    reach: F32
    value: F32


@kernel
def pack_reach(board: Int, plan: Plan, batches: Batches, above: Above, space: LaneSpace, work: Workspace) -> None:
    """Put the reach of the entries below a board side by side, and clear their values."""
    street = np.int64(plan.boards.street[board])
    size = np.int64(plan.boards.counts[board, 0])
    length = padded(size)
    rows = plan.program.reach_row[plan.step.walker]
    for batch in range(batches.lanes.size):
        for lane in range(LANES):
            space.reach_at[lane] = work.reach_base[street] + np.int64(rows[batches.deal[batch, lane]]) * length
        out = above.reach[batch * length * LANES : (batch + 1) * length * LANES]
        for start in range(0, length, LANES):
            gather_tile(work.reach, space.reach_at, start, out)
    for i in range(above.value.size // LANES):
        store(above.value, i, zeros(above.value))


@kernel
def unpack_values(board: Int, plan: Plan, batches: Batches, above: Above, space: LaneSpace, work: Workspace) -> None:
    """Put the values of the entries below a board into the rows of the deals that they open from."""
    street = np.int64(plan.boards.street[board])
    length = padded(np.int64(plan.boards.counts[board, 0]))
    first = np.int64(plan.program.group_first[plan.program.street_groups[street]])
    for batch in range(batches.lanes.size):
        for lane in range(LANES):
            row = np.int64(batches.deal[batch, lane]) - first
            spare = work.value.size - length
            space.value_at[lane] = work.value_base[street] + row * length if lane < batches.lanes[batch] else spare
        lanes = above.value[batch * length * LANES : (batch + 1) * length * LANES]
        for start in range(0, length, LANES):
            scatter_tile(lanes, start, space.ones, space.value_at, work.value)


@kernel
def walk_last(
    board: Int,
    plan: Plan,
    batches: Batches,
    number: U16,
    weight: F64,
    tables: tuple[LaneRows, LaneRows],
    choices: Choices,
    above: Above,
    space: LaneSpace,
) -> None:
    """All last boards below a board, down and up. IN: uint16[place] the row of a hole, float64[board] probabilities."""
    boards, walker = plan.boards, plan.step.walker
    length = padded(np.int64(boards.counts[board, 0]))
    for batch in range(batches.lanes.size):  # its rows of the board before stay in the cache
        reach_above = above.reach[batch * length * LANES : (batch + 1) * length * LANES]
        value_above = above.value[batch * length * LANES : (batch + 1) * length * LANES]
        for below in range(boards.first_child[board], boards.first_child[board] + boards.num_children[board]):
            first, size = boards.first[below, walker], np.int64(boards.counts[below, walker])
            theirs = boards.first[below, 1 - walker]
            before = boards.before[first : first + size]
            reach = lane_row(space.reach, 0, size)
            for j in range(size):
                store(reach, j, add_scaled(zeros(reach), weight[below], load(reach_above, before[j])))
            for step in range(batches.first_step[batch], batches.end_step[batch]):
                at = batches.first_place[batch] + batches.node[step]
                code = batches.code[step]
                if code in (CALLED, FOLDED):
                    end_lanes(code, step, below, batches.place[at][: batches.lanes[batch]], plan, batches, space)
                elif code == SUM:
                    sum_lanes(batches.value[step], batches.actions[step], size, space.value)
                elif code == PASS:
                    if tables[1 - walker].rows:
                        pass_rows(step, at, number[theirs : theirs + size], batches, tables[1 - walker], space)
                    else:
                        pass_choice(step, at, below, size, batches, choices, space)
                elif tables[walker].rows:
                    mean_rows(step, at, number[first : first + size], batches, tables[walker], space)
                else:
                    respond(step, at, below, size, batches, choices, space)
            value = lane_row(space.value, 0, size)
            back = 1 / weight[board]
            for i in range(size):
                store(value_above, before[i], add_scaled(load(value_above, before[i]), back, load(value, i)))


@view
def _decision(flat: F32, first: Int, rows: Int, width: Int) -> F32:
    """A decision's part of a table in lanes."""
    start = np.int64(first) * rows * LANES
    return flat[start : start + np.int64(width) * rows * LANES]


@kernel
def pass_rows(step: Int, at: Int, number: U16, batches: Batches, tables: LaneRows, space: LaneSpace) -> None:
    """The opponent plays by its rows: pass its reach on, and sum it."""
    actions, below, size = np.int64(batches.actions[step]), np.int64(batches.below[step]), number.size
    chance = _decision(tables.chance, tables.first[at], tables.rows, actions)
    reach = lane_row(space.reach, np.int64(batches.reach[step]), size)
    for action in range(actions):
        out, mine = lane_row(space.reach, below + action, size), chance[action * LANES :]
        for h in range(size):
            store(out, h, multiply(load(reach, h), load(mine, np.int64(number[h]) * actions)))
    if tables.reach.size:
        add_runs(reach, number, 1, _decision(tables.reach, tables.before[at], tables.rows, 1))


@inlined
def add_runs(row: F32, number: U16, stride: Int, total: F32) -> None:
    """Sum a row by the numbers of holes. Neighbours in strength often share one: a run is summed before it is stored.

    IN: float[hole, lane], uint16[hole]; IN OUT: float[number x stride, lane].
    """
    run, held = number[0], zeros(row)
    for h in range(number.size):
        if number[h] != run:
            at = np.int64(run) * stride
            store(total, at, add(load(total, at), held))
            run, held = number[h], zeros(row)
        held = add(held, load(row, h))
    at = np.int64(run) * stride
    store(total, at, add(load(total, at), held))


@kernel
def mean_rows(step: Int, at: Int, number: U16, batches: Batches, tables: LaneRows, space: LaneSpace) -> None:
    """The walker plays by its rows: values by its strategy, and the sums that its regrets need."""
    actions, first, size = np.int64(batches.actions[step]), np.int64(batches.value[step]), number.size
    chance = _decision(tables.chance, tables.first[at], tables.rows, actions)
    total = _decision(tables.total, tables.first[at], tables.rows, actions)
    value = lane_row(space.value, first, size)
    for action in range(actions):
        row, mine = lane_row(space.value, first + action, size), chance[action * LANES :]
        add_runs(row, number, actions, total[action * LANES :])
        for h in range(size):
            worth = multiply(load(row, h), load(mine, np.int64(number[h]) * actions))
            if action:
                worth = add(load(value, h), worth)
            store(value, h, worth)


@view
def _choice(at: Int, board: Int, actions: Int, choices: Choices) -> U16:
    """A decision's choices on a board: [action, hole] flat."""
    start = (np.int64(board - choices.first_board) * choices.actions + choices.first[at]) * choices.holes
    return choices.lanes[start : start + actions * choices.holes]


@kernel
def pass_choice(
    step: Int, at: Int, board: Int, size: Int, batches: Batches, choices: Choices, space: LaneSpace
) -> None:
    """The opponent plays what it chose: pass its reach on."""
    actions, below = np.int64(batches.actions[step]), np.int64(batches.below[step])
    chosen = _choice(at, board, actions, choices)
    reach = lane_row(space.reach, np.int64(batches.reach[step]), size)
    for action in range(actions):
        out, lanes = lane_row(space.reach, below + action, size), chosen[action * choices.holes :]
        for h in range(size):
            store(out, h, only(lanes[h], load(reach, h)))


@kernel
def respond(step: Int, at: Int, board: Int, size: Int, batches: Batches, choices: Choices, space: LaneSpace) -> None:
    """The walker takes the best action of each hole in each lane, and writes down which."""
    actions, first = np.int64(batches.actions[step]), np.int64(batches.value[step])
    chosen, passive = _choice(at, board, actions, choices), np.int64(choices.passive[at])
    value, every = lane_row(space.value, first, size), np.uint16(0xFFFF)
    kept = lane_row(space.value, first + passive, size)
    held = chosen[passive * choices.holes :]
    for h in range(size):
        best, left = load(kept, h), every
        for action in range(actions):
            if action != passive:
                more = load(lane_row(space.value, first + action, size), h)
                better = where_above(more, best)
                best = maximum(more, best)
                left &= ~better
                for other in range(action):
                    if other != passive:
                        chosen[other * choices.holes + h] &= ~better
                chosen[action * choices.holes + h] = better
        held[h] = left
        store(value, h, best)


# --- between the tables of a run and those of a subgame ------------------------------------------------------------


class Slots(NamedTuple):
    """Where a player's decisions of the last street stand in a run's tables."""

    place: I32  # [node of a batch, lane]
    lanes: I32  # [node of a batch] how many of them are entries
    offset: I64  # [place] the slot of a decision's first action in the first bucket
    stride: I64  # [place]
    actions: I32  # [node of a batch]


@kernel
def open_lanes(rows: U32, slots: Slots, regret: F32, tables: LaneRows) -> None:
    """Strategies of a subgame's rows, by regret matching. IN: uint32[row] buckets, float[slot]; OUT: tables.chance."""
    zero, one = np.float32(0), np.float32(1)
    for k in range(rows.size):
        for at in range(slots.actions.size):
            if tables.first[at] == NOWHERE:
                continue
            actions = np.int64(slots.actions[at])
            chance = _decision(tables.chance, tables.first[at], tables.rows, actions)[k * actions * LANES :]
            for lane in range(slots.lanes[at]):
                place = slots.place[at, lane]
                slot = slots.offset[place] + np.int64(rows[k]) * slots.stride[place]
                total = zero
                for action in range(actions):
                    total += max(regret[slot + action], zero)
                for action in range(actions):
                    share = max(regret[slot + action], zero) / total if total > zero else one / np.float32(actions)
                    chance[action * LANES + lane] = share


@kernel
def close_lanes(
    rows: U32, slots: Slots, tables: LaneRows, gain: Float, floor: Float, average_gain: Float, regret: F32, average: F32
) -> None:
    """Add what a subgame has gathered to a run's tables. IN: as above; IN OUT: float[slot] x 2."""
    for k in range(rows.size):
        for at in range(slots.actions.size):
            if tables.first[at] == NOWHERE:
                continue
            actions = np.int64(slots.actions[at])
            chance = _decision(tables.chance, tables.first[at], tables.rows, actions)[k * actions * LANES :]
            total = _decision(tables.total, tables.first[at], tables.rows, actions)[k * actions * LANES :]
            for lane in range(slots.lanes[at]):
                place = slots.place[at, lane]
                slot = slots.offset[place] + np.int64(rows[k]) * slots.stride[place]
                expected = np.float32(0)
                for action in range(actions):
                    expected += chance[action * LANES + lane] * total[action * LANES + lane]
                for action in range(actions):
                    more = gain * (total[action * LANES + lane] - expected)
                    regret[slot + action] = max(regret[slot + action] + more, floor)
                if tables.reach.size:
                    reach = _decision(tables.reach, tables.before[at], tables.rows, 1)[k * LANES + lane]
                    for action in range(actions):
                        average[slot + action] += average_gain * reach * chance[action * LANES + lane]
