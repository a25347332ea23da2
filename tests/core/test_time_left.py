"""The time left: nothing before enough is known, then estimates that settle."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from equipoise.core.progress import TimeLeft


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_told_before_enough_is_known() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    assert left.seconds is None
    for done in (0.0, 0.2):
        clock.now += 10
        left.update(done)
    assert left.seconds is not None
    for seconds, fraction in ((0.1, 0.01), (10, 0.0001)):  # too soon; too little
        left = TimeLeft(clock)
        for step in range(1, 10):
            clock.now += seconds / 9
            left.update(step * fraction / 9)
        assert left.seconds is None
    left = TimeLeft(clock)
    clock.now += 60
    left.update(0.5)
    assert left.seconds is None  # one report may be one of two threads that happened to end


def test_even_work_is_told_exactly_and_counts_down() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    for step in range(1, 61):
        clock.now += 1
        left.update(step / 100)
    assert left.seconds == pytest.approx(40)
    clock.now += 15
    assert left.seconds == pytest.approx(25)
    clock.now += 100
    assert left.seconds == 0


def test_a_slow_start_is_forgotten() -> None:
    """A minute of compiling before the first hundredth, then a hundredth a second."""
    clock = Clock()
    left = TimeLeft(clock)
    clock.now += 60
    for step in range(1, 91):
        left.update(step / 100)
        clock.now += 1
    assert left.seconds == pytest.approx(10, abs=2)


@pytest.mark.parametrize("seed", range(5))
def test_uneven_work_gives_estimates_that_settle(seed: int) -> None:
    clock, rng = Clock(), random.Random(seed)
    steps = [rng.expovariate(1) for _ in range(1000)]
    total, left, told = sum(steps), TimeLeft(clock), list[float]()
    for number, step in enumerate(steps):
        clock.now += step
        left.update((number + 1) / len(steps))
        if left.seconds is not None:
            told.append(clock.now - 50 + left.seconds)
    assert len(told) > 980
    assert all(0.2 * total < each < 5 * total for each in told)
    assert all(0.85 * total < each < 1.15 * total for each in told[len(told) // 2 :])
    jumps = [abs(b - a) / total for a, b in pairwise(told[100:])]
    assert max(jumps) < 0.25


def test_many_reports_are_thinned_out() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    for step in range(1, 20_001):
        clock.now += 0.01
        left.update(step / 40_000)
    assert len(left.reports) <= 513
    assert left.seconds == pytest.approx(200, rel=0.01)
