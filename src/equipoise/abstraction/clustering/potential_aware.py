"""Potential-aware clustering (Ganzfried and Sandholm 2014, Potential-Aware Imperfect-Recall Abstraction with Earth
Mover's Distance): a hand is a distribution over the next street's buckets, whose distances are the ground distance.

Their Algorithm 2 approximates the earth mover's distance of a hand and a mean from above: in round i each bucket of
the hand takes what is left of the mean's i-th nearest bucket, until all mass is placed. Equal buckets of a hand are
merged, which changes nothing. Two bounds skip means that cannot be the nearest: functions of a bucket that change no
faster than the ground distance (Kantorovich's dual), and the least cost of the mass still to be placed. Both hold for
any ground distance. As in `kmeans.py`, the cost need not fall at every step; the best clustering is returned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from equipoise.abstraction.clustering.kmeans import PATIENCE, Clustering, sort_by_label
from equipoise.abstraction.clustering.nearest import Spread, spread_over
from equipoise.core.arrays import F32, F64, I32, I64, U16
from equipoise.core.errors import InputError
from equipoise.core.jit import inlined, kernel
from equipoise.core.progress import Fraction

CHUNK = 1 << 14  # points; constant, so that chunks do not depend on the number of threads
ANCHORS = 16
ROUNDING = 2e-7  # a smaller share of a mass is rounding error: means are float32


class Hands(NamedTuple):
    """Distributions over next buckets, equal buckets together."""

    start: I64  # [hand + 1] into the other two
    bucket: U16  # ascending within a hand
    deals: U16  # that lead there
    shadow: F32  # [hand, anchor] means of the bounding functions
    share: float  # of one deal


class Mean(NamedTuple):
    """One mean, arranged for the heuristic."""

    mass: F64  # [place] of its buckets, without those that have none
    near: U16  # [bucket, round] places, nearest first
    apart: F32  # [bucket, round] and their distances
    shadow: F32  # [anchor]


class GreedyBuffers(NamedTuple):
    """Scratch of `greedy_distance`."""

    left: F64  # [place] mass of the mean that is not yet taken
    wanted: F64  # [bucket of a hand] mass of the hand that is not yet placed
    active: I32  # [bucket of a hand]


def potential_kmeans(
    next_buckets: U16,
    weights: F64,
    clusters: int,
    ground: F32,
    *,
    seed: int,
    iterations: int = 100,
    threads: int | None = None,
    progress: Fraction | None = None,
) -> Clustering:
    """Clusters of hands given as one next bucket for each next deal, uint16[hand, deal], in any order.

    `ground` is float32[bucket, bucket]. Centroids are distributions, float32[cluster, bucket]; the cost is the
    weighted mean distance. Seeding is k-means++, by distance.

    >>> ground = np.array([[0, 1, 9], [1, 0, 9], [9, 9, 0]], np.float32)
    >>> hands = np.array([[0, 0], [2, 2], [0, 1]], np.uint16)
    >>> potential_kmeans(hands, np.ones(3), 2, ground, seed=1).labels.tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """
    weights = np.asarray(weights, np.float64)
    _check(next_buckets, weights, ground)
    if min(clusters, iterations) < 1:
        raise InputError(f"{clusters} clusters, {iterations} iterations", remedy="give at least one of each")
    with spread_over(threads) as spread:
        work = _Work(next_buckets, ground, spread)
        centroids = _seeded(work, weights, clusters, np.random.default_rng(seed), progress)
        best: Clustering | None = None
        stalled = 0
        moved = len(weights)
        for iteration in range(1, iterations + 1):
            cost = float((weights * work.away).sum() / weights.sum())
            stalled = 0 if best is None or cost < best.cost else stalled + 1
            if not stalled:
                best = Clustering(centroids, work.labels.copy(), cost, iteration, moved)
            if moved == 0 or stalled == PATIENCE or iteration == iterations:
                break
            centroids = _means(work, weights, centroids)
            moved = work.assign(centroids)
            if progress:
                progress((1 + iteration / iterations) / 2)
    assert best is not None
    return replace(best, iterations=iteration, moved=moved)


def potential_nearest(next_buckets: U16, centroids: F32, ground: F32, threads: int | None = None) -> tuple[I32, F32]:
    """Each hand's nearest mean, the lowest number among equals, and the distance: int32[hand], float32[hand]."""
    _check(next_buckets, np.ones(len(next_buckets)), ground)
    if centroids.ndim != 2 or centroids.shape[1] != len(ground):
        raise InputError(f"means of shape {centroids.shape}", remedy=f"give [mean, {len(ground)}]")
    with spread_over(threads) as spread:
        work = _Work(next_buckets, ground, spread)
        for number, mean in enumerate(centroids):
            work.offer(number, mean)
        return work.labels, work.away.astype(np.float32)


def _check(next_buckets: U16, weights: F64, ground: F32) -> None:
    if ground.ndim != 2 or ground.shape[0] != ground.shape[1] or not (np.isfinite(ground) & (ground >= 0)).all():
        raise InputError(f"ground distances of shape {ground.shape}", remedy="give numbers from 0, [bucket, bucket]")
    if (
        next_buckets.ndim != 2
        or not 0 < next_buckets.shape[1] < 1 << 16
        or not len(next_buckets)
        or not np.issubdtype(next_buckets.dtype, np.integer)
    ):
        raise InputError(f"next buckets of shape {next_buckets.shape}", remedy="give whole numbers, [hand, deal]")
    if next_buckets.min() < 0 or next_buckets.max() >= len(ground) or len(ground) > 1 << 16:
        what = f"next buckets from {next_buckets.min()} to {next_buckets.max()}"
        raise InputError(what, remedy=f"the ground distance has buckets 0 to {len(ground) - 1}")
    if (
        weights.shape != (len(next_buckets),)
        or not np.isfinite(weights).all()
        or weights.min() < 0
        or not weights.any()
    ):
        raise InputError("the weights do not fit the hands", remedy="give one number from 0 a hand, not all 0")


class _Work:
    """The hands, the nearest mean of each so far, and the threads."""

    def __init__(self, next_buckets: U16, ground: F32, spread: Spread) -> None:
        self.ground = np.ascontiguousarray(ground, np.float32)
        self.order = np.argsort(self.ground, axis=1, kind="stable").astype(np.uint16)
        self.spread = spread
        self.slack = 1e-6 * float(self.ground.max())
        self.anchors = _anchors(self.ground)
        self.hands = _hands(next_buckets, self.anchors)
        self.everyone = np.arange(len(next_buckets), dtype=np.int32)
        self.most_buckets = int(np.diff(self.hands.start).max())
        self.labels = np.full(len(next_buckets), -1, np.int32)
        self.away = np.full(len(next_buckets), np.inf)

    def arranged(self, centroid: F32) -> Mean:
        """A mean's buckets, in order of distance from every bucket."""
        wide = centroid.astype(np.float64) / centroid.sum(dtype=np.float64)
        support = np.flatnonzero(wide)
        place = np.full(len(wide), -1, np.int32)
        place[support] = np.arange(len(support))
        near = np.empty((len(wide), len(support)), np.uint16)
        apart = np.empty(near.shape, np.float32)

        def build(first: int, last: int) -> None:
            here = slice(first, last)
            sort_support(self.order[here], self.ground[here], place, near[here], apart[here])

        self.spread(build, len(wide), 256)
        return Mean(wide[support], near, apart, (self.anchors @ wide).astype(np.float32))

    def offer(self, number: int, centroid: F32, only: I32 | None = None) -> None:
        """Compare a mean with all hands, or with some, and update their nearest mean."""
        mean = self.arranged(centroid)
        who = self.everyone if only is None else only

        def work(first: int, last: int) -> None:
            scratch = GreedyBuffers(
                np.empty(len(mean.mass)), np.empty(self.most_buckets), np.empty(self.most_buckets, np.int32)
            )
            offer(who[first:last], self.hands, mean, number, self.slack, scratch, self.labels, self.away)

        self.spread(work, len(who), CHUNK)

    def assign(self, centroids: F32) -> int:
        """Assign all hands to their nearest mean; returns how many moved. Old labels come first, for a tight bound."""
        before = self.labels.copy()
        start, order = _by_label(before, len(centroids))
        self.labels[:] = -1
        self.away[:] = np.inf
        for number, centroid in enumerate(centroids):
            self.offer(number, centroid, order[start[number] : start[number + 1]])
        for number, centroid in enumerate(centroids):
            self.offer(number, centroid)
        return int((self.labels != before).sum())

    def distribution(self, hand: int) -> F32:
        """A hand as a mean: float32[bucket]."""
        here = slice(self.hands.start[hand], self.hands.start[hand + 1])
        result = np.zeros(len(self.ground), np.float32)
        result[self.hands.bucket[here]] = self.hands.deals[here] * self.hands.share
        return result


def _anchors(ground: F32) -> F64:
    """Distances from buckets that are far apart, each divided by its Lipschitz constant: float64[anchor, bucket]."""
    chosen = [0]
    while len(chosen) < min(ANCHORS, len(ground)):
        chosen.append(int(ground[chosen].min(axis=0).argmax()))
    functions = np.asarray(ground[chosen], np.float64)
    for function in functions:
        steepest = 1.0
        for bucket, value in enumerate(function):
            rise = np.abs(function - value)
            uneven = rise > 0
            with np.errstate(divide="ignore"):
                steepest = max(steepest, (rise[uneven] / ground[bucket, uneven]).max(initial=0.0))
        function /= steepest  # 0 where two buckets at distance 0 differ
    return functions


def _hands(next_buckets: U16, anchors: F64) -> Hands:
    ordered = np.sort(next_buckets, axis=1).astype(np.uint16)
    new = np.ones(ordered.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    start = np.concatenate([[0], np.cumsum(new.sum(axis=1))])
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, ordered.size))
    bucket, share = ordered.ravel()[first], 1 / ordered.shape[1]
    shadow = np.zeros((len(ordered), len(anchors)), np.float32)
    for anchor, function in enumerate(anchors):
        shadow[:, anchor] = np.add.reduceat(function[bucket] * count, start[:-1]) * share
    return Hands(start, bucket, count.astype(np.uint16), shadow, share)


def _seeded(work: _Work, weights: F64, clusters: int, rng: np.random.Generator, progress: Fraction | None) -> F32:
    """Means at randomly drawn hands (k-means++), and every hand's nearest mean."""
    centroids = np.zeros((clusters, len(work.ground)), np.float32)
    cost = weights
    for number in range(clusters):
        running = np.cumsum(cost)
        if not running[-1] > 0:
            what = f"{clusters} clusters, but only {number} distinct hands of positive weight"
            raise InputError(what, remedy=f"ask for at most {number}")
        hand = int(np.searchsorted(running, rng.random() * running[-1], side="right"))
        centroids[number] = work.distribution(min(hand, int(np.flatnonzero(cost)[-1])))
        work.offer(number, centroids[number])
        cost = weights * work.away
        if progress:
            progress((number + 1) / clusters / 2)
    return centroids


def _by_label(labels: I32, clusters: int) -> tuple[I64, I32]:
    start, order = np.zeros(clusters + 2, np.int64), np.empty(len(labels), np.int32)
    sort_by_label(labels, start, order)
    return start, order


def _means(work: _Work, weights: F64, centroids: F32) -> F32:
    """The weighted mean of each cluster; an empty cluster moves to the farthest hand."""
    start, order = _by_label(work.labels, len(centroids))
    sums, mass = np.zeros(centroids.shape), np.zeros(len(centroids))

    def add(first: int, last: int) -> None:
        sum_hands(work.hands, weights, order, start[first : last + 1], sums[first:last], mass[first:last])

    work.spread(add, len(centroids), max(1, len(centroids) // 64))
    result, labels = centroids.copy(), work.labels.copy()
    filled = mass > 0
    result[filled] = (sums[filled] / mass[filled, None]).astype(np.float32)
    for cluster in np.flatnonzero(~filled):
        farthest = int(np.where(weights > 0, work.away, 0.0).argmax())
        if work.away[farthest] > 0:
            result[cluster] = work.distribution(farthest)
            work.offer(int(cluster), result[cluster])  # so that the next empty cluster gets another hand
    work.labels[:] = labels
    return result


@kernel
def sum_hands(hands: Hands, weights: F64, order: I32, start: I64, sums: F64, mass: F64) -> None:
    """IN: float64[hand], int32[hand] by label, int64[cluster + 1]; OUT: float64[cluster, bucket], float64[cluster]."""
    for cluster in range(mass.size):
        for hand in order[start[cluster] : start[cluster + 1]]:
            mass[cluster] += weights[hand]
            for i in range(hands.start[hand], hands.start[hand + 1]):
                sums[cluster, hands.bucket[i]] += weights[hand] * (np.float64(hands.deals[i]) * hands.share)


@kernel
def sort_support(order: U16, ground: F32, place: I32, near: U16, apart: F32) -> None:
    """The mean's buckets in order of distance. IN: uint16[bucket, round], float32[bucket, bucket], int32[bucket]."""
    for bucket in range(order.shape[0]):
        count = 0
        for other in order[bucket]:
            if place[other] >= 0:
                near[bucket, count] = place[other]
                apart[bucket, count] = ground[bucket, other]
                count += 1


@kernel
def offer(
    who: I32,
    hands: Hands,
    mean: Mean,
    number: int,
    slack: float,
    scratch: GreedyBuffers,
    labels: I32,
    away: F64,
) -> None:
    """Compare one mean with some hands. IN: int32[some]; IN OUT: int32[hand], float64[hand]."""
    for hand in who:
        if labels[hand] == number:
            continue
        limit = away[hand]
        below = 0.0
        for anchor in range(mean.shadow.size):
            below = max(below, np.float64(abs(hands.shadow[hand, anchor] - mean.shadow[anchor])))
        if below - slack > limit:
            continue
        here = slice(hands.start[hand], hands.start[hand + 1])
        cost = greedy_distance(hands.bucket[here], hands.deals[here], hands.share, mean, limit, scratch)
        if cost < limit or (cost == limit and number < labels[hand]):
            labels[hand] = number
            away[hand] = cost


@inlined
def greedy_distance(bucket: U16, deals: U16, share: float, mean: Mean, limit: float, scratch: GreedyBuffers) -> float:
    """The heuristic distance of a hand and a mean, or something above `limit`.

    IN: uint16[element], uint16[element].
    """
    left, wanted, active = scratch.left, scratch.wanted, scratch.active
    for place in range(mean.mass.size):
        left[place] = mean.mass[place]
    for i in range(bucket.size):
        wanted[i] = np.float64(deals[i]) * share
        active[i] = i
    count = bucket.size
    total = 0.0
    for turn in range(mean.mass.size):
        still = 0
        rest = 0.0  # a lower bound on the cost of the mass not yet placed
        for i in active[:count]:
            place = mean.near[bucket[i], turn]
            apart = np.float64(mean.apart[bucket[i], turn])
            amount = min(left[place], wanted[i])
            total += amount * apart
            left[place] -= amount
            wanted[i] -= amount
            if wanted[i] > ROUNDING * (np.float64(deals[i]) * share):
                rest += wanted[i] * apart
                active[still] = i
                still += 1
        count = still
        if count == 0 or total + rest > limit * (1 + 1e-9):
            return total + rest
    return total
