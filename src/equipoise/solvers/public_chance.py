"""Public chance sampling over bucketed tables (Johanson and others 2012), several boards an iteration (Jackson 2013).

An iteration samples full boards. On each, the opponent's reach of all holes goes down the betting tree and values come
up, by the passes of `walk/bucketed_walk.py`; the last street is walked sixteen betting entries at a time. A bucket's
regret is linear in the values of its holes, so summing values at decisions is exact for perfect and imperfect recall.
With several boards, regrets are updated once, after all of them: all see the same strategies.

Holes that the full board blocks are left out on every street. Given two holes, all boards that block neither are
equally likely, so the expected increments are the exact regrets times one constant.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap, card_fingerprint
from equipoise.cards.deck import check_hole_cards
from equipoise.core.errors import InputError
from equipoise.core.jit import I64
from equipoise.games.rules import PLAYERS
from equipoise.solvers.board_samples import BoardSource, SampledBoards, check_sampling
from equipoise.solvers.sampled_last_street import (
    BucketedTables,
    LastStreetBuffers,
    make_last_street_buffers,
    pack_by_slot,
    walk_sampled_batches,
)
from equipoise.solvers.sampled_streets import (
    ANY_REGRET,
    add_increments,
    ascend_streets,
    descend_streets,
    rule_of,
    walk_samples,
)
from equipoise.solvers.schedule import LazyDiscount
from equipoise.tree.betting_tree import BettingTree
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.betting_program import compile_tree
from equipoise.walk.bucket_decisions import bucket_buffers
from equipoise.walk.bucketed_walk import BucketRule
from equipoise.walk.engine import make_walk_buffers
from equipoise.walk.plan import Plan


class PublicChance:
    """A solver (`solver.py`) by public chance sampling.

    `boards` is the number of boards sampled in an iteration, in cycles or independently (`board_samples.py`). Discounts
    are lazy (`schedule.LazyDiscount`), so an iteration touches only the buckets present on its boards. Threads share
    the entries of the last street, each with its own part of the tables: results do not depend on their number.
    """

    def __init__(
        self,
        tree: BettingTree,
        buckets: BucketMap,
        *,
        boards: int = 1,
        cycle: bool = True,
        schedule: str = "cfr+",
        seed: int = 1,
        threads: int = 1,
    ) -> None:
        check_game(tree, buckets, boards)
        self.tree, self.buckets, self.boards = tree, buckets, boards
        self.layout = SlotLayout(tree, buckets.buckets)
        self.regret = np.zeros(self.layout.slots, np.float32)
        self.average = np.zeros(self.layout.slots, np.float32)
        self.iteration = self.nodes = self.visited = 0
        self.source = BoardSource(tree.rules, seed, cycle)
        self.threads = threads
        self._discount = LazyDiscount(schedule)
        self._increment = self.regret if boards == 1 else np.zeros(self.layout.slots, np.float32)
        self._boards = SampledBoards(buckets, boards)
        holes = [self._boards.holes] * tree.rules.rounds
        self._program = compile_tree(tree)
        present = max(min(self._boards.holes, count) for count in buckets.buckets)
        self._bucket_buffers = bucket_buffers(int(tree.num_children.max()), present)
        self._buffers = make_walk_buffers(self._program, [*holes[:-1], 0])
        self._batches = [pack_by_slot(self._program, walker, self._offset) for walker in range(PLAYERS)]
        self._spaces = [
            [make_last_street_buffers(batches, self._boards.holes, present) for _ in range(threads)]
            for batches in self._batches
        ]

    def run(self, iterations: int) -> None:
        """Run more iterations."""
        for _ in range(iterations):
            self._boards.fill(*self.source.boards(self.visited, self.boards))
            tables = self._discounted()
            rule = rule_of(tables, self._bucket_buffers)
            for walker in range(PLAYERS):
                self._walk(walker, tables, rule)
            self.visited += self.boards
            self.iteration += 1
            self.nodes += PLAYERS * self.boards * len(self.tree)

    def _discounted(self) -> BucketedTables:
        """Discount for the next iteration, in the tables or in the gains of increments."""
        discount = self._discount
        discount.advance(self.iteration + 1, [self.regret], [self.average])
        return BucketedTables(
            self._offset, self._stride, self.regret, self._increment, self.average,
            np.float32(discount.regret), discount.floor if self.boards == 1 else ANY_REGRET,
            np.float32(discount.average),
        )  # fmt: skip

    def _walk(self, walker: int, tables: BucketedTables, rule: BucketRule) -> None:
        """All boards of an iteration for one walker, and the update of its regrets."""
        plan, samples, work = self._plans[walker], self._boards.samples, self._buffers
        last = self.tree.rules.rounds - 1
        if self.threads == 1:
            walk_samples(plan, self._batches[walker], samples, tables, rule, self._spaces[walker][0], work)
        else:
            for board in range(self.boards):
                descend_streets(0, last, board, tables.average_gain, plan, samples, rule, work)
                self._walk_last(board, walker, tables)
                ascend_streets(0, last, board, tables.gain, plan, samples, rule, work)
        if self.boards > 1:
            for part in self.layout.parts(walker):
                add_increments(self._discount.floor, self._increment[part], self.regret[part])

    def _walk_last(self, board: int, walker: int, tables: BucketedTables) -> None:
        """The last street of a board in threads. Each writes rows and parts of tables of its own."""
        plan, batches = self._plans[walker], self._batches[walker]
        count, pieces = len(batches.num_lanes), 4 * self.threads
        waiting = iter([(count * i // pieces, count * (i + 1) // pieces) for i in range(pieces)])

        def work(space: LastStreetBuffers) -> None:
            for first, last in waiting:
                walk_sampled_batches(
                    first, last, board, plan, batches, self._boards.samples, tables, space, self._buffers
                )

        list(self._pool.map(work, self._spaces[walker]))

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads)

    @cached_property
    def _offset(self) -> I64:
        return self.layout.offset[self._program.arrays.node]

    @cached_property
    def _stride(self) -> I64:
        return self.layout.stride[self._program.arrays.node]

    @cached_property
    def _plans(self) -> list[Plan]:
        arrays, boards = self._program.arrays, self._boards.boards
        return [Plan(arrays, boards, walker, self.tree.rules.hole_cards == 2) for walker in range(PLAYERS)]

    def state(self) -> dict[str, Any]:
        """The position in the sequence of boards, and the gains of the next increments."""
        sampling = np.array([*self._sampling.values(), self.visited], np.int64)
        return {"sampling": sampling, "gains": self._discount.state()}

    @property
    def _sampling(self) -> dict[str, int]:
        """The numbers that determine the boards of a run."""
        return {"seed": self.source.seed, "cycle": int(self.source.cycle), "boards": self.boards}

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Resume a run whose tables have been restored."""
        check_sampling(self._sampling, iteration, state.get("sampling"))
        self._discount.restore(iteration, state.get("gains"))
        self.iteration, self.nodes, self.visited = iteration, nodes, iteration * self.boards


def check_game(tree: BettingTree, buckets: BucketMap, boards: int) -> None:
    """Refuse what public chance sampling cannot walk."""
    if boards < 1:
        raise InputError(f"{boards} boards an iteration", remedy="sample at least one")
    if card_fingerprint(tree.rules) != card_fingerprint(buckets.rules):
        raise InputError("buckets of a game with other cards", remedy="build the abstraction for this game")
    check_hole_cards(tree.rules.hole_cards, "public chance sampling")
    if tree.street[0] != 0:
        raise InputError("a tree that public chance sampling cannot walk", remedy="use a whole game")
