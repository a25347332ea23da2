"""Betting histories as network input: a row of numbers for every node of a betting tree, of any gamedef and menu.

(Brown and others 2019.) Each street has as many positions as its longest betting; a position has two numbers: whether
an action was taken there, and log(1 + chips put in / pot before). Three more describe the node: log2 of the pot against
the blinds, what there is to call, and what is left to bet, both as shares of the pot, on a log scale.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.errors import InputError
from equipoise.core.jit import F32, I8, I32, I64, U8, kernel
from equipoise.core.machine import available_memory
from equipoise.core.wording import size_text
from equipoise.games.rules import UNLIMITED_STACK
from equipoise.tree.betting_tree import DECISION, BettingTree

SUMMARY = 3  # numbers that describe the node itself
_BYTES = 4


def betting_features(tree: BettingTree) -> F32:
    """[node, feature] the input for every decision node; other rows are scratch."""
    depth = np.zeros(len(tree), np.int32)
    count_positions(tree.parent, tree.kind, tree.street, depth)
    longest = [int(depth[tree.street == street].max(initial=0)) for street in range(tree.rules.rounds)]
    width = 2 * sum(longest) + SUMMARY
    needed, free = _BYTES * width * len(tree), available_memory()
    if needed > free // 2:
        raise InputError(
            f"the betting of {len(tree):,} nodes takes {size_text(needed)} as network input, "
            f"and only {size_text(free)} is free",
            remedy="use fewer bet sizes or a cap",
        )
    first = np.concatenate([[0], np.cumsum(longest)]).astype(np.int64)
    features = np.zeros((len(tree), width), np.float32)
    stack = 0 if min(tree.rules.stacks) >= UNLIMITED_STACK else min(tree.rules.stacks)
    blinds = sum(tree.rules.blinds)
    write_features(tree.parent, tree.kind, tree.street, tree.player, tree.chips, depth, first, stack, blinds, features)
    return features


@kernel
def count_positions(parent: I32, kind: U8, street: U8, depth: I32) -> None:
    """The number of actions on a node's street before it. IN: by node, parents first; OUT: int32[node]."""
    for node in range(1, parent.size):
        above = parent[node]
        if street[above] == street[node]:
            depth[node] = depth[above] + (kind[above] == DECISION)


@kernel
def write_features(
    parent: I32,
    kind: U8,
    street: U8,
    player: I8,
    chips: I32,
    depth: I32,
    first: I64,
    stack: int,
    blinds: int,
    features: F32,
) -> None:
    """IN: by node, parents first; int64[street + 1] positions before it; stack, 0 if unlimited; OUT: [node, feature].

    Takes the arrays of a tree one by one: it runs once, and its structure would take longer to compile.
    """
    summary = features.shape[1] - SUMMARY
    for node in range(parent.size):
        above = parent[node]
        row = features[node]
        if above >= 0:
            for i in range(summary):
                row[i] = features[above, i]
            if kind[above] == DECISION:
                at = 2 * (first[street[above]] + depth[above])
                who = player[above]
                pot = np.float64(chips[above, 0]) + np.float64(chips[above, 1])
                row[at] = 1
                row[at + 1] = np.log1p((chips[node, who] - chips[above, who]) / pot)
        pot = np.float64(chips[node, 0]) + np.float64(chips[node, 1])
        most = max(chips[node, 0], chips[node, 1])
        row[summary] = np.log2(pot / blinds) / 4
        row[summary + 1] = np.log1p(abs(np.float64(chips[node, 0]) - np.float64(chips[node, 1])) / pot)
        row[summary + 2] = np.log1p((stack - most) / pot) / 4 if stack > 0 else 0
