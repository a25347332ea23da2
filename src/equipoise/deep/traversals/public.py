"""Public chance sampling with networks: on some random boards, ranges walk the whole betting tree.

(Johanson and others 2012, with networks instead of tables.) A board is drawn, and holes that both players may have, or
all that the board leaves; no action is drawn. `public_walk.py` has the walk itself. A GPU is made for this work: in
no-limit hold'em it answers for a billion pairs of hole and decision in some seconds. With all holes the samples of the
last street are exact; with fewer, more boards are seen in the same time.

Threads deal boards, in small parts, ahead of the GPU that walks them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from equipoise.deep.encoding import DeviceEncoding, Evaluator
from equipoise.deep.traversals.board_deals import BoardDealer, BoardDeals
from equipoise.deep.traversals.external import Job, Sampled, Sampling, Traversals
from equipoise.deep.traversals.public_plan import PublicPlan
from equipoise.deep.traversals.public_walk import DealTensors, PublicWalk
from equipoise.deep.traversals.recorded import RecordedWalk
from equipoise.tree.betting_tree import SHOWDOWN

RUNOUTS = 8  # more boards for a pot that both players are all-in for before the last street
PART = 64  # boards that a thread deals at a time
CPU_VALUES, CUDA_VALUES = 1 << 24, 1 << 26  # numbers of a chunk of boards: nodes times boards times holes


class Waiting(NamedTuple):
    """Boards of one job that are being dealt, and the seed of what is drawn from them."""

    parts: list[Callable[[], BoardDeals]]
    seed: int

    def deals(self) -> BoardDeals:
        """All of them, in order."""
        found = [part() for part in self.parts]
        return BoardDeals(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


@dataclass(frozen=True, eq=False)
class PublicTraversals(Traversals):
    """Walks of ranges over sampled boards. A range has `sampling.holes` holes, or all that a board leaves."""

    @cached_property
    def plan(self) -> PublicPlan:
        """The tree on the device."""
        return PublicPlan.of(self.where, self.tree.keep)

    @cached_property
    def boards(self) -> BoardDealer:
        """Deals boards, with runouts for streets that have showdowns before the last."""
        tree, hands = self.where.encoding.tree, self.where.encoding.hands
        streets = np.unique(tree.street[tree.kind == SHOWDOWN]).tolist()
        early = tuple(street for street in streets if street < tree.rules.rounds - 1)
        return BoardDealer(hands, self.sampling.holes, early, RUNOUTS if early else 0)

    @cached_property
    def chunk(self) -> int:
        """Boards that are walked together."""
        most = CPU_VALUES if self.where.device.type == "cpu" else CUDA_VALUES
        return max(1, most // (len(self.where.encoding.tree) * self.boards.holes))

    def walk(self, walker: int, deals: DealTensors, iteration: int = 1) -> PublicWalk:
        """A walk that is still to be done."""
        solves = self.sampling.solves(iteration)
        return PublicWalk(self.where, self.plan, self.sampling, self.boards, walker, deals, solves)

    def do_jobs(
        self, walker: int, networks: tuple[Evaluator, Evaluator], iteration: int, jobs: list[Job]
    ) -> list[Sampled]:
        """The samples of some chunks of boards, in order. On a GPU, threads deal ahead while it walks."""

        def walked(waiting: Waiting) -> Sampled:
            deals = DealTensors.of(waiting.deals(), self.where.device)
            return self._done(walker, networks, deals, iteration).sampled(iteration, waiting.seed)

        if self.where.device.type == "cpu":
            with ThreadPoolExecutor(self.threads) as pool:
                return list(pool.map(lambda job: walked(self._deal(job)), jobs))
        waiting = [self._ahead.get(_name(job)) or self._deal(job, self._dealers) for job in jobs]
        self._ahead.clear()
        return [walked(dealt) for dealt in waiting]

    def _done(
        self, walker: int, networks: tuple[Evaluator, Evaluator], deals: DealTensors, iteration: int
    ) -> PublicWalk:  # fmt: skip
        """A walk that has been done. On a GPU, it is recorded when one of the same kind and size comes again."""
        walk = self.walk(walker, deals, iteration)
        if self.where.device.type == "cpu":
            return walk.done(networks)
        kind = walker, len(deals.keys), walk.solves
        self._kinds[kind] += 1
        if self._kinds[kind] == 2:
            self._recorded[kind] = RecordedWalk(networks, walk)
        recorded = self._recorded.get(kind)
        return recorded.replay(networks, deals) if recorded else walk.done(networks)

    def deal_ahead(self, count: int, seed: np.random.SeedSequence) -> None:
        """On a GPU, threads deal while it trains."""
        if self.where.device.type != "cpu":
            self._ahead.clear()
            self._ahead.update({_name(job): self._deal(job, self._dealers) for job in self.jobs(count, seed)})

    def _deal(self, job: Job, pool: ThreadPoolExecutor | None = None) -> Waiting:
        """Boards, dealt in the threads of a pool, or when they are asked for."""
        count, seed = job
        deals, draws = seed.spawn(2)
        sizes = [min(PART, count - first) for first in range(0, count, PART)]
        parts: list[Callable[[], BoardDeals]] = []
        for size, own in zip(sizes, deals.spawn(len(sizes)), strict=True):
            part = partial(self.boards.deal, own, size)
            parts.append(part if pool is None else pool.submit(part).result)
        return Waiting(parts, int(draws.generate_state(1)[0]))

    @cached_property
    def _dealers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads)

    @cached_property
    def _ahead(self) -> dict[Any, Waiting]:
        """What is dealt for the next traversals, by the name of the job."""
        return {}

    @cached_property
    def _kinds(self) -> Counter[tuple[int, int, bool]]:
        """How often a walk came, by walker, number of boards, and whether heads are solved."""
        return Counter()

    @cached_property
    def _recorded(self) -> dict[tuple[int, int, bool], RecordedWalk]:
        return {}


def _name(job: Job) -> Any:
    return job[0], job[1].entropy, job[1].spawn_key


def make_traversals(where: DeviceEncoding, threads: int, sampling: Sampling) -> Traversals:
    """The traversals that `sampling` asks for."""
    return (PublicTraversals if sampling.public else Traversals)(where, threads, sampling)
