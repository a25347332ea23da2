"""Where the numbers of an information set stand: the one place that computes offsets, for solvers, stores and files.

Bucketed tables: node n's block starts at `offset[n]` and is `[bucket, action]`, so that an information set is one run
of memory. Unabstracted tables are kept per board, and a board's block at node n is `[action, hole]`, so that
the vector walk streams over holes; `table_rows` and `board_blocks` number those. Both say their size beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from equipoise._errors import InputError
from equipoise._jit import I32, I64
from equipoise.cards.isomorphism import HandIndexer
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.tree.public_tree import DECISION, PublicTree

REGRET_AND_AVERAGE = 8  # bytes a slot: two float32 tables
LEAST_REGRET_AND_AVERAGE = 4  # two of 16 bits


def lossless_hands(rules: GameRules) -> tuple[int, ...]:
    """How many hands a player can tell apart on each street, suits renamed: the buckets of the lossless map."""
    return tuple(HandIndexer(rules.deals(street), rules.deck).size for street in range(rules.rounds))


def raw_hands(rules: GameRules) -> tuple[int, ...]:
    """How many hands a player can hold on each street, suits told apart: what the size of a game is quoted in."""
    counts = []
    for street in range(rules.rounds):
        left, hands = rules.deck.size, 1
        for cards in rules.deals(street):
            hands *= comb(left, cards)
            left -= cards
        counts.append(hands)
    return tuple(counts)


def boards(rules: GameRules) -> tuple[int, ...]:
    """How many boards each street has, suits renamed, the deals told apart."""
    counts = []
    for street in range(rules.rounds):
        deals = rules.deals(street)[1:]
        counts.append(HandIndexer(deals, rules.deck).size if deals else 1)
    return tuple(counts)


@dataclass(frozen=True, eq=False)
class SlotLayout:
    """Slots of bucketed tables: `buckets[street]` information sets at every decision node of a street."""

    tree: PublicTree
    buckets: tuple[int, ...]

    def __post_init__(self) -> None:
        rounds = self.tree.rules.rounds
        if len(self.buckets) != rounds or any(count < 1 for count in self.buckets):
            raise InputError(f"buckets {self.buckets}", remedy=f"give a positive number for each of {rounds} streets")

    @cached_property
    def offset(self) -> I64:
        """[node] the first slot of a decision node's block; -1 elsewhere."""
        decision = self.tree.kind == DECISION
        per_street = np.array(self.buckets, np.int64)
        blocks = np.where(decision, self.tree.num_children * per_street[self.tree.street], 0)
        return np.where(decision, np.cumsum(blocks) - blocks, -1)

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
        """What the tables of a solve need."""
        return self.slots * bytes_per_slot


def table_rows(tree: PublicTree) -> tuple[I32, I64]:
    """[node] a decision's first row in its player's table of its street, else -1; and [street, player] how many."""
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
    """[board, player] where a board's block of rows x holes starts in a flat table of both; and the table's length."""
    sizes = (rows * holes).ravel()
    ends = np.cumsum(sizes)
    return (ends - sizes).reshape(rows.shape), int(ends[-1])


def perfect_recall(buckets: int, streets: int) -> tuple[int, ...]:
    """Buckets by street when each bucket splits into as many again on every street."""
    return tuple(buckets ** (street + 1) for street in range(streets))
