"""Hands as keys: a player's cards up to a street, suits renamed to a canonical form, packed into one word.

Two hands that differ only by a renaming of suits have the same key, so a network cannot tell them apart. That is
required: the exact measure walks one board per suit-isomorphism class. Byte i of a key is card i plus one, hole cards
first; 0 is a card not yet dealt. Cards of one deal are sorted.

The last byte may hold the hand's *strength*: its percentile by E[HS^2] among all hands of its street, from 1 to 255, as
percentile buckets have it. Where a street has few enough hands, as the first of hold'em with 169, each has a strength
of its own. A network then need not learn from cards which hands are strong or may become so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap, StreetBuckets
from equipoise.abstraction.maps.build import build_map
from equipoise.abstraction.maps.card_recipe import CardRecipe, StreetRecipe
from equipoise.cards.symmetry import hole_card_table, hole_indices
from equipoise.core.arrays import Int
from equipoise.core.jit import F32, I32, I64, U8, U64, inlined, kernel
from equipoise.core.progress import Progress
from equipoise.games.rules import GameRules
from equipoise.runs.network_size import STRENGTH_INPUTS, STRENGTHS

BLOCKED = np.uint64(0)  # the key of a hole that the board blocks
KNOTS = STRENGTH_INPUTS  # of the hat functions that a network reads the strength by, evenly spaced
STRENGTH_SHIFT = 56
_CHECKED = 1 << 16  # keys at once
_8, _SHIFT, _CARDS = np.uint64(8), np.uint64(STRENGTH_SHIFT), np.uint64((1 << STRENGTH_SHIFT) - 1)


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


@kernel
def fill_cards(keys: U64, cards: U8) -> None:
    """The cards of keys of the last street. IN: uint64[hand]; OUT: uint8[hand, card], hole first."""
    for i in range(keys.size):
        key = keys[i]
        for at in range(cards.shape[1]):
            cards[i, at] = np.uint8(key & np.uint64(255)) - np.uint8(1)
            key >>= _8


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


def strength_map(rules: GameRules, progress: Progress | None = None) -> BucketMap:
    """Percentile buckets of every street, from the cache or built; for hold'em that takes a minute or two, once.

    Where there are few enough hands, each has a bucket of its own.
    """
    street = StreetRecipe(method="percentile", buckets=STRENGTHS, nested=False)
    found = build_map(rules, CardRecipe(streets=(street,) * rules.rounds), progress)
    return replace(found, streets=tuple(told_apart(street) for street in found.streets))


def told_apart(street: StreetBuckets) -> StreetBuckets:
    """The buckets of a street; of at most STRENGTHS hands, in the same order, each has its own.

    Hand r of n is in bucket r STRENGTHS / n, rounded up: cut into n or more parts, these buckets stay apart.
    """
    if len(street.cell) > STRENGTHS:
        return street
    own = np.empty_like(street.cell)
    own[np.argsort(street.cell, kind="stable")] = -(-np.arange(len(own)) * STRENGTHS // len(own))
    return replace(street, cell=own)


def in_key(percentile: I32 | I64) -> U64:
    """The strength of a percentile in its place in a key; nothing for -1, a hole that the board blocks."""
    return (percentile + 1).astype(np.uint64) << _SHIFT


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
        )

    @cached_property
    def percentiles(self) -> BucketMap:
        """The strength of every hand, less one."""
        return strength_map(self.rules)

    @property
    def inputs(self) -> int:
        """The length of a hand as network input: its cards by deal, and its strength."""
        return self.deals * self.rules.deck.size + (KNOTS if self.strength else 0)

    @property
    def deals(self) -> int:
        """The number of deals that a player sees: the hole, and each street with board cards."""
        return len(self.rules.deals(self.rules.rounds - 1))

    def are_keys(self, keys: U64, streets: I32) -> bool:
        """Are these keys of hands, each on its street? For keys from a file: kernels take their cards as indices."""
        strengths = 255 if self.strength else 0
        for start in range(0, len(keys), _CHECKED):
            block = keys[start : start + _CHECKED, np.newaxis]
            bytes_ = (block >> (np.arange(8, dtype=np.uint64) * _8)).astype(np.uint8)
            seen = self.plan.seen[streets[start : start + _CHECKED], np.newaxis]
            dealt = np.arange(STRENGTH_SHIFT // 8) < seen
            cards, most = bytes_[:, :-1], np.where(dealt, self.rules.deck.size, 0)
            if ((cards < dealt) | (cards > most)).any() or (bytes_[:, -1] > strengths).any():
                return False
        return True

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
        count = int(self.plan.seen[street])
        fill_keys(np.ascontiguousarray(hands), count, self.plan, self.buffers(), keys)
        if self.strength:
            keys |= in_key(self.percentiles.buckets_of_deals(hands[:, :count])[:, street])
        return keys

    def of_board(self, board: Sequence[int], holes: U8 | None = None) -> U64:
        """[hole] the keys of holes (all, if none are given: uint8[hole, card]) on a board, BLOCKED where blocked."""
        rules = self.rules
        chosen = hole_card_table(rules.deck, rules.hole_cards) if holes is None else np.ascontiguousarray(holes)
        keys = np.empty(len(chosen), np.uint64)
        fill_board_keys(np.array(board, np.uint8), chosen, self.plan, self.buffers(), keys)
        if self.strength:
            street = self.plan.seen.tolist().index(rules.hole_cards + len(board))
            keys |= in_key(self.percentiles.buckets_of_board(street, board)[hole_indices(rules.deck, chosen)])
        return keys

    def add_strengths(self, keys: U64) -> None:
        """Put the strength into the keys of deals, if keys have it. IN OUT: uint64[..., street], all streets."""
        if self.strength and keys.size:
            cards = np.empty((keys[..., -1].size, self.rules.hand_cards), np.uint8)
            fill_cards(keys[..., -1].ravel(), cards)
            keys |= in_key(self.percentiles.buckets_of_deals(cards)).reshape(keys.shape)

    def multi_hot(self, keys: U64) -> F32:
        """[hand, input] network input."""
        out = np.zeros((len(keys), self.inputs), np.float32)
        fill_multi_hot(keys, self.rules.deck.size, self.plan, out)
        return out
