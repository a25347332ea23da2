"""Cells: sums of samples by decision and percentile bucket of the hand, from which a network's table is made.

A walk that values every hole at every decision (`traversals/public.py`) sums all of them, each with the weight it would
be drawn with as a sample. Their means are those of the samples, with far less noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise.core.jit import F64


class Cells(NamedTuple):
    """Weighted sums. Without a table, there are no buckets."""

    weight: F64  # [decision, bucket]
    target: F64  # [decision, bucket, action]

    @classmethod
    def zeros(cls, decisions: int, buckets: int, actions: int) -> Cells:
        """Of no samples."""
        return cls(np.zeros((decisions, buckets)), np.zeros((decisions, buckets, actions)))

    def add(self, other: Cells, times: float) -> None:
        """Add other sums, some times."""
        self.weight[:] += times * other.weight
        self.target[:] += times * other.target


def total(parts: Sequence[Cells | None]) -> Cells | None:
    """The sum of parts, or nothing if they have none."""
    kept = [part for part in parts if part is not None]
    if len(kept) <= 1:
        return kept[0] if kept else None
    found = Cells(np.zeros_like(kept[0].weight), np.zeros_like(kept[0].target))
    for part in kept:
        found.add(part, 1.0)
    return found
