"""Short names of array types for signatures; shapes are given in comments or docstrings."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
U16: TypeAlias = npt.NDArray[np.uint16]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]
I8: TypeAlias = npt.NDArray[np.int8]
I16: TypeAlias = npt.NDArray[np.int16]
I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
F32: TypeAlias = npt.NDArray[np.float32]
F64: TypeAlias = npt.NDArray[np.float64]

Int: TypeAlias = int | np.integer[Any]
Float: TypeAlias = float | np.floating[Any]

CACHE_LINE = 64  # bytes


def aligned_zeros(size: Int, dtype: type) -> Any:
    """A flat array that starts at a cache line, so that sixteen floats lie in one or two lines. This halves the time of
    a kernel that loads them as lanes (NumPy's large arrays start 16 bytes after a line).
    """
    width = np.dtype(dtype).itemsize
    memory = np.zeros(int(size) * width + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size * width].view(dtype)


def aligned(values: Any, dtype: type) -> Any:
    """A copy that starts at a cache line."""
    room = aligned_zeros(values.size, dtype)
    room[:] = values
    return room
