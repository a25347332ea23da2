"""Last-street betting entries packed into lanes: sixteen entries of one shape are a batch.

Best responses, public chance sampling and the hybrid agent's subgames all use this packing. Every entry opens from a
deal of the street before. Its lane reads that deal's row of reach and writes that deal's row of values.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.arrays import Int, aligned, aligned_zeros
from equipoise.core.jit import F32, F64, I32, I64, inlined, view
from equipoise.core.simd import LANES, gather_tile, scatter_tile, store, zeros
from equipoise.walk.betting_program import BettingProgram
from equipoise.walk.last_street.program import NOTHING, EntryShape, LastStreetOp, compile_shape, shape_key
from equipoise.walk.plan import Plan, WalkBuffers, padded

ROOT = -1  # the deal of entries at the start of the game


class EntryBatches(NamedTuple):
    """The last street for one walker, in batches of entries. Unused lanes repeat the last entry; their factor is 0."""

    ops: I32  # [op, column] as `LastStreetOp`
    first_op: I32  # [batch]
    end_op: I32  # [batch]
    factor: F32  # [op of a batch, fold or call, lane] chips, flat
    first_factor: I64  # [batch] in ops
    places: I32  # [node of a batch, lane] indices in the betting program
    first_node: I64  # [batch]
    num_lanes: I32  # [batch] number of entries
    reach_row: I32  # [batch, lane] of the deal that an entry opens from, on the street before; ROOT
    value_row: I32  # [batch, lane] the same for values; NOTHING for an unused lane
    reach_rows: int  # of [hole, lane] that the ops need
    value_rows: int
    max_actions: int


class LaneAddresses(NamedTuple):
    """BucketBuffers of one thread: where the rows of sixteen lanes start."""

    start: I64  # [lane]
    ones: F32  # [lane]


class EntryBuffers(NamedTuple):
    """Reach and values of all entries below one board of the street before: [batch, hole of that board, lane]."""

    reach: F32
    value: F32
    addresses: LaneAddresses


@dataclass(frozen=True, eq=False)
class PackedEntries:
    """The last street of a betting program for one walker: its shapes, and batches of (shape, places of each lane)."""

    program: BettingProgram
    walker: int
    shapes: list[EntryShape]
    batches: list[tuple[EntryShape, list[list[int]]]]

    def arrays(self, path: F64 | None = None, precision: type = np.float32) -> EntryBatches:
        """For kernels; `path` multiplies chips by the opponent's reach probability of each place."""
        program, rounds = self.program.arrays, self.program.tree.rules.rounds
        deal_of = dict(zip(program.entries.tolist(), program.entry_deal.tolist(), strict=True))
        above = int(program.group_first[program.street_groups[rounds - 2]]) if rounds > 1 else 0
        first_op = dict(zip(self.shapes, np.cumsum([0, *(len(shape.ops) for shape in self.shapes)]), strict=False))
        factors, places = [np.zeros((0, 2, LANES))], [np.zeros((0, LANES), np.int32)]
        rows = np.full((2, len(self.batches), LANES), NOTHING, np.int32)
        for batch, (shape, lanes) in enumerate(self.batches):
            padding = [lanes[-1]] * (LANES - len(lanes))
            deals = np.array([deal_of[lane[0]] for lane in lanes + padding])
            rows[0, batch] = np.where(deals == ROOT, ROOT, program.reach_row[self.walker, deals])
            rows[1, batch, : len(lanes)] = deals[: len(lanes)] - above
            factors.append(self._factors(shape, lanes, path))
            places.append(np.array(lanes + padding, np.int32).T)
        ops = [op for shape in self.shapes for op in shape.ops]
        return EntryBatches(
            ops=np.array(ops, np.int32).reshape(-1, len(LastStreetOp._fields)),
            first_op=np.array([first_op[shape] for shape, _ in self.batches], np.int32),
            end_op=np.array([first_op[shape] + len(shape.ops) for shape, _ in self.batches], np.int32),
            factor=aligned(np.concatenate(factors).ravel(), precision),
            first_factor=np.cumsum([len(part) for part in factors[:-1]], dtype=np.int64),
            places=np.ascontiguousarray(np.concatenate(places)),
            first_node=np.cumsum([len(part) for part in places[:-1]], dtype=np.int64),
            num_lanes=np.array([len(lanes) for _, lanes in self.batches], np.int32),
            reach_row=rows[0],
            value_row=rows[1],
            reach_rows=max((shape.reach_rows for shape in self.shapes), default=1),
            value_rows=max((shape.value_rows for shape in self.shapes), default=1),
            max_actions=max((op.actions for op in ops), default=1),
        )

    def _factors(self, shape: EntryShape, lanes: list[list[int]], path: F64 | None) -> F64:
        """[op, fold or call, lane] what terminals are multiplied by."""
        program = self.program.arrays
        factors = np.zeros((len(shape.ops), 2, LANES))
        for op, offsets in enumerate(shape.terminals):
            for which, chips in enumerate((program.meet[self.walker], program.win[self.walker])):
                if offsets[which] != NOTHING:
                    places = [lane[offsets[which]] for lane in lanes]
                    factors[op, which, : len(lanes)] = chips[places] * (1 if path is None else path[places])
        return factors


def pack_entries(
    program: BettingProgram, walker: int, *, separate: bool = False, slots: I64 | None = None
) -> PackedEntries:
    """Pack the last street's entries; `separate` as in `compile_shape`. IN: int64[place] the slots of decisions.

    With `slots`, entries go by their slots: those of a batch are then neighbours in a bucket's row of the tables.
    """
    arrays = program.arrays
    first = arrays.group_first[arrays.street_groups[program.tree.rules.rounds - 1]]
    entries = arrays.entries[arrays.entries >= first].tolist()
    by_shape: dict[Any, list[list[int]]] = defaultdict(list)
    for entry in entries if slots is None else sorted(entries, key=slots.__getitem__):
        places: list[int] = []
        by_shape[shape_key(program, walker, entry, places)].append(places)
    packed = PackedEntries(program, walker, [], [])
    for group in by_shape.values():
        packed.shapes.append(compile_shape(program, walker, group[0], separate=separate))
        packed.batches.extend((packed.shapes[-1], group[at : at + LANES]) for at in range(0, len(group), LANES))
    return packed


def make_addresses(precision: type = np.float32) -> LaneAddresses:
    """BucketBuffers for one thread."""
    ones = aligned_zeros(LANES, precision)
    ones[:] = 1
    return LaneAddresses(np.zeros(LANES, np.int64), ones)


def make_entry_buffers(batches: int, holes: int, precision: type = np.float32) -> EntryBuffers:
    """Memory for boards with at most this many holes on the street before the last."""
    size = batches * int(padded(holes)) * LANES
    return EntryBuffers(aligned_zeros(size, precision), aligned_zeros(size, precision), make_addresses(precision))


@view
def row_at(rows: F32, row: Int, size: Int) -> F32:
    """One row of lanes."""
    return rows[row * size * LANES : (row + 1) * size * LANES]


@view
def factors_at(op: Int, batch: Int, batches: EntryBatches) -> F32:
    """What an op's terminals are multiplied by: [fold or call, lane]."""
    at = 2 * (batches.first_factor[batch] + op - batches.first_op[batch])
    return batches.factor[at * LANES : (at + 2) * LANES]


@inlined
def gather_batch(
    batch: Int, base: Int, length: Int, batches: EntryBatches, flat: F32, addresses: LaneAddresses, lanes: F32
) -> None:
    """Bring the rows of reach of a batch side by side. IN: float flat, rows from `base`; OUT: float[hole, lane]."""
    for lane in range(LANES):
        addresses.start[lane] = base + np.int64(batches.reach_row[batch, lane]) * length
    for start in range(0, length, LANES):
        gather_tile(flat, addresses.start, start, lanes)


@inlined
def scatter_batch(
    batch: Int, base: Int, length: Int, batches: EntryBatches, lanes: F32, addresses: LaneAddresses, flat: F32
) -> None:
    """Put the values of a batch into rows; unused lanes go to a spare row at the end. IN: float[hole, lane]."""
    for lane in range(LANES):
        row = np.int64(batches.value_row[batch, lane])
        addresses.start[lane] = flat.size - length if row == NOTHING else base + row * length
    for start in range(0, length, LANES):
        scatter_tile(lanes, start, addresses.ones, addresses.start, flat)


@inlined
def pack_reach(board: Int, plan: Plan, batches: EntryBatches, entries: EntryBuffers, work: WalkBuffers) -> None:
    """Gather the reach of all entries below a board, and clear their values."""
    street = np.int64(plan.boards.street[board])
    length = padded(np.int64(plan.boards.counts[board, 1 - plan.walker]))
    for batch in range(batches.num_lanes.size):
        lanes = row_at(entries.reach, batch, length)
        gather_batch(batch, work.reach_base[street], length, batches, work.reach, entries.addresses, lanes)
    for i in range(entries.value.size // LANES):
        store(entries.value, i, zeros(entries.value))


@inlined
def unpack_values(board: Int, plan: Plan, batches: EntryBatches, entries: EntryBuffers, work: WalkBuffers) -> None:
    """Scatter the values of all entries below a board into the rows of the deals that they open from."""
    street = np.int64(plan.boards.street[board])
    length = padded(np.int64(plan.boards.counts[board, plan.walker]))
    for batch in range(batches.num_lanes.size):
        lanes = row_at(entries.value, batch, length)
        scatter_batch(batch, work.value_base[street], length, batches, lanes, entries.addresses, work.value)
