"""A betting tree as indices on a device, for walks of ranges over whole trees (`public_walk.py`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from equipoise.core.jit import F32
from equipoise.deep.encoding import DeviceEncoding
from equipoise.deep.network import Tensor
from equipoise.games.rules import PLAYERS
from equipoise.tree.betting_tree import DEAL, DECISION, FOLDED, SHOWDOWN, BettingTree


class Level(NamedTuple):
    """Nodes at one depth of a street, a slice of all nodes, as indices on a device."""

    first: int
    end: int
    parent: Tensor  # [node]
    drawn: tuple[Tensor, Tensor]  # [player] nodes below its decisions, as positions in the level
    drawn_row: tuple[Tensor, Tensor]  # [player] the rows of their actions
    decided: tuple[Tensor, Tensor]  # [player] its decision nodes
    deals: Tensor  # DEAL nodes

    @classmethod
    def of(cls, where: DeviceEncoding, first: int, end: int) -> Level:
        """The nodes from `first` to `end`."""
        tree, encoding, index = where.encoding.tree, where.encoding, where.index
        nodes = np.arange(first, end)
        above = np.maximum(tree.parent[first:end], 0)
        row = encoding.decision[above].astype(np.int64) * encoding.actions + nodes - tree.first_child[above]
        below_decision = (tree.kind[above] == DECISION) & (nodes > 0)
        drawn = [np.flatnonzero(below_decision & (tree.player[above] == player)) for player in range(PLAYERS)]
        decides = tree.kind[first:end] == DECISION
        decided = [nodes[decides & (tree.player[first:end] == player)] for player in range(PLAYERS)]
        return cls(
            first, end, index(above), (index(drawn[0]), index(drawn[1])),
            (index(row[drawn[0]]), index(row[drawn[1]])), (index(decided[0]), index(decided[1])),
            index(nodes[tree.kind[first:end] == DEAL]),
        )  # fmt: skip


class PublicPlan(NamedTuple):
    """A betting tree as indices on a device. A *row* is an action of a decision: decision * actions + action."""

    levels: list[Level]
    child: Tensor  # [node, action] the node it leads to; beyond the last action, a node of value zero
    street: Tensor  # [node]
    decision: Tensor  # [node]
    node: Tensor  # [decision]
    decisions: list[list[Tensor]]  # [street][player] decisions
    folded: Tensor  # nodes
    folder: Tensor  # [folded node] who folded
    showdowns: list[Tensor]  # [street] nodes
    chips: Tensor  # [node, 1, 1] what the loser of a terminal node loses
    keep: Tensor  # [node] the share of the walker's samples that is kept, at its decisions

    @classmethod
    def of(cls, where: DeviceEncoding, keep: F32) -> PublicPlan:
        """The plan of the tree of an encoding. IN: float32[node], as in `WalkTree`."""
        tree, encoding, index = where.encoding.tree, where.encoding, where.index
        number, streets, players = np.arange(encoding.actions), range(tree.rules.rounds), range(PLAYERS)
        decided = [(tree.kind == DECISION) & (tree.player == player) for player in players]
        has = number < tree.num_children[:, np.newaxis]
        folded = np.flatnonzero(tree.kind == FOLDED)
        chips = torch.from_numpy(tree.chips.min(axis=1).astype(np.float32)).to(where.device)
        return cls(
            [Level.of(where, first, end) for first, end in level_bounds(tree)],
            index(np.where(has, tree.first_child[:, np.newaxis] + number, len(tree))),
            index(tree.street),
            index(encoding.decision),
            index(encoding.nodes),
            [[index(encoding.decision[decided[p] & (tree.street == street)]) for p in players] for street in streets],
            index(folded),
            index(tree.player[folded]),
            [index(np.flatnonzero((tree.kind == SHOWDOWN) & (tree.street == street))) for street in streets],
            chips[:, None, None],
            torch.from_numpy(keep).to(where.device),
        )


def level_bounds(tree: BettingTree) -> list[tuple[int, int]]:
    """The slices of nodes whose parents all come before the slice: the levels of the streets."""
    bounds, first = [], 0
    for node in range(1, len(tree) + 1):
        if node == len(tree) or tree.parent[node] >= first:
            bounds.append((first, node))
            first = node
    return bounds
