"""Boards with every hole that they leave, for public chance sampling.

A pot that both players are all-in for before the last street is worth its mean over some boards, as in `deals.py`: for
each pair of holes, over those boards that neither of them blocks. The board of the deal is the first of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np

from equipoise.cards.hand_ranks import RankTables, rank_of_cards
from equipoise.core.jit import I32, I64, U8, U64, inlined, kernel
from equipoise.deep.hands import HandBuffers, HandKeys, HandPlan, canonical_key
from equipoise.deep.traversals.deals import BLOCKED, shuffle_part


class BoardDeals(NamedTuple):
    """Boards and all holes that they leave, in the same order everywhere."""

    board: U8  # [board, card]
    holes: U8  # [board, hole, card]
    keys: U64  # [board, hole, street]
    ranks: I32  # [board, runout, hole], BLOCKED where it shares a card; the first runout is the board itself


@inlined
def rank_all(holes: U8, deck: U8, ranking: RankTables, cards: U8, ranks: I32) -> None:
    """The ranks of all holes on the first cards of a deck. IN: uint8[hole, card]; scratch: uint8[card of a hand]; OUT:
    int32[hole].
    """
    hole_cards = holes.shape[1]
    for at in range(cards.size - hole_cards):
        cards[hole_cards + at] = deck[at]
    for hole in range(holes.shape[0]):
        blocked = False
        for i in range(hole_cards):
            cards[i] = holes[hole, i]
            for at in range(hole_cards, cards.size):
                blocked |= cards[at] == cards[i]
        ranks[hole] = BLOCKED if blocked else np.int32(rank_of_cards(cards, cards.size, ranking))


@kernel
def fill_board_deals(
    random: U64, all_holes: U8, early: I64, runouts: int, ranking: RankTables, plan: HandPlan, deck: U8,
    hand: HandBuffers, deals: BoardDeals,
) -> None:  # fmt: skip
    """Deal boards at random. IN: uint8[hole, card] of the deck, int64[early street] from late to early, and the number
    of runouts for each; IN OUT: uint64[1] generator, uint8[card] deck, buffers of a hand; OUT: deals.
    """
    hole_cards, streets = plan.hole_cards, plan.seen.size
    board_cards = np.int64(plan.seen[streets - 1]) - hole_cards
    for deal in range(deals.holes.shape[0]):
        shuffle_part(random, 0, board_cards, deck)
        for at in range(board_cards):
            deals.board[deal, at] = deck[at]
        holes, found = deals.holes[deal], 0
        for hole in range(all_holes.shape[0]):
            blocked = False
            for i in range(hole_cards):
                for at in range(board_cards):
                    blocked |= deck[at] == all_holes[hole, i]
            if not blocked:
                for i in range(hole_cards):
                    holes[found, i] = all_holes[hole, i]
                found += 1
        for street in range(streets):
            count = np.int64(plan.seen[street])
            for hole in range(holes.shape[0]):
                for i in range(hole_cards):
                    hand.cards[i] = holes[hole, i]
                for at in range(count - hole_cards):
                    hand.cards[hole_cards + at] = deck[at]
                deals.keys[deal, hole, street] = canonical_key(count, plan, hand)
        rank_all(holes, deck, ranking, hand.cards, deals.ranks[deal, 0])
        at = 1
        for street in early:  # from late to early: the cards of later streets are drawn again
            for _ in range(runouts):
                shuffle_part(random, np.int64(plan.seen[street]) - hole_cards, board_cards, deck)
                rank_all(holes, deck, ranking, hand.cards, deals.ranks[deal, at])
                at += 1


@dataclass(frozen=True, eq=False)
class BoardDealer:
    """Deals boards of a game, with runouts of its early streets."""

    hands: HandKeys
    all_holes: U8  # [hole, card]
    early: tuple[int, ...] = ()  # streets that have pots of players who are all-in before the last street
    runouts: int = 0  # more boards for each of them

    @property
    def holes(self) -> int:
        """The number of holes that a board leaves."""
        rules = self.hands.rules
        return comb(rules.deck.size - sum(rules.board_cards), rules.hole_cards)

    def deal(self, seed: np.random.SeedSequence, count: int) -> BoardDeals:
        """Random boards."""
        rules = self.hands.rules
        random = seed.generate_state(1, np.uint64) | np.uint64(1)
        early = np.array(sorted(self.early, reverse=True), np.int64)
        deals = BoardDeals(
            np.empty((count, sum(rules.board_cards)), np.uint8),
            np.empty((count, self.holes, rules.hole_cards), np.uint8),
            np.empty((count, self.holes, rules.rounds), np.uint64),
            np.empty((count, 1 + len(early) * self.runouts, self.holes), np.int32),
        )
        deck = np.arange(rules.deck.size, dtype=np.uint8)
        fill_board_deals(
            random, self.all_holes, early, self.runouts, rules.ranker.tables, self.hands.plan, deck,
            self.hands.buffers(), deals,
        )  # fmt: skip
        self.hands.add_strengths(deals.keys)
        return deals
