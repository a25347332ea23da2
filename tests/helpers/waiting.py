"""Waiting for what another thread or process does. The guard is against hanging, not a time that anything may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from equipoise.runs.folder import RunFolder

GUARD = 600.0  # seconds before a test that hangs gives up


def wait_until(moment: Callable[[], bool], what: str) -> None:
    """Look every few milliseconds whether it has come."""
    until = time.monotonic() + GUARD
    while not moment():
        assert time.monotonic() < until, f"after {GUARD:.0f} seconds still not: {what}"
        time.sleep(0.005)


def newest(run: Path) -> int:
    """The iteration of a run's last checkpoint."""
    return max((int(path.stem) for path in RunFolder(run).listed()), default=0)
