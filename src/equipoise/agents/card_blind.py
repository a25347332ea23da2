"""The interface of strategies that can be measured exactly, and the named strategies, which ignore their cards.

A strategy gives the walk its tables for the boards of an engine: probabilities by hole, or by node if they do not
depend on the cards. A strategy by bucket also gives the bucket of every hole. The measure walks one board per
suit-isomorphism class, so a strategy must treat isomorphic hands alike.
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
from equipoise.games.rules import PLAYERS
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.boards import PublicCards
from equipoise.walk.engine import Engine
from equipoise.walk.plan import Tables

Flags: TypeAlias = npt.NDArray[np.bool_]

NAMES = ("always-fold", "always-call", "always-raise", "uniform")


class Strategy(Protocol):
    """A strategy that can be measured exactly."""

    @property
    def name(self) -> str:
        """Its name in files made for it."""

    def tables(self, engine: Engine) -> Tables:
        """Its tables for the boards of an engine."""

    def never(self, tree: BettingTree) -> Flags:
        """[node] whether it never takes the action that leads there, with any cards: such nodes are not walked."""

    @property
    def by_bucket(self) -> ByBucket | None:
        """Its profile by bucket, if it has one."""

    @property
    def by_board(self) -> Callable[[Engine, int], RowsByBoard] | None:
        """One player's rows on the boards of an engine, if they are computed when the walk comes to a board."""


class RowsByBoard(Protocol):
    """One player's probabilities, board by board."""

    def expand(self, board: int, tables: Tables) -> None:
        """Write the rows of a board into its block of the tables. A board comes after its parent."""


def tables_of_boards(engine: Engine, by_board: Callable[[Engine, int], RowsByBoard]) -> Tables:
    """The tables of a strategy that answers board by board, for games whose boards all fit."""
    tables = engine.tables(engine.zeros())
    for player in range(PLAYERS):
        rows = by_board(engine, player)
        for board in range(len(engine.cards.cards)):
            rows.expand(board, tables)
    return tables


@dataclass(frozen=True, eq=False)
class ByBucket:
    """A profile, and the bucket of every hole on the boards of a game."""

    profile: Profile
    cells: Callable[[PublicCards], U32]  # [place] as in the arrays of the boards

    def expand(self, engine: Engine, board: int, cells: U32, tables: Tables, but: int = -1) -> None:
        """Write the probabilities of a board's holes into its blocks of the tables, for all players but one."""
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
    """A strategy given by a profile and buckets."""

    name: str
    by_bucket: ByBucket
    by_board: None = None

    def never(self, tree: BettingTree) -> Flags:
        """Nothing is ruled out for all cards."""
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
    """Expand probabilities by node and bucket to rows [action, hole]. IN: by place, by hole, by player; OUT: rows.

    Takes the arrays it needs, not the structures that hold them: these would take longer to compile.
    """
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
    """A named strategy that ignores its cards.

    `always-fold` folds if it can, else calls; `always-call` calls; `always-raise` makes the smallest raise if it can,
    else calls; `uniform` takes all actions of the tree with equal probability.
    """

    name: str
    by_bucket: None = None
    by_board: None = None

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise InputError(
                f"no agent, run or strategy file {shown(self.name)}", remedy=f"named agents: {', '.join(NAMES)}"
            )

    def chances(self, tree: BettingTree) -> F64:
        """[node] the probability of the action that leads to a node; 1 if no decision does."""
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
    """[child] whether its parent offers such an action."""
    offers = np.zeros(len(tree), bool)
    offers[parent[action]] = True
    return np.asarray(offers[parent])
