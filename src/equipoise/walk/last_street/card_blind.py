"""Kernels of the last street against an opponent that plays all holes alike: sixteen entries, hole by hole.

They follow the steps of `last_street.py` in the memory of `side_by_side.py`. What a hole wins and meets is worked out
once for a board; an end is that times its factor.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Int
from equipoise.core.jit import F32, inner, kernel
from equipoise.core.simd import LANES, add, add_scaled, load, maximum, store, zeros
from equipoise.walk.last_street.best_response import Space, places_before
from equipoise.walk.last_street.program import MOST, MY_END, NOTHING, SET, SUM, THEIR_END, LastStreet, step_at
from equipoise.walk.last_street.terminals import join_rows
from equipoise.walk.plan import Plan, WalkBuffers, padded
from equipoise.walk.terminals import meet_everyone


@kernel
def answer_boards_alike(first: Int, stop: Int, plan: Plan, last: LastStreet, space: Space, work: WalkBuffers) -> None:
    """Best responses on boards of the last street to an opponent that plays all holes alike, hole by hole."""
    boards, walker = plan.boards, plan.walker
    my_length = padded(boards.counts[boards.parent[first], walker])
    for board in range(first, stop):
        if plan.weights[board] == 0.0:
            continue
        meet_everyone(board, True, plan, work)
        won, met = work.spare, work.lanes_in  # as `meet_everyone` left them
        before = places_before(board, walker, plan)
        for batch in range(last.deal.shape[0]):
            value_above = space.value_above[batch * my_length * LANES : (batch + 1) * my_length * LANES]
            for start in range(0, before.size, LANES):
                end = min(start + LANES, before.size)
                _evaluate_alike(batch, won[start:end], met[start:end], last, space.few)
                for i in range(end - start):
                    at = before[start + i]
                    store(value_above, at, add_scaled(load(value_above, at), plan.weights[board], load(space.few, i)))


@inner
def _evaluate_alike(batch: Int, won: F32, met: F32, last: LastStreet, few: F32) -> None:
    """All steps of a batch for up to sixteen holes. IN: float[hole] x 2; OUT: float[row, hole, lane], row 0."""
    first = last.first_step[batch]
    for number in range(first, last.end_step[batch]):
        step = step_at(last.steps, number)
        code, row = step.code, np.int64(step.row)
        value = few[row * LANES * LANES : (row + 1) * LANES * LANES]
        if code in (SUM, MOST):
            join_rows(value, few[(row + 1) * LANES * LANES : (row + 2) * LANES * LANES], code == MOST)
        elif code in (MY_END, THEIR_END):
            at = last.first_factor[batch] + 2 * (number - first)
            folding, calling = load(last.factor, at), load(last.factor, at + 1)
            mine, join = code == MY_END, step.join != SET
            most = not mine and step.most != SET
            has_fold, has_call = step.fold != NOTHING, step.call != NOTHING
            above = few[(row - most) * LANES * LANES : (row - most + 1) * LANES * LANES]
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
                    end = add(end, load(value, i))
                if most:
                    end = maximum(end, load(above, i))
                store(above, i, end)
