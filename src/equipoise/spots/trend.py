"""The trend of a solve: exploitability falls as a power of the iterations, a straight line between logarithms."""

from __future__ import annotations

from math import exp, inf, log
from typing import TypeAlias

Measurement: TypeAlias = tuple[int, float, float]  # iteration, seconds, exploitability

_FAR = 50.0  # the largest logarithm of a ratio of iterations that is worth telling


def iteration_at(target: float, earlier: Measurement, now: Measurement) -> float:
    """The iteration at which the line through two measurements reaches a target; infinite if it does not."""
    (then, _, above), (done, _, reached) = earlier, now
    if not 0 < target < reached < above:
        return inf
    power = log(above / reached) / log(done / then)
    return done * exp(min(log(reached / target) / power, _FAR))
