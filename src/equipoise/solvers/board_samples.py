"""Sampled boards: which full boards a public chance sampling solver visits, with their holes and buckets.

A *cycle* (Jackson 2013, section 4) visits one board of each class under renamings of suits (2,554,656 in hold'em, where
the order of the deals counts), once each, in random order, weighted by the size of its class; the next cycle has a new
order. Or boards are drawn independently, with equal weights. The n-th board depends on the seed and n alone.

On every street a board has the same list of holes, sorted by strength: those that no card of the *full* board blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import comb
from typing import Any, NamedTuple

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap, BucketTables, buckets_of_deal
from equipoise.cards.isomorphism import HandIndexer
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.array_checks import REMEDY, check_array
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, I32, I64, U8, U16, U32, kernel
from equipoise.games.rules import MOST_ROUNDS, PLAYERS, GameRules
from equipoise.tree.boards import NO_CARD, Boards, DealtBoards, HoleLists, cut_groups, deal_lists

_SMALL_CYCLE = 1 << 16  # boards that are worked out once for all cycles
_MOST_IN_SUIT = 1 + MOST_ROUNDS * 13  # cards by round and rank, and none


@dataclass(eq=False)
class BoardSource:
    """The boards that a run visits, numbered 0, 1, 2, ...: full boards, or those of an earlier street."""

    rules: GameRules
    seed: int
    cycle: bool = True
    street: int | None = None  # None: the last
    _order: tuple[int, U32] = field(default=(-1, np.zeros(0, np.uint32)), init=False, repr=False)

    @cached_property
    def _deals(self) -> tuple[int, ...]:
        """Cards of each round, down to the street."""
        last = self.rules.rounds - 1 if self.street is None else self.street
        return self.rules.board_cards[: last + 1]

    @cached_property
    def _indexer(self) -> HandIndexer | None:
        deals = tuple(cards for cards in self._deals if cards)
        return HandIndexer(deals, self.rules.deck) if deals else None

    @property
    def size(self) -> int:
        """The number of boards in a cycle."""
        return self._indexer.size if self._indexer else 1

    @property
    def comes_again(self) -> float:
        """The average number of boards until one is visited again."""
        return self.size if self.cycle else self.raw_boards

    @property
    def raw_boards(self) -> int:
        """The number of boards, counting suits and the order of deals."""
        left, boards = self.rules.deck.size, 1
        for cards in self._deals:
            boards *= comb(left, cards)
            left -= cards
        return boards

    def order(self, number: int) -> U32:
        """The order in which a cycle visits the classes."""
        if self._order[0] != number:
            generator = np.random.default_rng([self.seed, number])
            self._order = number, generator.permutation(np.arange(self.size, dtype=np.uint32))
        return self._order[1]

    def boards(self, first: int, count: int) -> tuple[U8, F32]:
        """Boards, cards in the order of the deals, and their weights: uint8[board, card], float32[board]."""
        width = sum(self._deals)
        if not self._indexer:
            return np.zeros((count, width), np.uint8), np.ones(count, np.float32)
        if not self.cycle:
            decks = [self._deck(number)[:width] for number in range(first, first + count)]
            return np.array(decks, np.uint8).reshape(count, width), np.ones(count, np.float32)
        parts, size = [], self.size
        while count:
            number, at = divmod(first, size)
            parts.append(self.order(number)[at : at + count])
            first, count = first + len(parts[-1]), count - len(parts[-1])
        classes = np.concatenate(parts)
        if size <= _SMALL_CYCLE:
            return self._cycle[0][classes], self._cycle[1][classes]
        cards = self._indexer.hands(classes.astype(np.uint64))
        return cards, self._class_sizes(cards)

    @cached_property
    def _cycle(self) -> tuple[U8, F32]:
        """Boards and class sizes of a whole cycle: in a small game, working them out again is most of an iteration."""
        assert self._indexer is not None
        cards = self._indexer.hands(np.arange(self.size, dtype=np.uint64))
        return cards, self._class_sizes(cards)

    def _deck(self, number: int) -> I64:
        """A shuffled deck."""
        return np.random.default_rng([self.seed, number]).permutation(self.rules.deck.size)

    def _class_sizes(self, cards: U8) -> F32:
        """The size of each board's class: all orders of the suits, over those of suits with the same cards."""
        deck, every = self.rules.deck, np.arange(len(cards))
        round_of = np.repeat(np.arange(len(self._deals)), self._deals)
        held = np.zeros((len(cards), deck.suits), np.int64)  # the cards of each suit, by round and rank, as one number
        for i, street in enumerate(round_of):
            of, rank = cards[:, i] % deck.suits, cards[:, i] // deck.suits
            held[every, of] = held[every, of] * _MOST_IN_SUIT + (1 + int(street) * deck.ranks + rank)
        sizes = np.ones(len(cards), np.float32)
        for suit in range(deck.suits):
            alike = (held[:, : suit + 1] == held[:, suit : suit + 1]).sum(axis=1)
            sizes *= (suit + 1) / alike.astype(np.float32)
        return np.rint(sizes)


def check_sampling(mine: dict[str, int], iteration: int, stored: Any, own: int = 1) -> None:
    """Refuse to resume a run whose boards were determined by other numbers than `mine`.

    `stored` is int64: the same numbers, the boards visited (all of `iteration` iterations), and more up to `own`.
    """
    check_array(stored, "sampling", (len(mine) + own,), np.int64)
    was = dict(zip(mine, (int(number) for number in stored), strict=False))
    if was != mine:
        said = ", ".join(f"{name} {number}" for name, number in was.items())
        raise InputError("a run that samples otherwise", remedy=f"restore it with {said}")
    if int(stored[len(mine)]) != iteration * mine["boards"]:
        raise InputError(
            f"{int(stored[len(mine)]):,} boards after {iteration:,} iterations of {mine['boards']:,}", remedy=REMEDY
        )


class Samples(NamedTuple):
    """The boards of one iteration. The *present* buckets of a board are those of its holes, numbered from 0."""

    weight: F32  # [board]
    present: U32  # [board, street, number] the bucket
    num_present: I32  # [board, street]
    number: U16  # [board, street, hole] of the hole's bucket


class _BucketNumbering(NamedTuple):
    holes: U16  # [4, hole]
    counts: U32  # [256]
    cards: U8  # [card of a hand]
    buckets: I64  # [street]
    by_street: I64  # [street, hole]
    number_of: I32  # [bucket] its number; 0 between boards


class SampledBoards:
    """Memory for the boards of an iteration. Both players have the same list of holes, which terminals read."""

    def __init__(self, buckets: BucketMap, count: int) -> None:
        rules = buckets.rules
        self._tables, self._ranker = buckets.tables, rules.ranker.tables
        self._root, self._sizes = _all_holes(rules), np.array(buckets.buckets, np.int64)
        dead, rounds = sum(rules.board_cards), rules.rounds
        self.holes = holes = comb(rules.deck.size - dead, rules.hole_cards)
        first = np.arange(count, dtype=np.int64) * holes
        lists = HoleLists(
            first=np.stack([first] * PLAYERS, axis=1),
            counts=np.full((count, PLAYERS), holes, np.int32),
            hole=np.zeros(count * holes, np.uint16),
            card1=np.zeros(count * holes, np.uint8),
            card2=np.zeros(count * holes, np.uint8),
        )
        self._lists = lists
        self._ranks, self._before = np.zeros((2, count * holes), np.uint16)
        nothing = np.zeros(0, np.int32)
        self.boards = Boards(
            street=np.zeros(count, np.uint8),
            parent=nothing,
            first_child=nothing,
            num_children=nothing,
            weight=np.zeros(0),
            first=lists.first,
            counts=lists.counts,
            hole=lists.hole,
            card1=lists.card1,
            card2=lists.card2,
            same=np.tile(np.arange(holes, dtype=np.uint16), count),
            before=np.zeros(0, np.uint16),
            symmetric=np.zeros(0, np.uint8),
            orbit=np.zeros(0, np.uint16),
            group_first=np.zeros(count, np.int64),
            num_groups=np.zeros(count, np.int32),
            groups=np.zeros((count * (holes + 1), PLAYERS), np.uint16),
        )
        self.samples = Samples(
            np.zeros(count, np.float32),
            np.zeros((count, rounds, holes), np.uint32),
            np.zeros((count, rounds), np.int32),
            np.zeros((count, rounds, holes), np.uint16),
        )
        self._buffers = _BucketNumbering(
            np.zeros((4, holes), np.uint16),
            np.zeros(256, np.uint32),
            np.zeros(rules.hand_cards, np.uint8),
            np.zeros(rounds, np.int64),
            np.zeros((rounds, holes), np.int64),
            np.zeros(max(buckets.buckets), np.int32),
        )

    def fill(self, cards: U8, weight: F32) -> None:
        """Set the lists, groups of ties and buckets of boards: uint8[board, card], float32[board]."""
        self.samples.weight[:] = weight
        self.boards.num_groups[:] = 0
        lists, buffers, boards = self._lists, self._buffers, self.boards
        parent = np.zeros(len(cards), np.int32)
        one = lists._replace(first=np.ascontiguousarray(lists.first[:, :1]))
        deal_lists(
            self._root, DealtBoards(cards, parent, cards), True, self._ranker, one, self._before, self._ranks,
            buffers.holes, buffers.counts,
        )  # fmt: skip
        cut_groups(lists, self._ranks, boards.groups, boards.num_groups, boards.group_first)
        number_buckets(cards, lists, self._tables, self._sizes, buffers, self.samples)


def _all_holes(rules: GameRules) -> HoleLists:
    cards = hole_card_table(rules.deck, rules.hole_cards)
    second: Any = cards[:, 1].copy() if rules.hole_cards == 2 else np.full(len(cards), NO_CARD, np.uint8)
    count = np.array([[len(cards)]], np.int32)
    every = np.arange(len(cards), dtype=np.uint16)
    return HoleLists(np.zeros((1, 1), np.int64), count, every, cards[:, 0].copy(), second)


@kernel
def number_buckets(
    boards: U8, lists: HoleLists, tables: BucketTables, sizes: I64, buffers: _BucketNumbering, samples: Samples
) -> None:
    """Buckets of all holes of boards on all streets. IN: uint8[board, card], lists, map, int64[street] its buckets."""
    rounds, holes = buffers.by_street.shape
    hole_cards = buffers.cards.size - boards.shape[1]
    for board in range(boards.shape[0]):
        for i in range(boards.shape[1]):
            buffers.cards[hole_cards + i] = boards[board, i]
        start = lists.first[board, 0]
        for h in range(holes):
            buffers.cards[0] = lists.card1[start + h]
            if hole_cards == 2:
                buffers.cards[1] = lists.card2[start + h]
            buckets_of_deal(buffers.cards, rounds, tables, buffers.buckets)
            for street in range(rounds):
                buffers.by_street[street, h] = buffers.buckets[street]
        for street in range(rounds):
            buckets, number_of = buffers.by_street[street], buffers.number_of
            present, number = samples.present[board, street], samples.number[board, street]
            for h in range(holes):
                number_of[buckets[h]] = 1
            count = 0
            for bucket in range(sizes[street]):  # ascending: tables are then read in the order of memory
                if number_of[bucket]:
                    present[count] = bucket
                    number_of[bucket] = count
                    count += 1
            samples.num_present[board, street] = count
            for h in range(holes):
                number[h] = number_of[buckets[h]]
            for i in range(count):
                number_of[present[i]] = 0
