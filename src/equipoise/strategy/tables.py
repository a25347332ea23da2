"""Tables of a strategy by information set: averages made probabilities, probabilities made bytes.

One byte a probability, those of an information set summing to 255: each is rounded down, and the units that are missing
go to those that lost most (the largest remainders; of equal ones, to the first). So zero stays zero, one stays one, and
with n actions no probability is off by more than (n - 1) / n / 255, less than 0.004.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise._jit import F32, F64, I64, U8, kernel
from equipoise.tree.infosets import SlotLayout
from equipoise.tree.public_tree import DECISION, MOST_ACTIONS

UNITS = 255


class Blocks(NamedTuple):
    """The decision nodes of a layout, as kernels read them."""

    first: I64  # [decision] its first slot
    buckets: I64
    actions: I64

    @classmethod
    def of(cls, layout: SlotLayout) -> Blocks:
        tree = layout.tree
        nodes = np.flatnonzero(tree.kind == DECISION)
        per_street = np.array(layout.buckets, np.int64)
        return cls(layout.offset[nodes], per_street[tree.street[nodes]], tree.num_children[nodes].astype(np.int64))


def probabilities(layout: SlotLayout, average: F32, out: F32 | None = None) -> F32:
    """What an average is in proportion to, all actions alike where it is zero; `out` may be the average itself."""
    chances = np.empty_like(average) if out is None else out
    normalise(Blocks.of(layout), average, chances)
    return chances


def to_bytes(layout: SlotLayout, chances: F32) -> U8:
    """Probabilities as bytes, by the rule above."""
    levels = np.empty(len(chances), np.uint8)
    quantise(Blocks.of(layout), chances, np.empty(MOST_ACTIONS), levels)
    return levels


def from_bytes(levels: U8) -> F32:
    """Bytes as probabilities."""
    return levels.astype(np.float32) / np.float32(UNITS)


@kernel
def normalise(blocks: Blocks, average: F32, chances: F32) -> None:
    """IN: float32[slot]; OUT: float32[slot], may be the same."""
    for block in range(blocks.first.size):
        first, actions = blocks.first[block], blocks.actions[block]
        for bucket in range(blocks.buckets[block]):
            at = first + bucket * actions
            total = 0.0
            for action in range(actions):
                total += max(np.float64(average[at + action]), 0.0)
            for action in range(actions):
                if total > 0.0:
                    chances[at + action] = max(np.float64(average[at + action]), 0.0) / total
                else:
                    chances[at + action] = 1.0 / np.float64(actions)


@kernel
def quantise(blocks: Blocks, chances: F32, lost: F64, levels: U8) -> None:
    """IN: float32[slot]; scratch: float64[action]; OUT: uint8[slot]."""
    for block in range(blocks.first.size):
        first, actions = blocks.first[block], blocks.actions[block]
        for bucket in range(blocks.buckets[block]):
            at = first + bucket * actions
            total = 0.0
            for action in range(actions):
                total += np.float64(chances[at + action])
            missing = UNITS
            for action in range(actions):
                exact = UNITS * (np.float64(chances[at + action]) / total)
                whole = int(exact)
                levels[at + action] = whole
                lost[action] = exact - whole if chances[at + action] > 0 else -1.0
                missing -= whole
            for _ in range(missing):
                most = 0
                for action in range(1, actions):
                    if lost[action] > lost[most]:
                        most = action
                levels[at + most] += np.uint8(1)
                lost[most] -= 1.0
