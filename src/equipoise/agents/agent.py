"""What a strategy must offer to be measured, and the agents that have a name.

A strategy gives the walk its tables for the boards of an engine: probabilities by hole, or, as the named agents do,
probabilities by node that do not depend on the cards. Measuring walks one board of each class under renaming of suits,
so a strategy must not tell suits apart either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from equipoise._errors import InputError, shown
from equipoise._jit import F64, I32
from equipoise.games.state import CALL, FOLD
from equipoise.solve.engine import Engine
from equipoise.solve.walk import Tables
from equipoise.tree.public_tree import DECISION, PublicTree

Flags: TypeAlias = npt.NDArray[np.bool_]

NAMES = ("always-fold", "always-call", "always-raise", "uniform")


class Strategy(Protocol):
    """What can be measured."""

    @property
    def name(self) -> str:
        """What marks files made for it."""

    def tables(self, engine: Engine) -> Tables:
        """What it plays on the boards of an engine."""

    def never(self, tree: PublicTree) -> Flags:
        """[node] whether it never steps there from the node before, whatever its cards: nobody needs to walk those."""


@dataclass(frozen=True)
class NamedAgent:
    """An agent that does not look at its cards.

    `always-fold` folds when it can and else calls; `always-call` calls; `always-raise` makes the smallest raise when it
    can and else calls; `uniform` plays all actions of the tree alike.
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise InputError(f"no agent {shown(self.name)}", remedy=f"named agents: {', '.join(NAMES)}")

    def chances(self, tree: PublicTree) -> F64:
        """[node] the probability of the action that leads to a node, 1 where no decision does."""
        chosen = np.flatnonzero((tree.parent >= 0) & (tree.kind[tree.parent] == DECISION))
        parent, action = tree.parent[chosen], tree.action[chosen]
        fold, call = action == FOLD, action == CALL
        first = chosen == tree.first_child[parent]
        smallest = (action > CALL) & (
            first | (tree.action[chosen - 1] <= CALL)
        )  # siblings: fold, call, raises ascending
        if self.name == "always-fold":
            plays = fold | (call & ~_offered(tree, parent, fold))
        elif self.name == "always-raise":
            plays = smallest | (call & ~_offered(tree, parent, smallest))
        else:
            plays = call
        chances = np.ones(len(tree))
        chances[chosen] = 1 / tree.num_children[parent] if self.name == "uniform" else plays
        return chances

    def never(self, tree: PublicTree) -> Flags:
        """Where the probability is zero."""
        return np.asarray(self.chances(tree) == 0)

    def tables(self, engine: Engine) -> Tables:
        """The probabilities by place of the engine's program."""
        program = engine.program
        return engine.tables(None, fixed=self.chances(program.tree)[program.arrays.node])


def _offered(tree: PublicTree, parent: I32, action: Flags) -> Flags:
    """[child] whether its parent has a child that is such an action."""
    offers = np.zeros(len(tree), bool)
    offers[parent[action]] = True
    return np.asarray(offers[parent])
