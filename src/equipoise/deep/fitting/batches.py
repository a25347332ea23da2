"""Batches drawn from a memory, with repetitions merged.

A batch holds many hands, nodes and pairs of them several times. Squared errors of samples of one information set have
the gradient of one squared error to their weighted mean, with the sum of their weights. So each pair enters the network
once, the card layers run once per hand, and the betting layers once per node: in Leduc, a batch of 8,192 samples has at
most 468 pairs. Nothing is approximated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Int
from equipoise.core.jit import F32, I32, I64, U32, U64, inlined, kernel
from equipoise.deep.fitting.reservoir import HELD, Reservoir, Samples
from equipoise.solvers.external_kernel import draw_word

_MIX = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)


class Merged(NamedTuple):
    """A batch: its different hands and decisions, and for each different pair the mean target and the weight."""

    key: U64  # [hand]
    decision: I64  # [decision]
    hand: I64  # [pair] position in `key`
    spot: I64  # [pair] position in `decision`
    weight: F32  # [pair] sums to about one
    target: F32  # [pair, action]


class Which(NamedTuple):
    """Which places of a memory are drawn: number i of them is i * stride, or without a stride i + i // skip + first."""

    size: int
    stride: int = 0
    skip: int = 1 << 62
    first: int = 0

    @classmethod
    def all_of(cls, memory: Reservoir) -> Which:
        """Every sample."""
        return cls(len(memory))

    @classmethod
    def learnt(cls, memory: Reservoir) -> Which:
        """Those that are not held out."""
        return cls(len(memory) - memory.held, 0, HELD - 1, 1) if memory.held else cls.all_of(memory)

    @classmethod
    def held_out(cls, memory: Reservoir) -> Which:
        """Those that are."""
        return cls(memory.held, HELD)


class MergeTables(NamedTuple):
    """Hash tables that need no clearing: an entry counts if its stamp is the current one."""

    stamp: U32  # [1]
    hand_stamp: U32  # [slot]
    hand: I32  # [slot] position in `key`
    pair_stamp: U32  # [slot]
    pair: I32  # [slot] number of the pair
    decision_stamp: U32  # [decision]
    spot: I32  # [decision]


@inlined
def _slot(word: np.uint64, mask: np.uint64) -> np.uint64:
    return np.uint64(((word * _MIX) >> _32) & mask)


@kernel
def merge_samples(
    samples: Samples,
    which: Which,
    random: U64,
    decisions: I32,
    weights: F32,
    scale: F32,
    tables: MergeTables,
    batch: Merged,
    counts: I64,
) -> None:
    """Draw a batch with replacement and merge it. IN: a memory and which of it, int32[node] decisions,
    float32[iteration] weights, float32[decision, action] what targets are divided by; IN OUT: uint64[1] generator,
    tables; OUT: a batch, as many samples as it has space for, and int64[3] how many hands, decisions and pairs it has.
    """
    count = batch.key.size
    mask = np.uint64(tables.hand_stamp.size - 1)
    tables.stamp[0] += 1
    stamp = tables.stamp[0]
    hands, spots, pairs = 0, 0, 0
    actions = samples.target.shape[1]
    for _ in range(count):
        sample = np.int64(((draw_word(random) >> _32) * np.uint64(which.size)) >> _32)
        sample = sample * which.stride if which.stride else sample + sample // which.skip + which.first
        key = samples.key[sample]
        at = _slot(key, mask)
        while tables.hand_stamp[at] == stamp and batch.key[tables.hand[at]] != key:
            at = (at + np.uint64(1)) & mask
        if tables.hand_stamp[at] != stamp:
            tables.hand_stamp[at] = stamp
            tables.hand[at] = hands
            batch.key[hands] = key
            hands += 1
        hand = tables.hand[at]
        decision = decisions[samples.node[sample]]
        if tables.decision_stamp[decision] != stamp:
            tables.decision_stamp[decision] = stamp
            tables.spot[decision] = spots
            batch.decision[spots] = decision
            spots += 1
        spot = tables.spot[decision]
        at = _slot((np.uint64(hand) << _32) | np.uint64(spot), mask)
        while tables.pair_stamp[at] == stamp and (
            batch.hand[tables.pair[at]] != hand or batch.spot[tables.pair[at]] != spot
        ):
            at = (at + np.uint64(1)) & mask
        if tables.pair_stamp[at] != stamp:
            tables.pair_stamp[at] = stamp
            tables.pair[at] = pairs
            batch.hand[pairs] = hand
            batch.spot[pairs] = spot
            batch.weight[pairs] = 0
            for action in range(actions):
                batch.target[pairs, action] = 0
            pairs += 1
        pair = tables.pair[at]
        weight = weights[samples.iteration[sample]] / np.float32(count)
        batch.weight[pair] += weight
        for action in range(actions):
            batch.target[pair, action] += weight * samples.target[sample, action]
    for pair in range(pairs):
        decision = np.int32(batch.decision[batch.spot[pair]])
        for action in range(actions):
            batch.target[pair, action] /= batch.weight[pair] * scale[decision, action]
    counts[0], counts[1], counts[2] = hands, spots, pairs


def _tables(batch: Int, decisions: int) -> MergeTables:
    slots = 1 << max(4, int(2 * batch - 1).bit_length())
    return MergeTables(
        np.zeros(1, np.uint32), np.zeros(slots, np.uint32), np.zeros(slots, np.int32), np.zeros(slots, np.uint32),
        np.zeros(slots, np.int32), np.zeros(decisions, np.uint32), np.zeros(decisions, np.int32),
    )  # fmt: skip


class Batches:
    """Draws batches of one size from memories. Sample iterations weigh t to the power `weight_power`."""

    def __init__(self, size: int, decisions: I32, actions: int) -> None:
        self.decisions = decisions
        self._tables = _tables(size, int(decisions.max()) + 1)
        self._space = Merged(
            np.zeros(size, np.uint64), np.zeros(min(size, int(decisions.max()) + 1), np.int64),
            np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.float32),
            np.zeros((size, actions), np.float32),
        )  # fmt: skip

    def draw(self, memory: Reservoir, weights: F32, scale: F32, random: U64, which: Which | None = None) -> Merged:
        """A merged batch; its arrays are overwritten by the next one.

        IN: float32[iteration], float32[decision, action]; IN OUT: generator; which samples, all if it is not said.
        """
        counts = np.zeros(3, np.int64)
        merge_samples(
            memory.samples, which or Which.all_of(memory), random, self.decisions, weights, scale, self._tables,
            self._space, counts,
        )  # fmt: skip
        hands, spots, pairs = counts.tolist()
        space = self._space
        return Merged(
            space.key[:hands], space.decision[:spots], space.hand[:pairs], space.spot[:pairs], space.weight[:pairs],
            space.target[:pairs],
        )  # fmt: skip
