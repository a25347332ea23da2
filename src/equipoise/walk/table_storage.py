"""Tables of 16-bit numbers: the rows of one decision on one board share a float32 scale, the value of one unit.

Regret matching needs no scale: it cancels. To update rows, they are decoded into rows of floats, updated as usual, and
encoded again, so that the largest entry has 32,766 units. With rounding to nearest, increments below half a unit are
lost and CFR+ stalls (the spot `turn` at 0.3% of the pot, Leduc at 7 mbb/g). So the threshold for rounding up moves
evenly through (0, 1) from iteration to iteration: the error of an entry is below one unit, 1/32,766 of the decision's
largest, and zero on average. No randomness is involved.

A finished strategy may be in bytes (`strategy_codes.py`): walks read them as squares, and write none.
"""

# ruff: noqa: ARG001 - an overload has the arguments of the function it implements

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from equipoise.core.arrays import Float, Int
from equipoise.core.errors import InputError, shown
from equipoise.core.jit import F32, F64, I16, U8, kernel

UNITS = 32_766  # of the largest entry: one less than fits, for rounding up
REGRET, AVERAGE = 0, 1  # columns of `scale`
STORAGES: dict[str, type] = {"float32": np.float32, "int16": np.int16}
_PHASES, _GOLDEN = 4096, 2531  # steps of the golden ratio, in whole parts of one: exact in a float32
_MAGNITUDE = 0x7FFFFFFF  # of a float32's bits, all but the sign: ordered as the magnitudes are
_NOTHING = 1e-30  # rows that have no entry above this are rows of zeros


def table_type(storage: str) -> type:
    """The type of a table's entries, by name."""
    if storage not in STORAGES:
        raise InputError(f"no storage {shown(storage)}", remedy=f"there are {', '.join(STORAGES)}")
    return STORAGES[storage]


def storage_name(kind: type | None) -> str:
    """The name of a table type; that of `float32` if an engine has none of its own."""
    return next(name for name, each in STORAGES.items() if each == (kind or np.float32))


def phase(iteration: int) -> float:
    """The rounding threshold of an iteration: an entry is rounded up if its fraction plus this reaches one unit."""
    return (iteration * _GOLDEN % _PHASES + 0.5) / _PHASES


def as_stored(fractions: F64, stored: Any) -> Any:
    """Numbers from 0 to 1 as table entries: 16-bit ones in units, to nearest."""
    return np.rint(fractions * UNITS).astype(np.int16) if stored == np.int16 else fractions


# The table's type selects the code when a kernel is compiled, so float tables pay nothing. (Not inlined
# before compilation: Numba then drops stores to arrays that come out of a named tuple, as dead code.)


def read_rows(rows: Any, scratch: Any) -> Any:
    """Rows as floats for regret matching: themselves, or 16-bit numbers without their scale, in scratch."""
    raise NotImplementedError  # in kernels only, as are the next two


def decode_rows(rows: Any, scale: Any, at: Any, table: Any, scratch: Any) -> Any:
    """Rows as floats for an update: themselves, or 16-bit numbers times their scale, in scratch."""
    raise NotImplementedError


def encode_rows(floats: Any, rows: Any, scale: Any, at: Any, table: Any, phase: Any) -> None:
    """Store updated rows."""
    raise NotImplementedError


@overload(read_rows, jit_options={"forceinline": True})
def _read_rows(rows: Any, scratch: Any) -> Any:
    def same(rows: Any, scratch: Any) -> Any:
        return rows

    def decoded(rows: Any, scratch: Any) -> Any:
        decode(rows, np.float32(1), scratch)
        return scratch

    def squared(rows: Any, scratch: Any) -> Any:
        decode_squares(rows, scratch)
        return scratch

    return squared if rows.dtype == types.uint8 else decoded if rows.dtype == types.int16 else same


@overload(decode_rows, jit_options={"forceinline": True})
def _decode_rows(rows: Any, scale: Any, at: Any, table: Any, scratch: Any) -> Any:
    def same(rows: Any, scale: Any, at: Any, table: Any, scratch: Any) -> Any:
        return rows

    def decoded(rows: Any, scale: Any, at: Any, table: Any, scratch: Any) -> Any:
        decode(rows, scale[at, table], scratch)
        return scratch

    return same if isinstance(rows.dtype, types.Float) else decoded


@overload(encode_rows, jit_options={"forceinline": True})
def _encode_rows(floats: Any, rows: Any, scale: Any, at: Any, table: Any, phase: Any) -> Any:
    def nothing(floats: Any, rows: Any, scale: Any, at: Any, table: Any, phase: Any) -> None:
        return

    def kept(floats: Any, rows: Any, scale: Any, at: Any, table: Any, phase: Any) -> None:
        encode(floats, phase, rows, scale, at, table)

    return kept if rows.dtype == types.int16 else nothing


@kernel
def decode(rows: I16, unit: Float, floats: F32) -> None:
    """IN: int16[action, hole], the value of a unit; OUT: float[action, hole]."""
    for action in range(rows.shape[0]):
        row, out = rows[action], floats[action]
        for h in range(row.size):
            out[h] = row[h] * unit


@kernel
def decode_squares(rows: U8, floats: F32) -> None:
    """IN: uint8[action, hole]; OUT: float[action, hole]."""
    for action in range(rows.shape[0]):
        row, out = rows[action], floats[action]
        for h in range(row.size):
            root = np.int32(row[h])
            out[h] = root * root


@kernel
def encode(floats: F32, phase: Float, rows: I16, scale: F32, at: Int, table: int) -> None:
    """IN: float32[action, hole], threshold; OUT: int16[action, hole], and float32[row, table] at `at`, the unit."""
    largest = np.int32(0)
    for action in range(floats.shape[0]):
        bits = floats[action].view(np.int32)  # integers: LLVM does not vectorise the maximum of floats
        for h in range(bits.size):
            largest = max(largest, bits[h] & _MAGNITUDE)
    scale.view(np.int32)[at, table] = largest
    most = scale[at, table]
    units = np.float32(UNITS) / most if most > _NOTHING else np.float32(0)
    scale[at, table] = most / np.float32(UNITS)
    for action in range(floats.shape[0]):
        row, out = floats[action], rows[action]
        for h in range(row.size):
            out[h] = np.int16(np.floor(row[h] * units + phase))
