"""Statistics that several measures share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from equipoise.core.arrays import F64

LEAST_FITTED = 10  # observations a slope: with fewer, none is fitted
LEAST_SPREAD = 1e-3  # of the standard deviation of the values: what a control that is used has at least
LEAST_ERRORS = 2.0  # standard errors: a slope that is closer to zero is not used
MOST_ERRORS = 10.0  # standard errors: a control whose mean is farther from zero is not used
ROUNDING = 1e-9  # of the largest value that is possible: standard deviations below it are rounding errors
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


def apply_control_variates(halves: tuple[Moments, Moments], most: float) -> Moments:
    """Moments of the first number after removing control variates: the other numbers, of mean zero and in its unit.

    IN: moments of the even and of the odd observations; `most`, the largest value that an observation can have. The
    slopes of each half are fitted on the other half, so they are independent of what they multiply: the mean stays
    unbiased, and its standard error includes what the fit costs. A mean beyond `most` is impossible and says that the
    controls' rare events were not sampled; then the plain observations are returned.
    """
    mine, others = halves
    corrected = mine.weighted(_control_weights(others, most)) + others.weighted(_control_weights(mine, most))
    if corrected.count and abs(corrected.mean[0]) <= most:
        return corrected
    plain = np.eye(1, len(mine.mean))[0]
    return mine.weighted(plain) + others.weighted(plain)


def _control_weights(fitted: Moments, most: float) -> F64:
    """Weights: 1 for the first number, minus the slopes of its regression on the others.

    The regression is on the principal components of the controls, which are uncorrelated, so each has a slope of its
    own. A component is left out, with a slope of zero, where a slope would mean nothing:

    - It hardly varies: its standard deviation is rounding error (against `most`), or so far below that of the values
      that only an enormous slope could make it explain them.
    - Its mean is far from zero. The true mean is zero, so the sample lacks rare events that balance the others.
    - Its slope is not determined: zero lies within two standard errors of it.
    """
    weights: F64 = np.eye(1, len(fitted.mean))[0]
    if fitted.count <= len(weights):
        return weights
    covariance = fitted.scatter / (fitted.count - 1)
    variances, components = np.linalg.eigh(covariance[1:, 1:])
    spread = np.sqrt(np.maximum(variances, 0.0))
    varies = spread > max(LEAST_SPREAD * math.sqrt(covariance[0, 0]), ROUNDING * most)
    if fitted.count < LEAST_FITTED * varies.sum():
        return weights
    means, shared = components.T @ fitted.mean[1:], components.T @ covariance[1:, 0]
    balanced = np.abs(means) <= MOST_ERRORS * spread / math.sqrt(fitted.count)
    slopes = np.divide(shared, variances, out=np.zeros_like(shared), where=varies & balanced)
    left = max(covariance[0, 0] - float(slopes @ shared), 0.0)
    slopes[slopes**2 * variances * (fitted.count - len(weights)) < LEAST_ERRORS**2 * left] = 0.0
    weights[1:] = -components @ slopes
    return weights


def mean_interval(count: int, total: float, squares: float) -> tuple[float, float]:
    """`interval` from a count, a sum and a sum of squares: for streams of integers, whose sums are exact."""
    if count < 2:
        return float(total) if count else 0.0, math.inf
    variance = max(count * squares - total * total, 0) / (count * (count - 1))
    return total / count, t975(count - 1) * math.sqrt(variance / count)
