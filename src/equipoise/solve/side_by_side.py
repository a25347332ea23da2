"""Kernels of the last street, sixteen betting entries side by side: see `last_street.py` for the steps they follow.

Rows are [hole, lane]. A board is answered for all batches of entries; reach and values of the entries stand in the same
layout on the board before, so that a hole's sixteen numbers are fetched and added at once.

The ends of a decision share a pass. With A as in `cards/showdown.py`, a call is worth c x (A(start) + A(end of ties) -
A(end of all)) and a fold f x (A(end of all) + my own hole). At my decision both see the same reach. At the opponent's
only the call is summed by card: the fold's sums are those of the reach, less the call's, less those handed on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equipoise._arrays import Int, aligned_zeros
from equipoise._jit import F32, U16, U32, inlined, kernel, view
from equipoise._simd import (
    LANES,
    add,
    add_scaled,
    gather_tile,
    load,
    maximum,
    multiply,
    multiply_add,
    scatter_tile,
    store,
    subtract,
    zeros,
)
from equipoise.cards.showdown import DECK, Cards
from equipoise.solve.last_street import COUNT, MOST, MY_END, NOTHING, PASS, SET, SUM, LastStreet
from equipoise.solve.plan import Plan, Workspace, padded

SUMS = DECK + 1  # by card, then of all


class Space(NamedTuple):
    """Memory of one thread. The first two are of the board before, [batch, hole, lane]."""

    reach_above: F32
    value_above: F32
    reach: F32  # [row, hole + 1, lane]
    value: F32  # [row, hole, lane]
    sums: F32  # [row, card or all, lane] of each reach
    given: F32  # the same, of what the opponent hands on of it to my decisions
    run: F32  # [card or all, lane]
    ones: F32  # [lane]
    few: F32  # [row, hole of sixteen, lane]


class Holes(NamedTuple):
    """The holes of a board as an end needs them."""

    mine: Cards
    theirs: Cards
    same: U16  # [my hole] its place among theirs
    groups: U16  # [group + 1, player]
    cells: U32  # [their hole] its bucket
    me: int


class MyEnds(NamedTuple):
    """How my decision ends the hand."""

    factor: F32  # [fold or call, lane]
    fold: bool
    call: bool
    left: bool  # for the opponent's ends below to finish


class TheirEnds(NamedTuple):
    """How the opponent's decision ends the hand."""

    factor: F32  # [fold or call, lane]
    chance: F32  # [bucket, action, lane]
    actions: Int
    fold: Int  # which action; or NOTHING
    call: Int
    join: bool  # to what its subtrees bring
    most: bool  # the larger of this and mine
    opened: bool  # where mine was left to be finished


def make_space(last: LastStreet, widest_above: int, widest: int) -> Space:
    """Memory for boards with at most so many holes, on the street before and on the last."""
    precision: type = last.factor.dtype.type
    above = last.deal.size * padded(widest_above)
    ones = aligned_zeros(LANES, precision)
    ones[:] = 1
    return Space(
        reach_above=aligned_zeros(above, precision),
        value_above=aligned_zeros(above, precision),
        reach=aligned_zeros(last.reach_rows * (widest + 1) * LANES, precision),
        value=aligned_zeros(last.value_rows * widest * LANES, precision),
        sums=aligned_zeros(last.reach_rows * SUMS * LANES, precision),
        given=aligned_zeros(last.reach_rows * SUMS * LANES, precision),
        run=aligned_zeros(SUMS * LANES, precision),
        ones=ones,
        few=aligned_zeros(last.value_rows * LANES * LANES, precision),
    )


@kernel
def pack_reach(board: Int, plan: Plan, last: LastStreet, space: Space, work: Workspace) -> None:
    """Put the reach of the entries below a board side by side, and clear their values."""
    street = np.int64(plan.boards.street[board])
    length = padded(plan.boards.counts[board, 1 - plan.step.walker])
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
def unpack_values(board: Int, plan: Plan, last: LastStreet, space: Space, work: Workspace) -> None:
    """Put the values of the entries below a board into the rows of the deals that they open from."""
    street = np.int64(plan.boards.street[board])
    length = padded(plan.boards.counts[board, plan.step.walker])
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
    boards, walker = plan.boards, plan.step.walker
    above = boards.parent[first]
    my_length, their_length = padded(boards.counts[above, walker]), padded(boards.counts[above, 1 - walker])
    for batch in range(last.deal.shape[0]):  # its rows of the board before stay in the cache
        reach_above = _row(space.reach_above, batch, their_length)
        value_above = _row(space.value_above, batch, my_length)
        for board in range(first, stop):
            if plan.weights[board] == 0.0:
                continue
            holes = _holes(board, plan, cells)
            my_before, their_before = places_before(board, walker, plan), places_before(board, 1 - walker, plan)
            stride = their_before.size + 1
            for row in range(last.reach_rows):
                store(space.reach, row * stride + stride - 1, zeros(space.reach))
            for j in range(their_before.size):
                store(space.reach, j, load(reach_above, their_before[j]))
            for step in range(last.first_step[batch], last.end_step[batch]):
                _take(step, batch, last, holes, space)
            for i in range(my_before.size):
                at = my_before[i]
                store(value_above, at, add_scaled(load(value_above, at), plan.weights[board], load(space.value, i)))


@view
def _row(rows: F32, row: Int, size: Int) -> F32:
    return rows[row * size * LANES : (row + 1) * size * LANES]


@view
def _holes(board: Int, plan: Plan, cells: U32) -> Holes:
    boards, walker = plan.boards, plan.step.walker
    mine, theirs = boards.first[board, walker], boards.first[board, 1 - walker]
    my_end, their_end = mine + boards.counts[board, walker], theirs + boards.counts[board, 1 - walker]
    groups = boards.group_first[board]
    return Holes(
        Cards(boards.card1[mine:my_end], boards.card2[mine:my_end]),
        Cards(boards.card1[theirs:their_end], boards.card2[theirs:their_end]),
        boards.same[mine:my_end],
        boards.groups[groups : groups + boards.num_groups[board] + 1],
        cells[theirs:their_end],
        walker,
    )


@view
def places_before(board: Int, player: Int, plan: Plan) -> U16:
    """Where the holes of a player are in the lists of the board before."""
    first = plan.boards.first[board, player]
    return plan.boards.before[first : first + plan.boards.counts[board, player]]


@kernel
def _take(step: Int, batch: Int, last: LastStreet, holes: Holes, space: Space) -> None:
    """One step of a batch."""
    steps = last.steps
    code, level, row = steps.code[step], np.int64(steps.reach[step]), np.int64(steps.row[step])
    their_stride, my_size = holes.theirs.card1.size + 1, holes.mine.card1.size
    reach = _row(space.reach, level, their_stride)
    sums, given = _row(space.sums, level, SUMS), _row(space.given, level, SUMS)
    actions, buckets = np.int64(steps.actions[step]), np.int64(last.buckets)
    start = last.first_chance[batch] + steps.chance[step] * buckets
    chance = last.chance[start * LANES : (start + actions * buckets) * LANES]
    fold, call = np.int64(steps.fold[step]), np.int64(steps.call[step])
    join = steps.join[step] != SET
    if code == PASS:
        _pass_on(reach, chance[fold * LANES :], actions, holes.cells, _row(space.reach, row, their_stride))
        if not join:
            _clear(given)
        return
    value = _row(space.value, row, my_size)
    if code in (SUM, MOST):
        join_rows(value, _row(space.value, row + 1, my_size), code == MOST)
        return
    if code == COUNT:
        _count(reach, holes.theirs, sums)
    elif code == MY_END:
        my_end(reach, _my_ends(step, batch, last), holes, sums, value)
    else:
        opened, most = np.int64(steps.opened[step]), steps.most[step] != SET
        mine = _my_ends(last.first_step[batch] + max(opened, 0), batch, last)
        their = TheirEnds(_factors(step, batch, last), chance, actions, fold, call, join, most, opened != NOTHING)
        their_end(reach, their, mine, holes, (sums, given, space.run), value, _row(space.value, row - most, my_size))
        return
    if level > 0:
        join_rows(_row(space.given, level - 1, SUMS), sums, False)


@view
def _factors(step: Int, batch: Int, last: LastStreet) -> F32:
    at = last.first_factor[batch] + 2 * (step - last.first_step[batch])
    return last.factor[at * LANES : (at + 2) * LANES]


@view
def _my_ends(step: Int, batch: Int, last: LastStreet) -> MyEnds:
    steps = last.steps
    return MyEnds(
        _factors(step, batch, last), steps.fold[step] != NOTHING, steps.call[step] != NOTHING, steps.most[step] != SET
    )


@inlined
def _pass_on(reach: F32, chance: F32, actions: Int, cells: U32, below: F32) -> None:
    """Reach x the probability of an action. IN: float[hole, lane], float[bucket, action, lane] from that action on."""
    for j in range(cells.size):
        store(below, j, multiply(load(reach, j), load(chance, cells[j] * actions)))


@inlined
def join_rows(value: F32, more: F32, most: bool) -> None:
    """The larger of two rows, or their sum, in place of the first."""
    for i in range(value.size // LANES):
        one, two = load(value, i), load(more, i)
        store(value, i, maximum(one, two) if most else add(one, two))


@inlined
def _clear(run: F32) -> None:
    for card in range(run.size // LANES):
        store(run, card, zeros(run))


@kernel
def _count(reach: F32, theirs: Cards, sums: F32) -> None:
    """The reach of the holes with each card, and of all."""
    _clear(sums)
    total = zeros(sums)
    for j in range(theirs.card1.size):
        weight, a, b = load(reach, j), theirs.card1[j], theirs.card2[j]
        total = add(total, weight)
        store(sums, a, add(load(sums, a), weight))
        store(sums, b, add(load(sums, b), weight))
    store(sums, DECK, total)


@kernel
def my_end(reach: F32, ends: MyEnds, holes: Holes, run: F32, value: F32) -> None:
    """The better of a fold and a call at my decision; if left, A(start) + A(end of ties).

    IN: float[their hole + 1, lane]; OUT: float[card or all, lane], the sums of the reach; float[my hole, lane].
    """
    mine1, mine2 = holes.mine.card1, holes.mine.card2
    theirs1, theirs2 = holes.theirs.card1, holes.theirs.card2
    groups, me = holes.groups, holes.me
    _clear(run)
    total = zeros(run)
    behind = 0
    for group in range(groups.shape[0]):
        here = groups[group, me]
        for i in range(behind, here):  # the end of the group before is the start of this one
            store(value, i, add(load(value, i), _without(total, run, mine1[i], mine2[i])))
        behind = here
        if group + 1 == groups.shape[0]:
            break
        for i in range(here, groups[group + 1, me]):
            store(value, i, _without(total, run, mine1[i], mine2[i]))
        for j in range(groups[group, 1 - me], groups[group + 1, 1 - me]):
            weight, a, b = load(reach, j), theirs1[j], theirs2[j]
            total = add(total, weight)
            store(run, a, add(load(run, a), weight))
            store(run, b, add(load(run, b), weight))
    store(run, DECK, total)
    if not ends.left:
        folding, calling = load(ends.factor, 0), load(ends.factor, 1)
        for i in range(mine1.size):
            everything, own = _without(total, run, mine1[i], mine2[i]), load(reach, holes.same[i])
            store(value, i, _better(load(value, i), everything, own, folding, calling, ends.fold, ends.call))


@inlined
def _without(total: Any, run: F32, card1: Int, card2: Int) -> Any:
    """A: all that was summed but what has my cards."""
    return subtract(subtract(total, load(run, card1)), load(run, card2))


@inlined
def _better(upto: Any, everything: Any, own: Any, folding: Any, calling: Any, has_fold: bool, has_call: bool) -> Any:
    """The better of my fold and call, from A(start) + A(end of ties), A(end of all) and the reach of my own hole."""
    called = multiply(calling, subtract(upto, everything))
    if not has_fold:
        return called
    folded = multiply(folding, add(everything, own))
    return maximum(called, folded) if has_call else folded


@kernel
def their_end(
    reach: F32, ends: TheirEnds, my: MyEnds, holes: Holes, sums: tuple[F32, F32, F32], value: F32, above: F32
) -> None:
    """What the opponent's fold and call bring me, with what its subtrees bring.

    IN: float[their hole + 1, lane]; float[card or all, lane] of the reach (OUT if nobody folds), of what was handed on,
    and scratch; IN OUT: float[my hole, lane], of the subtrees, and of my decision.
    """
    everything, given, run = sums
    mine1, mine2 = holes.mine.card1, holes.mine.card2
    theirs1, theirs2, cells = holes.theirs.card1, holes.theirs.card2, holes.cells
    groups, me, chance, actions = holes.groups, holes.me, ends.chance, np.int64(ends.actions)
    folding, calling = load(ends.factor, 0), load(ends.factor, 1)
    _clear(run)
    total = zeros(run)
    behind = 0
    for group in range(groups.shape[0]):
        here = groups[group, me]
        for i in range(behind, here):
            upto = _without(total, run, mine1[i], mine2[i])
            store(value, i, multiply_add(calling, upto, load(value, i)))
        behind = here
        if group + 1 == groups.shape[0]:
            break
        for i in range(here, groups[group + 1, me]):
            upto = _without(total, run, mine1[i], mine2[i])
            store(value, i, multiply_add(calling, upto, load(value, i)) if ends.join else multiply(calling, upto))
        if ends.call == NOTHING:
            continue
        for j in range(groups[group, 1 - me], groups[group + 1, 1 - me]):
            a, b = theirs1[j], theirs2[j]
            called = multiply(load(reach, j), load(chance, cells[j] * actions + ends.call))
            total = add(total, called)
            store(run, a, add(load(run, a), called))
            store(run, b, add(load(run, b), called))
    store(run, DECK, total)
    _weigh(ends, everything, given, run)
    total, all_told = load(run, DECK), load(everything, DECK)
    my_folding, my_calling = load(my.factor, 0), load(my.factor, 1)
    for i in range(mine1.size):
        brought, own = add(load(value, i), _without(total, run, mine1[i], mine2[i])), load(reach, holes.same[i])
        if ends.fold != NOTHING and holes.same[i] < cells.size:
            folded = multiply(own, load(chance, cells[holes.same[i]] * actions + ends.fold))
            brought = multiply_add(folding, folded, brought)
        if ends.opened:
            met = _without(all_told, everything, mine1[i], mine2[i])
            best = _better(load(above, i), met, own, my_folding, my_calling, my.fold, my.call)
            brought = maximum(brought, best)
        elif ends.most:
            brought = maximum(brought, load(above, i))
        store(above, i, brought)


@inlined
def _weigh(ends: TheirEnds, everything: F32, given: F32, run: F32) -> None:
    """What A(end of all) brings: folds less calls. IN OUT: float[card or all, lane], the sums of the calls."""
    folding, calling = load(ends.factor, 0), load(ends.factor, 1)
    for card in range(SUMS):
        called = load(run, card)
        stayed = add(called, load(given, card)) if ends.join else called
        worth = subtract(zeros(run), multiply(calling, called))
        if ends.fold == NOTHING:
            store(everything, card, stayed)
        else:
            worth = multiply_add(folding, subtract(load(everything, card), stayed), worth)
        store(run, card, worth)
