"""Best-response values by flop, stored on disk as flops are finished.

A header (one line of JSON) says what the file was made for; then come records of one length: the number of the flop,
the values, a checksum of both. Records are only ever added, each flushed to the disk before the next: a killed run
leaves at most one incomplete record at the end, which is cut off when the file is opened again. A link is refused.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.core.errors import InputError
from equipoise.core.files.writing import append, check_plain, write_whole

FORMAT = "equipoise best response by flop, 1"
MOST_VALUE = 1e15  # of a value: more than any stakes give, and its square is finite
_NUMBER, _CHECK = struct.Struct("<I"), struct.Struct("<I")


class FlopFile:
    """An open file of records; `values` has all of them, by flop."""

    def __init__(self, path: str | Path, made_for: dict[str, Any], length: int, dtype: type) -> None:
        self.path = Path(path)
        self.length, self.dtype = length, np.dtype(dtype).newbyteorder("<")
        self.values: dict[int, Any] = {}
        header = json.dumps({"format": FORMAT, **made_for, "length": length, "dtype": self.dtype.str}).encode() + b"\n"
        try:
            check_plain(self.path)
            if not self.path.exists():
                write_whole(self.path, lambda temporary: temporary.write_bytes(header))
            self._read(header)
        except OSError as error:
            raise InputError(f"cannot be used: {error.strerror}", where=str(path), remedy="name another file") from None

    def _read(self, header: bytes) -> None:
        stored = self.path.read_bytes()
        if not stored.startswith(header):
            raise InputError(
                "made for another game, agent or version",
                where=str(self.path),
                remedy="name another file, or remove it to start again",
            )
        length = _NUMBER.size + self.length * self.dtype.itemsize + _CHECK.size
        whole = len(header)
        for start in range(len(header), len(stored) - length + 1, length):
            record = stored[start : start + length]
            if zlib.crc32(record[: -_CHECK.size]) != _CHECK.unpack(record[-_CHECK.size :])[0]:
                if start + 2 * length <= len(stored):
                    raise InputError(
                        f"record {(start - len(header)) // length + 1} is damaged",
                        where=str(self.path),
                        remedy="remove the file to start again",
                    )
                break
            values = np.frombuffer(record[_NUMBER.size : -_CHECK.size], self.dtype)
            if not (np.abs(values) <= MOST_VALUE).all():  # nor if one is NaN
                raise InputError(
                    f"record {(start - len(header)) // length + 1} has values that no game has",
                    where=str(self.path),
                    remedy="remove the file to start again",
                )
            self.values[_NUMBER.unpack(record[: _NUMBER.size])[0]] = values
            whole = start + length
        if whole < len(stored):
            write_whole(self.path, lambda temporary: temporary.write_bytes(stored[:whole]))

    def add(self, flop: int, values: Any) -> None:
        """Store a flop's values."""
        record = _NUMBER.pack(flop) + np.ascontiguousarray(values, self.dtype).tobytes()
        append(self.path, record + _CHECK.pack(zlib.crc32(record)), durable=True)
        self.values[flop] = values
