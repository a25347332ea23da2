"""What a solve takes, said before it starts: the size of its tree, memory, the solution's file, and about how long.

The time is iterations times slots (a number for each live hand, action and board) times the seconds that this machine
needs for one of them, which is measured on the packaged spot `turn`. How many iterations a target needs is not known
before: packaged spots need 80 to come to 0.5% of the pot, and 200 to 450 to come to 0.1%. So the first estimate may be
off by a factor of two or three; a solve refines it as it runs (`progress.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from equipoise.core.wording import size_text
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.spots.problem import Problem
from equipoise.spots.small_strategy import EXACT
from equipoise.spots.spot import load_spot
from equipoise.walk.table_storage import storage_name, table_type

HEAVY_BYTES, HEAVY_SECONDS = 1_000_000_000, 60.0
TIMED_SLOTS = 1 << 24  # of larger tables the time is estimated unasked: estimating takes a fraction of a second
_USUAL, _USUAL_TARGET, _POWER = 80, 0.5, 0.85  # iterations to an exploitability in percent, and how they grow
_TIMED = 10  # iterations
_BEYOND_CACHE = 1.4  # how much longer a slot takes where tables do not fit into the processor's cache


@dataclass(frozen=True)
class SolveCost:
    """What a solve takes. `iterations` and `seconds` are estimates; `seconds` is None where it was not estimated."""

    nodes: int  # of betting
    boards: int
    infosets: int
    memory_bytes: int
    file_bytes: int
    storage: str
    int16_memory_bytes: int  # what 16-bit tables would take
    iterations: int
    seconds: float | None

    @property
    def heavy(self) -> bool:
        """Does it take over a gigabyte or a minute?"""
        return self.memory_bytes > HEAVY_BYTES or (self.seconds or 0) > HEAVY_SECONDS

    @property
    def hint(self) -> str:
        """A line for who starts a heavy solve: how large it is, and what would be lighter."""
        sizes = f"{size_text(self.memory_bytes)} of memory and a file of {size_text(self.file_bytes)}"
        halved = f"storage int16 needs {size_text(self.int16_memory_bytes)}, "
        lighter = (halved if self.storage != "int16" else "") + "fewer bet sizes need less"
        return f"a heavy solve: {sizes}{self.time_text}; {lighter}"

    @property
    def time_text(self) -> str:
        """`, about 4 minutes`; empty if it was not estimated."""
        if self.seconds is None:
            return ""
        if self.seconds < 1.5:
            return ", about a second"
        if self.seconds < 90:
            return f", about {self.seconds:.0f} seconds"
        minutes = self.seconds / 60
        return f", about {minutes:.0f} minutes" if minutes < 90 else f", about {minutes / 60:.1f} hours"

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        return asdict(self)


def cost_of_solve(
    problem: Problem,
    target: float,
    iterations: int,
    variant: str,
    threads: int,
    storage: str,
    *,
    resumable: bool = False,
    timed: bool | None = None,
) -> SolveCost:
    """The cost of a solve. `timed`: estimate its time (default: if its tables are large)."""
    stored, tables = table_type(storage), 3 if variant == "predictive" else 2
    engine = problem.engine(threads, stored=stored)
    slots, item = engine.slots, np.dtype(stored).itemsize
    expected = int(min(iterations, usual_iterations(target)))
    seconds = None
    if slots > TIMED_SLOTS if timed is None else timed:
        beyond = _BEYOND_CACHE if slots > TIMED_SLOTS else 1.0
        seconds = expected * slots * beyond * seconds_a_slot(variant, storage, threads if engine.in_threads else 1)
    return SolveCost(
        nodes=len(problem.tree),
        boards=len(problem.cards.cards),
        infosets=engine.infosets,
        memory_bytes=problem.memory_bytes(threads, tables, stored),
        file_bytes=tables * slots * item if resumable else slots * (item if slots * item <= EXACT else 1),
        storage=storage_name(stored),
        int16_memory_bytes=problem.memory_bytes(threads, tables, np.int16),
        iterations=expected,
        seconds=seconds,
    )


def usual_iterations(target: float) -> float:
    """How many iterations a spot usually needs to an exploitability in percent; infinite without a target."""
    return int(np.ceil(_USUAL * (_USUAL_TARGET / target) ** _POWER)) if target > 0 else np.inf


@cache
def seconds_a_slot(variant: str, storage: str, threads: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds that an iteration takes for each slot, measurements included: timed on a spot of two million slots."""
    engine = Problem.of_spot(load_spot("turn")).engine(threads, stored=table_type(storage))
    solver = VectorCFR(engine, variant)
    solver.run(1)
    solver.exploitability()
    start = clock()
    solver.run(_TIMED)
    solver.exploitability()
    return (clock() - start) / _TIMED / engine.slots
