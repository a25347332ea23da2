"""The betting below a last-street entry, compiled into a list of ops that serves sixteen entries at once.

Entries that offer the same actions (in limit hold'em all 567) have one shape and share their ops; `packing.py` gives
each a lane. Ops run depth first, so a few rows of [hole, lane] stay in the cache. The fold and the call of a decision
are evaluated in one pass over the holes. At my decision the terminals come first, then each subtree is joined to them.
At the opponent's the subtrees come first: fold sums = total reach - calls - continuing actions, which are known by
then. A walker that needs the value of every action keeps the subtrees separate and joins them in a final op.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from equipoise.core.arrays import Int
from equipoise.core.jit import I32, view
from equipoise.tree.betting_tree import DECISION, FOLDED, SHOWDOWN
from equipoise.walk.betting_program import BettingProgram

# Op codes. COUNT sums the reach by card where no terminal does. Only walkers that keep my actions separate have the
# last two: BEGIN_THEIRS comes first at the opponent's decision, FINISH_MINE comes last at mine.
PASS, THEIR_TERMINALS, MY_TERMINALS, SUM, MOST, COUNT, BEGIN_THEIRS, FINISH_MINE = range(8)
SET = 0  # write the first value; otherwise join: add at the opponent's decision, take the larger at mine
NOTHING = -1


class LastStreetOp(NamedTuple):
    """One op on a batch of entries. Rows of reach (one for each level) and of values are reused."""

    code: int
    reach: int  # the level of reach read: how many of the opponent's decisions are above
    row: int  # the row written: of reach by PASS, else of values; FINISH_MINE: the first action's row
    join: int  # whether the decision has a subtree already; FINISH_MINE: whether the first row has its terminals
    most: int  # MY_TERMINALS: whether a later op finishes them; THEIR_TERMINALS: whether to join them to my row above
    opened: int  # THEIR_TERMINALS: the op (counted from the batch's first) of my terminals that it finishes; or NOTHING
    chance: int  # where the decision's probabilities start within a batch, in actions
    actions: int  # number of actions of the decision
    fold: int  # index of the fold (PASS: of the action passed), or NOTHING
    call: int  # index of the action that leads to the showdown, or NOTHING
    node: int  # the decision, as an offset in the entry


@view
def op_at(ops: I32, index: Int) -> LastStreetOp:
    """One op. IN: int32[op, column]."""
    line = ops[index]
    return LastStreetOp(
        line[0], line[1], line[2], line[3], line[4], line[5], line[6], line[7], line[8], line[9], line[10]
    )  # fmt: skip


@dataclass(eq=False)
class EntryShape:
    """The ops of entries that offer the same actions, and what fills the lanes of each op."""

    ops: list[LastStreetOp] = field(default_factory=list)
    terminals: list[tuple[int, int]] = field(default_factory=list)  # [op] fold and showdown, as offsets in the entry
    decisions: list[int] = field(default_factory=list)  # the opponent's, as offsets in the entry, in the order of ops
    actions: int = 0  # of those decisions together
    reach_rows: int = 1
    value_rows: int = 1


def shape_key(program: BettingProgram, walker: int, place: int, places: list[int]) -> Any:
    """A key that is equal for entries that can share ops; appends the entry's places in walking order."""
    arrays = program.arrays
    places.append(place)
    if arrays.kind[place] != DECISION:
        return int(arrays.kind[place])
    first = int(arrays.first_child[place])
    children = range(first, first + int(arrays.num_children[place]))
    return (arrays.player[place] == walker, *(shape_key(program, walker, child, places) for child in children))


def compile_shape(program: BettingProgram, walker: int, places: list[int], *, separate: bool) -> EntryShape:
    """The ops of entries like that of `places`; `separate` keeps the value of each of my actions."""
    compiler = _Compiler(program, places, separate)
    if program.arrays.player[places[0]] == walker:
        compiler.mine(places[0], 0, 0)
    else:
        if compiler.offers(places[0])[1] != NOTHING:
            compiler.add(COUNT, places[0], 0, 0)
        compiler.theirs(places[0], 0, 0)
    return compiler.finish()


class _Compiler:
    """Writes the ops of one shape."""

    def __init__(self, program: BettingProgram, places: list[int], separate: bool) -> None:
        self.arrays, self.separate, self.shape = program.arrays, separate, EntryShape()
        self.offset = {place: i for i, place in enumerate(places)}

    def add(self, code: int, place: int, reach: int, row: int, **more: int) -> None:
        """Append an op of a decision."""
        actions = int(self.arrays.num_children[place])
        plain = LastStreetOp(code, reach, row, SET, SET, NOTHING, 0, actions, NOTHING, NOTHING, self.offset[place])
        self.shape.ops.append(plain._replace(**more))
        self.shape.terminals.append((NOTHING, NOTHING))

    def add_terminals(self, code: int, place: int, reach: int, row: int, **more: int) -> None:
        """Append an op that evaluates the decision's fold and call."""
        fold, call, _ = self.offers(place)
        self.add(code, place, reach, row, fold=fold, call=call, **more)
        first = int(self.arrays.first_child[place])
        offsets = [self.offset[first + action] if action != NOTHING else NOTHING for action in (fold, call)]
        self.shape.terminals[-1] = (offsets[0], offsets[1])

    def offers(self, place: int) -> tuple[int, int, list[int]]:
        """The fold, the call, and the actions that do not end the hand."""
        first, count = int(self.arrays.first_child[place]), int(self.arrays.num_children[place])
        kinds = self.arrays.kind[first : first + count].tolist()
        fold, call = (kinds.index(kind) if kind in kinds else NOTHING for kind in (FOLDED, SHOWDOWN))
        return fold, call, [action for action in range(count) if action not in (fold, call)]

    def mine(self, place: int, reach: int, row: int) -> None:
        """My decision: its terminals, then its subtrees."""
        first, (fold, call, subtrees) = int(self.arrays.first_child[place]), self.offers(place)
        terminals, opened = int(fold != NOTHING or call != NOTHING), NOTHING
        their_fold, their_call, _ = self.offers(first + subtrees[0]) if subtrees else (NOTHING, NOTHING, [])
        if terminals:
            later = self.separate or (their_fold, their_call) != (NOTHING, NOTHING)
            opened = len(self.shape.ops) if later and not self.separate else NOTHING
            self.add_terminals(MY_TERMINALS, place, reach, row, most=int(later))
        elif reach or their_fold != NOTHING or their_call == NOTHING:  # else their call and subtrees sum to the total
            self.add(COUNT, place, reach, row)
        joined = terminals
        for action in subtrees:
            most = 0 if self.separate else joined
            if not self.theirs(first + action, reach, row + joined, most, opened) and most:
                self.add(MOST, place, reach, row)
            joined, opened = joined + 1 if self.separate else 1, NOTHING
        if self.separate:
            self.add_terminals(FINISH_MINE, place, reach, row, join=terminals)

    def theirs(self, place: int, reach: int, row: int, most: int = 0, opened: int = NOTHING) -> bool:
        """The opponent's decision: its subtrees, then its terminals. Returns whether those were joined to my row."""
        fold, call, subtrees = self.offers(place)
        chance, joined = self.shape.actions, SET
        self.shape.decisions.append(self.offset[place])
        self.shape.actions += int(self.arrays.num_children[place])
        if self.separate:
            self.add(BEGIN_THEIRS, place, reach, row)
        for action in subtrees:
            self.add(PASS, place, reach, reach + 1, join=joined, chance=chance, fold=action)
            self.mine(int(self.arrays.first_child[place]) + action, reach + 1, row + joined)
            if joined:
                self.add(SUM, place, reach, row)
            joined = 1
        terminals = fold != NOTHING or call != NOTHING
        if terminals:
            self.add_terminals(THEIR_TERMINALS, place, reach, row, join=joined, most=most, opened=opened, chance=chance)
        return terminals and most == 1

    def finish(self) -> EntryShape:
        """The shape, with the number of rows that its ops need."""
        ops = self.shape.ops
        self.shape.reach_rows = max(op.reach + (op.code == PASS) for op in ops) + 1
        self.shape.value_rows = max(op.row + op.actions for op in ops if op.code != PASS) + 2
        return self.shape
