"""The last street as a list of steps that serves sixteen betting entries at once.

Betting entries of the last street that offer the same actions (in limit hold'em all 567) differ in chips and strategy
only. They are walked side by side, a lane each, depth first, so that a few rows of [hole, lane] stay in the cache.
Where a decision ends the hand by a fold and by a call, both are worked out in one pass over the holes. The steps of my
decision: its ends, then its subtrees, each joined to those. Of the opponent's: its subtrees, then its ends: what it
folds is what it came with less what it called with and what it handed on, so those are known by then. A walker that
needs to know what each action is worth keeps the subtrees apart, and joins them all in a last step.

The opponent plays by bucket: `chance` holds its probabilities as [batch, decision, bucket, action, lane].
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.arrays import Int, aligned
from equipoise.core.jit import F32, F64, I32, I64, view
from equipoise.core.simd import LANES
from equipoise.tree.betting_tree import DECISION, FOLDED, SHOWDOWN
from equipoise.walk.betting_program import BettingProgram

PASS, THEIR_END, MY_END, SUM, MOST, COUNT, OPEN, CHOOSE = range(8)  # codes of steps
# COUNT: the reach by card, where no end needs it. OPEN: at the opponent's decision, before all else; CHOOSE: at mine,
# after all else: only of walkers that keep my actions apart.
SET = 0  # a first value; else it is joined to what is there: summed at their decision, the larger at mine
NOTHING = -1


class Step(NamedTuple):
    """What is done for a batch of entries. Rows of reach (`level`s) and of values are used again and again."""

    code: int
    reach: int  # the level of reach read: how many of the opponent's decisions are above
    row: int  # the row written: of reach by PASS, else of values; CHOOSE: where values of actions start
    join: int  # whether the decision has a subtree already; CHOOSE: whether it ends the hand, in the first row
    most: int  # MY_END: whether a later step finishes it; THEIR_END: whether it is joined to mine, a row up
    opened: int  # THEIR_END: which step, counted from the batch's first, it finishes; or NOTHING
    chance: int  # where the decision's probabilities start, in actions, within a batch of one bucket
    actions: int  # how many actions the decision has
    fold: int  # which action is the fold (PASS: which action is passed); NOTHING if none
    call: int  # which action leads to the showdown; NOTHING if none
    node: int  # the decision, as an offset in the entry


@view
def step_at(steps: I32, number: Int) -> Step:
    """One of the steps. IN: int32[step, column]."""
    line = steps[number]
    return Step(
        line[0], line[1], line[2], line[3], line[4], line[5], line[6], line[7], line[8], line[9], line[10]
    )  # fmt: skip


class LastStreet(NamedTuple):
    """The last street of one walker for kernels. Arrays of lanes are counted in sixteens."""

    steps: I32  # [step, column]
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
class Shape:
    """Steps of entries that offer the same actions, and what each step's lanes are filled from."""

    steps: list[Step] = field(default_factory=list)
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
    shapes: list[Shape]
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
        return self._arrays(None, aligned(np.concatenate(parts), precision), buckets)

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
            factors.append(factors_of(self.program, self.walker, self.shapes[number], lanes, path))
            first_factor.append(first_factor[-1] + factors[-1].size // LANES)
            first_chance.append(first_chance[-1] + self.shapes[number].actions * buckets)
        numbers = [number for number, _ in self.batches]
        return LastStreet(
            steps=steps,
            first_step=first[numbers].astype(np.int32),
            end_step=first[np.array(numbers) + 1].astype(np.int32),
            deal=deal[0],
            deal_reach=deal[1],
            first_factor=np.array(first_factor[:-1]),
            factor=aligned(np.concatenate([part.ravel() for part in factors]), chance.dtype.type),
            first_chance=np.array(first_chance[:-1]),
            chance=chance,
            buckets=buckets,
            reach_rows=max(shape.reach_rows for shape in self.shapes),
            value_rows=max(shape.value_rows for shape in self.shapes),
        )


def factors_of(
    program: BettingProgram, walker: int, shape: Shape, lanes: list[list[int]], path: F64 | None = None
) -> F64:
    """[step, fold or call, lane] what ends are multiplied by; 0 where a lane has no entry."""
    arrays = program.arrays
    factors = np.zeros((len(shape.steps), 2, LANES))
    for step, ends in enumerate(shape.ends):
        for which, stakes in enumerate((arrays.meet[walker], arrays.win[walker])):
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
    shapes: list[Shape] = []
    batches: list[tuple[int, list[list[int]]]] = []
    for entries in alike.values():
        batches += [(len(shapes), entries[at : at + LANES]) for at in range(0, len(entries), LANES)]
        shapes.append(compile_shape(program, walker, entries[0]))
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


def compile_shape(program: BettingProgram, walker: int, places: list[int], *, apart: bool = False) -> Shape:
    """The steps of entries like that of `places`; `apart`: what my actions are worth is kept apart."""
    compiler = _Compiler(program, places, apart)
    if program.arrays.player[places[0]] == walker:
        compiler.mine(places[0], 0, 0)
    else:
        if compiler.offers(places[0])[1] != NOTHING:
            compiler.add(COUNT, places[0], 0, 0)
        compiler.theirs(places[0], 0, 0)
    return compiler.finish()


class _Compiler:
    """Steps of one shape, being written down."""

    def __init__(self, program: BettingProgram, places: list[int], apart: bool) -> None:
        self.arrays, self.apart, self.shape = program.arrays, apart, Shape()
        self.offset = {place: i for i, place in enumerate(places)}

    def add(self, code: int, place: int, reach: int, row: int, **more: int) -> None:
        """A step of a decision."""
        actions = int(self.arrays.num_children[place])
        plain = Step(code, reach, row, SET, SET, NOTHING, 0, actions, NOTHING, NOTHING, self.offset[place])
        self.shape.steps.append(plain._replace(**more))
        self.shape.ends.append((NOTHING, NOTHING))

    def end(self, code: int, place: int, reach: int, row: int, **more: int) -> None:
        """A step that knows how the decision ends the hand."""
        fold, call, _ = self.offers(place)
        self.add(code, place, reach, row, fold=fold, call=call, **more)
        first = int(self.arrays.first_child[place])
        ends = [self.offset[first + action] if action != NOTHING else NOTHING for action in (fold, call)]
        self.shape.ends[-1] = (ends[0], ends[1])

    def offers(self, place: int) -> tuple[int, int, list[int]]:
        """The fold, the call; the actions that do not end the hand."""
        first, count = int(self.arrays.first_child[place]), int(self.arrays.num_children[place])
        kinds = self.arrays.kind[first : first + count].tolist()
        fold, call = (kinds.index(kind) if kind in kinds else NOTHING for kind in (FOLDED, SHOWDOWN))
        return fold, call, [action for action in range(count) if action not in (fold, call)]

    def mine(self, place: int, reach: int, row: int) -> None:
        """My decision: its ends, then its subtrees."""
        first, (fold, call, subtrees) = int(self.arrays.first_child[place]), self.offers(place)
        ends, opened = int(fold != NOTHING or call != NOTHING), NOTHING
        their_fold, their_call, _ = self.offers(first + subtrees[0]) if subtrees else (NOTHING, NOTHING, [])
        if ends:
            left = self.apart or (their_fold, their_call) != (NOTHING, NOTHING)
            opened = len(self.shape.steps) if left and not self.apart else NOTHING
            self.end(MY_END, place, reach, row, most=int(left))
        elif reach or their_fold != NOTHING or their_call == NOTHING:  # else that call and what is handed on sum to all
            self.add(COUNT, place, reach, row)
        joined = ends
        for action in subtrees:
            most = 0 if self.apart else joined
            if not self.theirs(first + action, reach, row + joined, most, opened) and most:
                self.add(MOST, place, reach, row)
            joined, opened = joined + 1 if self.apart else 1, NOTHING
        if self.apart:
            self.end(CHOOSE, place, reach, row, join=ends)

    def theirs(self, place: int, reach: int, row: int, most: int = 0, opened: int = NOTHING) -> bool:
        """The opponent's decision: its subtrees, then its ends. Says whether it was joined to the row before."""
        fold, call, subtrees = self.offers(place)
        chance, joined = self.shape.actions, SET
        self.shape.decisions.append(self.offset[place])
        self.shape.actions += int(self.arrays.num_children[place])
        if self.apart:
            self.add(OPEN, place, reach, row)
        for action in subtrees:
            self.add(PASS, place, reach, reach + 1, join=joined, chance=chance, fold=action)
            self.mine(int(self.arrays.first_child[place]) + action, reach + 1, row + joined)
            if joined:
                self.add(SUM, place, reach, row)
            joined = 1
        ends = fold != NOTHING or call != NOTHING
        if ends:
            self.end(THEIR_END, place, reach, row, join=joined, most=most, opened=opened, chance=chance)
        return ends and most == 1

    def finish(self) -> Shape:
        """With what its memory depends on."""
        steps = self.shape.steps
        self.shape.reach_rows = max(step.reach + (step.code == PASS) for step in steps) + 1
        self.shape.value_rows = max(step.row + step.actions for step in steps if step.code != PASS) + 2
        return self.shape


def _summing_to_one(table: Any, precision: Any) -> Any:
    """[bucket, action] so that what is not folded can be taken from all; a bucket without any plays all alike."""
    total = table.sum(axis=1, keepdims=True, dtype=precision)
    return np.where(total > 0, table / np.where(total > 0, total, 1), 1 / table.shape[1]).astype(precision)
