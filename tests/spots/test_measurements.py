"""When a solve measures: often enough to stop near its target, seldom enough to cost little."""

from __future__ import annotations

from itertools import pairwise

from equipoise.spots.solve import FIRST_MEASUREMENT, _next_measurement


def measured(power: float, target: float) -> list[tuple[int, float, float]]:
    """The measurements of a solve whose exploitability falls as a power of the iterations, to a target."""
    history: list[tuple[int, float, float]] = []
    while not history or history[-1][2] > target:
        at = _next_measurement(history, target) + (history[-1][0] if history else 0)
        history.append((at, 0.0, 100 * at**-power))
    return history


def test_a_solve_stops_near_its_target() -> None:
    for power in (0.7, 1.0, 1.5):
        for target in (1.0, 0.1, 0.02):
            last, needed = measured(power, target)[-1][0], (100 / target) ** (1 / power)
            assert needed <= last <= max(needed + FIRST_MEASUREMENT, 1.03 * needed)


def test_measurements_are_seldom_and_do_not_wait_for_a_trend() -> None:
    history = measured(1.0, 0.01)
    assert len(history) < 90  # of 10,000 iterations
    assert all(1.1 * a[0] + FIRST_MEASUREMENT >= b[0] for a, b in pairwise(history))
    assert _next_measurement([(100, 0.0, 1.0), (110, 0.0, 1.2)], 0.5) == 11  # rising: a tenth
    assert _next_measurement([(100, 0.0, 1.2), (110, 0.0, 1.0)], 0.0) == 11  # no target
