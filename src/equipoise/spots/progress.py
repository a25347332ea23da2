"""The progress of a solve, with the time left.

A solve ends at its target or at its last iteration. Until it has measured four times, the estimate is what spots
usually need (`cost.py`); then exploitability is followed as a power of the iterations, fitted to the measurements since
half of them. Measurements jump when the average restarts, so the fit is to the lowest so far, a power outside (0.7, 3)
is not believed, and each new estimate moves the one before by a third of the way (on a logarithmic scale).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from equipoise.spots.cost import SolveCost
from equipoise.spots.trend import Measurement

LEAST_ITERATIONS = 3  # whose pace says something
LEAST_MEASUREMENTS = 4
POWERS = 0.7, 3.0
WEIGHT = 0.3  # of a new estimate


@dataclass(frozen=True)
class SolveProgress:
    """A solve at one moment; the first report is before its first iteration."""

    cost: SolveCost
    iteration: int
    seconds: float
    percent: float | None  # exploitability as last measured, in percent; None before the first measurement
    seconds_left: float | None  # an estimate; None before there is one
    measured: bool = False  # was `percent` measured at this iteration?

    @property
    def fraction(self) -> float:
        """The fraction that is done; 0 before there is an estimate."""
        return 0.0 if self.seconds_left is None else self.seconds / max(self.seconds + self.seconds_left, 1e-9)


class EndEstimate:
    """The iteration at which a solve ends."""

    def __init__(self, target: float, iterations: int, expected: float) -> None:
        self.target, self.last = target, iterations
        self.iteration = float(min(expected, iterations))

    def measured(self, history: Sequence[Measurement]) -> None:
        """Move the estimate after a measurement."""
        now = history[-1][0]
        if self.target > 0 and len(history) >= LEAST_MEASUREMENTS:
            count = max(LEAST_MEASUREMENTS, sum(2 * row[0] >= now for row in history))
            at = np.log([row[0] for row in history])[-count:]
            reached = np.log(np.minimum.accumulate([max(row[2], 1e-12) for row in history]))[-count:]
            power = float(np.clip(-np.polyfit(at, reached, 1)[0], *POWERS))
            level = float(np.mean(reached + power * at))  # of the line: log(exploitability) + power x log(iteration)
            end = min(max((level - log(self.target)) / power, log(now)), log(self.last))
            self.iteration = exp((1 - WEIGHT) * log(self.iteration) + WEIGHT * end)
        self.iteration = float(min(max(self.iteration, now), self.last))

    def seconds_left(self, done: int, iteration: int, seconds: float) -> float | None:
        """Seconds until the end, after `done` iterations in some seconds; None while they say too little."""
        if done < LEAST_ITERATIONS:
            return None
        return seconds / done * max(0.0, self.iteration - iteration)
