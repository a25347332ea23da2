"""Warm start: the first regrets of a solve, from the play that the search replaces.

At the decisions of the first street that both betting trees have, the first regrets are proportional to the
probabilities of that play, so that the solve starts with it. Elsewhere they are zero. WEIGHT says how long the solve
remembers it: a weight of 1 is what one iteration adds to the regrets of a decision, on average over the holes. Later
streets have many boards: to read the play on all of them takes longer than it saves. Brown and Sandholm (2016) set
regrets by the values of a strategy instead; on held-out spots that was worse (docs/search.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from equipoise.agents.search.safety import Continuation
from equipoise.core.jit import F32, F64
from equipoise.games.rules import PLAYERS
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.walk.engine import Engine
from equipoise.walk.plan import UPDATE, HoleRule

WEIGHT = 10.0


class KnownDecision(NamedTuple):
    """A decision that both trees have: where it is in the tables of the solve, and how it is played."""

    player: int
    block: slice
    rows: F64  # [action, hole of the root's list]


def first_regrets(engine: Engine, play: Continuation) -> F32:
    """A table of regrets whose strategy is that of `play` on the first street, where it is known."""
    known, regrets = list(known_decisions(engine, play)), engine.zeros()
    for walker in range(PLAYERS):
        table = engine.zeros()  # the opponent plays as known; the walker, uniformly
        for player, block, rows in known:
            if player != walker:
                table[block] = rows.ravel()
        engine.walk(walker, HoleRule(engine.tables(table, table, scale=engine.unit_scales()), UPDATE))
        for player, block, rows in known:
            if player == walker:
                scale = np.abs(table[block]).reshape(rows.shape).sum(axis=0).mean()
                regrets[block] = WEIGHT * scale * rows.ravel()
    return np.asarray(regrets)


def known_decisions(engine: Engine, play: Continuation) -> Iterator[KnownDecision]:
    """The decisions of the first street that both trees have. Actions that only one of them has are left out."""
    tree, cards, program = engine.tree, engine.cards, engine.program.arrays
    table_row = {int(node): int(row) for node, row in zip(program.node, program.table_row, strict=True) if row >= 0}
    for node, other in same_nodes(tree, 0, play.tree, play.node):
        player, mine, theirs = int(tree.player[node]), _actions(tree, node), _actions(play.tree, other)
        probabilities = play.rows(other, cards.cards[0])
        rows = np.zeros((len(mine), probabilities.shape[1]))
        for at, action in enumerate(mine):
            if action in theirs:
                rows[at] = probabilities[theirs.index(action)]
        rows = cards.gather(0, player, rows / np.maximum(rows.sum(axis=0), 1e-9))
        start = int(engine.table_first[0, player]) + table_row[node] * rows.shape[1]
        yield KnownDecision(player, slice(start, start + rows.size), rows)


def same_nodes(tree: BettingTree, node: int, other_tree: BettingTree, other: int) -> Iterator[tuple[int, int]]:
    """The decisions of a street that two trees share, from one of each on."""
    if not tree.kind[node] == other_tree.kind[other] == DECISION or tree.street[node] != other_tree.street[other]:
        return
    yield node, other
    theirs = {int(other_tree.action[child]): child for child in other_tree.children(other)}
    for child in tree.children(node):
        if int(tree.action[child]) in theirs:
            yield from same_nodes(tree, child, other_tree, theirs[int(tree.action[child])])


def _actions(tree: BettingTree, node: int) -> list[int]:
    return [int(tree.action[child]) for child in tree.children(node)]
