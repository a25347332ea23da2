"""Estimates of exploitability from a sample of flops, and of the difference between two strategies.

Flops differ far more from each other than strategies do on one flop. Two strategies measured on the same draws are
compared draw by draw, so most of the sampling noise cancels: the interval of a difference is narrower than that of
either level. We assume that the sampling bias before the flop (`best_response.py`) is the same for both strategies and
cancels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from equipoise.core.errors import InputError
from equipoise.measure.stats import interval


@dataclass(frozen=True)
class FlopSample:
    """Flops in the order drawn, and the estimate of each, in mbb/g; their mean is the estimate of the sample.

    `doubt` is half the distance between the high and the low value of the responder's play before the flop.
    """

    flops: tuple[int, ...]
    values: tuple[float, ...]
    doubt: float

    @property
    def estimate(self) -> tuple[float, float]:
        """Exploitability, and half the width of its 95% interval."""
        mean, half = interval(self.values)
        return mean, half + self.doubt

    def less(self, other: FlopSample) -> tuple[float, float]:
        """How much more exploitable this strategy is than another on the same draws, and half the 95% interval."""
        if self.flops != other.flops:
            raise InputError("two samples of other flops", remedy="measure both with the same number and seed")
        mean, half = interval(np.subtract(self.values, other.values))
        return mean, half + abs(self.doubt - other.doubt)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> FlopSample:
        """From plain values."""
        return cls(tuple(stored["flops"]), tuple(stored["values"]), float(stored["doubt"]))
