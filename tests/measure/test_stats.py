"""Intervals: against textbook values, NumPy, and their own promise of 95%."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.measure.stats import Moments, interval, mean_interval, t975


@pytest.mark.parametrize(
    ("degrees", "point"), [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (1000, 1.962)]
)
def test_points_of_students_t(degrees: int, point: float) -> None:
    assert t975(degrees) == pytest.approx(point, rel=0.003)


def test_streams_and_values_agree() -> None:
    values = np.random.default_rng(1).integers(-20_000, 20_000, 5000)
    mean, half = interval(values)
    assert mean == pytest.approx(values.mean())
    assert half == pytest.approx(t975(4999) * values.std(ddof=1) / math.sqrt(5000))
    whole = [int(value) for value in values]
    assert mean_interval(5000, sum(whole), sum(value * value for value in whole)) == pytest.approx((mean, half))


def test_close_values_far_from_zero_keep_their_width() -> None:
    far = [10**12 + step for step in range(10)]
    assert interval(far) == pytest.approx((10**12 + 4.5, t975(9) * np.std(range(10), ddof=1) / math.sqrt(10)))
    assert mean_interval(10, sum(far), sum(value * value for value in far))[1] == pytest.approx(
        interval(list(range(10)))[1]
    )


def test_few_values() -> None:
    assert interval([3.0]) == (3.0, math.inf)
    assert interval([]) == mean_interval(0, 0, 0) == (0.0, math.inf)
    assert mean_interval(1, 3, 9) == (3.0, math.inf)
    assert interval([2.0, 2.0]) == (2.0, 0.0)


@pytest.mark.parametrize("count", [2, 3, 5, 40])
def test_the_interval_holds_the_mean_95_times_in_100(count: int) -> None:
    rng, trials = np.random.default_rng(count), 4000
    inside = 0
    for row in rng.normal(7.0, 3.0, (trials, count)).tolist():
        mean, half = interval(row)
        inside += abs(mean - 7.0) <= half
    assert inside / trials == pytest.approx(0.95, abs=5 * math.sqrt(0.95 * 0.05 / trials))


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_moments_of_blocks_are_those_of_all(block: int) -> None:
    rows = np.random.default_rng(5).standard_normal((1000, 3)) * [1, 20, 300] + [0, 1e6, -5]
    found = Moments(3)
    for start in range(0, len(rows), block):
        found.add(rows[start : start + block])
    assert found.count == 1000 and found.mean == pytest.approx(rows.mean(axis=0))
    assert found.scatter / 999 == pytest.approx(np.cov(rows.T), rel=1e-6)
    weights = np.array([1.0, 0.5, -2.0])
    assert found.weighted(weights).interval(3.0) == pytest.approx(interval(3.0 * (rows @ weights)))
    assert (found + found).count == 2000 and (found + Moments(3)).interval() == found.interval()


def test_few_observations_have_no_interval() -> None:
    found = Moments()
    assert found.interval() == (0.0, math.inf)
    found.add(np.array([3.0]))
    assert found.interval() == (3.0, math.inf)
    found.add(np.array([3.0, 3.0]))
    assert found.interval() == (3.0, 0.0)
