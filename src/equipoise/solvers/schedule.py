"""The CFR family as numbers: how regrets and the average strategy are discounted before an iteration adds to them.

A variant is a function from the iteration (1, 2, ...) to `Weights`. Averages are kept up to a constant: weighting
iteration t by w(t) is multiplying what is there by w(t - 1) / w(t) before adding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equipoise.core.errors import InputError, shown
from equipoise.core.jit import F32, F64, kernel
from equipoise.walk.plan import Weights


def cfr(t: int) -> Weights:
    """Zinkevich and others 2007: all iterations count the same."""
    del t
    return Weights(1.0, 1.0, 1.0)


def cfr_plus(t: int) -> Weights:
    """Tammelin 2014: negative regrets are forgotten; iteration t counts t in the average."""
    return Weights(1.0, 0.0, (t - 1) / t)


def linear(t: int) -> Weights:
    """Brown and Sandholm 2019: iteration t counts t, in regrets and average."""
    return Weights((t - 1) / t, (t - 1) / t, (t - 1) / t)


def discounted(t: int) -> Weights:
    """Brown and Sandholm 2019, with their alpha 3/2, beta 0, gamma 2."""
    power = (t - 1) ** 1.5
    return Weights(power / (power + 1), 0.5, ((t - 1) / t) ** 2)


def practical(t: int) -> Weights:
    """Discounted with gamma 3, and the average started anew at every power of four: what postflop solvers use."""
    power = (t - 1) ** 1.5
    since = t - 4 ** ((t.bit_length() - 1) // 2)
    return Weights(power / (power + 1), 0.5, (since / (since + 1)) ** 3)


def predictive(t: int) -> Weights:
    """Farina and others 2021: CFR+ that plays by the regrets it expects; iteration t counts t squared."""
    return Weights(1.0, 0.0, ((t - 1) / t) ** 2)


SCHEDULES: dict[str, Callable[[int], Weights]] = {
    "cfr": cfr,
    "cfr+": cfr_plus,
    "linear": linear,
    "discounted": discounted,
    "practical": practical,
    "predictive": predictive,
}


def schedule(name: str) -> Callable[[int], Weights]:
    """The variant of a name."""
    if name not in SCHEDULES:
        raise InputError(f"no schedule {shown(name)}", remedy=f"there are {', '.join(SCHEDULES)}")
    return SCHEDULES[name]


class Gains:
    """A schedule for tables of which an iteration touches little.

    Discounts that are the same for all entries are never carried out: what is added later counts more instead.
    ("discounted" and "practical" do take a pass over the regrets.)
    """

    def __init__(self, variant: str) -> None:
        self.weights = schedule(variant)
        if variant == "predictive":
            raise InputError("the predictive variant does not sample", remedy="use another, e.g. cfr+")
        self.plus = variant == "cfr+"
        self.regret = self.average = 1.0  # what the next increments are multiplied by

    @property
    def floor(self) -> np.float32:
        """Regrets are not let below this."""
        return np.float32(0 if self.plus else -np.inf)

    def advance(self, iteration: int, regrets: Sequence[F32], averages: Sequence[F32]) -> None:
        """Do the discounts before an iteration (1, 2, ...), in the tables or in what is added to them."""
        weights = self.weights(iteration)
        if weights.positive == weights.negative:
            self.regret = _gain(self.regret, weights.positive, regrets, iteration)
        elif not self.plus:
            for table in regrets:
                discount(table, weights.positive, weights.negative)
        self.average = _gain(self.average, weights.average, averages, iteration)

    def state(self) -> F64:
        """What a resumed run needs."""
        return np.array([self.regret, self.average])

    def restore(self, state: Any) -> None:
        """Take up a run."""
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
