"""The last street of a best response to a card-blind opponent, who plays all holes alike.

Runs the ops of `program.py` in the memory of `best_response.py`, sixteen holes at a time. The reach of such an opponent
is one number, so a showdown and a fold of each hole are computed once for a board; every terminal is a multiple.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Int
from equipoise.core.jit import F32, inner, kernel
from equipoise.core.simd import LANES, add, add_scaled, load, maximum, store, zeros
from equipoise.walk.last_street.best_response import BestResponseBuffers, LastStreet, parent_positions
from equipoise.walk.last_street.packing import EntryBatches, factors_at, pack_reach, row_at, unpack_values
from equipoise.walk.last_street.program import MOST, MY_TERMINALS, NOTHING, SET, SUM, THEIR_TERMINALS, op_at
from equipoise.walk.last_street.terminals import join_rows
from equipoise.walk.plan import Plan, WalkBuffers, padded
from equipoise.walk.terminals import meet_everyone


@kernel
def respond_to_card_blind(
    above: Int, plan: Plan, last: LastStreet, buffers: BestResponseBuffers, work: WalkBuffers
) -> None:
    """Best responses to a card-blind opponent on all last boards below one, added to the values of that board."""
    boards, walker, batches, block = plan.boards, plan.walker, last.batches, buffers.block
    my_length = padded(boards.counts[above, walker])
    pack_reach(above, plan, batches, buffers.entries, work)
    for board in range(boards.first_child[above], boards.first_child[above] + boards.num_children[above]):
        if plan.weights[board] == 0.0:
            continue
        meet_everyone(board, True, plan, work)
        won, met = work.spare, work.lanes_in  # as `meet_everyone` left them
        parents = parent_positions(board, walker, plan)
        for batch in range(batches.num_lanes.size):
            value_above = row_at(buffers.entries.value, batch, my_length)
            for start in range(0, parents.size, LANES):
                end = min(start + LANES, parents.size)
                _run_ops(batch, won[start:end], met[start:end], batches, block)
                for i in range(end - start):
                    at = parents[start + i]
                    store(value_above, at, add_scaled(load(value_above, at), plan.weights[board], load(block, i)))
    unpack_values(above, plan, batches, buffers.entries, work)


@inner
def _run_ops(batch: Int, won: F32, met: F32, batches: EntryBatches, block: F32) -> None:
    """All ops of a batch for up to sixteen holes. IN: float[hole] x 2; OUT: float[row, hole, lane], in row 0."""
    for i in range(batches.first_op[batch], batches.end_op[batch]):
        op = op_at(batches.ops, i)
        code, row = op.code, np.int64(op.row)
        value = row_at(block, row, LANES)
        if code in (SUM, MOST):
            join_rows(value, row_at(block, row + 1, LANES), code == MOST)
        elif code in (MY_TERMINALS, THEIR_TERMINALS):
            factor = factors_at(i, batch, batches)
            folding, calling = load(factor, 0), load(factor, 1)
            mine, join = code == MY_TERMINALS, op.join != SET
            most = not mine and op.most != SET
            has_fold, has_call = op.fold != NOTHING, op.call != NOTHING
            above = row_at(block, row - most, LANES)
            for h in range(won.size):
                folded = add_scaled(zeros(block), met[h], folding)
                called = add_scaled(zeros(block), won[h], calling)
                if not mine:
                    end = add(folded, called)
                elif has_fold and has_call:
                    end = maximum(folded, called)
                else:
                    end = folded if has_fold else called
                if join:
                    end = add(end, load(value, h))
                if most:
                    end = maximum(end, load(above, h))
                store(above, h, end)
