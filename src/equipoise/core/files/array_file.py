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
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
import xxhash
from pydantic import ConfigDict, Field, ValidationError

from equipoise.core.checked_model import CheckedModel, problem
from equipoise.core.disk import disk_remedy
from equipoise.core.errors import InputError, shown
from equipoise.core.files.writing import write_whole

ALIGNED = 4096
BLOCK = 1 << 24  # bytes per checksum
MOST_HEADER = 1 << 24
OURS = "equipoise "  # all our formats begin with it
_READ = 1 << 18  # bytes: read and summed while they are in the processor's cache
_CHECKERS = 4  # threads that verify a large file: more would wait for the memory
_LONGEST = 1 << 46  # elements along an axis, and bytes of an array: more than any memory, and no overflow

Length = Annotated[int, Field(ge=0, le=_LONGEST)]


class ListedArray(CheckedModel):
    """An array in a header; `start` is its offset after the page of the header."""

    type: Annotated[str, Field(pattern=r"^([|]b1|[|][iu]1|<[iuf][248])$")]  # plain numbers, as in memory
    shape: Annotated[tuple[Length, ...], Field(max_length=8)]
    start: Length
    checksums: tuple[str, ...]


class FileHeader(CheckedModel):
    """The keys that every header has. A format has a class of its own with its other keys."""

    model_config = ConfigDict(allow_inf_nan=False)

    format: str
    arrays: dict[str, ListedArray]


Header = TypeVar("Header", bound=FileHeader)


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
        raise InputError(f"cannot write: {error.strerror}", where=str(path), remedy=disk_remedy(error)) from None


def load_arrays(
    path: str | Path, format_: str, model: type[Header], *, remedy: str, copied: bool = False
) -> tuple[Header, dict[str, Any]]:
    """The header and the arrays of a file, verified; `model` is the header's schema.

    Arrays are mapped copy-on-write: memory is shared with other processes, and truncating a file
    while it is in use kills the process (SIGBUS). `copied` arrays are read into memory, and safe from that.
    """
    with _Opened(path, format_, remedy) as file:
        header = file.read_header(model)
        return header, file.copied_arrays() if copied else file.mapped_arrays()


def load_header(path: str | Path, format_: str, model: type[Header], *, remedy: str) -> Header:
    """The header alone, verified; the arrays are not read."""
    with _Opened(path, format_, remedy) as file:
        return file.read_header(model)


class _Located(NamedTuple):
    """An array in the file; `start` is its offset there."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    start: int
    checksums: tuple[str, ...]

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * int(self.dtype.itemsize)


@dataclass
class _Opened:
    """An open file."""

    path: str | Path
    format_: str
    remedy: str

    def __enter__(self) -> _Opened:
        try:
            self.file = Path(self.path).open("rb")
        except (OSError, ValueError) as error:
            raise self._error(f"cannot read ({error.strerror if isinstance(error, OSError) else error})") from None
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def _error(self, what: str) -> InputError:
        return InputError(what, where=str(self.path), remedy=self.remedy)

    def read_header(self, model: type[Header]) -> Header:
        """The header, by its schema; then `arrays` has where its arrays are."""
        try:
            size = os.fstat(self.file.fileno()).st_size
            line, checksum = self.file.readline(MOST_HEADER), self.file.readline(64)
        except OSError as error:
            raise self._error(f"cannot read ({error.strerror})") from None
        try:
            found = json.loads(line)["format"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._error(f"not a file of format {shown(self.format_)}") from None
        if found != self.format_:
            ours = isinstance(found, str) and found.startswith(OURS)  # else nothing of the file is shown
            what = f"format {shown(found)}, wanted {shown(self.format_)}" if ours else ""
            raise self._error(what or f"not a file of format {shown(self.format_)}")
        if checksum != _checksum(line).encode() + b"\n":
            raise self._error("damaged: the checksum of its header is wrong")
        try:
            header = model.model_validate_json(line)
        except ValidationError as error:
            raise self._error(f"damaged: {_fault(error)}") from None
        self.arrays = self._located(header, len(line + checksum), size)
        return header

    def _located(self, header: FileHeader, used: int, size: int) -> list[_Located]:
        """The arrays in their order. There are only zeros between them, and nothing after the last."""
        found, first = [], _aligned(used)
        for name, listed in header.arrays.items():
            dtype, start = np.dtype(listed.type), first + listed.start
            array = _Located(name, dtype, listed.shape, start, listed.checksums)
            if prod(max(length, 1) for length in array.shape) > _LONGEST:
                raise self._error(f"damaged: {shown(name)} is larger than any memory")
            if array.start != _aligned(used):
                raise self._error(f"damaged: {shown(name)} does not start on the page after what is before it")
            if array.start + array.nbytes > size:
                raise self._error("truncated")
            if len(array.checksums) != -(-array.nbytes // BLOCK):
                raise self._error(f"damaged: {shown(name)} has {len(array.checksums)} checksums")
            self._check_zeros(used, array.start, name)
            used = array.start + array.nbytes
            found.append(array)
        if used != size:
            raise self._error("damaged: there are bytes after its end")
        return found

    def _check_zeros(self, start: int, stop: int, name: str) -> None:
        self.file.seek(start)
        if any(self.file.read(stop - start)):
            raise self._error(f"damaged: there are bytes before {name}")

    def mapped_arrays(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        checks: list[tuple[_Located, Any, str]] = []
        for array in self.arrays:
            # A plain array on the map: kernels do not know the subclass.
            map_ = self._mapped(array) if array.nbytes else None
            found[array.name] = np.zeros(array.shape, array.dtype) if map_ is None else np.asarray(map_)
            blocks = _blocks(_bytes(found[array.name]))
            checks += [(array, block, checksum) for block, checksum in zip(blocks, array.checksums, strict=True)]
        self._check(checks, _checksum)
        return found

    def _mapped(self, array: _Located) -> Any:
        try:
            return np.memmap(self.file, array.dtype, "c", array.start, array.shape)
        except (OSError, ValueError) as error:
            raise self._error(f"{shown(array.name)} cannot be mapped ({error})") from None

    def copied_arrays(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        checks: list[tuple[_Located, Any, str]] = []
        for array in self.arrays:
            try:
                found[array.name] = np.empty(array.shape, array.dtype)
            except MemoryError:
                raise self._error(f"{shown(array.name)} needs {array.nbytes / 1e9:.1f} GB of memory") from None
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

    def _check(self, checks: list[tuple[_Located, Any, str]], checksum: Callable[[Any], str]) -> None:
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


def _fault(error: ValidationError) -> str:
    """The first thing that a schema finds wrong with a header."""
    first = error.errors(include_url=False, include_input=False)[0]
    key = shown(".".join(map(str, first["loc"])))
    if first["type"] == "json_invalid":
        return "its header is no JSON that can be read"
    if first["type"] == "missing":
        return f"its header has no {key}"
    if first["type"] == "extra_forbidden":
        return f"its header has an unknown key {key}"
    return f"the {key} of its header: {problem(first)}" if first["loc"] else f"its header: {problem(first)}"


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
