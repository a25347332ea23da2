"""Kernels of the last street, sixteen betting entries side by side: see `last_street.py` for the steps they follow.

Rows are [hole, lane]. A board is answered for all batches of entries; reach and values of the entries stand in the same
layout on the board before, so that a hole's sixteen numbers are fetched and added at once.

The ends of a decision share a pass. With A as in `cards/showdown.py`, a call is worth c x (A(start) + A(end of ties) -
A(end of all)) and a fold f x (A(end of all) + my own hole). At my decision both see the same reach; at the opponent's,
its probabilities split the reach.
"""

from __future__ import annotations

from typing import NamedTuple

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
    scatter_tile,
    store,
    subtract,
    zeros,
)
from equipoise.cards.showdown import DECK, Cards
from equipoise.solve.last_street import MOST, MY_END, NOTHING, PASS, SUM, LastStreet
from equipoise.solve.plan import Plan, Workspace, padded
from equipoise.solve.terminals import meet_everyone


class Space(NamedTuple):
    """Memory of one thread. The first two are of the board before, [batch, hole, lane]."""

    reach_above: F32
    value_above: F32
    reach: F32  # [row, hole + 1, lane]
    value: F32  # [row, hole, lane]
    run: F32  # [card, lane]
    run_end: F32  # [turn, card, lane]
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
        run=aligned_zeros(DECK * LANES, precision),
        run_end=aligned_zeros(2 * DECK * LANES, precision),
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
    for board in range(first, stop):
        if plan.weights[board] == 0.0:
            continue
        holes = _holes(board, plan, cells)
        my_before, their_before = _before(board, walker, plan), _before(board, 1 - walker, plan)
        stride = their_before.size + 1
        for row in range(space.reach.size // (stride * LANES)):
            store(space.reach, row * stride + stride - 1, zeros(space.reach))
        for batch in range(last.deal.shape[0]):
            reach_above = space.reach_above[batch * their_length * LANES : (batch + 1) * their_length * LANES]
            for j in range(their_before.size):
                store(space.reach, j, load(reach_above, their_before[j]))
            for step in range(last.first_step[batch], last.end_step[batch]):
                _take(step, batch, last, holes, space)
            value_above = space.value_above[batch * my_length * LANES : (batch + 1) * my_length * LANES]
            for i in range(my_before.size):
                at = my_before[i]
                store(value_above, at, add_scaled(load(value_above, at), plan.weights[board], load(space.value, i)))


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
def _before(board: Int, player: Int, plan: Plan) -> U16:
    first = plan.boards.first[board, player]
    return plan.boards.before[first : first + plan.boards.counts[board, player]]


@kernel
def _take(step: Int, batch: Int, last: LastStreet, holes: Holes, space: Space) -> None:
    """One step of a batch."""
    steps = last.steps
    code, row, buckets = steps.code[step], np.int64(steps.row[step]), np.int64(last.buckets)
    their_stride, my_size = holes.theirs.card1.size + 1, holes.mine.card1.size
    reach = space.reach[steps.reach[step] * their_stride * LANES : (steps.reach[step] + 1) * their_stride * LANES]
    start = last.first_chance[batch] + steps.chance[step] * buckets
    actions = np.int64(steps.actions[step])
    chance = last.chance[start * LANES : (start + actions * buckets) * LANES]
    if code == PASS:
        below = space.reach[row * their_stride * LANES : (row + 1) * their_stride * LANES]
        _pass_on(reach, chance[np.int64(steps.fold[step]) * LANES :], actions, holes.cells, below)
        return
    value = space.value[row * my_size * LANES : (row + 1) * my_size * LANES]
    if code in (SUM, MOST):
        _join(value, space.value[(row + 1) * my_size * LANES : (row + 2) * my_size * LANES], code == MOST)
        return
    at = last.first_factor[batch] + 2 * (step - last.first_step[batch])
    factor = last.factor[at * LANES : (at + 2) * LANES]
    fold, call = np.int64(steps.fold[step]), np.int64(steps.call[step])
    spare = space.value[(row + 1) * my_size * LANES : (row + 2) * my_size * LANES]
    if code == MY_END:
        my_end(reach, factor, fold != NOTHING, call != NOTHING, holes, space.run, spare, value, steps.join[step] != 0)
    else:
        runs, join = (space.run, space.run_end), steps.join[step] != 0
        their_end(reach, chance, actions, fold, call, factor, holes, runs, spare, value, join)


@inlined
def _pass_on(reach: F32, chance: F32, actions: Int, cells: U32, below: F32) -> None:
    """Reach x the probability of an action. IN: float[hole, lane], float[bucket, action, lane] from that action on."""
    for j in range(cells.size):
        store(below, j, multiply(load(reach, j), load(chance, cells[j] * actions)))


@inlined
def _join(value: F32, more: F32, most: bool) -> None:
    for i in range(value.size // LANES):
        one, two = load(value, i), load(more, i)
        store(value, i, maximum(one, two) if most else add(one, two))


@inlined
def _clear(run: F32) -> None:
    for card in range(run.size // LANES):
        store(run, card, zeros(run))


@kernel
def my_end(
    reach: F32, factor: F32, has_fold: bool, has_call: bool, holes: Holes, run: F32, spare: F32, value: F32, join: bool
) -> None:
    """The better of a fold and a call at my decision, and of what is there if `join`.

    IN: float[their hole + 1, lane]; float[fold or call, lane]; scratch: float[card, lane], float[my hole, lane];
    IN OUT: float[my hole, lane].
    """
    mine1, mine2 = holes.mine.card1, holes.mine.card2
    theirs1, theirs2 = holes.theirs.card1, holes.theirs.card2
    groups, me = holes.groups, holes.me
    _clear(run)
    total = zeros(run)
    behind = 0
    for group in range(groups.shape[0] - 1):
        here = groups[group, me]
        for i in range(behind, here):  # the end of the group before is the start of this one
            upto = subtract(subtract(total, load(run, mine1[i])), load(run, mine2[i]))
            store(spare, i, add(load(spare, i), upto))
        for i in range(here, groups[group + 1, me]):
            store(spare, i, subtract(subtract(total, load(run, mine1[i])), load(run, mine2[i])))
        behind = here
        for j in range(groups[group, 1 - me], groups[group + 1, 1 - me]):
            weight, a, b = load(reach, j), theirs1[j], theirs2[j]
            total = add(total, weight)
            store(run, a, add(load(run, a), weight))
            store(run, b, add(load(run, b), weight))
    folding, calling = load(factor, 0), load(factor, 1)
    for i in range(mine1.size):
        everything = subtract(subtract(total, load(run, mine1[i])), load(run, mine2[i]))
        called = load(spare, i)
        if i < behind:  # in the last group, the end of ties is the end of all
            called = subtract(called, everything)
        best = multiply(calling, called)
        if has_fold:
            folded = multiply(folding, add(everything, load(reach, holes.same[i])))
            best = maximum(best, folded) if has_call else folded
        if join:
            best = maximum(best, load(value, i))
        store(value, i, best)


@kernel
def their_end(
    reach: F32,
    chance: F32,
    actions: Int,
    fold: Int,
    call: Int,
    factor: F32,
    holes: Holes,
    runs: tuple[F32, F32],
    spare: F32,
    value: F32,
    join: bool,
) -> None:
    """What the opponent's fold and call bring me, together, added to what is there if `join`.

    IN: float[their hole + 1, lane]; float[bucket, action, lane]; float[fold or call, lane]; scratch: float[card, lane],
    float[turn, card, lane], float[my hole, lane]; IN OUT: float[my hole, lane].
    """
    run, run_end = runs
    mine1, mine2 = holes.mine.card1, holes.mine.card2
    theirs1, theirs2, cells = holes.theirs.card1, holes.theirs.card2, holes.cells
    groups, me = holes.groups, holes.me
    _clear(run)
    _clear(run_end)
    total = zeros(run)
    total_end = zeros(run)
    folding, calling = load(factor, 0), load(factor, 1)
    fold_at, call_at = max(fold, 0), max(call, 0)  # where there is none, its factor is zero
    turn = 0  # two sums in turn: neighbours share cards, and each would wait for the one before
    behind = 0
    for group in range(groups.shape[0] - 1):
        here = groups[group, me]
        for i in range(behind, here):
            upto = subtract(subtract(total, load(run, mine1[i])), load(run, mine2[i]))
            store(spare, i, add(load(spare, i), upto))
        for i in range(here, groups[group + 1, me]):
            store(spare, i, subtract(subtract(total, load(run, mine1[i])), load(run, mine2[i])))
        behind = here
        for j in range(groups[group, 1 - me], groups[group + 1, 1 - me]):
            a, b, at = theirs1[j], theirs2[j], cells[j] * actions
            weight = load(reach, j)
            called = multiply(multiply(weight, load(chance, at + call_at)), calling)
            total = add(total, called)
            store(run, a, add(load(run, a), called))
            store(run, b, add(load(run, b), called))
            if fold >= 0:
                folded = multiply(multiply(weight, load(chance, at + fold_at)), folding)
                total_end = add(total_end, folded)
                a, b = turn + a, turn + b
                store(run_end, a, add(load(run_end, a), folded))
                store(run_end, b, add(load(run_end, b), folded))
                turn = DECK - turn
    for card in range(DECK):
        store(run_end, card, add(load(run_end, card), load(run_end, DECK + card)))
    for i in range(mine1.size):
        brought = load(spare, i)
        if i < behind:
            everything = subtract(subtract(total, load(run, mine1[i])), load(run, mine2[i]))
            brought = subtract(brought, everything)
        if fold >= 0:
            met = subtract(subtract(total_end, load(run_end, mine1[i])), load(run_end, mine2[i]))
            brought = add(brought, met)
            same = holes.same[i]
            if same < cells.size:
                own = multiply(load(reach, same), load(chance, cells[same] * actions + fold_at))
                brought = add(brought, multiply(own, folding))
        if join:
            brought = add(brought, load(value, i))
        store(value, i, brought)


@kernel
def answer_boards_alike(first: Int, stop: Int, plan: Plan, last: LastStreet, space: Space, work: Workspace) -> None:
    """Best responses on boards of the last street to an opponent that plays all holes alike, hole by hole."""
    boards, walker = plan.boards, plan.step.walker
    my_length = padded(boards.counts[boards.parent[first], walker])
    for board in range(first, stop):
        if plan.weights[board] == 0.0:
            continue
        meet_everyone(board, True, plan, work)
        won, met = work.spare, work.lanes_in  # as `meet_everyone` left them
        before = _before(board, walker, plan)
        for batch in range(last.deal.shape[0]):
            value_above = space.value_above[batch * my_length * LANES : (batch + 1) * my_length * LANES]
            for start in range(0, before.size, LANES):
                end = min(start + LANES, before.size)
                _evaluate_alike(batch, won[start:end], met[start:end], last, space.few)
                for i in range(end - start):
                    at = before[start + i]
                    store(value_above, at, add_scaled(load(value_above, at), plan.weights[board], load(space.few, i)))


@kernel
def _evaluate_alike(batch: Int, won: F32, met: F32, last: LastStreet, few: F32) -> None:
    """All steps of a batch for up to sixteen holes. IN: float[hole] x 2; OUT: float[row, hole, lane], row 0."""
    steps, first = last.steps, last.first_step[batch]
    for step in range(first, last.end_step[batch]):
        code, row = steps.code[step], np.int64(steps.row[step])
        value = few[row * LANES * LANES : (row + 1) * LANES * LANES]
        if code in (SUM, MOST):
            _join(value, few[(row + 1) * LANES * LANES : (row + 2) * LANES * LANES], code == MOST)
        elif code != PASS:
            at = last.first_factor[batch] + 2 * (step - first)
            folding, calling = load(last.factor, at), load(last.factor, at + 1)
            mine, join = code == MY_END, steps.join[step] != 0
            has_fold, has_call = steps.fold[step] != NOTHING, steps.call[step] != NOTHING
            for i in range(won.size):
                folded = add_scaled(zeros(few), met[i], folding)
                called = add_scaled(zeros(few), won[i], calling)
                if not mine:
                    end = add(folded, called)
                elif has_fold and has_call:
                    end = maximum(folded, called)
                else:
                    end = folded if has_fold else called
                if join:
                    there = load(value, i)
                    end = maximum(end, there) if mine else add(end, there)
                store(value, i, end)
