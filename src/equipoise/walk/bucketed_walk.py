"""The vector walk over whole games with bucketed players: every board, reach of holes down, values up.

It is the walk of `walk.py` with other decisions. A bucketed player plays by the positive parts of a table by bucket,
and what it regrets is summed over the holes of a bucket on all boards, each board by its probability (values of holes
are counterfactual: the player's own reach is no part of them, for perfect and imperfect recall alike). A responding
player takes the best action of each hole; what it took is written down for the walk that answers it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Float, Int
from equipoise.core.jit import F32, F64, I32, I64, U8, U16, U32, inlined, inner, kernel, view
from equipoise.tree.betting_tree import DECISION
from equipoise.tree.board_buckets import PresentBuckets
from equipoise.walk.bucket_decisions import Scratch, match_regrets, mean_value, pass_reach, sum_by_bucket
from equipoise.walk.plan import Plan, Workspace, padded, row_of, rows_of
from equipoise.walk.terminals import evaluate_terminals
from equipoise.walk.walk import average_orbits, begin_at, bring_reach, clear_deals, hand_back, onward, sum_rows


class Turn(NamedTuple):
    """What one walk does. Else than responding, the walker plays by its table, and its regrets are added up."""

    trunk: int  # streets on which responders play by tables as well
    responds: bool  # below, the walker takes the best action of each hole
    writes: bool  # and writes down which
    answers: bool  # the opponent plays what was written down
    averaging: bool  # else, it adds to its average
    positive: Float  # regrets are multiplied by this before adding, where positive
    negative: Float  # and by this where negative
    keep: Float  # the average is multiplied by this before adding


class Play(NamedTuple):
    """What the players play by, and what a walk adds to."""

    offset: I64  # [program place] of a decision in its player's table
    stride: I64  # [program place]
    present: PresentBuckets
    board_weight: F64  # [board] the probability of the board, given two holes, times the class's size
    mine: F32  # [slot] the walker's table
    theirs: F32  # [slot] the opponent's
    regret: F32  # [slot] what the walker's regrets are added to
    average: F32  # [slot] what the opponent's reach x strategy is added to
    choice: U8  # flat, blocks of [decision, hole]: the responder's actions
    choice_first: I64  # [board, player]
    choice_row: I32  # [program place]
    turn: Turn


@inlined
def pass_chosen(reach: F32, choice: U8, below: F32) -> None:
    """Pass reach to the chosen action. IN: float[hole], uint8[hole]; OUT: float[action, hole]."""
    zero = reach.dtype.type(0)
    for action in range(below.shape[0]):
        out = below[action]
        for h in range(reach.size):
            out[h] = reach[h] if choice[h] == action else zero


@inlined
def add_average(present: U32, chance: F32, reach: F32, weight: Float, keep: Float, stride: Int, block: F32) -> None:
    """IN: uint32[k], float[action, k] strategy, float[k] reach; IN OUT: float[slot] from the first."""
    for k in range(present.size):
        at = np.int64(present[k]) * stride
        for action in range(chance.shape[0]):
            block[at + action] = block[at + action] * keep + weight * reach[k] * chance[action, k]


@inlined
def add_regrets(
    present: U32, chance: F32, total: F32, weight: Float, turn: Turn, mean: F32, stride: Int, block: F32
) -> None:
    """IN: uint32[k], float[action, k] strategy and values; scratch: float[k]; IN OUT: float[slot] from the first."""
    for k in range(present.size):
        mean[k] = 0
    for action in range(chance.shape[0]):
        for k in range(present.size):
            mean[k] += chance[action, k] * total[action, k]
    for k in range(present.size):
        at = np.int64(present[k]) * stride
        for action in range(chance.shape[0]):
            old = block[at + action]
            kept = old * (turn.positive if old > 0 else turn.negative)
            block[at + action] = kept + weight * (total[action, k] - mean[k])


@inlined
def respond(values: F32, symmetric: bool, orbit: U16, choice: U8, value: F32) -> None:
    """Take the best action; of equals the one taken before, so that play where nobody comes stays what it was.

    Holes that a renaming turns into each other choose alike: the walk below sees one deal of each class only.
    IN: float[action, hole], uint16[hole]; IN OUT: uint8[hole]; OUT: float[hole].
    """
    for h in range(value.size):
        best = choice[h]
        if symmetric and orbit[h] != h:
            best = choice[orbit[h]]
        else:
            for action in range(values.shape[0]):
                if values[action, h] > values[best, h]:
                    best = np.uint8(action)
        value[h] = values[best, h]
        choice[h] = best


@inlined
def take_best(values: F32, value: F32) -> None:
    """IN: float[action, hole]; OUT: float[hole]."""
    for h in range(value.size):
        most = values[0, h]
        for action in range(1, values.shape[0]):
            most = max(most, values[action, h])
        value[h] = most


@inner
def go_down(group: Int, board: Int, street: Int, plan: Plan, play: Play, scratch: Scratch, work: Workspace) -> None:
    """Pass the opponent's reach from a group's entries to all of its nodes, and add to its average."""
    program, boards, walker = plan.program, plan.boards, plan.step.walker
    opponent = 1 - walker
    size = np.int64(boards.counts[board, opponent])
    holes, buckets = boards.first[board, opponent], play.present.first[board, opponent]
    number = play.present.number[holes : holes + size]
    present = play.present.bucket[buckets : buckets + play.present.counts[board, opponent]]
    base, length = work.reach_base[street], padded(size)
    rows = program.reach_row[walker]
    weight = work.reach.dtype.type(play.board_weight[board])
    for place in range(program.group_first[group], program.group_first[group + 1]):
        if program.kind[place] != DECISION or program.player[place] == walker:
            continue
        reach = row_of(work.reach, base, rows[place], length)[:size]
        child, count = program.first_child[place], np.int64(program.num_children[place])
        below = rows_of(work.reach, base, rows[child], count, length)
        if play.turn.answers and street >= play.turn.trunk:
            chosen = play.choice_first[board, opponent] + play.choice_row[place] * size
            pass_chosen(reach, play.choice[chosen : chosen + size], below)
            continue
        chance = rows_of(scratch.chance, 0, 0, count, present.size)
        match_regrets(play.theirs[play.offset[place] :], play.stride[place], present, count, chance)
        pass_reach(reach, number, chance, below)
        if play.turn.averaging:
            total = scratch.total[: present.size]
            sum_by_bucket(reach, number, total)
            block = play.average[play.offset[place] :]
            add_average(present, chance, total, weight, play.turn.keep, play.stride[place], block)


@inner
def go_up(
    group: Int, board: Int, street: Int, last: bool, plan: Plan, play: Play, scratch: Scratch, work: Workspace
) -> None:
    """Turn values of a group's terminals and deals into those of its decisions, and do what the walker does there."""
    program, boards, walker = plan.program, plan.boards, plan.step.walker
    size = np.int64(boards.counts[board, walker])
    holes, buckets = boards.first[board, walker], play.present.first[board, walker]
    number, orbit = play.present.number[holes : holes + size], boards.orbit[holes : holes + size]
    present = play.present.bucket[buckets : buckets + play.present.counts[board, walker]]
    start, base, length = program.group_first[group], work.value_base[street], padded(size)
    weight = work.value.dtype.type(play.board_weight[board])
    symmetric = boards.symmetric[board] != 0 and not last
    responds = play.turn.responds and street >= play.turn.trunk
    for place in range(program.group_first[group + 1] - 1, start - 1, -1):
        if program.kind[place] != DECISION:
            continue
        value = row_of(work.value, base, place - start, length)[:size]
        count = np.int64(program.num_children[place])
        values = rows_of(work.value, base, program.first_child[place] - start, count, length)
        if program.player[place] != walker:
            sum_rows(values, value)
            continue
        if responds and play.turn.writes:
            chosen = play.choice_first[board, walker] + play.choice_row[place] * size
            respond(values, symmetric, orbit, play.choice[chosen : chosen + size], value)
            continue
        if responds:
            take_best(values, value)
            continue
        chance = rows_of(scratch.chance, 0, 0, count, present.size)
        total = rows_of(scratch.total, 0, 0, count, present.size)
        match_regrets(play.mine[play.offset[place] :], play.stride[place], present, count, chance)
        mean_value(values, number, chance, value)
        for action in range(count):
            sum_by_bucket(values[action][:size], number, total[action])
        block = play.regret[play.offset[place] :]
        add_regrets(present, chance, total, weight, play.turn, scratch.mean, play.stride[place], block)


@view
def enter_board(
    board: Int, street: Int, last: bool, plan: Plan, play: Play, scratch: Scratch, above: Workspace, work: Workspace
) -> None:
    """Down a board's street; on the last street, also up again and back to the street before."""
    for group in range(plan.program.street_groups[street], plan.program.street_groups[street + 1]):
        bring_reach(group, board, street, plan, above, work)
        go_down(group, board, street, plan, play, scratch, work)
        evaluate_terminals(group, board, street, last, plan, work)
        if last:
            go_up(group, board, street, True, plan, play, scratch, work)
            hand_back(group, board, street, plan, above, work)
    if not last:
        clear_deals(board, street, plan, work)


@view
def leave_board(
    board: Int, street: Int, plan: Plan, play: Play, scratch: Scratch, above: Workspace, work: Workspace
) -> None:
    """Up a board's street, after all boards below it."""
    group = plan.program.street_groups[street]
    average_orbits(board, street, plan, work)
    go_up(group, board, street, False, plan, play, scratch, work)
    hand_back(group, board, street, plan, above, work)


@view
def walk_below(top: Int, plan: Plan, play: Play, scratch: Scratch, above: Workspace, work: Workspace) -> None:
    """Walk a board and everything below it."""
    last_street = plan.program.street_groups.size - 2
    root = begin_at(top, plan, work)
    street, entering = root, True
    while street >= root:
        board, up = np.int64(work.board[street]), above if street == root else work
        if entering:
            enter_board(board, street, street == last_street, plan, play, scratch, up, work)
        else:
            leave_board(board, street, plan, play, scratch, up, work)
        street, entering = onward(street, root, last_street, entering, plan, work)


@kernel
def walk(plan: Plan, play: Play, scratch: Scratch, work: Workspace) -> None:
    """Walk everything in one thread."""
    walk_below(0, plan, play, scratch, work, work)


@kernel
def walk_down(plan: Plan, play: Play, scratch: Scratch, work: Workspace) -> None:
    """The first part of a walk in threads: the root board, down."""
    enter_board(0, np.int64(plan.boards.street[0]), False, plan, play, scratch, work, work)


@kernel
def walk_boards(
    first: Int, stop: Int, plan: Plan, play: Play, scratch: Scratch, above: Workspace, work: Workspace
) -> None:
    """The second part: boards below the root, each thread its own. Reach comes from `above`, and values go there."""
    for board in range(first, stop):
        walk_below(board, plan, play, scratch, above, work)


@kernel
def walk_up(plan: Plan, play: Play, scratch: Scratch, work: Workspace) -> None:
    """The last part: the root board, up."""
    leave_board(0, np.int64(plan.boards.street[0]), plan, play, scratch, work, work)


@kernel
def add_up(first: I64, length: I64, positive: Float, negative: Float, parts: F32, table: F32) -> None:
    """Discount a player's slots, add what the threads have gathered, and clear that.

    IN: int64[street] x 2, its slots; IN OUT: float[thread, slot], float[slot].
    """
    for street in range(first.size):
        for slot in range(first[street], first[street] + length[street]):
            old = table[slot]
            total = old * (positive if old > 0 else negative)
            for thread in range(parts.shape[0]):
                total += parts[thread, slot]
                parts[thread, slot] = 0
            table[slot] = total
