"""Reservoir sampling of iterations: uniform over all T iterations of a run, without knowing T in advance.

CFR-BR's current strategy at an iteration drawn uniformly from 1..T is near-optimal with high probability (Johanson and
others 2012, theorem 4). In a reservoir of size one, iteration t replaces the one held with probability 1/t. We draw the
next replacement directly, from P(next > s | t) = t/s, so a whole run needs only a few random numbers. They depend on
the seed alone: checkpoints store nothing, and slices and resumes do not change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

STREAM = 4  # separates this stream from those of the solvers, which use the same seed


@dataclass(frozen=True)
class IterationReservoirs:
    """Independent reservoirs, numbered from 0."""

    seed: int
    count: int

    def of(self, number: int) -> Iterator[int]:
        """The iterations (from 1) that enter a reservoir, in order, without end."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(STREAM, number)))
        iteration = 1
        while True:
            yield iteration
            iteration = int(iteration / (1 - rng.random())) + 1

    def held(self, iterations: int) -> tuple[int, ...]:
        """The iteration that each reservoir holds after `iterations` (at least 1)."""
        return tuple(
            max(takewhile(lambda iteration: iteration <= iterations, self.of(number))) for number in range(self.count)
        )

    def after(self, iteration: int) -> int | None:
        """The next iteration that enters any reservoir; None without reservoirs."""
        found = (next(drawn for drawn in self.of(number) if drawn > iteration) for number in range(self.count))
        return min(found, default=None)

    def as_json(self) -> dict[str, Any]:
        """What determines the draws, for the fingerprint of a recipe; empty without reservoirs."""
        return {"draws": [self.seed, self.count]} if self.count else {}
