"""Benchmarks of training in parts.

Disk tasks (`solvers/disk_tasks/`) whose tables pass the page cache: the bytes that the system reads and writes for them
a second, by its own count. The bound is the disk's: the same bytes, read and written one after the other
in large blocks, measured in turns. Their other bound is the walk itself, that of the solver for one process, which is
also the peer of tasks whose tables stay in the page cache.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from equipoise.bench.measure import Benchmark
from equipoise.bench.solvers import random_buckets
from equipoise.core.files.cache import cache_root
from equipoise.games.gamedef import load_game
from equipoise.solvers.disk_tasks.cards import Sampling
from equipoise.solvers.disk_tasks.cut import GameCut
from equipoise.solvers.disk_tasks.head import DiskHead
from equipoise.solvers.disk_tasks.part import DiskPart, PartSpec
from equipoise.solvers.public_chance import PublicChance
from equipoise.tree.betting_tree import build_tree

BUCKETS = 4000
FEW, SEVERAL = Sampling(boards=1), Sampling(boards=4)  # little and more work for what is read
TURNS = 3
BLOCK = 1 << 24  # bytes written or read at a time
LENGTH = 1 << 29  # bytes of the file that measures the disk


def run() -> list[Benchmark]:
    """All benchmarks of the group."""
    rules = load_game("holdem.limit")
    cut = GameCut(build_tree(rules), random_buckets(rules, BUCKETS))
    cache_root().mkdir(0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_root()) as folder:  # /tmp may be memory
        about = f"limit hold'em, disk tasks, {cut.whole.bytes() / 1e9:.2f} GB of tables"
        return [
            *(
                _against_disk(f"{about}, {s.boards} board{'s' if s.boards > 1 else ''}, from disk", cut, s, folder)
                for s in (FEW, SEVERAL)
            ),
            _against_memory(f"{about}, {SEVERAL.boards} boards, from disk", cut, folder, direct=True),
            _against_memory(f"{about}, {SEVERAL.boards} boards, cached", cut, folder, direct=False),
        ]


def _iteration(cut: GameCut, sampling: Sampling, folder: str, *, direct: bool) -> Callable[[], None]:
    """An iteration of disk tasks with one part."""
    head = DiskHead(cut, [cut.tasks], sampling)
    part = DiskPart(cut.tree, cut.buckets, PartSpec(cut.tasks, sampling, folder=folder, direct=direct))

    def iterate() -> None:
        for _ in range(2):
            head.finish([part.work(message) for message in head.begin()])
        part.tables.settle()

    return iterate


def _against_disk(name: str, cut: GameCut, sampling: Sampling, folder: str) -> Benchmark:
    iterate = _iteration(cut, sampling, folder, direct=True)
    iterate()
    best = bound = 0.0
    for _ in range(TURNS):
        disk = disk_rates(Path(folder))
        before, seconds = _moved(), _seconds(iterate)
        read, written = (after - first for after, first in zip(_moved(), before, strict=True))
        best = max(best, (read + written) / seconds)
        bound = max(bound, (read + written) / (read / disk[0] + written / disk[1]))
    return Benchmark(name, "bytes/s", best, "the disk, large blocks one after the other", bound)


def _against_memory(name: str, cut: GameCut, folder: str, *, direct: bool) -> Benchmark:
    iterate = _iteration(cut, SEVERAL, folder, direct=direct)
    solver = PublicChance(cut.tree, cut.buckets, **vars(SEVERAL))
    best = [0.0, 0.0]
    for _ in range(TURNS + 1):  # the first compiles
        for i, call in enumerate((iterate, lambda: solver.run(1))):
            best[i] = max(best[i], 1 / _seconds(call))
    return Benchmark(name, "iterations/s", best[0], "the solver for one process", best[1])


def _seconds(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _moved() -> tuple[int, int]:
    """Bytes that this process has had read from disk and written to it."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["read_bytes"]), int(lines["write_bytes"])


def disk_rates(folder: Path, length: int = LENGTH) -> tuple[float, float]:
    """Bytes a second that the disk of a folder reads and writes, one block after the other, past the page cache."""
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file, mmap.mmap(-1, BLOCK) as block:
        descriptor = file.fileno()
        os.posix_fallocate(descriptor, 0, length)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_DIRECT)
        block.write(np.random.default_rng(1).bytes(BLOCK))

        def write() -> None:
            for at in range(0, length, BLOCK):
                os.pwritev(descriptor, [block], at)

        def read() -> None:
            for at in range(0, length, BLOCK):
                os.preadv(descriptor, [block], at)

        write()  # the first time, the blocks are new
        return length / _seconds(read), length / _seconds(write)
