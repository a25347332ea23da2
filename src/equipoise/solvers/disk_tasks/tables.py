"""The tables of a part's tasks: in one file on its disk, of which one task at a time is mapped; or in memory.

The file has no name: it vanishes with its process, however that ends. Its blocks are reserved when it is made, since a
mapped page that finds a full disk later would kill the process. A process that dies leaves the tables half an iteration
ahead, so runs resume from checkpoints: a file for each task, written whole and checked to the last bit.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.core.arrays import F32
from equipoise.core.errors import InputError
from equipoise.core.files.array_file import load_arrays, save_arrays
from equipoise.solvers.disk_tasks.cut import Task

FORMAT = "equipoise task 1"
_READ = 1 << 17  # bytes asked for at a time: Linux reads no more ahead than its device takes at once
_MOST_WRITES = 2  # tasks whose pages wait to be written


class TaskTables:
    """Regrets and averages of tasks. With a folder they are on its disk; a task is mapped between `open` and `close`.

    By default the system decides when changed pages are written and which stay in memory. With `uncached` a task's
    pages are written as soon as it is closed, by a thread of their own, and leave memory then.
    """

    def __init__(self, slots: Sequence[int], folder: str | None, *, uncached: bool = False) -> None:
        self._slots, self._uncached = slots, uncached
        self._writes: deque[Future[None]] = deque()
        sizes = np.array([2 * _whole_pages(4 * count) for count in slots], np.int64)
        self._start, self.bytes = np.cumsum(sizes) - sizes, int(sizes.sum())
        self._memory = None if folder else [np.zeros((2, count), np.float32) for count in slots]
        if folder:
            self._file = _reserved(Path(folder), self.bytes)
            weakref.finalize(self, os.close, self._file)

    def open(self, index: int) -> tuple[F32, F32]:
        """The regrets and averages of a task. They stay mapped for as long as somebody refers to them."""
        count = self._slots[index]
        if self._memory is not None:
            return self._memory[index][0], self._memory[index][1]
        if not count:
            return np.zeros(0, np.float32), np.zeros(0, np.float32)
        pages = _whole_pages(4 * count)
        try:
            mapped = mmap.mmap(self._file, 2 * pages, offset=int(self._start[index]))
        except OSError as error:
            raise InputError(
                f"cannot map a task of {2 * pages / 1e9:.1f} GB: {error.strerror}",
                remedy="cut the game into more groups of public cards, or give the process more memory",
            ) from None
        regret, average = (np.frombuffer(mapped, np.float32, count, at) for at in (0, pages))
        return regret, average

    def close(self, index: int) -> None:
        """Start to write what has changed, if pages should leave memory; nobody may refer to the tables any more."""
        if self._memory is None and self._uncached:
            self._writes.append(self._writer.submit(self._write, index))
            while len(self._writes) > _MOST_WRITES:
                with contextlib.suppress(IndexError):  # another thread has taken it
                    self._writes.popleft().result()

    def settle(self) -> None:
        """Wait until the pages of all closed tasks are written."""
        while self._writes:
            self._writes.popleft().result()

    @cached_property
    def _writer(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1)

    def _write(self, index: int) -> None:
        os.fdatasync(self._file)
        os.posix_fadvise(self._file, *self._range(index), os.POSIX_FADV_DONTNEED)

    def _range(self, index: int) -> tuple[int, int]:
        return int(self._start[index]), 2 * _whole_pages(4 * self._slots[index])

    def prefetch(self, index: int, averages: Iterable[slice]) -> None:
        """Let the system read a task's regrets and some averages, in the order of the disk, while another is walked."""
        if self._memory is None:
            start, size = self._range(index)
            pieces = [
                (0, 4 * self._slots[index]),
                *((size // 2 + 4 * s.start, size // 2 + 4 * s.stop) for s in averages),
            ]
            for first, stop in pieces:
                for at in range(start + first, start + stop, _READ):
                    os.posix_fadvise(self._file, at, min(_READ, start + stop - at), os.POSIX_FADV_WILLNEED)


def _whole_pages(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


def _reserved(folder: Path, size: int) -> int:
    """The descriptor of a file without a name, its blocks reserved: all zeros."""
    descriptor = -1
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder)
        Path(name).unlink()
        os.posix_fallocate(descriptor, 0, max(size, 1))
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)  # which gives back the blocks that it got
        raise InputError(
            f"cannot make tables of {size / 1e9:.1f} GB: {error.strerror}", where=str(folder),
            remedy="give a folder with room, or more machines",
        ) from None  # fmt: skip
    return descriptor


def save_task(folder: Path, task: Task, header: dict[str, Any], tables: tuple[F32, F32]) -> Path:
    """Write a task's part of a checkpoint, under the name of the task."""
    path = _path(folder, task)
    save_arrays(path, FORMAT, header, {"regret": tables[0], "average": tables[1]})
    return path


def load_task(folder: Path, task: Task, header: dict[str, Any], tables: tuple[F32, F32]) -> None:
    """Read a task's part of a checkpoint into its tables. OUT: float32[slot] x 2."""
    remedy = "restore the checkpoint from a copy, or resume from an older one"
    found, arrays = load_arrays(_path(folder, task), FORMAT, remedy=remedy)
    fits = all(arrays[name].shape == table.shape for name, table in zip(("regret", "average"), tables, strict=True))
    if not fits or any(found.get(key) != value for key, value in header.items()):
        raise InputError("of another game, abstraction or cut", where=str(_path(folder, task)), remedy=remedy)
    tables[0][:], tables[1][:] = arrays["regret"], arrays["average"]


def _path(folder: Path, task: Task) -> Path:
    return folder / f"{task.sequence}-{task.group}.tables"
