"""What a strategy must offer to be measured, and the agents that have a name.

A strategy gives the walk its tables for the boards of an engine: probabilities by hole, or, as the named agents do,
probabilities by node that do not depend on the cards. One that plays by bucket also gives the bucket of every hole.
Measuring walks one board of each class under renaming of suits, so a strategy must not tell suits apart either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Int
from equipoise.core.errors import InputError, shown
from equipoise.core.jit import F32, F64, I8, I32, I64, U8, U32, kernel
from equipoise.games.betting_state import CALL, FOLD
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.boards import PublicCards
from equipoise.walk.engine import Engine
from equipoise.walk.plan import Tables

Flags: TypeAlias = npt.NDArray[np.bool_]

NAMES = ("always-fold", "always-call", "always-raise", "uniform")


class Strategy(Protocol):
    """What can be measured."""

    @property
    def name(self) -> str:
        """What marks files made for it."""

    def tables(self, engine: Engine) -> Tables:
        """What it plays on the boards of an engine."""

    def never(self, tree: BettingTree) -> Flags:
        """[node] whether it never steps there from the node before, whatever its cards: nobody needs to walk those."""

    @property
    def by_bucket(self) -> ByBucket | None:
        """How it plays by bucket, if it does."""


@dataclass(frozen=True, eq=False)
class ByBucket:
    """A profile, and the bucket of every hole on the boards of a game."""

    profile: Profile
    cells: Callable[[PublicCards], U32]  # [place] as the arrays of the boards are

    def expand(self, engine: Engine, board: int, cells: U32, tables: Tables, but: int = -1) -> None:
        """Write the probabilities of a board's holes into its blocks of the tables, of all players but one."""
        profile, program, boards = self.profile, engine.program.arrays, engine.cards.arrays
        street = int(boards.street[board])
        first, end = (int(program.group_first[program.street_groups[s]]) for s in (street, street + 1))
        nodes = program.node[first:end]
        expand_rows(
            first,
            but,
            profile.layout.offset[nodes],
            profile.layout.stride[nodes],
            profile.chances,
            cells,
            program.player,
            program.num_children,
            program.table_row,
            boards.first[board],
            boards.counts[board],
            tables.first[board],
            tables.source,
        )


@dataclass(frozen=True, eq=False)
class ProfileStrategy:
    """An agent that plays a profile."""

    name: str
    by_bucket: ByBucket

    def never(self, tree: BettingTree) -> Flags:
        """Nothing is ruled out whatever the cards."""
        return np.zeros(len(tree), bool)

    def tables(self, engine: Engine) -> Tables:
        """The probabilities of every hole on every board."""
        source, cells = engine.zeros(), self.by_bucket.cells(engine.cards)
        tables = engine.tables(source)
        for board in range(len(engine.cards.cards)):
            self.by_bucket.expand(engine, board, cells, tables)
        return tables


@kernel
def expand_rows(
    start: Int,
    but: Int,
    offset: I64,
    stride: I64,
    chances: F32,
    cells: U32,
    player: I8,
    num_children: U8,
    table_row: I32,
    first: I64,
    counts: I32,
    block: I64,
    rows: F32,
) -> None:
    """Probabilities by node, bucket and action as rows [action, hole]. IN: by place, by hole, by player; OUT: rows."""
    for i in range(offset.size):
        if offset[i] < 0 or player[start + i] == but:
            continue
        who, count = player[start + i], np.int64(num_children[start + i])
        size, holes = np.int64(counts[who]), first[who]
        for action in range(count):
            at = block[who] + (table_row[start + i] + action) * size
            for h in range(size):
                rows[at + h] = chances[offset[i] + np.int64(cells[holes + h]) * stride[i] + action]


@dataclass(frozen=True)
class CardBlindStrategy:
    """An agent that does not look at its cards.

    `always-fold` folds when it can and else calls; `always-call` calls; `always-raise` makes the smallest raise when it
    can and else calls; `uniform` plays all actions of the tree alike.
    """

    name: str
    by_bucket: None = None

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise InputError(
                f"no agent, run or strategy file {shown(self.name)}", remedy=f"named agents: {', '.join(NAMES)}"
            )

    def chances(self, tree: BettingTree) -> F64:
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

    def never(self, tree: BettingTree) -> Flags:
        """Where the probability is zero."""
        return np.asarray(self.chances(tree) == 0)

    def tables(self, engine: Engine) -> Tables:
        """The probabilities by place of the engine's program."""
        program = engine.program
        return engine.tables(None, fixed=self.chances(program.tree)[program.arrays.node])


def _offered(tree: BettingTree, parent: I32, action: Flags) -> Flags:
    """[child] whether its parent has a child that is such an action."""
    offers = np.zeros(len(tree), bool)
    offers[parent[action]] = True
    return np.asarray(offers[parent])
