"""The nearest of many centroids, exactly, for streams of points.

Centroids are stored in blocks of sixteen neighbours. From a guess (a search down a tree of block means, or a point's
last label), blocks are measured in order of their distance from the guessed centroid, until the triangle inequality
excludes all later ones. This is the "exponion" algorithm of Newling and Fleuret 2016 (Fast k-means with accurate
bounds), with blocks instead of single centroids and of rings. Bounds allow for float32 rounding, so the result equals
an exhaustive search to the bit; ties go to the lowest number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from equipoise.abstraction.clustering.distance import (
    NOBODY,
    Metric,
    Numbers,
    block_lanes,
    coordinates,
    packed,
    used_columns,
)
from equipoise.core.arrays import F32, I32, I64
from equipoise.core.errors import InputError
from equipoise.core.jit import inlined, kernel
from equipoise.core.machine import thread_count
from equipoise.core.simd import LANES, smallest, store

CHUNK = 8192  # points; constant, so that chunks do not depend on the number of threads
Spread: TypeAlias = Callable[[Callable[[int, int], Any], int, int], list[Any]]  # (work(first, last), size, chunk)


class Centroids(NamedTuple):
    """Centroids and bounds, arranged for the search."""

    rows: F32  # [centroid, column], padded
    blocks: F32  # [block, column, lane]
    member: I32  # [block, lane] the centroid
    near: I32  # [centroid, place] blocks, nearest first; no places if all blocks are to be measured
    bound: F32  # [centroid, place] from the centroid to the nearest member of that block
    gap: F32  # [centroid] to the nearest other centroid
    guide: F32  # [guide block, column, lane] means of blocks, of blocks of means, and so on, largest first
    level: I64  # [level + 1] where each level of the guide starts
    slack: np.float32  # more than the relative error of a distance
    squared: bool  # whether block distances are squares


def nearest(points: Numbers, centroids: Numbers, metric: Metric, threads: int | None = None) -> tuple[I32, F32]:
    """Each point's nearest centroid, the lowest number among equals, and the distance: int32[point], float32[point].

    >>> labels, away = nearest(np.array([[3, 1], [0, 4]]), np.array([[1, 0], [0, 1]]), "emd")
    >>> labels.tolist(), away.tolist()
    ([0, 1], [0.125, 0.0])
    """
    if points.ndim != 2 or centroids.ndim != 2 or points.shape[1] != centroids.shape[1]:
        what = f"points of shape {points.shape} and centroids of shape {centroids.shape}"
        raise InputError(what, remedy="give two tables of the same number of columns")
    labels, distances = np.empty(len(points), np.int32), np.empty(len(points), np.float32)
    columns = used_columns(points, metric)
    with spread_over(threads) as spread:
        index = arrange(coordinates(centroids, metric), columns, metric, spread, pruned=len(points) > len(centroids))

        def work(first: int, last: int) -> None:
            here = slice(first, last)
            rows = coordinates(points[here], metric, first)
            find_nearest(rows, index, np.empty(LANES, np.float32), labels[here], distances[here])

        spread(work, len(points), CHUNK)
    return labels, distances


@contextmanager
def spread_over(threads: int | None) -> Iterator[Spread]:
    """A function that runs chunks of work in threads and returns the results in order."""
    with ThreadPoolExecutor(thread_count(threads)) as pool:

        def spread(work: Callable[[int, int], Any], size: int, chunk: int) -> list[Any]:
            starts = range(0, size, chunk)
            return list(pool.map(work, starts, [min(start + chunk, size) for start in starts]))

        yield spread


def arrange(rows: F32, columns: int, metric: Metric, spread: Spread, *, pruned: bool) -> Centroids:
    """Arrange centroids in blocks of neighbours, and sort the blocks by distance for each centroid."""
    order = neighbours_together(rows)
    blocks, member = packed(rows, columns, order)
    levels = [rows[order]]
    while len(levels[-1]) > 2 * LANES or len(levels) < 2:
        below = levels[-1]
        levels.append(np.stack([below[i : i + LANES].mean(axis=0) for i in range(0, len(below), LANES)]))
    guides = [packed(level, columns)[0] for level in levels[:0:-1]]
    near = np.empty((len(rows), len(blocks) if pruned else 0), np.int32)
    bound, gap = np.empty(near.shape, np.float32), np.zeros(len(rows), np.float32)
    squared = metric == "l2"

    def work(first: int, last: int) -> None:
        here = slice(first, last)
        away = np.empty((last - first, len(blocks)), np.float32)
        measure_blocks(rows[here], first, blocks, member, squared, np.empty(LANES, np.float32), away, gap[here])
        near[here] = np.argsort(away, axis=1)
        bound[here] = np.take_along_axis(away, near[here], axis=1)

    if pruned:
        spread(work, len(rows), 128)
    return Centroids(
        rows=rows,
        blocks=blocks,
        member=member,
        near=near,
        bound=bound,
        gap=gap,
        guide=np.concatenate(guides),
        level=np.cumsum([0, *map(len, guides)]),
        slack=np.float32((columns + 16) * 2.0**-23),
        squared=squared,
    )


def neighbours_together(rows: F32) -> I64:
    """An order in which each block of sixteen consecutive rows contains neighbours.

    Rows are split recursively along the line through two distant points. Each part is cut at the largest power of two
    blocks, so that the blocks of each level of the guide are neighbours too.
    """
    order = np.arange(len(rows))
    parts = [(0, len(rows))]
    while parts:
        first, last = parts.pop()
        if last - first <= LANES:
            continue
        here = rows[order[first:last]]
        one = here[np.square(here - here.mean(axis=0)).sum(axis=1).argmax()]
        two = here[np.square(here - one).sum(axis=1).argmax()]
        order[first:last] = order[first:last][np.argsort(here @ (two - one), kind="stable")]
        half = LANES
        while 2 * half < last - first:
            half *= 2
        parts += [(first, first + half), (first + half, last)]
    return order


@kernel
def measure_blocks(
    rows: F32, start: int, blocks: F32, member: I32, squared: bool, lanes: F32, away: F32, gap: F32
) -> None:
    """Distances from centroids `start`, ... to the nearest of each block, and to the nearest other centroid.

    IN: float32[row, column], float32[block, column, lane], int32[block, lane]; scratch: float32[lane];
    OUT: float32[row, block], float32[row].
    """
    for i in range(rows.shape[0]):
        other = np.float32(np.inf)
        for block in range(blocks.shape[0]):
            here = block_lanes(rows[i], blocks[block], squared)
            least = smallest(here)
            away[i, block] = np.sqrt(least) if squared else least
            if least < other:
                store(lanes, 0, here)
                for lane in range(LANES):
                    if lanes[lane] < other and member[block, lane] != start + i:
                        other = lanes[lane]
        gap[i] = np.sqrt(other) if squared else other


@kernel
def find_nearest(rows: F32, index: Centroids, lanes: F32, labels: I32, distances: F32) -> None:
    """IN: float32[point, column]; scratch: float32[lane]; OUT: int32[point], float32[point]."""
    for i in range(rows.shape[0]):
        guess, reach = guessed(rows[i], index, lanes)
        labels[i], distances[i], _ = search(rows[i], index, guess, reach, False, lanes)


@inlined
def guessed(row: F32, index: Centroids, lanes: F32) -> tuple[int, np.float32]:
    """A centroid that is probably near, from the best branch of the guide, and its distance."""
    block = 0
    count = index.level[1]
    for level in range(index.level.size - 1):
        block, _ = _best_of(row, index.guide[index.level[level] :], block, count, index.squared, lanes)
        count = 1
    place, best = _best_of(row, index.blocks, block, 1, index.squared, lanes)
    return index.member[place // LANES, place % LANES], np.sqrt(best) if index.squared else best


@inlined
def _best_of(row: F32, blocks: F32, start: int, count: int, squared: bool, lanes: F32) -> tuple[int, np.float32]:
    """The nearest of the members of a few blocks, counted from the first block's first lane."""
    best = np.float32(np.inf)
    place = 0
    for block in range(start, start + count):
        store(lanes, 0, block_lanes(row, blocks[block], squared))
        for lane in range(LANES):
            if lanes[lane] < best:
                best = lanes[lane]
                place = block * LANES + lane
    return place, best


@inlined
def search(
    row: F32, index: Centroids, start: int, reach: np.float32, second_too: bool, lanes: F32
) -> tuple[int, np.float32, np.float32]:
    """The nearest centroid, its distance, and no more than the distance of the second nearest.

    `start` is any centroid, `reach` its distance from the point; the nearer it is, the less is measured.
    With `second_too` the search goes on until the second nearest is certain.
    """
    best = np.float32(np.inf)  # squares, if distances are
    second = np.float32(np.inf)
    label = NOBODY
    limit = np.float32(np.inf)  # a block farther away than this cannot matter
    beyond = np.float32(np.inf)
    places = index.near.shape[1]
    for place in range(places if places else index.blocks.shape[0]):
        block = place
        if places:
            beyond = index.bound[start, place] * (np.float32(1) - index.slack) - reach * (np.float32(1) + index.slack)
            if beyond > limit:
                break
            block = index.near[start, place]
        here = block_lanes(row, index.blocks[block], index.squared)
        if smallest(here) <= (second if second_too else best):
            store(lanes, 0, here)
            for lane in range(LANES):
                if lanes[lane] < best or (lanes[lane] == best and index.member[block, lane] < label):
                    second = best
                    best = lanes[lane]
                    label = index.member[block, lane]
                elif lanes[lane] < second:
                    second = lanes[lane]
            limit = second if second_too else best
            limit = (np.sqrt(limit) if index.squared else limit) * (np.float32(1) + index.slack)
        beyond = np.float32(np.inf)
    second = np.sqrt(second) if index.squared else second
    return label, np.sqrt(best) if index.squared else best, min(second, beyond)
