"""What travels between the head and the parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.jit import F64, U8, U32, U64


class Message(NamedTuple):
    """A step: the hands of a batch, and the continuations that the head met; the same for all parts."""

    iteration: int  # the first of the step, from 0; an iteration is a deal, walked for both players
    hands: U8  # [deal, card] the holes of both players
    first: U32  # [2 * deal + walker, and one more] where the continuations of a walk start
    node: U32  # [continuation]


class Reply(NamedTuple):
    """The values of a part's clusters."""

    values: F64  # [continuation] the walker's values, summed over the possible boards of the clusters
    nodes: int  # number of nodes visited


def random_state(seed: int, iteration: int, who: int, share: int = 0) -> np.uint64:
    """The state of the random generator of a step: of the head (who = 0), or of cluster `who` - 1."""
    stream = np.random.SeedSequence(seed, spawn_key=(who, share, iteration))
    return np.uint64(stream.generate_state(1, np.uint64)[0] | np.uint64(1))


def random_states(count: int) -> U64:
    """Room for the states of some generators, each in a cache line of its own: threads write them all the time."""
    return np.ones((count, 8), np.uint64)[:, 0]
