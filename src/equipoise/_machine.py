"""The machine: how much memory there is to use."""

from __future__ import annotations

from pathlib import Path


def available_memory() -> int:
    """Bytes that a solve may use: what the system says is free."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 2**63 - 1
