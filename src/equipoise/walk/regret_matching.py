"""Regret matching on rows of holes: the update rules of the CFR family, as loops over one row of each action.

A table's rows are [action, hole]. Playing each action in proportion to its positive entry serves regrets (regret
matching) and average strategies (normalisation) alike. Two and three actions, the most common, are single passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.core.arrays import Float
from equipoise.core.jit import F32, inlined

LEAST = np.float32(1e-37)  # least sum to normalise by: the inverse of a smaller one may overflow


@inlined
def pass_reach(reach: F32, source: F32, below: F32) -> None:
    """Pass the opponent's reach through its decision: to each child, reach x strategy.

    IN: float[hole], float[action, hole]; OUT: float[action, hole].
    """
    if source.shape[0] == 2:
        _pass_two(reach, source, below)
    elif source.shape[0] == 3:
        _pass_three(reach, source, below)
    else:
        _pass_many(reach, source, below)


@inlined
def add_average(below: F32, keep: Float, average: F32) -> None:
    """Discount and add reach x strategy. IN: float[action, >= hole]; IN OUT: float[action, hole]."""
    for action in range(average.shape[0]):
        kept, more = average[action], below[action]
        for h in range(kept.size):
            kept[h] = kept[h] * keep + more[h]


@inlined
def _pass_two(reach: F32, source: F32, below: F32) -> None:
    zero, half = reach.dtype.type(0), reach.dtype.type(0.5)
    source0, source1, below0, below1 = source[0], source[1], below[0], below[1]
    for h in range(reach.size):
        a, b = max(source0[h], zero), max(source1[h], zero)
        total = a + b
        share = a / total if total > zero else half
        below0[h] = reach[h] * share
        below1[h] = reach[h] - below0[h]


@inlined
def _pass_three(reach: F32, source: F32, below: F32) -> None:
    zero, third = reach.dtype.type(0), reach.dtype.type(1 / 3)
    source0, source1, source2 = source[0], source[1], source[2]
    below0, below1, below2 = below[0], below[1], below[2]
    for h in range(reach.size):
        a, b, c = max(source0[h], zero), max(source1[h], zero), max(source2[h], zero)
        total = a + b + c
        played = total > LEAST
        scale = reach[h] / total if played else reach[h] * third
        below0[h] = scale * a if played else scale
        below1[h] = scale * b if played else scale
        below2[h] = scale * c if played else scale


@inlined
def _pass_many(reach: F32, source: F32, below: F32) -> None:
    zero, actions = reach.dtype.type(0), source.shape[0]
    uniform = reach.dtype.type(1) / reach.dtype.type(actions)
    last = below[actions - 1]  # holds the factor until it is written itself; negative: play uniformly
    for h in range(reach.size):
        last[h] = zero
    for action in range(actions):
        row = source[action]
        for h in range(reach.size):
            last[h] += max(row[h], zero)
    for h in range(reach.size):
        last[h] = reach[h] / last[h] if last[h] > zero else -reach[h] * uniform
    for action in range(actions):
        row, out = source[action], below[action]
        for h in range(reach.size):
            factor = last[h]
            out[h] = factor * max(row[h], zero) if factor > zero else -factor


@inlined
def mean_value(source: F32, values: F32, out: F32, spare: F32) -> None:
    """The value of the walker's strategy. IN: float[action, hole] x 2; OUT: float[hole]; scratch: float[hole]."""
    if source.shape[0] == 2:
        _mean_two(source, values, out)
    elif source.shape[0] == 3:
        _mean_three(source, values, out)
    else:
        _mean_many(source, values, out, spare)


@inlined
def _mean_two(source: F32, values: F32, out: F32) -> None:
    zero, half = out.dtype.type(0), out.dtype.type(0.5)
    source0, source1, value0, value1 = source[0], source[1], values[0], values[1]
    for h in range(out.size):
        a, b = max(source0[h], zero), max(source1[h], zero)
        total = a + b
        share = a / total if total > zero else half
        out[h] = value1[h] + share * (value0[h] - value1[h])


@inlined
def _mean_three(source: F32, values: F32, out: F32) -> None:
    zero, one, third = out.dtype.type(0), out.dtype.type(1), out.dtype.type(1 / 3)
    source0, source1, source2 = source[0], source[1], source[2]
    value0, value1, value2 = values[0], values[1], values[2]
    for h in range(out.size):
        a, b, c = max(source0[h], zero), max(source1[h], zero), max(source2[h], zero)
        total = a + b + c
        played = total > LEAST
        scale = one / total if played else third
        a, b, c = (a if played else one), (b if played else one), (c if played else one)
        out[h] = scale * (a * value0[h] + b * value1[h] + c * value2[h])


@inlined
def _mean_many(source: F32, values: F32, out: F32, spare: F32) -> None:
    zero, actions = out.dtype.type(0), source.shape[0]
    for h in range(out.size):
        out[h] = zero
        spare[h] = zero
    for action in range(actions):
        row, worth = source[action], values[action]
        for h in range(out.size):
            chance = max(row[h], zero)
            spare[h] += chance
            out[h] += chance * worth[h]
    for h in range(out.size):
        out[h] = out[h] / spare[h] if spare[h] > zero else zero
    uniform = out.dtype.type(1) / out.dtype.type(actions)
    for action in range(actions):
        worth = values[action]
        for h in range(out.size):
            out[h] += zero if spare[h] > zero else uniform * worth[h]


@inlined
def sum_rows(values: F32, out: F32) -> None:
    """The value of an opponent's decision: the sum over its actions. IN: float[action, hole]; OUT: float[hole]."""
    first = values[0]
    for h in range(out.size):
        out[h] = first[h]
    for action in range(1, values.shape[0]):
        row = values[action]
        for h in range(out.size):
            out[h] += row[h]


@inlined
def best_value(values: F32, out: F32) -> None:
    """The value of each hole's best action. IN: float[action, hole]; OUT: float[hole]."""
    for h in range(out.size):
        out[h] = values[0, h]
    for action in range(1, values.shape[0]):
        row = values[action]
        for h in range(out.size):
            out[h] = max(out[h], row[h])


@inlined
def add_regret(values: F32, value: F32, positive: Float, negative: Float, regret: F32) -> None:
    """Discount and add. IN: float[action, hole], float[hole]; IN OUT: float[action, hole]."""
    for action in range(values.shape[0]):
        row, worth = regret[action], values[action]
        for h in range(value.size):
            old = row[h]
            row[h] = old * (positive if old > 0 else negative) + (worth[h] - value[h])


@inlined
def update_two(values: F32, positive: Float, negative: Float, regret: F32, out: F32) -> None:
    """`mean_value` and `add_regret` for a table that is its own source, in one pass."""
    zero, half = out.dtype.type(0), out.dtype.type(0.5)
    regret0, regret1, value0, value1 = regret[0], regret[1], values[0], values[1]
    for h in range(out.size):
        a, b = regret0[h], regret1[h]
        x, y = max(a, zero), max(b, zero)
        total = x + y
        share = x / total if total > zero else half
        value = value1[h] + share * (value0[h] - value1[h])
        out[h] = value
        regret0[h] = a * (positive if a > 0 else negative) + (value0[h] - value)
        regret1[h] = b * (positive if b > 0 else negative) + (value1[h] - value)


@inlined
def update_three(values: F32, positive: Float, negative: Float, regret: F32, out: F32) -> None:
    """`mean_value` and `add_regret` for a table that is its own source, in one pass."""
    zero, one, third = out.dtype.type(0), out.dtype.type(1), out.dtype.type(1 / 3)
    regret0, regret1, regret2 = regret[0], regret[1], regret[2]
    value0, value1, value2 = values[0], values[1], values[2]
    for h in range(out.size):
        a, b, c = regret0[h], regret1[h], regret2[h]
        x, y, z = max(a, zero), max(b, zero), max(c, zero)
        total = x + y + z
        played = total > LEAST
        scale = one / total if played else third
        x, y, z = (x if played else one), (y if played else one), (z if played else one)
        value = scale * (x * value0[h] + y * value1[h] + z * value2[h])
        out[h] = value
        regret0[h] = a * (positive if a > 0 else negative) + (value0[h] - value)
        regret1[h] = b * (positive if b > 0 else negative) + (value1[h] - value)
        regret2[h] = c * (positive if c > 0 else negative) + (value2[h] - value)


@inlined
def predict(values: F32, value: F32, regret: F32, predicted: F32) -> None:
    """The regret after the next iteration if its values are the same. OUT: float[action, hole]."""
    for action in range(values.shape[0]):
        row, worth, out = regret[action], values[action], predicted[action]
        for h in range(value.size):
            out[h] = max(row[h], row.dtype.type(0)) + (worth[h] - value[h])


def strategy_rows(source: Any) -> Any:
    """The strategy of a table's rows, in NumPy. float[action, hole] -> float[action, hole]."""
    positive = np.maximum(source, 0)
    total = positive.sum(axis=0)
    return np.where(total > 0, positive / np.where(total > 0, total, 1), 1 / len(source))
