"""Statistics that several measures share."""

from __future__ import annotations

import math
from statistics import NormalDist

from equipoise._arrays import F64


def t975(degrees: int) -> float:
    """The 97.5% point of Student's t (four terms of its expansion in 1 / degrees: to 0.3% from four degrees on)."""
    z = NormalDist().inv_cdf(0.975)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return float(sum(term / degrees**power for power, term in enumerate(terms)))


def interval(values: F64) -> tuple[float, float]:
    """The mean of independent observations, and half the width of its 95% interval."""
    count = len(values)
    if count < 2:
        return float(values.mean()) if count else 0.0, float("inf")
    return float(values.mean()), t975(count - 1) * float(values.std(ddof=1)) / math.sqrt(count)
