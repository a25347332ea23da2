"""A clock that only a test moves: how much is done in so many seconds does not depend on how busy the machine is."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest


class Clock:
    """Seconds that pass when a test says so, or when a solver that is charged for its iterations runs."""

    def __init__(self, patch: pytest.MonkeyPatch, *modules: str) -> None:
        """These modules read this clock; they sleep as ever."""
        self.now, self._patch = 0.0, patch
        for module in modules:
            patch.setattr(f"{module}.time", SimpleNamespace(
                perf_counter=self.read, process_time=self.read, monotonic=self.read, sleep=time.sleep
            ))  # fmt: skip

    def read(self) -> float:
        return self.now

    def charge(self, solver: type[Any], seconds: float) -> None:
        """Let each iteration of a solver's `run` take so many seconds."""
        go = solver.run

        def run(solver: Any, iterations: int) -> None:
            go(solver, iterations)
            self.now += seconds * iterations

        self._patch.setattr(solver, "run", run)
