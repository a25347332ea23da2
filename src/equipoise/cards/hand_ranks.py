"""Hand ranks: of one hand, of many hands, and of all holes of one board at once.

A hand's key is the sum of its cards' keys and a start key. The low half is unique to the ranks of the hand; the high
half counts suits in four bits each, so that a counter reaches eight exactly if there is a flush. Its mask has a lane of
sixteen bits per suit. One table look-up (two without a flush) gives the rank: a higher rank wins, equal ranks tie.
`rank_tables.py` builds the tables, about half a megabyte, once.

Python code uses `Ranker(deck, cards)`; kernels take its `tables`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise.cards import rank_tables
from equipoise.cards.deck import FULL_DECK, Deck
from equipoise.cards.rank_tables import MOST_CARDS, RANK_KEYS, THREE_CARD
from equipoise.core.arrays import Int
from equipoise.core.errors import InputError
from equipoise.core.jit import U8, U16, U32, U64, inlined, kernel
from equipoise.core.kernel_cache import cached_arrays

BLOCKED = 0xFFFF  # the rank of a hole that shares a card with the board

_LOW = np.uint64(0xFFFFFFFF)
_FLUSH = np.uint64(0x8888 << 32)
_SUIT = (np.uint64(8 << 32), np.uint64(8 << 36), np.uint64(8 << 40))
_LANE = np.uint64(0x1FFF)
_SHIFT = np.uint64(rank_tables.SHIFT)
_COLUMN = np.uint64(rank_tables.ROW - 1)
_0, _16, _32, _48 = np.uint64(0), np.uint64(16), np.uint64(32), np.uint64(48)


class RankTables(NamedTuple):
    """The tables that a kernel needs to rank hands of a fixed number of cards of one deck."""

    start: np.uint64  # the key of no cards
    card_key: U64  # [card]
    card_mask: U64  # [card]
    row_start: U32  # [row]
    ranks: U16  # [slot]


@inlined
def rank_of_key(key: np.uint64, mask: np.uint64, row_start: U32, ranks: U16) -> np.uint16:
    """The rank of a hand given by the sum of its keys and the union of its masks."""
    # One load at the end: a helper that reads different arrays in different branches is several times slower.
    flush = key & _FLUSH
    if flush == _0:
        low = key & _LOW
        slot = np.uint64(row_start[low >> _SHIFT]) + (low & _COLUMN)
    elif flush & _SUIT[0]:
        slot = mask & _LANE
    elif flush & _SUIT[1]:
        slot = (mask >> _16) & _LANE
    elif flush & _SUIT[2]:
        slot = (mask >> _32) & _LANE
    else:
        slot = (mask >> _48) & _LANE
    rank: np.uint16 = ranks[slot]
    return rank


@kernel
def rank_hands(cards: U8, tables: RankTables, ranks: U16) -> None:
    """IN: uint8[hand, card]; OUT: uint16[hand]."""
    # A literal number of cards lets the compiler unroll the loop: 1.7 times as fast.
    if cards.shape[1] == 7:
        for hand in range(cards.shape[0]):
            ranks[hand] = rank_of_cards(cards[hand], 7, tables)
    elif cards.shape[1] == 6:
        for hand in range(cards.shape[0]):
            ranks[hand] = rank_of_cards(cards[hand], 6, tables)
    elif cards.shape[1] == 5:
        for hand in range(cards.shape[0]):
            ranks[hand] = rank_of_cards(cards[hand], 5, tables)
    else:
        for hand in range(cards.shape[0]):
            ranks[hand] = rank_of_cards(cards[hand], cards.shape[1], tables)


@inlined
def rank_of_cards(cards: U8, count: int, tables: RankTables) -> np.uint16:
    """The rank of one hand. IN: uint8[card], of which `count` are read."""
    key = tables.start
    mask = _0
    for i in range(count):
        key += tables.card_key[cards[i]]
        mask |= tables.card_mask[cards[i]]
    return rank_of_key(key, mask, tables.row_start, tables.ranks)


@kernel
def rank_pairs_on_board(board: U8, tables: RankTables, live: U8, ranks: U16) -> None:
    """All two-card holes of one board. IN: uint8[card]; scratch: uint8[deck]; OUT: uint16[hole], BLOCKED where dead."""
    row_start, table, card_key, card_mask = tables.row_start, tables.ranks, tables.card_key, tables.card_mask
    key, mask, count = _board_key(board, tables, live)
    if count < card_key.size:
        ranks[:] = np.uint16(BLOCKED)
    for i in range(1, count):
        high = np.uint32(live[i])
        key_high = key + card_key[high]
        mask_high = mask | card_mask[high]
        row = ranks[high * (high - np.uint32(1)) >> np.uint32(1) :]
        for j in range(i):
            low = live[j]
            row[low] = rank_of_key(key_high + card_key[low], mask_high | card_mask[low], row_start, table)


@kernel
def rank_cards_on_board(board: U8, tables: RankTables, live: U8, ranks: U16) -> None:
    """All one-card holes of one board. IN: uint8[card]; scratch: uint8[deck]; OUT: uint16[hole], BLOCKED where dead."""
    key, mask, count = _board_key(board, tables, live)
    ranks[:] = np.uint16(BLOCKED)
    for i in range(count):
        card = live[i]
        ranks[card] = rank_of_key(
            key + tables.card_key[card], mask | tables.card_mask[card], tables.row_start, tables.ranks
        )


@inlined
def rank_holes_on_board(board: U8, hole_cards: Int, tables: RankTables, live: U8, ranks: U16) -> None:
    """All holes of one or two cards of one board; arrays as above."""
    if hole_cards == 2:
        rank_pairs_on_board(board, tables, live, ranks)
    else:
        rank_cards_on_board(board, tables, live, ranks)


@inlined
def _board_key(board: U8, tables: RankTables, live: U8) -> tuple[np.uint64, np.uint64, int]:
    """Key and mask of the board, and the number of cards off it, which are listed in `live`."""
    key = tables.start
    mask = _0
    for card in board:
        key += tables.card_key[card]
        mask |= tables.card_mask[card]
    count = 0
    for card in range(tables.card_key.size):
        if tables.card_mask[card] & mask == _0:
            live[count] = np.uint8(card)
            count += 1
    return key, mask, count


@kernel
def showdown_order(ranks: U16, order: U16, scratch: U16, counts: U32) -> int:
    """Live holes from weakest to strongest, ties in hole order: two passes of a radix sort.

    IN: uint16[hole], ranks below 2**14; OUT: uint16[hole]; scratch: uint16[hole], uint32[256].
    Returns the number of live holes.
    """
    low, high = counts[:128], counts[128:]
    counts[:] = np.uint32(0)
    for hole in range(ranks.size):  # no branches: which holes are blocked is hard to predict
        rank = ranks[hole]
        live = np.uint32(rank != np.uint16(BLOCKED))
        low[rank & np.uint16(127)] += live
        high[(rank >> np.uint16(7)) & np.uint16(127)] += live
    below_low = np.uint32(0)
    below_high = np.uint32(0)
    for i in range(128):
        here_low, here_high = low[i], high[i]
        low[i], high[i] = below_low, below_high
        below_low += here_low
        below_high += here_high
    for hole in range(ranks.size):  # a blocked hole is overwritten, or comes after the last live one
        rank = ranks[hole]
        place = low[rank & np.uint16(127)]
        scratch[place] = np.uint16(hole)
        low[rank & np.uint16(127)] = place + np.uint32(rank != np.uint16(BLOCKED))
    for hole in scratch[:below_low]:
        digit = ranks[hole] >> np.uint16(7)
        place = high[digit]
        high[digit] = place + np.uint32(1)
        order[place] = hole
    return int(below_low)


@functools.cache
def _built() -> rank_tables.BuiltTables:
    arrays = cached_arrays("ranks", rank_tables.BuiltTables._fields, lambda: rank_tables.build()._asdict())
    return rank_tables.BuiltTables(**arrays)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Ranker:
    """Ranks hands of `cards` cards (1 to 7) of a deck; `three_card` is the ranking of Rhode Island hold'em."""

    deck: Deck = FULL_DECK
    cards: int = MOST_CARDS
    three_card: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.cards <= MOST_CARDS:
            raise InputError(f"hands of {self.cards} cards", remedy=f"hands have 1 to {MOST_CARDS} cards")
        if self.three_card and self.cards != 3:
            raise InputError(f"the three-card ranking of {self.cards} cards", remedy="it ranks three cards")

    @functools.cached_property
    def tables(self) -> RankTables:
        """The arrays for kernels."""
        built = _built()
        card_key = np.zeros(self.deck.size, np.uint64)
        card_mask = np.zeros(self.deck.size, np.uint64)
        for card in range(self.deck.size):
            rank, suit = self.deck.rank(card), self.deck.suit(card)
            card_key[card] = RANK_KEYS[rank] + (1 << 32 + 4 * suit)
            card_mask[card] = 1 << 16 * suit + rank
        start = built.start[THREE_CARD if self.three_card else self.cards]
        return RankTables(np.uint64(start), card_key, card_mask, built.row_start, built.ranks)

    def rank(self, cards: Iterable[int]) -> int:
        """The rank of one hand: higher is better."""
        hand = list(cards)
        self.deck.check_cards(hand)
        return int(self.ranks(np.array([hand], np.uint8))[0])

    def ranks(self, hands: U8) -> U16:
        """The ranks of many hands: uint8[hand, card] -> uint16[hand]."""
        if hands.ndim != 2 or hands.shape[1] != self.cards:
            raise InputError(f"hands of shape {hands.shape}", remedy=f"give one row of {self.cards} cards a hand")
        if hands.size:
            self.deck.check_numbers((int(hands.min()), int(hands.max())))
        ranks = np.empty(len(hands), np.uint16)
        rank_hands(np.ascontiguousarray(hands, np.uint8), self.tables, ranks)
        return ranks

    def ranks_on_board(self, board: Iterable[int]) -> U16:
        """The rank of every hole on one board, BLOCKED where hole and board share a card: uint16[hole]."""
        cards = list(board)
        self.deck.check_cards(cards)
        on_board = np.array(cards, np.uint8)
        hole_cards = self.cards - len(on_board)
        ranks = np.empty(self.deck.holes(max(hole_cards, 0)), np.uint16)
        live = np.empty(self.deck.size, np.uint8)
        if hole_cards == 2:
            rank_pairs_on_board(on_board, self.tables, live, ranks)
        elif hole_cards == 1:
            rank_cards_on_board(on_board, self.tables, live, ranks)
        else:
            raise InputError(f"a board of {len(on_board)} cards", remedy=f"leave one or two of {self.cards} cards")
        return ranks

    def class_name(self, rank: int) -> str:
        """The name of a rank's class, e.g. `two pair`; for five and more cards, and the three-card ranking."""
        built = _built()
        names: tuple[str, ...]
        if self.three_card:
            first, names = built.three_card_class_first, rank_tables.THREE_CARD_CLASSES
        elif self.cards >= 5:
            first, names = built.class_first, rank_tables.STANDARD_CLASSES
        else:
            raise InputError(f"hands of {self.cards} cards have no named class", remedy="use five or more cards")
        return names[int(np.searchsorted(first, rank, side="right")) - 1]
