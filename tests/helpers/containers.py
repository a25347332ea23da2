"""Files of arrays read and written without a schema, as another program, or a stranger, might."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from equipoise.core.files.array_file import ALIGNED, BLOCK


def read_container(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header without its list of arrays, and copies of the arrays."""
    data = path.read_bytes()
    line, checksum, _ = data.split(b"\n", 2)
    header = json.loads(line)
    first = _aligned(len(line) + len(checksum) + 2)
    arrays = {}
    for name, about in header.pop("arrays").items():
        count = int(np.prod(about["shape"], dtype=np.int64))
        flat = (
            np.frombuffer(data, about["type"], count, first + about["start"]) if count else np.zeros(0, about["type"])
        )
        arrays[name] = flat.reshape(about["shape"]).copy()
    return header, arrays


def listed_arrays(arrays: dict[str, Any]) -> dict[str, Any]:
    """The list of arrays of a header, with right checksums."""
    found, end = {}, 0
    for name, array in arrays.items():
        start, data = _aligned(end), np.ascontiguousarray(array).tobytes()
        end = start + len(data)
        sums = [xxhash.xxh3_64_hexdigest(data[at : at + BLOCK]) for at in range(0, len(data), BLOCK)]
        found[name] = {"type": array.dtype.str, "shape": list(array.shape), "start": start, "checksums": sums}
    return found


def container(header: Any, listed: Any, arrays: dict[str, Any]) -> bytes:
    """The bytes of a file: any header, with the right checksum, and arrays where `listed_arrays` has them."""
    return container_of_line(json.dumps({**header, "arrays": listed}).encode(), arrays)


def container_of_line(line: bytes, arrays: dict[str, Any]) -> bytes:
    """The same with the header as it stands in the file."""
    lines = line + b"\n" + xxhash.xxh3_64_hexdigest(line + b"\n").encode() + b"\n"
    data = bytearray(lines.ljust(_aligned(len(lines)), b"\0") if arrays else lines)
    for array in arrays.values():
        data += bytes(_aligned(len(data)) - len(data)) + np.ascontiguousarray(array).tobytes()
    return bytes(data)


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
