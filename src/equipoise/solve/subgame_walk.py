"""The walk of a sampled subgame for CFR-BR's hybrid agent: the trunk on sampled cards, then all boards that may follow.

It is the walk of `bucketed_walk.py` on the boards of `tree/subgames.py`, but for the last street, where sixteen betting
entries are walked side by side (`subgame_lanes.py`). In the trunk both players play by tables; below it one responds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise._arrays import Float, Int
from equipoise._jit import F32, U32, kernel
from equipoise.solve.bucketed_walk import Play, go_down, leave_board
from equipoise.solve.plan import Plan, Workspace
from equipoise.solve.public_chance import Scratch
from equipoise.solve.sampled_last_street import Batches, LaneSpace
from equipoise.solve.subgame_lanes import Above, Choices, LaneRows, pack_reach, unpack_values, walk_last
from equipoise.solve.terminals import evaluate_terminals
from equipoise.solve.walk import begin_at, bring_reach, clear_deals, onward


class Lanes(NamedTuple):
    """What the last street is played by, and where it is worked out."""

    batches: Batches
    mine: LaneRows  # the walker's
    theirs: LaneRows
    choices: Choices
    above: Above
    space: LaneSpace


@kernel
def walk_subgame(plan: Plan, play: Play, lanes: Lanes, scratch: Scratch, work: Workspace) -> None:
    """One walk of all boards of a subgame, in one thread."""
    bottom = plan.program.street_groups.size - 3  # the street before the last
    root = begin_at(0, plan, work)
    street, entering = root, True
    while street >= root:
        board = np.int64(work.board[street])
        if entering:
            group = plan.program.street_groups[street]
            bring_reach(group, board, street, plan, work, work)
            go_down(group, board, street, plan, play, scratch, work)
            evaluate_terminals(group, board, street, False, plan, work)
            if street == bottom:
                pack_reach(board, plan, lanes.batches, lanes.above, lanes.space, work)
                walk_last(
                    board, plan, lanes.batches, play.present.number, play.board_weight, lanes.mine, lanes.theirs,
                    lanes.choices, lanes.above, lanes.space,
                )  # fmt: skip
                unpack_values(board, plan, lanes.batches, lanes.above, lanes.space, work)
            else:
                clear_deals(board, street, plan, work)
        if not entering or street == bottom:
            leave_board(board, street, plan, play, scratch, work, work)
        street, entering = onward(street, root, bottom, entering, plan, work)


@kernel
def add_rows(rows: U32, width: Int, more: F32, gain: Float, floor: Float, table: F32) -> None:
    """Add to the rows of a street. IN: uint32[row] buckets, float[row, slot] flat; IN OUT: float[bucket, slot] flat."""
    for k in range(rows.size):
        start = np.int64(rows[k]) * width
        for i in range(width):
            table[start + i] = max(table[start + i] + gain * more[k * width + i], floor)
