"""A best-response walk that splits the winnings by the street on which the betting ended.

The last street is walked by the kernels of `walk/last_street/best_response.py`, or of `walk/walk.py` where those do not
apply. Above it, the rows of a board stay in the workspace until the next board, so that a second pass can propagate one
part of the values per street, except the last, along the best actions. The remainder ended on the last street.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from equipoise.agents.card_blind import ByBucket, RowsByBoard, Strategy
from equipoise.core.arrays import Int
from equipoise.core.jit import F32, I32, U16, U32, inner, kernel
from equipoise.tree.betting_tree import DEAL, DECISION
from equipoise.tree.infosets import board_blocks
from equipoise.walk.engine import Engine
from equipoise.walk.last_street.best_response import (
    BestResponseBuffers,
    LastStreet,
    make_best_response_buffers,
    respond_to_buckets,
)
from equipoise.walk.last_street.card_blind import respond_to_card_blind
from equipoise.walk.plan import BEST, HoleRule, Plan, Tables, WalkBuffers, padded
from equipoise.walk.walk import ENTER, LEAVE, WHOLE, walk_boards

TIE = 1e-5  # relative tolerance; of tied actions, the first is taken: fold, call, small raise, ...


@dataclass(frozen=True, eq=False)
class StreetWalk:
    """A best response to a strategy on the boards of an engine, for one walker, up to the first deal."""

    engine: Engine
    strategy: Strategy
    walker: int
    last_street: LastStreet | None = None  # how to walk it sixteen entries at a time

    @cached_property
    def plan(self) -> Plan:
        return self.engine.plan(self.walker)

    @cached_property
    def rule(self) -> HoleRule:
        return HoleRule(self.tables, BEST)

    @cached_property
    def tables(self) -> Tables:
        """The strategy's tables. Where rows are filled in board by board, there is space for one board per street."""
        if self._by_bucket is None and self._by_board is None:
            return self.strategy.tables(self.engine)
        boards = self.engine.cards.arrays
        streets = self.last if self._by_board is None else self.last + 1  # by bucket, the last has kernels of its own
        widest = [boards.counts[boards.street == street].max(axis=0, initial=0) for street in range(streets)]
        first, length = board_blocks(self.engine.program.arrays.table_rows[:streets], np.array(widest))
        of_board = np.vstack([first, np.zeros((1, 2), np.int64)])[boards.street]
        return self.engine.tables(np.zeros(length, self.engine.precision))._replace(first=of_board)

    @property
    def _by_bucket(self) -> ByBucket | None:
        """The strategy by bucket, if the last street uses it."""
        return self.strategy.by_bucket if self.last_street is not None else None

    @cached_property
    def _by_board(self) -> RowsByBoard | None:
        """The opponent's rows, if they are computed board by board."""
        by_board = self.strategy.by_board
        return None if by_board is None else by_board(self.engine, 1 - self.walker)

    @cached_property
    def cells(self) -> U32:
        """[place] the buckets of the strategy."""
        return self._by_bucket.cells(self.engine.cards) if self._by_bucket else np.zeros(0, np.uint32)

    @cached_property
    def buffers(self) -> BestResponseBuffers:
        """Memory for the last street."""
        assert self.last_street is not None
        boards = self.engine.cards.arrays
        above, below = (int(boards.counts[boards.street == s].max(initial=0)) for s in (self.last - 1, self.last))
        return make_best_response_buffers(self.last_street, above, below)

    def _enter(self, board: int) -> None:
        """Down a board's street, before the boards below it."""
        if self._by_bucket:
            self._by_bucket.expand(self.engine, board, self.cells, self.tables, but=self.walker)
        elif self._by_board:
            self._by_board.expand(board, self.tables)
        walk_boards(board, board + 1, ENTER, self.plan, self.rule, self.work, self.work)

    @property
    def work(self) -> WalkBuffers:
        return self.engine.buffers[0]

    @cached_property
    def last(self) -> int:
        return self.engine.tree.rules.rounds - 1

    @cached_property
    def parts(self) -> list[Any]:
        """By street except the last, [part, row, hole]: values of hands that ended on this street, the next, ..."""
        boards, rows = self.engine.cards.arrays, self.engine.program.value_rows
        widest = [int(boards.counts[boards.street == s].max(initial=0)) for s in range(self.last)]
        return [np.zeros((self.last - s, rows[s], widest[s]), self.engine.precision) for s in range(self.last)]

    @cached_property
    def _deals(self) -> list[int]:
        """By street, the number of calls that lead to the next."""
        return self.engine.tree.count(DEAL)

    def go_down(self) -> Any:
        """The root street's rows, [row, hole]; its terminals have their values."""
        self._enter(0)
        return self._root_rows().copy()

    def run(self) -> Any:
        """Values of the root street's deals: [total or part, deal, hole]; parts of all streets but first and last."""
        self._enter(0)
        self.parts[0][1:] = 0
        self._walk_children(0)
        program = self.plan.program
        deals = program.deals[: program.group_deals[1]]
        parts = self.parts[0][1:, deals, : self.plan.boards.counts[0, self.walker]]
        return np.concatenate([self._root_rows()[deals][np.newaxis], parts])

    def _root_rows(self) -> Any:
        size = int(self.plan.boards.counts[0, self.walker])
        length, rows = padded(size), self.engine.program.value_rows[0]
        base = int(self.work.value_base[0])
        return self.work.value[base : base + rows * length].reshape(rows, length)[:, :size]

    def _walk_children(self, board: int) -> None:
        boards = self.plan.boards
        first = int(boards.first_child[board])
        stop = first + int(boards.num_children[board])
        if not self._deals[boards.street[board]]:
            return
        if boards.street[board] + 1 == self.last:
            self._answer(board, first, stop)
            return
        for child in range(first, stop):
            self._visit(child)

    def _answer(self, board: int, first: int, stop: int) -> None:
        """Boards of the last street."""
        plan, last, work = self.plan, self.last_street, self.work
        if self._by_board:
            for child in range(first, stop):
                self._by_board.expand(child, self.tables)
                walk_boards(child, child + 1, WHOLE, plan, self.rule, work, work)
            return
        if last is None:
            walk_boards(first, stop, WHOLE, plan, self.rule, work, work)
            return
        if last.chance.size:
            respond_to_buckets(board, plan, last, self.cells, self.buffers, work)
        else:
            respond_to_card_blind(board, plan, last, self.buffers, work)

    def _visit(self, board: int) -> None:
        street = int(self.plan.boards.street[board])
        self._enter(board)
        self.parts[street][1:] = 0
        self._walk_children(board)
        walk_boards(board, board + 1, LEAVE, self.plan, self.rule, self.work, self.work)
        split_values(board, self.plan, self.work, self.parts[street], self.parts[street - 1])


@kernel
def split_values(board: Int, plan: Plan, work: WalkBuffers, here: F32, above: F32) -> None:
    """Follow the best actions of a board's street up with parts, and add those of its entries to the street before.

    IN: the street's values in `work`; IN OUT: float[part, row, hole], later parts given on DEAL rows; OUT: the same of
    the street before, whose first part is its own.
    """
    program, boards, walker = plan.program, plan.boards, plan.walker
    street = np.int64(boards.street[board])
    group = program.street_groups[street]
    start = program.group_first[group]
    first, size = boards.first[board, walker], np.int64(boards.counts[board, walker])
    base, length = work.value_base[street], padded(size)
    deals = program.deals[program.group_deals[group] : program.group_deals[group + 1]]
    if boards.symmetric[board]:
        average_parts(boards.orbit[first : first + size], deals, start, work, here)
    for place in range(program.group_first[group + 1] - 1, start - 1, -1):
        row = place - start
        if program.kind[place] == DEAL:
            here[0, row, :size] = 0
        elif program.kind[place] != DECISION:
            here[1:, row, :size] = 0
            for h in range(size):
                here[0, row, h] = work.value[base + row * length + h]
        else:
            below, count = program.first_child[place] - start, np.int64(program.num_children[place])
            values = work.value[base + below * length : base + (below + count) * length].reshape((count, length))
            follow(values, below, row, size, program.player[place] == walker, here)
    weight = work.value.dtype.type(plan.weights[board])
    before = boards.before[first : first + size]
    for entry in range(program.group_entries[group], program.group_entries[group + 1]):
        row = program.entries[entry] - start
        target = program.entry_deal[entry] - program.group_first[program.street_groups[street - 1]]
        for part in range(here.shape[0]):
            for h in range(size):
                above[part + 1, target, before[h]] += weight * here[part, row, h]


@kernel
def follow(values: F32, below: Int, row: Int, size: Int, mine: bool, parts: F32) -> None:
    """Parts of a decision: of the best action if it is mine, else of all. IN: float[action, hole]; IN OUT: parts."""
    if not mine:
        for part in range(parts.shape[0]):
            for h in range(size):
                parts[part, row, h] = parts[part, below, h]
            for action in range(1, values.shape[0]):
                for h in range(size):
                    parts[part, row, h] += parts[part, below + action, h]
        return
    for h in range(size):
        most = values[0, h]
        for action in range(1, values.shape[0]):
            most = max(most, values[action, h])
        best = 0
        while values[best, h] < most - TIE * abs(most):
            best += 1
        for part in range(parts.shape[0]):
            parts[part, row, h] = parts[part, below + best, h]


@inner
def average_parts(orbit: U16, deals: I32, start: Int, work: WalkBuffers, parts: F32) -> None:
    """Average the later parts of DEAL rows over isomorphic holes, as the walk does."""
    size = orbit.size
    total, times = work.spare[:size], work.lanes_out[:size]
    times[:] = 0
    for h in range(size):
        times[orbit[h]] += 1
    for part in range(1, parts.shape[0]):
        for place in deals:
            row = parts[part, place - start]
            total[:] = 0
            for h in range(size):
                total[orbit[h]] += row[h]
            for h in range(size):
                row[h] = total[orbit[h]] / times[orbit[h]]
