"""Reservoir memories: a uniform sample of all that was ever added (Vitter 1985, algorithm R).

A sample is an information set (hand key, node), an iteration, and a number for each action: sampled advantages, or the
probabilities of a strategy. Iterations become weights when a network is trained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.array_checks import check_array, check_like, check_range
from equipoise.core.arrays import Int
from equipoise.core.errors import MOST_COUNT
from equipoise.core.jit import F32, I32, I64, U32, U64, inlined, kernel
from equipoise.solvers.external_kernel import draw_word

DROPPED = -1
HELD = 16  # one place in 16 may be held out: networks are not trained on it


class Samples(NamedTuple):
    """Information sets with a number for each action, in parallel arrays."""

    key: U64  # [sample] the hand
    node: I32  # [sample]
    iteration: U32  # [sample]
    target: F32  # [sample, action]

    @classmethod
    def empty(cls, size: int, actions: int) -> Samples:
        """Space for some samples."""
        return cls(
            np.zeros(size, np.uint64), np.zeros(size, np.int32), np.zeros(size, np.uint32),
            np.zeros((size, actions), np.float32),
        )  # fmt: skip

    def take(self, chosen: Any) -> Samples:
        """Some of the samples."""
        return Samples(*(array[chosen] for array in self._asdict().values()))


class Reservoir:
    """A memory of at most `capacity` samples."""

    def __init__(self, capacity: int, actions: int) -> None:
        self.capacity = capacity
        self.seen = 0  # number of samples ever added
        self.samples = Samples.empty(capacity, actions)
        self._written: list[I64] | None = None  # places written since somebody asked, if somebody did

    def __len__(self) -> int:
        return min(self.seen, self.capacity)

    def add(self, new: Samples, seed: np.random.SeedSequence) -> None:
        """Add samples. When the memory is full, each replaces a random one, or none, so that it stays uniform."""
        random = seed.generate_state(1, np.uint64) | np.uint64(1)
        places = np.empty(len(new.key), np.int64)
        put_samples(new, self.seen, random, self.samples, places)
        self.seen += len(new.key)
        if self._written is not None:
            self._written.append(places[places != DROPPED])
            if sum(map(len, self._written)) > self.capacity // 2:
                self._written = None  # it is cheaper to copy everything

    def take_written(self) -> Any:
        """The places written since the last call, to keep one copy up to date: an index, or all of them."""
        written, self._written = self._written, []
        return slice(len(self)) if written is None else np.concatenate([*written, np.empty(0, np.int64)])

    def draw(self, rng: np.random.Generator, count: int) -> Samples:
        """A batch, drawn with replacement."""
        return self.samples.take(rng.integers(len(self), size=count))

    @property
    def held(self) -> int:
        """The number of samples to hold out: those whose place is a multiple of HELD."""
        return -(-len(self) // HELD) if len(self) >= HELD else 0

    def arrays(self) -> dict[str, Any]:
        """Its content, for a checkpoint."""
        kept = self.samples.take(slice(len(self)))
        return {"seen": np.array([self.seen], np.int64), **kept._asdict()}

    def restore(self, arrays: dict[str, Any], check: Callable[[Samples], object]) -> None:
        """The content of a checkpoint. `check` refuses samples that make no sense."""
        seen = int(check_range(check_array(arrays.get("seen"), "seen", (1,), np.int64), "seen", 0, MOST_COUNT)[0])
        kept = self.samples.take(slice(min(seen, self.capacity)))
        found = Samples(**check_like(arrays, kept._asdict()))
        check(found)
        self.seen, self._written = seen, None
        for name, array in self.samples._asdict().items():
            array[: len(found.key)] = getattr(found, name)


@inlined
def _below(random: U64, count: np.uint64) -> np.uint64:
    """A random number below `count`; the bias of the remainder is below 2^-30 for any memory that exists."""
    return np.uint64(draw_word(random) % count)


@kernel
def put_samples(new: Samples, seen: int, random: U64, kept: Samples, places: I64) -> None:
    """Algorithm R. IN: samples, number added before; IN OUT: uint64[1] generator, the memory; OUT: int64[new] the place
    of each, or DROPPED.
    """
    capacity = kept.key.size
    for i in range(new.key.size):
        at: Int = np.int64(seen + i)
        if at >= capacity:
            at = np.int64(_below(random, np.uint64(at + 1)))
        places[i] = at if at < capacity else DROPPED
        if at >= capacity:
            continue
        kept.key[at] = new.key[i]
        kept.node[at] = new.node[i]
        kept.iteration[at] = new.iteration[i]
        for action in range(new.target.shape[1]):
            kept.target[at, action] = new.target[i, action]
