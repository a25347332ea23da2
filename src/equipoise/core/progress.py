"""Progress callbacks: the types that long computations take, callbacks for parts of them, and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, float], None]  # (name of the stage, fraction of it that is done)
Fraction: TypeAlias = Callable[[float], None]  # (fraction that is done): work of a single stage
Say: TypeAlias = Callable[[str], None]  # (a line of text for the user)

LEAST_SECONDS, LEAST_DONE, LEAST_REPORTS = 3.0, 0.01, 3  # what must be known before a time left is told
MOST_REPORTS = 512


def stage(progress: Progress | None, name: str) -> Fraction | None:
    """The callback for one stage of a longer computation."""
    return (lambda fraction: progress(name, fraction)) if progress else None


def part(progress: Fraction | None, first: float, last: float) -> Fraction | None:
    """The callback for a part of a stage, which takes it from `first` to `last`."""
    return (lambda fraction: progress(first + fraction * (last - first))) if progress else None


class TimeLeft:
    """The time left of work that reports the fraction that is done.

    The pace is that since half of the time: what came first, such as compiling, is soon forgotten, and the estimate
    does not jump with every report. There is none before three seconds, a hundredth of the work and three reports.
    `clock` gives seconds; those of work that counts its own (such as training without its measurements) are as good.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, done: float = 0.0) -> None:
        self.clock = clock
        self.reports = [(clock(), done)]

    def update(self, done: float) -> None:
        """Report the fraction that is done."""
        now = self.clock()
        if self.reports[-1] != (now, done):
            self.reports.append((now, done))
        if len(self.reports) > MOST_REPORTS:
            self.reports[1:-1] = self.reports[1:-1:2]

    @property
    def seconds(self) -> float | None:
        """Seconds left; None where too little is known."""
        (first, nothing), (last, done) = self.reports[0], self.reports[-1]
        enough = last - first >= LEAST_SECONDS and done - nothing >= LEAST_DONE and len(self.reports) >= LEAST_REPORTS
        half = first + (last - first) / 2
        then, before = next(report for report in reversed(self.reports) if report[0] <= half)
        if not enough or done <= before:
            return None
        return max(0.0, (1 - done) * (last - then) / (done - before) - (self.clock() - last))
