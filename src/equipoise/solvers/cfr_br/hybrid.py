"""CFR-BR with the hybrid agent, for games of any size: a trunk by public chance sampling, best responses below it.

(Johanson, Bard, Burch and Bowling 2012.) An iteration samples public cards down to the end of the trunk. The abstracted
player walks everything that may follow. Its opponent, not abstracted, minimises regret in the trunk; below it, it plays
a best response that is computed for the sampled subgame and discarded. Only the abstracted player's average is sure to
converge. A trunk of all rounds is public chance sampling with one player unabstracted; no trunk is CFR-BR with a full
best response. Both seats are solved on the same samples, each against an opponent of its own.

All subgames of an iteration (`boards`), and both players, see the same strategies: regrets on sampled cards must not
meet a strategy that was just fitted to those cards. Seats share nothing but samples: with threads each runs alone, and
they wait for each other only at the end of a block of samples (`subgame_prefetch.py`). Where the trunk has too many
boards for cycles of samples, they come from a curriculum (`board_curriculum.py`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import comb
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap, card_fingerprint
from equipoise.cards.deck import check_hole_cards
from equipoise.core.array_checks import check_like
from equipoise.core.errors import InputError
from equipoise.core.jit import F32
from equipoise.games.rules import PLAYERS
from equipoise.solvers.board_samples import BoardSource, check_sampling
from equipoise.solvers.cfr_br.board_curriculum import BoardCurriculum, default_growth
from equipoise.solvers.cfr_br.full import keeps_average, profile_of
from equipoise.solvers.cfr_br.subgame_engine import PreparedSubgame, RunTables, SubgameEngine
from equipoise.solvers.cfr_br.subgame_prefetch import SubgamePrefetch, iterations_per_block
from equipoise.solvers.cfr_br.subgame_tables import UpdateScale
from equipoise.solvers.schedule import LazyDiscount
from equipoise.solvers.solver import AVERAGE, CURRENT, table_of
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import BettingTree
from equipoise.tree.infosets import SlotLayout
from equipoise.tree.subgame_boards import SubgameDealer
from equipoise.tree.trunk import check_trunk, subgame_boards, trunk_slots

BOARDS = 1  # default number of subgames an iteration: fewer learn faster
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
        self.grow = (default_growth(rules, trunk) if cycle is None else 0) if grow is None else grow
        self.source: BoardSource | BoardCurriculum = BoardSource(rules, seed, cycle is not False, street)
        if self.grow:
            self.source = BoardCurriculum(rules, seed, self.grow, trunk)
        self.dealer = SubgameDealer(buckets, lossless, trunk)
        holes = comb(rules.deck.size - rules.board_size(street), rules.hole_cards)
        tables = RunTables((self.regret, self.trunk_regret), self.average)
        self.engine = SubgameEngine(
            tree, (self.layout, whole), tables, trunk=trunk, holes=holes, boards=boards, threads=threads
        )
        block = iterations_per_block(rules, trunk, boards)
        self.subgames = SubgamePrefetch(self.source, self._deal, boards, block, ahead=threads > 1)
        self._seats = [_Seat(self, seat, whole, schedule) for seat in range(PLAYERS)]
        self._pool = ThreadPoolExecutor(PLAYERS)

    def run(self, iterations: int) -> None:
        """Do some more iterations; with threads, the seats run in parallel within a block of samples."""
        end, block = self.iteration + iterations, self.subgames.block
        while self.iteration < end:
            start, stop = self.iteration, min(end, (self.iteration // block + 1) * block)
            if self.threads == 1:
                nodes = [seat.run(n, n + 1) for n in range(start, stop) for seat in self._seats]
            else:
                nodes = [each.result() for each in [self._pool.submit(seat.run, start, stop) for seat in self._seats]]
            self.nodes += sum(nodes)
            self.iteration = stop

    def _deal(self, board: tuple[int, ...], weight: float) -> PreparedSubgame:
        return self.engine.prepare(self.dealer.deal(board, weight))

    @property
    def visited(self) -> int:
        """Number of subgames walked."""
        return self.iteration * self.boards

    def profile(self, *, current: bool = False) -> Profile:
        """The average strategy, or the current one."""
        return profile_of(self.layout, table_of(self, CURRENT if current else AVERAGE))

    def state(self) -> dict[str, Any]:
        """The opponents' regrets in the trunk, the position in the sequence of boards, and the scale of increments."""
        sampling = np.array([*self._sampling.values(), self.visited], np.int64)
        return {"trunk": self.trunk_regret, "sampling": sampling, "gains": self._seats[0].gains.state()}

    @property
    def _sampling(self) -> dict[str, int]:
        """The settings that determine the boards of a run."""
        return {
            "seed": self.source.seed, "cycle": int(self.source.cycle), "grow": self.grow, "boards": self.boards
        }  # fmt: skip

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Resume a run whose tables have been restored."""
        check_sampling(self._sampling, iteration, state.get("sampling"))
        trunk = check_like(state, {"trunk": self.trunk_regret})["trunk"]
        for seat in self._seats:
            seat.gains.restore(iteration, state.get("gains"))
        self.iteration, self.nodes = iteration, nodes
        self.trunk_regret[:] = trunk


class _Seat:
    """The abstracted player of a seat and its opponent: a run of its own."""

    def __init__(self, solver: HybridCFRBR, seat: int, whole: SlotLayout, schedule: str) -> None:
        self.seat, self.gains = seat, LazyDiscount(schedule)
        self.engine, self.subgames, self.nodes = solver.engine, solver.subgames, PLAYERS * len(solver.tree)
        mine, theirs = solver.layout.parts(seat), whole.parts(1 - seat)[: solver.trunk]
        self._regrets = [*(solver.regret[part] for part in mine), *(solver.trunk_regret[part] for part in theirs)]
        self._averages = [solver.average[part] for part in mine]

    def run(self, start: int, stop: int) -> int:
        """Do iterations `start` to `stop`: discount, fetch the subgames, update. Returns the number of nodes walked."""
        gains, boards = self.gains, 0
        for iteration in range(start, stop):
            gains.advance(iteration + 1, self._regrets, self._averages)
            scale = UpdateScale(np.float32(gains.regret), gains.floor, np.float32(gains.average))
            subgames = self.subgames.of(iteration)
            self.engine.update(subgames, self.seat, scale)
            boards += sum(len(prepared.subgame.cards.cards) for prepared in subgames)
        return self.nodes * boards


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
