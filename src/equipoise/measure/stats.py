"""Statistics that several measures share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from equipoise._arrays import F64

LEAST_FITTED = 10  # observations a slope: with fewer, none is fitted
_FEW = {1: 12.7062, 2: 4.3027, 3: 3.1824}  # degrees at which the expansion is still off


def t975(degrees: int) -> float:
    """The 97.5% point of Student's t (four terms of its expansion in 1 / degrees: to 0.3% from four degrees on)."""
    if degrees in _FEW:
        return _FEW[degrees]
    z = NormalDist().inv_cdf(0.975)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return float(sum(term / degrees**power for power, term in enumerate(terms)))


def interval(values: F64 | Sequence[float]) -> tuple[float, float]:
    """The mean of independent observations, and half the width of its 95% interval (infinite for fewer than two)."""
    values = np.asarray(values, np.float64)
    count = len(values)
    if count < 2:
        return float(values.mean()) if count else 0.0, math.inf
    return float(values.mean()), t975(count - 1) * float(values.std(ddof=1)) / math.sqrt(count)


def standard_error(values: F64) -> float:
    """Of the mean of independent observations."""
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def without_luck(values: F64, luck: F64) -> F64:
    """Observations less what some numbers of mean zero explain of them: the same mean, less noise.

    IN: float64[observation], float64[observation, number]. Slopes for each half of the observations (the even and the
    odd ones) are fitted to the other half, so that they are independent of what they multiply: no bias.
    """
    left = values.copy()
    for half in range(2):
        mine, others = slice(half, None, 2), slice(1 - half, None, 2)
        if len(values[others]) >= LEAST_FITTED * luck.shape[1]:
            centred = luck[others] - luck[others].mean(axis=0)
            slopes = np.linalg.lstsq(centred, values[others] - values[others].mean(), rcond=None)[0]
            left[mine] -= luck[mine] @ slopes
    return left


def mean_interval(count: int, total: float, squares: float) -> tuple[float, float]:
    """The same from how many there are, their sum and the sum of their squares: for streams of whole numbers, whose
    sums lose nothing.
    """
    if count < 2:
        return float(total) if count else 0.0, math.inf
    variance = max(count * squares - total * total, 0) / (count * (count - 1))
    return total / count, t975(count - 1) * math.sqrt(variance / count)
