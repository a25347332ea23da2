"""The head of the disk tasks: it owns the first street, samples boards, and sends the opponent's reach to the parts.

A step is one walker's half of an iteration. Going down, the head sends each task the opponent's reach at its deal, a
row for each board of the task's group. Going up, it takes the values that come back, and updates the first street.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.array_checks import check_indices
from equipoise.core.arrays import F32, aligned_zeros
from equipoise.games.rules import PLAYERS
from equipoise.solvers.board_samples import check_sampling
from equipoise.solvers.disk_tasks.cards import GroupedBoards, Sampling
from equipoise.solvers.disk_tasks.cut import GameCut, Task
from equipoise.solvers.public_chance import check_game
from equipoise.solvers.sampled_last_street import BucketedTables
from equipoise.solvers.sampled_streets import ANY_REGRET, add_increments, ascend_streets, descend_streets, rule_of
from equipoise.solvers.schedule import LazyDiscount
from equipoise.solvers.solver import check_tables
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.betting_program import compile_tree
from equipoise.walk.bucket_decisions import bucket_buffers
from equipoise.walk.engine import make_walk_buffers
from equipoise.walk.plan import Plan, padded


class Step(NamedTuple):
    """What a part needs for one walker of an iteration. Rows are those of its tasks, one after the other."""

    iteration: int  # 1, 2, ...
    walker: int
    first_board: int  # its number: the boards follow from the seed
    gain: float  # factor of new regrets
    average_gain: float  # factor of reach x strategy
    reach: F32  # [row, hole] the opponent's, for each task and board of its group


class Values(NamedTuple):
    """A part's reply."""

    value: F32  # [row, hole] the walker's
    nodes: int  # number of nodes visited


class DiskHead:
    """A head (`solvers/split.py`) for parts that have these tasks."""

    most_begun = 1

    def __init__(self, cut: GameCut, parts: Sequence[tuple[Task, ...]], sampling: Sampling) -> None:
        check_game(cut.tree, cut.buckets, sampling.boards)
        self.cut, self.parts, self.sampling = cut, parts, sampling
        self.iteration = self.nodes = self.visited = self.walker = 0
        self.layout = SlotLayout(cut.top, cut.buckets.buckets)
        self.regret, self.average = np.zeros((2, self.layout.slots), np.float32)
        self._increment = self.regret if sampling.boards == 1 else np.zeros_like(self.regret)
        self._discount = LazyDiscount(sampling.schedule)
        self._boards = GroupedBoards(cut.cards, sampling)
        self._holes = self._boards.sampled.holes
        self._program = compile_tree(cut.top)
        arrays = self._program.arrays
        self._deals = np.flatnonzero(np.isin(arrays.node, cut.deals))  # [sequence] places
        self._offset, self._stride = self.layout.offset[arrays.node], self.layout.stride[arrays.node]
        self._buffers = make_walk_buffers(self._program, [self._holes] * cut.tree.rules.rounds)
        self._values = [aligned_zeros(self._buffers.value.size, np.float32) for _ in range(sampling.boards)]
        present = min(self._holes, cut.buckets.buckets[0])
        self._bucket_buffers = bucket_buffers(int(cut.top.num_children.max()), present)
        two_cards = cut.tree.rules.hole_cards == 2
        self._plans = [Plan(arrays, self._boards.sampled.boards, walker, two_cards) for walker in range(PLAYERS)]

    @property
    def begun(self) -> int:
        """The number of iterations that are done: one step at a time may be under way."""
        return self.iteration

    def begin(self) -> list[Step]:
        """Go down the first street: a message to each part."""
        if self.walker == 0:
            self._discount.advance(self.iteration + 1, [self.regret], [self.average])
        self._boards.fill(self.visited)
        reach = self._descend()
        gains = self._discount.regret, self._discount.average
        return [
            Step(self.iteration + 1, self.walker, self.visited, *gains, self._rows(tasks, reach))
            for tasks in self.parts
        ]

    def _rows(self, tasks: Sequence[Task], reach: F32) -> F32:
        """The rows of a part. IN: float32[board, sequence, hole]."""
        rows = [reach[self._boards.rows[task.group], task.sequence] for task in tasks]
        return np.concatenate(rows)

    def _descend(self) -> F32:
        """The opponent's reach at the deals, by board: float32[board, sequence, hole]."""
        tables, plan = self._tables(), self._plans[self.walker]
        rule, rows = rule_of(tables, self._bucket_buffers), plan.program.reach_row[self.walker, self._deals]
        reach = np.empty((self.sampling.boards, len(self._deals), self._holes), np.float32)
        for board, value in enumerate(self._values):
            work = self._buffers._replace(value=value)
            descend_streets(0, 1, board, tables.average_gain, plan, self._boards.sampled.samples, rule, work)
            reach[board] = work.reach.reshape(-1, padded(self._holes))[rows, : self._holes]
        return reach

    def _tables(self) -> BucketedTables:
        discount = self._discount
        return BucketedTables(
            self._offset, self._stride, self.regret, self._increment, self.average,
            np.float32(discount.regret), discount.floor if self.sampling.boards == 1 else ANY_REGRET,
            np.float32(discount.average),
        )  # fmt: skip

    def finish(self, replies: list[Values]) -> None:
        """Go up the first street with the values of the parts."""
        for tasks, reply in zip(self.parts, replies, strict=True):
            self._take(tasks, reply.value)
        tables, plan = self._tables(), self._plans[self.walker]
        rule = rule_of(tables, self._bucket_buffers)
        for board, value in enumerate(self._values):
            work = self._buffers._replace(value=value)
            ascend_streets(0, 1, board, tables.gain, plan, self._boards.sampled.samples, rule, work)
        if self.sampling.boards > 1:
            here = self.layout.parts(self.walker)[0]
            add_increments(self._discount.floor, self._increment[here], self.regret[here])
        self.nodes += self.sampling.boards * len(self.cut.top) + sum(reply.nodes for reply in replies)
        self.walker = 1 - self.walker
        if self.walker == 0:
            self.iteration += 1
            self.visited += self.sampling.boards

    def _take(self, tasks: Sequence[Task], values: F32) -> None:
        """Put the values of a part's tasks into the rows of their deals. IN: float32[row, hole]."""
        length, at = padded(self._holes), 0
        for task in tasks:
            first = int(self._deals[task.sequence]) * length
            for board in self._boards.rows[task.group]:
                self._values[board][first : first + self._holes] = values[at]
                at += 1

    def arrays(self) -> dict[str, Any]:
        """The tables and the state: with the tables of all tasks, a checkpoint."""
        sampling = np.array([*self._sampling.values(), self.visited, self.walker], np.int64)
        gains = self._discount.state()
        return {"regret": self.regret, "average": self.average, "sampling": sampling, "gains": gains}

    @property
    def _sampling(self) -> dict[str, int]:
        sampling = self.sampling
        return {"seed": sampling.seed, "cycle": int(sampling.cycle), "boards": sampling.boards}

    def restore(self, iteration: int, nodes: int, arrays: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        check_sampling(self._sampling, iteration, arrays.get("sampling"), own=2)
        sampling = check_indices(arrays["sampling"][-1:], 2, "sampling")
        tables = check_tables(arrays, {"regret": self.regret, "average": self.average})
        self._discount.restore(iteration, arrays.get("gains"))
        self.iteration, self.nodes, self.visited = iteration, nodes, iteration * self.sampling.boards
        self.walker = int(sampling[0])
        self.regret[:], self.average[:] = tables["regret"], tables["average"]
