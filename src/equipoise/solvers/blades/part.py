"""A part: some clusters of public boards, and the tables of all later streets on them (`solvers/split.py`).

Random streams are by seed, step and cluster, and a cluster's tables are its own: results do not depend on which part
owns which cluster. Threads share the clusters. With more threads than clusters, threads also share the hands of a
cluster, each with its own stream, and update its tables without locks, as `external_sampling.py` does; such results
depend on timing.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.arrays import Float
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, F64, I64, U8, U32, U64, inlined, kernel
from equipoise.solvers.blades.messages import Message, Reply, random_state, random_states
from equipoise.solvers.blades.table_split import TableSplit, count_boards, key_of
from equipoise.solvers.external_kernel import (
    EXPLORED,
    ExternalBuffers,
    ExternalState,
    draw_share,
    draw_word,
    find_buckets,
    find_winner,
    walk_from,
)
from equipoise.solvers.external_sampling import check_pruning, kernel_state, make_buffers, raw_buckets
from equipoise.solvers.schedule import Periods
from equipoise.solvers.solver import check_tables
from equipoise.tree.betting_tree import BettingTree

_1, _32 = np.uint64(1), np.uint64(32)


@dataclass(frozen=True)
class PartPlan:
    """All that a part needs beyond the tree and the map; it can be sent to another machine."""

    clusters: tuple[int, ...]
    schedule: str
    period: int
    prune: float = 0.0  # chips; most walks skip actions with a regret below -prune; 0 disables pruning
    seed: int = 1
    threads: int = 1

    def build(self, tree: BettingTree, buckets: BucketMap) -> BladesPart:
        """The part, its tables zero."""
        return BladesPart(TableSplit(tree, buckets), self)


class Batch(NamedTuple):
    """A batch of hands on one cluster."""

    hands: U8  # [deal, card]
    first: U32  # [2 * deal + walker, and one more] where the continuations of a walk start
    node: U32  # [continuation]
    possible: F64  # [deal] the number of boards in the cluster: the weight of a value in the reply
    weight: F32  # [deal] their share of all boards: the weight of an update


class ClusterCards(NamedTuple):
    """The boards and the buckets of one cluster."""

    cluster: int
    boards: U8  # [board, card]
    street: int  # the first below the top
    local: U32  # [bucket] its number within its cluster
    local_first: I64  # [street] where a street starts in it


class _Cluster(NamedTuple):
    number: int
    regret: F32  # [slot]
    average: F32  # [slot]
    state: ExternalState
    cards: ClusterCards


class BladesPart:
    """A part (`split.Part`) by a plan."""

    def __init__(self, split: TableSplit, plan: PartPlan) -> None:
        if not plan.clusters or not all(0 <= cluster < split.clusters for cluster in plan.clusters):
            raise InputError(f"clusters {plan.clusters}", remedy=f"give some of 0 to {split.clusters - 1}")
        if plan.threads < 1:
            raise InputError(f"{plan.threads} threads", remedy="give at least one")
        check_pruning(plan.prune, plan.schedule)
        self.split, self.plan, self.periods = split, plan, Periods(plan.schedule, plan.period)
        raw = raw_buckets(split.buckets)
        self._clusters = [self._cluster(number, raw) for number in plan.clusters]
        self.shares = max(1, plan.threads // len(plan.clusters))  # threads of a cluster
        self._random: U64 = random_states(len(self._clusters) * self.shares)
        self._buffers = make_buffers(split.tree, self._random)

    def _cluster(self, number: int, raw: tuple[U32, I64]) -> _Cluster:
        split, plan = self.split, self.plan
        layout = split.layout_of(number)
        regret, average = np.zeros((2, layout.slots), np.float32)
        return _Cluster(
            number,
            regret,
            average,
            kernel_state(split.records_of(layout), regret, average, split.buckets, raw, self.periods.plus, plan.prune),
            ClusterCards(number, split.boards(number), split.street, *split.local),
        )

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.plan.threads)

    def _each(self, work: Callable[[int], Any], count: int) -> list[Any]:
        return list(self._pool.map(work, range(count))) if self.plan.threads > 1 else [work(i) for i in range(count)]

    def work(self, message: Message) -> Reply:
        """Walk all continuations on one sampled board of each cluster and deal."""
        message = message._replace(  # arrays from another machine may be read-only, for which kernels compile again
            hands=message.hands.copy(), first=message.first.copy(), node=message.node.copy()
        )
        clusters, shares, deals = self._clusters, self.shares, len(message.hands)
        values = np.zeros((len(clusters), len(message.node)))

        def discount(i: int) -> None:
            self.periods.discount(message.iteration, clusters[i].regret, clusters[i].average)

        def walk(task: int) -> None:
            cluster, share = clusters[task // shares], task % shares
            begin, end = deals * share // shares, deals * (share + 1) // shares
            self._random[task] = random_state(self.plan.seed, message.iteration, cluster.number + 1, share)
            batch = self._batch(message, cluster.number, slice(begin, end))
            walk_cluster(
                batch, cluster.cards, self.split.grain, cluster.state, self._buffers[task], values[task // shares]
            )

        if self.periods.starts(message.iteration):
            self._each(discount, len(clusters))
        self._each(walk, len(clusters) * shares)
        nodes = sum(int(buffers.nodes[0]) for buffers in self._buffers)
        for buffers in self._buffers:
            buffers.nodes[0] = 0
        return Reply(values.sum(axis=0), nodes)

    def _batch(self, message: Message, cluster: int, deals: slice) -> Batch:
        hands = message.hands[deals]
        possible = self.possible(hands, cluster)
        first = message.first[2 * deals.start : 2 * deals.stop + 1]
        return Batch(hands, first, message.node, possible.astype(np.float64), self.weights(possible))

    def possible(self, hands: U8, cluster: int) -> I64:
        """[deal] the number of boards of a cluster that the hands leave possible."""
        possible = np.empty(len(hands), np.int64)
        count_boards(hands, self._counts[cluster], possible)
        return possible

    def weights(self, possible: I64) -> F32:
        """[deal] the weight of a cluster's updates: its share of the boards. Every cluster is sampled every time."""
        return (possible / self.split.boards_left).astype(np.float32)

    @cached_property
    def _counts(self) -> dict[int, Any]:
        return {number: self.split.counts(number) for number in self.plan.clusters}

    def arrays(self) -> dict[str, Any]:
        """The tables of each cluster."""
        return {
            key_of(name, cluster.number): getattr(cluster, name)
            for cluster in self._clusters
            for name in ("regret", "average")
        }

    def restore(self, arrays: dict[str, Any]) -> None:
        """Continue from a checkpoint; arrays of other clusters are ignored."""
        mine = self.arrays()
        for name, table in check_tables(arrays, mine).items():
            mine[name][:] = table


@inlined
def draw_board(hands: U8, cards: ClusterCards, random: U64, deck: int, hand: U8) -> None:
    """Draw a board of a cluster, and the later cards, uniformly from those possible given both hands.

    IN: uint8[card] of both players, the cluster; OUT: uint8[card] the board, after the hole cards of a hand.
    """
    holes, seen = hands.size // 2, cards.boards.shape[1]
    dealt = np.uint64(0)
    for i in range(hands.size):
        dealt |= _1 << np.uint64(hands[i])
    blocked = dealt
    drawing = True
    while drawing:
        board = cards.boards[((draw_word(random) >> _32) * np.uint64(cards.boards.shape[0])) >> _32]
        dealt, drawing = blocked, False
        for i in range(seen):
            bit = _1 << np.uint64(board[i])
            drawing |= (dealt & bit) != 0
            dealt |= bit
            hand[holes + i] = board[i]
    for i in range(holes + seen, hand.size):
        while True:
            card = ((draw_word(random) >> _32) * np.uint64(deck)) >> _32
            if not (dealt >> card) & _1:
                break
        dealt |= _1 << card
        hand[i] = np.uint8(card)


@inlined
def deal_board(hands: U8, cards: ClusterCards, state: ExternalState, buffers: ExternalBuffers) -> int:
    """Draw a board and find the buckets within the cluster. Returns the winner, as `deal_hands`."""
    holes, deck = state.hole_cards, buffers.deck.size
    draw_board(hands, cards, buffers.random, deck, buffers.hand[0])
    for i in range(holes, buffers.hand.shape[1]):
        buffers.hand[1, i] = buffers.hand[0, i]
    for player in range(2):
        for i in range(holes):
            buffers.hand[player, i] = hands[player * holes + i]
        bucket = buffers.bucket[player]
        find_buckets(buffers.hand[player], deck, cards.cluster, cards.street, state, bucket)
        for street in range(cards.street, state.streets):
            bucket[street] = cards.local[cards.local_first[street] + bucket[street]]
    return find_winner(state, buffers)


@kernel
def walk_cluster(
    batch: Batch, cards: ClusterCards, grain: Float, state: ExternalState, buffers: ExternalBuffers, values: F64
) -> None:
    """Walk the continuations of a batch, one board of the cluster for each deal. OUT: float64[continuation]."""
    for deal in range(batch.hands.shape[0]):
        possible, weight = batch.possible[deal], batch.weight[deal]
        if possible == 0 or batch.first[2 * deal] == batch.first[2 * deal + 2]:
            continue
        winner = deal_board(batch.hands[deal], cards, state, buffers)
        pruning = bool(state.threshold > np.float32(0) and draw_share(buffers.random) >= EXPLORED)
        for walker in range(2):
            for i in range(batch.first[2 * deal + walker], batch.first[2 * deal + walker + 1]):
                value = walk_from(batch.node[i], walker, winner, pruning, weight, state, buffers)
                values[i] = possible * (np.rint(value / grain) * grain)
