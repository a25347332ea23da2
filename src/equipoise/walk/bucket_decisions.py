"""One decision of a bucketed player: regret matching by bucket, reach down and values up by hole.

Buckets are those that are present on a board, numbered there from 0; `number` has the present bucket of every hole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import F32, U16, U32, Int
from equipoise.core.jit import inlined
from equipoise.walk.regret_matching import LEAST


class Scratch(NamedTuple):
    """Memory of one thread for one decision."""

    chance: F32  # [action, present bucket] flat
    total: F32  # [action, present bucket] flat
    mean: F32  # [present bucket]


@inlined
def match_regrets(block: F32, stride: Int, present: U32, actions: Int, chance: F32) -> None:
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
    # Four stretches in turn: neighbours in strength share buckets, and each sum would wait for the one before.
    part = row.size // 4
    for h in range(part):
        total[number[h]] += row[h]
        total[number[part + h]] += row[part + h]
        total[number[2 * part + h]] += row[2 * part + h]
        total[number[3 * part + h]] += row[3 * part + h]
    for h in range(4 * part, row.size):
        total[number[h]] += row[h]


@inlined
def pass_reach(reach: F32, number: U16, chance: F32, below: F32) -> None:
    """IN: float[hole], uint16[hole], float[action, present bucket]; OUT: float[action, hole]."""
    for action in range(chance.shape[0]):
        out, mine = below[action], chance[action]
        for h in range(reach.size):
            out[h] = reach[h] * mine[number[h]]


@inlined
def mean_value(values: F32, number: U16, chance: F32, value: F32) -> None:
    """What the walker's strategy is worth. IN: float[action, hole], as above; OUT: float[hole]."""
    first, mine = values[0], chance[0]
    for h in range(value.size):
        value[h] = first[h] * mine[number[h]]
    for action in range(1, chance.shape[0]):
        row, mine = values[action], chance[action]
        for h in range(value.size):
            value[h] += row[h] * mine[number[h]]
