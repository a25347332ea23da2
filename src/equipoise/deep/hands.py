"""Hands as keys: a player's cards up to a street, suits renamed to a canonical form, packed into one word.

Two hands that differ only by a renaming of suits have the same key, so a network cannot tell them apart. That is
required: the exact measure walks one board per suit-isomorphism class. Byte i of a key is card i plus one, hole cards
first; 0 is a card not yet dealt. Cards of one deal are sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from equipoise.cards.hand_ranks import RankTables, rank_of_cards
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.arrays import Int
from equipoise.core.jit import F32, U8, U64, inlined, kernel
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.solvers.external_kernel import draw_word

BLOCKED = np.uint64(0)  # the key of a hole that the board blocks
_8, _32 = np.uint64(8), np.uint64(32)


class HandPlan(NamedTuple):
    """How cards become keys, for kernels."""

    suits: int
    hole_cards: int
    seen: U8  # [street] number of cards that a player has seen
    deal: U8  # [card of a hand] the deal it belongs to: 0 for the hole, then one per street with board cards


class HandBuffers(NamedTuple):
    """The memory for one hand."""

    cards: U8  # [card]
    ranks: U64  # [suit, deal] the ranks of each suit in each deal, as bits
    order: U8  # [suit] suits in canonical order
    name: U8  # [suit] the canonical name of each suit


@inlined
def _is_before(one: Int, two: Int, ranks: U64) -> bool:
    """Whether a suit comes before another: by its ranks in the hole, then in each deal."""
    for deal in range(ranks.shape[1]):
        if ranks[one, deal] != ranks[two, deal]:
            return bool(ranks[one, deal] > ranks[two, deal])
    return False


@inlined
def canonical_key(count: Int, plan: HandPlan, buffers: HandBuffers) -> np.uint64:
    """The key of the first `count` cards of the buffer. IN: uint8[card]; its cards are renamed and sorted."""
    cards, ranks, order = buffers.cards, buffers.ranks, buffers.order
    ranks[:] = 0
    for i in range(count):
        ranks[cards[i] % plan.suits, plan.deal[i]] |= np.uint64(1) << np.uint64(cards[i] // plan.suits)
    for suit in range(plan.suits):
        at = suit
        while at > 0 and _is_before(suit, order[at - 1], ranks):
            order[at] = order[at - 1]
            at -= 1
        order[at] = suit
    for i in range(plan.suits):
        buffers.name[order[i]] = i
    for i in range(count):
        card = cards[i] - cards[i] % plan.suits + buffers.name[cards[i] % plan.suits]
        at = i
        while at > 0 and plan.deal[at - 1] == plan.deal[i] and cards[at - 1] > card:
            cards[at] = cards[at - 1]
            at -= 1
        cards[at] = card
    key = np.uint64(0)
    for i in range(count - 1, -1, -1):
        key = (key << _8) | np.uint64(cards[i] + 1)
    return key


@kernel
def fill_keys(hands: U8, count: int, plan: HandPlan, buffers: HandBuffers, keys: U64) -> None:
    """The keys of hands on one street. IN: uint8[hand, card], hole first; OUT: uint64[hand]."""
    for i in range(keys.size):
        for at in range(count):
            buffers.cards[at] = hands[i, at]
        keys[i] = canonical_key(count, plan, buffers)


@kernel
def fill_board_keys(board: U8, holes: U8, plan: HandPlan, buffers: HandBuffers, keys: U64) -> None:
    """The keys of holes on a board. IN: uint8[card], uint8[hole, card]; OUT: uint64[hole], BLOCKED where blocked."""
    cards, hole_cards = buffers.cards, plan.hole_cards
    for hole in range(keys.size):
        blocked = False
        for i in range(hole_cards):
            cards[i] = holes[hole, i]
            for card in board:
                blocked |= card == holes[hole, i]
        for i in range(board.size):
            cards[hole_cards + i] = board[i]
        keys[hole] = BLOCKED if blocked else canonical_key(hole_cards + board.size, plan, buffers)


@inlined
def shuffle_part(random: U64, first: Int, last: Int, deck: U8) -> None:
    """Draw the cards of a deck from one place to another. IN OUT: uint64[1] generator, uint8[card] deck."""
    for at in range(first, last):
        other = np.uint64(at) + (((draw_word(random) >> _32) * np.uint64(deck.size - at)) >> _32)
        card = deck[other]
        deck[other] = deck[at]
        deck[at] = card


@inlined
def take_hand(player: Int, deck: U8, plan: HandPlan, buffers: HandBuffers) -> None:
    """Put a player's hole cards and the board into the buffer."""
    hole_cards = plan.hole_cards
    for at in range(hole_cards):
        buffers.cards[at] = deck[player * hole_cards + at]
    for at in range(buffers.cards.size - hole_cards):
        buffers.cards[hole_cards + at] = deck[2 * hole_cards + at]


@inlined
def compare_hands(deck: U8, ranking: RankTables, plan: HandPlan, buffers: HandBuffers) -> int:
    """1 if player 0 has the better hand, -1 if player 1 has, else 0."""
    take_hand(0, deck, plan, buffers)
    first = rank_of_cards(buffers.cards, buffers.cards.size, ranking)
    take_hand(1, deck, plan, buffers)
    second = rank_of_cards(buffers.cards, buffers.cards.size, ranking)
    return int(first > second) - int(first < second)


@kernel
def deal_keys(
    random: U64, runouts: int, deck: U8, ranking: RankTables, plan: HandPlan, buffers: HandBuffers, keys: U64,
    share: F32,
) -> None:  # fmt: skip
    """Deal at random. IN OUT: uint64[1] generator, uint8[card] deck; OUT: uint64[deal, player, street], float32[deal,
    street] what player 0 wins of a pot that both go all-in for on a street: 1, -1 or 0 on the last, before it a mean.
    """
    hole_cards, streets = plan.hole_cards, plan.seen.size
    cards = 2 * hole_cards + np.int64(plan.seen[streets - 1]) - hole_cards
    for i in range(keys.shape[0]):
        shuffle_part(random, 0, cards, deck)
        for player in range(2):
            for street in range(streets):  # each key reorders the cards: start again
                take_hand(player, deck, plan, buffers)
                keys[i, player, street] = canonical_key(np.int64(plan.seen[street]), plan, buffers)
        share[i, :] = np.float32(compare_hands(deck, ranking, plan, buffers))
        if runouts:
            for street in range(streets - 2, -1, -1):  # backwards: the cards of later streets are drawn again
                total = 0
                for _ in range(runouts):
                    shuffle_part(random, hole_cards + np.int64(plan.seen[street]), cards, deck)
                    total += compare_hands(deck, ranking, plan, buffers)
                share[i, street] = np.float32(total) / np.float32(runouts)


@kernel
def fill_multi_hot(keys: U64, size: int, plan: HandPlan, out: F32) -> None:
    """Keys as network input. IN: uint64[hand], deck size; OUT: float32[hand, deal * card], zero before."""
    for i in range(keys.size):
        key = keys[i]
        at = 0
        while key:
            out[i, np.int64(plan.deal[at]) * size + np.int64(key & np.uint64(255)) - 1] = 1
            key >>= _8
            at += 1


@dataclass(frozen=True, eq=False)
class HandKeys:
    """The keys of a game's hands."""

    rules: GameRules

    @cached_property
    def plan(self) -> HandPlan:
        """For kernels."""
        rules = self.rules
        seen = [rules.hole_cards + rules.board_size(street) for street in range(rules.rounds)]
        by_deal = rules.deals(rules.rounds - 1)
        return HandPlan(
            rules.deck.suits,
            rules.hole_cards,
            np.array(seen, np.uint8),
            np.repeat(np.arange(len(by_deal)), by_deal).astype(np.uint8),
        )

    @property
    def deals(self) -> int:
        """The number of deals that a player sees: the hole, and each street with board cards."""
        return len(self.rules.deals(self.rules.rounds - 1))

    def buffers(self) -> HandBuffers:
        """Memory for one hand."""
        suits = self.rules.deck.suits
        return HandBuffers(
            np.zeros(self.rules.hand_cards, np.uint8),
            np.zeros((suits, self.deals), np.uint64),
            np.zeros(suits, np.uint8),
            np.zeros(suits, np.uint8),
        )

    def of_hands(self, hands: U8, street: int) -> U64:
        """The keys of hands on a street. IN: uint8[hand, card], hole first, then the board as it was dealt."""
        keys = np.empty(len(hands), np.uint64)
        fill_keys(np.ascontiguousarray(hands), int(self.plan.seen[street]), self.plan, self.buffers(), keys)
        return keys

    def of_board(self, board: Sequence[int], holes: U8 | None = None) -> U64:
        """[hole] the keys of holes (all, if none are given: uint8[hole, card]) on a board, BLOCKED where blocked."""
        rules = self.rules
        chosen = hole_card_table(rules.deck, rules.hole_cards) if holes is None else np.ascontiguousarray(holes)
        keys = np.empty(len(chosen), np.uint64)
        fill_board_keys(np.array(board, np.uint8), chosen, self.plan, self.buffers(), keys)
        return keys

    def deal(self, seed: np.random.SeedSequence, count: int, runouts: int = 0) -> tuple[U64, F32]:
        """Random deals: uint64[deal, player, street] keys, and float32[deal, street] what player 0 wins (`deal_keys`).

        Before the last street that is the mean of `runouts` boards; 0 takes the board of the deal.
        """
        rules = self.rules
        random = seed.generate_state(1, np.uint64) | np.uint64(1)
        keys = np.empty((count, PLAYERS, rules.rounds), np.uint64)
        share = np.empty((count, rules.rounds), np.float32)
        deck = np.arange(rules.deck.size, dtype=np.uint8)
        deal_keys(random, runouts, deck, rules.ranker.tables, self.plan, self.buffers(), keys, share)
        return keys, share

    def multi_hot(self, keys: U64) -> F32:
        """[hand, deal * card] network input."""
        size = self.rules.deck.size
        out = np.zeros((len(keys), self.deals * size), np.float32)
        fill_multi_hot(keys, size, self.plan, out)
        return out
