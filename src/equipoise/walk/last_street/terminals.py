"""The ops of the last street for sixteen entries: folds and showdowns of a decision in one pass over the holes.

With A as in `cards/showdown.py`, a call is worth c x (A(start) + A(end of ties) - A(end of all)) and a fold
f x (A(end of all) + my own hole). At my decision both see the same reach. At the opponent's only the calls are summed
by card: fold sums = total reach - calls - continuing actions. `program.py` explains the order of the ops.

One-card holes are treated as two-card holes: my second card is one that nobody holds, and the opponent's is one that I
never look up. My own hole is then subtracted once, and not added back.
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
from equipoise.walk.last_street.packing import row_at
from equipoise.walk.last_street.program import COUNT, MOST, NOTHING, PASS, SET, SUM, THEIR_TERMINALS, LastStreetOp
from equipoise.walk.plan import Plan

ALL, MY_FILLER, THEIR_FILLER = DECK, DECK + 1, DECK + 2
SUMS = DECK + 3  # by card, then of all, and of the second cards of holes that have one


class OpBuffers(NamedTuple):
    """Working memory of ops: rows of lanes, one entry for each hole of the board's lists."""

    reach: F32  # [level, hole + 1, lane] the last entry of a level is zero
    value: F32  # [row, hole, lane]
    sums: F32  # [level, card or all, lane] of the reach
    continued: F32  # the same, of the part that continues to my decisions
    run: F32  # [card or all, lane]
    my_filler: U8  # [hole] my second cards, where holes have one
    their_filler: U8  # [hole] the opponent's


class BoardHoles(NamedTuple):
    """The holes of a board, as terminals need them."""

    mine: Cards
    theirs: Cards
    opponent_pos: U16  # [my hole] its position among theirs
    groups: U16  # [group + 1, player]
    me: int
    add_back: int  # how often my own hole is added back: two-card holes are subtracted twice


class MyTerminals(NamedTuple):
    """The fold and the call of my decision."""

    factor: F32  # [fold or call, lane]
    fold: bool
    call: bool
    later: bool  # finished by a later op


class TheirTerminals(NamedTuple):
    """The fold and the call of the opponent's decision."""

    factor: F32  # [fold or call, lane]
    chance: Any  # float[cell, action, lane], or the lanes as bits: uint16[cell, action]
    actions: Int
    fold: Int  # index of the action, or NOTHING
    call: Int
    join: bool  # to the values of its subtrees
    most: bool  # take the larger of this and mine
    opened: bool  # finish the terminals of my decision as well


def make_op_buffers(levels: int, rows: int, holes: int, precision: type) -> OpBuffers:
    """Memory for boards with at most `holes` holes."""
    sizes = levels * (holes + 1), rows * holes, levels * SUMS, levels * SUMS, SUMS
    reach, value, sums, continued, run = (aligned_zeros(size * LANES, precision) for size in sizes)
    my_filler, their_filler = np.full(DECK, MY_FILLER, np.uint8), np.full(DECK, THEIR_FILLER, np.uint8)
    return OpBuffers(reach, value, sums, continued, run, my_filler, their_filler)


@view
def board_holes(board: Int, plan: Plan, rows: OpBuffers) -> BoardHoles:
    """The holes of a board of the last street."""
    boards, walker = plan.boards, plan.walker
    mine, theirs = boards.first[board, walker], boards.first[board, 1 - walker]
    my_end, their_end = mine + boards.counts[board, walker], theirs + boards.counts[board, 1 - walker]
    groups = boards.group_first[board]
    two = plan.two_cards
    my_second = boards.card2[mine:my_end] if two else rows.my_filler[: my_end - mine]
    their_second = boards.card2[theirs:their_end] if two else rows.their_filler[: their_end - theirs]
    return BoardHoles(
        Cards(boards.card1[mine:my_end], my_second),
        Cards(boards.card1[theirs:their_end], their_second),
        boards.same[mine:my_end],
        boards.groups[groups : groups + boards.num_groups[board] + 1],
        walker,
        1 if two else 0,
    )


@view
def run_op(
    op: LastStreetOp, my: MyTerminals, factor: F32, chance: Any, cells: Any, holes: BoardHoles, rows: OpBuffers
) -> None:
    """Run one op on a batch. Each of the opponent's holes plays by the probabilities of its cell.

    IN: float[fold or call, lane], chance as in `TheirTerminals`, uint[their hole].
    """
    level, row = np.int64(op.reach), np.int64(op.row)
    their_stride, my_size = holes.theirs.card1.size + 1, holes.mine.card1.size
    reach = row_at(rows.reach, level, their_stride)
    sums, continued = row_at(rows.sums, level, SUMS), row_at(rows.continued, level, SUMS)
    if op.code == PASS:
        pass_on(reach, chance, np.int64(op.actions), np.int64(op.fold), cells, row_at(rows.reach, row, their_stride))
        if op.join == SET:
            clear(continued)
    elif op.code in (SUM, MOST):
        join_rows(row_at(rows.value, row, my_size), row_at(rows.value, row + 1, my_size), op.code == MOST)
    elif op.code == THEIR_TERMINALS:
        most, actions, opened = op.most != SET, np.int64(op.actions), op.opened != NOTHING
        their = TheirTerminals(factor, chance, actions, op.fold, op.call, op.join != SET, most, opened)
        value, above = row_at(rows.value, row, my_size), row_at(rows.value, row - most, my_size)
        their_terminals(reach, their, my, cells, holes, (sums, continued, rows.run), value, above)
    else:
        if op.code == COUNT:
            count(reach, holes.theirs, sums)
        else:
            my_terminals(reach, my, holes, sums, row_at(rows.value, row, my_size))
        if level > 0:
            join_rows(row_at(rows.continued, level - 1, SUMS), sums, False)


@inlined
def pass_on(reach: F32, chance: Any, actions: Int, action: Int, cells: Any, below: F32) -> None:
    """The opponent's reach after an action."""
    for j in range(cells.size):
        store(below, j, played(load(reach, j), chance, np.int64(cells[j]) * actions + action))


@inlined
def join_rows(value: F32, more: F32, most: bool) -> None:
    """Replace the first of two rows by their maximum or their sum."""
    for i in range(value.size // LANES):
        one, two = load(value, i), load(more, i)
        store(value, i, maximum(one, two) if most else add(one, two))


@inlined
def clear(run: F32) -> None:
    """Set all sums to zero."""
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
def my_terminals(reach: F32, terminals: MyTerminals, holes: BoardHoles, run: F32, value: F32) -> None:
    """The better of a fold and a call at my decision; if finished later, A(start) + A(end of ties).

    IN: float[their hole + 1, lane]; OUT: float[card or all, lane], the sums of the reach; float[my hole, lane].
    """
    mine1, mine2 = holes.mine.card1, holes.mine.card2
    total = sum_upto(reach, value, run, holes.mine, holes.theirs, holes.groups, holes.me)
    store(run, ALL, total)
    if not terminals.later:
        folding, calling = load(terminals.factor, 0), load(terminals.factor, 1)
        for i in range(mine1.size):
            everything, own = without(total, run, mine1[i], mine2[i]), load(reach, holes.opponent_pos[i])
            best = _better(
                load(value, i), everything, own, holes.add_back, folding, calling, terminals.fold, terminals.call
            )
            store(value, i, best)


@inlined
def called(upto: Any, everything: Any, calling: Any) -> Any:
    """Value of my call, from A(start) + A(end of ties) and A(end of all)."""
    return multiply(calling, subtract(upto, everything))


@inlined
def folded(everything: Any, own: Any, add_back: Int, folding: Any) -> Any:
    """Value of my fold, from A(end of all) and the reach of my own hole."""
    return multiply(folding, add_scaled(everything, add_back, own))


@inlined
def _better(
    upto: Any, everything: Any, own: Any, add_back: Int, folding: Any, calling: Any, has_fold: bool, has_call: bool
) -> Any:
    """The better of my fold and call."""
    call = called(upto, everything, calling)
    if not has_fold:
        return call
    fold = folded(everything, own, add_back, folding)
    return maximum(call, fold) if has_call else fold


@inner
def their_terminals(
    reach: F32,
    terminals: TheirTerminals,
    my: MyTerminals,
    cells: Any,
    holes: BoardHoles,
    sums: tuple[F32, F32, F32],
    value: F32,
    above: F32,
) -> None:
    """My value of the opponent's fold and call, joined to that of its subtrees.

    IN: float[their hole + 1, lane]; sums [card or all, lane] of the reach (OUT if nobody folds), of continuing actions
    (OUT: of the folds), and scratch; IN OUT: float[my hole, lane] of the subtrees, and of my decision.
    """
    everything, continued, run = sums
    mine1, mine2, opponent_pos = holes.mine.card1, holes.mine.card2, holes.opponent_pos
    theirs1, theirs2 = holes.theirs.card1, holes.theirs.card2
    groups, me, chance, actions = holes.groups, holes.me, terminals.chance, np.int64(terminals.actions)
    folding, calling = load(terminals.factor, 0), load(terminals.factor, 1)
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
            store(value, i, multiply_add(calling, upto, load(value, i)) if terminals.join else multiply(calling, upto))
        if terminals.call == NOTHING:
            continue
        for j in range(groups[group, 1 - me], groups[group + 1, 1 - me]):
            a, b = theirs1[j], theirs2[j]
            weight = played(load(reach, j), chance, np.int64(cells[j]) * actions + terminals.call)
            total = add(total, weight)
            store(run, a, add(load(run, a), weight))
            store(run, b, add(load(run, b), weight))
    store(run, ALL, total)
    _sum_folds(terminals, everything, continued, run)
    not_called, everyone = load(continued, ALL), load(everything, ALL)
    my_folding, my_calling = load(my.factor, 0), load(my.factor, 1)
    for i in range(mine1.size):
        # No fused multiply-add: what was added for my own hole must cancel exactly.
        gained = subtract(load(value, i), multiply(calling, without(total, run, mine1[i], mine2[i])))
        own = load(reach, opponent_pos[i])
        if terminals.fold != NOTHING and opponent_pos[i] < cells.size:
            fold = subtract(own, _stayed(own, terminals, np.int64(cells[opponent_pos[i]]) * actions))
            met = add_scaled(without(not_called, continued, mine1[i], mine2[i]), holes.add_back, fold)
            gained = multiply_add(folding, met, gained)
        if terminals.opened:
            met = without(everyone, everything, mine1[i], mine2[i])
            best = _better(load(above, i), met, own, holes.add_back, my_folding, my_calling, my.fold, my.call)
            gained = maximum(gained, best)
        elif terminals.most:
            gained = maximum(gained, load(above, i))
        store(above, i, gained)


@inlined
def _stayed(own: Any, terminals: TheirTerminals, cell: Int) -> Any:
    """The part of a hole's reach that does not fold, summed in the order of `_sum_folds`: where no other hole
    arrives, a fold then brings exactly zero, and all my actions tie.
    """
    call, continued = subtract(own, own), subtract(own, own)
    if terminals.call != NOTHING:
        call = played(own, terminals.chance, cell + terminals.call)
    if not terminals.join:
        return call
    for action in range(terminals.actions):
        if action not in (terminals.fold, terminals.call):
            continued = add(continued, played(own, terminals.chance, cell + action))
    return add(call, continued)


@inlined
def _sum_folds(terminals: TheirTerminals, everything: F32, continued: F32, run: F32) -> None:
    """Replace the sums of continuing actions by those of folds. IN: float[card or all, lane] of the calls."""
    for card in range(SUMS):
        stayed = add(load(run, card), load(continued, card)) if terminals.join else load(run, card)
        if terminals.fold == NOTHING:
            store(everything, card, stayed)
        else:
            store(continued, card, subtract(load(everything, card), stayed))
