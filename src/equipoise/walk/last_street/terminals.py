"""How hands end on the last street, sixteen betting entries side by side: one pass for all ends of a decision.

With A as in `cards/showdown.py`, a call is worth c x (A(start) + A(end of ties) - A(end of all)) and a fold
f x (A(end of all) + my own hole). At my decision both see the same reach. At the opponent's only the call is summed by
card: the fold's sums are those of the reach, less the call's, less those handed on. See `last_street.py` for the steps.

Holes of one card are taken for holes of two: my second card is one that nobody has, and the opponent's one that I never
ask for. My own hole is then taken away once, and not put back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equipoise.cards.showdown import DECK, Cards, sum_upto, without
from equipoise.core.arrays import Int, aligned_zeros
from equipoise.core.jit import F32, U8, U16, inlined, inner, view
from equipoise.core.simd import (
    LANES,
    add,
    add_scaled,
    load,
    maximum,
    multiply,
    multiply_add,
    played,
    store,
    subtract,
    zeros,
)
from equipoise.walk.last_street.program import COUNT, MOST, NOTHING, PASS, SET, SUM, THEIR_END, Step
from equipoise.walk.plan import Plan

ALL, NOBODYS, SPARE = DECK, DECK + 1, DECK + 2
SUMS = DECK + 3  # by card, then of all, and of the second cards of holes that have one


class Rows(NamedTuple):
    """What steps work in: rows of lanes, as many holes long as the board's lists."""

    reach: F32  # [level, hole + 1, lane] the last of a level zero
    value: F32  # [row, hole, lane]
    sums: F32  # [level, card or all, lane] of each reach
    given: F32  # the same, of what the opponent hands on of it to my decisions
    run: F32  # [card or all, lane]
    nobodys: U8  # [card] my second cards, where holes have one
    spare: U8  # [card] the opponent's


class Holes(NamedTuple):
    """The holes of a board as an end needs them."""

    mine: Cards
    theirs: Cards
    same: U16  # [my hole] its place among theirs
    groups: U16  # [group + 1, player]
    me: int
    back: int  # how often my own hole is put back: taken away twice, if it has two cards


class MyEnds(NamedTuple):
    """How my decision ends the hand."""

    factor: F32  # [fold or call, lane]
    fold: bool
    call: bool
    left: bool  # to be finished by a later step


class TheirEnds(NamedTuple):
    """How the opponent's decision ends the hand."""

    factor: F32  # [fold or call, lane]
    chance: Any  # float[cell, action, lane], or the lanes as bits: uint16[cell, action]
    actions: Int
    fold: Int  # which action; or NOTHING
    call: Int
    join: bool  # to what its subtrees bring
    most: bool  # the larger of this and mine
    opened: bool  # where mine was left to be finished


def make_rows(levels: int, rows: int, holes: int, precision: type) -> Rows:
    """Memory for boards with at most so many holes."""
    sizes = levels * (holes + 1), rows * holes, levels * SUMS, levels * SUMS, SUMS
    reach, value, sums, given, run = (aligned_zeros(size * LANES, precision) for size in sizes)
    nobodys, spare = np.full(DECK, NOBODYS, np.uint8), np.full(DECK, SPARE, np.uint8)
    return Rows(reach, value, sums, given, run, nobodys, spare)


@view
def row_at(rows: F32, row: Int, size: Int) -> F32:
    """One row of lanes."""
    return rows[row * size * LANES : (row + 1) * size * LANES]


@view
def holes_of(board: Int, plan: Plan, rows: Rows) -> Holes:
    """The holes of a board of the last street."""
    boards, walker = plan.boards, plan.walker
    mine, theirs = boards.first[board, walker], boards.first[board, 1 - walker]
    my_end, their_end = mine + boards.counts[board, walker], theirs + boards.counts[board, 1 - walker]
    groups = boards.group_first[board]
    two = plan.two_cards
    my_second = boards.card2[mine:my_end] if two else rows.nobodys[: my_end - mine]
    their_second = boards.card2[theirs:their_end] if two else rows.spare[: their_end - theirs]
    return Holes(
        Cards(boards.card1[mine:my_end], my_second),
        Cards(boards.card1[theirs:their_end], their_second),
        boards.same[mine:my_end],
        boards.groups[groups : groups + boards.num_groups[board] + 1],
        walker,
        1 if two else 0,
    )


@view
def take_step(step: Step, my: MyEnds, factor: F32, chance: Any, cells: Any, holes: Holes, rows: Rows) -> None:
    """One step of a batch. The opponent plays by `chance`, each of its holes by that of its cell.

    IN: float[fold or call, lane], chance as in `TheirEnds`, uint[their hole].
    """
    level, row = np.int64(step.reach), np.int64(step.row)
    their_stride, my_size = holes.theirs.card1.size + 1, holes.mine.card1.size
    reach = row_at(rows.reach, level, their_stride)
    sums, given = row_at(rows.sums, level, SUMS), row_at(rows.given, level, SUMS)
    if step.code == PASS:
        pass_on(
            reach, chance, np.int64(step.actions), np.int64(step.fold), cells, row_at(rows.reach, row, their_stride)
        )
        if step.join == SET:
            clear(given)
    elif step.code in (SUM, MOST):
        join_rows(row_at(rows.value, row, my_size), row_at(rows.value, row + 1, my_size), step.code == MOST)
    elif step.code == THEIR_END:
        most, actions, opened = step.most != SET, np.int64(step.actions), step.opened != NOTHING
        their = TheirEnds(factor, chance, actions, step.fold, step.call, step.join != SET, most, opened)
        value, above = row_at(rows.value, row, my_size), row_at(rows.value, row - most, my_size)
        their_end(reach, their, my, cells, holes, (sums, given, rows.run), value, above)
    else:
        if step.code == COUNT:
            count(reach, holes.theirs, sums)
        else:
            my_end(reach, my, holes, sums, row_at(rows.value, row, my_size))
        if level > 0:
            join_rows(row_at(rows.given, level - 1, SUMS), sums, False)


@inlined
def pass_on(reach: F32, chance: Any, actions: Int, action: Int, cells: Any, below: F32) -> None:
    """What the opponent reaches an action with."""
    for j in range(cells.size):
        store(below, j, played(load(reach, j), chance, np.int64(cells[j]) * actions + action))


@inlined
def join_rows(value: F32, more: F32, most: bool) -> None:
    """The larger of two rows, or their sum, in place of the first."""
    for i in range(value.size // LANES):
        one, two = load(value, i), load(more, i)
        store(value, i, maximum(one, two) if most else add(one, two))


@inlined
def clear(run: F32) -> None:
    """Sums of nothing."""
    for card in range(run.size // LANES):
        store(run, card, zeros(run))


@inner
def count(reach: F32, theirs: Cards, sums: F32) -> None:
    """The reach of the holes with each card, and of all."""
    clear(sums)
    total = zeros(sums)
    for j in range(theirs.card1.size):
        weight, a, b = load(reach, j), theirs.card1[j], theirs.card2[j]
        total = add(total, weight)
        store(sums, a, add(load(sums, a), weight))
        store(sums, b, add(load(sums, b), weight))
    store(sums, ALL, total)


@inner
def my_end(reach: F32, ends: MyEnds, holes: Holes, run: F32, value: F32) -> None:
    """The better of a fold and a call at my decision; if left, A(start) + A(end of ties).

    IN: float[their hole + 1, lane]; OUT: float[card or all, lane], the sums of the reach; float[my hole, lane].
    """
    mine1, mine2 = holes.mine.card1, holes.mine.card2
    total = sum_upto(reach, value, run, holes.mine, holes.theirs, holes.groups, holes.me)
    store(run, ALL, total)
    if not ends.left:
        folding, calling = load(ends.factor, 0), load(ends.factor, 1)
        for i in range(mine1.size):
            everything, own = without(total, run, mine1[i], mine2[i]), load(reach, holes.same[i])
            best = _better(load(value, i), everything, own, holes.back, folding, calling, ends.fold, ends.call)
            store(value, i, best)


@inlined
def called(upto: Any, everything: Any, calling: Any) -> Any:
    """What my call is worth, from A(start) + A(end of ties) and A(end of all)."""
    return multiply(calling, subtract(upto, everything))


@inlined
def folded(everything: Any, own: Any, back: Int, folding: Any) -> Any:
    """What my fold is worth, from A(end of all) and the reach of my own hole."""
    return multiply(folding, add_scaled(everything, back, own))


@inlined
def _better(
    upto: Any, everything: Any, own: Any, back: Int, folding: Any, calling: Any, has_fold: bool, has_call: bool
) -> Any:
    """The better of my fold and call."""
    call = called(upto, everything, calling)
    if not has_fold:
        return call
    fold = folded(everything, own, back, folding)
    return maximum(call, fold) if has_call else fold


@inner
def their_end(
    reach: F32,
    ends: TheirEnds,
    my: MyEnds,
    cells: Any,
    holes: Holes,
    sums: tuple[F32, F32, F32],
    value: F32,
    above: F32,
) -> None:
    """What the opponent's fold and call bring me, with what its subtrees bring.

    IN: float[their hole + 1, lane]; float[card or all, lane] of the reach (OUT if nobody folds), of what was handed on
    (OUT: of the folds), and scratch; IN OUT: float[my hole, lane], of the subtrees, and of my decision.
    """
    everything, given, run = sums
    mine1, mine2, same = holes.mine.card1, holes.mine.card2, holes.same
    theirs1, theirs2 = holes.theirs.card1, holes.theirs.card2
    groups, me, chance, actions = holes.groups, holes.me, ends.chance, np.int64(ends.actions)
    folding, calling = load(ends.factor, 0), load(ends.factor, 1)
    clear(run)
    total = zeros(run)
    behind = 0
    for group in range(groups.shape[0]):
        here = groups[group, me]
        for i in range(behind, here):
            upto = without(total, run, mine1[i], mine2[i])
            store(value, i, multiply_add(calling, upto, load(value, i)))
        behind = here
        if group + 1 == groups.shape[0]:
            break
        for i in range(here, groups[group + 1, me]):
            upto = without(total, run, mine1[i], mine2[i])
            store(value, i, multiply_add(calling, upto, load(value, i)) if ends.join else multiply(calling, upto))
        if ends.call == NOTHING:
            continue
        for j in range(groups[group, 1 - me], groups[group + 1, 1 - me]):
            a, b = theirs1[j], theirs2[j]
            weight = played(load(reach, j), chance, np.int64(cells[j]) * actions + ends.call)
            total = add(total, weight)
            store(run, a, add(load(run, a), weight))
            store(run, b, add(load(run, b), weight))
    store(run, ALL, total)
    _sum_folds(ends, everything, given, run)
    not_called, all_told = load(given, ALL), load(everything, ALL)
    my_folding, my_calling = load(my.factor, 0), load(my.factor, 1)
    for i in range(mine1.size):
        # Not in one rounding: what was added of my own hole is to be taken away again, to the bit.
        brought = subtract(load(value, i), multiply(calling, without(total, run, mine1[i], mine2[i])))
        own = load(reach, same[i])
        if ends.fold != NOTHING and same[i] < cells.size:
            fold = subtract(own, _stayed(own, ends, np.int64(cells[same[i]]) * actions))
            met = add_scaled(without(not_called, given, mine1[i], mine2[i]), holes.back, fold)
            brought = multiply_add(folding, met, brought)
        if ends.opened:
            met = without(all_told, everything, mine1[i], mine2[i])
            best = _better(load(above, i), met, own, holes.back, my_folding, my_calling, my.fold, my.call)
            brought = maximum(brought, best)
        elif ends.most:
            brought = maximum(brought, load(above, i))
        store(above, i, brought)


@inlined
def _stayed(own: Any, ends: TheirEnds, cell: Int) -> Any:
    """What a hole does not fold of its reach, summed as `_sum_folds` has it: where nobody else comes, a fold
    then brings me exactly nothing, and all that I can do is equally good.
    """
    call, given = subtract(own, own), subtract(own, own)
    if ends.call != NOTHING:
        call = played(own, ends.chance, cell + ends.call)
    if not ends.join:
        return call
    for action in range(ends.actions):
        if action not in (ends.fold, ends.call):
            given = add(given, played(own, ends.chance, cell + action))
    return add(call, given)


@inlined
def _sum_folds(ends: TheirEnds, everything: F32, given: F32, run: F32) -> None:
    """What is folded, by card: in place of what was handed on. IN: float[card or all, lane] of the calls."""
    for card in range(SUMS):
        stayed = add(load(run, card), load(given, card)) if ends.join else load(run, card)
        if ends.fold == NOTHING:
            store(everything, card, stayed)
        else:
            store(given, card, subtract(load(everything, card), stayed))
