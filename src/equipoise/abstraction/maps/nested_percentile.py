"""Percentile buckets nested within each bucket of the previous street: perfect recall (as in the CFR-BR paper).

A hand's bucket then depends on the order of the deals, so a street's table is on the ordered index, in hold'em
55,190,538 turn hands. A table of ordered river hands would be too large (2,428,287,420): there a second table gives the
bucket for the turn bucket and the river strength (one of 1,981). The weight of each such pair is counted over all
deals, so percentiles are exact on the river too.
"""

from __future__ import annotations

import itertools
from math import comb
from typing import Any, NamedTuple

import numpy as np

from equipoise.abstraction.features import strength
from equipoise.abstraction.features.card_features import StreetFeatures, histograms, strengths
from equipoise.abstraction.features.hand_space import HandBlock, HandSpace, HandTables, walk_hands
from equipoise.abstraction.maps.bucket_map import BEFORE, BucketMap, BucketTables, StreetBuckets, fill_board
from equipoise.abstraction.maps.card_recipe import StreetRecipe
from equipoise.abstraction.maps.percentile import percentile_buckets, percentile_parts, percentile_two
from equipoise.cards.isomorphism import HandIndexer, IndexTables, hand_index
from equipoise.core.errors import InputError
from equipoise.core.jit import F64, I32, U8, kernel
from equipoise.core.progress import Fraction
from equipoise.games.rules import GameRules

MOST_ORDERED = 60_000_000  # hands of a table
AT_ONCE = 1 << 20


def percentile_street(
    rules: GameRules, street: int, recipe: StreetRecipe, before: BucketMap | None, progress: Fraction | None = None
) -> StreetBuckets:
    """The percentile buckets of a street; `before` is a map whose earlier streets are built."""
    assert recipe.buckets is not None
    parts = recipe.buckets * (recipe.second or 1)
    nested = recipe.nested and street > 0
    deals = rules.deals(street) if nested else rules.unordered_deals(street)
    parents = before.streets[street - 1].buckets if nested and before else 1
    buckets = parents * parts
    if buckets > 1 << 24:
        raise InputError(f"{buckets:,} buckets in all", remedy="split into fewer parts on some street")
    if nested and HandIndexer(deals, rules.deck).size > MOST_ORDERED:
        assert before is not None
        return _by_strength_within(rules, street, recipe, before, progress)
    space, keys = HandSpace(rules, street), street_keys(rules, street, recipe, progress)
    parent: Any = None
    if nested and before is not None:
        hand, weights, parent = ordered_hands(space, deals, before)
        keys = [key[hand] for key in keys]
    else:
        weights = space.weights
    if len(keys) == 2:
        assert recipe.second is not None
        bucket = percentile_two(keys[0], keys[1], weights, recipe.buckets, recipe.second, parent)
    else:
        bucket = percentile_buckets(keys[0], weights, recipe.buckets, parent)
    cell = bucket.astype(np.uint16 if buckets <= 1 << 16 else np.uint32)
    return StreetBuckets(deals, buckets, cell, method="percentile")


def street_keys(rules: GameRules, street: int, recipe: StreetRecipe, progress: Fraction | None) -> list[Any]:
    """The keys to sort hands by, integers: sums of squared strengths, of strengths, or both in this order."""
    if HandSpace(rules, street).last:
        key: Any = strengths(rules, progress=progress)
        return [key, key] if recipe.feature == "both" else [key]
    found = histograms(rules, street, 0, progress=progress)
    both = [_narrow(found.total_of_squares), _narrow(found.total)]
    return both if recipe.feature == "both" else [both[0] if recipe.feature == "ehs2" else both[1]]


def _narrow(key: Any) -> Any:
    """The same order in at most 32 bits."""
    return key if key.dtype.itemsize <= 4 else np.unique(key, return_inverse=True)[1].astype(np.uint32)


def ordered_hands(space: HandSpace, deals: tuple[int, ...], before: BucketMap) -> tuple[Any, U8, Any]:
    """For every ordered hand: the unordered hand, how often it is dealt, and its bucket on the previous street."""
    indexer = HandIndexer(deals, space.rules.deck)
    hand = np.empty(indexer.size, np.uint32)
    parent = np.empty(indexer.size, np.uint32)
    for start in range(0, indexer.size, AT_ONCE):
        some = slice(start, min(start + AT_ONCE, indexer.size))
        cards = indexer.hands(np.arange(some.start, some.stop))
        hand[some] = space.indexer.indices(cards)
        seen = space.rules.hole_cards + space.rules.board_size(space.street - 1)
        parent[some] = before.buckets_of_deals(cards[:, :seen])[:, space.street - 1]
    weights = np.zeros(indexer.size, np.uint8)
    orders = deal_orders(deals[1:])
    cards = np.empty(sum(deals), np.uint8)

    def work(block: HandBlock) -> None:
        weigh_ordered(block, space.tables, orders, indexer.tables, cards.copy(), weights)

    for _ in walk_hands(space, work, deals=len(orders)):
        pass
    return hand, weights, parent


def deal_orders(deals: tuple[int, ...]) -> U8:
    """uint8[order, card]: the ways to deal the cards of a board in rounds of these sizes, as positions on the board."""
    found = {}
    for order in itertools.permutations(range(sum(deals))):
        at, rounds = 0, []
        for count in deals:
            rounds.append(tuple(sorted(order[at : at + count])))
            at += count
        found[tuple(rounds)] = [place for round_ in rounds for place in round_]
    return np.array(list(found.values()), np.uint8)


@kernel
def weigh_ordered(
    block: HandBlock, hands: HandTables, orders: U8, indexing: IndexTables, cards: U8, weights: U8
) -> None:
    """Add how often ordered hands are dealt. IN: a block of hands, uint8[order, card]; scratch; IN OUT: uint8[hand]."""
    hole_cards = hands.hole_card.shape[1]
    for board in range(block.boards.shape[0]):
        for place in range(block.first[board], block.first[board + 1]):
            for i in range(hole_cards):
                cards[i] = hands.hole_card[block.hole[place], i]
            for order in range(orders.shape[0]):
                for i in range(orders.shape[1]):
                    cards[hole_cards + i] = block.boards[board, orders[order, i]]
                weights[hand_index(cards, indexing)] += np.uint8(block.sizes[board] * block.times[place])


def _by_strength_within(
    rules: GameRules, street: int, recipe: StreetRecipe, before: BucketMap, progress: Fraction | None
) -> StreetBuckets:
    """The last street when a table of ordered hands is too large: by previous bucket and strength."""
    assert recipe.buckets is not None
    twice = before.streets[street - 1].context == BEFORE  # the kernels look back only one street
    if not HandSpace(rules, street).last or recipe.feature == "both" or twice:
        raise InputError(
            f"percentile buckets of {HandIndexer(rules.deals(street), rules.deck).size:,} ordered hands",
            remedy="use feature ehs on the last street, or nested = false",
        )
    cell = strengths(rules)
    parents, classes = before.streets[street - 1].buckets, StreetFeatures(rules, street).top + 1
    weight = weigh_pairs(rules, street, before, np.zeros((parents, classes)), progress)
    part = percentile_parts(weight, recipe.buckets)
    join = np.arange(parents, dtype=np.uint32)[:, np.newaxis] * np.uint32(recipe.buckets) + part
    return StreetBuckets(
        rules.unordered_deals(street), parents * recipe.buckets, cell, join.astype(np.uint32), BEFORE, "percentile"
    )


def weigh_pairs(rules: GameRules, street: int, before: BucketMap, weight: F64, progress: Fraction | None) -> F64:
    """float64[previous bucket, strength]: the number of ordered deals of each pair."""
    space = HandSpace(rules, street - 1)
    to_come = rules.board_size(street) - space.board_cards
    orders = deal_orders(rules.deals(street - 1)[1:])

    def work(block: HandBlock) -> F64:
        found = np.zeros_like(weight)
        buffers = PairBuffers(
            np.empty((len(orders), rules.deck.holes(rules.hole_cards)), np.int32),
            np.empty(rules.hole_cards + space.board_cards, np.uint8),
            np.empty(space.board_cards, np.uint8),
        )
        showdowns, deals = strength.showdowns(space), strength.deals(space, to_come)
        count_pairs(block, space.tables, showdowns, deals, before.tables, space.street, orders, buffers, found)
        return found

    for _, found in walk_hands(space, work, deals=comb(rules.deck.size, to_come), progress=progress):
        weight += found
    return weight


class PairBuffers(NamedTuple):
    """Scratch of `count_pairs`."""

    rows: I32  # [order, hole] buckets on the previous street
    cards: U8  # [card of a hand]
    ordered: U8  # [card of a board]


@kernel
def count_pairs(
    block: HandBlock, hands: HandTables, game: strength.Showdowns, deals: strength.Deals, before: BucketTables,
    street: int, orders: U8, buffers: PairBuffers, weight: F64,
) -> None:  # fmt: skip
    """IN: the boards of a block, buckets of `street`, uint8[order, card]; IN OUT: float64[previous bucket, strength].

    Nine parameters: the tables of three subjects (hands, showdowns, deals) cannot be merged.
    """
    rows, cards, ordered = buffers
    none = rows[0, :0]
    boards, sizes = block.boards, block.sizes
    for board in range(boards.shape[0]):
        for order in range(orders.shape[0]):
            for i in range(orders.shape[1]):
                ordered[i] = boards[board, orders[order, i]]
            fill_board(ordered, street, hands.hole_card, none, before, cards, rows[order])
        found, _ = strength.list_deals(boards[board], hands, deals, True)
        for number in range(found):
            strength.complete_board(number, deals)
            live = strength.sort_holes(deals.board, game)
            strength.count_wins(live, game)
            times = np.float64(sizes[board]) * np.float64(deals.sizes[number])
            for hole in game.order[:live]:
                for order in range(orders.shape[0]):
                    weight[rows[order, hole], game.strength[hole]] += times
