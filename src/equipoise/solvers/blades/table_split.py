"""How the tables of a hierarchical abstraction split: the top, and a part for each cluster of public boards.

The top has the streets before the board. On later streets every bucket must belong to one cluster. A cluster's tables
have the same layout as the whole (`tree/infosets.py`), with its own buckets only, numbered from 0 in their order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from functools import cached_property
from math import comb
from typing import Any, NamedTuple

import numpy as np

from equipoise.abstraction.maps.bucket_map import NONE, PUBLIC, BucketMap, PublicBuckets
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, I32, I64, U8, U32, kernel
from equipoise.games.rules import PLAYERS
from equipoise.solvers.external_sampling import tree_records
from equipoise.tree.betting_tree import BettingTree
from equipoise.tree.infosets import SlotLayout

MOST_BOARD_CARDS = 3  # boards are counted by inclusion and exclusion up to triples of blocked cards
MOST_HANDS = 1 << 28  # hands of a street that are looked at one by one
_BLOCK = 1 << 20
_NOBODY = -1


class BoardCounts(NamedTuple):
    """The boards of one cluster, by the cards that are on them."""

    cards: int  # on a board
    boards: int
    one: I32  # [card] boards with this card
    two: I32  # [card, card]
    cluster_of: I32  # [card, card, card] the cluster of a board of three cards
    cluster: int


class TableSplit:
    """The parts of the tables of a tree and a hierarchical map."""

    def __init__(self, tree: BettingTree, buckets: BucketMap) -> None:
        self.tree, self.buckets, self.rules = tree, buckets, tree.rules
        if buckets.public is None:
            raise InputError("an abstraction without public clusters", remedy="write e.g. public = { clusters = 8 }")
        self.public: PublicBuckets = buckets.public
        self.street, self.clusters = self.public.street, self.public.clusters
        self.board_cards = self.rules.board_size(self.street)
        if self.street == 0 or self.rules.board_size(self.street - 1):
            raise InputError("public clusters that are not of the first board", remedy="leave public.street out")
        if self.board_cards > MOST_BOARD_CARDS:
            raise InputError(
                f"public clusters of boards of {self.board_cards} cards", remedy=f"at most {MOST_BOARD_CARDS} cards"
            )
        self.layout = SlotLayout(tree, buckets.buckets)
        self.top = SlotLayout(tree, tuple(n if s < self.street else 0 for s, n in enumerate(buckets.buckets)))
        self._layouts: dict[tuple[int, ...], SlotLayout] = {}
        self._records: dict[tuple[int, ...], U32] = {}

    @cached_property
    def owner(self) -> dict[int, I32]:
        """For each street below the top: int32[bucket] the cluster that it belongs to."""
        return {street: owners(self.buckets, street) for street in range(self.street, self.rules.rounds)}

    def own(self, street: int, cluster: int) -> I64:
        """The buckets of a cluster on a street."""
        return np.flatnonzero(self.owner[street] == cluster)

    @cached_property
    def local(self) -> tuple[U32, I64]:
        """Each bucket's number within its cluster, for the streets below the top; and [street] where each starts."""
        first = np.zeros(self.rules.rounds, np.int64)
        parts: list[U32] = []
        for street, owner in self.owner.items():
            first[street] = sum(len(part) for part in parts)
            number = np.zeros(len(owner), np.uint32)
            for cluster in range(self.clusters):
                own = self.own(street, cluster)
                number[own] = np.arange(len(own))
            parts.append(number)
        return np.concatenate(parts), first

    def layout_of(self, cluster: int) -> SlotLayout:
        """The layout of a cluster's tables; clusters with equal numbers of buckets share it."""
        below = range(self.street, self.rules.rounds)
        counts = (*(0,) * self.street, *(len(self.own(street, cluster)) for street in below))
        return self._layouts.setdefault(counts, SlotLayout(self.tree, counts))

    def records_of(self, layout: SlotLayout) -> U32:
        """The records of the tree (`external_kernel.py`) for a layout."""
        if layout.buckets not in self._records:
            self._records[layout.buckets] = tree_records(layout)
        return self._records[layout.buckets]

    @cached_property
    def all_boards(self) -> tuple[U8, I64]:
        """All boards of the public street, uint8[board, card], and the cluster of each."""
        deck = self.rules.deck
        boards = np.array(list(itertools.combinations(range(deck.size), self.board_cards)), np.uint8)
        index = HandIndexer((self.board_cards,), deck).indices(boards)
        return boards, np.asarray(self.public.label)[index].astype(np.int64)

    def boards(self, cluster: int) -> U8:
        """The boards of a cluster."""
        every, label = self.all_boards
        boards: U8 = every[label == cluster]
        return boards

    @cached_property
    def boards_left(self) -> int:
        """The number of boards that two hands leave possible."""
        return comb(self.rules.deck.size - PLAYERS * self.rules.hole_cards, self.board_cards)

    @cached_property
    def grain(self) -> float:
        """A power of two so small that values are rounded to multiples of it without harm, and so large that sums of
        values over boards are exact: they do not depend on the order, so neither on which part owns which cluster.
        """
        return float(2.0 ** (int(np.ceil(np.log2(self.boards_left * self.rules.most_chips))) - 52))

    @cached_property
    def _cluster_of(self) -> I32:
        size = self.rules.deck.size if self.board_cards == MOST_BOARD_CARDS else 1
        table = np.full((size, size, size), _NOBODY, np.int32)
        if self.board_cards == MOST_BOARD_CARDS:
            boards, label = self.all_boards
            for order in itertools.permutations(range(3)):
                table[tuple(boards[:, order].T)] = label
        return table

    def counts(self, cluster: int) -> BoardCounts:
        """What `count_boards` needs to know of a cluster."""
        size, boards = self.rules.deck.size, self.boards(cluster)
        one, two = np.zeros(size, np.int32), np.zeros((size, size), np.int32)
        for i in range(self.board_cards):
            np.add.at(one, boards[:, i], 1)
            for j in range(self.board_cards):
                if i != j:
                    np.add.at(two, (boards[:, i], boards[:, j]), 1)
        return BoardCounts(self.board_cards, len(boards), one, two, self._cluster_of, cluster)

    def gather(self, name: str, head: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> F32:
        """The whole table of a name ("regret", "average") from the arrays of the head and of all parts."""
        table = np.zeros(self.layout.slots, np.float32)
        for whole, rows, part in self._pieces(name, table, head, parts):
            whole[rows] = part
        return table

    def scatter(self, name: str, table: F32, head: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> None:
        """Copy a whole table into the arrays of the head and of all parts."""
        for whole, rows, part in self._pieces(name, table, head, parts):
            part[:] = whole[rows]

    def _pieces(self, name: str, table: F32, head: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> Any:
        """Views of the same rows in the whole table and in a part: whole[rows] and part."""
        arrays = {key: array for part in parts for key, array in part.items()}
        for player in range(PLAYERS):
            for street in range(self.street):
                yield (
                    self.layout.rows(table, street, player), slice(None), self.top.rows(head[name], street, player)
                )  # fmt: skip
            for street, cluster in itertools.product(self.owner, range(self.clusters)):
                part = self.layout_of(cluster).rows(arrays[key_of(name, cluster)], street, player)
                yield self.layout.rows(table, street, player), self.own(street, cluster), part


def key_of(name: str, cluster: int) -> str:
    """The name of a cluster's table among the arrays of its part."""
    return f"{name} {cluster}"


def owners(buckets: BucketMap, street: int) -> I32:
    """int32[bucket] the cluster that each bucket of a street belongs to; an error if two clusters share a bucket."""
    public, own = buckets.public, buckets.streets[street]
    assert public is not None
    owner = np.full(own.buckets, _NOBODY, np.int32)
    if own.context == PUBLIC:
        pairs: Iterable[tuple[Any, Any]] = ((np.unique(row), cluster) for cluster, row in enumerate(own.join))
    elif own.context == NONE and (street == public.street or own.deals == buckets.rules.deals(street)):
        pairs = _hands_with_clusters(buckets, street)
    else:
        raise _shared(street)
    for numbers, cluster in pairs:
        taken = owner[numbers]
        if ((taken != _NOBODY) & (taken != cluster)).any():
            raise _shared(street)
        owner[numbers] = cluster
        if (owner[numbers] != cluster).any():  # two clusters in one block
            raise _shared(street)
    known = np.flatnonzero(owner != _NOBODY)  # a bucket that is never dealt goes with the one before it
    return owner[known[np.maximum(np.searchsorted(known, np.arange(len(owner)), side="right") - 1, 0)]]


def _shared(street: int) -> InputError:
    return InputError(
        f"public clusters share buckets on street {street + 1}",
        remedy="use emd, l2, ochs or lossless on the streets with public clusters",
    )


def _hands_with_clusters(buckets: BucketMap, street: int) -> Iterable[tuple[Any, Any]]:
    """Buckets of the hands of a street and the clusters of their boards, a block of hands at a time."""
    public, own, rules = buckets.public, buckets.streets[street], buckets.rules
    assert public is not None
    indexer, seen = HandIndexer(own.deals, rules.deck), rules.board_size(public.street)
    if indexer.size > MOST_HANDS:
        raise InputError(f"{indexer.size:,} hands on street {street + 1}", remedy="abstract this street")
    of_board = HandIndexer((seen,), rules.deck)
    for start in range(0, indexer.size, _BLOCK):
        hands = np.arange(start, min(start + _BLOCK, indexer.size))
        boards = np.ascontiguousarray(indexer.hands(hands)[:, rules.hole_cards : rules.hole_cards + seen])
        cluster = np.asarray(public.label)[of_board.indices(boards)].astype(np.int32)
        yield (hands if own.cell is None else np.asarray(own.cell)[hands]), cluster


@kernel
def count_boards(hands: U8, counts: BoardCounts, possible: I64) -> None:
    """The number of a cluster's boards that both hands leave possible: the paper's |F_n,h|.

    By inclusion and exclusion over blocked cards. IN: uint8[deal, card] the cards of both players; OUT: int64[deal].
    """
    cards = hands.shape[1]
    for deal in range(hands.shape[0]):
        hand = hands[deal]
        left = np.int64(counts.boards)
        for i in range(cards):
            left -= counts.one[hand[i]]
            if counts.cards < 2:
                continue
            for j in range(i):
                left += counts.two[hand[i], hand[j]]
                if counts.cards < 3:
                    continue
                for k in range(j):
                    left -= np.int64(counts.cluster_of[hand[i], hand[j], hand[k]] == counts.cluster)
        possible[deal] = left
