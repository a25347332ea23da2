"""The layout of tables by information set: the only module that computes offsets, for solvers, stores and files.

Bucketed tables: each street and player has a row for every bucket, with the actions of all its decision nodes in
depth-first order: `offset[node] + bucket * width[street, player] + action`. A deal gives each player one bucket per
street, so a sampling solver reads rows that lie in few cache lines (limit hold'em with 1,000 buckets: twice as fast as
with a block for each node). Unabstracted tables are stored by board; the block of a node is `[action, hole]`, so that
the vector walk streams over holes (`table_rows`, `board_blocks`). Both sizes are known before anything is allocated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.errors import InputError
from equipoise.core.jit import I32, I64, U8, kernel
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.tree.betting_tree import DECISION, BettingTree

REGRET_AND_AVERAGE = 8  # bytes per slot: two float32 tables
LEAST_REGRET_AND_AVERAGE = 4  # two of 16 bits


def lossless_hands(rules: GameRules) -> tuple[int, ...]:
    """The number of hands on each street up to a renaming of suits: the buckets of the lossless map."""
    return tuple(HandIndexer(rules.deals(street), rules.deck).size for street in range(rules.rounds))


def raw_hands(rules: GameRules) -> tuple[int, ...]:
    """The number of raw hands of a player on each street: the unit in which the size of a game is quoted."""
    counts = []
    for street in range(rules.rounds):
        left, hands = rules.deck.size, 1
        for cards in rules.deals(street):
            hands *= comb(left, cards)
            left -= cards
        counts.append(hands)
    return tuple(counts)


def boards(rules: GameRules) -> tuple[int, ...]:
    """The number of boards of each street with ordered deals, up to a renaming of suits."""
    counts = []
    for street in range(rules.rounds):
        deals = rules.deals(street)[1:]
        counts.append(HandIndexer(deals, rules.deck).size if deals else 1)
    return tuple(counts)


@dataclass(frozen=True, eq=False)
class SlotLayout:
    """Slots of bucketed tables: `buckets[street]` information sets at every decision node of a street.

    A part of the tables has a layout of its own: with fewer buckets, or none on the streets of other parts.
    """

    tree: BettingTree
    buckets: tuple[int, ...]

    def __post_init__(self) -> None:
        rounds = self.tree.rules.rounds
        if len(self.buckets) != rounds or min(self.buckets) < 0:
            raise InputError(f"buckets {self.buckets}", remedy=f"give a number for each of {rounds} streets")

    @cached_property
    def width(self) -> I64:
        """[street, player] the length of a bucket's row."""
        width = np.zeros((self.tree.rules.rounds, PLAYERS), np.int64)
        nodes = np.flatnonzero(self.tree.kind == DECISION)
        np.add.at(width, (self.tree.street[nodes], self.tree.player[nodes]), self.tree.num_children[nodes])
        return width

    @cached_property
    def first(self) -> I64:
        """[street, player] where its rows start."""
        sizes = (self.width * np.array(self.buckets, np.int64)[:, np.newaxis]).ravel()
        return np.asarray((np.cumsum(sizes) - sizes).reshape(self.width.shape))

    @cached_property
    def offset(self) -> I64:
        """[node] the slot of a decision node's first action in the first bucket; -1 elsewhere."""
        tree = self.tree
        place = np.empty(len(tree), np.int64)
        number_depth_first(tree.parent, tree.first_child, tree.num_children, np.empty(len(tree), np.int64), place)
        offset = np.full(len(tree), -1, np.int64)
        for street in range(tree.rules.rounds):
            for player in range(PLAYERS):
                nodes = np.flatnonzero((tree.kind == DECISION) & (tree.street == street) & (tree.player == player))
                nodes = nodes[np.argsort(place[nodes])]
                ends = np.cumsum(tree.num_children[nodes], dtype=np.int64)
                offset[nodes] = self.first[street, player] + ends - tree.num_children[nodes]
        return offset

    @cached_property
    def stride(self) -> I64:
        """[node] the distance to the next bucket: the row length of its street and player; 0 where nobody acts."""
        tree = self.tree
        return np.where(tree.kind == DECISION, self.width[tree.street, np.maximum(tree.player, 0)], 0)

    def parts(self, player: int) -> list[slice]:
        """[street] a player's part of a table."""
        sizes = self.width[:, player] * np.array(self.buckets, np.int64)
        firsts = self.first[:, player]
        return [slice(int(first), int(first + size)) for first, size in zip(firsts, sizes, strict=True)]

    def rows(self, table: Any, street: int, player: int) -> Any:
        """A player's part of a table on a street, as a view: [bucket, column]."""
        first, width, buckets = int(self.first[street, player]), int(self.width[street, player]), self.buckets[street]
        return table[first : first + buckets * width].reshape(buckets, width)

    def at(self, table: Any, node: int) -> Any:
        """A decision node's part of a table, as a view: [bucket, action]."""
        tree = self.tree
        street, player = int(tree.street[node]), int(tree.player[node])
        column = int(self.offset[node]) - int(self.first[street, player])
        return self.rows(table, street, player)[:, column : column + int(tree.num_children[node])]

    @property
    def infosets_by_street(self) -> tuple[int, ...]:
        return tuple(nodes * buckets for nodes, buckets in zip(self.tree.count(DECISION), self.buckets, strict=True))

    @property
    def slots_by_street(self) -> tuple[int, ...]:
        """Information set and action pairs, by street."""
        return tuple(
            actions * buckets for actions, buckets in zip(self.tree.actions_by_street(), self.buckets, strict=True)
        )

    @property
    def infosets(self) -> int:
        return sum(self.infosets_by_street)

    @property
    def slots(self) -> int:
        """The length of one flat table."""
        return sum(self.slots_by_street)

    def bytes(self, bytes_per_slot: int = REGRET_AND_AVERAGE) -> int:
        """The memory for the tables of a solve."""
        return self.slots * bytes_per_slot


@kernel
def number_depth_first(parent: I32, first_child: I32, num_children: U8, size: I64, place: I64) -> None:
    """Number the nodes of a tree depth first. IN: by node, parents before children; scratch: int64[node]; OUT."""
    for node in range(size.size):
        size[node] = 1
    for node in range(size.size - 1, 0, -1):
        size[parent[node]] += size[node]
    place[0] = 0
    for node in range(size.size):
        after = place[node] + 1
        for child in range(first_child[node], first_child[node] + np.int64(num_children[node])):
            place[child] = after
            after += size[child]


def table_rows(tree: BettingTree) -> tuple[I32, I64]:
    """[node] a decision's first row in its player's table of its street, else -1; and [street, player] row counts."""
    row = np.full(len(tree), -1, np.int32)
    rows = np.zeros((tree.rules.rounds, PLAYERS), np.int64)
    for street in range(tree.rules.rounds):
        here = np.arange(tree.street_first[street], tree.street_first[street + 1])
        for player in range(PLAYERS):
            mine = here[(tree.kind[here] == DECISION) & (tree.player[here] == player)]
            ends = np.cumsum(tree.num_children[mine], dtype=np.int64)
            row[mine] = ends - tree.num_children[mine]
            rows[street, player] = ends[-1] if len(mine) else 0
    return row, rows


def board_blocks(rows: I64, holes: I32) -> tuple[I64, int]:
    """[board, player] the start of a board's block of rows x holes in a flat table; and the table's length."""
    sizes = (rows * holes).ravel()
    ends = np.cumsum(sizes)
    return (ends - sizes).reshape(rows.shape), int(ends[-1])


def perfect_recall(buckets: int, streets: int) -> tuple[int, ...]:
    """Buckets by street if each bucket splits into `buckets` new ones on every street."""
    return tuple(buckets ** (street + 1) for street in range(streets))
