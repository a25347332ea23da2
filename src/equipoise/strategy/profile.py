"""A profile: action probabilities for every decision node and bucket, in the layout of `SlotLayout`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.core.errors import InputError
from equipoise.core.jit import F32
from equipoise.tree.betting_tree import DECISION
from equipoise.tree.infosets import SlotLayout


@dataclass(frozen=True, eq=False)
class Profile:
    """Both players' probabilities; those of an information set sum to one."""

    layout: SlotLayout
    chances: F32  # [slot]

    def __post_init__(self) -> None:
        if self.chances.shape != (self.layout.slots,):
            slots = self.layout.slots
            raise InputError(f"a profile of {self.chances.size} numbers", remedy=f"its tree and buckets have {slots}")

    def at(self, node: int) -> F32:
        """[bucket, action] of a decision node."""
        found: F32 = self.layout.at(self.chances, node)
        return found

    @classmethod
    def random(cls, layout: SlotLayout, rng: np.random.Generator) -> Profile:
        """Random probabilities, for tests and benchmarks."""
        profile = cls(layout, rng.random(layout.slots, np.float32))
        for node in np.flatnonzero(layout.tree.kind == DECISION).tolist():
            chances = profile.at(node)
            chances /= chances.sum(axis=1, keepdims=True)
        return profile
