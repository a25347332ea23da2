"""The last street of a subgame, sixteen betting entries side by side: see `subgame_walk.py`.

Steps are those of `sampled_last_street.py`, on all last boards below one. Strategies of the subgame's rows stand ready
as [decision, row, action, lane], so that a hole finds sixteen probabilities in one place; what regrets and averages
need is summed in the same layout, over all boards: the values of actions, and the reach. A responder's choices are
bits: of each hole and action, the lanes that take it. Of equally good actions it takes the one that checks or calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.cards.showdown import without
from equipoise.core.arrays import Int
from equipoise.core.jit import F32, F64, I32, U16, inner, view
from equipoise.core.simd import LANES, add_scaled, gather_tile, load, maximum, scatter_tile, store, where_above, zeros
from equipoise.solvers.sampled_last_street import Batches, LaneSpace, add_runs, end_levels, factors_at, mean_lanes
from equipoise.walk.last_street.program import CHOOSE, NOTHING, OPEN, Step, step_at
from equipoise.walk.last_street.terminals import (
    ALL,
    SUMS,
    Holes,
    MyEnds,
    Rows,
    called,
    folded,
    holes_of,
    row_at,
    take_step,
)
from equipoise.walk.plan import Plan, WalkBuffers, padded

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
    lanes: U16  # [board, decision, hole, action] flat
    actions: int  # of all decisions
    every: U16  # [hole] which it is: it has a row of its own
    first_board: int


class Above(NamedTuple):
    """Entries of the last street, in lanes, on the board before: [batch, hole, lane]."""

    reach: F32
    value: F32


@view
def pack_reach(board: Int, plan: Plan, batches: Batches, above: Above, space: LaneSpace, work: WalkBuffers) -> None:
    """Put the reach of the entries below a board side by side, and clear their values."""
    street = np.int64(plan.boards.street[board])
    size = np.int64(plan.boards.counts[board, 0])
    length = padded(size)
    rows = plan.program.reach_row[plan.walker]
    for batch in range(batches.lanes.size):
        for lane in range(LANES):
            space.reach_at[lane] = work.reach_base[street] + np.int64(rows[batches.deal[batch, lane]]) * length
        out = row_at(above.reach, batch, length)
        for start in range(0, length, LANES):
            gather_tile(work.reach, space.reach_at, start, out)
    for i in range(above.value.size // LANES):
        store(above.value, i, zeros(above.value))


@view
def unpack_values(board: Int, plan: Plan, batches: Batches, above: Above, space: LaneSpace, work: WalkBuffers) -> None:
    """Put the values of the entries below a board into the rows of the deals that they open from."""
    street = np.int64(plan.boards.street[board])
    length = padded(np.int64(plan.boards.counts[board, 0]))
    first = np.int64(plan.program.group_first[plan.program.street_groups[street]])
    for batch in range(batches.lanes.size):
        for lane in range(LANES):
            row = np.int64(batches.deal[batch, lane]) - first
            spare = work.value.size - length
            space.value_at[lane] = work.value_base[street] + row * length if lane < batches.lanes[batch] else spare
        lanes = row_at(above.value, batch, length)
        for start in range(0, length, LANES):
            scatter_tile(lanes, start, space.ones, space.value_at, work.value)


@inner
def walk_last(
    first_batch: Int,
    stop: Int,
    board: Int,
    plan: Plan,
    batches: Batches,
    number: U16,
    weight: F64,
    mine: LaneRows,
    theirs: LaneRows,
    choices: Choices,
    above: Above,
    space: LaneSpace,
) -> None:
    """All last boards below a board, down and up, for some batches. They have no part of a table in common.

    IN: uint16[place] the row of a hole, float64[board] probabilities.
    """
    boards, walker, rows = plan.boards, plan.walker, space.rows
    length = padded(np.int64(boards.counts[board, 0]))
    for batch in range(first_batch, stop):  # its rows of the board before stay in the cache
        reach_above, value_above = row_at(above.reach, batch, length), row_at(above.value, batch, length)
        for below in range(boards.first_child[board], boards.first_child[board] + boards.num_children[board]):
            first, size = boards.first[below, walker], np.int64(boards.counts[below, walker])
            holes, start = holes_of(below, plan, rows), boards.first[below, 1 - walker]
            before, cells = boards.before[first : first + size], number[start : start + size]
            end_levels(size, batches.levels, rows.reach)
            for j in range(size):
                store(rows.reach, j, add_scaled(zeros(rows.reach), weight[below], load(reach_above, before[j])))
            for i in range(batches.first_step[batch], batches.end_step[batch]):
                step, factor = step_at(batches.steps, i), factors_at(i, batch, batches)
                at, ends = batches.first_place[batch] + step.node, MyEnds(factor, False, False, True)
                if step.code == CHOOSE:
                    if mine.rows:
                        choose_by_rows(step, at, factor, number[first : first + size], holes, rows, mine)
                    else:
                        respond(step, factor, holes, rows, chosen(at, below, step.actions, choices))
                elif step.code == OPEN:
                    if theirs.reach.size:
                        reached = decision(theirs.reach, theirs.before[at], theirs.rows, 1)
                        add_runs(row_at(rows.reach, np.int64(step.reach), size + 1), cells, 1, reached)
                elif theirs.rows:
                    chance = decision(theirs.chance, theirs.first[at], theirs.rows, step.actions)
                    take_step(step, ends, factor, chance, cells, holes, rows)
                else:
                    lanes = chosen(at, below, step.actions, choices)
                    take_step(step, ends, factor, lanes, choices.every[:size], holes, rows)
            back = 1 / weight[board]
            for h in range(size):
                store(value_above, before[h], add_scaled(load(value_above, before[h]), back, load(rows.value, h)))


@view
def decision(flat: F32, first: Int, rows: Int, width: Int) -> F32:
    """A decision's part of a table in lanes; of no meaning at another player's."""
    start = np.int64(max(first, 0)) * rows * LANES
    return flat[start : start + np.int64(width) * rows * LANES]


@view
def chosen(at: Int, board: Int, actions: Int, choices: Choices) -> U16:
    """A decision's choices on a board: [hole, action] flat."""
    block = np.int64(board - choices.first_board) * choices.actions + max(choices.first[at], 0)
    start, size = block * choices.every.size, np.int64(actions) * choices.every.size
    return choices.lanes[start : start + size]


@view
def choose_by_rows(step: Step, at: Int, factor: F32, number: U16, holes: Holes, rows: Rows, tables: LaneRows) -> None:
    """The walker plays by its rows."""
    chance = decision(tables.chance, tables.first[at], tables.rows, step.actions)
    total = decision(tables.total, tables.first[at], tables.rows, step.actions)
    mean_lanes(step, factor, number, chance, holes, rows, total)


@inner
def respond(step: Step, factor: F32, holes: Holes, rows: Rows, taken: U16) -> None:
    """The walker takes the best action of each hole in each lane, and writes down which. OUT: uint16[hole, action]."""
    actions, row, size = np.int64(step.actions), np.int64(step.row), holes.mine.card1.size
    value = row_at(rows.value, row, size)
    every = np.uint16(0xFFFF)
    if step.join:
        _respond_to_ends(step, factor, holes, rows, taken)
    below = row + step.join
    for action in range(actions):
        if action in (step.fold, step.call):
            continue
        worth, first = row_at(rows.value, below, size), below == row
        for h in range(size):
            at, more, best = h * actions, load(worth, h), load(value, h)
            better = every if first else where_above(more, best)
            store(value, h, more if first else maximum(more, best))
            for other in range(actions):
                taken[at + other] &= ~better
            taken[at + action] = better
        below += 1


@view
def _respond_to_ends(step: Step, factor: F32, holes: Holes, rows: Rows, taken: U16) -> None:
    """The better of a fold and a call; of the row of values, A(start) + A(end of ties) before."""
    actions, size = np.int64(step.actions), holes.mine.card1.size
    value, reach = row_at(rows.value, np.int64(step.row), size), row_at(rows.reach, np.int64(step.reach), size + 1)
    sums, folding, calling = row_at(rows.sums, np.int64(step.reach), SUMS), load(factor, 0), load(factor, 1)
    has_fold, has_call = step.fold != NOTHING, step.call != NOTHING
    all_told, every = load(sums, ALL), np.uint16(0xFFFF)
    for h in range(size):
        at = h * actions
        everything = without(all_told, sums, holes.mine.card1[h], holes.mine.card2[h])
        best, better = called(load(value, h), everything, calling), np.uint16(0)
        if has_fold:
            fold = folded(everything, load(reach, holes.same[h]), holes.back, folding)
            better = where_above(fold, best) if has_call else every
            best = maximum(fold, best) if has_call else fold
            taken[at + step.fold] = better
        if has_call:
            taken[at + step.call] = ~better
        store(value, h, best)
