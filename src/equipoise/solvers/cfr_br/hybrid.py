"""CFR-BR with the hybrid agent, for games of any size: a trunk by public chance sampling, best responses below it.

(Johanson, Bard, Burch and Bowling 2012.) An iteration samples public cards down to the end of the trunk. The abstracted
player walks everything that may follow; its opponent, not abstracted, minimises regret in the trunk, and below it plays
a best response that is worked out for the sampled subgame and thrown away. Only the abstracted player's average is sure
to converge. A trunk of all rounds is public chance sampling with one player unabstracted; without a trunk it is CFR-BR
with a full best response. Both seats are solved, each against an opponent of its own, on the same samples.

Samples come in cycles, or, where the trunk has too many boards for that, from a growing list (`growing_boards.py`).

An iteration has one or more subgames (`boards`), which all see the same strategies, as do both players: what a player
regrets on sampled cards must not meet a strategy that has just been fitted to them. The seats have nothing in common
but the samples: with threads each goes its own way, and they wait for each other only where a block of samples ends
(`dealt_subgames.py`). More threads take subgames of a seat, or share the last street. What they gather is added in the
order of the samples: results do not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from math import comb
from queue import SimpleQueue
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap, card_fingerprint
from equipoise.cards.deck import check_hole_cards
from equipoise.core.errors import InputError
from equipoise.core.jit import F32
from equipoise.games.rules import PLAYERS
from equipoise.solvers.board_samples import BoardSource, check_sampling
from equipoise.solvers.cfr_br.board_curriculum import GrowingBoards, growth_of
from equipoise.solvers.cfr_br.full import keeps_average, profile_of
from equipoise.solvers.cfr_br.subgame_engine import Found, Kept, Prepared, RunTables, SubgameEngine, Team, Worker
from equipoise.solvers.cfr_br.subgame_prefetch import DealtSubgames, block_of
from equipoise.solvers.cfr_br.subgame_tables import Pace
from equipoise.solvers.schedule import LazyDiscount
from equipoise.solvers.solver import AVERAGE, CURRENT, table_of
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import BettingTree
from equipoise.tree.infosets import SlotLayout
from equipoise.tree.subgame_boards import SubgameDealer
from equipoise.tree.trunk import check_trunk, subgame_boards, trunk_slots

BOARDS = 1  # subgames an iteration: fewer learn faster
MOST_ROWS = 65_535


class HybridCFRBR:
    """A solver (`solver.py`): both seats' abstracted players, each against a hybrid agent with a trunk of its own."""

    def __init__(
        self,
        tree: BettingTree,
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
        self.iteration = self.nodes = 0
        street = min(trunk, rules.rounds - 1)
        self.grow = (growth_of(rules, trunk) if cycle is None else 0) if grow is None else grow
        self.source: BoardSource | GrowingBoards = BoardSource(rules, seed, cycle is not False, street)
        if self.grow:
            self.source = GrowingBoards(rules, seed, self.grow, trunk)
        self.dealer = SubgameDealer(buckets, lossless, trunk)
        holes = comb(rules.deck.size - rules.board_size(street), rules.hole_cards)
        self.engine = SubgameEngine(tree, (self.layout, whole), trunk, holes)
        self._seats = [_Seat(self, seat, whole, schedule) for seat in range(PLAYERS)]
        self._rows: tuple[Kept, Kept] = {}, {}
        self._workers: SimpleQueue[Worker] = SimpleQueue()
        for _ in range(self._leaders):
            self._workers.put(self.engine.worker())
        block = block_of(rules, trunk, boards)
        self.subgames = DealtSubgames(self.source, self._deal, boards, block, ahead=threads > 1)
        self._pool, self._helpers = ThreadPoolExecutor(PLAYERS), ThreadPoolExecutor(self._leaders)
        self._team: Team | None = None
        if threads > self._leaders:
            self._team = self.engine.team(ThreadPoolExecutor(threads), threads)

    def run(self, iterations: int) -> None:
        """Do some more iterations."""
        end, block = self.iteration + iterations, self.subgames.block
        while self.iteration < end:
            start, stop = self.iteration, min(end, (self.iteration // block + 1) * block)
            if self.threads == 1:
                nodes = [seat.run(n, n + 1) for n in range(start, stop) for seat in self._seats]
            else:
                nodes = [each.result() for each in [self._pool.submit(seat.run, start, stop) for seat in self._seats]]
            self.nodes += sum(nodes)
            self.iteration = stop

    @property
    def visited(self) -> int:
        """How many subgames have been walked."""
        return self.iteration * self.boards

    @property
    def _leaders(self) -> int:
        """Threads that take a seat of a subgame each; if there are more, those share the last street."""
        return min(self.threads, PLAYERS * self.boards)

    def walk(self, subgames: list[Prepared], seat: int, pace: Pace) -> None:
        """Walk the subgames of an iteration for a seat, and add what is gathered, in their order."""
        if len(subgames) == 1 and not self._team:
            with self._worker() as worker:
                self.engine.walk_and_add(subgames[0], seat, self.tables, worker, pace, self._rows[seat])
            return
        each = partial(self._walk, seat=seat)
        walked = list(self._helpers.map(each, subgames) if self._leaders > PLAYERS else map(each, subgames))
        for prepared, found in zip(subgames, walked, strict=True):
            self.engine.add(prepared, seat, found, self.tables, pace)

    def _walk(self, prepared: Prepared, seat: int) -> Found:
        with self._worker() as worker:
            return self.engine.walk(prepared, seat, self.tables, worker, self._team)

    @contextmanager
    def _worker(self) -> Iterator[Worker]:
        """Memory that no other thread uses meanwhile."""
        worker = self._workers.get()
        try:
            yield worker
        finally:
            self._workers.put(worker)

    @property
    def tables(self) -> RunTables:
        return RunTables((self.regret, self.trunk_regret), self.average)

    def _deal(self, board: tuple[int, ...], weight: float) -> Prepared:
        return self.engine.prepare(self.dealer.deal(board, weight))

    def profile(self, *, current: bool = False) -> Profile:
        """The average strategy, or the current one."""
        return profile_of(self.layout, table_of(self, CURRENT if current else AVERAGE))

    def state(self) -> dict[str, Any]:
        """The opponents' regrets in the trunk, where the sequence of boards stands, and what increments count."""
        sampling = np.array([*self._sampling.values(), self.visited], np.int64)
        return {"trunk": self.trunk_regret, "sampling": sampling, "gains": self._seats[0].gains.state()}

    @property
    def _sampling(self) -> dict[str, int]:
        """What the boards of a run follow from."""
        return {
            "seed": self.source.seed, "cycle": int(self.source.cycle), "grow": self.grow, "boards": self.boards
        }  # fmt: skip

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Take up a run whose tables have been put back."""
        check_sampling(self._sampling, state["sampling"])
        if state["trunk"].shape != self.trunk_regret.shape:
            raise InputError("a run with another trunk", remedy="restore it with its own")
        self.iteration, self.nodes = iteration, nodes
        self.trunk_regret[:] = state["trunk"]
        for seat in self._seats:
            seat.gains.restore(state["gains"])


class _Seat:
    """The abstracted player of a seat and its opponent: a run of its own."""

    def __init__(self, solver: HybridCFRBR, seat: int, whole: SlotLayout, schedule: str) -> None:
        self.solver, self.seat, self.gains = solver, seat, LazyDiscount(schedule)
        mine, theirs = solver.layout.parts(seat), whole.parts(1 - seat)[: solver.trunk]
        self._regrets = [*(solver.regret[part] for part in mine), *(solver.trunk_regret[part] for part in theirs)]
        self._averages = [solver.average[part] for part in mine]

    def run(self, start: int, stop: int) -> int:
        """Do some iterations: 0, 1, ... Returns how many nodes were walked."""
        solver, gains, boards = self.solver, self.gains, 0
        for iteration in range(start, stop):
            gains.advance(iteration + 1, self._regrets, self._averages)
            subgames = solver.subgames.of(iteration)
            solver.walk(subgames, self.seat, Pace(np.float32(gains.regret), gains.floor, np.float32(gains.average)))
            boards += sum(len(prepared.subgame.cards.cards) for prepared in subgames)
        return PLAYERS * len(solver.tree) * boards


def _check(tree: BettingTree, buckets: BucketMap, trunk: int, boards: int, grow: int | None) -> None:
    rules = tree.rules
    if card_fingerprint(rules) != card_fingerprint(buckets.rules):
        raise InputError("buckets of a game with other cards", remedy="build the abstraction for this game")
    check_trunk(rules, trunk)
    if grow and (grow < 0 or not trunk):
        raise InputError(f"boards that grow by one in {grow}", remedy="use 0 or more, and a trunk")
    if boards < 1:
        raise InputError(f"{boards} subgames an iteration", remedy="sample at least one")
    check_hole_cards(rules.hole_cards, "the hybrid agent")
    if tree.street[0] != 0:
        raise InputError("a tree that the hybrid agent cannot walk", remedy="use a whole game")
    holes = comb(rules.deck.size - sum(rules.board_cards), rules.hole_cards)
    if min(buckets.buckets[-1], holes * subgame_boards(rules, trunk)) > MOST_ROWS:
        raise InputError("too many buckets in a subgame", remedy="use a longer trunk or fewer buckets")
