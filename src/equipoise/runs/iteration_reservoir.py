"""Iterations drawn uniformly at random from all that a run will do, before it is known how many those are.

CFR-BR's current strategy is near its best with high probability if it is that of an iteration drawn from 1..T (Johanson
and others 2012, theorem 4). A reservoir of one: iteration t takes the place of the one that is held with probability
1/t. The next that does is drawn at once, P(next > s | t) = t/s, so that a reservoir costs a few numbers in a whole run.
They follow from the seed alone: a checkpoint needs nothing of them, and how a run is cut into slices cannot matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

STREAM = 4  # told apart from what a solver draws with the same seed


@dataclass(frozen=True)
class Draws:
    """Independent reservoirs, numbered from 0."""

    seed: int
    count: int

    def of(self, number: int) -> Iterator[int]:
        """The iterations, from 1, that a reservoir takes in, in order, without end."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(STREAM, number)))
        iteration = 1
        while True:
            yield iteration
            iteration = int(iteration / (1 - rng.random())) + 1

    def held(self, iterations: int) -> tuple[int, ...]:
        """By reservoir: what it holds when so many iterations, one or more, are done."""
        return tuple(
            max(takewhile(lambda iteration: iteration <= iterations, self.of(number))) for number in range(self.count)
        )

    def after(self, iteration: int) -> int | None:
        """The first iteration after this one that any reservoir takes in; none without reservoirs."""
        found = (next(drawn for drawn in self.of(number) if drawn > iteration) for number in range(self.count))
        return min(found, default=None)

    def as_json(self) -> dict[str, Any]:
        """What determines them; nothing where there are none."""
        return {"draws": [self.seed, self.count]} if self.count else {}
