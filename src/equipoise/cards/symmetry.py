"""Renamings of the suits that change nothing, and deals that differ only by such a renaming.

If some renamings of the suits keep the ranges and the board, then deals that they map to each other are evaluated once
and counted as often as they occur.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import cache
from math import comb
from typing import TypeAlias

import numpy as np

from equipoise.cards.deck import Deck, hole_cards, hole_index
from equipoise.core.jit import F64, I64, U8, U16, U64, inlined, kernel

Renaming: TypeAlias = tuple[int, ...]  # [suit] its new name

_0, _16, _LANE = np.uint64(0), np.uint64(16), np.uint64(0x1FFF)


@cache
def hole_card_table(deck: Deck, count: int) -> U8:
    """[hole, card] the cards of each hole."""
    return np.array([hole_cards(hole, count) for hole in range(deck.holes(count))], np.uint8)


def hole_indices(deck: Deck, holes: U8) -> I64:
    """[hole] their indices. IN: uint8[hole, card]."""
    terms = np.array([[comb(card, i + 1) for i in range(holes.shape[1])] for card in range(deck.size)], np.int64)
    found: I64 = terms[np.sort(holes, axis=1), np.arange(holes.shape[1])].sum(axis=1)
    return found


@cache
def renamed_cards(deck: Deck, renaming: Renaming) -> tuple[int, ...]:
    """[card] the card it becomes."""
    return tuple(deck.card(deck.rank(card), renaming[deck.suit(card)]) for card in range(deck.size))


@cache
def renamed_holes(deck: Deck, count: int, renaming: Renaming) -> U16:
    """[hole] the hole it becomes: uint16."""
    cards = renamed_cards(deck, renaming)
    goes_to = np.empty(deck.holes(count), np.uint16)
    for hole in itertools.combinations(range(deck.size), count):
        goes_to[hole_index(hole)] = hole_index(cards[card] for card in hole)
    return goes_to


def renamings_that_keep(
    deck: Deck, count: int, weights: Sequence[F64], board: Iterable[int] = ()
) -> tuple[Renaming, ...]:
    """The renamings that keep all weights (float64[hole] each) and the board."""
    kept = []
    cards = set(board)
    for renaming in itertools.permutations(range(deck.suits)):
        if {renamed_cards(deck, renaming)[card] for card in cards} == cards:
            goes_to = renamed_holes(deck, count, renaming)
            if all(np.array_equal(weight[goes_to], weight) for weight in weights):
                kept.append(renaming)
    return tuple(kept)


def renamings_that_fix(deck: Deck, renamings: Iterable[Renaming], cards: Iterable[int]) -> tuple[Renaming, ...]:
    """The renamings that keep a set of cards."""
    wanted = set(cards)
    return tuple(r for r in renamings if {renamed_cards(deck, r)[card] for card in wanted} == wanted)


def deal_classes(deck: Deck, dead: Iterable[int], count: int, renamings: Sequence[Renaming]) -> tuple[U8, U16]:
    """Sets of `count` live cards, one of each class under the renamings: uint8[class, card]; and the class sizes."""
    gone = set(dead)
    live = np.array([card for card in range(deck.size) if card not in gone], np.uint8)
    sets = np.empty((comb(len(live), count), count), np.uint8)
    sizes = np.empty(len(sets), np.uint16)
    masks = np.array([1 << 16 * deck.suit(card) + deck.rank(card) for card in range(deck.size)], np.uint64)
    suits = np.array(renamings, np.uint64).reshape(len(renamings), deck.suits)
    found = list_classes(live, suits * np.uint64(16), masks, np.arange(count, dtype=np.uint8), sets, sizes)
    return sets[:found], sizes[:found]


@kernel
def list_classes(live: U8, lanes: U64, card_mask: U64, place: U8, sets: U8, sizes: U16) -> int:
    """Sets of live cards, one of each class; returns their number.

    IN: uint8[live card], uint64[renaming, suit], uint64[card]; scratch: uint8[card of a set], 0, 1, 2, ...;
    OUT: uint8[set, card], uint16[set].
    """
    count = place.size
    found = 0
    for _ in range(sets.shape[0]):
        mask = _0
        for i in range(count):
            card = live[place[i]]
            sets[found, i] = card
            mask |= card_mask[card]
        sizes[found] = _class_size(mask, lanes)
        if sizes[found]:
            found += 1
        for i in range(count):  # the next set, colexicographically
            if i == count - 1 or place[i] + 1 < place[i + 1]:
                place[i] += np.uint8(1)
                for j in range(i):
                    place[j] = np.uint8(j)
                break
    return found


@inlined
def _class_size(mask: np.uint64, lanes: U64) -> np.uint16:
    """The size of a set's class if its mask is the smallest of the class; else 0."""
    same = 0
    for renaming in range(lanes.shape[0]):
        renamed = _0
        for suit in range(lanes.shape[1]):
            renamed |= ((mask >> (_16 * np.uint64(suit))) & _LANE) << lanes[renaming, suit]
        if renamed < mask:
            return np.uint16(0)
        same += renamed == mask
    return np.uint16(lanes.shape[0] // same)
