"""Tables of a subgame's rows: loaded from the tables of the run, filled by walks, and added to the run in the end.

Before the last street they are flat, [street][row, slot]; on the last street they are in lanes
(`subgame_last_street.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Float, Int
from equipoise.core.jit import F32, I32, I64, U32, inlined, inner, kernel, view
from equipoise.core.simd import LANES
from equipoise.solvers.cfr_br.subgame_last_street import NOWHERE, LastStreetTables, decision_part


class LastStreetSlots(NamedTuple):
    """Where the decisions of the last street are in the run's tables."""

    places: I32  # [node of a batch, lane]
    num_lanes: I32  # [node of a batch] number of entries
    offset: I64  # [place] the slot of a decision's first action in the first bucket
    stride: I64  # [place]
    actions: I32  # [node of a batch]


class RowLocations(NamedTuple):
    """Where a player's rows of a subgame are: in the subgame's tables, and in the run's."""

    bucket: U32  # [row] streets in order
    first_row: I64  # [street + 1]
    base: I64  # [street + 1] where the rows of a street before the last start in the subgame's tables
    first: I64  # [street] where they start in the run's tables
    width: I64  # [street] slots of a row
    slots: LastStreetSlots


class SubgameTables(NamedTuple):
    """A player's tables of a subgame's rows."""

    regret: F32  # of the run, when the subgame was loaded
    increment: F32
    average: F32
    last: LastStreetTables


class UpdateScale(NamedTuple):
    """How much a subgame's sums count in the run."""

    regret: Float  # factor of new regrets
    floor: Float  # lower bound of regrets
    average: Float  # factor of new averages


@kernel
def load_rows(locations: RowLocations, regret: F32, tables: SubgameTables) -> None:
    """Copy the regrets of a subgame's rows from the run, and clear the sums. IN: float[slot]."""
    last = locations.base.size - 1
    for table in (tables.increment, tables.average, tables.last.total, tables.last.reach):
        table[:] = 0
    for street in range(min(locations.first_row.size - 1, last)):
        width, start = locations.width[street], locations.first_row[street]
        for k in range(start, locations.first_row[street + 1]):
            source = locations.first[street] + np.int64(locations.bucket[k]) * width
            out = locations.base[street] + (k - start) * width
            for i in range(width):
                tables.regret[out + i] = regret[source + i]
    if tables.last.rows:
        _match_last_street(locations, regret, tables.last)


@kernel
def add_to_run(locations: RowLocations, tables: SubgameTables, scale: UpdateScale, regret: F32, average: F32) -> None:
    """Add a subgame's sums to the run. IN OUT: float[slot] x 2."""
    last = locations.base.size - 1
    for street in range(min(locations.first_row.size - 1, last)):
        width, start = locations.width[street], locations.first_row[street]
        for k in range(start, locations.first_row[street + 1]):
            slot = locations.first[street] + np.int64(locations.bucket[k]) * width
            source = locations.base[street] + (k - start) * width
            for i in range(width):
                regret[slot + i] = max(regret[slot + i] + scale.regret * tables.increment[source + i], scale.floor)
            if tables.average.size:
                for i in range(width):
                    average[slot + i] += scale.average * tables.average[source + i]
    if tables.last.rows:
        _add_last_street(locations, tables.last, scale, regret, average)


@view
def _row(flat: F32, first: Int, rows: Int, k: Int, width: Int) -> F32:
    """One row of a decision's table in lanes: [action, lane] flat."""
    start = np.int64(k) * width * LANES
    return decision_part(flat, first, rows, width)[start : start + np.int64(width) * LANES]


@inlined
def _slot(locations: RowLocations, bucket: Int, node: Int, lane: Int) -> int:
    """The first slot of a bucket's decision in the run's tables."""
    place = locations.slots.places[node, lane]
    return int(locations.slots.offset[place] + np.int64(bucket) * locations.slots.stride[place])


@inner
def _match_last_street(locations: RowLocations, regret: F32, last: LastStreetTables) -> None:
    """Strategies of the last street's rows, by regret matching. OUT: last.chance."""
    zero, one = np.float32(0), np.float32(1)
    first = locations.first_row[locations.base.size - 1]
    for k in range(last.rows):
        for node in range(locations.slots.actions.size):
            if last.first_action[node] == NOWHERE:
                continue
            actions = np.int64(locations.slots.actions[node])
            chance = _row(last.chance, last.first_action[node], last.rows, k, actions)
            for lane in range(locations.slots.num_lanes[node]):
                slot = _slot(locations, locations.bucket[first + k], node, lane)
                total = zero
                for action in range(actions):
                    total += max(regret[slot + action], zero)
                for action in range(actions):
                    share = max(regret[slot + action], zero) / total if total > zero else one / np.float32(actions)
                    chance[action * LANES + lane] = share


@inner
def _add_last_street(
    locations: RowLocations, last: LastStreetTables, scale: UpdateScale, regret: F32, average: F32
) -> None:
    """Regrets and averages of the last street's rows."""
    first = locations.first_row[locations.base.size - 1]
    for k in range(last.rows):
        for node in range(locations.slots.actions.size):
            if last.first_action[node] == NOWHERE:
                continue
            actions = np.int64(locations.slots.actions[node])
            chance = _row(last.chance, last.first_action[node], last.rows, k, actions)
            total = _row(last.total, last.first_action[node], last.rows, k, actions)
            for lane in range(locations.slots.num_lanes[node]):
                slot = _slot(locations, locations.bucket[first + k], node, lane)
                expected = np.float32(0)
                for action in range(actions):
                    expected += chance[action * LANES + lane] * total[action * LANES + lane]
                for action in range(actions):
                    more = scale.regret * (total[action * LANES + lane] - expected)
                    regret[slot + action] = max(regret[slot + action] + more, scale.floor)
                if last.reach.size:
                    reach = _row(last.reach, last.first_decision[node], last.rows, k, 1)[lane]
                    for action in range(actions):
                        average[slot + action] += scale.average * reach * chance[action * LANES + lane]
