"""The container format of all files of our own: strategies, checkpoints, maps, solutions, kernels.

The first line is JSON: the format, what the file was made for, and each array's type, shape, offset and checksums. The
second line is the checksum of the first. Then come the arrays as they are in memory, page-aligned and padded with
zeros. Every byte is verified when a file is opened: a file that is truncated or extended, has a flipped bit, or is of
another format is refused, with a remedy. Each block of 16 MB has a checksum, so several cores can verify a large array.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash

from equipoise.core.errors import InputError, shown
from equipoise.core.files.writing import write_whole

ALIGNED = 4096
BLOCK = 1 << 24  # bytes per checksum
MOST_HEADER = 1 << 24
OURS = "equipoise "  # all our formats begin with it
_READ = 1 << 18  # bytes: read and summed while they are in the processor's cache
_CHECKERS = 4  # threads that verify a large file: more would wait for the memory


def save_arrays(
    path: str | Path,
    format_: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, Any],
    *,
    durable: bool = True,
    private: bool = False,
) -> None:
    """Write a file atomically; `durable` and `private` are those of `write_whole`."""
    listed: dict[str, Any] = {}
    end = 0
    for name, array in arrays.items():
        start = _aligned(end)
        end = start + array.nbytes
        listed[name] = {
            "type": array.dtype.str,
            "shape": list(array.shape),
            "start": start,
            "checksums": [_checksum(block) for block in _blocks(_bytes(array))],
        }
    line = json.dumps({"format": format_, **header, "arrays": listed}, separators=(",", ":")).encode() + b"\n"
    lines = line + _checksum(line).encode() + b"\n"
    first = _aligned(len(lines)) if arrays else len(lines)

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            file.write(lines.ljust(first, b"\0"))
            for name, array in arrays.items():
                file.seek(first + listed[name]["start"])
                file.write(_bytes(array))
            file.truncate(first + end)  # if the last array is empty, nothing was written there

    try:
        write_whole(Path(path), write, durable=durable, private=private)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", where=str(path), remedy="give a folder with room") from None


def load_arrays(
    path: str | Path, format_: str, *, remedy: str, copied: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file, verified.

    Arrays are mapped copy-on-write: memory is shared with other processes, and truncating a file
    while it is in use kills the process (SIGBUS). `copied` arrays are read into memory, and safe from that.
    """
    with _Opened(path, format_, remedy) as file:
        return file.header, file.copied_arrays() if copied else file.mapped_arrays()


def load_header(path: str | Path, format_: str, *, remedy: str) -> dict[str, Any]:
    """The header alone, verified; the arrays are not read."""
    with _Opened(path, format_, remedy) as file:
        return file.header


class _Listed(NamedTuple):
    """An array as the header lists it; `start` is its offset in the file."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    start: int
    checksums: list[str]

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * int(self.dtype.itemsize)


@dataclass
class _Opened:
    """An open file with a valid header."""

    path: str | Path
    format_: str
    remedy: str

    def __enter__(self) -> _Opened:
        try:
            self.file = Path(self.path).open("rb")
        except (OSError, ValueError) as error:
            raise self._error(f"cannot read ({error.strerror if isinstance(error, OSError) else error})") from None
        try:
            self.size = os.fstat(self.file.fileno()).st_size
            line, checksum = self.file.readline(MOST_HEADER), self.file.readline(64)
            self.header = self._read_header(line, checksum)
            self.used = len(line + checksum)
            self.listed = [
                _Listed(name, np.dtype(a["type"]), tuple(a["shape"]), _aligned(self.used) + a["start"], a["checksums"])
                for name, a in self.header.pop("arrays").items()
            ]
            self._check_gaps()
        except BaseException:
            self.file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def _error(self, what: str) -> InputError:
        return InputError(what, where=str(self.path), remedy=self.remedy)

    def _read_header(self, line: bytes, checksum: bytes) -> dict[str, Any]:
        try:
            header: dict[str, Any] = json.loads(line)
            found = header["format"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._error(f"not a file of format {shown(self.format_)}") from None
        if found != self.format_:
            ours = isinstance(found, str) and found.startswith(OURS)  # else nothing of the file is shown
            what = f"format {shown(found)}, wanted {shown(self.format_)}" if ours else ""
            raise self._error(what or f"not a file of format {shown(self.format_)}")
        # A header with this checksum was written by `save_arrays`: its list of arrays can be trusted.
        if checksum != _checksum(line).encode() + b"\n":
            raise self._error("damaged: the checksum of its header is wrong")
        return header

    def _check_gaps(self) -> None:
        """Check that there are only zeros between arrays, and nothing after the last."""
        used = self.used
        for array in self.listed:
            if array.start + array.nbytes > self.size:
                raise self._error("truncated")
            self.file.seek(used)
            if any(self.file.read(array.start - used)):
                raise self._error(f"damaged: there are bytes before {array.name}")
            used = array.start + array.nbytes
        if used != self.size:
            raise self._error("damaged: there are bytes after its end")

    def mapped_arrays(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        checks: list[tuple[_Listed, Any, str]] = []
        for array in self.listed:
            # A plain array on the map: kernels do not know the subclass.
            map_ = np.memmap(self.file, array.dtype, "c", array.start, array.shape) if array.nbytes else None
            found[array.name] = np.zeros(array.shape, array.dtype) if map_ is None else np.asarray(map_)
            blocks = _blocks(_bytes(found[array.name]))
            checks += [(array, block, checksum) for block, checksum in zip(blocks, array.checksums, strict=True)]
        self._check(checks, _checksum)
        return found

    def copied_arrays(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        checks: list[tuple[_Listed, Any, str]] = []
        for array in self.listed:
            found[array.name] = np.empty(array.shape, array.dtype)
            start = array.start
            for block, checksum in zip(_blocks(_bytes(found[array.name])), array.checksums, strict=True):
                checks.append((array, (start, block), checksum))
                start += len(block)
        self._check(checks, self._read_block)
        return found

    def _read_block(self, block: tuple[int, memoryview]) -> str:
        """Fill a block from the file in pieces that fit the processor's cache; returns its checksum."""
        start, memory = block
        digest = xxhash.xxh3_64()
        for at in range(0, len(memory), _READ):
            part = memory[at : at + _READ]
            if os.preadv(self.file.fileno(), [part], start + at) != len(part):
                return "truncated meanwhile"
            digest.update(part)
        return digest.hexdigest()

    def _check(self, checks: list[tuple[_Listed, Any, str]], checksum: Callable[[Any], str]) -> None:
        """Compare the checksums of blocks with the listed ones, on several cores for a large file."""
        blocks = [block for _, block, _ in checks]
        if len(blocks) > 2:
            with ThreadPoolExecutor(min(_CHECKERS, os.cpu_count() or 1)) as pool:
                found = list(pool.map(checksum, blocks))
        else:
            found = [checksum(block) for block in blocks]
        for (array, _, wanted), got in zip(checks, found, strict=True):
            if got != wanted:
                raise self._error(f"damaged: the checksum of {array.name} is wrong")


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _checksum(data: Any) -> str:
    return xxhash.xxh3_64_hexdigest(data)


def _blocks(data: memoryview) -> Iterator[memoryview]:
    for start in range(0, len(data), BLOCK):
        yield data[start : start + BLOCK]


def _bytes(array: Any) -> memoryview:
    data: memoryview = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return data
