"""Percentile buckets: hands sorted by a key (E[HS], E[HS^2]) and cut into parts of equal weight.

From Johanson (Robust Strategies and Counter-Strategies, 2007, page 24), the buckets of CFR-BR's figures 6, 10 and 11.
With parents, each parent bucket is cut by itself: buckets are nested, and the abstraction has perfect recall.

The rule. Hands of one parent and one key are a class, and stay together. Lay the classes of a parent side by side on
[0, total), by key, each as long as its weight: a class goes to the part that holds the middle of its interval, part i
being [i, i + 1) * total / parts. So each cut is off by at most half the weight of the class that lies across it, and
no bucket is off by more than the heaviest class. With fewer classes than parts some buckets stay empty. Whole-number
weights (numbers of deals) are summed exactly: then neither the order of the hands nor how a class is split matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.errors import InputError
from equipoise.core.jit import F64, I32, I64, U16, U64, inlined, kernel

MOST_BUCKETS = 2**31 - 1
_SIGN = np.uint32(1 << 31)
_32 = np.uint64(32)


def percentile_buckets(
    key: npt.NDArray[Any], weights: npt.NDArray[Any], parts: int, parents: npt.NDArray[Any] | None = None
) -> I32:
    """The bucket of each hand, int32[hand]: its part by the key, or `parent * parts + part`.

    The buckets of a float32 or 32-bit integer key take about 40 bytes a hand while they are made.

    >>> percentile_buckets(np.array([0.9, 0.1, 0.5, 0.5]), np.array([2, 2, 1, 1]), 3).tolist()
    [2, 0, 1, 1]
    """
    _check_parts(parts)
    if key.ndim != 1 or weights.shape != key.shape or (parents is not None and parents.shape != key.shape):
        raise InputError("keys, weights and parents differ in shape", remedy="give one of each for every hand")
    _check_weights(weights)
    sort_key = _ordered(key).astype(np.uint64)
    if parents is not None and parents.size:
        first, last = int(parents.min()), int(parents.max())
        if first < 0 or (last + 1) * parts > MOST_BUCKETS:
            raise InputError(f"parent buckets {first} to {last}", remedy=f"use 0 to {MOST_BUCKETS // parts - 1}")
        sort_key |= parents.astype(np.uint64) << _32
    buckets = np.empty(key.size, np.int32)
    order = np.argsort(sort_key)
    sort_key = sort_key[order]
    cut_sorted(order, sort_key, weights[order].astype(np.float64), parts, buckets)
    return buckets


def percentile_two(
    key_first: npt.NDArray[Any],
    key_second: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    parts_first: int,
    parts_second: int,
    parents: npt.NDArray[Any] | None = None,
) -> I32:
    """Parts by one key (E[HS^2]), and each of them cut by another (E[HS]): `parts_first * parts_second` a parent."""
    first = percentile_buckets(key_first, weights, parts_first, parents)
    return percentile_buckets(key_second, weights, parts_second, first)


def percentile_parts(weight: F64, parts: int) -> U16:
    """The part of each class within its parent, uint16[parent, class], by the same rule.

    IN: float64[parent, class], the weight of the hands of a parent bucket that are of a class, classes by key. For
    the last street: there are too many hands to sort, but few classes. A class of no weight is in the part where it
    would lie.

    >>> percentile_parts(np.array([[2.0, 2.0, 2.0], [1.0, 1.0, 4.0]]), 3).tolist()
    [[0, 1, 2], [0, 0, 2]]
    """
    _check_parts(parts)
    if weight.ndim != 2:
        raise InputError(f"weights of shape {weight.shape}", remedy="give a row of classes for every parent")
    _check_weights(weight)
    result = np.empty(weight.shape, np.uint16)
    cut_rows(np.ascontiguousarray(weight, np.float64), parts, result)
    return result


def bucket_weights(buckets: I32, weights: npt.NDArray[Any], count: int) -> F64:
    """The weight of each of `count` buckets: float64[bucket]; zero for one that stayed empty."""
    return np.bincount(buckets, weights, count).astype(np.float64)


def _check_parts(parts: int) -> None:
    if not 1 <= parts <= 1 << 16:
        raise InputError(f"{parts} parts", remedy="use 1 to 65536")


def _check_weights(weights: npt.NDArray[Any]) -> None:
    if weights.size and not (weights.min() >= 0 and np.isfinite(weights.max())):
        raise InputError(
            "a weight that is negative or no number", remedy="weigh a hand by how many deals it stands for"
        )


def _ordered(key: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Unsigned numbers of at most 32 bits in the order of the keys, equal where keys are."""
    if key.dtype.kind == "f" and np.isnan(key).any():
        raise InputError("a key that is no number", remedy="give each hand a finite key")
    if key.dtype == np.float32:
        bits = (key + np.float32(0)).view(np.uint32)  # + 0: the two zeros have different bits
        bits ^= np.where(bits & _SIGN, np.uint32(0xFFFFFFFF), _SIGN)  # negative floats ascend as their bits descend
        return bits
    if key.dtype.kind == "u" and key.dtype.itemsize <= 4:
        return key
    return np.unique(key, return_inverse=True)[1]


@inlined
def _part(before: float, weight: float, total: float, parts: int) -> int:
    """The part that holds the middle of [before, before + weight) on [0, total)."""
    if total <= 0.0:
        return 0
    # Twice the middle, so that whole numbers stay whole; a class of no weight at the end has its middle at the end.
    part = int((2.0 * before + weight) * parts / (2.0 * total))
    return part if part < parts else parts - 1


@kernel
def cut_sorted(order: I64, sort_key: U64, weights: F64, parts: int, buckets: I32) -> None:
    """Cut every parent's hands.

    IN: hands in order; in that order: sort keys, the parent in the high half, and weights; OUT: int32[hand].
    """
    first = 0
    while first < order.size:
        parent = sort_key[first] >> _32
        total = 0.0
        last = first
        while last < order.size and sort_key[last] >> _32 == parent:
            last, weight = _class_at(sort_key, weights, last)
            total += weight
        before = 0.0
        while first < last:
            end, weight = _class_at(sort_key, weights, first)
            bucket = np.int64(parent) * parts + _part(before, weight, total, parts)
            for i in order[first:end]:
                buckets[i] = bucket
            before += weight
            first = end


@inlined
def _class_at(sort_key: U64, weights: F64, start: int) -> tuple[int, float]:
    """Where the class that starts here ends, and its weight."""
    weight = 0.0
    end = start
    while end < sort_key.size and sort_key[end] == sort_key[start]:
        weight += weights[end]
        end += 1
    return end, weight


@kernel
def cut_rows(weight: F64, parts: int, result: U16) -> None:
    """Cut every parent's classes. IN: float64[parent, class]; OUT: uint16[parent, class]."""
    for parent in range(weight.shape[0]):
        classes = weight[parent]
        total = 0.0
        for w in classes:
            total += w
        before = 0.0
        for i in range(classes.size):
            result[parent, i] = _part(before, classes[i], total, parts)
            before += classes[i]
