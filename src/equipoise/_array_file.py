"""Files of arrays that know what made them: a line of JSON, then the arrays as they are in memory, mapped when opened.

The line names the format, what the file was made for, and each array's type, shape, place and checksum; a second line
is its own checksum, and what lies between arrays is zero. So a file that is truncated, that has one wrong bit anywhere,
that is of another format or made for something else is refused by name, with what to do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from equipoise._cache import write_whole
from equipoise._errors import InputError, shown

ALIGNED = 4096
MOST_HEADER = 1 << 24


def save_arrays(path: str | Path, format_: str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a file, whole or not at all."""
    listed: dict[str, Any] = {}
    end = 0
    for name, array in arrays.items():
        start = -(-end // ALIGNED) * ALIGNED
        end = start + array.nbytes
        listed[name] = {
            "type": array.dtype.str,
            "shape": list(array.shape),
            "start": start,
            "checksum": xxhash.xxh3_64_hexdigest(_bytes(array)),
        }
    line = json.dumps({"format": format_, **header, "arrays": listed}, separators=(",", ":")).encode() + b"\n"
    lines = line + xxhash.xxh3_64_hexdigest(line).encode() + b"\n"
    first = -(-len(lines) // ALIGNED) * ALIGNED

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            file.write(lines.ljust(first, b"\0"))
            for name, array in arrays.items():
                file.seek(first + listed[name]["start"])
                file.write(_bytes(array))
            file.truncate(first + end)  # where the last array is empty, nothing was written there

    try:
        write_whole(Path(path), write)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", where=str(path), remedy="give a folder with room") from None


def load_arrays(
    path: str | Path, format_: str, *, remedy: str, check: bool = True
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header, and the arrays: mapped copy-on-write, so that nothing is read before it is used but by `check`."""
    name = str(path)
    header, used = _read_header(name, format_, remedy)
    first = -(-used // ALIGNED) * ALIGNED
    size = Path(path).stat().st_size
    arrays: dict[str, Any] = {}
    for key, about in header.pop("arrays").items():
        kind, shape, start = np.dtype(about["type"]), tuple(about["shape"]), first + about["start"]
        if start + prod(shape) * kind.itemsize > size:
            raise InputError("truncated", where=name, remedy=remedy)
        # A plain array on the map: compiled code need not know of the subclass.
        arrays[key] = np.asarray(np.memmap(path, kind, "c", start, shape)) if prod(shape) else np.zeros(shape, kind)
        if check and xxhash.xxh3_64_hexdigest(_bytes(arrays[key])) != about["checksum"]:
            raise InputError(f"damaged: the checksum of {key} is wrong", where=name, remedy=remedy)
        if check and not _only_zeros(name, used, start):
            raise InputError(f"damaged: something stands before {key}", where=name, remedy=remedy)
        used = start + arrays[key].nbytes
    if check and not _only_zeros(name, used, size):
        raise InputError("damaged: something stands after its end", where=name, remedy=remedy)
    return header, arrays


def _read_header(name: str, format_: str, remedy: str) -> tuple[dict[str, Any], int]:
    try:
        with Path(name).open("rb") as file:
            line, checksum = file.readline(MOST_HEADER), file.readline(MOST_HEADER)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read ({reason})", where=name, remedy=remedy) from None
    try:
        header = json.loads(line)
        found = header["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"not a file of format {shown(format_)}", where=name, remedy=remedy) from None
    if found != format_:
        raise InputError(f"format {shown(str(found))}, wanted {shown(format_)}", where=name, remedy=remedy)
    # What has this checksum was written by `save_arrays`: the list of arrays need not be doubted.
    if checksum != xxhash.xxh3_64_hexdigest(line).encode() + b"\n":
        raise InputError("damaged: the checksum of its header is wrong", where=name, remedy=remedy)
    return header, len(line + checksum)


def _only_zeros(name: str, start: int, end: int) -> bool:
    """Of the bytes from one place to another, at most the room between two aligned places."""
    if not 0 <= end - start < ALIGNED:
        return end == start
    with Path(name).open("rb") as file:
        file.seek(start)
        return not any(file.read(end - start))


def _bytes(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
