"""The CFR family as numbers: how regrets and the average strategy are discounted before an iteration adds to them.

A variant is a function from the iteration (1, 2, ...) to `Weights`. Averages are kept up to a constant: weighting
iteration t by w(t) is multiplying what is there by w(t - 1) / w(t) before adding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from equipoise._errors import InputError, shown


class Weights(NamedTuple):
    """Factors for positive regrets, for negative ones, and for the average."""

    positive: float
    negative: float
    average: float


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
