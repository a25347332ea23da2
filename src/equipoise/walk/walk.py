"""The vector walk: betting tree x boards, reach of whole vectors of holes down, values up.

Board first, betting second: one visit of a board serves all betting entries of its street. Down the street's nodes with
the opponent's reach; terminals, sixteen at a time; at the street's end every board below, one after the other, each
gathering the reach of the holes that are still live and adding its values back; then up the street's nodes. Vector CFR,
exact best response, evaluation, CFR-BR and public chance sampling differ only in what happens at a decision node:

- the opponent plays its table's strategy (regrets or averages) or fixed probabilities, and may add to its average;
- the walker updates regrets (UPDATE), takes the best action (BEST), or plays its own table (EVALUATE).

Values are counterfactual: chips x the opponent's reach x the probability of the deals, not divided by anything.
(Johanson and others 2011; Zinkevich and others 2007 for the update.)
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Int
from equipoise.core.jit import F32, U16, inlined, inner, kernel, view
from equipoise.core.simd import LANES
from equipoise.tree.betting_tree import DECISION
from equipoise.walk.plan import BEST, UPDATE, Plan, Workspace, padded, row_of, rows_of
from equipoise.walk.regret_matching import (
    add_average,
    add_regret,
    best_value,
    mean_value,
    pass_reach,
    predict,
    update_three,
    update_two,
)
from equipoise.walk.short_ranges import add_average_narrow, is_narrow, pass_reach_narrow, sum_narrow, update_narrow
from equipoise.walk.table_storage import AVERAGE, REGRET, close_rows, open_rows, read_rows
from equipoise.walk.terminals import evaluate_blind, evaluate_terminals

_ROOT = -1


@inner
def go_down(group: Int, board: Int, street: Int, plan: Plan, work: Workspace) -> None:
    """Pass the opponent's reach from a group's entries to all of its nodes."""
    program, boards, tables, step = plan.program, plan.boards, plan.tables, plan.step
    walker = step.walker
    size = np.int64(boards.counts[board, 1 - walker])
    base, length = work.reach_base[street], padded(size)
    rows = program.reach_row[walker]
    block, scales = tables.first[board, 1 - walker], tables.scale_first[board, 1 - walker]
    narrow, first_row = tables.source.size > 0 and is_narrow(tables.source, size), base // LANES
    for place in range(program.group_first[group], program.group_first[group + 1]):
        if program.kind[place] != DECISION or program.player[place] == walker:
            continue
        child, count = program.first_child[place], np.int64(program.num_children[place])
        row = program.table_row[place]
        averaging = step.averaging and program.locked[place] != -1 and program.locked[place] != board + 1
        if narrow:
            start, to = block + row * size, first_row + rows[child]
            pass_reach_narrow(work.reach, first_row + rows[place], to, tables.source, start, size, count)
            if averaging:
                add_average_narrow(work.reach, to, step.keep, tables.average, start, size, count)
            continue
        reach = row_of(work.reach, base, rows[place], length)[:size]
        below = rows_of(work.reach, base, rows[child], count, length)
        if tables.source.size == 0:
            for action in range(count):
                chance = work.reach.dtype.type(tables.fixed[child + action])
                for h in range(size):
                    below[action, h] = reach[h] * chance
            continue
        source, scratch = rows_of(tables.source, block, row, count, size), rows_of(work.decoded, 0, 0, count, size)
        pass_reach(reach, read_rows(source, scratch), below)
        if averaging:
            kept, scale_at = rows_of(tables.average, block, row, count, size), scales + row
            average = open_rows(kept, tables.scale, scale_at, AVERAGE, scratch)
            add_average(below, step.keep, average)
            close_rows(average, kept, tables.scale, scale_at, AVERAGE, step.phase)


@inner
def go_up(group: Int, board: Int, street: Int, plan: Plan, work: Workspace) -> None:
    """Turn the values of a group's terminals and deals into those of its decisions, and do what the step says."""
    program, boards, tables, step = plan.program, plan.boards, plan.tables, plan.step
    walker = step.walker
    size = np.int64(boards.counts[board, walker])
    base, length = work.value_base[street], padded(size)
    start = program.group_first[group]
    block, scales = tables.first[board, walker], tables.scale_first[board, walker]
    narrow, first_row = tables.source.size > 0 and is_narrow(tables.source, size), base // LANES - start
    for place in range(program.group_first[group + 1] - 1, start - 1, -1):
        if program.kind[place] != DECISION:
            continue
        child, count = program.first_child[place], np.int64(program.num_children[place])
        mine, row = program.player[place] == walker, program.table_row[place]
        locked = program.locked[place] == -1 or program.locked[place] == board + 1
        updating = step.mode == UPDATE and not locked
        if narrow and not mine:
            sum_narrow(work.value, first_row + place, first_row + child, count)
            continue
        if narrow and updating and not step.predictive:
            here, to, at = first_row + place, first_row + child, block + row * size
            update_narrow(work.value, here, to, step.positive, step.negative, tables.source, at, size, count)
            continue
        value = row_of(work.value, base, place - start, length)[:size]
        values = rows_of(work.value, base, child - start, count, length)
        if not mine:
            sum_rows(values, value)
        elif step.mode == BEST and not locked:
            best_value(values, value)
        elif tables.source.size == 0:
            for h in range(size):
                value[h] = 0
            for action in range(count):
                chance = work.value.dtype.type(tables.fixed[child + action])
                for h in range(size):
                    value[h] += chance * values[action, h]
        else:
            source, scratch = rows_of(tables.source, block, row, count, size), rows_of(work.decoded, 0, 0, count, size)
            scale_at = scales + row
            if updating and 2 <= count <= 3 and not step.predictive:
                regret = open_rows(source, tables.scale, scale_at, REGRET, scratch)
                if count == 2:
                    update_two(values, step.positive, step.negative, regret, value)
                else:
                    update_three(values, step.positive, step.negative, regret, value)
                close_rows(regret, source, tables.scale, scale_at, REGRET, step.phase)
                continue
            mean_value(read_rows(source, scratch), values, value, work.spare)
            if updating:
                kept = rows_of(tables.regret, block, row, count, size)
                regret = open_rows(kept, tables.scale, scale_at, REGRET, scratch)
                add_regret(values, value, step.positive, step.negative, regret)
                close_rows(regret, kept, tables.scale, scale_at, REGRET, step.phase)
                if step.predictive:
                    predict(values, value, regret, source)


@inlined
def sum_rows(values: F32, out: F32) -> None:
    """What an opponent's decision is worth: the sum over its actions. IN: float[action, hole]; OUT: float[hole]."""
    first = values[0]
    for h in range(out.size):
        out[h] = first[h]
    for action in range(1, values.shape[0]):
        row = values[action]
        for h in range(out.size):
            out[h] += row[h]


@view
def bring_reach(group: Int, board: Int, street: Int, plan: Plan, above: Workspace, work: Workspace) -> None:
    """The reach of a group's entries, from the DEAL rows of the street before; at the root, the ranges."""
    program, boards, step = plan.program, plan.boards, plan.step
    opponent = 1 - step.walker
    size = np.int64(boards.counts[board, opponent])
    first = boards.first[board, opponent]
    base = work.reach_base[street]
    rows = program.reach_row[step.walker]
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


@view
def hand_back(group: Int, board: Int, street: Int, plan: Plan, above: Workspace, work: Workspace) -> None:
    """Add the values of a group's entries, times the board's weight, to the DEAL rows of the street before."""
    program, boards = plan.program, plan.boards
    walker = plan.step.walker
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


@view
def clear_deals(board: Int, street: Int, plan: Plan, work: Workspace) -> None:
    """Set the DEAL rows of a street to zero, before the boards below add to them."""
    program, size = plan.program, np.int64(plan.boards.counts[board, plan.step.walker])
    group = program.street_groups[street]
    for place in program.deals[program.group_deals[group] : program.group_deals[group + 1]]:
        row = place - program.group_first[group]
        value = row_of(work.value, work.value_base[street], row, padded(size))
        for h in range(size):
            value[h] = 0


@view
def average_orbits(board: Int, street: Int, plan: Plan, work: Workspace) -> None:
    """Values came from one deal of each class: average them over the holes that renamings turn into each other."""
    program, boards, walker = plan.program, plan.boards, plan.step.walker
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


@view
def enter_board(board: Int, street: Int, last: bool, plan: Plan, above: Workspace, work: Workspace) -> None:
    """Down a board's street; on the last street, also up again and back to the street before."""
    for group in range(plan.program.street_groups[street], plan.program.street_groups[street + 1]):
        if plan.tables.path.size == 0:
            bring_reach(group, board, street, plan, above, work)
            go_down(group, board, street, plan, work)
            evaluate_terminals(group, board, street, last, plan, work)
        else:
            evaluate_blind(group, board, street, last, plan, work)
        if last:
            go_up(group, board, street, plan, work)
            hand_back(group, board, street, plan, above, work)
    if not last:
        clear_deals(board, street, plan, work)


@view
def leave_board(board: Int, street: Int, plan: Plan, above: Workspace, work: Workspace) -> None:
    """Up a board's street, after all boards below it."""
    group = plan.program.street_groups[street]
    average_orbits(board, street, plan, work)
    go_up(group, board, street, plan, work)
    hand_back(group, board, street, plan, above, work)


@view
def onward(street: Int, root: Int, bottom: Int, entered: bool, plan: Plan, work: Workspace) -> tuple[Int, bool]:
    """Where a walk goes from a board that it has entered or left: the street, above the root at the end, and whether

    it enters the board there. Depth first, with a stack of one board a street; boards of the bottom street are entered
    only.
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


@view
def begin_at(board: Int, plan: Plan, work: Workspace) -> Int:
    """Put a board on the stack of a walk; returns its street."""
    street = np.int64(plan.boards.street[board])
    work.board[street], work.cursor[street] = board, plan.boards.first_child[board]
    return street


@view
def walk_below(top: Int, plan: Plan, above: Workspace, work: Workspace) -> None:
    """Walk a board and everything below it."""
    last_street = plan.program.street_groups.size - 2
    root = begin_at(top, plan, work)
    street, entering = root, True
    while street >= root:
        board, up = np.int64(work.board[street]), above if street == root else work
        if entering:
            enter_board(board, street, street == last_street, plan, up, work)
        else:
            leave_board(board, street, plan, up, work)
        street, entering = onward(street, root, last_street, entering, plan, work)


@kernel
def walk(plan: Plan, work: Workspace) -> None:
    """Walk everything in one thread."""
    walk_below(0, plan, work, work)


@kernel
def walk_down(plan: Plan, work: Workspace) -> None:
    """The first part of a walk in threads: the root board, down."""
    enter_board(0, np.int64(plan.boards.street[0]), False, plan, work, work)


@kernel
def walk_boards(first: Int, stop: Int, plan: Plan, above: Workspace, work: Workspace) -> None:
    """The second part: boards below the root, each thread its own. Reach comes from `above`, and values go there."""
    for board in range(first, stop):
        if plan.weights[board] != 0.0:
            walk_below(board, plan, above, work)


@kernel
def walk_up(plan: Plan, work: Workspace) -> None:
    """The last part: the root board, up."""
    leave_board(0, np.int64(plan.boards.street[0]), plan, work, work)
