"""Parts of a betting tree as trees of their own: the first street, and what is below each deal that ends it.

The tree of a deal has that DEAL node as its only node on the first street. In the depth-first order of
`infosets.SlotLayout` the nodes of such a subtree are neighbours: they are one stretch of every bucket's row.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise.core.arrays import I32, I64
from equipoise.tree.betting_tree import DEAL, BettingTree


def first_deals(tree: BettingTree) -> I64:
    """The DEAL nodes that end the first street, one for each betting sequence."""
    return np.flatnonzero((tree.kind == DEAL) & (tree.street == 0))


def deal_above(tree: BettingTree) -> I32:
    """[node] which of `first_deals` a node is below, or is itself; -1 elsewhere on the first street."""
    deals = first_deals(tree)
    found = np.full(len(tree), -1, np.int32)
    found[deals] = np.arange(len(deals), dtype=np.int32)
    left = np.arange(int(tree.street_first[1]), len(tree))
    while len(left):
        found[left] = found[tree.parent[left]]
        left = left[found[left] < 0]
    return found


def nodes_below(tree: BettingTree, root: int) -> I64:
    """A node and all nodes below it, ascending."""
    below = np.zeros(len(tree), bool)
    below[root] = True
    for street in range(int(tree.street[root]), tree.rules.rounds):
        part = np.arange(tree.street_first[street], tree.street_first[street + 1])
        while (more := part[below[np.maximum(tree.parent[part], 0)] & (tree.parent[part] >= 0) & ~below[part]]).size:
            below[more] = True
    return np.flatnonzero(below)


def subtree(tree: BettingTree, nodes: I64) -> BettingTree:
    """The tree of some nodes, ascending: a root, and for every other its parent and siblings."""
    parent = np.searchsorted(nodes, tree.parent[nodes]).astype(np.int32)
    parent[0] = -1
    children = np.bincount(parent[1:], minlength=len(nodes)).astype(np.uint8)
    first_child = np.full(len(nodes), -1, np.int32)
    first_child[parent[:0:-1]] = np.arange(len(nodes) - 1, 0, -1)  # the last write, the first child, wins
    arrays = {name: getattr(tree, name)[nodes] for name in ("kind", "player", "street", "action", "chips")}
    return replace(
        tree, parent=parent, first_child=first_child, num_children=children,
        street_first=np.searchsorted(nodes, tree.street_first).astype(np.int64), **arrays,
    )  # fmt: skip
