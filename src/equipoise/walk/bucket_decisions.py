"""Decisions of a player who acts by bucket: strategies and sums by bucket, reach and values by hole.

A board's *present* buckets are those of its holes, numbered from 0; `number` holds the number of each hole's bucket.
Tables are read and written by bucket. One update serves every CFR variant, sampled or not:
`new = max(old * (positive or negative) + gain * regret, floor)`, where a factor of one and a floor of minus infinity
are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import F32, U8, U16, U32, Float, Int, aligned_zeros
from equipoise.core.jit import inlined
from equipoise.walk.regret_matching import LEAST


class BucketBuffers(NamedTuple):
    """Memory of one thread for one decision."""

    chance: F32  # [action, present bucket] flat
    total: F32  # [action, present bucket] flat
    mean: F32  # [present bucket]


def bucket_buffers(actions: int, present: int, precision: type = np.float32) -> BucketBuffers:
    """Buffers for decisions with at most `actions` actions on boards with at most `present` buckets."""
    chance, total = (aligned_zeros(actions * present, precision) for _ in range(2))
    return BucketBuffers(chance, total, aligned_zeros(present, precision))


@inlined
def match_regrets_by_bucket(block: F32, stride: Int, present: U32, actions: Int, chance: F32) -> None:
    """Regret matching for present buckets. IN: float[slot] from the first; OUT: float[action, present bucket]."""
    zero, one = np.float32(0), np.float32(1)
    for k in range(present.size):
        at = np.int64(present[k]) * stride
        total = zero
        for action in range(actions):
            total += max(block[at + action], zero)
        played = total > LEAST
        scale = one / total if played else one / np.float32(actions)
        for action in range(actions):
            chance[action, k] = scale * max(block[at + action], zero) if played else scale


@inlined
def sum_by_bucket(row: F32, number: U16, total: F32) -> None:
    """IN: float[hole], uint16[hole]; OUT: float[present bucket]."""
    for k in range(total.size):
        total[k] = 0
    # Four interleaved stretches: neighbours in strength share buckets, and each sum would wait for the one before.
    part = row.size // 4
    for h in range(part):
        total[number[h]] += row[h]
        total[number[part + h]] += row[part + h]
        total[number[2 * part + h]] += row[2 * part + h]
        total[number[3 * part + h]] += row[3 * part + h]
    for h in range(4 * part, row.size):
        total[number[h]] += row[h]


@inlined
def pass_reach_by_bucket(reach: F32, number: U16, chance: F32, below: F32) -> None:
    """IN: float[hole], uint16[hole], float[action, present bucket]; OUT: float[action, hole]."""
    for action in range(chance.shape[0]):
        out, mine = below[action], chance[action]
        for h in range(reach.size):
            out[h] = reach[h] * mine[number[h]]


@inlined
def mean_value_by_bucket(values: F32, number: U16, chance: F32, value: F32) -> None:
    """Value of the walker's strategy. IN: float[action, hole], as above; OUT: float[hole]."""
    first, mine = values[0], chance[0]
    for h in range(value.size):
        value[h] = first[h] * mine[number[h]]
    for action in range(1, chance.shape[0]):
        row, mine = values[action], chance[action]
        for h in range(value.size):
            value[h] += row[h] * mine[number[h]]


@inlined
def add_average_by_bucket(
    present: U32, chance: F32, reach: F32, gain: Float, keep: Float, stride: Int, block: F32
) -> None:
    """IN: uint32[k], float[action, k] strategy, float[k] reach; IN OUT: float[slot] from the first."""
    for k in range(present.size):
        at = np.int64(present[k]) * stride
        reached = gain * reach[k]
        for action in range(chance.shape[0]):
            block[at + action] = block[at + action] * keep + reached * chance[action, k]


@inlined
def add_regrets_by_bucket(
    present: U32, chance: F32, total: F32, gain: Float, positive: Float, negative: Float, floor: Float, mean: F32,
    stride: Int, block: F32,
) -> None:  # fmt: skip
    """IN: uint32[k], float[action, k] strategy and values; scratch: float[k]; IN OUT: float[slot] from the first."""
    for k in range(present.size):
        mean[k] = 0
    for action in range(chance.shape[0]):
        for k in range(present.size):
            mean[k] += chance[action, k] * total[action, k]
    for k in range(present.size):
        at = np.int64(present[k]) * stride
        for action in range(chance.shape[0]):
            old = block[at + action]
            kept = old * (positive if old > 0 else negative)
            block[at + action] = max(kept + gain * (total[action, k] - mean[k]), floor)


@inlined
def pass_chosen(reach: F32, choice: U8, below: F32) -> None:
    """Pass reach to the chosen action. IN: float[hole], uint8[hole]; OUT: float[action, hole]."""
    zero = reach.dtype.type(0)
    for action in range(below.shape[0]):
        out = below[action]
        for h in range(reach.size):
            out[h] = reach[h] if choice[h] == action else zero


@inlined
def choose_best(values: F32, symmetric: bool, orbit: U16, choice: U8, value: F32) -> None:
    """Take the best action. Ties keep the previous action, so that play at unreached nodes does not change.

    Holes that a renaming of suits maps to each other choose alike, since only one deal of each class is walked below.
    IN: float[action, hole], uint16[hole]; IN OUT: uint8[hole]; OUT: float[hole].
    """
    for h in range(value.size):
        best = choice[h]
        if symmetric and orbit[h] != h:
            best = choice[orbit[h]]
        else:
            for action in range(values.shape[0]):
                if values[action, h] > values[best, h]:
                    best = np.uint8(action)
        value[h] = values[best, h]
        choice[h] = best
