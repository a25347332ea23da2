"""The last street of a best response, sixteen betting entries side by side.

Rows are [hole, lane]. A board is answered for all batches of entries; reach and values of the entries stand in the same
layout on the board before, so that a hole's sixteen numbers are fetched and added at once. `last_street.py` has the
steps, and `ends.py` the kernels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Int, aligned_zeros
from equipoise.core.jit import F32, U16, U32, kernel, view
from equipoise.core.simd import LANES, add_scaled, gather_tile, load, scatter_tile, store, zeros
from equipoise.walk.last_street.program import NOTHING, SET, LastStreet, step_at
from equipoise.walk.last_street.terminals import MyEnds, Rows, holes_of, make_rows, row_at, take_step
from equipoise.walk.plan import Plan, WalkBuffers, padded


class Space(NamedTuple):
    """Memory of one thread. The first two are of the board before, [batch, hole, lane]."""

    reach_above: F32
    value_above: F32
    rows: Rows
    ones: F32  # [lane]
    few: F32  # [row, hole of sixteen, lane]


def make_space(last: LastStreet, widest_above: int, widest: int) -> Space:
    """Memory for boards with at most so many holes, on the street before and on the last."""
    precision: type = last.factor.dtype.type
    above = last.deal.size * padded(widest_above)
    ones = aligned_zeros(LANES, precision)
    ones[:] = 1
    return Space(
        reach_above=aligned_zeros(above, precision),
        value_above=aligned_zeros(above, precision),
        rows=make_rows(last.reach_rows, last.value_rows, widest, precision),
        ones=ones,
        few=aligned_zeros(last.value_rows * LANES * LANES, precision),
    )


@kernel
def pack_reach(board: Int, plan: Plan, last: LastStreet, space: Space, work: WalkBuffers) -> None:
    """Put the reach of the entries below a board side by side, and clear their values."""
    street = np.int64(plan.boards.street[board])
    length = padded(plan.boards.counts[board, 1 - plan.walker])
    for batch in range(last.deal.shape[0]):
        for lane in range(LANES):
            row = max(last.deal_reach[batch, lane], 0)
            work.reach_at[lane] = work.reach_base[street] + row * length
        out = space.reach_above[batch * length * LANES : (batch + 1) * length * LANES]
        for start in range(0, length, LANES):
            gather_tile(work.reach, work.reach_at, start, out)
    for i in range(space.value_above.size):
        space.value_above[i] = 0


@kernel
def unpack_values(board: Int, plan: Plan, last: LastStreet, space: Space, work: WalkBuffers) -> None:
    """Put the values of the entries below a board into the rows of the deals that they open from."""
    street = np.int64(plan.boards.street[board])
    length = padded(plan.boards.counts[board, plan.walker])
    for batch in range(last.deal.shape[0]):
        for lane in range(LANES):
            row = last.deal[batch, lane]
            spare = work.value.size - length
            work.value_at[lane] = spare if row == NOTHING else work.value_base[street] + row * length
        lanes = space.value_above[batch * length * LANES : (batch + 1) * length * LANES]
        for start in range(0, length, LANES):
            scatter_tile(lanes, start, space.ones, work.value_at, work.value)


@kernel
def answer_boards(first: Int, stop: Int, plan: Plan, last: LastStreet, cells: U32, space: Space) -> None:
    """Best responses on boards of the last street to a strategy by bucket, added to the values of the board before."""
    boards, walker, rows = plan.boards, plan.walker, space.rows
    above = boards.parent[first]
    my_length, their_length = padded(boards.counts[above, walker]), padded(boards.counts[above, 1 - walker])
    for batch in range(last.deal.shape[0]):  # its rows of the board before stay in the cache
        reach_above = row_at(space.reach_above, batch, their_length)
        value_above = row_at(space.value_above, batch, my_length)
        for board in range(first, stop):
            if plan.weights[board] == 0.0:
                continue
            holes, theirs = holes_of(board, plan, rows), boards.first[board, 1 - walker]
            my_before, their_before = places_before(board, walker, plan), places_before(board, 1 - walker, plan)
            stride = their_before.size + 1
            for row in range(last.reach_rows):
                store(rows.reach, row * stride + stride - 1, zeros(rows.reach))
            for j in range(their_before.size):
                store(rows.reach, j, load(reach_above, their_before[j]))
            here = cells[theirs : theirs + their_before.size]
            for number in range(last.first_step[batch], last.end_step[batch]):
                step = step_at(last.steps, number)
                opened = number if step.opened == NOTHING else last.first_step[batch] + step.opened
                start, size = last.first_chance[batch] + step.chance * last.buckets, step.actions * last.buckets
                chance = last.chance[start * LANES : (start + size) * LANES]
                take_step(step, _my_ends(opened, batch, last), _factors(number, batch, last), chance, here, holes, rows)
            for i in range(my_before.size):
                at = my_before[i]
                store(value_above, at, add_scaled(load(value_above, at), plan.weights[board], load(rows.value, i)))


@view
def places_before(board: Int, player: Int, plan: Plan) -> U16:
    """Where the holes of a player are in the lists of the board before."""
    first = plan.boards.first[board, player]
    return plan.boards.before[first : first + plan.boards.counts[board, player]]


@view
def _factors(step: Int, batch: Int, last: LastStreet) -> F32:
    at = last.first_factor[batch] + 2 * (step - last.first_step[batch])
    return last.factor[at * LANES : (at + 2) * LANES]


@view
def _my_ends(number: Int, batch: Int, last: LastStreet) -> MyEnds:
    step = step_at(last.steps, number)
    return MyEnds(_factors(number, batch, last), step.fold != NOTHING, step.call != NOTHING, step.most != SET)
