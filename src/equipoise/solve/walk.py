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

from typing import NamedTuple

import numpy as np

from equipoise._arrays import Float, Int
from equipoise._jit import F32, F64, I16, I32, I64, U16, inlined, kernel, view
from equipoise._simd import LANES, add_scaled, gather_tile, load, scatter_tile, store, zeros
from equipoise.cards.showdown import Cards, meeting_lanes, showdown_lanes
from equipoise.solve.program import Program
from equipoise.solve.regret import (
    add_average,
    add_regret,
    best_value,
    mean_value,
    pass_reach,
    predict,
    update_three,
    update_two,
)
from equipoise.solve.storage import AVERAGE, REGRET, close_rows, open_rows, read_rows
from equipoise.tree.public_cards import Boards
from equipoise.tree.public_tree import DECISION

UPDATE, BEST, EVALUATE = 0, 1, 2
_ROOT = -1


class Tables(NamedTuple):
    """The flat tables. A board's block of a player starts at `first`, and is [row, hole of the board's list]."""

    first: I64  # [board, player]
    source: F32  # what the opponent plays by (and the walker, with EVALUATE and UPDATE); empty: `fixed`
    regret: F32  # what UPDATE adds to: the same array as `source`, unless the step is predictive
    average: F32  # what the opponent adds its reach x strategy to, where `averaging`
    scale_first: I64  # [board, player] where the scales of a board's rows start
    scale: F32  # [row, REGRET or AVERAGE] of 16-bit tables, at the first row of each decision; else empty
    fixed: F64  # [place] the probability of the action that leads to a place, the same for all holes
    path: F64  # [walker, place] with `fixed` and plain ranges: the one number that the opponent reaches a place with


class Step(NamedTuple):
    """What one walk does."""

    walker: int
    mode: int
    averaging: bool
    predictive: bool
    positive: Float  # regrets are multiplied by this before adding, where positive
    negative: Float  # and by this where negative
    keep: Float  # the average is multiplied by this before adding
    phase: Float = np.float32(0.5)  # what decides how 16-bit tables are rounded


class Runouts(NamedTuple):
    """All-in showdowns before the last street: runouts won minus lost, for each pair of holes."""

    first: I64  # [board, walker] where the matrix [my hole, their hole] starts; -1 if the board has none
    matrix: I16  # flat
    scale: F64  # [board] 1 / runouts


class Plan(NamedTuple):
    """All that a walk reads, and where it leaves the walker's values at the root."""

    program: Program
    boards: Boards
    runouts: Runouts
    tables: Tables
    step: Step
    weights: F64  # [board] those of `boards`, or of a sample; a board of weight 0 is not walked
    two_cards: bool
    root_reach: F32  # [hole] the opponent's
    root_value: F32  # [hole] the walker's


class Workspace(NamedTuple):
    """One thread's memory. Rows of a street start at its base, each as long as the board's list, in whole tiles."""

    reach: F32
    value: F32
    reach_base: I64  # [street]
    value_base: I64  # [street]
    lanes_in: F32  # [hole + 1, lane]
    lanes_out: F32  # [hole, lane]
    lanes_met: F32  # [hole, lane] where the house takes a share
    run: F32  # [card, lane]
    run_share: F32  # [lane]
    reach_at: I64  # [lane] where the rows of the lanes are
    value_at: I64  # [lane]
    factor: F32  # [lane]
    spare: F32  # [hole]
    decoded: F32  # [action, hole] rows of a 16-bit table, while they are worked on
    board: I32  # [street] the board being walked
    cursor: I32  # [street] the next board below it


@inlined
def padded(size: Int) -> Int:
    """The length of a row in a workspace: whole tiles of sixteen."""
    return (size + LANES - 1) // LANES * LANES


@view
def _row(flat: F32, base: Int, row: Int, length: Int) -> F32:
    start = base + row * length
    return flat[start : start + length]


@view
def _rows(flat: F32, base: Int, row: Int, count: Int, length: Int) -> F32:
    start = base + row * length
    return flat[start : start + count * length].reshape((count, length))


@kernel
def go_down(group: Int, board: Int, street: Int, plan: Plan, work: Workspace) -> None:
    """Pass the opponent's reach from a group's entries to all of its nodes."""
    program, boards, tables, step = plan.program, plan.boards, plan.tables, plan.step
    walker = step.walker
    size = np.int64(boards.counts[board, 1 - walker])
    base, length = work.reach_base[street], padded(size)
    rows = program.reach_row[walker]
    block, scales = tables.first[board, 1 - walker], tables.scale_first[board, 1 - walker]
    for place in range(program.group_first[group], program.group_first[group + 1]):
        if program.kind[place] != DECISION or program.player[place] == walker:
            continue
        reach = _row(work.reach, base, rows[place], length)[:size]
        child, count = program.first_child[place], np.int64(program.num_children[place])
        below = _rows(work.reach, base, rows[child], count, length)
        if tables.source.size == 0:
            for action in range(count):
                chance = work.reach.dtype.type(tables.fixed[child + action])
                for h in range(size):
                    below[action, h] = reach[h] * chance
            continue
        row = program.table_row[place]
        source, scratch = _rows(tables.source, block, row, count, size), _rows(work.decoded, 0, 0, count, size)
        pass_reach(reach, read_rows(source, scratch), below)
        locked = program.locked[place] == -1 or program.locked[place] == board + 1
        if step.averaging and not locked:
            kept, scale_at = _rows(tables.average, block, row, count, size), scales + row
            average = open_rows(kept, tables.scale, scale_at, AVERAGE, scratch)
            add_average(below, step.keep, average)
            close_rows(average, kept, tables.scale, scale_at, AVERAGE, step.phase)


@kernel
def go_up(group: Int, board: Int, street: Int, plan: Plan, work: Workspace) -> None:
    """Turn the values of a group's terminals and deals into those of its decisions, and do what the step says."""
    program, boards, tables, step = plan.program, plan.boards, plan.tables, plan.step
    walker = step.walker
    size = np.int64(boards.counts[board, walker])
    base, length = work.value_base[street], padded(size)
    start = program.group_first[group]
    block, scales = tables.first[board, walker], tables.scale_first[board, walker]
    for place in range(program.group_first[group + 1] - 1, start - 1, -1):
        if program.kind[place] != DECISION:
            continue
        value = _row(work.value, base, place - start, length)[:size]
        count = np.int64(program.num_children[place])
        values = _rows(work.value, base, program.first_child[place] - start, count, length)
        locked = program.locked[place] == -1 or program.locked[place] == board + 1
        if program.player[place] != walker:
            _sum_rows(values, value)
        elif step.mode == BEST and not locked:
            best_value(values, value)
        elif tables.source.size == 0:
            for h in range(size):
                value[h] = 0
            for action in range(count):
                chance = work.value.dtype.type(tables.fixed[program.first_child[place] + action])
                for h in range(size):
                    value[h] += chance * values[action, h]
        else:
            row = program.table_row[place]
            updating = step.mode == UPDATE and not locked
            source, scratch = _rows(tables.source, block, row, count, size), _rows(work.decoded, 0, 0, count, size)
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
                kept = _rows(tables.regret, block, row, count, size)
                regret = open_rows(kept, tables.scale, scale_at, REGRET, scratch)
                add_regret(values, value, step.positive, step.negative, regret)
                close_rows(regret, kept, tables.scale, scale_at, REGRET, step.phase)
                if step.predictive:
                    predict(values, value, regret, source)


@inlined
def _sum_rows(values: F32, out: F32) -> None:
    first = values[0]
    for h in range(out.size):
        out[h] = first[h]
    for action in range(1, values.shape[0]):
        row = values[action]
        for h in range(out.size):
            out[h] += row[h]


@kernel
def evaluate_terminals(group: Int, board: Int, street: Int, last: bool, plan: Plan, work: Workspace) -> None:
    """Values of a group's showdowns and folds, sixteen at a time."""
    program, boards, runouts = plan.program, plan.boards, plan.runouts
    walker, two_cards = plan.step.walker, plan.two_cards
    my_first, my_count = boards.first[board, walker], np.int64(boards.counts[board, walker])
    their_first, their_count = boards.first[board, 1 - walker], np.int64(boards.counts[board, 1 - walker])
    mine = Cards(boards.card1[my_first : my_first + my_count], boards.card2[my_first : my_first + my_count])
    theirs = Cards(
        boards.card1[their_first : their_first + their_count], boards.card2[their_first : their_first + their_count]
    )
    same = boards.same[my_first : my_first + my_count]
    showdowns = program.showdowns[program.group_showdowns[group] : program.group_showdowns[group + 1]]
    for at in range(0, showdowns.size, LANES):
        batch = showdowns[at : at + LANES]
        factor = 1.0 if last else runouts.scale[board]
        address_lanes(batch, group, street, their_count, my_count, program.win[walker], factor, plan, work)
        gather_lanes(their_count, work)
        if last:
            first = boards.group_first[board]
            groups = boards.groups[first : first + boards.num_groups[board] + 1]
            showdown_lanes(work.lanes_in, work.lanes_out, work.run, mine, theirs, groups, walker, two_cards)
        else:
            first = runouts.first[board, walker]
            matrix = runouts.matrix[first : first + my_count * their_count].reshape((my_count, their_count))
            runout_lanes(work.lanes_in, work.lanes_out, matrix)
        if program.meet[walker, batch[0]] != 0.0:  # the house takes a share
            take_rake(
                batch, my_count, program.win[walker], program.meet[walker], factor, mine, theirs, same, two_cards, work
            )
        scatter_lanes(my_count, work)
    folds = program.folds[program.group_folds[group] : program.group_folds[group + 1]]
    for at in range(0, folds.size, LANES):
        batch = folds[at : at + LANES]
        address_lanes(batch, group, street, their_count, my_count, program.meet[walker], 1.0, plan, work)
        gather_lanes(their_count, work)
        meeting_lanes(work.lanes_in, work.lanes_out, work.run, mine, theirs, same, two_cards)
        scatter_lanes(my_count, work)


@kernel
def evaluate_blind(group: Int, board: Int, street: Int, last: bool, plan: Plan, work: Workspace) -> None:
    """Values of terminals against an opponent who plays all holes alike: one showdown serves every node of a board."""
    program, walker = plan.program, plan.step.walker
    path, size = plan.tables.path[walker], np.int64(plan.boards.counts[board, walker])
    if group == program.street_groups[street]:
        meet_everyone(board, last, plan, work)
    won, met = work.spare, work.lanes_in  # as `meet_everyone` left them
    start, base, length = program.group_first[group], work.value_base[street], padded(size)
    for place in program.showdowns[program.group_showdowns[group] : program.group_showdowns[group + 1]]:
        row = _row(work.value, base, place - start, length)
        win = work.value.dtype.type(path[place] * program.win[walker, place])
        meet = work.value.dtype.type(path[place] * program.meet[walker, place])
        for h in range(size):
            row[h] = win * won[h] + meet * met[h]
    for place in program.folds[program.group_folds[group] : program.group_folds[group + 1]]:
        row = _row(work.value, base, place - start, length)
        meet = work.value.dtype.type(path[place] * program.meet[walker, place])
        for h in range(size):
            row[h] = meet * met[h]


@view
def meet_everyone(board: Int, last: bool, plan: Plan, work: Workspace) -> None:
    """Win minus lose (into `spare`) and what is met (into `lanes_in`) of each hole against every hole once."""
    boards, runouts, walker = plan.boards, plan.runouts, plan.step.walker
    my_first, my_count = boards.first[board, walker], np.int64(boards.counts[board, walker])
    their_first, their_count = boards.first[board, 1 - walker], np.int64(boards.counts[board, 1 - walker])
    mine = Cards(boards.card1[my_first : my_first + my_count], boards.card2[my_first : my_first + my_count])
    theirs = Cards(
        boards.card1[their_first : their_first + their_count], boards.card2[their_first : their_first + their_count]
    )
    for h in range(their_count * LANES):
        work.lanes_in[h] = 1
    store(work.lanes_in, their_count, zeros(work.lanes_in))
    same = boards.same[my_first : my_first + my_count]
    meeting_lanes(work.lanes_in, work.lanes_met, work.run, mine, theirs, same, plan.two_cards)
    scale = 1.0
    if last:
        first = boards.group_first[board]
        groups = boards.groups[first : first + boards.num_groups[board] + 1]
        showdown_lanes(work.lanes_in, work.lanes_out, work.run, mine, theirs, groups, walker, plan.two_cards)
    elif runouts.first[board, walker] >= 0:
        first = runouts.first[board, walker]
        matrix = runouts.matrix[first : first + my_count * their_count].reshape((my_count, their_count))
        runout_lanes(work.lanes_in, work.lanes_out, matrix)
        scale = runouts.scale[board]
    for h in range(my_count):
        work.spare[h] = work.lanes_out[h * LANES] * scale
        work.lanes_in[h] = work.lanes_met[h * LANES]


@view
def address_lanes(
    batch: I32,
    group: Int,
    street: Int,
    their_count: Int,
    my_count: Int,
    factors: F64,
    factor: Float,
    plan: Plan,
    work: Workspace,
) -> None:
    """Where the rows of up to sixteen places are, and what they are multiplied by; spare lanes use a spare row."""
    rows = plan.program.reach_row[plan.step.walker]
    reach_length, value_length = padded(their_count), padded(my_count)
    for lane in range(LANES):
        place = batch[min(lane, batch.size - 1)]
        work.reach_at[lane] = work.reach_base[street] + rows[place] * reach_length
        work.value_at[lane] = work.value_base[street] + (place - plan.program.group_first[group]) * value_length
        work.factor[lane] = factors[place] * factor
        if lane >= batch.size:
            work.value_at[lane] = work.value.size - value_length


@kernel
def gather_lanes(size: Int, work: Workspace) -> None:
    """Bring sixteen reach rows side by side: float[hole, lane], a zero row last."""
    for start in range(0, size, LANES):
        gather_tile(work.reach, work.reach_at, start, work.lanes_in)
    store(work.lanes_in, size, zeros(work.lanes_in))


@kernel
def scatter_lanes(size: Int, work: Workspace) -> None:
    """Put the lanes, each times its factor, into sixteen value rows."""
    for start in range(0, size, LANES):
        scatter_tile(work.lanes_out, start, work.factor, work.value_at, work.value)


@view
def take_rake(
    batch: I32,
    size: Int,
    win: F64,
    meet: F64,
    factor: Float,
    mine: Cards,
    theirs: Cards,
    same: U16,
    two_cards: bool,
    work: Workspace,
) -> None:
    """Mix what is met into win minus lose, so that one factor a lane serves both."""
    share = work.run_share
    for lane in range(LANES):
        place = batch[min(lane, batch.size - 1)]
        share[lane] = meet[place] / (win[place] * factor)
    meeting_lanes(work.lanes_in, work.lanes_met, work.run, mine, theirs, same, two_cards)
    for i in range(size):
        for lane in range(LANES):
            work.lanes_out[i * LANES + lane] += share[lane] * work.lanes_met[i * LANES + lane]


@kernel
def runout_lanes(reach: F32, out: F32, matrix: I16) -> None:
    """Runouts won minus lost against the reach: a product with a matrix of whole numbers."""
    for i in range(matrix.shape[0]):
        total = zeros(out)
        row = matrix[i]
        for j in range(matrix.shape[1]):
            total = add_scaled(total, row[j], load(reach, j))
        store(out, i, total)


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
        reach = _row(work.reach, base, rows[program.entries[entry]], padded(size))
        if program.entry_deal[entry] == _ROOT:
            for h in range(size):
                reach[h] = plan.root_reach[h]
        else:
            length = padded(boards.counts[boards.parent[board], opponent])
            source = _row(above.reach, above.reach_base[int(street) - 1], rows[program.entry_deal[entry]], length)
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
        value = _row(work.value, base, program.entries[entry] - program.group_first[group], padded(size))
        if program.entry_deal[entry] == _ROOT:
            for h in range(size):
                plan.root_value[h] = value[h]
        else:
            length = padded(boards.counts[boards.parent[board], walker])
            parent_group = program.street_groups[street - 1]
            row = program.entry_deal[entry] - program.group_first[parent_group]
            target = _row(above.value, above.value_base[int(street) - 1], row, length)
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
        value = _row(work.value, work.value_base[street], row, padded(size))
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
            value = _row(work.value, work.value_base[street], place - program.group_first[group], padded(size))
            average_row(value[:size], boards.orbit[first : first + size], work.spare, work.lanes_out)


@kernel
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
def walk_below(top: Int, plan: Plan, above: Workspace, work: Workspace) -> None:
    """Walk a board and everything below it, with an explicit stack of one board a street."""
    boards = plan.boards
    last_street = plan.program.street_groups.size - 2
    root_street = np.int64(boards.street[top])
    street = root_street
    work.board[street] = top
    entering = True
    while True:
        board = np.int64(work.board[street])
        last = street == last_street
        up: Workspace = above if street == root_street else work
        if entering:
            enter_board(board, street, last, plan, up, work)
            work.cursor[street] = boards.first_child[board]
        if not last and work.cursor[street] < boards.first_child[board] + boards.num_children[board]:
            below = work.cursor[street]
            work.cursor[street] += 1
            entering = plan.weights[below] != 0.0
            if entering:
                street += 1
                work.board[street] = below
            continue
        if not last:
            leave_board(board, street, plan, up, work)
        if street == root_street:
            return
        street -= 1
        entering = False


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
