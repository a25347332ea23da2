"""What tests of traversals share: games with networks that are far from uniform, and distances from exact values."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from equipoise import build_tree
from equipoise.deep.encoding import Encoding
from equipoise.deep.fitting.reservoir import Samples
from equipoise.tree.betting_tree import DECISION, BettingTree
from naive_deep import Found, NetworkStrategy, all_deals, random_networks, regrets

HIDDEN = 6


@cache
def encoded(game: str) -> Encoding:
    return Encoding(build_tree(game))


@cache
def networks(game: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Of both players: far from uniform, but every action has a chance."""
    shape = encoded(game).shape(HIDDEN)
    one, two = random_networks(shape, 2, seed=9, size=0.3)
    for network in (one, two):
        biases = network[shape.parameters - shape.actions : shape.parameters]  # of the output
        biases.copy_(torch.tensor([0.4, 1.2, 0.8])[: shape.actions])
    return one, two


@cache
def strategies(game: str) -> tuple[NetworkStrategy, NetworkStrategy]:
    one, two = (NetworkStrategy(encoded(game), network, HIDDEN) for network in networks(game))
    return one, two


def errors(runs: list[Samples], exact: Found, count: int, holes: int) -> float:
    """The largest distance of a mean per hole from its exact value, in standard errors.

    The variance is that of the runs, but at least what one more visit would give: few visits show too little of it.
    """
    infosets = {infoset: at for at, infoset in enumerate(exact)}
    actions, dealt = runs[0].target.shape[1], count * holes
    means, largest = np.zeros((len(runs), len(exact), actions)), 0.0
    for samples, mean in zip(runs, means, strict=True):
        visited = zip(samples.node.tolist(), samples.key.tolist(), strict=True)
        place = np.array([infosets.get(infoset, -1) for infoset in visited])
        if (place < 0).any():
            return np.inf
        np.add.at(mean, place, samples.target.astype(np.float64) / dealt)
        largest = max(largest, float(np.abs(samples.target).max()))
    expected = np.array([np.pad(row, (0, actions - len(row))) for row in exact.values()])
    least = largest * holes / dealt / len(runs)
    deviation = np.sqrt(means.var(axis=0, ddof=1) / len(runs) + least**2)
    return float((np.abs(means.mean(axis=0) - expected) / deviation).max())


def kept_share(tree: BettingTree, node: int, thin: float) -> float:
    """The share of samples that is kept at a node: for each earlier decision of its player, one of its actions."""
    share, above, player = 1.0, int(tree.parent[node]), tree.player[node]
    while above >= 0:
        if tree.kind[above] == DECISION and tree.player[above] == player:
            share /= float(tree.num_children[above]) ** thin
        above = int(tree.parent[above])
    return share


def wrong_regrets(game: str, walker: int) -> list[Found]:
    """What mistakes would give instead of the regrets: seats swapped, no reach or blockers, another walker or sign."""
    tree, deals, both = encoded(game).tree, all_deals(encoded(game)), strategies(game)
    found = [
        regrets(tree, walker, deals, both[::-1])[0],
        regrets(tree, walker, deals, both, opponent_reach=False)[0],
        regrets(tree, walker, all_deals(encoded(game), blockers=False), both)[0],
        regrets(tree, 1 - walker, deals, both)[0],
    ]
    exact, _ = regrets(tree, walker, deals, both)
    return [*found, {infoset: -row for infoset, row in exact.items()}]
