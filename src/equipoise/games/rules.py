"""The rules of a two-player hold'em-like game: the content of an ACPC gamedef as one checked, frozen value.

Two players, limit or no-limit, any number of rounds; chips are whole numbers. Hands are ranked by the standard
ranking of all cards a player sees (at most seven), or by the three-card one of Rhode Island hold'em.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from equipoise.cards.deck import Deck
from equipoise.core.digits import whole_number
from equipoise.core.errors import InputError, shown

if TYPE_CHECKING:
    from equipoise.cards.hand_ranks import Ranker

PLAYERS = 2
MOST_CARDS = 7
MOST_ROUNDS = 8
UNLIMITED_RAISES = 255  # as in the ACPC dealer
UNLIMITED_STACK = 2**31 - 1  # as in the ACPC dealer: for limit games, whose bets never reach it
MOST_CHIPS = 500_000_000  # a player's chips in the pot: the pot and a raise of its size then fit 32 bits
STREETS = ("preflop", "flop", "turn", "river")


@dataclass(frozen=True)
class GameRules:
    """Rules of a game. Tuples are by player or by round; `first` is the player who opens each round."""

    limit: bool
    blinds: tuple[int, int]
    stacks: tuple[int, int]
    first: tuple[int, ...]
    max_raises: tuple[int, ...]
    deck: Deck
    hole_cards: int
    board_cards: tuple[int, ...]
    raise_sizes: tuple[int, ...] = ()  # limit only
    three_card: bool = False
    name: str = field(default="", compare=False)

    def __repr__(self) -> str:
        betting = "limit" if self.limit else f"no-limit, {min(self.stacks) / self.big_blind:g} big blinds"
        return f"GameRules({self.name or 'unnamed'}: {betting}, {self.deck.size} cards, rounds {self.rounds})"

    def __post_init__(self) -> None:
        for check in (self._check_rounds, self._check_chips, self._check_cards):
            check()

    def _check_rounds(self) -> None:
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise InputError(f"{self.rounds} rounds", remedy=f"use 1 to {MOST_ROUNDS} rounds")
        by_round = {"firstPlayer": self.first, "maxRaises": self.max_raises, "numBoardCards": self.board_cards}
        if self.limit:
            by_round["raiseSize"] = self.raise_sizes
        for name, values in by_round.items():
            if len(values) != self.rounds:
                raise InputError(f"{name} has {len(values)} values for {self.rounds} rounds", remedy="give one a round")
        if any(player not in range(PLAYERS) for player in self.first):
            raise InputError("firstPlayer names a player that does not exist", remedy="use 1 or 2")
        if any(not 0 <= count <= UNLIMITED_RAISES for count in self.max_raises):
            raise InputError("maxRaises is out of range", remedy=f"use 0 to {UNLIMITED_RAISES}")

    def _check_chips(self) -> None:
        if any(blind < 0 for blind in self.blinds) or not any(self.blinds):
            raise InputError("blind needs a positive number", remedy="write e.g. blind = 100 50")
        if any(stack <= max(self.blinds) for stack in self.stacks):
            raise InputError("stack must be larger than the blinds", remedy=f"use up to {MOST_CHIPS:,} chips")
        if any(size <= 0 for size in self.raise_sizes):
            raise InputError("raiseSize must be positive", remedy="write e.g. raiseSize = 10 10 20 20")
        if not self.limit and self.raise_sizes:
            raise InputError("raiseSize in a no-limit game", remedy="remove it, or write limit")
        if max(self.stacks) > UNLIMITED_STACK or self.most_chips > MOST_CHIPS:
            by_raises = self.limit and max(self.stacks) <= UNLIMITED_STACK
            key = "raiseSize and maxRaises let" if by_raises else "stack lets"
            raise InputError(
                f"{key} a player put in {shown(self.most_chips)} chips", remedy=f"use up to {MOST_CHIPS:,} chips"
            )

    def _check_cards(self) -> None:
        if self.hole_cards < 1 or any(count < 0 for count in self.board_cards):
            raise InputError("numHoleCards needs a card, and boards cannot shrink", remedy="use numHoleCards = 2")
        if self.hand_cards > MOST_CARDS:
            raise InputError(f"numBoardCards makes hands of {self.hand_cards} cards", remedy=f"use up to {MOST_CARDS}")
        if self.deal_size > self.deck.size:
            raise InputError(f"numBoardCards deals {self.deal_size} of {self.deck.size} cards", remedy="deal fewer")
        if self.three_card and self.hand_cards != 3:
            raise InputError("handRanking three-card without three cards", remedy="use handRanking = standard")

    @property
    def rounds(self) -> int:
        """The number of betting rounds."""
        return len(self.board_cards)

    @property
    def big_blind(self) -> int:
        """The unit of milli-big-blinds: the larger blind (the ante, where both players post the same)."""
        return max(self.blinds)

    @property
    def most_chips(self) -> int:
        """The most that a player can put in: the larger stack, or the sum of all raises in a limit game."""
        if not self.limit:
            return max(self.stacks)
        raised = sum(count * size for count, size in zip(self.max_raises, self.raise_sizes, strict=True))
        return min(max(self.stacks), self.big_blind + raised)

    @property
    def hand_cards(self) -> int:
        """The number of cards of a player's hand at showdown."""
        return self.hole_cards + sum(self.board_cards)

    @property
    def deal_size(self) -> int:
        """The number of cards dealt to both players and the board."""
        return PLAYERS * self.hole_cards + sum(self.board_cards)

    def board_size(self, round_: int) -> int:
        """The number of board cards in a round."""
        return sum(self.board_cards[: round_ + 1])

    def deals(self, round_: int) -> tuple[int, ...]:
        """The cards a player has seen up to a round, by deal: hole cards, then each board deal."""
        return (self.hole_cards, *(count for count in self.board_cards[: round_ + 1] if count))

    def unordered_deals(self, round_: int) -> tuple[int, ...]:
        """The same, with the whole board as one deal."""
        board = self.board_size(round_)
        return (self.hole_cards, board) if board else (self.hole_cards,)

    def street_name(self, round_: int) -> str:
        """`preflop` to `river` where the board is dealt as in hold'em, else `round N`."""
        return STREETS[round_] if self.board_cards == (0, 3, 1, 1)[: self.rounds] else f"round {round_ + 1}"

    def find_street(self, street: int | str) -> int:
        """A street by its number from 0, or by its name: its own here, or the one of hold'em."""
        names = [self.street_name(round_) for round_ in range(self.rounds)]
        words: list[int | str] = [*range(self.rounds), *names, *STREETS[: self.rounds]]
        if street not in words:
            raise InputError(f"no street {shown(street)}", remedy=f"use {', '.join(names)}, or 0 to {self.rounds - 1}")
        return words.index(street) % self.rounds

    @cached_property
    def ranker(self) -> Ranker:
        """The ranker of this game's hands."""
        from equipoise.cards.hand_ranks import Ranker

        return Ranker(self.deck, self.hand_cards, self.three_card)

    @property
    def fingerprint(self) -> str:
        """A digest of the rules without the name, stored in files made for them."""
        from equipoise.games.gamedef import write_gamedef

        return hashlib.blake2b(write_gamedef(self).encode(), digest_size=8).hexdigest()


def read_numbers(text: str, what: str, example: str) -> tuple[int, ...]:
    """Positive numbers separated by commas or spaces."""
    words = text.replace(",", " ").split()
    if not words or not all(whole_number(word, 12) for word in words):
        raise InputError(f"{what} {shown(text)}", remedy=f"write positive numbers, e.g. {example}")
    return tuple(int(word) for word in words)
