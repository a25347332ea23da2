"""Checks of arrays that come from files, at the door where they become state.

Kernels do not check their indices, so one number that is out of range reads or writes memory that is not theirs. So
whoever takes arrays from a file checks each against what the recipe or the layout says: shape and type, finite values
within bounds, and indices below what they are an index into. A check is one pass, in blocks that fit the processor's
cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from equipoise.core.errors import InputError, shown

REMEDY = "remove the file, or take another copy of it"
LARGEST = 1e30  # of a number that kernels of float32 go on with
_BLOCK = 1 << 16  # elements


def check_array(array: Any, name: str, shape: tuple[int, ...], kind: Any) -> Any:
    """An array of a shape and a type; None stands for one that is missing."""
    if array is None or array.shape != shape or array.dtype != kind:
        had = "is missing" if array is None else f"is {array.dtype}{list(array.shape)}"
        raise InputError(f"the array {shown(name)} {had}, not {np.dtype(kind)}{list(shape)}", remedy=REMEDY)
    return array


def check_like(arrays: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some arrays that are named in `like`, each of the same shape and type, all values finite."""
    found = {name: check_array(arrays.get(name), name, own.shape, own.dtype) for name, own in like.items()}
    for name, array in found.items():
        check_range(array, name)
    return found


def check_range(array: Any, name: str, least: float = -LARGEST, most: float = LARGEST) -> Any:
    """An array of numbers from `least` to `most`; NaN is outside. Integers without bounds are all right."""
    if array.dtype.kind != "f" and (least, most) == (-LARGEST, LARGEST):
        return array
    for low, high in _extremes(array):
        if not (least <= low and high <= most):
            wrong = low if not least <= low else high
            raise InputError(
                f"the array {shown(name)} has {wrong:g}{'' if isfinite(wrong) else ', which is no number'}: it must be "
                f"from {least:g} to {most:g}",
                remedy=REMEDY,
            )
    return array


def check_indices(array: Any, limit: int, name: str, least: int = 0) -> Any:
    """An array of integers that are used as indices: at least `least`, and below `limit`."""
    if array.dtype.kind not in "iu":
        raise InputError(f"the array {shown(name)} is {array.dtype}, not integers", remedy=REMEDY)
    for low, high in _extremes(array):
        if low < least or high >= limit:
            wrong = low if low < least else high
            raise InputError(
                f"the array {shown(name)} has {wrong:,}: it must be from {least:,} to {limit - 1:,}", remedy=REMEDY
            )
    return array


def check_permutations(rows: Any, name: str) -> Any:
    """Rows that each have all numbers from 0 to their length once."""
    check_indices(rows, rows.shape[-1], name)
    if (np.sort(rows, axis=-1) != np.arange(rows.shape[-1])).any():
        raise InputError(f"the array {shown(name)} has a number twice", remedy=REMEDY)
    return rows


def _extremes(array: Any) -> Any:
    """The smallest and the largest element of each block; NaN if it has one."""
    flat = array.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        yield block.min().item(), block.max().item()
