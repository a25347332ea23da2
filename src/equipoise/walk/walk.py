"""The vector walk: betting tree x boards, reach of whole vectors of holes down, values up.

Boards first: one visit of a board serves all betting entries of its street. The walk passes the opponent's reach down
the street's nodes, evaluates terminals sixteen at a time, visits the boards below one after the other (each gathers the
reach of its live holes and adds its values back), and passes values up. The decision rule is an argument: by hole
(`hole_walk.py`) or by bucket (`bucketed_walk.py`), selected by its type when a kernel is compiled.

Values are counterfactual: chips x the opponent's reach x the probability of the deals, not normalised.
(Johanson and others 2011; Zinkevich and others 2007 for the update.)
"""

# ruff: noqa: ARG001 - an overload has the arguments of the function it implements

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from equipoise.core.arrays import Int
from equipoise.core.jit import F32, INLINED, U16, inlined, inner, kernel
from equipoise.walk.bucketed_walk import BoardRule, ascend_board, descend_board
from equipoise.walk.hole_walk import ascend_by_hole, descend_by_hole
from equipoise.walk.plan import HoleRule, Plan, WalkBuffers, padded, row_of
from equipoise.walk.terminals import evaluate_blind, evaluate_terminals

Rule = HoleRule | BoardRule
_ROOT = -1
WHOLE, ENTER, LEAVE = 0, 1, 2  # the parts of a walk of a board


@inlined
def bring_reach(group: Int, board: Int, street: Int, plan: Plan, above: WalkBuffers, work: WalkBuffers) -> None:
    """Set the reach of a group's entries, from the DEAL rows of the street before; at the root, from the ranges."""
    program, boards, walker = plan.program, plan.boards, plan.walker
    opponent = 1 - walker
    size = np.int64(boards.counts[board, opponent])
    first = boards.first[board, opponent]
    base = work.reach_base[street]
    rows = program.reach_row[walker]
    before = boards.before[first : first + size]
    for entry in range(program.group_entries[group], program.group_entries[group + 1]):
        reach = row_of(work.reach, base, rows[program.entries[entry]], padded(size))
        if program.entry_deal[entry] == _ROOT:
            for h in range(size):
                reach[h] = plan.root_reach[h]
        else:
            length = padded(boards.counts[boards.parent[board], opponent])
            source = row_of(above.reach, above.reach_base[int(street) - 1], rows[program.entry_deal[entry]], length)
            for h in range(size):
                reach[h] = source[before[h]]


@inlined
def hand_back(group: Int, board: Int, street: Int, plan: Plan, above: WalkBuffers, work: WalkBuffers) -> None:
    """Add the values of a group's entries, times the board's weight, to the DEAL rows of the street before."""
    program, boards = plan.program, plan.boards
    walker = plan.walker
    size = np.int64(boards.counts[board, walker])
    first = boards.first[board, walker]
    base = work.value_base[street]
    before = boards.before[first : first + size]
    for entry in range(program.group_entries[group], program.group_entries[group + 1]):
        value = row_of(work.value, base, program.entries[entry] - program.group_first[group], padded(size))
        if program.entry_deal[entry] == _ROOT:
            for h in range(size):
                plan.root_value[h] = value[h]
        else:
            length = padded(boards.counts[boards.parent[board], walker])
            parent_group = program.street_groups[street - 1]
            row = program.entry_deal[entry] - program.group_first[parent_group]
            target = row_of(above.value, above.value_base[int(street) - 1], row, length)
            times = work.value.dtype.type(plan.weights[board])
            for h in range(size):
                target[before[h]] += times * value[h]


@inlined
def clear_deals(board: Int, street: Int, plan: Plan, work: WalkBuffers) -> None:
    """Set the DEAL rows of a street to zero, before the boards below add to them."""
    program, size = plan.program, np.int64(plan.boards.counts[board, plan.walker])
    group = program.street_groups[street]
    for place in program.deals[program.group_deals[group] : program.group_deals[group + 1]]:
        row = place - program.group_first[group]
        value = row_of(work.value, work.value_base[street], row, padded(size))
        for h in range(size):
            value[h] = 0


@inlined
def average_orbits(board: Int, street: Int, plan: Plan, work: WalkBuffers) -> None:
    """Values came from one deal of each class: average them over holes that renamings of suits map to each other."""
    program, boards, walker = plan.program, plan.boards, plan.walker
    group = program.street_groups[street]
    size = np.int64(boards.counts[board, walker])
    first = boards.first[board, walker]
    for place in program.deals[program.group_deals[group] : program.group_deals[group + 1]]:
        if boards.symmetric[board]:
            value = row_of(work.value, work.value_base[street], place - program.group_first[group], padded(size))
            average_row(value[:size], boards.orbit[first : first + size], work.spare, work.lanes_out)


@inner
def average_row(value: F32, orbit: U16, total: F32, times: F32) -> None:
    """IN OUT: float[hole]; IN: uint16[hole] the first hole of each orbit; scratch: float[hole] x 2."""
    for h in range(value.size):
        total[h] = 0
        times[h] = 0
    for h in range(value.size):
        total[orbit[h]] += value[h]
        times[orbit[h]] += 1
    for h in range(value.size):
        value[h] = total[orbit[h]] / times[orbit[h]]


def descend(
    group: Int, board: Int, street: Int, last: bool, plan: Plan, rule: Rule, above: WalkBuffers, work: WalkBuffers
) -> None:
    """Bring reach to a group's entries, pass it down, and evaluate terminals. The rule's type selects the code."""
    chosen = _descend_board if isinstance(rule, BoardRule) else _descend_holes
    chosen(group, board, street, last, plan, rule, above, work)


def ascend(group: Int, board: Int, street: Int, last: bool, plan: Plan, rule: Rule, work: WalkBuffers) -> None:
    """Pass a group's values up. The rule's type selects the code."""
    chosen = _ascend_board if isinstance(rule, BoardRule) else _ascend_holes
    chosen(group, board, street, last, plan, rule, work)


def _descend_holes(group: Any, board: Any, street: Any, last: Any, plan: Any, rule: Any, above: Any, work: Any) -> None:
    if rule.tables.path.size == 0:
        bring_reach(group, board, street, plan, above, work)
        descend_by_hole(group, board, street, plan, rule, work)
        evaluate_terminals(group, board, street, last, plan, work)
    else:
        evaluate_blind(group, board, street, last, rule.tables.path, plan, work)


def _descend_board(group: Any, board: Any, street: Any, last: Any, plan: Any, rule: Any, above: Any, work: Any) -> None:
    bring_reach(group, board, street, plan, above, work)
    descend_board(group, board, street, plan, rule, work)
    evaluate_terminals(group, board, street, last, plan, work)


def _ascend_holes(group: Any, board: Any, street: Any, last: Any, plan: Any, rule: Any, work: Any) -> None:
    ascend_by_hole(group, board, street, plan, rule, work)


def _ascend_board(group: Any, board: Any, street: Any, last: Any, plan: Any, rule: Any, work: Any) -> None:
    ascend_board(group, board, street, last, plan, rule, work)


# Not `inline="always"`: Numba then drops stores to arrays of a named tuple as dead code.
@overload(descend, jit_options=INLINED)
def _descend(group: Any, board: Any, street: Any, last: Any, plan: Any, rule: Any, above: Any, work: Any) -> Any:
    return _descend_board if rule.instance_class is BoardRule else _descend_holes


@overload(ascend, jit_options=INLINED)
def _ascend(group: Any, board: Any, street: Any, last: Any, plan: Any, rule: Any, work: Any) -> Any:
    return _ascend_board if rule.instance_class is BoardRule else _ascend_holes


@inlined
def enter_board(
    board: Int, street: Int, last: bool, plan: Plan, rule: Rule, above: WalkBuffers, work: WalkBuffers
) -> None:
    """Down a board's street; on the last street, also up again and back to the street before."""
    for group in range(plan.program.street_groups[street], plan.program.street_groups[street + 1]):
        descend(group, board, street, last, plan, rule, above, work)
        if last:
            ascend(group, board, street, True, plan, rule, work)
            hand_back(group, board, street, plan, above, work)
    if not last:
        clear_deals(board, street, plan, work)


@inlined
def leave_board(board: Int, street: Int, plan: Plan, rule: Rule, above: WalkBuffers, work: WalkBuffers) -> None:
    """Up a board's street, after all boards below it."""
    group = plan.program.street_groups[street]
    average_orbits(board, street, plan, work)
    ascend(group, board, street, False, plan, rule, work)
    hand_back(group, board, street, plan, above, work)


@inlined
def onward(street: Int, root: Int, bottom: Int, entered: bool, plan: Plan, work: WalkBuffers) -> tuple[Int, bool]:
    """The next street of a walk, after a board was entered or left, and whether it enters the board there.

    Depth first, with a stack of one board a street. Boards of the bottom street are entered only. After the end, the
    street is above the root.
    """
    boards, here, going_down = plan.boards, np.int64(street), entered and street != bottom
    if not going_down:
        here -= 1
    entering = False
    if here >= root:
        end = boards.first_child[work.board[here]] + boards.num_children[work.board[here]]
        while work.cursor[here] < end and not entering:
            below = work.cursor[here]
            work.cursor[here] += 1
            entering = plan.weights[below] != 0.0
            if entering:
                work.board[here + 1], work.cursor[here + 1] = below, boards.first_child[below]
    return here + entering, entering


@inlined
def begin_at(board: Int, plan: Plan, work: WalkBuffers) -> Int:
    """Put a board on the stack of a walk; returns its street."""
    street = np.int64(plan.boards.street[board])
    work.board[street], work.cursor[street] = board, plan.boards.first_child[board]
    return street


@inlined
def walk_below(top: Int, part: Int, plan: Plan, rule: Rule, above: WalkBuffers, work: WalkBuffers) -> None:
    """Walk a board and everything below it; or only enter or leave the board."""
    last_street = plan.program.street_groups.size - 2
    root = begin_at(top, plan, work)
    street, entering = root, part != LEAVE
    while street >= root:
        board, up = np.int64(work.board[street]), above if street == root else work
        if entering:
            enter_board(board, street, street == last_street, plan, rule, up, work)
        else:
            leave_board(board, street, plan, rule, up, work)
        if part != WHOLE:
            return
        street, entering = onward(street, root, last_street, entering, plan, work)


@kernel
def walk_boards(
    first: Int, stop: Int, part: Int, plan: Plan, rule: Rule, above: WalkBuffers, work: WalkBuffers
) -> None:
    """Walk boards of one street. Reach comes from `above`, and values go there.

    In one thread the WHOLE root is walked: board 0 and everything below it. With threads the root is entered, its
    children are walked, each thread with some of them, and the root is left. One kernel has all parts: it takes long to
    compile.
    """
    for board in range(first, stop):
        if part != WHOLE or plan.weights[board] != 0.0:
            walk_below(board, part, plan, rule, above, work)
