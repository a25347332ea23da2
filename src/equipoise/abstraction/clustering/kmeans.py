"""Weighted k-means, Euclidean or with the earth mover's distance of histograms (Johanson and others 2013).

Seeding is k-means++ (`seeding.py`). Lloyd's iteration uses the triangle inequality to skip points whose nearest
centroid cannot have changed (Hamerly 2010, except that a point's bound shrinks by the drift of nearby centroids only),
and for the other points most centroids (`nearest.py`). The labels are exact, and the same for any number of threads.

A centroid is the mean, also for "emd", where the mean does not minimise the total distance; so the cost need not fall
at every step. A run ends when no label changes or the cost has not fallen `PATIENCE` times in a row. The best is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise.abstraction.clustering.distance import (
    Metric,
    Numbers,
    coordinates,
    histograms_of,
    row_distance,
    used_columns,
)
from equipoise.abstraction.clustering.nearest import (
    CHUNK,
    Centroids,
    Spread,
    arrange,
    guessed,
    nearest,
    search,
    spread_over,
)
from equipoise.abstraction.clustering.seeding import drawn_centres, measure_to
from equipoise.core.arrays import F32, F64, I32, I64
from equipoise.core.errors import InputError
from equipoise.core.jit import kernel
from equipoise.core.progress import Fraction, part
from equipoise.core.simd import LANES

__all__ = ["Clustering", "choose_centres", "kmeans", "lloyd", "nearest"]

PATIENCE = 3
NEIGHBOURS = 8  # blocks whose drift counts for a point; all others are farther away


@dataclass(frozen=True)
class Clustering:
    """Points in clusters: each point's label is its nearest centroid."""

    centroids: F32  # [cluster, column]; of histograms, rows that sum to one
    labels: I32  # [point]
    cost: float  # weighted mean of the squared distance ("l2") or of the distance ("emd")
    iterations: int  # number of iterations run
    moved: int  # points that changed their label in the last of them


def kmeans(
    points: Numbers,
    weights: F64,
    clusters: int,
    *,
    metric: Metric,
    seed: int,
    restarts: int = 1,
    iterations: int = 100,
    threads: int | None = None,
    progress: Fraction | None = None,
) -> Clustering:
    """The best of `restarts` runs from different seeds; `progress` receives the fraction done.

    >>> found = kmeans(np.array([[0.0], [0.1], [7.0], [7.2]]), np.array([1, 1, 1, 3]), 2, metric="l2", seed=1)
    >>> [round(centre, 2) for centre in sorted(found.centroids[:, 0].tolist())]
    [0.05, 7.15]
    """
    rows, weights = _checked(points, weights, metric)
    if min(clusters, restarts, iterations) < 1:
        what = f"{clusters} clusters, {restarts} restarts, {iterations} iterations"
        raise InputError(what, remedy="give at least one of each")
    best: Clustering | None = None
    for run, stream in enumerate(np.random.SeedSequence(seed).spawn(restarts)):
        own = part(progress, run / restarts, (run + 1) / restarts)
        centres = drawn_centres(rows, weights, clusters, metric, stream, threads, part(own, 0, 0.2))
        initial = _as_centroids(np.asarray(rows[centres], np.float64), points.shape[1], metric)
        found = _lloyd(rows, weights, initial, metric, iterations, threads, part(own, 0.2, 1))
        best = found if best is None or found.cost < best.cost else best
    assert best is not None
    return best


def lloyd(
    points: Numbers,
    weights: F64,
    centroids: Numbers,
    *,
    metric: Metric,
    iterations: int = 100,
    threads: int | None = None,
    progress: Fraction | None = None,
    pruned: bool = True,
) -> Clustering:
    """Lloyd's iteration from given centroids. Without `pruned` every distance is computed: the same result, slower."""
    rows, weights = _checked(points, weights, metric)
    if centroids.ndim != 2 or centroids.shape[1] != points.shape[1] or iterations < 1:
        what = f"centroids of shape {centroids.shape}, {iterations} iterations"
        raise InputError(what, remedy=f"give [cluster, {points.shape[1]}] and at least one iteration")
    return _lloyd(rows, weights, np.asarray(centroids, np.float32), metric, iterations, threads, progress, pruned)


def choose_centres(
    points: Numbers, weights: F64, clusters: int, *, metric: Metric, seed: int, threads: int | None = None
) -> I64:
    """k-means++: the points to start from, in the order drawn."""
    rows, weights = _checked(points, weights, metric)
    return drawn_centres(rows, weights, clusters, metric, np.random.SeedSequence(seed), threads, None)


def _checked(points: Numbers, weights: F64, metric: Metric) -> tuple[F32, F64]:
    if metric not in ("l2", "emd"):
        raise InputError(f"metric {metric!r}", remedy='give "l2" or "emd"')
    rows = coordinates(points, metric)
    weights = np.asarray(weights, np.float64)
    if weights.shape != (len(rows),) or not np.isfinite(weights).all() or weights.min() < 0 or not weights.any():
        raise InputError("the weights do not fit the points", remedy="give one number from 0 a point, not all 0")
    return rows, weights


def _as_centroids(rows: F64, width: int, metric: Metric) -> F32:
    return histograms_of(rows, width) if metric == "emd" else rows[:, :width].astype(np.float32)


def _lloyd(
    rows: F32,
    weights: F64,
    centroids: F32,
    metric: Metric,
    iterations: int,
    threads: int | None,
    progress: Fraction | None,
    pruned: bool = True,
) -> Clustering:
    size, columns = len(rows), used_columns(centroids, metric)
    labels, lower, away = np.full(size, -1, np.int32), np.zeros(size, np.float32), np.zeros(size, np.float32)
    index: Centroids | None = None
    best: Clustering | None = None
    stalled = 0
    with spread_over(threads) as spread:
        for iteration in range(1, iterations + 1):
            before = index
            index = arrange(coordinates(centroids, metric), columns, metric, spread, pruned=pruned)
            drift, edge = _drift(before, index)

            def work(first: int, last: int, index: Centroids = index, drift: F32 = drift, edge: F32 = edge) -> int:
                here = slice(first, last)
                lanes = np.empty(LANES, np.float32)
                return assign(rows[here], index, drift, edge, lanes, labels[here], lower[here], away[here])

            moved = sum(spread(work, size, CHUNK))
            cost = _mean_cost(weights, away, metric)
            stalled = 0 if best is None or cost < best.cost else stalled + 1
            if not stalled:
                best = Clustering(centroids, labels.copy(), cost, iteration, moved)
            if progress:
                progress(iteration / iterations)
            if moved == 0 or stalled == PATIENCE or iteration == iterations:
                break
            centroids = _means(rows, weights, labels, away, centroids, metric, spread)
    assert best is not None
    return replace(best, iterations=iteration, moved=moved)


def _drift(before: Centroids | None, now: Centroids) -> tuple[F32, F32]:
    """How far the centroids near each one have moved at most, and how far from it all others are: float32[centroid]."""
    edge = np.full(len(now.rows), np.inf, np.float32)
    if before is None or not now.near.size:
        return edge, edge
    moved = np.zeros(len(now.rows) + 1, np.float32)  # the last for lanes without a centroid
    measure_pairs(before.rows, now.rows, now.squared, moved[:-1])
    of_block = moved[np.minimum(now.member, len(now.rows))].max(axis=1)
    drift = of_block[now.near[:, :NEIGHBOURS]].max(axis=1) * (1 + now.slack)
    if now.near.shape[1] > NEIGHBOURS:
        edge = now.bound[:, NEIGHBOURS] * (1 - now.slack)
    return drift, edge


@kernel
def measure_pairs(ones: F32, twos: F32, squared: bool, away: F32) -> None:
    """Row by row. IN: float32[row, column] twice; OUT: float32[row]."""
    for i in range(ones.shape[0]):
        away[i] = row_distance(ones[i], twos[i], squared)


@kernel
def assign(rows: F32, index: Centroids, drift: F32, edge: F32, lanes: F32, labels: I32, lower: F32, away: F32) -> int:
    """Each point to its nearest centroid; how many went elsewhere.

    IN: float32[point, column], float32[centroid]; scratch: float32[lane];
    INOUT: int32[point] labels, -1 at first, float32[point] no more than the distance of the second nearest;
    OUT: float32[point] distances.
    """
    moved = 0
    one = np.float32(1)
    for i in range(rows.shape[0]):
        label = labels[i]
        if label < 0:
            label, _ = guessed(rows[i], index, lanes)
        away[i] = row_distance(rows[i], index.rows[label], index.squared)
        reach = away[i] * (one + index.slack)
        if labels[i] >= 0:
            # What comes near enough to matter was near before; what did not is farther away than the edge.
            lower[i] = min((lower[i] - drift[label]) * (one - index.slack), edge[label] - reach)
            if reach < max(lower[i], index.gap[label] * (one - index.slack) - reach):
                continue
        found, _, lower[i] = search(rows[i], index, label, away[i], True, lanes)
        if found != label:
            away[i] = row_distance(rows[i], index.rows[found], index.squared)
        if found != labels[i]:
            labels[i] = found
            moved += 1
    return moved


def _mean_cost(weights: F64, away: F32, metric: Metric) -> float:
    wide = away.astype(np.float64)
    return float((weights * (np.square(wide) if metric == "l2" else wide)).sum() / weights.sum())


def _means(rows: F32, weights: F64, labels: I32, away: F32, centroids: F32, metric: Metric, spread: Spread) -> F32:
    """The weighted mean of each cluster, summed in the order of the points; an empty one goes to the farthest point."""
    clusters = len(centroids)
    start, order = np.zeros(clusters + 2, np.int64), np.empty(len(labels), np.int32)
    sort_by_label(labels, start, order)
    means, mass = np.zeros((clusters, rows.shape[1])), np.zeros(clusters)

    def work(first: int, last: int) -> None:
        sum_clusters(rows, weights, order, start[first : last + 1], means[first:last], mass[first:last])

    spread(work, clusters, max(1, clusters // 64))
    result = centroids.copy()
    filled = mass > 0
    result[filled] = _as_centroids(means[filled] / mass[filled, None], centroids.shape[1], metric)
    if not filled.all():
        away = np.where(weights > 0, away, np.float32(0))
        near = np.empty_like(away)
        for cluster in np.flatnonzero(~filled):
            farthest = int(away.argmax())
            if away[farthest] > 0:
                point = rows[farthest : farthest + 1]
                result[cluster] = _as_centroids(np.asarray(point, np.float64), centroids.shape[1], metric)[0]
                measure_to(rows, point[0], metric == "l2", near)
                away = np.minimum(away, near)
    return result


@kernel
def sort_by_label(labels: I32, start: I64, order: I32) -> None:
    """Points of each label, ascending. IN: int32[point]; OUT: int64[label + 2] starts, zero before, int32[point]."""
    for label in labels:
        start[label + 2] += 1
    for label in range(2, start.size):
        start[label] += start[label - 1]
    for i in range(labels.size):
        order[start[labels[i] + 1]] = i
        start[labels[i] + 1] += 1


@kernel
def sum_clusters(rows: F32, weights: F64, order: I32, start: I64, sums: F64, mass: F64) -> None:
    """IN: float32[point, column], float64[point], int32[point], int64[cluster + 1]; OUT: float64[cluster, column],
    float64[cluster], zero before.
    """
    for cluster in range(mass.size):
        total = sums[cluster]
        for i in order[start[cluster] : start[cluster + 1]]:
            mass[cluster] += weights[i]
            for j in range(total.size):
                total[j] += weights[i] * np.float64(rows[i, j])
