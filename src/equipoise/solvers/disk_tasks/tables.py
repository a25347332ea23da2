"""The tables of a part's tasks: in memory, mapped from a file, or read from it and written back past the page cache.

A part's file has no name: it vanishes with its process, however that ends. Its blocks are reserved when it is made,
since a mapped page that finds a full disk later would kill the process. A process that dies leaves tables half an
iteration ahead, so runs resume from checkpoints: a file for each task, written whole and checked to the last bit.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
import weakref
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.arrays import F32
from equipoise.core.errors import InputError
from equipoise.core.files.array_file import FileHeader, load_arrays, save_arrays
from equipoise.core.wording import size_text
from equipoise.solvers.disk_tasks.cut import Task
from equipoise.solvers.solver import check_tables

FORMAT = "equipoise task 1"
BLOCK = 1 << 24  # bytes read or written by one call


class Use(NamedTuple):
    """The slots that a step reads and changes: regrets and averages."""

    read: tuple[Sequence[slice], Sequence[slice]]
    changed: tuple[Sequence[slice], Sequence[slice]]


class TaskTables:
    """Regrets and averages of tasks, in memory. `open` lends a task's; `close` takes them back with their changes."""

    def __init__(self, slots: Sequence[int]) -> None:
        self._memory = [np.zeros((2, count), np.float32) for count in slots]

    def prefetch(self, index: int, use: Use) -> None:
        """Start to read what a step will open, while another task is walked."""

    def open(self, index: int) -> tuple[F32, F32]:
        """The regrets and averages of a task."""
        return self._memory[index][0], self._memory[index][1]

    def close(self, index: int, changed: tuple[Sequence[slice], Sequence[slice]] | None) -> None:
        """Take back a task, of which some slots have changed (None: any). Nobody may refer to its tables any more."""

    def settle(self) -> None:
        """Wait until everything that was closed is written."""


class MappedTables(TaskTables):
    """Tables on the disk of a folder, mapped while they are open. The system decides which pages stay in memory."""

    def __init__(self, slots: Sequence[int], folder: str) -> None:
        self._slots = slots
        sizes = np.array([2 * _whole_pages(4 * count) for count in slots], np.int64)
        self._start, self._largest = np.cumsum(sizes) - sizes, int(sizes.max())
        self._file = _reserved(Path(folder), int(sizes.sum()))
        weakref.finalize(self, os.close, self._file)

    def prefetch(self, index: int, use: Use) -> None:
        """Let the system read, in the order of the disk; the walk would meet pages in another order."""
        for at, size in self._pieces(index, use.read):
            os.posix_fadvise(self._file, int(self._start[index]) + at, size, os.POSIX_FADV_WILLNEED)

    def _pieces(self, index: int, slots: tuple[Sequence[slice], Sequence[slice]] | None) -> list[tuple[int, int]]:
        """Slots as places and sizes in the task's part of the file, in whole pages and at most a block each."""
        size = _whole_pages(4 * self._slots[index])
        found = []
        for first, chosen in zip((0, size), slots or [[slice(0, self._slots[index])]] * 2, strict=True):
            for part in chosen:
                at, stop = 4 * part.start // mmap.PAGESIZE * mmap.PAGESIZE, _whole_pages(4 * part.stop)
                found += [(first + piece, min(BLOCK, stop - piece)) for piece in range(at, stop, BLOCK)]
        return found

    def _tables(self, index: int, memory: mmap.mmap) -> tuple[F32, F32]:
        count = self._slots[index]
        regret, average = (np.frombuffer(memory, np.float32, count, at) for at in (0, _whole_pages(4 * count)))
        return regret, average

    def open(self, index: int) -> tuple[F32, F32]:
        """The tables of a task. They stay mapped for as long as somebody refers to them."""
        size = max(2 * _whole_pages(4 * self._slots[index]), mmap.PAGESIZE)
        try:
            return self._tables(index, mmap.mmap(self._file, size, offset=int(self._start[index])))
        except OSError as error:
            raise InputError(
                f"cannot map a task of {size_text(size)}: {error.strerror}",
                remedy="cut the game into more groups of public cards, or give the process more memory",
            ) from None


class DirectTables(MappedTables):
    """Tables on disk, read and written past the page cache: for tables larger than memory, on a fast disk.

    One thread reads the next tasks into memory while others are walked, and one writes what has changed. There are
    buffers for two tasks a walking thread, and for one that is written.
    """

    def __init__(self, slots: Sequence[int], folder: str, threads: int) -> None:
        super().__init__(slots, folder)
        try:
            fcntl.fcntl(self._file, fcntl.F_SETFL, fcntl.fcntl(self._file, fcntl.F_GETFL) | os.O_DIRECT)
        except OSError as error:
            raise InputError(
                f"cannot pass the page cache: {error.strerror}", where=folder, remedy="use mapped tables"
            ) from None
        self._free: SimpleQueue[mmap.mmap] = SimpleQueue()
        for _ in range(2 * threads + 1):
            self._free.put(mmap.mmap(-1, max(self._largest, mmap.PAGESIZE)))
        self._reader, self._writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._reads: dict[int, Future[mmap.mmap]] = {}
        self._lent: dict[int, mmap.mmap] = {}
        self._writes: dict[int, Future[None]] = {}

    def prefetch(self, index: int, use: Use | None) -> None:
        """Start to read what a step will open (None: everything), when its last changes are written."""
        before, memory = self._writes.pop(index, None), self._free.get()
        self._reads[index] = self._reader.submit(self._read, index, use and use.read, memory, before)

    def _read(self, index: int, slots: Any, memory: mmap.mmap, before: Future[None] | None) -> mmap.mmap:
        if before:
            before.result()
        view, start = memoryview(memory), int(self._start[index])
        for at, size in self._pieces(index, slots):
            if os.preadv(self._file, [view[at : at + size]], start + at) != size:
                raise OSError("a task's tables are cut off")
        return memory

    def open(self, index: int) -> tuple[F32, F32]:
        """The tables of a task. What its prefetch did not ask for has no meaning."""
        if index not in self._reads:
            self.prefetch(index, None)
        self._lent[index] = self._reads.pop(index).result()
        return self._tables(index, self._lent[index])

    def close(self, index: int, changed: tuple[Sequence[slice], Sequence[slice]] | None) -> None:
        """Start to write what has changed."""
        self._writes[index] = self._writer.submit(self._write, index, changed, self._lent.pop(index))

    def _write(self, index: int, slots: Any, memory: mmap.mmap) -> None:
        view, start = memoryview(memory), int(self._start[index])
        try:
            for at, size in self._pieces(index, slots):
                if os.pwritev(self._file, [view[at : at + size]], start + at) != size:
                    raise OSError("a task's tables cannot be written")
        finally:
            self._free.put(memory)

    def settle(self) -> None:
        """Wait until everything that was closed is written."""
        for write in self._writes.values():
            write.result()


def _whole_pages(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


def _reserved(folder: Path, size: int) -> int:
    """The descriptor of a file without a name, its blocks reserved: all zeros."""
    descriptor = -1
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder)
        Path(name).unlink()
        os.posix_fallocate(descriptor, 0, max(size, mmap.PAGESIZE))
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)  # which gives back the blocks that it got
        raise InputError(
            f"cannot make tables of {size_text(size)}: {error.strerror}", where=str(folder),
            remedy="give a folder with room, or more machines",
        ) from None  # fmt: skip
    return descriptor


def make_tables(slots: Sequence[int], folder: str | None, *, direct: bool, threads: int) -> TaskTables:
    """Tables of zeros: in memory without a folder, else on its disk."""
    if folder is None:
        return TaskTables(slots)
    return DirectTables(slots, folder, threads) if direct else MappedTables(slots, folder)


class TaskHeader(FileHeader):
    """The header of a task's part of a checkpoint."""

    task: list[int]
    groups: int
    buckets: str


def save_task(folder: Path, task: Task, header: dict[str, Any], tables: tuple[F32, F32]) -> Path:
    """Write a task's part of a checkpoint, under the name of the task."""
    path = folder / task_file(task)
    save_arrays(path, FORMAT, header, {"regret": tables[0], "average": tables[1]})
    return path


def load_task(folder: Path, task: Task, header: dict[str, Any], tables: tuple[F32, F32]) -> None:
    """Read a task's part of a checkpoint into its tables. OUT: float32[slot] x 2."""
    remedy = "restore the checkpoint from a copy, or resume from an older one"
    where = str(folder / task_file(task))
    found, arrays = load_arrays(where, FORMAT, TaskHeader, remedy=remedy)
    if any(getattr(found, key) != value for key, value in header.items()):
        raise InputError("of another game, abstraction or cut", where=where, remedy=remedy)
    try:
        arrays = check_tables(arrays, dict(zip(("regret", "average"), tables, strict=True)))
    except InputError as error:
        raise error.at(where) from None
    tables[0][:], tables[1][:] = arrays["regret"], arrays["average"]


def task_file(task: Task) -> str:
    """The name of a task's file."""
    return f"{task.sequence}-{task.group}.tables"
