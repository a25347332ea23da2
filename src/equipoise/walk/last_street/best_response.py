"""The last street of a best response, sixteen betting entries side by side.

The walker takes the larger value at each decision, so the ops fuse its terminals with its subtrees: this is why it does
not share the decisions of public chance sampling, which needs the value of every action. All boards below one are
walked batch by batch. The opponent plays by bucket here; `card_blind.py` has the kernel for one that ignores its cards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Int, aligned_zeros
from equipoise.core.jit import F32, F64, I64, U16, U32, kernel, view
from equipoise.core.simd import LANES, add_scaled, load, store, zeros
from equipoise.tree.betting_tree import SHOWDOWN
from equipoise.walk.betting_program import BettingProgram
from equipoise.walk.last_street.packing import (
    EntryBatches,
    EntryBuffers,
    PackedEntries,
    factors_at,
    make_entry_buffers,
    pack_entries,
    pack_reach,
    row_at,
    unpack_values,
)
from equipoise.walk.last_street.program import NOTHING, SET, op_at
from equipoise.walk.last_street.terminals import MyTerminals, OpBuffers, board_holes, make_op_buffers, run_op
from equipoise.walk.plan import Plan, WalkBuffers, padded


class LastStreet(NamedTuple):
    """The last street of one walker, and how its opponent plays there."""

    batches: EntryBatches
    first_chance: I64  # [batch] where its probabilities start, in lanes of sixteen
    chance: F32  # [batch, decision, bucket, action, lane] flat; empty: the opponent is card-blind
    buckets: int


class BestResponseBuffers(NamedTuple):
    """Memory of one thread."""

    entries: EntryBuffers
    ops: OpBuffers
    block: F32  # [row, hole of sixteen, lane]


@dataclass(frozen=True, eq=False)
class LastStreetProgram:
    """The last street of one walker, before its opponent's strategy is known."""

    packed: PackedEntries

    def against_card_blind(self, path: F64, precision: type = np.float32) -> LastStreet:
        """Against an opponent that ignores its cards: `path` is its reach probability of each place."""
        batches = self.packed.arrays(path, precision)
        return LastStreet(batches, np.zeros(len(batches.num_lanes), np.int64), np.zeros(0, precision), 0)

    def against_buckets(self, chances: Callable[[int], F32], buckets: int, precision: type = np.float32) -> LastStreet:
        """Against an opponent that plays by bucket: `chances(place)` is a decision's [bucket, action] table."""
        sizes = np.array([shape.actions * buckets for shape, _ in self.packed.batches], np.int64)
        chance = aligned_zeros(int(sizes.sum()) * LANES, precision)
        filled = 0
        for shape, lanes in self.packed.batches:
            for offset in shape.decisions:
                for lane, places in enumerate(lanes):
                    table = chances(places[offset])
                    block = chance[filled : filled + table.size * LANES].reshape(*table.shape, LANES)
                    fill_lane(table, lane, block)
                filled += table.size * LANES
        return LastStreet(self.packed.arrays(precision=precision), np.cumsum(sizes) - sizes, chance, buckets)


def compile_last_street(program: BettingProgram, walker: int) -> LastStreetProgram | None:
    """The ops of the last street; None where they do not apply: with rake, locked nodes or holes of another size."""
    arrays, rules = program.arrays, program.tree.rules
    if rules.rounds < 2 or rules.hole_cards != 2 or arrays.locked.any():
        return None
    if (arrays.meet[walker][arrays.kind == SHOWDOWN] != 0).any():
        return None
    packed = pack_entries(program, walker)
    return LastStreetProgram(packed) if packed.batches else None


@kernel
def fill_lane(table: F32, lane: Int, block: F32) -> None:
    """Probabilities with sums of one, so that folds are the rest; a bucket without probabilities plays uniformly.

    IN: float[bucket, action]; OUT: float[bucket, action, lane], one lane of it.
    """
    precision, actions = block.dtype.type, table.shape[1]
    for bucket in range(table.shape[0]):
        total = precision(0)
        for action in range(actions):
            total += table[bucket, action]
        for action in range(actions):
            share = table[bucket, action] / total if total > 0 else precision(1 / actions)
            block[bucket, action, lane] = share


def make_best_response_buffers(last: LastStreet, holes_above: int, holes: int) -> BestResponseBuffers:
    """Memory for boards with at most this many holes, on the street before the last and on the last."""
    batches, precision = last.batches, last.batches.factor.dtype.type
    return BestResponseBuffers(
        entries=make_entry_buffers(len(batches.num_lanes), holes_above, precision),
        ops=make_op_buffers(batches.reach_rows, batches.value_rows, holes, precision),
        block=aligned_zeros(batches.value_rows * LANES * LANES, precision),
    )


@kernel
def respond_to_buckets(
    above: Int, plan: Plan, last: LastStreet, cells: U32, buffers: BestResponseBuffers, work: WalkBuffers
) -> None:
    """Best responses to a strategy by bucket on all last boards below one, added to the values of that board."""
    boards, walker, batches, rows = plan.boards, plan.walker, last.batches, buffers.ops
    pack_reach(above, plan, batches, buffers.entries, work)
    my_length, their_length = padded(boards.counts[above, walker]), padded(boards.counts[above, 1 - walker])
    for batch in range(batches.num_lanes.size):  # its rows of the board before stay in the cache
        reach_above = row_at(buffers.entries.reach, batch, their_length)
        value_above = row_at(buffers.entries.value, batch, my_length)
        first_op = batches.first_op[batch]
        for board in range(boards.first_child[above], boards.first_child[above] + boards.num_children[above]):
            if plan.weights[board] == 0.0:
                continue
            holes, theirs = board_holes(board, plan, rows), boards.first[board, 1 - walker]
            my_parents, their_parents = parent_positions(board, walker, plan), parent_positions(board, 1 - walker, plan)
            stride = their_parents.size + 1
            for row in range(batches.reach_rows):
                store(rows.reach, row * stride + stride - 1, zeros(rows.reach))
            for j in range(their_parents.size):
                store(rows.reach, j, load(reach_above, their_parents[j]))
            here = cells[theirs : theirs + their_parents.size]
            for i in range(first_op, batches.end_op[batch]):
                op = op_at(batches.ops, i)
                opened = i if op.opened == NOTHING else first_op + op.opened
                start, size = last.first_chance[batch] + op.chance * last.buckets, op.actions * last.buckets
                chance = last.chance[start * LANES : (start + size) * LANES]
                mine = _my_terminals(opened, batch, batches)
                run_op(op, mine, factors_at(i, batch, batches), chance, here, holes, rows)
            for i in range(my_parents.size):
                at = my_parents[i]
                store(value_above, at, add_scaled(load(value_above, at), plan.weights[board], load(rows.value, i)))
    unpack_values(above, plan, batches, buffers.entries, work)


@view
def parent_positions(board: Int, player: Int, plan: Plan) -> U16:
    """[hole] the positions of a player's holes in the list of the board before."""
    first = plan.boards.first[board, player]
    return plan.boards.before[first : first + plan.boards.counts[board, player]]


@view
def _my_terminals(index: Int, batch: Int, batches: EntryBatches) -> MyTerminals:
    op = op_at(batches.ops, index)
    return MyTerminals(factors_at(index, batch, batches), op.fold != NOTHING, op.call != NOTHING, op.most != SET)
