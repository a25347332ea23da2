"""The update rules for lists of at most sixteen holes: a row is one vector, and a decision a few instructions.

The same as `regret_matching.py`, for boards with lists shorter than a vector (Kuhn, Leduc, short ranges on a river),
where loops over holes would not vectorise. Rows of the buffers have sixteen entries; rows of a table are as long as the
list, and only that part is read and written. Not for 16-bit tables.
"""

# ruff: noqa: ARG001 - an overload has the arguments of the function it implements

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import overload

from equipoise.core.arrays import Float, Int
from equipoise.core.jit import F32, inlined
from equipoise.core.simd import (
    LANES,
    add,
    divide,
    load,
    load_few,
    maximum,
    multiply,
    multiply_add,
    spread,
    store,
    store_few,
    subtract,
    where_positive,
    zeros,
)


def is_short(table: F32, size: Int) -> bool:
    """Whether these kernels serve a board's lists: short ones, and tables of floats."""
    return bool(size <= LANES and table.dtype.kind == "f")


@overload(is_short, jit_options={"forceinline": True})
def _is_short(table: Any, size: Any) -> Any:
    def short(table: Any, size: Any) -> Any:
        return size <= LANES

    def never(table: Any, size: Any) -> Any:
        return False

    return short if isinstance(table.dtype, types.Float) else never


@inlined
def pass_reach_short(reach: F32, at: Int, below: Int, table: F32, start: Int, size: Int, count: Int) -> None:
    """Reach x strategy, from row `at` of the buffer to rows from `below`; a table's rows start at `start`."""
    nothing = zeros(reach)
    here, total = load(reach, at), nothing
    for action in range(count):
        total = add(total, maximum(load_few(table, start + action * size, size), nothing))
    uniform = multiply(here, spread(reach.dtype.type(1) / reach.dtype.type(count), here))
    factor = divide(here, total)
    for action in range(count):
        chance = maximum(load_few(table, start + action * size, size), nothing)
        store(reach, below + action, where_positive(total, multiply(factor, chance), uniform))


@inlined
def add_average_short(reach: F32, below: Int, keep: Float, table: F32, start: Int, size: Int, count: Int) -> None:
    """Discount a decision's averages, and add the reach of its children."""
    times = spread(reach.dtype.type(keep), zeros(reach))
    for action in range(count):
        row = start + action * size
        kept = multiply_add(load_few(table, row, size), times, load(reach, below + action))
        store_few(table, row, size, kept)


@inlined
def update_short(
    value: F32, at: Int, below: Int, positive: Float, negative: Float, table: F32, start: Int, size: Int, count: Int
) -> None:
    """The value of the walker's strategy, into row `at`; the update of its regrets."""
    nothing = zeros(value)
    total, weighed, plain = nothing, nothing, nothing
    for action in range(count):
        chance, worth = maximum(load_few(table, start + action * size, size), nothing), load(value, below + action)
        total, weighed, plain = add(total, chance), multiply_add(chance, worth, weighed), add(plain, worth)
    uniform = multiply(plain, spread(value.dtype.type(1) / value.dtype.type(count), nothing))
    mean = where_positive(total, divide(weighed, total), uniform)
    store(value, at, mean)
    grow, shrink = spread(value.dtype.type(positive), nothing), spread(value.dtype.type(negative), nothing)
    for action in range(count):
        row = start + action * size
        old = load_few(table, row, size)
        gain = subtract(load(value, below + action), mean)
        store_few(table, row, size, multiply_add(old, where_positive(old, grow, shrink), gain))


@inlined
def sum_short(value: F32, at: Int, below: Int, count: Int) -> None:
    """The value of an opponent's decision: the sum over its actions."""
    total = load(value, below)
    for action in range(1, count):
        total = add(total, load(value, below + action))
    store(value, at, total)
