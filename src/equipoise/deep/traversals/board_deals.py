"""Boards with holes that both players may have, for public chance sampling: all that a board leaves, or some of them.

A pot that both players are all-in for before the last street is worth its mean over some boards, as in `deals.py`: for
each pair of holes, over those boards that neither of them blocks. The board of the deal is the first of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np

from equipoise.cards.hand_ranks import RankTables, rank_of_cards
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.jit import I32, I64, U8, U16, U64, inlined, kernel
from equipoise.deep.hands import HandBuffers, HandKeys, HandPlan, canonical_key
from equipoise.deep.traversals.deals import BLOCKED, shuffle_part


class BoardDeals(NamedTuple):
    """Boards and holes that they leave, in the same order everywhere."""

    board: U8  # [board, card]
    holes: U8  # [board, hole, card]
    keys: U64  # [board, hole, street]
    ranks: I32  # [board, runout, hole], BLOCKED where it shares a card; the first runout is the board itself


class BoardBuffers(NamedTuple):
    """What dealing a board needs beside it."""

    all_holes: U8  # [hole, card] of the deck
    live: U16  # [hole] those that a board leaves
    deck: U8  # [card] the board first
    hand: HandBuffers


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
    random: U64, early: I64, runouts: int, ranking: RankTables, plan: HandPlan, buffers: BoardBuffers, deals: BoardDeals
) -> None:
    """Deal boards at random. IN: int64[early street] from late to early, and the number of runouts for each; IN OUT:
    uint64[1] generator, buffers; OUT: deals.
    """
    hole_cards, streets = plan.hole_cards, plan.seen.size
    board_cards = np.int64(plan.seen[streets - 1]) - hole_cards
    all_holes, live, deck, hand = buffers.all_holes, buffers.live, buffers.deck, buffers.hand
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
                live[found] = hole
                found += 1
        if holes.shape[0] < found:
            shuffle_part(random, 0, holes.shape[0], live[:found])
        for at in range(holes.shape[0]):
            for i in range(hole_cards):
                holes[at, i] = all_holes[live[at], i]
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
    most_holes: int  # that are dealt to a board
    early: tuple[int, ...] = ()  # streets that have pots of players who are all-in before the last street
    runouts: int = 0  # more boards for each of them

    @property
    def holes(self) -> int:
        """The number of holes of a board: those that are dealt, or all that it leaves."""
        rules = self.hands.rules
        return min(self.most_holes, comb(rules.deck.size - sum(rules.board_cards), rules.hole_cards))

    def deal(self, seed: np.random.SeedSequence, count: int) -> BoardDeals:
        """Random boards."""
        rules = self.hands.rules
        random = seed.generate_state(1, np.uint64) | np.uint64(1)
        early = np.array(sorted(self.early, reverse=True), np.int64)
        all_holes = hole_card_table(rules.deck, rules.hole_cards)
        deals = BoardDeals(
            np.empty((count, sum(rules.board_cards)), np.uint8),
            np.empty((count, self.holes, rules.hole_cards), np.uint8),
            np.empty((count, self.holes, rules.rounds), np.uint64),
            np.empty((count, 1 + len(early) * self.runouts, self.holes), np.int32),
        )
        buffers = BoardBuffers(
            all_holes, np.zeros(len(all_holes), np.uint16), np.arange(rules.deck.size, dtype=np.uint8),
            self.hands.buffers(),
        )  # fmt: skip
        fill_board_deals(random, early, self.runouts, rules.ranker.tables, self.hands.plan, buffers, deals)
        self.hands.add_strengths(deals.keys)
        return deals
