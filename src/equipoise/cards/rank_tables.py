"""Builds the tables of the hand ranker (`hand_ranks.py`) from the rules of poker, in a fraction of a second.

Without its suits, a hand is a multiset of ranks. Each rank has a key such that the sums of all multisets of seven ranks
differ (then those of fewer ranks differ too: add the same missing ranks to both). The sums are sparse, so rows of 512
sums are shifted until no two entries collide (row displacement). The sum of a hand of n cards starts at `start[n]`,
which gives each n its own rows: one kernel ranks hands of any size.

Two rankings share the tables: the standard one for 1 to 7 cards (fewer than five cards make no straight or
flush, as in the ACPC dealer), and the three-card one of Rhode Island hold'em (straight flush, three of a
kind, straight, flush, pair, high card). Each start key also encodes how many suited cards make a flush.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple, TypeAlias

import numpy as np

from equipoise.core.jit import I64, U16, U32, U64, kernel

# Found by a greedy search for the smallest keys (three minutes); the builder checks that they are what we say.
RANK_KEYS = (0, 1, 5, 22, 98, 453, 2031, 8698, 22854, 83661, 262349, 636345, 1479181)
MOST_CARDS = 7
SHIFT = 9
ROW = 1 << SHIFT
FLUSH_SIZE = 1 << 13
SUIT_COUNTERS = 0x1111 << 32  # one counter of four bits a suit, above the rank sum
THREE_CARD = MOST_CARDS + 1  # the place of the three-card ranking's start key in `start`

STANDARD_CLASSES = (
    "high card", "one pair", "two pair", "three of a kind", "straight",
    "flush", "full house", "four of a kind", "straight flush",
)  # fmt: skip
Strength: TypeAlias = tuple[int, ...]  # class, then deciding ranks: compares as the hands do

THREE_CARD_CLASSES = ("high card", "pair", "flush", "straight", "three of a kind", "straight flush")


class BuiltTables(NamedTuple):
    """What `hand_ranks.py` loads: see `RankTables` there for the first three."""

    start: U64  # [MOST_CARDS + 2] start key by number of cards; the last is the three-card ranking's
    row_start: U32  # [row]
    ranks: U16  # [slot]: flushes by rank mask, then the displaced rows
    class_first: U16  # [class] the lowest rank of each class of five and more cards
    three_card_class_first: U16  # [class]


def build() -> BuiltTables:
    """All tables, from the rules."""
    hands = {count: _rank_multisets(count) for count in range(1, MOST_CARDS + 1)}
    masks5 = [mask for mask in range(FLUSH_SIZE) if 5 <= mask.bit_count() <= MOST_CARDS]
    masks3 = [mask for mask in range(FLUSH_SIZE) if mask.bit_count() == 3]
    five, flushes5, classes5 = _ranked(
        [_standard_strength(hand) for hand in hands[5].tolist()],
        [_flush_strength(mask, 5, flush=5, straight_flush=8) for mask in masks5],
    )
    three, flushes3, classes3 = _ranked(
        [_three_card_strength(hand) for hand in hands[3].tolist()],
        [_flush_strength(mask, 3, flush=2, straight_flush=5) for mask in masks3],
    )
    ranked = {n: _ranked([_standard_strength(hand) for hand in hands[n].tolist()], [])[0] for n in range(1, 5)}
    ranked |= {n: _best_five(hands[n], hands[5], five) for n in range(5, MOST_CARDS + 1)}

    start = np.zeros(MOST_CARDS + 2, np.uint64)
    keys = np.array(RANK_KEYS, np.int64)
    rows = 0
    slots, values = [], []
    groups = [(n, hands[n], ranked[n], 5) for n in ranked] + [(THREE_CARD, hands[3], three, 3)]
    for place, group, found, suited in groups:
        sums = keys[group].sum(axis=1)
        if len(np.unique(sums)) != len(sums):
            raise AssertionError("two hands have the same rank key")
        start[place] = (rows << SHIFT) + SUIT_COUNTERS * (8 - suited)
        slots.append(sums + (rows << SHIFT))
        values.append(found)
        rows += (int(sums.max()) >> SHIFT) + 1

    row_start, displaced = _displace_rows(np.concatenate(slots), np.concatenate(values), rows)
    flushes = np.zeros(FLUSH_SIZE, np.uint16)
    flushes[masks5] = flushes5
    flushes[masks3] = flushes3
    return BuiltTables(start, row_start + np.uint32(FLUSH_SIZE), np.append(flushes, displaced), classes5, classes3)


def _rank_multisets(count: int) -> I64:
    """All ways to hold `count` ranks, at most four of each: int64[hand, count], ascending in each row."""
    hands = np.array(list(itertools.combinations_with_replacement(range(13), count)), np.int64)
    if count > 4:
        hands = hands[(hands[:, :-4] != hands[:, 4:]).all(axis=1)]
    return hands


def _ranked(unsuited: list[Strength], flushes: list[Strength]) -> tuple[U16, U16, U16]:
    """Strengths as dense ranks 0, 1, ...; and the lowest rank of each class."""
    order = sorted({*unsuited, *flushes})
    rank = {strength: i for i, strength in enumerate(order)}
    classes = [strength[0] for strength in order]
    return (
        np.array([rank[strength] for strength in unsuited], np.uint16),
        np.array([rank[strength] for strength in flushes], np.uint16),
        np.searchsorted(classes, np.arange(max(classes) + 1)).astype(np.uint16),
    )


def _best_five(hands: I64, fives: I64, ranks: U16) -> U16:
    """The rank of the best five of each hand's cards, suits ignored: a maximum over subsets, as the rules say."""
    place = 13 ** np.arange(5)
    rank_of = np.zeros(13**5, np.uint16)
    rank_of[fives @ place] = ranks
    subsets = itertools.combinations(range(hands.shape[1]), 5)
    best: U16 = np.max([rank_of[hands[:, subset] @ place] for subset in subsets], axis=0)
    return best


def _straight_top(mask: int, length: int) -> int:
    """The highest rank of the best straight among the ranks of `mask`, -1 if there is none; the ace also plays low."""
    run = (1 << length) - 1
    for top in range(12, length - 2, -1):
        if mask >> (top - length + 1) & run == run:
            return top
    wheel = 1 << 12 | run >> 1
    return length - 2 if mask & wheel == wheel else -1


def _by_count(hand: list[int]) -> tuple[list[int], list[int]]:
    """Ranks held, most often first, then highest first; and how often."""
    ranks = sorted(set(hand), key=lambda rank: (-hand.count(rank), -rank))
    return ranks, [hand.count(rank) for rank in ranks]


def _standard_strength(hand: list[int]) -> Strength:
    """Class, then the ranks that decide within it, of at most five cards, suits ignored."""
    ranks, counts = _by_count(hand)
    top = _straight_top(sum(1 << rank for rank in ranks), 5)
    pairs = counts.count(2)
    if counts[0] == 4:
        return (7, *ranks)
    if counts[0] == 3:
        return (6 if pairs else 3, *ranks)
    if top >= 0:
        return (4, top)
    return (pairs, *ranks)


def _three_card_strength(hand: list[int]) -> Strength:
    ranks, counts = _by_count(hand)
    top = _straight_top(sum(1 << rank for rank in ranks), 3)
    if counts[0] == 3:
        return (4, *ranks)
    if top >= 0:
        return (3, top)
    return (counts.count(2), *ranks)


def _flush_strength(mask: int, length: int, *, flush: int, straight_flush: int) -> Strength:
    top = _straight_top(mask, length)
    if top >= 0:
        return (straight_flush, top)
    return (flush, *[r for r in range(12, -1, -1) if mask >> r & 1][:length])


def _displace_rows(slots: I64, values: U16, rows: int) -> tuple[U32, U16]:
    """Slide rows over each other, fullest first, so that slot s is at `row_start[s >> SHIFT] + s % ROW`."""
    order = np.argsort(slots, kind="stable")
    row = (slots[order] >> SHIFT).astype(np.int64)
    column = (slots[order] & (ROW - 1)).astype(np.int64)
    first = np.searchsorted(row, np.arange(rows + 1))
    fullest = np.argsort(first[:-1] - first[1:], kind="stable")
    row_start = np.zeros(rows, np.uint32)
    taken = np.zeros((2 * len(slots) + 8 * ROW) // 64, np.uint64)
    length = _first_fit(fullest, first, column, row_start, taken)
    table = np.zeros(length, np.uint16)
    table[row_start[row] + column] = values[order]
    return row_start, table


@kernel
def _first_fit(fullest: I64, first: I64, column: I64, row_start: U32, taken: U64) -> int:
    """Sixty-four places at a time: a place is free if none of the row's columns is taken there.

    IN: int64[row], int64[row + 1], int64[slot]; IN OUT: uint64[word] a bit for each place; OUT: uint32[row]. Returns
    the table's length.
    """
    length = 0
    every = ~np.uint64(0)
    for row in fullest:
        columns = column[first[row] : first[row + 1]]
        if columns.size == 0:
            continue
        base, blocked = 0, every
        while blocked == every:
            blocked = np.uint64(0)
            for i in range(columns.size):
                word, bit = (base + columns[i]) >> 6, np.uint64((base + columns[i]) & 63)
                blocked |= taken[word] >> bit
                if bit:
                    blocked |= taken[word + 1] << (np.uint64(64) - bit)
                if blocked == every:
                    break
            base += 64
        place = base - 64
        while blocked & np.uint64(1):
            blocked >>= np.uint64(1)
            place += 1
        row_start[row] = place
        for i in range(columns.size):
            taken[(place + columns[i]) >> 6] |= np.uint64(1) << np.uint64((place + columns[i]) & 63)
        length = max(length, place + ROW)
    return length
