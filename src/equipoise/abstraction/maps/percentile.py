"""Percentile buckets: hands sorted by a key (E[HS], E[HS^2]) and cut into parts of equal weight.

From Johanson (Robust Strategies and Counter-Strategies, 2007, page 24), the buckets of CFR-BR's figures 6, 10 and 11.
With parents, each parent bucket is cut by itself: buckets are nested, and the abstraction has perfect recall.

Hands with the same parent and key form a class and stay together. Lay the classes of a parent side by side on
[0, total) in the order of their keys, each as long as its weight. A class goes to the part that contains the middle of
its interval, where part i is [i, i + 1) * total / parts. Each cut is off by at most half the weight of the class across
it, and no bucket by more than the heaviest class. With fewer classes than parts, some buckets are empty. Integer
weights (numbers of deals) are summed exactly, so the order of the hands does not matter.
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

    Needs about 40 bytes of memory per hand for a float32 or 32-bit integer key.

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
    """Cut by one key (E[HS^2]), then each part by another (E[HS]): `parts_first * parts_second` buckets per parent."""
    first = percentile_buckets(key_first, weights, parts_first, parents)
    return percentile_buckets(key_second, weights, parts_second, first)


def percentile_parts(weight: F64, parts: int) -> U16:
    """The part of each class within its parent, uint16[parent, class], by the same rule.

    IN: float64[parent, class], the weight of each class in each parent bucket, classes in the order of their keys.
    For the last street, which has too many hands to sort but few classes. A class of weight 0 gets the part at its
    position.

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
    """The weight of each of `count` buckets: float64[bucket]."""
    return np.bincount(buckets, weights, count).astype(np.float64)


def _check_parts(parts: int) -> None:
    if not 1 <= parts <= 1 << 16:
        raise InputError(f"{parts} parts", remedy="use 1 to 65536")


def _check_weights(weights: npt.NDArray[Any]) -> None:
    if weights.size and not (weights.min() >= 0 and np.isfinite(weights.max())):
        raise InputError("a weight that is negative or not a number", remedy="weight a hand by its number of deals")


def _ordered(key: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Unsigned integers of at most 32 bits in the order of the keys; equal keys stay equal."""
    if key.dtype.kind == "f" and np.isnan(key).any():
        raise InputError("a key that is not a number", remedy="give each hand a finite key")
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
    # Twice the middle, so that integers stay integers; the middle of a class of weight 0 at the end is the end.
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
    """The end of the class that starts here, and its weight."""
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
