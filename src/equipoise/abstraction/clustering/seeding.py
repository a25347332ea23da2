"""Weighted k-means++ seeding (Arthur and Vassilvitskii 2007): each centre is drawn with probability proportional to a
point's cost, the squared distance to its nearest centre for "l2" and the distance for "emd".

Every point is in the list of its nearest centre. By the triangle inequality a new centre can take points only from a
centre less than two radii away, and of those only points farther from it than half the distance between the centres.
Most lists are skipped (as in Raff 2021, Exact Acceleration of K-Means++, which sorts the points instead). The draws are
those of the plain algorithm up to rounding, for any number of threads.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from equipoise.abstraction.clustering.distance import Metric, row_distance
from equipoise.abstraction.clustering.nearest import spread_over
from equipoise.core.arrays import F32, F64, I32, I64
from equipoise.core.errors import InputError
from equipoise.core.jit import inlined, kernel
from equipoise.core.progress import Fraction

PART = 1 << 17  # points; constant, so that the lists do not depend on the number of threads
Seed: TypeAlias = np.random.SeedSequence


class _Lists(NamedTuple):
    """Points in lists, one for each part of the points and each centre drawn so far: those nearest to that centre."""

    away: F32  # [point] from its nearest centre
    following: I32  # [point] the next in the list, -1 at its end
    first: I32  # [part, centre] the list's first point
    radius: F32  # [part, centre] the largest distance in the list
    mass: F64  # [part, centre] the total cost of its points


def drawn_centres(
    rows: F32, weights: F64, clusters: int, metric: Metric, seed: Seed, threads: int | None, progress: Fraction | None
) -> I64:
    """The points drawn as centres, in order. Before the first draw the cost of a point is its weight."""
    squared, size, parts = metric == "l2", len(rows), -(-len(rows) // PART)
    draws = np.random.default_rng(seed).random(clusters)
    chosen, centres = np.zeros(clusters, np.int64), np.zeros((clusters, rows.shape[1]), np.float32)
    starts = np.arange(0, size, PART)
    lists = _Lists(
        away=np.ones(size, np.float32),
        following=np.arange(1, size + 1, dtype=np.int32),
        first=np.full((parts, clusters), -1, np.int32),
        radius=np.full((parts, clusters), np.inf, np.float32),
        mass=np.zeros((parts, clusters)),
    )
    lists.following[[*(starts[1:] - 1), size - 1]] = -1
    lists.first[:, 0] = starts
    lists.mass[:, 0] = np.add.reduceat(weights, starts)
    between = np.zeros(clusters, np.float32)
    with spread_over(threads) as spread:
        for centre in range(clusters):
            point = draw_centre(weights, squared, draws[centre], max(1, centre), lists)
            if point < 0:
                what = f"{clusters} clusters, but only {centre} distinct points of positive weight"
                raise InputError(what, remedy=f"ask for at most {centre}")
            chosen[centre], centres[centre] = point, rows[point]
            measure_to(centres[:centre], rows[point], squared, between)

            def work(part: int, _end: int, centre: int = centre) -> None:
                take_points(rows, weights, squared, centres[centre], between, centre, part, lists)

            spread(work, parts, 1)
            if progress:
                progress((centre + 1) / clusters)
    return chosen


@kernel
def draw_centre(weights: F64, squared: bool, fraction: float, centres: int, lists: _Lists) -> int:
    """The point at a fraction of the total cost, list after list; -1 if the total is 0."""
    total = 0.0
    for part in range(lists.mass.shape[0]):
        for centre in range(centres):
            total += lists.mass[part, centre]
    left = fraction * total
    found = -1
    for part in range(lists.mass.shape[0]):
        for centre in range(centres):
            mass = lists.mass[part, centre]
            if mass > 0:
                found = lists.first[part, centre]
                if left < mass:
                    return _point_at(weights, squared, left, found, lists)
                left -= mass
    # Reached only by rounding, at the end of the last list.
    return _point_at(weights, squared, np.inf, found, lists)


@inlined
def _point_at(weights: F64, squared: bool, left: float, point: int, lists: _Lists) -> int:
    """The point of a list where the running cost exceeds `left`, or the last point of positive cost."""
    found = -1
    while point >= 0:
        cost = _cost(weights[point], lists.away[point], squared)
        if cost > 0:
            found = point
            if left < cost:
                break
            left -= cost
        point = lists.following[point]
    return found


@inlined
def _cost(weight: float, away: np.float32, squared: bool) -> float:
    return weight * np.float64(away) * (np.float64(away) if squared else 1.0)


@kernel
def take_points(
    rows: F32, weights: F64, squared: bool, new: F32, between: F32, centre: int, part: int, lists: _Lists
) -> None:
    """Move the points of one part that are nearer to a new centre to its list.

    IN: float32[point, column], float64[point], float32[column], float32[centre] from the new one; INOUT: the lists.
    """
    if centre == 0:
        lists.radius[part, 0], lists.mass[part, 0] = _measured(rows, weights, squared, new, lists.first[part, 0], lists)
        return
    last = -1
    far = np.float32(0)
    saved = 0.0
    for other in range(centre):
        half = between[other] * np.float32(
            0.4999
        )  # with a margin for rounding: points nearer to their centre than this stay
        if half >= lists.radius[part, other]:
            continue
        radius = np.float32(0)
        mass = 0.0
        before = -1
        point = lists.first[part, other]
        while point >= 0:
            after = lists.following[point]
            away = lists.away[point]
            nearer = row_distance(rows[point], new, squared) if half < away else away
            if nearer < away:
                lists.away[point] = nearer
                far = max(far, nearer)
                saved += _cost(weights[point], nearer, squared)
                _link(last, point, part, centre, lists)
                _link(before, after, part, other, lists)
                last = point
            else:
                radius = max(radius, away)
                mass += _cost(weights[point], away, squared)
                before = point
            point = after
        lists.radius[part, other], lists.mass[part, other] = radius, mass
    _link(last, -1, part, centre, lists)
    lists.radius[part, centre], lists.mass[part, centre] = far, saved


@inlined
def _link(before: int, point: int, part: int, centre: int, lists: _Lists) -> None:
    """Put a point after another in a list, or at its head."""
    if before < 0:
        lists.first[part, centre] = point
    else:
        lists.following[before] = point


@inlined
def _measured(rows: F32, weights: F64, squared: bool, new: F32, point: int, lists: _Lists) -> tuple[np.float32, float]:
    """Measure all points of a list again; its radius and cost."""
    radius = np.float32(0)
    mass = 0.0
    while point >= 0:
        away = row_distance(rows[point], new, squared)
        lists.away[point] = away
        radius = max(radius, away)
        mass += _cost(weights[point], away, squared)
        point = lists.following[point]
    return radius, mass


@kernel
def measure_to(rows: F32, one: F32, squared: bool, away: F32) -> None:
    """The distance of every row to one row. IN: float32[row, column], float32[column]; OUT: float32[row]."""
    for i in range(rows.shape[0]):
        away[i] = row_distance(rows[i], one, squared)
