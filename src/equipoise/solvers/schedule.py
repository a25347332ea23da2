"""The CFR family as numbers: how regrets and the average strategy are discounted before an iteration adds to them.

A variant is a function from the iteration (1, 2, ...) to `Discounts`. Averages are kept up to a constant: to weight
iteration t by w(t), multiply the sum by w(t - 1) / w(t) before adding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equipoise.core.array_checks import check_array, check_range
from equipoise.core.errors import InputError, shown
from equipoise.core.jit import F32, F64, kernel
from equipoise.walk.plan import Discounts


def cfr(t: int) -> Discounts:
    """Zinkevich and others 2007: all iterations count the same."""
    del t
    return Discounts(1.0, 1.0, 1.0)


def cfr_plus(t: int) -> Discounts:
    """Tammelin 2014: negative regrets are forgotten; iteration t counts t in the average."""
    return Discounts(1.0, 0.0, (t - 1) / t)


def linear(t: int) -> Discounts:
    """Brown and Sandholm 2019: iteration t counts t, in regrets and average."""
    return Discounts((t - 1) / t, (t - 1) / t, (t - 1) / t)


def discounted(t: int) -> Discounts:
    """Brown and Sandholm 2019, with their alpha 3/2, beta 0, gamma 2."""
    power = (t - 1) ** 1.5
    return Discounts(power / (power + 1), 0.5, ((t - 1) / t) ** 2)


def practical(t: int) -> Discounts:
    """Discounted with gamma 3, and the average restarted at every power of four: what postflop solvers use."""
    power = (t - 1) ** 1.5
    since = t - 4 ** ((t.bit_length() - 1) // 2)
    return Discounts(power / (power + 1), 0.5, (since / (since + 1)) ** 3)


def steep(t: int) -> Discounts:
    """Discounted with gamma 4: for solves that end after some tens of iterations, at any of them."""
    power = (t - 1) ** 1.5
    return Discounts(power / (power + 1), 0.5, ((t - 1) / t) ** 4)


def predictive(t: int) -> Discounts:
    """Farina and others 2021: CFR+ that plays by the regrets it expects; iteration t counts t squared."""
    return Discounts(1.0, 0.0, ((t - 1) / t) ** 2)


STEEPEST = 4  # no gain is more than the iterations to this power
SCHEDULES: dict[str, Callable[[int], Discounts]] = {
    "cfr": cfr,
    "cfr+": cfr_plus,
    "linear": linear,
    "discounted": discounted,
    "practical": practical,
    "steep": steep,
    "predictive": predictive,
}


def schedule(name: str) -> Callable[[int], Discounts]:
    """The variant of a name."""
    if name not in SCHEDULES:
        raise InputError(f"no schedule {shown(name)}", remedy=f"there are {', '.join(SCHEDULES)}")
    return SCHEDULES[name]


class Periods:
    """A schedule for sampled iterations: all iterations of a period count the same, and tables are discounted between
    periods (as in Pluribus, Brown and Sandholm 2019).
    """

    def __init__(self, variant: str, period: int) -> None:
        self._discounts = schedule(variant)
        if variant == "predictive":
            raise InputError("the predictive variant does not sample", remedy="use linear, discounted, cfr+ or cfr")
        if period < 1:
            raise InputError(f"a period of {period} iterations", remedy="give at least one")
        self.plus = variant == "cfr+"  # regrets are clipped at zero
        self.period = period

    def left(self, iteration: int) -> int:
        """How many iterations follow in the period of an iteration (0, 1, ...), itself included."""
        return self.period - iteration % self.period

    def starts(self, iteration: int) -> bool:
        """Whether tables are discounted before an iteration."""
        return iteration > 0 and iteration % self.period == 0

    def discount(self, iteration: int, regret: F32, average: F32) -> None:
        """Discount tables, or parts of them, before the first iteration of a period. IN OUT: float32[slot]."""
        discounts = self._discounts(iteration // self.period + 1)
        negative = 1.0 if self.plus else discounts.negative
        if (discounts.positive, negative) != (1.0, 1.0):
            discount(regret, discounts.positive, negative)
        if discounts.average != 1.0:
            discount(average, discounts.average, 1.0)


class LazyDiscount:
    """A schedule for tables of which an iteration touches little.

    A discount that is the same for all entries is not applied: later increments get a larger gain instead.
    ("discounted" and "practical" do take a pass over the regrets.)
    """

    def __init__(self, variant: str) -> None:
        self.discounts = schedule(variant)
        if variant == "predictive":
            raise InputError("the predictive variant does not sample", remedy="use another, e.g. cfr+")
        self.plus = variant == "cfr+"
        self.regret = self.average = 1.0  # gains: factors of the next increments

    @property
    def floor(self) -> np.float32:
        """The least regret that a table keeps."""
        return np.float32(0 if self.plus else -np.inf)

    def advance(self, iteration: int, regrets: Sequence[F32], averages: Sequence[F32]) -> None:
        """Discount before an iteration (1, 2, ...), in the tables or in the gains."""
        discounts = self.discounts(iteration)
        if discounts.positive == discounts.negative:
            self.regret = _gain(self.regret, discounts.positive, regrets, iteration)
        elif not self.plus:
            for table in regrets:
                discount(table, discounts.positive, discounts.negative)
        self.average = _gain(self.average, discounts.average, averages, iteration)

    def state(self) -> F64:
        """The gains, for a checkpoint."""
        return np.array([self.regret, self.average])

    def restore(self, iteration: int, state: Any) -> None:
        """Resume from a checkpoint after an iteration; the next one may have begun."""
        check_array(state, "gains", (2,), np.float64)
        check_range(state, "gains", 1, 1.001 * (iteration + 1) ** STEEPEST)
        self.regret, self.average = (float(gain) for gain in state)


def _gain(gain: float, keep: float, tables: Sequence[F32], iteration: int) -> float:
    if keep:
        return gain / keep
    if iteration > 1:
        for table in tables:
            table[:] = 0
    return 1.0


@kernel
def discount(table: F32, positive: float, negative: float) -> None:
    """Multiply a table's positive and negative entries. IN OUT: float32[slot]."""
    up, down = np.float32(positive), np.float32(negative)
    for i in range(table.size):
        table[i] *= up if table[i] > np.float32(0) else down
