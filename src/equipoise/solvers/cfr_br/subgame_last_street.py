"""The last street of a subgame, sixteen betting entries side by side (`walk/last_street/`), on all boards below one.

The strategies of the subgame's rows are ready as [decision, row, action, lane], so that a hole finds sixteen
probabilities in one place. What regrets and averages need, the values of actions and the reach, is summed over all
boards in the same layout. A responder's choices are bits: for each hole and action, the lanes that take it. Ties go to
the action that checks or calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.cards.showdown import without
from equipoise.core.arrays import Int
from equipoise.core.jit import F32, F64, I32, U16, inlined, inner, view
from equipoise.core.simd import LANES, add_scaled, load, maximum, store, where_above, zeros
from equipoise.solvers.sampled_last_street import LastStreetBuffers, add_by_bucket, end_levels, mean_value_lanes
from equipoise.walk.last_street.packing import EntryBatches, EntryBuffers, factors_at, row_at
from equipoise.walk.last_street.program import BEGIN_THEIRS, FINISH_MINE, NOTHING, LastStreetOp, op_at
from equipoise.walk.last_street.terminals import (
    ALL,
    SUMS,
    BoardHoles,
    MyTerminals,
    OpBuffers,
    board_holes,
    called,
    folded,
    run_op,
)
from equipoise.walk.plan import Plan, padded

NOWHERE = -1


class LastStreetTables(NamedTuple):
    """A player's tables of a subgame's rows on the last street, in lanes. Empty for a player that responds there."""

    first_action: I32  # [node of a batch] number of actions before those of this player's decision; NOWHERE
    first_decision: I32  # [node of a batch] number of decisions before
    chance: F32  # [decision, row, action, lane] flat, as are the others
    total: F32  # the same: values of actions
    reach: F32  # [decision, row, lane]; empty if no average is kept
    rows: int


class LastStreetChoices(NamedTuple):
    """A responder's choices on the last street."""

    first_action: I32  # [node of a batch] number of actions before those of its decision; NOWHERE
    lanes: U16  # [board, decision, hole, action] flat
    actions: int  # of all decisions
    every_hole: U16  # [hole] its position: each hole has a row of its own
    first_board: int


class LastStreetWalk(NamedTuple):
    """What one walk of the last street reads and works in."""

    batches: EntryBatches
    mine: LastStreetTables  # the walker's
    theirs: LastStreetTables
    choices: LastStreetChoices
    entries: EntryBuffers
    buffers: LastStreetBuffers


@inner
def walk_last_boards(
    first_batch: Int, stop: Int, board: Int, plan: Plan, local_bucket: U16, weight: F64, last: LastStreetWalk
) -> None:
    """Walk all last boards below a board for some batches, which share no part of a table.

    IN: uint16[place] the row of a hole, float64[board] probabilities.
    """
    boards, walker, batches, rows = plan.boards, plan.walker, last.batches, last.buffers.ops
    mine, theirs, choices = last.mine, last.theirs, last.choices
    length = padded(np.int64(boards.counts[board, 0]))
    for batch in range(first_batch, stop):  # its rows of the board before stay in the cache
        reach_above, value_above = row_at(last.entries.reach, batch, length), row_at(last.entries.value, batch, length)
        for below in range(boards.first_child[board], boards.first_child[board] + boards.num_children[board]):
            first, size = boards.first[below, walker], np.int64(boards.counts[below, walker])
            holes, start = board_holes(below, plan, rows), boards.first[below, 1 - walker]
            parents, cells = boards.before[first : first + size], local_bucket[start : start + size]
            end_levels(size, batches.reach_rows, rows.reach)
            for j in range(size):
                store(rows.reach, j, add_scaled(zeros(rows.reach), weight[below], load(reach_above, parents[j])))
            for i in range(batches.first_op[batch], batches.end_op[batch]):
                op, factor = op_at(batches.ops, i), factors_at(i, batch, batches)
                node, terminals = batches.first_node[batch] + op.node, MyTerminals(factor, False, False, True)
                if op.code == FINISH_MINE:
                    if mine.rows:
                        play_by_rows(op, node, factor, local_bucket[first : first + size], holes, rows, mine)
                    else:
                        respond_in_lanes(op, factor, holes, rows, choices_at(node, below, op.actions, choices))
                elif op.code == BEGIN_THEIRS:
                    if theirs.reach.size:
                        reached = decision_part(theirs.reach, theirs.first_decision[node], theirs.rows, 1)
                        add_by_bucket(row_at(rows.reach, np.int64(op.reach), size + 1), cells, 1, reached)
                elif theirs.rows:
                    chance = decision_part(theirs.chance, theirs.first_action[node], theirs.rows, op.actions)
                    run_op(op, terminals, factor, chance, cells, holes, rows)
                else:
                    lanes = choices_at(node, below, op.actions, choices)
                    run_op(op, terminals, factor, lanes, choices.every_hole[:size], holes, rows)
            back = 1 / weight[board]
            for h in range(size):
                store(value_above, parents[h], add_scaled(load(value_above, parents[h]), back, load(rows.value, h)))


@view
def decision_part(flat: F32, first: Int, rows: Int, width: Int) -> F32:
    """A decision's part of a table in lanes; meaningless at another player's decision."""
    start = np.int64(max(first, 0)) * rows * LANES
    return flat[start : start + np.int64(width) * rows * LANES]


@view
def choices_at(node: Int, board: Int, actions: Int, choices: LastStreetChoices) -> U16:
    """A decision's choices on a board: [hole, action] flat."""
    block = np.int64(board - choices.first_board) * choices.actions + max(choices.first_action[node], 0)
    start, size = block * choices.every_hole.size, np.int64(actions) * choices.every_hole.size
    return choices.lanes[start : start + size]


@inlined
def play_by_rows(
    op: LastStreetOp,
    node: Int,
    factor: F32,
    local_bucket: U16,
    holes: BoardHoles,
    rows: OpBuffers,
    tables: LastStreetTables,
) -> None:
    """The walker plays the strategies of its rows."""
    chance = decision_part(tables.chance, tables.first_action[node], tables.rows, op.actions)
    total = decision_part(tables.total, tables.first_action[node], tables.rows, op.actions)
    mean_value_lanes(op, factor, local_bucket, chance, holes, rows, total)


@inner
def respond_in_lanes(op: LastStreetOp, factor: F32, holes: BoardHoles, rows: OpBuffers, taken: U16) -> None:
    """The walker takes the best action of each hole in each lane, and records it. OUT: uint16[hole, action]."""
    actions, row, size = np.int64(op.actions), np.int64(op.row), holes.mine.card1.size
    value = row_at(rows.value, row, size)
    every = np.uint16(0xFFFF)
    if op.join:
        _respond_to_terminals(op, factor, holes, rows, taken)
    below = row + op.join
    for action in range(actions):
        if action in (op.fold, op.call):
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


@inlined
def _respond_to_terminals(op: LastStreetOp, factor: F32, holes: BoardHoles, rows: OpBuffers, taken: U16) -> None:
    """The better of a fold and a call; the row of values holds A(start) + A(end of ties) before."""
    actions, size = np.int64(op.actions), holes.mine.card1.size
    value, reach = row_at(rows.value, np.int64(op.row), size), row_at(rows.reach, np.int64(op.reach), size + 1)
    sums, folding, calling = row_at(rows.sums, np.int64(op.reach), SUMS), load(factor, 0), load(factor, 1)
    has_fold, has_call = op.fold != NOTHING, op.call != NOTHING
    everyone, every = load(sums, ALL), np.uint16(0xFFFF)
    for h in range(size):
        at = h * actions
        everything = without(everyone, sums, holes.mine.card1[h], holes.mine.card2[h])
        best, better = called(load(value, h), everything, calling), np.uint16(0)
        if has_fold:
            fold = folded(everything, load(reach, holes.opponent_pos[h]), holes.add_back, folding)
            better = where_above(fold, best) if has_call else every
            best = maximum(fold, best) if has_call else fold
            taken[at + op.fold] = better
        if has_call:
            taken[at + op.call] = ~better
        store(value, h, best)
