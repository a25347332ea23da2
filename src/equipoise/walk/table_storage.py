"""Tables of 16-bit numbers: the rows of one decision on one board share a float32 scale, what one unit is worth.

Playing each action in proportion needs no scale: it cancels. To add to rows, they are decoded into scratch rows of
floats, updated as any others, and encoded anew, so that the largest has 32,766 units. Rounded to nearest, increments
below half a unit would be lost each time, and CFR+ stalls (spots/turn.toml at 0.3% of the pot, Leduc at 7 mbb/g); so
what rounds up is decided by a threshold that moves evenly through (0, 1) from one iteration to the next: an entry is
off by less than one unit, 1/32,766 of the decision's largest, but by nothing on the average. No chance is involved.
"""

# ruff: noqa: ARG001 - an overload has the arguments of what it stands for

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from equipoise.core.arrays import Float, Int
from equipoise.core.errors import InputError, shown
from equipoise.core.jit import F32, F64, I16, kernel

UNITS = 32_766  # of the largest entry: one less than fits, for rounding up
REGRET, AVERAGE = 0, 1  # columns of `scale`
STORAGES: dict[str, type] = {"float32": np.float32, "int16": np.int16}
_PHASES, _GOLDEN = 4096, 2531  # steps of the golden ratio, in whole parts of one: exact in a float32
_MAGNITUDE = 0x7FFFFFFF  # of a float32's bits, all but the sign: ordered as the magnitudes are
_NOTHING = 1e-30  # rows that have no entry above this are rows of zeros


def table_type(storage: str) -> type:
    """What tables hold, by name."""
    if storage not in STORAGES:
        raise InputError(f"no storage {shown(storage)}", remedy=f"there are {', '.join(STORAGES)}")
    return STORAGES[storage]


def phase(iteration: int) -> float:
    """An iteration's threshold: an entry is rounded up if its fraction of a unit and this make one."""
    return (iteration * _GOLDEN % _PHASES + 0.5) / _PHASES


def as_stored(fractions: F64, stored: Any) -> Any:
    """Numbers from 0 to 1 as a table holds them: 16-bit ones in units, to nearest."""
    return np.rint(fractions * UNITS).astype(np.int16) if stored == np.int16 else fractions


# Which code a table needs is decided by its type when a kernel is compiled: float tables pay nothing. (Not inlined
# before compilation: Numba then drops stores to arrays that come out of a named tuple, as dead code.)


def read_rows(rows: Any, scratch: Any) -> Any:
    """Rows as floats, to play by: themselves, or 16-bit numbers without their scale, in scratch."""
    raise NotImplementedError  # in kernels only, as are the next two


def open_rows(rows: Any, scale: Any, at: Any, table: Any, scratch: Any) -> Any:
    """Rows as floats, to add to: themselves, or 16-bit numbers times their scale, in scratch."""
    raise NotImplementedError


def close_rows(floats: Any, rows: Any, scale: Any, at: Any, table: Any, phase: Any) -> None:
    """Keep what was added to open rows."""
    raise NotImplementedError


@overload(read_rows, jit_options={"forceinline": True})
def _read_rows(rows: Any, scratch: Any) -> Any:
    def same(rows: Any, scratch: Any) -> Any:
        return rows

    def decoded(rows: Any, scratch: Any) -> Any:
        decode(rows, np.float32(1), scratch)
        return scratch

    return decoded if rows.dtype == types.int16 else same


@overload(open_rows, jit_options={"forceinline": True})
def _open_rows(rows: Any, scale: Any, at: Any, table: Any, scratch: Any) -> Any:
    def same(rows: Any, scale: Any, at: Any, table: Any, scratch: Any) -> Any:
        return rows

    def decoded(rows: Any, scale: Any, at: Any, table: Any, scratch: Any) -> Any:
        decode(rows, scale[at, table], scratch)
        return scratch

    return decoded if rows.dtype == types.int16 else same


@overload(close_rows, jit_options={"forceinline": True})
def _close_rows(floats: Any, rows: Any, scale: Any, at: Any, table: Any, phase: Any) -> Any:
    def nothing(floats: Any, rows: Any, scale: Any, at: Any, table: Any, phase: Any) -> None:
        return

    def kept(floats: Any, rows: Any, scale: Any, at: Any, table: Any, phase: Any) -> None:
        encode(floats, phase, rows, scale, at, table)

    return kept if rows.dtype == types.int16 else nothing


@kernel
def decode(rows: I16, unit: Float, floats: F32) -> None:
    """IN: int16[action, hole], what a unit is worth; OUT: float[action, hole]."""
    for action in range(rows.shape[0]):
        row, out = rows[action], floats[action]
        for h in range(row.size):
            out[h] = row[h] * unit


@kernel
def encode(floats: F32, phase: Float, rows: I16, scale: F32, at: Int, table: int) -> None:
    """IN: float32[action, hole], threshold; OUT: int16[action, hole], and at a place of float32[row, table] a unit."""
    largest = np.int32(0)
    for action in range(floats.shape[0]):
        bits = floats[action].view(np.int32)  # whole numbers: the largest of floats is not found in one go
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
