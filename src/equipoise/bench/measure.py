"""How benchmarks measure: ours and the peer in turns; the best time of each counts, as machines are shared."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Benchmark:
    """Rates of ours and of a peer doing the same work; `ratio` above one: ours is faster. A peer of 0 is missing."""

    name: str
    unit: str
    ours: float
    peer_name: str
    peer: float

    @property
    def ratio(self) -> float:
        return self.ours / self.peer if self.peer else 0.0

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        return {**asdict(self), "ratio": self.ratio}


@dataclass(frozen=True)
class Work:
    """Something to time: a call, and how much work one call does."""

    call: Callable[[], object]
    amount: float


def compare(
    name: str, unit: str, ours: Work, peer_name: str, peer: Work | None, *, rounds: int = 7, seconds: float = 0.15
) -> Benchmark:
    """Both rates, each the best of `rounds` turns of about `seconds`."""
    ours.call()  # compiled, and in the caches
    best = [0.0, 0.0]
    for _ in range(rounds):
        for i, work in enumerate((ours, peer)):
            if work:
                best[i] = max(best[i], rate(work, seconds))
    return Benchmark(name, unit, best[0], peer_name, best[1])


def rate(work: Work, seconds: float) -> float:
    """Work a second, of one turn."""
    calls = 0
    start = now = time.perf_counter()
    while calls == 0 or now - start < seconds:
        work.call()
        calls += 1
        now = time.perf_counter()
    return calls * work.amount / (now - start)
