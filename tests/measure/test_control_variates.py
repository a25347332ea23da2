"""Control variates: luck is removed and nothing else; controls that are rounding errors or unbalanced are not used."""

from math import sqrt

import numpy as np
import pytest

from equipoise.core.jit import F64
from equipoise.measure.stats import Moments, apply_control_variates

MOST = 1e6  # chips


def halves_of(values: F64, luck: F64, block: int = 6) -> tuple[Moments, Moments]:
    """Moments of the even and the odd observations, which come in blocks."""
    halves, rows = (Moments(1 + luck.shape[1]), Moments(1 + luck.shape[1])), np.column_stack([values, luck])
    for start in range(0, len(rows), block):
        for half in range(2):
            halves[half].add(rows[start : start + block][half::2])
    return halves


def unlucky(values: F64, luck: F64, block: int = 6, most: float = MOST) -> Moments:
    """Observations less their luck."""
    return apply_control_variates(halves_of(values, luck, block), most)


def test_luck_is_taken_away_and_nothing_else() -> None:
    rng = np.random.default_rng(1)
    luck, noise = rng.standard_normal((400, 3)), rng.standard_normal(400)
    left = unlucky(7 + luck @ [3.0, -2.0, 0.0] + 0.1 * noise, luck)
    assert abs(left.mean[0] - 7) < 0.03 and left.standard_error < 0.12 / sqrt(400) and left.count == 400
    means = [unlucky(values, values[:, None] - 1).mean[0] for values in rng.exponential(size=(3000, 80))]
    assert abs(np.mean(means) - 1) < 1e-9  # known luck, all explained
    few = rng.standard_normal(12)
    assert unlucky(few, few[:, None]).mean[0] == pytest.approx(few.mean())
    # Heavy tails and few observations, where slopes fitted to all of them would bias the mean.
    values = rng.exponential(size=(10000, 24)) ** 2
    controls = np.sqrt(values) - 1
    means = [unlucky(v, c[:, None], 24).mean[0] for v, c in zip(values, controls, strict=True)]
    assert abs(np.mean(means) - 2) < 5 * np.std(means) / sqrt(len(means))


def test_luck_in_blocks_is_luck_at_once() -> None:
    """Moments against a regression over all observations; numbers of other sizes, one constant, two alike."""
    rng = np.random.default_rng(2)
    luck = rng.standard_normal((500, 4)) * [1e2, 1e4, 0, 1]
    luck[:, 3] = 5 * luck[:, 1]
    values = 3e4 + luck @ [2, 0.7, 1, 0.1] + 1e2 * rng.standard_normal(500)
    left = values.copy()
    for half in range(2):
        mine, others = slice(half, None, 2), slice(1 - half, None, 2)
        centred = luck[others] - luck[others].mean(axis=0)
        left[mine] -= luck[mine] @ np.linalg.lstsq(centred, values[others] - values[others].mean(), rcond=1e-9)[0]
    for block in (6, 100, 500):
        found = unlucky(values, luck, block)
        assert found.mean[0] == pytest.approx(left.mean(), rel=1e-9)
        assert found.standard_error == pytest.approx(left.std(ddof=1) / sqrt(500), rel=1e-6)
        assert left.std() < 0.2 * values.std()


@pytest.mark.parametrize("size", [1e-16, 1e-12, 1e-7])
@pytest.mark.parametrize("mean", [0.0, 1.0, 1e8])
def test_rounding_errors_are_not_luck(size: float, mean: float) -> None:
    """Beside real luck, a control that is only noise, of any mean: the other control still does its work."""
    rng = np.random.default_rng(3)
    luck = rng.standard_normal((300, 2)) * [1.0, size] + [0, mean * size]
    values = 5 + 2 * luck[:, 0] + 0.1 * rng.standard_normal(300)
    with_it, without = unlucky(values, luck), unlucky(values, luck[:, :1])
    assert with_it.mean == pytest.approx(without.mean, abs=1e-6)
    assert with_it.standard_error == pytest.approx(without.standard_error, rel=1e-4)
    assert abs(with_it.mean[0] - 5) < 4 * with_it.standard_error < 0.04


def test_a_control_whose_rare_events_were_not_sampled_is_not_used() -> None:
    """0.001 almost always, and -9.999 once in ten thousand: where that is missing, its mean is not zero."""
    rng = np.random.default_rng(4)
    common = 0.001 + 1e-4 * rng.standard_normal(400)
    values = 3 + 1e3 * (common - 0.001) + 0.01 * rng.standard_normal(400)
    found = unlucky(values, common[:, None])
    assert found.mean[0] == pytest.approx(values.mean()) and abs(found.mean[0] - 3) < 4 * found.standard_error


def test_slopes_that_are_not_determined_add_no_noise() -> None:
    """Thirty controls without anything to say: the mean is mostly the plain one."""
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(50):
        values, luck = rng.standard_normal(700), rng.standard_normal((700, 30))
        found = unlucky(values, luck)
        errors.append(found.standard_error / (values.std(ddof=1) / sqrt(700)))
    assert np.mean(errors) < 1.02  # 1.04 with all thirty slopes


def test_a_mean_that_no_hand_can_win_is_not_reported() -> None:
    """A rare event in one half only, so that its slope is wrong for the other."""
    values, luck = np.zeros(400), np.zeros((400, 1))
    values[::2] = np.tile([1.0, -1.0], 100)
    luck[::2, 0] = np.tile([0.01, -0.01], 100)
    luck[1::2, 0] = np.tile([0.5, 0.0], 100)
    assert abs(unlucky(values, luck).mean[0]) > 10
    assert unlucky(values, luck, most=1.0).mean[0] == pytest.approx(values.mean(), abs=1e-12)


def test_intervals_hold_the_mean_95_times_in_100() -> None:
    """Skewed values, luck of mixed use: slopes are fitted on other observations, and intervals know what that costs."""
    rng, trials, inside = np.random.default_rng(6), 2000, 0
    for _ in range(trials):
        luck = np.column_stack([rng.exponential(size=120) - 1, rng.choice([-1.0, 1.0], 120), np.zeros(120)])
        values = 2 + luck[:, 0] - 0.3 * luck[:, 1] + rng.exponential(size=120) - 1
        mean, half = unlucky(values, luck).interval()
        inside += abs(mean - 2) <= half
    assert inside / trials == pytest.approx(0.94, abs=0.02)
