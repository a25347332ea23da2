"""Decks, cards and holes: their numbers and their text.

A card of a deck with S suits is `rank * S + suit`, rank 0 being the deuce and the suits c, d, h, s: the
numbering of the ACPC dealer, so that a three-rank deck holds 2, 3 and 4. A hole is a set of cards held
by one player; its index is the colexicographic rank of the set, for two cards `high * (high - 1) / 2 + low`,
0 to 1325 in hold'em. Nothing here needs NumPy, so that bad text is refused before anything heavy is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

from equipoise.core.errors import InputError, shown

RANKS = "23456789TJQKA"
SUITS = "cdhs"


@dataclass(frozen=True)
class Deck:
    """A deck of `ranks` x `suits` cards, numbered from the deuce of clubs."""

    ranks: int = 13
    suits: int = 4

    def __post_init__(self) -> None:
        if not 1 <= self.ranks <= len(RANKS):
            raise InputError(f"a deck of {self.ranks} ranks", remedy=f"use 1 to {len(RANKS)} ranks")
        if not 1 <= self.suits <= len(SUITS):
            raise InputError(f"a deck of {self.suits} suits", remedy=f"use 1 to {len(SUITS)} suits")

    @property
    def size(self) -> int:
        """The number of cards."""
        return self.ranks * self.suits

    def card(self, rank: int, suit: int) -> int:
        """The number of a card."""
        return rank * self.suits + suit

    def rank(self, card: int) -> int:
        """The rank of a card, 0 for a deuce."""
        return card // self.suits

    def suit(self, card: int) -> int:
        """The suit of a card, 0 for clubs."""
        return card % self.suits

    def text(self, cards: Iterable[int], separator: str = "") -> str:
        """Cards as text, e.g. `AhKd`."""
        return separator.join(RANKS[self.rank(card)] + SUITS[self.suit(card)] for card in cards)

    def read_card(self, text: str) -> int:
        """One card, in upper or lower case."""
        if len(text) == 2:
            rank = RANKS.find(text[0].upper())
            suit = SUITS.find(text[1].lower())
            if 0 <= rank < self.ranks and 0 <= suit < self.suits:
                return self.card(rank, suit)
        raise InputError(f"no card {shown(text)} in this deck", remedy=self._remedy())

    def read_cards(self, text: str) -> tuple[int, ...]:
        """Cards of a text such as `2c 7d Jh` or `2c7dJh`, in order; duplicates are refused."""
        packed = "".join(text.replace(",", " ").split())
        if len(packed) % 2:
            raise InputError(f"cards {shown(text)} end in half a card", remedy=self._remedy())
        cards = tuple(self.read_card(packed[i : i + 2]) for i in range(0, len(packed), 2))
        self.check_distinct(cards, text)
        return cards

    def check_distinct(self, cards: Sequence[int], text: str = "") -> None:
        """Refuse duplicate cards."""
        for i, card in enumerate(cards):
            if card in cards[:i]:
                where = f" in {shown(text)}" if text else ""
                raise InputError(f"{self.text([card])} appears twice{where}", remedy="name each card once")

    def check_numbers(self, cards: Iterable[int]) -> None:
        """Refuse numbers that are not cards of this deck."""
        for card in cards:
            if not 0 <= card < self.size:
                raise InputError(f"no card number {card} in this deck", remedy=f"use 0 to {self.size - 1}")

    def check_cards(self, cards: Sequence[int]) -> None:
        """Refuse numbers that are not cards of this deck, and duplicates."""
        self.check_numbers(cards)
        self.check_distinct(cards)

    def holes(self, hole_cards: int) -> int:
        """The number of holes of `hole_cards` cards."""
        return comb(self.size, hole_cards)

    def _remedy(self) -> str:
        return f"a card is one of {RANKS[: self.ranks]} and one of {SUITS[: self.suits]}, like {self.text([0])}"


FULL_DECK = Deck()
MOST_HOLE_CARDS = 2  # see check_hole_cards


def check_hole_cards(count: int, part: str) -> None:
    """Refuse games of more than two hole cards, in parts that rank or compare all holes."""
    if count > MOST_HOLE_CARDS:
        raise InputError(
            f"{count} hole cards: {part} supports one or two",
            remedy="games with more can be trained by external sampling with lossless cards, and played",
        )


def hole_index(cards: Iterable[int]) -> int:
    """The index of a set of cards among all sets of that size."""
    return sum(comb(card, i + 1) for i, card in enumerate(sorted(cards)))


def hole_cards(index: int, count: int = 2) -> tuple[int, ...]:
    """The cards of a hole, low to high: the inverse of `hole_index`."""
    cards: list[int] = []
    for size in range(count, 0, -1):
        card = size - 1
        while comb(card + 1, size) <= index:
            card += 1
        index -= comb(card, size)
        cards.append(card)
    return tuple(reversed(cards))
