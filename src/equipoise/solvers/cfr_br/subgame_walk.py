"""The walk of a sampled subgame for CFR-BR's hybrid agent: the trunk on sampled cards, then all boards that may follow.

It is the walk of `walk/bucketed_walk.py` on the boards of `tree/subgame_boards.py`, but for the last street, where
sixteen betting entries are walked side by side (`subgame_last_street.py`). In the trunk both players play by tables;
below it one responds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Int
from equipoise.core.jit import F32, I64, kernel, view
from equipoise.solvers.cfr_br.subgame_last_street import Above, Choices, LaneRows, pack_reach, unpack_values, walk_last
from equipoise.solvers.cfr_br.subgame_tables import Pace, RowPlaces, RowTables, close_rows, open_rows
from equipoise.solvers.sampled_last_street import Batches, LaneSpace
from equipoise.walk.bucketed_walk import BoardRule, BucketRule, WalkFlags
from equipoise.walk.plan import Plan, WalkBuffers
from equipoise.walk.walk import begin_at, clear_deals, descend, leave_board, onward


class Lanes(NamedTuple):
    """What the last street is played by, and where it is worked out."""

    batches: Batches
    mine: LaneRows  # the walker's
    theirs: LaneRows
    choices: Choices
    above: Above
    space: LaneSpace


@kernel
def walk_to_last(plan: Plan, play: BoardRule, lanes: Lanes, work: WalkBuffers, at: I64) -> int:
    """Go on with a walk until the last boards below a board are to be walked; returns that board, or -1 at the end.

    IN OUT: int64[1] the street where it stands, its last boards walked; -1 before and after a walk.
    """
    bottom = plan.program.street_groups.size - 3  # the street before the last
    entering = at[0] < 0
    street = begin_at(0, plan, work) if entering else at[0]
    while street >= 0:
        board = np.int64(work.board[street])
        if entering:
            group = plan.program.street_groups[street]
            descend(group, board, street, False, plan, play, work, work)
            if street == bottom:
                pack_reach(board, plan, lanes.batches, lanes.above, lanes.space, work)
                at[0] = street
                return int(board)
            clear_deals(board, street, plan, work)
        else:
            if street == bottom:
                unpack_values(board, plan, lanes.batches, lanes.above, lanes.space, work)
            leave_board(board, street, plan, play, work, work)
        street, entering = onward(street, 0, bottom, entering, plan, work)
    at[0] = -1
    return -1


@kernel
def walk_batches(first: Int, stop: Int, board: Int, plan: Plan, play: BoardRule, lanes: Lanes) -> None:
    """Some batches of the last street below a board; threads may take some each."""
    walk_last(
        first, stop, board, plan, lanes.batches, play.present.number, play.board_weight, lanes.mine, lanes.theirs,
        lanes.choices, lanes.above, lanes.space,
    )  # fmt: skip


@kernel
def walk_subgame(plan: Plan, play: BoardRule, lanes: Lanes, work: WalkBuffers, at: I64) -> None:
    """One walk of all boards of a subgame, in one thread."""
    board = walk_to_last(plan, play, lanes, work, at)
    while board >= 0:
        walk_batches(0, lanes.batches.lanes.size, board, plan, play, lanes)
        board = walk_to_last(plan, play, lanes, work, at)


class SeatWalk(NamedTuple):
    """All that both walks of a seat need. Pairs are of the abstracted player and its opponent, who walks first."""

    plan: Plan
    play: BoardRule  # without tables and flags
    walkers: tuple[int, int]
    flags: tuple[WalkFlags, WalkFlags]
    places: tuple[RowPlaces, RowPlaces]
    tables: tuple[RowTables, RowTables]
    batches: tuple[Batches, Batches]
    spaces: tuple[LaneSpace, LaneSpace]
    choices: Choices
    above: Above


def _of(walk: SeatWalk, mine: int, theirs: int) -> tuple[Plan, BoardRule, Lanes]:
    """What one of the walks reads: the walker is the abstracted player (0) or its opponent (1)."""
    plan, play, tables = walk.plan, walk.play, walk.tables
    return (
        Plan(
            plan.program, plan.boards, walk.walkers[mine], plan.two_cards, plan.runouts, plan.weights,
            plan.root_reach, plan.root_value,
        ),
        BoardRule(
            play.present, play.board_weight,
            BucketRule(
                play.rule.offset, play.rule.stride, tables[mine].regret, tables[theirs].regret, tables[mine].increment,
                tables[theirs].average, play.rule.buffers, walk.flags[mine], play.rule.recorded,
            ),
        ),
        Lanes(
            walk.batches[mine], tables[mine].lanes, tables[theirs].lanes, walk.choices, walk.above, walk.spaces[mine]
        ),
    )  # fmt: skip


def parts_of(walk: SeatWalk, mine: int) -> tuple[Plan, BoardRule, Lanes]:
    """The same, from Python."""
    return _of(walk, mine, 1 - mine)


_of_view = view(_of)


@kernel
def walk_seat(walk: SeatWalk, tables: tuple[F32, F32], work: WalkBuffers, at: I64) -> None:
    """Open the tables of a subgame, and do both walks of a seat. IN: float[slot] x 2, the regrets of a run."""
    open_rows(walk.places[0], tables[0], walk.tables[0])
    open_rows(walk.places[1], tables[1], walk.tables[1])
    plan, play, lanes = _of_view(walk, 1, 0)
    walk_subgame(plan, play, lanes, work, at)
    plan, play, lanes = _of_view(walk, 0, 1)
    walk_subgame(plan, play, lanes, work, at)


@kernel
def walk_and_add(walk: SeatWalk, tables: tuple[F32, F32], average: F32, pace: Pace, work: WalkBuffers, at: I64) -> None:
    """The same, and what was gathered is added to the run: for the only subgame of an iteration."""
    walk_seat(walk, tables, work, at)
    close_rows(walk.places[0], walk.tables[0], pace, tables[0], average)
    close_rows(walk.places[1], walk.tables[1], pace, tables[1], average)
