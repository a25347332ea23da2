"""External-sampling MCCFR over a betting tree and a BucketMap, on all cores, perfect or imperfect recall.

(Lanctot and others 2009, as in Tartanian7, section 3.) Threads share the tables without locks, as the paper's cores do.
Two threads rarely work on one information set at once. If they do, an increment is lost or a strategy is read that is
one increment old: a rare and small error that adds no bias to a sum of random increments. With one thread, a run is
reproducible to the bit.

Weights of iterations (linear, discounted) apply by periods (`schedule.Periods`).
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.array_checks import REMEDY, check_like, check_permutations
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, I64, U32, U64
from equipoise.solvers.external_kernel import (
    CHILD,
    CHIPS,
    COLUMNS,
    HIGH,
    LOW,
    STRIDE,
    ExternalBuffers,
    ExternalState,
    sample_iterations,
)
from equipoise.solvers.schedule import Periods
from equipoise.tree.betting_tree import DEAL, DECISION, BettingTree
from equipoise.tree.infosets import SlotLayout

PERIOD = 100_000  # iterations
MOST_RAW = 1 << 12  # streets with at most this many deals have a table of buckets by cards
SLICE = 1 << 20  # slots that a thread discounts at a time


class External:
    """A solver (`solver.py`). Most iterations skip actions with a regret below -`prune` chips; 0 disables pruning."""

    def __init__(
        self,
        tree: BettingTree,
        buckets: BucketMap,
        *,
        schedule: str = "linear",
        period: int = PERIOD,
        prune: float = 0.0,
        seed: int = 1,
        threads: int = 1,
    ) -> None:
        self.periods = Periods(schedule, period)
        check_pruning(prune, schedule)
        if threads < 1:
            raise InputError(f"{threads} threads", remedy="give at least one")
        self.tree, self.buckets, self.threads, self.prune = tree, buckets, threads, prune
        self.layout = SlotLayout(tree, buckets.buckets)
        self.regret: F32 = np.zeros(self.layout.slots, np.float32)
        self.average: F32 = np.zeros(self.layout.slots, np.float32)
        self.iteration = 0
        self.nodes = 0
        self._random = np.array(
            [
                stream.generate_state(1, np.uint64)[0] | np.uint64(1)
                for stream in np.random.SeedSequence(seed).spawn(threads)
            ]
        )

    @cached_property
    def record(self) -> U32:
        """[node, column] the records of the tree."""
        return tree_records(self.layout)

    def _kernel_state(self) -> ExternalState:
        return kernel_state(
            self.record, self.regret, self.average, self.buckets, self._raw, self.periods.plus, self.prune
        )

    @cached_property
    def _raw(self) -> tuple[U32, I64]:
        return raw_buckets(self.buckets)

    @cached_property
    def _buffers(self) -> list[ExternalBuffers]:
        return make_buffers(self.tree, self._random)

    def run(self, iterations: int) -> None:
        """Do some more iterations, shared by the threads."""
        while iterations > 0:
            if self.periods.starts(self.iteration):
                self._discount()
            now = min(iterations, self.periods.left(self.iteration))
            self._sample(now)
            self.iteration += now
            iterations -= now

    def _sample(self, iterations: int) -> None:
        state, buffers, one = self._kernel_state(), self._buffers, np.float32(1)
        before = sum(int(each.nodes[0]) for each in buffers)
        if self.threads == 1:
            sample_iterations(iterations, one, state, buffers[0])
        else:
            shares = [
                iterations * (i + 1) // self.threads - iterations * i // self.threads for i in range(self.threads)
            ]
            list(
                self._pool.map(
                    lambda pair: sample_iterations(pair[0], one, state, pair[1]), zip(shares, buffers, strict=True)
                )
            )
        self.nodes += sum(int(each.nodes[0]) for each in buffers) - before

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads)

    def _discount(self) -> None:
        """Discount the tables before a period."""

        def work(at: int) -> None:
            part = slice(at, at + SLICE)
            self.periods.discount(self.iteration, self.regret[part], self.average[part])

        list(self._pool.map(work, range(0, len(self.regret), SLICE)))

    def state(self) -> dict[str, Any]:
        """The random generator and the deck of each thread."""
        return {"random": self._random.copy(), "deck": np.stack([each.deck for each in self._buffers])}

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Resume a run whose tables have been restored."""
        threads = state["random"].size if "random" in state else 0
        if threads not in (0, self.threads):
            raise InputError(f"a run of {threads} threads", remedy=f"resume it with --threads {threads}")
        found = check_like(state, self.state())
        check_permutations(found["deck"], "deck")
        if not found["random"].all():
            raise InputError("a random generator at zero, where it would stay", remedy=REMEDY)
        self.iteration, self.nodes = iteration, nodes
        self._random[:] = found["random"]
        for buffers, deck in zip(self._buffers, found["deck"], strict=True):
            buffers.deck[:] = deck


def check_pruning(prune: float, schedule: str) -> None:
    """Refuse a threshold of pruning that makes no sense with a schedule."""
    if prune < 0 or (prune and schedule == "cfr+"):
        raise InputError(f"prune {prune} with {schedule}", remedy="pruning needs negative regrets: use linear")


def kernel_state(
    record: U32, regret: F32, average: F32, buckets: BucketMap, raw: tuple[U32, I64], plus: bool, prune: float
) -> ExternalState:
    """What the kernels read and change, with the buckets of `raw_buckets`."""
    rules = buckets.rules
    return ExternalState(
        record, regret, average, buckets.tables, *raw, rules.ranker.tables, rules.rounds,
        rules.hole_cards, sum(rules.board_cards), plus, np.float32(prune),
    )  # fmt: skip


def raw_buckets(buckets: BucketMap) -> tuple[U32, I64]:
    """Buckets of streets with few deals, by cards in dealing order, and where each street starts; -1: no table."""
    rules, parts, first = buckets.rules, [np.zeros(0, np.uint32)], np.full(buckets.rules.rounds, -1)
    for street in range(rules.rounds):
        seen = rules.hole_cards + rules.board_size(street)
        if rules.deck.size**seen > MOST_RAW:
            break
        cards = np.array(list(itertools.product(range(rules.deck.size), repeat=seen)), np.uint8)
        distinct = np.array([len(set(hand)) == seen for hand in cards.tolist()])
        found = np.zeros(len(cards), np.uint32)
        found[distinct] = buckets.buckets_of_deals(cards[distinct])[:, street]
        first[street] = sum(map(len, parts))
        parts.append(found)
    return np.concatenate(parts), first


def make_buffers(tree: BettingTree, random: U64) -> list[ExternalBuffers]:
    """The memory of each thread. IN: uint64[thread] the states of their random generators; they are not copied."""
    rules, depth, max_actions = tree.rules, most_decisions(tree), int(tree.num_children.max())
    return [
        ExternalBuffers(
            random=random[thread : thread + 1],
            nodes=np.zeros(1, np.int64),
            deck=np.arange(rules.deck.size, dtype=np.uint8),
            hand=np.zeros((2, rules.hand_cards), np.uint8),
            bucket=np.zeros((2, rules.rounds), np.int64),
            slot=np.zeros(depth, np.uint64),
            child=np.zeros(depth, np.uint32),
            action=np.zeros(depth, np.uint8),
            actions=np.zeros(depth, np.uint8),
            chance=np.zeros((depth + 1, max_actions), np.float32),
            value=np.zeros((depth, max_actions), np.float32),
        )
        for thread in range(len(random))
    ]


def tree_records(layout: SlotLayout) -> U32:
    """[node, column] of a layout's tree; a DEAL node has the record of the node it leads to."""
    tree = layout.tree
    if len(tree) >= 1 << 32:
        raise InputError(f"{len(tree):,} nodes", remedy="use a smaller menu")
    record = np.zeros((len(tree), COLUMNS), np.uint32)
    player = np.maximum(tree.player, 0).astype(np.uint32)
    kind, street, count = (values.astype(np.uint32) for values in (tree.kind, tree.street, tree.num_children))
    record[:, 0] = kind | player << 8 | street << 16 | count << 24
    record[:, CHILD] = np.maximum(tree.first_child, 0)
    slots = np.where(tree.kind == DECISION, layout.offset, 0).astype(np.uint64)
    record[:, LOW], record[:, HIGH] = slots & np.uint64(0xFFFFFFFF), slots >> np.uint64(32)
    record[:, STRIDE] = layout.stride
    record[:, CHIPS] = tree.chips.min(axis=1)
    deals = np.flatnonzero(tree.kind == DEAL)
    record[deals] = record[tree.first_child[deals]]
    return record


def most_decisions(tree: BettingTree) -> int:
    """Maximum number of decisions of one player on any line."""
    depth = np.zeros((len(tree), 2), np.int64)
    for node in range(1, len(tree)):  # parents come before children
        above = tree.parent[node]
        depth[node] = depth[above]
        if tree.kind[above] == DECISION:
            depth[node, tree.player[above]] += 1
    return int(depth.max()) + 1
