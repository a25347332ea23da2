"""Deals for traversals: a board, and some holes for each player.

With one hole a player this is a deal of the game. With more, every pair of holes that share no card is one: holes of a
player are drawn independently from the cards that are not on the board, so each such pair is uniformly distributed. A
pot that both players are all-in for before the last street is worth its mean over some boards: unbiased, and far less
noisy. A board that a hole blocks does not count for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise.cards.hand_ranks import RankTables, rank_of_cards
from equipoise.core.arrays import Int
from equipoise.core.jit import F32, I32, U8, U16, U64, inlined, kernel
from equipoise.deep.hands import HandBuffers, HandKeys, HandPlan, canonical_key
from equipoise.games.rules import PLAYERS
from equipoise.solvers.external_kernel import draw_word

BLOCKED = np.int32(-1)  # the rank of a hole that shares a card with the board
_32 = np.uint64(32)


class Deals(NamedTuple):
    """Deals as a walker sees them. A pair is [hole of the opponent, hole of the walker]."""

    keys: U64  # [deal, player, hole, street]
    meet: F32  # [deal, pair] 1 if the holes share no card, else 0
    won: F32  # [deal, street, pair] what the walker wins of a pot of one unit each, times `meet`

    @property
    def holes(self) -> int:
        """Holes of each player."""
        return int(self.keys.shape[2])


class DealBuffers(NamedTuple):
    """The memory for one deal."""

    deck: U8  # [card] the board first
    holes: U8  # [player, hole, card]
    ranks: I32  # [player, hole]
    boards: F32  # [pair] number of boards that both holes allow
    hand: HandBuffers


@inlined
def shuffle_part(random: U64, first: Int, last: Int, deck: U8 | U16) -> None:
    """Draw what is at the places of a deck from one to another. IN OUT: uint64[1] generator, uint8[card] deck, or
    uint16[hole].
    """
    for at in range(first, last):
        other = np.uint64(at) + (((draw_word(random) >> _32) * np.uint64(deck.size - at)) >> _32)
        card = deck[other]
        deck[other] = deck[at]
        deck[at] = card


@inlined
def take_hand(player: Int, hole: Int, buffers: DealBuffers) -> bool:
    """Put a hole and the board into the buffer of a hand. Returns whether they share a card."""
    cards, hole_cards = buffers.hand.cards, buffers.holes.shape[2]
    blocked = False
    for at in range(cards.size - hole_cards):
        cards[hole_cards + at] = buffers.deck[at]
    for i in range(hole_cards):
        cards[i] = buffers.holes[player, hole, i]
        for at in range(hole_cards, cards.size):
            blocked |= cards[at] == cards[i]
    return blocked


@inlined
def rank_holes(ranking: RankTables, buffers: DealBuffers) -> None:
    """The ranks of all holes on the board of the deck."""
    for player in range(2):
        for hole in range(buffers.ranks.shape[1]):
            blocked = take_hand(player, hole, buffers)
            rank = np.int32(rank_of_cards(buffers.hand.cards, buffers.hand.cards.size, ranking))
            buffers.ranks[player, hole] = BLOCKED if blocked else rank


@inlined
def add_outcomes(walker: Int, meet: F32, buffers: DealBuffers, won: F32) -> None:
    """Compare all holes on the board of the deck. IN: float32[pair]; OUT: float32[pair] the walker's wins, added."""
    mine, theirs = buffers.ranks[walker], buffers.ranks[1 - walker]
    for j in range(meet.shape[0]):
        other = theirs[j]
        if other == BLOCKED:
            continue
        for i in range(meet.shape[1]):
            both = meet[j, i] if mine[i] != BLOCKED else np.float32(0)
            buffers.boards[j, i] += both
            won[j, i] += both * np.float32(np.int32(mine[i] > other) - np.int32(mine[i] < other))


@inlined
def fill_street_keys(count: Int, plan: HandPlan, buffers: DealBuffers, keys: U64) -> None:
    """The keys of all holes with the first cards of the deck's board. OUT: uint64[player, hole]."""
    for player in range(2):
        for hole in range(keys.shape[1]):
            take_hand(player, hole, buffers)
            keys[player, hole] = canonical_key(count, plan, buffers.hand)


@kernel
def fill_deals(
    random: U64, walker: int, runouts: int, ranking: RankTables, plan: HandPlan, buffers: DealBuffers, deals: Deals
) -> None:
    """Deal at random. IN: boards for a pot before the last street, or 0; IN OUT: uint64[1] generator, buffers; OUT:
    deals, with one `won` for the last street only if `runouts` is 0.
    """
    hole_cards, streets = plan.hole_cards, plan.seen.size
    board_cards = np.int64(plan.seen[streets - 1]) - hole_cards
    deck, holes = buffers.deck, buffers.holes
    for deal in range(deals.keys.shape[0]):
        shuffle_part(random, 0, board_cards, deck)
        for hole in range(holes.shape[1]):
            shuffle_part(random, board_cards, board_cards + 2 * hole_cards, deck)
            for player in range(2):
                for i in range(hole_cards):
                    holes[player, hole, i] = deck[board_cards + player * hole_cards + i]
        for street in range(streets):
            fill_street_keys(np.int64(plan.seen[street]), plan, buffers, deals.keys[deal, :, :, street])
        meet = deals.meet[deal]
        for j in range(meet.shape[0]):
            for i in range(meet.shape[1]):
                shared = False
                for a in range(hole_cards):
                    for b in range(hole_cards):
                        shared |= holes[walker, i, a] == holes[1 - walker, j, b]
                meet[j, i] = np.float32(0 if shared else 1)
        last = deals.won.shape[1] - 1
        deals.won[deal, last] = 0
        rank_holes(ranking, buffers)
        add_outcomes(walker, meet, buffers, deals.won[deal, last])
        for street in range(last - 1, -1, -1):  # backwards: the cards of later streets are drawn again
            won = deals.won[deal, street]
            for j in range(meet.shape[0]):
                for i in range(meet.shape[1]):
                    won[j, i] = deals.won[deal, last, j, i]
                    buffers.boards[j, i] = meet[j, i]
            for _ in range(runouts - 1):
                shuffle_part(random, np.int64(plan.seen[street]) - hole_cards, board_cards, deck)
                rank_holes(ranking, buffers)
                add_outcomes(walker, meet, buffers, won)
            for j in range(meet.shape[0]):
                for i in range(meet.shape[1]):
                    won[j, i] /= max(buffers.boards[j, i], np.float32(1))


@dataclass(frozen=True, eq=False)
class Dealer:
    """Deals the hands of a game."""

    hands: HandKeys
    holes: int = 1  # of each player, on one board
    runouts: int = 0  # boards for a pot before the last street; 0: there are no such pots

    def deal(self, seed: np.random.SeedSequence, count: int, walker: int = 0) -> Deals:
        """Random deals."""
        rules, holes = self.hands.rules, self.holes
        random = seed.generate_state(1, np.uint64) | np.uint64(1)
        deals = Deals(
            np.empty((count, PLAYERS, holes, rules.rounds), np.uint64),
            np.empty((count, holes, holes), np.float32),
            np.empty((count, rules.rounds if self.runouts else 1, holes, holes), np.float32),
        )
        buffers = DealBuffers(
            np.arange(rules.deck.size, dtype=np.uint8),
            np.zeros((PLAYERS, holes, rules.hole_cards), np.uint8),
            np.zeros((PLAYERS, holes), np.int32),
            np.zeros((holes, holes), np.float32),
            self.hands.buffers(),
        )
        fill_deals(random, walker, self.runouts, rules.ranker.tables, self.hands.plan, buffers, deals)
        self.hands.add_strengths(deals.keys)
        return deals
