"""The last street as a list of steps that serves sixteen betting entries at once, for a best response.

Betting entries of the last street that offer the same actions (in limit hold'em all 567) differ in chips and strategy
only. They are walked side by side, a lane each, depth first, so that a few rows of [hole, lane] stay in the cache.
Where a decision ends the hand by a fold and by a call, both are worked out in one pass over the holes. The steps of my
decision: its ends, then its subtrees, each joined to those. Of the opponent's: its subtrees, then its ends: what it
folds is what it came with less what it called with and what it handed on, so those are known by then.

The opponent plays by bucket: `chance` holds its probabilities as [batch, decision, bucket, action, lane].
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from equipoise._arrays import aligned_zeros
from equipoise._jit import F32, F64, I32, I64
from equipoise._simd import LANES
from equipoise.solve.program import BettingProgram
from equipoise.tree.public_tree import DECISION, FOLDED, SHOWDOWN

PASS, THEIR_END, MY_END, SUM, MOST, COUNT = range(6)  # codes of steps; COUNT: the reach by card, where no end needs it
SET = 0  # a first value; else it is joined to what is there: summed at their decision, the larger at mine
NOTHING = -1


class Steps(NamedTuple):
    """What is done for a batch of entries. `reach` and `value` number rows that are used again and again."""

    code: I32  # [step]
    reach: I32  # [step] the row read
    row: I32  # [step] the row written: of reach by PASS, else of values
    join: I32  # [step] whether the decision has a subtree already
    most: I32  # [step] MY_END: whether THEIR_END finishes it; THEIR_END: whether it is joined to mine, a row up
    opened: I32  # [step] THEIR_END: which step, counted from the batch's first, it finishes; or NOTHING
    chance: I32  # [step] where the decision's probabilities start, in actions, within a batch of one bucket
    actions: I32  # [step] how many actions the decision has
    fold: I32  # [step] which action is the fold (PASS: which action is passed); NOTHING if none
    call: I32  # [step] which action leads to the showdown; NOTHING if none


class LastStreet(NamedTuple):
    """The last street of one walker for kernels. Arrays of lanes are counted in sixteens."""

    steps: Steps
    first_step: I32  # [batch]
    end_step: I32  # [batch]
    deal: I32  # [batch, lane] the row of values, on the street before, that an entry opens from; or NOTHING
    deal_reach: I32  # [batch, lane] the same of reach
    first_factor: I64  # [batch] where its factors start: [step, fold or call, lane]
    factor: F32  # chips; for an opponent that plays all holes alike, times what it reaches the end with
    first_chance: I64  # [batch] where its probabilities start; one for each bucket follows
    chance: F32  # empty: the opponent plays all holes alike
    buckets: int
    reach_rows: int
    value_rows: int


@dataclass(eq=False)
class _Shape:
    """Steps of entries that offer the same actions, and what each step's lanes are filled from."""

    steps: list[tuple[int, ...]] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)  # [step] the fold and the showdown: offsets in the entry
    decisions: list[int] = field(default_factory=list)  # the opponent's, as offsets in the entry, as `chance` has them
    actions: int = 0  # of those together
    reach_rows: int = 1
    value_rows: int = 1


@dataclass(frozen=True, eq=False)
class LastStreetProgram:
    """The last street of a betting program for one walker: its shapes, and its entries in batches of a shape."""

    program: BettingProgram
    walker: int
    shapes: list[_Shape]
    batches: list[tuple[int, list[list[int]]]]  # (shape, of each lane the places of its entry, in one order)

    def against_fixed(self, path: F64, precision: type = np.float32) -> LastStreet:
        """For an opponent that plays all holes alike: `path` is what it reaches each place with."""
        return self._arrays(path, np.zeros(0, precision), 0)

    def against_buckets(self, chances: Callable[[int], F32], buckets: int, precision: type = np.float32) -> LastStreet:
        """For an opponent that plays by bucket: `chances(place)` gives a decision's probabilities [bucket, action]."""
        parts: list[Any] = []
        for number, lanes in self.batches:
            for offset in self.shapes[number].decisions:
                tables = [chances(places[offset]) for places in lanes]
                block = np.zeros((*tables[0].shape, LANES), precision)
                block[:, :, : len(tables)] = np.stack([_summing_to_one(table, precision) for table in tables], axis=2)
                parts.append(block.ravel())
        return self._arrays(None, _aligned(np.concatenate(parts), precision), buckets)

    def _arrays(self, path: F64 | None, chance: F32, buckets: int) -> LastStreet:
        program = self.program.arrays
        first = np.cumsum([0, *(len(shape.steps) for shape in self.shapes)])
        steps = np.array([step for shape in self.shapes for step in shape.steps], np.int32)
        deal = np.full((2, len(self.batches), LANES), NOTHING, np.int32)
        before = program.group_first[program.street_groups[self.program.tree.rules.rounds - 2]]
        factors, first_factor, first_chance = [], [0], [0]
        deal_of = dict(zip(program.entries.tolist(), program.entry_deal.tolist(), strict=True))
        for batch, (number, lanes) in enumerate(self.batches):
            for lane, places in enumerate(lanes):
                opens = deal_of[places[0]]
                deal[:, batch, lane] = opens - before, program.reach_row[self.walker, opens]
            factors.append(self._factors(self.shapes[number], lanes, path))
            first_factor.append(first_factor[-1] + factors[-1].size // LANES)
            first_chance.append(first_chance[-1] + self.shapes[number].actions * buckets)
        numbers = [number for number, _ in self.batches]
        return LastStreet(
            steps=Steps(*(np.ascontiguousarray(column) for column in steps.T)),
            first_step=first[numbers].astype(np.int32),
            end_step=first[np.array(numbers) + 1].astype(np.int32),
            deal=deal[0],
            deal_reach=deal[1],
            first_factor=np.array(first_factor[:-1]),
            factor=_aligned(np.concatenate([part.ravel() for part in factors]), chance.dtype),
            first_chance=np.array(first_chance[:-1]),
            chance=chance,
            buckets=buckets,
            reach_rows=max(shape.reach_rows for shape in self.shapes),
            value_rows=max(shape.value_rows for shape in self.shapes),
        )

    def _factors(self, shape: _Shape, lanes: list[list[int]], path: F64 | None) -> F64:
        """[step, fold or call, lane] what ends are multiplied by; 0 where a lane has no entry."""
        program, walker = self.program.arrays, self.walker
        factors = np.zeros((len(shape.steps), 2, LANES))
        for step, ends in enumerate(shape.ends):
            for which, stakes in enumerate((program.meet[walker], program.win[walker])):
                offset = ends[which]
                if offset != NOTHING:
                    places = [lane[offset] for lane in lanes]
                    factors[step, which, : len(lanes)] = stakes[places] * (1 if path is None else path[places])
        return factors


def compile_last_street(program: BettingProgram, walker: int) -> LastStreetProgram | None:
    """The steps of the last street; None where it cannot be walked so: the house takes a share, or locks hold."""
    arrays, rules = program.arrays, program.tree.rules
    if rules.rounds < 2 or rules.hole_cards != 2 or arrays.locked.any():
        return None
    if (arrays.meet[walker][arrays.kind == SHOWDOWN] != 0).any():
        return None
    first = arrays.group_first[arrays.street_groups[rules.rounds - 1]]
    alike: dict[Any, list[list[int]]] = defaultdict(list)
    for entry in arrays.entries[arrays.entries >= first].tolist():
        places: list[int] = []
        shape = shape_of(program, walker, entry, places)
        alike[shape].append(places)
    shapes: list[_Shape] = []
    batches: list[tuple[int, list[list[int]]]] = []
    for entries in alike.values():
        batches += [(len(shapes), entries[at : at + LANES]) for at in range(0, len(entries), LANES)]
        shapes.append(_compile_shape(program, walker, entries[0]))
    return LastStreetProgram(program, walker, shapes, batches) if batches else None


def shape_of(program: BettingProgram, walker: int, place: int, places: list[int]) -> Any:
    """What entries that can share steps have in common; collects the places in the order of the walk."""
    arrays = program.arrays
    places.append(place)
    if arrays.kind[place] != DECISION:
        return int(arrays.kind[place])
    first = int(arrays.first_child[place])
    children = range(first, first + int(arrays.num_children[place]))
    return (arrays.player[place] == walker, *(shape_of(program, walker, child, places) for child in children))


def _compile_shape(program: BettingProgram, walker: int, places: list[int]) -> _Shape:
    shape = _Shape()
    offset = {place: i for i, place in enumerate(places)}
    arrays = program.arrays

    def add(code: int, reach: int, row: int, *more: int) -> None:
        join, most, opened, chance, actions, fold, call = more or (SET, SET, NOTHING, 0, 0, NOTHING, NOTHING)
        shape.steps.append((code, reach, row, join, most, opened, chance, actions, fold, call))
        shape.ends.append((NOTHING, NOTHING))

    def end(place: int, *step: int) -> None:
        first, fold, call = int(arrays.first_child[place]), *step[-2:]
        add(*step)
        ends = [offset[first + action] if action != NOTHING else NOTHING for action in (fold, call)]
        shape.ends[-1] = (ends[0], ends[1])

    def mine(place: int, reach: int, row: int) -> None:
        first, (actions, fold, call, subtrees) = int(arrays.first_child[place]), offers(place)
        joined, opened = int(fold != NOTHING or call != NOTHING), NOTHING
        _, their_fold, their_call, _ = offers(first + subtrees[0]) if subtrees else (0, NOTHING, NOTHING, [])
        if joined:
            left = (their_fold, their_call) != (NOTHING, NOTHING)
            opened = len(shape.steps) if left else NOTHING
            end(place, MY_END, reach, row, SET, int(left), NOTHING, 0, actions, fold, call)
        elif reach or their_fold != NOTHING or their_call == NOTHING:  # else that call and what is handed on sum to all
            add(COUNT, reach, row)
        for action in subtrees:
            if not theirs(first + action, reach, row + joined, joined, opened) and joined:
                add(MOST, reach, row)
            joined, opened = 1, NOTHING

    def theirs(place: int, reach: int, row: int, most: int, opened: int) -> bool:
        """Whether the value was joined to that of the row before."""
        actions, fold, call, subtrees = offers(place)
        chance, joined = shape.actions, SET
        shape.decisions.append(offset[place])
        shape.actions += actions
        for action in subtrees:
            add(PASS, reach, reach + 1, joined, SET, NOTHING, chance, actions, action, NOTHING)
            mine(int(arrays.first_child[place]) + action, reach + 1, row + joined)
            if joined:
                add(SUM, reach, row)
            joined = 1
        ends = fold != NOTHING or call != NOTHING
        if ends:
            end(place, THEIR_END, reach, row, joined, most, opened, chance, actions, fold, call)
        return ends and most == 1

    def offers(place: int) -> tuple[int, int, int, list[int]]:
        """How many actions; the fold, the call; those that do not end the hand."""
        first, count = int(arrays.first_child[place]), int(arrays.num_children[place])
        kinds = arrays.kind[first : first + count].tolist()
        fold, call = (kinds.index(kind) if kind in kinds else NOTHING for kind in (FOLDED, SHOWDOWN))
        return count, fold, call, [action for action in range(count) if action not in (fold, call)]

    if arrays.player[places[0]] == walker:
        mine(places[0], 0, 0)
    else:
        if offers(places[0])[1] != NOTHING:
            add(COUNT, 0, 0)
        theirs(places[0], 0, 0, SET, NOTHING)
    codes, reach, row = (np.array(shape.steps)[:, column] for column in range(3))
    shape.reach_rows = int(reach.max()) + 1
    shape.value_rows = int(row[codes != PASS].max()) + 2
    return shape


def _summing_to_one(table: Any, precision: Any) -> Any:
    """[bucket, action] so that what is not folded can be taken from all; a bucket without any plays all alike."""
    total = table.sum(axis=1, keepdims=True, dtype=precision)
    return np.where(total > 0, table / np.where(total > 0, total, 1), 1 / table.shape[1]).astype(precision)


def _aligned(values: Any, precision: Any) -> Any:
    room = aligned_zeros(values.size, precision)
    room[:] = values
    return room
