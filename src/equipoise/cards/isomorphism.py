"""Suit isomorphism: a dense index of hands up to a renaming of the suits, and its inverse.

The idea is Waugh's (A Fast and Optimal Hand Isomorphism Algorithm, 2013); the layout is our own. Cards are dealt in
rounds; the order of rounds matters, the order of cards within a round does not. The ranks that a suit holds in each
round give its number: mixed-radix digits of colexicographic subset ranks, without ranks held in earlier rounds.
Suits with equally many cards in every round are interchangeable, so the numbers of such a group form a multiset,
again ranked colexicographically. The *shape* (the number of cards of each suit in each round, suits sorted) and the
number of each group together give the hand's index: a bijection onto 0 .. size - 1.

`HandIndexer((2, 3, 1, 1))` distinguishes flop, turn and river; `HandIndexer((2, 5))` does not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from math import comb, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from equipoise.cards.deck import FULL_DECK, Deck
from equipoise.core.errors import InputError
from equipoise.core.jit import I64, U8, U16, U32, U64, inlined, kernel, popcount

MOST_IN_ROUND = 7  # the cards of a suit in a round are counted in three bits
MOST_CASES = 1 << 20
MOST_IN_GROUP = 1 << 22  # numbers of a suit that has an interchangeable one: what `multichoose` covers
Shape: TypeAlias = tuple[tuple[int, ...], ...]  # [suit][round] how many cards, suits with more cards first

SUITS = 4  # lanes of a word; a deck with fewer suits leaves lanes empty

_0, _1 = np.uint64(0), np.uint64(1)
_LANE = np.uint64(0x1FFF)
_7, _127 = np.uint64(7), np.uint64(127)


class IndexTables(NamedTuple):
    """The tables that a kernel needs to index hands. A *case* is the suit counts of all rounds, suits unsorted.

    A *word* has a lane of sixteen bits per suit: thirteen for the ranks held, three for their number. The word of
    a round is the sum of its cards' words.
    """

    round_end: U8  # [round] number of cards up to the end of this round
    card_word: U64  # [card]
    case_part: U32  # [round, packed suit counts] the case is the sum of these
    case_shape: U16  # [case]
    case_lane: U8  # [case, position] where the lanes of the suits start, suits sorted as in the shape
    weight: U32  # [shape, round, position] the radix of that round's subset rank in the suit's number
    below: U8  # [shape, position] 1 + how many interchangeable suits follow
    group_weight: U64  # [shape, position] the radix of the number of the position's group in the index
    group_size: U64  # [shape, position] the size of that group's range of numbers
    suit_numbers: U32  # [shape, position] the size of a suit's range of numbers
    first: U64  # [shape + 1] the first index of each shape
    counts: U8  # [shape, position, round]
    subsets: U32  # [shape, position, round] the number of subset ranks
    place: U8  # [shape, position, round] the place of the cards of that suit and round in the canonical hand
    multichoose: U64  # [k, n] multisets of k of n things, k from 2
    colex: U16  # [mask] the rank of a set of ranks among all sets of its size
    subset: U16  # [k, colex rank]: the inverse
    gather: U8  # [holes, mask] seven bits of a mask without those at the holes
    scatter: U8  # [holes, mask] the inverse
    suits: np.int64


@inlined
def hand_index(cards: U8, tables: IndexTables) -> np.uint64:
    """The index of one hand. IN: uint8[card], rounds in order."""
    earlier = _0
    for at in range(tables.round_end[0]):
        earlier += tables.card_word[cards[at]]
    case = np.uint64(tables.case_part[0, _packed_counts(earlier)])
    at = tables.round_end[0]
    for round_ in range(1, tables.round_end.size):
        word = _0
        while at < tables.round_end[round_]:
            word += tables.card_word[cards[at]]
            at += 1
        case += np.uint64(tables.case_part[round_, _packed_counts(word)])
    shape = np.uint64(tables.case_shape[case])
    lanes = tables.case_lane[case]
    lane0, lane1, lane2, lane3 = np.uint64(lanes[0]), np.uint64(lanes[1]), np.uint64(lanes[2]), np.uint64(lanes[3])

    # In the first round no ranks are held yet, and a subset rank counts once.
    gather, colex = tables.gather, tables.colex
    a = np.uint64(colex[(earlier >> lane0) & _LANE])
    b = np.uint64(colex[(earlier >> lane1) & _LANE])
    c = np.uint64(colex[(earlier >> lane2) & _LANE])
    d = np.uint64(colex[(earlier >> lane3) & _LANE])
    at = tables.round_end[0]
    for round_ in range(1, tables.round_end.size):
        word = _0
        while at < tables.round_end[round_]:
            word += tables.card_word[cards[at]]
            at += 1
        weight = tables.weight[shape, round_]
        a += _subset_rank(word >> lane0, earlier >> lane0, gather, colex) * np.uint64(weight[0])
        b += _subset_rank(word >> lane1, earlier >> lane1, gather, colex) * np.uint64(weight[1])
        c += _subset_rank(word >> lane2, earlier >> lane2, gather, colex) * np.uint64(weight[2])
        d += _subset_rank(word >> lane3, earlier >> lane3, gather, colex) * np.uint64(weight[3])
        earlier |= word

    # Within a group, numbers descend: a sorting network whose comparators act on neighbours of one group only.
    below = tables.below[shape]
    ab, bc, cd = below[0] > 1, below[1] > 1, below[2] > 1
    a, b = _descending(a, b, ab)
    c, d = _descending(c, d, cd)
    b, c = _descending(b, c, bc)
    a, b = _descending(a, b, ab)
    c, d = _descending(c, d, cd)
    b, c = _descending(b, c, bc)
    group_weight = tables.group_weight[shape]
    index: np.uint64 = (
        tables.first[shape]
        + _multisets_below(a, below[0], tables.multichoose) * group_weight[0]
        + _multisets_below(b, below[1], tables.multichoose) * group_weight[1]
        + _multisets_below(c, below[2], tables.multichoose) * group_weight[2]
        + _multisets_below(d, below[3], tables.multichoose) * group_weight[3]
    )
    return index


@inlined
def _packed_counts(word: np.uint64) -> np.uint64:
    """The counts of the first three suits in nine bits (the fourth follows from the cards of the round)."""
    return (
        ((word >> np.uint64(13)) & np.uint64(7))
        | ((word >> np.uint64(26)) & np.uint64(7 << 3))
        | ((word >> np.uint64(39)) & np.uint64(7 << 6))
    )


@inlined
def _subset_rank(held: np.uint64, earlier: np.uint64, gather: U8, colex: U16) -> np.uint64:
    """The colexicographic rank of the held ranks among those not held earlier (the low thirteen bits of each)."""
    held &= _LANE
    earlier &= _LANE
    low = np.uint64(gather[earlier & _127, held & _127])
    high = np.uint64(gather[earlier >> _7, held >> _7])
    return np.uint64(colex[low | (high << (_7 - popcount(earlier & _127)))])


@inlined
def _descending(x: np.uint64, y: np.uint64, swap: bool) -> tuple[np.uint64, np.uint64]:
    smaller = swap and x < y
    return (y if smaller else x), (x if smaller else y)


@inlined
def _multisets_below(number: np.uint64, size: np.uint8, multichoose: U64) -> np.uint64:
    """The number of multisets of `size` numbers all below `number`: the colexicographic term of a multiset."""
    return multichoose[size - 2, number] if size > 1 else number


@inlined
def hand_of_index(index: np.uint64, shape: int, tables: IndexTables, cards: U8) -> int:
    """The canonical hand of an index, suits in shape order; `shape` is a guess, the true shape is returned.

    OUT: uint8[card], rounds in order, in each by suit and then rank.
    """
    if index < tables.first[shape] or index >= tables.first[shape + 1]:
        shape = int(np.searchsorted(tables.first, index, side="right")) - 1
    rest = index - tables.first[shape]
    number = _0
    for position in range(tables.suits):
        size = tables.below[shape, position]
        if position == 0 or tables.below[shape, position - 1] == 1:  # a group starts
            number = rest % tables.group_size[shape, position]
            rest //= tables.group_size[shape, position]
        largest = number
        if size == 2:  # n * (n + 1) / 2 <= number: exact in float64, as n is at most MOST_IN_GROUP
            largest = np.uint64((math.sqrt(np.float64(number) * 8.0 + 1.0) - 1.0) * 0.5)
            number -= tables.multichoose[0, largest]
        elif size > 2:
            row = tables.multichoose[size - 2]
            largest = np.uint64(np.searchsorted(row[: tables.suit_numbers[shape, position]], number, side="right") - 1)
            number -= row[largest]
        if largest or tables.counts[shape, position].any():
            _deal_suit(largest, shape, position, tables, cards)
    return shape


@inlined
def _deal_suit(number: np.uint64, shape: int, suit: int, tables: IndexTables, cards: U8) -> None:
    """Put the cards of one suit, given by its number, into their places."""
    earlier = _0
    for round_ in range(tables.round_end.size):
        count = tables.counts[shape, suit, round_]
        if count == 0:
            continue
        subsets = np.uint64(tables.subsets[shape, suit, round_])
        free = tables.subset[count, number % subsets]
        number //= subsets
        low_holes = earlier & _127
        low_width = _7 - popcount(low_holes)
        low = np.uint64(tables.scatter[low_holes, np.uint64(free) & ((_1 << low_width) - _1)])
        high = np.uint64(tables.scatter[earlier >> _7, np.uint64(free) >> low_width])
        held = low | (high << _7)
        earlier |= held
        place = tables.place[shape, suit, round_]
        while held:
            cards[place] = np.uint8(popcount((held & (~held + _1)) - _1) * np.uint64(tables.suits) + np.uint64(suit))
            held &= held - _1
            place += 1


@kernel
def index_hands(cards: U8, tables: IndexTables, indices: U64) -> None:
    """IN: uint8[hand, card]; OUT: uint64[hand]."""
    for hand in range(cards.shape[0]):
        indices[hand] = hand_index(cards[hand], tables)


@kernel
def hands_of_indices(indices: U64, tables: IndexTables, cards: U8) -> None:
    """IN: uint64[hand]; OUT: uint8[hand, card]."""
    shape = 0
    for hand in range(indices.size):
        shape = hand_of_index(indices[hand], shape, tables, cards[hand])


class HandIndexer:
    """The index of hands dealt in `rounds`, e.g. (2, 3, 1, 1): see the module docstring."""

    def __init__(self, rounds: Sequence[int], deck: Deck = FULL_DECK) -> None:
        self.rounds = tuple(rounds)
        self.deck = deck
        if not self.rounds or not all(1 <= count <= MOST_IN_ROUND for count in self.rounds):
            raise InputError(f"rounds {self.rounds}", remedy=f"give 1 to {MOST_IN_ROUND} cards a round")
        if sum(self.rounds) > deck.size:
            raise InputError(f"rounds {self.rounds} deal more than {deck.size} cards", remedy="deal fewer")
        if prod(comb(count + deck.suits - 1, count) for count in self.rounds) > MOST_CASES:
            raise InputError(f"rounds {self.rounds} have too many suit patterns", remedy="deal fewer rounds")

    @property
    def size(self) -> int:
        """The number of hands up to a renaming of the suits."""
        return int(self.tables.first[-1])

    def index(self, cards: Iterable[int]) -> int:
        """The index of one hand."""
        hand = list(cards)
        self.deck.check_cards(hand)
        return int(self.indices(np.array([hand], np.uint8))[0])

    def hand(self, index: int) -> tuple[int, ...]:
        """The canonical hand of an index."""
        if not 0 <= index < self.size:
            raise InputError(f"hand index {index}", remedy=f"use 0 to {self.size - 1}")
        return tuple(self.hands(np.array([index], np.uint64))[0].tolist())

    def indices(self, hands: U8) -> U64:
        """uint8[hand, card] -> uint64[hand]."""
        if hands.ndim != 2 or hands.shape[1] != sum(self.rounds):
            raise InputError(f"hands of shape {hands.shape}", remedy=f"give one row of {sum(self.rounds)} cards a hand")
        if hands.size:
            self.deck.check_numbers((int(hands.min()), int(hands.max())))
        indices = np.empty(len(hands), np.uint64)
        index_hands(np.ascontiguousarray(hands, np.uint8), self.tables, indices)
        return indices

    def hands(self, indices: U64 | I64) -> U8:
        """uint64[hand] -> uint8[hand, card]."""
        if indices.size and not 0 <= indices.min() <= indices.max() < self.size:
            raise InputError(f"hand indices {indices.min()} to {indices.max()}", remedy=f"use 0 to {self.size - 1}")
        cards = np.empty((len(indices), sum(self.rounds)), np.uint8)
        hands_of_indices(np.ascontiguousarray(indices, np.uint64), self.tables, cards)
        return cards

    @cached_property
    def tables(self) -> IndexTables:
        """The arrays for kernels."""
        return _build_tables(self.rounds, self.deck)


def _build_tables(rounds: tuple[int, ...], deck: Deck) -> IndexTables:
    case_part = np.zeros((len(rounds), 1 << 9), np.uint32)
    splits = [list(_suit_splits(count, deck.suits)) for count in rounds]
    stride = prod(len(split) for split in splits)
    for round_, split in enumerate(splits):
        stride //= len(split)
        for i, counts in enumerate(split):
            case_part[round_, sum(n << 3 * s for s, n in enumerate(counts[:3]))] = i * stride

    empty = ((0,) * len(rounds),) * (SUITS - deck.suits)
    cases = [(*zip(*case, strict=True), *empty) for case in itertools.product(*splits)]  # [case][suit][round]
    possible = [max(map(sum, case)) <= deck.ranks for case in cases]
    shapes = sorted({tuple(sorted(case, reverse=True)) for case in itertools.compress(cases, possible)}, reverse=True)
    number_of = {shape: i for i, shape in enumerate(shapes)}
    return IndexTables(
        round_end=np.cumsum(rounds).astype(np.uint8),
        card_word=np.array([(1 << deck.rank(c) | 1 << 13) << 16 * deck.suit(c) for c in range(deck.size)], np.uint64),
        case_part=case_part,
        case_shape=np.array([number_of.get(tuple(sorted(case, reverse=True)), 0) for case in cases], np.uint16),
        case_lane=np.array(
            [[16 * s for s in sorted(range(SUITS), key=case.__getitem__, reverse=True)] for case in cases], np.uint8
        ),
        **_shape_tables(shapes, rounds, deck.ranks),
        **_subset_tables(),
        suits=np.int64(deck.suits),
    )


def _shape_tables(shapes: list[Shape], rounds: tuple[int, ...], ranks: int) -> dict[str, Any]:
    """What depends on the shape alone: weights, groups of interchangeable suits, and where its indices start."""
    size = (len(shapes), SUITS)
    below = np.ones(size, np.uint8)
    group_weight = np.ones(size, np.uint64)
    group_size = np.ones(size, np.uint64)
    weights = np.array([[_round_weights(counts, ranks) for counts in shape] for shape in shapes])
    suit_numbers = weights[:, :, -1]
    first = [0]
    for i, shape in enumerate(shapes):
        hands = 1
        for position in range(SUITS):
            group = shape.count(shape[position])
            start = shape.index(shape[position])
            below[i, position] = group - (position - start)
            group_weight[i, position] = group_weight[i, start] if position > start else hands
            group_size[i, position] = comb(int(suit_numbers[i, position]) + group - 1, group)
            hands *= int(group_size[i, position]) if position == start else 1
        first.append(first[-1] + hands)
    counts = np.array(shapes, np.uint8)
    before = np.cumsum(counts, axis=1, dtype=np.uint8) - counts
    most = {k: int(suit_numbers[below == k].max(initial=1)) for k in (2, 3, 4)}
    if suit_numbers.max() >= 1 << 32 or max(most.values()) > MOST_IN_GROUP:
        raise InputError(f"rounds {rounds} have too many hands of one suit", remedy="deal fewer rounds")
    multichoose = np.zeros((3, max(most.values())), np.uint64)
    for k in most:
        multichoose[k - 2, : most[k]] = [comb(n + k - 1, k) for n in range(most[k])]
    return {
        "weight": np.ascontiguousarray(weights[:, :, :-1].transpose(0, 2, 1), np.uint32),
        "below": below,
        "group_weight": group_weight,
        "group_size": group_size,
        "suit_numbers": suit_numbers.astype(np.uint32),
        "first": np.array(first, np.uint64),
        "counts": counts,
        "subsets": (weights[:, :, 1:] // weights[:, :, :-1]).astype(np.uint32),
        "place": before + np.cumsum((0, *rounds[:-1])).astype(np.uint8),
        "multichoose": multichoose,
    }


def _suit_splits(cards: int, suits: int) -> Iterator[tuple[int, ...]]:
    """All ways to deal `cards` cards over the suits, by count."""
    if suits == 1:
        yield (cards,)
        return
    for count in range(cards + 1):
        for rest in _suit_splits(cards - count, suits - 1):
            yield (count, *rest)


def _round_weights(counts: Sequence[int], ranks: int) -> list[int]:
    """What a subset rank counts in the suit's number, by round; and, last, how many numbers there are."""
    weights = [1]
    held = 0
    for count in counts:
        weights.append(weights[-1] * comb(ranks - held, count))
        held += count
    return weights


@cache
def _subset_tables() -> dict[str, Any]:
    """Sets of ranks and their colexicographic ranks; and what closes and opens holes in seven bits."""
    colex = np.zeros(1 << 13, np.uint16)
    subset = np.zeros((MOST_IN_ROUND + 1, comb(13, 6)), np.uint16)
    for mask in range(1 << 13):
        held = [rank for rank in range(13) if mask >> rank & 1]
        colex[mask] = sum(comb(rank, i + 1) for i, rank in enumerate(held))
        if len(held) <= MOST_IN_ROUND:
            subset[len(held), colex[mask]] = mask
    gather = np.zeros((128, 128), np.uint8)
    scatter = np.zeros((128, 128), np.uint8)
    for holes in range(128):
        free = [bit for bit in range(7) if not holes >> bit & 1]
        for mask in range(128):
            gather[holes, mask] = sum((mask >> bit & 1) << i for i, bit in enumerate(free))
            scatter[holes, mask] = sum((mask >> i & 1) << bit for i, bit in enumerate(free))
    return {"colex": colex, "subset": subset, "gather": gather, "scatter": scatter}
