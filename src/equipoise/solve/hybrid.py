"""CFR-BR with the hybrid agent, for games of any size: a trunk by public chance sampling, best responses below it.

(Johanson, Bard, Burch and Bowling 2012.) An iteration samples public cards down to the end of the trunk. The abstracted
player walks everything that may follow; its opponent, not abstracted, minimises regret in the trunk, and below it plays
a best response that is worked out for the sampled subgame and thrown away. Only the abstracted player's average is sure
to converge. A trunk of all rounds is public chance sampling with one player unabstracted; without a trunk it is CFR-BR
with a full best response. Both seats are solved, each against an opponent of its own, on the same samples.

Samples come in cycles, or, where the trunk has too many boards for that, from a growing list (`growing_boards.py`).

An iteration has one or more subgames (`boards`), which all see the same strategies, as do both players: what a player
regrets on sampled cards must not meet a strategy that has just been fitted to them. Threads take a seat of a subgame
each, and share the last street where there are more; what they gather is added in the order of the samples: results do
not depend on how many there are. The next subgames are dealt meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from math import comb
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from equipoise._errors import InputError
from equipoise._jit import F32
from equipoise.abstraction.buckets import BucketMap, card_fingerprint
from equipoise.games.rules import PLAYERS
from equipoise.solve.board_samples import BoardSource
from equipoise.solve.cfr_br import keeps_average, profile_of
from equipoise.solve.growing_boards import GrowingBoards, growth_of
from equipoise.solve.schedule import Gains
from equipoise.solve.solver import AVERAGE, CURRENT, table_of
from equipoise.solve.subgame_engine import Prepared, SubgameEngine, Team, Worker
from equipoise.solve.subgame_tables import RowTables
from equipoise.strategy.profile import Profile
from equipoise.tree.infosets import SlotLayout
from equipoise.tree.public_tree import PublicTree
from equipoise.tree.subgames import SubgameDealer
from equipoise.tree.trunk import check_trunk, subgame_boards, trunk_slots

BOARDS = 1  # subgames an iteration: fewer learn faster
KEPT_BYTES = 400_000_000  # of subgames that are kept for the next time
MOST_ROWS = 65_535

Found = tuple[RowTables, RowTables]
Task = TypeVar("Task")
Result = TypeVar("Result")


class HybridCFRBR:
    """A solver (`solver.py`): both seats' abstracted players, each against a hybrid agent with a trunk of its own."""

    def __init__(
        self,
        tree: PublicTree,
        buckets: BucketMap,
        *,
        trunk: int,
        boards: int = BOARDS,
        cycle: bool | None = None,
        grow: int | None = None,
        keep: str = "both",
        schedule: str = "cfr+",
        seed: int = 1,
        threads: int = 1,
    ) -> None:
        rules = tree.rules
        _check(tree, buckets, trunk, boards, grow)
        self.tree, self.buckets, self.trunk, self.boards, self.threads = tree, buckets, trunk, boards, threads
        lossless = BucketMap.lossless(rules)
        self.layout = SlotLayout(tree, buckets.buckets)
        whole = SlotLayout(tree, lossless.buckets)
        self.regret: F32 = np.zeros(self.layout.slots, np.float32)
        self.averaging = keeps_average(keep)
        self.average: F32 = np.zeros(self.layout.slots if self.averaging else 0, np.float32)
        self.trunk_regret: F32 = np.zeros(trunk_slots(whole, trunk), np.float32)
        self.iteration = self.nodes = self.visited = 0
        street = min(trunk, rules.rounds - 1)
        self.grow = (growth_of(rules, trunk) if cycle is None else 0) if grow is None else grow
        self.source: BoardSource | GrowingBoards = BoardSource(rules, seed, cycle is not False, street)
        if self.grow:
            self.source = GrowingBoards(rules, seed, self.grow, trunk)
        self._gains = Gains(schedule)
        self.dealer = SubgameDealer(buckets, lossless, trunk)
        holes = comb(rules.deck.size - rules.board_size(street), rules.hole_cards)
        self.engine = SubgameEngine(tree, (self.layout, whole), trunk, holes)
        self._workers: SimpleQueue[Worker] = SimpleQueue()
        for _ in range(self._leaders):
            self._workers.put(self.engine.worker())
        self._ahead: tuple[int, list[Future[Prepared]]] = (-1, [])  # dealt for boards from this number on
        self._kept: dict[tuple[int, ...], Prepared] = {}

    def run(self, iterations: int) -> None:
        """Do some more iterations."""
        for _ in range(iterations):
            self._gains.advance(self.iteration + 1, [self.regret, self.trunk_regret], self.average)
            tasks = [(prepared, seat) for prepared in self._subgames() for seat in range(PLAYERS)]
            for (prepared, seat), found in zip(tasks, self._each(self._walk, tasks), strict=True):
                tables = self.regret, self.trunk_regret
                self.engine.add(prepared, seat, found, self._gains, tables, self.average)
                self.nodes += PLAYERS * len(self.tree) * len(prepared.subgame.cards.cards)
            self.visited += self.boards
            self.iteration += 1

    @property
    def _leaders(self) -> int:
        """Threads that take a seat of a subgame each; if there are more, those share the last street."""
        return min(self.threads, PLAYERS * self.boards)

    def _each(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
        """Do all tasks, in threads; results are in the order of the tasks."""
        return list(self._pool.map(work, tasks) if self.threads > 1 else map(work, tasks))

    def _samples(self, first: int) -> list[tuple[tuple[int, ...], float]]:
        """The boards of an iteration, and what each counts."""
        boards, weights = self.source.boards(first, self.boards)
        return [(tuple(board), float(weight)) for board, weight in zip(boards.tolist(), weights, strict=True)]

    def _subgames(self) -> list[Prepared]:
        """The subgames of this iteration; with threads, those of the next are begun."""
        if self.threads == 1:
            return self._each(self._subgame, self._samples(self.visited))
        first, ahead = self._ahead
        if first != self.visited:
            ahead = [self._dealing.submit(self._subgame, sample) for sample in self._samples(self.visited)]
        found = [future.result() for future in ahead]
        first = self.visited + self.boards
        self._ahead = first, [self._dealing.submit(self._subgame, sample) for sample in self._samples(first)]
        return found

    def _walk(self, task: tuple[Prepared, int]) -> Found:
        """What the walks of a seat gather in a subgame."""
        prepared, seat = task
        worker = self._workers.get()
        try:
            tables = self.regret, self.trunk_regret
            return self.engine.walk(prepared, seat, tables, worker, averaging=self.averaging, team=self._team)
        finally:
            self._workers.put(worker)

    def _subgame(self, sample: tuple[tuple[int, ...], float]) -> Prepared:
        """A subgame, dealt or kept: few games have so few that all can be kept."""
        board, weight = sample
        if board in self._kept:
            return self._kept[board]
        subgame = self.dealer.deal(board, weight)
        prepared = self.engine.prepare(subgame)
        if subgame.bytes * self.source.comes_again <= KEPT_BYTES:
            self._kept[board] = prepared
        return prepared

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._leaders)

    @cached_property
    def _dealing(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1)

    @cached_property
    def _team(self) -> Team | None:
        if self.threads <= self._leaders:
            return None
        return self.engine.team(ThreadPoolExecutor(self.threads), self.threads)

    def profile(self, *, current: bool = False) -> Profile:
        """The average strategy, or the current one."""
        return profile_of(self.layout, table_of(self, CURRENT if current else AVERAGE))

    def state(self) -> dict[str, Any]:
        """The opponents' regrets in the trunk, where the sequence of boards stands, and what increments count."""
        sampling = np.array([*self._sampling, self.visited], np.int64)
        return {"trunk": self.trunk_regret, "sampling": sampling, "gains": self._gains.state()}

    @property
    def _sampling(self) -> tuple[int, ...]:
        """What the boards of a run follow from."""
        return self.source.seed, int(self.source.cycle), self.grow, self.boards

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Take up a run whose tables have been put back."""
        *sampling, visited = (int(number) for number in state["sampling"])
        if tuple(sampling) != self._sampling:
            was = f"seed, cycle, grow and boards {sampling}"
            raise InputError("a run that samples otherwise", remedy=f"restore it with {was}")
        if state["trunk"].shape != self.trunk_regret.shape:
            raise InputError("a run with another trunk", remedy="restore it with its own")
        self.iteration, self.nodes, self.visited = iteration, nodes, visited
        self.trunk_regret[:] = state["trunk"]
        self._gains.restore(state["gains"])


def _check(tree: PublicTree, buckets: BucketMap, trunk: int, boards: int, grow: int | None) -> None:
    rules = tree.rules
    if card_fingerprint(rules) != card_fingerprint(buckets.rules):
        raise InputError("buckets of a game with other cards", remedy="build the abstraction for this game")
    check_trunk(rules, trunk)
    if grow and (grow < 0 or not trunk):
        raise InputError(f"boards that grow by one in {grow}", remedy="use 0 or more, and a trunk")
    if boards < 1:
        raise InputError(f"{boards} subgames an iteration", remedy="sample at least one")
    if tree.street[0] != 0 or rules.hole_cards > 2:
        raise InputError("a tree that the hybrid agent cannot walk", remedy="use a whole game of one or two holes")
    holes = comb(rules.deck.size - sum(rules.board_cards), rules.hole_cards)
    if min(buckets.buckets[-1], holes * subgame_boards(rules, trunk)) > MOST_ROWS:
        raise InputError("too many buckets in a subgame", remedy="use a longer trunk or fewer buckets")
