"""Statistics that several measures share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from equipoise.core.arrays import F64

LEAST_EXPLAINED = 1e-10  # of the variance of luck: directions with less are rounding errors
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


class Moments:
    """Count, mean and scatter (sums of products of deviations) of observations that come in blocks: what a mean, its
    interval and a regression need, in memory that does not grow (Chan, Golub and LeVeque 1979).
    """

    def __init__(self, numbers: int = 1) -> None:
        self.count = 0
        self.mean: F64 = np.zeros(numbers)
        self.scatter: F64 = np.zeros((numbers, numbers))

    def add(self, block: F64) -> None:
        """Add observations: float64[observation], or [observation, number] where each has several numbers."""
        rows = block.reshape(len(block), len(self.mean))
        if len(rows):
            mean = rows.mean(axis=0)
            deviations = rows - mean
            self._merge(len(rows), mean, deviations.T @ deviations)

    def _merge(self, count: int, mean: F64, scatter: F64) -> None:
        total, apart = self.count + count, mean - self.mean
        self.mean = self.mean + apart * (count / total)
        self.scatter = self.scatter + scatter + np.outer(apart, apart) * (self.count * count / total)
        self.count = total

    def weighted(self, weights: F64) -> Moments:
        """Moments of the weighted sum of each observation's numbers."""
        found = Moments()
        if self.count:
            found._merge(self.count, np.array([weights @ self.mean]), np.array([[weights @ self.scatter @ weights]]))
        return found

    def __add__(self, other: Moments) -> Moments:
        """Moments of the union."""
        both = Moments(len(self.mean))
        for part in (self, other):
            if part.count:
                both._merge(part.count, part.mean, part.scatter)
        return both

    @property
    def standard_error(self) -> float:
        """Standard error of the first number's mean; infinite for fewer than two observations."""
        if self.count < 2:
            return math.inf
        return math.sqrt(max(float(self.scatter[0, 0]), 0.0) / (self.count - 1) / self.count)

    def interval(self, unit: float = 1.0) -> tuple[float, float]:
        """As `interval` of the first numbers, times `unit`."""
        half = t975(self.count - 1) * self.standard_error if self.count > 1 else math.inf
        return unit * float(self.mean[0]), unit * half


def apply_control_variates(halves: tuple[Moments, Moments]) -> Moments:
    """Moments of the first number after removing control variates (the other numbers, of mean zero).

    IN: moments of the even and of the odd observations. The slopes of each half are fitted on the other half, so they
    are independent of what they multiply and the mean stays unbiased.
    """
    mine, others = halves
    return mine.weighted(_control_weights(others)) + others.weighted(_control_weights(mine))


def _control_weights(fitted: Moments) -> F64:
    """Weights: 1 for the first number, minus the slopes of its regression on the others."""
    weights = np.zeros(len(fitted.mean))
    weights[0] = 1.0
    if fitted.count >= LEAST_FITTED * (len(weights) - 1):
        luck, shared = fitted.scatter[1:, 1:], fitted.scatter[1:, 0]
        scale = np.sqrt(np.where(np.diag(luck) > 0, np.diag(luck), 1.0))  # controls of very different size
        slopes = np.linalg.lstsq(luck / np.outer(scale, scale), shared / scale, rcond=LEAST_EXPLAINED)[0]
        weights[1:] = -slopes / scale
    return weights


def mean_interval(count: int, total: float, squares: float) -> tuple[float, float]:
    """`interval` from a count, a sum and a sum of squares: for streams of integers, whose sums are exact."""
    if count < 2:
        return float(total) if count else 0.0, math.inf
    variance = max(count * squares - total * total, 0) / (count * (count - 1))
    return total / count, t975(count - 1) * math.sqrt(variance / count)
