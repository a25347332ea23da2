"""Hands as keys: a player's cards up to a street, suits renamed to a canonical form, packed into one word.

Two hands that differ only by a renaming of suits have the same key, so a network cannot tell them apart. That is
required: the exact measure walks one board per suit-isomorphism class. Byte i of a key is card i plus one, hole cards
first; 0 is a card not yet dealt. Cards of one deal are sorted.

The last byte may hold the hand's *strength*: how many of the holes that the board allows it beats now, ties half, from
1 to 255. A network then need not learn the ranking of hands from their cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from equipoise.cards.hand_ranks import BLOCKED as NO_RANK
from equipoise.cards.hand_ranks import Ranker, RankTables, rank_holes_on_board
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.arrays import Int
from equipoise.core.jit import F32, U8, U16, U32, U64, inlined, kernel
from equipoise.games.rules import GameRules
from equipoise.runs.network_size import STRENGTH_INPUTS

BLOCKED = np.uint64(0)  # the key of a hole that the board blocks
KNOTS = STRENGTH_INPUTS  # of the hat functions that a network reads the strength by, evenly spaced
STRENGTHS = 255
STRENGTH_SHIFT = 56
_8, _SHIFT, _CARDS = np.uint64(8), np.uint64(STRENGTH_SHIFT), np.uint64((1 << STRENGTH_SHIFT) - 1)


class HandPlan(NamedTuple):
    """How cards become keys, for kernels."""

    suits: int
    hole_cards: int
    seen: U8  # [street] number of cards that a player has seen
    deal: U8  # [card of a hand] the deal it belongs to: 0 for the hole, then one per street with board cards
    has_strength: int  # 1 if keys have the strength
    starts: U64  # [number of cards in a hand] `RankTables.start`
    ranking: RankTables


class HandBuffers(NamedTuple):
    """The memory for one hand."""

    cards: U8  # [card]
    ranks: U64  # [suit, deal] the ranks of each suit in each deal, as bits
    order: U8  # [suit] suits in canonical order
    name: U8  # [suit] the canonical name of each suit
    live: U8  # [card] the cards off the board
    hole_ranks: U16  # [hole]
    counts: U32  # [rank] holes that are weaker, twice, and as strong
    strengths: U64  # [hole] the strength on the latest board, in its place in a key


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


@inlined
def hole_of(cards: U8, hole_cards: Int) -> int:
    """The number of a hole of one or two cards. IN: uint8[card], of which the first are read."""
    if hole_cards == 1:
        return int(cards[0])
    low, high = np.int64(min(cards[0], cards[1])), np.int64(max(cards[0], cards[1]))
    return int(high * (high - 1) // 2 + low)


@inlined
def fill_strengths(board: U8, plan: HandPlan, buffers: HandBuffers) -> None:
    """The strengths of all holes on a board, in the buffer, if keys have them. IN: uint8[card]."""
    if not plan.has_strength:
        return
    ranking, counts, ranks = plan.ranking, buffers.counts, buffers.hole_ranks
    start = plan.starts[plan.hole_cards + board.size]
    tables = RankTables(start, ranking.card_key, ranking.card_mask, ranking.row_start, ranking.ranks)
    rank_holes_on_board(board, plan.hole_cards, tables, buffers.live, ranks)
    counts[:] = 0
    for rank in ranks:
        if rank != NO_RANK:
            counts[rank] += np.uint32(1)
    below = np.uint32(0)
    for rank in range(counts.size):
        here = counts[rank]
        counts[rank] = np.uint32(2) * below + here
        below += here
    for hole in range(ranks.size):
        if ranks[hole] != NO_RANK:
            share = np.float64(counts[ranks[hole]]) / (2 * np.float64(below))
            buffers.strengths[hole] = np.uint64(1 + np.int64(share * (STRENGTHS - 1e-6))) << _SHIFT


@inlined
def strength_of(cards: U8, plan: HandPlan, buffers: HandBuffers) -> np.uint64:
    """The strength of a hole on the latest board, in its place in a key. IN: uint8[card], the hole first."""
    return np.uint64(buffers.strengths[hole_of(cards, plan.hole_cards)] if plan.has_strength else 0)


@kernel
def fill_keys(hands: U8, count: int, plan: HandPlan, buffers: HandBuffers, keys: U64) -> None:
    """The keys of hands on one street. IN: uint8[hand, card], hole first; OUT: uint64[hand]."""
    for i in range(keys.size):
        for at in range(count):
            buffers.cards[at] = hands[i, at]
        fill_strengths(hands[i, plan.hole_cards : count], plan, buffers)
        strength = strength_of(buffers.cards, plan, buffers)
        keys[i] = canonical_key(count, plan, buffers) | strength


@kernel
def fill_board_keys(board: U8, holes: U8, plan: HandPlan, buffers: HandBuffers, keys: U64) -> None:
    """The keys of holes on a board. IN: uint8[card], uint8[hole, card]; OUT: uint64[hole], BLOCKED where blocked."""
    cards, hole_cards = buffers.cards, plan.hole_cards
    fill_strengths(board, plan, buffers)
    for hole in range(keys.size):
        blocked = False
        for i in range(hole_cards):
            cards[i] = holes[hole, i]
            for card in board:
                blocked |= card == holes[hole, i]
        for i in range(board.size):
            cards[hole_cards + i] = board[i]
        strength = strength_of(cards, plan, buffers)
        keys[hole] = BLOCKED if blocked else canonical_key(hole_cards + board.size, plan, buffers) | strength


@kernel
def fill_multi_hot(keys: U64, size: int, plan: HandPlan, out: F32) -> None:
    """Keys as network input. IN: uint64[hand], deck size; OUT: float32[hand, input], zero before."""
    for i in range(keys.size):
        key = keys[i] & _CARDS
        strength = np.int64(keys[i] >> _SHIFT)
        if strength:
            place = np.float32(strength - 1) * np.float32((KNOTS - 1) / (STRENGTHS - 1))
            for knot in range(KNOTS):
                out[i, out.shape[1] - KNOTS + knot] = max(np.float32(0), np.float32(1) - abs(place - np.float32(knot)))
        at = 0
        while key:
            out[i, np.int64(plan.deal[at]) * size + np.int64(key & np.uint64(255)) - 1] = 1
            key >>= _8
            at += 1


@dataclass(frozen=True, eq=False)
class HandKeys:
    """The keys of a game's hands."""

    rules: GameRules
    strength: bool = False

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
            int(self.strength),
            np.array([0, *self._starts], np.uint64),
            rules.ranker.tables,
        )

    @cached_property
    def _starts(self) -> list[np.uint64]:
        """`RankTables.start` of hands of one card and more."""
        if not self.strength:
            return []
        rules = self.rules
        return [Ranker(rules.deck, cards).tables.start for cards in range(1, rules.hand_cards + 1)]

    @property
    def inputs(self) -> int:
        """The length of a hand as network input: its cards by deal, and its strength."""
        return self.deals * self.rules.deck.size + (KNOTS if self.strength else 0)

    @property
    def deals(self) -> int:
        """The number of deals that a player sees: the hole, and each street with board cards."""
        return len(self.rules.deals(self.rules.rounds - 1))

    def buffers(self) -> HandBuffers:
        """Memory for one hand."""
        suits, holes = self.rules.deck.suits, self.rules.deck.holes(self.rules.hole_cards)
        return HandBuffers(
            np.zeros(self.rules.hand_cards, np.uint8),
            np.zeros((suits, self.deals), np.uint64),
            np.zeros(suits, np.uint8),
            np.zeros(suits, np.uint8),
            np.zeros(self.rules.deck.size, np.uint8),
            np.zeros(holes, np.uint16),
            np.zeros(int(self.rules.ranker.tables.ranks.max()) + 1, np.uint32),
            np.zeros(holes, np.uint64),
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

    def multi_hot(self, keys: U64) -> F32:
        """[hand, input] network input."""
        out = np.zeros((len(keys), self.inputs), np.float32)
        fill_multi_hot(keys, self.rules.deck.size, self.plan, out)
        return out
