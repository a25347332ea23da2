"""Processes that a test has started, by /proc."""

from __future__ import annotations

from pathlib import Path


def descendants(process: int) -> set[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = path.read_text().split(" ", 1)
            parents[int(number)] = int(rest.rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def part_actors(process: int) -> list[int]:
    """The descendants that are parts of a run on a cluster."""
    found = []
    for child in sorted(descendants(process)):
        try:
            if Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"ray::PartActor"):
                found.append(child)
        except OSError:
            continue
    return found
