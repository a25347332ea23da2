"""The kernels of one update: both walks of a subgame for one seat, the opponent's first.

A walk passes the boards of `tree/subgame_boards.py` in the order of `walk/bucketed_walk.py`; on the last street sixteen
betting entries are walked side by side (`subgame_last_street.py`). In the trunk both players play by tables; below it
the opponent responds, and the abstracted player answers the recorded response.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Int
from equipoise.core.jit import F32, I64, kernel, view
from equipoise.solvers.cfr_br.subgame_last_street import LastStreetChoices, LastStreetWalk, walk_last_boards
from equipoise.solvers.cfr_br.subgame_tables import RowLocations, SubgameTables, UpdateScale, add_to_run, load_rows
from equipoise.solvers.sampled_last_street import LastStreetBuffers
from equipoise.walk.bucketed_walk import BoardRule, BucketRule, WalkFlags
from equipoise.walk.last_street.packing import EntryBatches, EntryBuffers, pack_reach, unpack_values
from equipoise.walk.plan import Plan, WalkBuffers
from equipoise.walk.walk import begin_at, clear_deals, descend, leave_board, onward


class SeatWalk(NamedTuple):
    """What both walks of a seat need. Pairs are [role]: the abstracted player, and its opponent, who walks first.

    What the two walks share is here once: unpacking these arrays from Python takes a good part of a small subgame.
    """

    plan: Plan  # of either walk
    rule: BoardRule  # without tables and flags
    walkers: tuple[int, int]
    flags: tuple[WalkFlags, WalkFlags]
    locations: tuple[RowLocations, RowLocations]
    tables: tuple[SubgameTables, SubgameTables]
    batches: tuple[EntryBatches, EntryBatches]
    buffers: tuple[LastStreetBuffers, LastStreetBuffers]
    choices: LastStreetChoices
    entries: EntryBuffers


@kernel
def update_run(
    walk: SeatWalk, regrets: tuple[F32, F32], average: F32, scale: UpdateScale, work: WalkBuffers, at: I64
) -> None:
    """Update the run from one subgame: walk it, and add its sums. IN OUT: float[slot] x 2 by role; float[slot]."""
    walk_seat(walk, regrets, work, at)
    add_to_run(walk.locations[0], walk.tables[0], scale, regrets[0], average)
    add_to_run(walk.locations[1], walk.tables[1], scale, regrets[1], average)


@kernel
def walk_seat(walk: SeatWalk, regrets: tuple[F32, F32], work: WalkBuffers, at: I64) -> None:
    """Load the rows of a subgame, and do both walks of a seat. IN: float[slot] x 2 by role, the regrets of the run."""
    load_rows(walk.locations[0], regrets[0], walk.tables[0])
    load_rows(walk.locations[1], regrets[1], walk.tables[1])
    plan, rule, last = _role_walk_view(walk, 1, 0)
    walk_subgame(plan, rule, last, work, at)
    plan, rule, last = _role_walk_view(walk, 0, 1)
    walk_subgame(plan, rule, last, work, at)


def role_walk(walk: SeatWalk, mine: int, theirs: int) -> tuple[Plan, BoardRule, LastStreetWalk]:
    """The arguments of one of the walks: the walker's role, and the other."""
    plan, rule, tables = walk.plan, walk.rule, walk.tables
    return (
        Plan(
            plan.program, plan.boards, walk.walkers[mine], plan.two_cards, plan.runouts, plan.weights,
            plan.root_reach, plan.root_value,
        ),
        BoardRule(
            rule.present, rule.board_weight,
            BucketRule(
                rule.rule.offset, rule.rule.stride, tables[mine].regret, tables[theirs].regret, tables[mine].increment,
                tables[theirs].average, rule.rule.buffers, walk.flags[mine], rule.rule.recorded,
            ),
        ),
        LastStreetWalk(
            walk.batches[mine], tables[mine].last, tables[theirs].last, walk.choices, walk.entries, walk.buffers[mine]
        ),
    )  # fmt: skip


_role_walk_view = view(role_walk)


@kernel
def walk_subgame(plan: Plan, rule: BoardRule, last: LastStreetWalk, work: WalkBuffers, at: I64) -> None:
    """One walk of all boards of a subgame, in one thread."""
    board = walk_to_last_street(plan, rule, last, work, at)
    while board >= 0:
        walk_last_street(0, last.batches.num_lanes.size, board, plan, rule, last)
        board = walk_to_last_street(plan, rule, last, work, at)


@kernel
def walk_to_last_street(plan: Plan, rule: BoardRule, last: LastStreetWalk, work: WalkBuffers, at: I64) -> int:
    """Continue a walk up to the next board whose last boards must be walked; returns that board, or -1 at the end.

    IN OUT: int64[1] the street where the walk paused, its last boards walked since; -1 before and after a walk.
    """
    bottom = plan.program.street_groups.size - 3  # the street before the last
    entering = at[0] < 0
    street = begin_at(0, plan, work) if entering else at[0]
    while street >= 0:
        board = np.int64(work.board[street])
        if entering:
            group = plan.program.street_groups[street]
            descend(group, board, street, False, plan, rule, work, work)
            if street == bottom:
                pack_reach(board, plan, last.batches, last.entries, work)
                at[0] = street
                return int(board)
            clear_deals(board, street, plan, work)
        else:
            if street == bottom:
                unpack_values(board, plan, last.batches, last.entries, work)
            leave_board(board, street, plan, rule, work, work)
        street, entering = onward(street, 0, bottom, entering, plan, work)
    at[0] = -1
    return -1


@kernel
def walk_last_street(first: Int, stop: Int, board: Int, plan: Plan, rule: BoardRule, last: LastStreetWalk) -> None:
    """Walk some batches of the last street below a board; threads can share the batches."""
    walk_last_boards(first, stop, board, plan, rule.present.number, rule.board_weight, last)
