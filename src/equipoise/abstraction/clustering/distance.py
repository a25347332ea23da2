"""Distances between hands: Euclidean ("l2"), and the earth mover's distance of one-dimensional histograms ("emd").

The second is the L1 distance of the cumulative distributions (Johanson and others 2013, Evaluating State-Space
Abstractions in Extensive-Form Games), here in units of the whole range: all mass moved from the first of b bins to
the last costs (b - 1) / b. So both are norms of a difference of coordinates, and one set of kernels serves both.

Centroids are stored in blocks of sixteen lanes, `blocks` float32[block, coordinate, lane], and measured together in
float32, always in the same order of coordinates: such a distance has the same bits wherever it is computed.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import F32, F64, I32, aligned_zeros
from equipoise.core.errors import InputError
from equipoise.core.jit import inlined, kernel
from equipoise.core.simd import LANES, absolute, add, lane_sum, load, multiply_add, spread, store, subtract, zeros

Metric: TypeAlias = Literal["l2", "emd"]
Numbers: TypeAlias = npt.NDArray[Any]

NOBODY: Final = np.iinfo(np.int32).max  # the number of an empty lane
FAR: Final = 1e15  # its coordinates


def distances(points: Numbers, others: Numbers, metric: Metric) -> F32:
    """The distance from every point to every other: float32[point, other].

    >>> distances(np.array([[4, 0, 0, 0]]), np.array([[0, 0, 0, 1], [1, 1, 1, 1]]), "emd")
    array([[0.75 , 0.375]], dtype=float32)
    """
    rows, columns = coordinates(points, metric), coordinates(others, metric)
    if points.shape[1] != others.shape[1]:
        raise InputError("points of different widths", remedy="give both the same number of columns")
    matrix = np.empty((len(rows), len(columns)), np.float32)
    blocks, member = packed(columns, used_columns(points, metric))
    measure_all(rows, blocks, member, metric == "l2", np.empty(LANES, np.float32), matrix)
    return matrix


def used_columns(points: Numbers, metric: Metric) -> int:
    """How many coordinates a point has; a cumulative distribution's last is always one and is left out."""
    return max(1, int(points.shape[1]) - (metric == "emd"))


def coordinates(points: Numbers, metric: Metric, first: int = 0) -> F32:
    """The points whose L1 ("emd") or L2 distance is taken: float32[point, column], padded to a multiple of sixteen.

    A histogram may have any positive sum: it is normalised. `first` is the number of the first point, for messages.
    """
    if points.ndim != 2 or not points.size or not np.issubdtype(points.dtype, np.number):
        what = f"points of shape {points.shape} and type {points.dtype}"
        raise InputError(what, remedy="give numbers[point, column]")
    width = -(-used_columns(points, metric) // LANES) * LANES
    rows: F32 = aligned_zeros(len(points) * width, np.float32).reshape(len(points), width)
    if metric == "emd":
        bad = cumulate(np.ascontiguousarray(points), rows)
        if bad >= 0:
            what = f"point {first + bad} is not a histogram: its sum is 0, or it has a negative number"
            raise InputError(what, remedy="give counts or shares")
    else:
        rows[:, : points.shape[1]] = points
        if not np.isfinite(rows).all():
            raise InputError("a point has a coordinate that is not finite", remedy="remove it")
    return rows


@kernel
def cumulate(histograms: Numbers, rows: F32) -> int:
    """Cumulative shares over the number of bins; the first bad row or -1. IN: [row, bin]; OUT: float32[row, column]."""
    bins = histograms.shape[1]
    for i in range(histograms.shape[0]):
        total = 0.0
        for j in range(bins):
            if not histograms[i, j] >= 0:
                return i
            total += np.float64(histograms[i, j])
        if not 0.0 < total < np.inf:
            return i
        factor = 1.0 / (total * bins)
        running = 0.0
        for j in range(bins - 1):
            running += np.float64(histograms[i, j])
            rows[i, j] = np.float32(running * factor)
    return -1


def histograms_of(rows: F64, bins: int) -> F32:
    """Histograms from their coordinates (means of coordinates are coordinates of means): float32[row, bin]."""
    cumulative = np.concatenate([np.zeros((len(rows), 1)), rows[:, : bins - 1] * bins, np.ones((len(rows), 1))], axis=1)
    return np.maximum(np.diff(cumulative, axis=1), 0.0).astype(np.float32)


def packed(rows: F32, columns: int, order: Numbers | None = None) -> tuple[F32, I32]:
    """Rows in blocks of sixteen lanes, in the given order: float32[block, column, lane]; and the row of each lane."""
    order = np.arange(len(rows)) if order is None else order
    count = -(-len(rows) // LANES)
    member = np.full(count * LANES, NOBODY, np.int32)
    member[: len(order)] = order
    loose = np.full((count * LANES, columns), FAR, np.float32)
    loose[: len(order)] = rows[order, :columns]
    blocks: F32 = aligned_zeros(loose.size, np.float32).reshape(count, columns, LANES)
    blocks[:] = loose.reshape(count, LANES, columns).transpose(0, 2, 1)
    return blocks, member.reshape(count, LANES)


@inlined
def block_lanes(row: F32, block: F32, squared: bool) -> Any:
    """From one point to sixteen centroids, as lanes; squared for "l2". IN: float32[column], float32[column, lane]."""
    even, odd = zeros(block), zeros(block)  # two sums, so that additions need not wait for each other
    pairs = block.shape[0] // 2
    if squared:
        for j in range(pairs):
            gap = subtract(load(block, 2 * j), spread(row[2 * j], even))
            even = multiply_add(gap, gap, even)
            gap = subtract(load(block, 2 * j + 1), spread(row[2 * j + 1], odd))
            odd = multiply_add(gap, gap, odd)
        if block.shape[0] % 2:
            gap = subtract(load(block, 2 * pairs), spread(row[2 * pairs], even))
            even = multiply_add(gap, gap, even)
    else:
        for j in range(pairs):
            even = add(even, absolute(subtract(load(block, 2 * j), spread(row[2 * j], even))))
            odd = add(odd, absolute(subtract(load(block, 2 * j + 1), spread(row[2 * j + 1], odd))))
        if block.shape[0] % 2:
            even = add(even, absolute(subtract(load(block, 2 * pairs), spread(row[2 * pairs], even))))
    return add(even, odd)


@inlined
def row_distance(one: F32, two: F32, squared: bool) -> Any:
    """Between two padded rows, sixteen columns at a time: fast for one pair, but not bit-identical to `block_lanes`."""
    total = zeros(one)
    if squared:
        for j in range(one.size // LANES):
            gap = subtract(load(one, j), load(two, j))
            total = multiply_add(gap, gap, total)
        return np.sqrt(lane_sum(total))
    for j in range(one.size // LANES):
        total = add(total, absolute(subtract(load(one, j), load(two, j))))
    return lane_sum(total)


@kernel
def measure_all(rows: F32, blocks: F32, member: I32, squared: bool, lanes: F32, matrix: F32) -> None:
    """All pairs. IN: float32[row, column], float32[block, column, lane], int32[block, lane]; scratch: float32[lane];
    OUT: float32[row, member].
    """
    for i in range(rows.shape[0]):
        for block in range(blocks.shape[0]):
            store(lanes, 0, block_lanes(rows[i], blocks[block], squared))
            for lane in range(LANES):
                if member[block, lane] != NOBODY:
                    matrix[i, member[block, lane]] = np.sqrt(lanes[lane]) if squared else lanes[lane]
