"""What a series of hands won: chips, milli-big-blinds a hand, a 95% interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.measure.stats import interval


@dataclass(frozen=True)
class Winnings:
    """Hands played to the end, chips won in all, and the mean with half the width of its 95% interval."""

    hands: int
    chips: int
    mbb_per_hand: float
    ci95: float  # infinite with fewer than two hands

    @classmethod
    def of(cls, values: Sequence[int], big_blind: int) -> Winnings:
        """Of the chips won in each hand."""
        mean, half = interval(np.array(values, np.float64) * 1000 / big_blind)
        return cls(len(values), sum(values), mean, half)

    def as_json(self) -> dict[str, Any]:
        """Numbers; null where nothing is known."""
        known = self.hands > 0
        return {
            "hands": self.hands,
            "chips": self.chips,
            "mbb_per_hand": self.mbb_per_hand if known else None,
            "ci95": self.ci95 if math.isfinite(self.ci95) else None,
        }

    def __str__(self) -> str:
        return self.text()

    def text(self, total: str = "") -> str:
        """In words; `total` is what was won in all in another unit than chips."""
        text = f"{self.hands:,} {'hand' if self.hands == 1 else 'hands'}, {total or f'{self.chips:+,} chips'}"
        if self.hands == 0:
            return text
        half = f" ± {self.ci95:,.0f} (95%)" if math.isfinite(self.ci95) else ""
        return f"{text}: {self.mbb_per_hand:+,.0f}{half} mbb/hand"
