"""Terminals of a street on a board: showdowns and folds, sixteen at a time, gathered into lanes and scattered back."""

from __future__ import annotations

import numpy as np

from equipoise.cards.showdown import Cards, meeting_lanes, showdown_lanes
from equipoise.core.arrays import Float, Int
from equipoise.core.jit import F32, F64, I16, I32, U16, inlined, inner
from equipoise.core.simd import LANES, add_scaled, gather_tile, load, scatter_tile, store, zeros
from equipoise.walk.plan import Plan, WalkBuffers, padded, row_of


@inner
def evaluate_terminals(group: Int, board: Int, street: Int, last: bool, plan: Plan, work: WalkBuffers) -> None:
    """Values of a group's showdowns and folds, sixteen at a time."""
    program, boards, runouts = plan.program, plan.boards, plan.runouts
    walker, two_cards = plan.walker, plan.two_cards
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


@inner
def evaluate_blind(group: Int, board: Int, street: Int, last: bool, path: F64, plan: Plan, work: WalkBuffers) -> None:
    """Values of terminals against a card-blind opponent: one showdown serves every node of a board."""
    program, walker = plan.program, plan.walker
    reach, size = path[walker], np.int64(plan.boards.counts[board, walker])
    if group == program.street_groups[street]:
        meet_everyone(board, last, plan, work)
    won, met = work.spare, work.lanes_in  # as `meet_everyone` left them
    start, base, length = program.group_first[group], work.value_base[street], padded(size)
    for place in program.showdowns[program.group_showdowns[group] : program.group_showdowns[group + 1]]:
        row = row_of(work.value, base, place - start, length)
        win = work.value.dtype.type(reach[place] * program.win[walker, place])
        meet = work.value.dtype.type(reach[place] * program.meet[walker, place])
        for h in range(size):
            row[h] = win * won[h] + meet * met[h]
    for place in program.folds[program.group_folds[group] : program.group_folds[group + 1]]:
        row = row_of(work.value, base, place - start, length)
        meet = work.value.dtype.type(reach[place] * program.meet[walker, place])
        for h in range(size):
            row[h] = meet * met[h]


@inlined
def meet_everyone(board: Int, last: bool, plan: Plan, work: WalkBuffers) -> None:
    """Each hole against all holes: win minus lose into `spare`, the number of holes met into `lanes_in`."""
    boards, runouts, walker = plan.boards, plan.runouts, plan.walker
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


@inlined
def address_lanes(
    batch: I32,
    group: Int,
    street: Int,
    their_count: Int,
    my_count: Int,
    factors: F64,
    factor: Float,
    plan: Plan,
    work: WalkBuffers,
) -> None:
    """Find the rows and factors of up to sixteen terminals; unused lanes write to a spare row."""
    rows = plan.program.reach_row[plan.walker]
    reach_length, value_length = padded(their_count), padded(my_count)
    for lane in range(LANES):
        place = batch[min(lane, batch.size - 1)]
        work.reach_at[lane] = work.reach_base[street] + rows[place] * reach_length
        work.value_at[lane] = work.value_base[street] + (place - plan.program.group_first[group]) * value_length
        work.factor[lane] = factors[place] * factor
        if lane >= batch.size:
            work.value_at[lane] = work.value.size - value_length


@inner
def gather_lanes(size: Int, work: WalkBuffers) -> None:
    """Gather sixteen reach rows into lanes: float[hole, lane], a zero row last."""
    for start in range(0, size, LANES):
        gather_tile(work.reach, work.reach_at, start, work.lanes_in)
    store(work.lanes_in, size, zeros(work.lanes_in))


@inner
def scatter_lanes(size: Int, work: WalkBuffers) -> None:
    """Scatter the lanes, each times its factor, into sixteen value rows."""
    for start in range(0, size, LANES):
        scatter_tile(work.lanes_out, start, work.factor, work.value_at, work.value)


@inlined
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
    work: WalkBuffers,
) -> None:
    """Add the rake's share of the reach met to win minus lose, so that one factor a lane serves both."""
    share = work.run_share
    for lane in range(LANES):
        place = batch[min(lane, batch.size - 1)]
        share[lane] = meet[place] / (win[place] * factor)
    meeting_lanes(work.lanes_in, work.lanes_met, work.run, mine, theirs, same, two_cards)
    for i in range(size):
        for lane in range(LANES):
            work.lanes_out[i * LANES + lane] += share[lane] * work.lanes_met[i * LANES + lane]


@inner
def runout_lanes(reach: F32, out: F32, matrix: I16) -> None:
    """Runouts won minus lost against the reach: a product with an integer matrix."""
    for i in range(matrix.shape[0]):
        total = zeros(out)
        row = matrix[i]
        for j in range(matrix.shape[1]):
            total = add_scaled(total, row[j], load(reach, j))
        store(out, i, total)
