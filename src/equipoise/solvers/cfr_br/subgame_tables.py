"""Tables of a subgame's rows: opened from the tables of a run, filled by walks, and added to the run when it is done.

Before the last street they are flat, [street][row, slot]; on it they are in lanes (`subgame_lanes.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Float, Int
from equipoise.core.jit import F32, I32, I64, U32, inner, kernel, view
from equipoise.core.simd import LANES
from equipoise.solvers.cfr_br.subgame_last_street import NOWHERE, LaneRows, decision


class Slots(NamedTuple):
    """Where a player's decisions of the last street stand in a run's tables."""

    place: I32  # [node of a batch, lane]
    lanes: I32  # [node of a batch] how many of them are entries
    offset: I64  # [place] the slot of a decision's first action in the first bucket
    stride: I64  # [place]
    actions: I32  # [node of a batch]


class RowPlaces(NamedTuple):
    """Where a player's rows of a subgame stand: in tables of their own, and in those of a run."""

    bucket: U32  # [row] streets one after the other
    first_row: I64  # [street + 1]
    base: I64  # [street + 1] where the rows of a street before the last start in the subgame's tables
    first: I64  # [street] where they start in the run's
    width: I64  # [street] slots of a row
    slots: Slots


class RowTables(NamedTuple):
    """A player's tables of a subgame's rows."""

    regret: F32  # as it was when the subgame was opened
    increment: F32
    average: F32
    lanes: LaneRows


class Pace(NamedTuple):
    """What is gathered counts so much, and regrets are not let below a floor."""

    gain: Float
    floor: Float
    average_gain: Float


@kernel
def open_rows(places: RowPlaces, regret: F32, tables: RowTables) -> None:
    """Take the regrets of a subgame's rows out of a run's, and clear what walks add to. IN: float[slot]."""
    last = places.base.size - 1
    for table in (tables.increment, tables.average, tables.lanes.total, tables.lanes.reach):
        table[:] = 0
    for street in range(min(places.first_row.size - 1, last)):
        width, start = places.width[street], places.first_row[street]
        for k in range(start, places.first_row[street + 1]):
            source = places.first[street] + np.int64(places.bucket[k]) * width
            out = places.base[street] + (k - start) * width
            for i in range(width):
                tables.regret[out + i] = regret[source + i]
    if tables.lanes.rows:
        _open_lanes(places, regret, tables.lanes)


@kernel
def close_rows(places: RowPlaces, tables: RowTables, pace: Pace, regret: F32, average: F32) -> None:
    """Add what a subgame has gathered to a run. IN OUT: float[slot] x 2."""
    last = places.base.size - 1
    for street in range(min(places.first_row.size - 1, last)):
        width, start = places.width[street], places.first_row[street]
        for k in range(start, places.first_row[street + 1]):
            slot = places.first[street] + np.int64(places.bucket[k]) * width
            found = places.base[street] + (k - start) * width
            for i in range(width):
                regret[slot + i] = max(regret[slot + i] + pace.gain * tables.increment[found + i], pace.floor)
            if tables.average.size:
                for i in range(width):
                    average[slot + i] += pace.average_gain * tables.average[found + i]
    if tables.lanes.rows:
        _close_lanes(places, tables.lanes, pace, regret, average)


@view
def _row(flat: F32, first: Int, rows: Int, k: Int, width: Int) -> F32:
    """A row's part of a decision's table in lanes: [action, lane] flat."""
    start = np.int64(k) * width * LANES
    return decision(flat, first, rows, width)[start : start + np.int64(width) * LANES]


@view
def _slot(places: RowPlaces, bucket: Int, at: Int, lane: Int) -> int:
    """The first slot of a bucket's decision in a run's tables."""
    place = places.slots.place[at, lane]
    return int(places.slots.offset[place] + np.int64(bucket) * places.slots.stride[place])


@inner
def _open_lanes(places: RowPlaces, regret: F32, lanes: LaneRows) -> None:
    """Strategies of the last street's rows, by regret matching. OUT: lanes.chance."""
    zero, one = np.float32(0), np.float32(1)
    first = places.first_row[places.base.size - 1]
    for k in range(lanes.rows):
        for at in range(places.slots.actions.size):
            if lanes.first[at] == NOWHERE:
                continue
            actions = np.int64(places.slots.actions[at])
            chance = _row(lanes.chance, lanes.first[at], lanes.rows, k, actions)
            for lane in range(places.slots.lanes[at]):
                slot = _slot(places, places.bucket[first + k], at, lane)
                total = zero
                for action in range(actions):
                    total += max(regret[slot + action], zero)
                for action in range(actions):
                    share = max(regret[slot + action], zero) / total if total > zero else one / np.float32(actions)
                    chance[action * LANES + lane] = share


@inner
def _close_lanes(places: RowPlaces, lanes: LaneRows, pace: Pace, regret: F32, average: F32) -> None:
    """Regrets and averages of the last street's rows."""
    first = places.first_row[places.base.size - 1]
    for k in range(lanes.rows):
        for at in range(places.slots.actions.size):
            if lanes.first[at] == NOWHERE:
                continue
            actions = np.int64(places.slots.actions[at])
            chance = _row(lanes.chance, lanes.first[at], lanes.rows, k, actions)
            total = _row(lanes.total, lanes.first[at], lanes.rows, k, actions)
            for lane in range(places.slots.lanes[at]):
                slot = _slot(places, places.bucket[first + k], at, lane)
                expected = np.float32(0)
                for action in range(actions):
                    expected += chance[action * LANES + lane] * total[action * LANES + lane]
                for action in range(actions):
                    more = pace.gain * (total[action * LANES + lane] - expected)
                    regret[slot + action] = max(regret[slot + action] + more, pace.floor)
                if lanes.reach.size:
                    reach = _row(lanes.reach, lanes.before[at], lanes.rows, k, 1)[lane]
                    for action in range(actions):
                        average[slot + action] += pace.average_gain * reach * chance[action * LANES + lane]
