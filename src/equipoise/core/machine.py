"""The machine: available cores and memory, and the number of threads to use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from equipoise.core.digits import whole_number
from equipoise.core.errors import InputError, check_count
from equipoise.core.wording import size_text

MOST_THREADS = 1024
PLENTY = 2**63 - 1  # bytes: if the system does not say
_GROUPS = Path("/sys/fs/cgroup")


def all_cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count(threads: int | None) -> int:
    """The number of threads that an option asks for: 0 or None means all cores."""
    return check_count(threads or 0, "threads", 0, MOST_THREADS) or all_cores()


def available_memory() -> int:
    """Bytes that this process can still allocate: the system's free memory, within the limits of its control groups and
    of its address space.
    """
    return max(0, min((PLENTY, *_free_memory(), *_left_in_groups(), *_left_of_address_space())))


def check_fits(needed: int, what: str, remedy: str) -> None:
    """Refuse work that needs more bytes of memory than are available."""
    free = available_memory()
    if needed > free:
        raise InputError(
            f"{what} need {size_text(needed)} of memory, and only {size_text(free)} is free", remedy=remedy
        )


def _free_memory() -> Iterator[int]:
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _left_in_groups() -> Iterator[int]:
    """What each control group around this process leaves (version 2, then version 1 of the interface).

    Pages of files that were read count as used, but are given up before anything fails.
    """
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, name = line.split(":", 2)
        if not controllers:
            root, limit, used, cache = _GROUPS, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            root, limit, used, cache = (
                _GROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
            )  # fmt: skip
        else:
            continue
        path = root / name.strip("/")
        for group in (path, *path.parents):
            if not group.is_relative_to(root):
                break
            most, now = _number(group / limit), _number(group / used)
            if most is not None and now is not None:
                yield most - now + _statistic(group / "memory.stat", cache)


def _left_of_address_space() -> Iterator[int]:
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        for line in _lines(Path("/proc/self/statm")):
            yield most - int(line.split()[0]) * resource.getpagesize()


def _number(path: Path) -> int | None:
    """The number in a system file; None if there is no such file, or it contains `max`."""
    words = " ".join(_lines(path)).split()
    return whole_number(words[0]) if words else None


def _statistic(path: Path, name: str) -> int:
    return sum(int(line.split()[1]) for line in _lines(path) if line.split()[:1] == [name])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
