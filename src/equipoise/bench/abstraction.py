"""Benchmarks of `abstraction/`: features of all hands, k-means, public distances, bucket look-ups. All cores.

Features and clusters are computed, not read from the cache. Peers: for features, one hand at a time, completions
and opponents enumerated by the same ranker; for k-means, scikit-learn's on the same points from the same start (absent
where it is not installed; it has no earth mover's distance, so both measure L2), and every distance measured; for
public distances, the minima of all buckets as Algorithm 2 is printed, compiled.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from equipoise.abstraction.clustering.kmeans import choose_centres, kmeans, lloyd
from equipoise.abstraction.clustering.public_boards import public_distances
from equipoise.abstraction.features.card_features import StreetFeatures, histograms
from equipoise.abstraction.features.hand_space import HandSpace, fill
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.bench.measure import Benchmark, Work, compare
from equipoise.cards.hand_ranks import Ranker
from equipoise.core.jit import F32, I32, kernel
from equipoise.games.gamedef import load_game

BUCKETS = 5000
POINTS, CLUSTERS, ITERATIONS = 200_000, 500, 20


def run() -> list[Benchmark]:
    """All benchmarks of the group."""
    return [*_features(), *_clusters(), _public(), _look_ups()]


def _features() -> list[Benchmark]:
    rules = load_game("holdem.limit")
    results = []
    peer = "one hand at a time, every opponent ranked"
    river = StreetFeatures(rules, 3)
    out = np.empty(river.space.size, np.uint16)
    seconds = _seconds(lambda: fill(river.space, lambda block: (river.summed(0)(block).total,), (out,)))
    results.append(_rate("river strengths", river.space.size, seconds, peer, _hands_a_second(0)))
    for street, name in ((2, "turn histograms"), (1, "flop histograms")):
        size = HandSpace(rules, street).size
        seconds = _seconds(lambda street=street: _drain(StreetFeatures(rules, street).histogram().stream()))
        results.append(_rate(name, size, seconds, peer, _hands_a_second(3 - street)))
    return results


def _rate(name: str, size: int, seconds: float, peer_name: str, peer: float) -> Benchmark:
    return Benchmark(f"{name}, {size:,} hands in {seconds:.1f} s", "hands/s", size / seconds, peer_name, peer)


def _seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _drain(blocks: Iterator[Any]) -> None:
    for _ in blocks:
        pass


def _hands_a_second(to_come: int) -> float:
    """One hand at a time: its rank and those of all opponents on completions, as many as take a moment."""
    ranker, rng = Ranker(), np.random.default_rng(1)
    total = {0: 1, 1: 46, 2: 1081}[to_come]
    _count_wins(ranker, rng.permutation(52).tolist())  # compiled
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < 1:
        cards = rng.permutation(52).tolist()
        for completion in itertools.islice(itertools.combinations(cards[7 - to_come :], to_come), 40):
            left = [card for card in cards[7 - to_come :] if card not in completion]
            _count_wins(ranker, [*cards[: 7 - to_come], *completion, *left])
            done += 1
    return done / total / (time.perf_counter() - start)


def _count_wins(ranker: Ranker, cards: list[int]) -> int:
    """Twice the opponents beaten plus those tied; the first cards are the hand's own and the board's."""
    board, left = cards[2:7], cards[7:]
    opponents = np.array(list(itertools.combinations(left, 2)), np.uint8)
    hands = np.hstack([opponents, np.tile(np.array(board, np.uint8), (len(opponents), 1))])
    mine = ranker.rank(cards[:7])
    ranks = ranker.ranks(hands)
    return 2 * int((ranks < mine).sum()) + int((ranks == mine).sum())


def _clusters() -> list[Benchmark]:
    rules = load_game("holdem.limit")
    points, weights = histograms(rules, 1).histogram, HandSpace(rules, 1).weights.astype(np.float64)
    chosen = np.sort(np.random.default_rng(1).choice(len(points), POINTS, replace=False))
    rows = (points[chosen] / points[0].sum()).astype(np.float32)
    mass = weights[chosen]
    first = rows[choose_centres(rows, mass, CLUSTERS, metric="l2", seed=1)]
    lloyd(rows[:1000], mass[:1000], first[:10], metric="l2", iterations=2)  # compiled
    ours = _seconds(lambda: lloyd(rows, mass, first, metric="l2", iterations=ITERATIONS))
    theirs = _scikit_learn(rows, mass, first)
    kmeans(points[:2000], weights[:2000], 10, metric="emd", seed=1, iterations=2)
    found: list[Any] = []
    whole = _seconds(lambda: found.append(kmeans(points, weights, BUCKETS, metric="emd", seed=1, iterations=30)))
    iterations = found[0].iterations
    name = f"k-means, earth mover's, all {len(points):,} flop hands into {BUCKETS:,}, {iterations} iterations in"
    distances = len(points) * BUCKETS * (iterations + 1)  # seeding measures as much as an iteration
    return [
        Benchmark(
            f"k-means, L2, {POINTS:,} flop histograms into {CLUSTERS}, {ITERATIONS} iterations", "runs/s", 1 / ours,
            "scikit-learn's KMeans (lloyd)", 1 / theirs if theirs else 0.0,
        ),
        Benchmark(
            f"{name} {whole:.0f} s", "distances settled/s", distances / whole,
            "all distances measured, compiled, one core", _plain_distances(points, found[0].centroids),
        ),
    ]  # fmt: skip


def _scikit_learn(rows: F32, weights: Any, first: F32) -> float:
    try:
        from sklearn.cluster import KMeans
    except ImportError:
        return 0.0
    peer: Any = KMeans(len(first), init=first, n_init=1, max_iter=ITERATIONS, tol=0, algorithm="lloyd")
    return _seconds(lambda: peer.fit(rows, sample_weight=weights))


def _plain_distances(points: Any, centroids: F32) -> float:
    rows = np.cumsum(points[:2000], axis=1, dtype=np.float32) / np.float32(points[0].sum())
    means = np.cumsum(centroids, axis=1, dtype=np.float32)
    label = np.empty(len(rows), np.int32)
    plain_nearest(rows[:10], means, label[:10])
    return len(rows) * len(means) / _seconds(lambda: plain_nearest(rows, means, label))


@kernel
def plain_nearest(rows: F32, means: F32, label: I32) -> None:
    """The nearest mean by L1, all of them measured. IN: float32[point, column], [mean, column]; OUT: int32[point]."""
    for i in range(rows.shape[0]):
        best, least = 0, np.float32(1e9)
        for j in range(means.shape[0]):
            total = np.float32(0)
            for k in range(rows.shape[1]):
                total += abs(rows[i, k] - means[j, k])
            if total < least:
                best, least = j, total
        label[i] = best


def _public() -> Benchmark:
    """A table like that of 1,755 flops: 1,176 private states a row over 5,000 buckets."""
    rng = np.random.default_rng(1)
    table = np.zeros((1755, BUCKETS), np.int32)
    for row in table:
        np.add.at(row, rng.integers(0, BUCKETS, 1176), 1)
    dense = table.astype(np.uint16)
    out = np.empty(len(table), np.float32)
    ours = Work(lambda: public_distances(table, 1176), len(table) ** 2)
    return compare(
        f"public distances of {len(table):,} boards, {BUCKETS:,} buckets", "pairs/s", ours,
        "minima of all buckets, compiled, one core", Work(lambda: row_of_minima(dense, out), len(table)),
        rounds=3,
    )  # fmt: skip


@kernel
def row_of_minima(table: Any, out: F32) -> None:
    """The distances of one board, as printed. IN: uint16[board, bucket]; OUT: float32[board]."""
    for j in range(table.shape[0]):
        total = np.int64(0)
        for b in range(table.shape[1]):
            total += min(table[0, b], table[j, b])
        out[j] = np.float32(1176 - total) / np.float32(1176)


def _look_ups() -> Benchmark:
    rules = load_game("holdem.limit")
    found = BucketMap.lossless(rules)
    deals = np.argsort(np.random.default_rng(1).random((20_000, 52)), axis=1)[:, :6].astype(np.uint8)
    board = deals[0, 2:].tolist()
    return compare(
        "buckets of a turn board, all holes", "hands/s", Work(lambda: found.buckets_of_board(2, board), 1128),
        "one deal at a time, three streets each", Work(lambda: found.buckets_of_deals(deals), len(deals)),
    )  # fmt: skip
