"""Games small enough for exact walks of everything, with several streets, ties, all-ins; and buckets without sense."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np

from equipoise import BetMenu, Deck, GameRules, build_tree, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap, StreetBuckets
from equipoise.cards.isomorphism import HandIndexer
from equipoise.tree.betting_tree import BettingTree

LEDUC = load_game("leduc")
TWO_STREETS = dataclasses.replace(load_game("holdem.two-four"), deck=Deck(4, 3), max_raises=(1, 2), name="two streets")
LIMIT = dataclasses.replace(
    load_game("holdem.limit"), deck=Deck(4, 2), board_cards=(0, 2, 0, 1), max_raises=(1, 1, 1, 1), name="limit"
)
NO_LIMIT = dataclasses.replace(
    load_game("holdem.nolimit"), deck=Deck(3, 3), board_cards=(0, 1, 1, 1), stacks=(700, 700), name="no-limit"
)
MENU = BetMenu.from_table({"bet": [1.0], "raise": ["all-in"], "cap": 2, "flop": {"cap": 1}, "turn": {"cap": 0}}, 4)


@cache
def tree_of(rules: GameRules) -> BettingTree:
    """The betting tree of one of these."""
    return build_tree(rules, None if rules.limit else MENU)


@cache
def forgetful(rules: GameRules) -> BucketMap:
    """Few buckets that mix hands without sense, and forget: imperfect recall."""
    streets = []
    for street in range(rules.rounds):
        deals = rules.unordered_deals(street)
        hands = np.arange(HandIndexer(deals, rules.deck).size)
        streets.append(StreetBuckets(deals, 2 + street, (hands * 7 % 11 % (2 + street)).astype(np.uint16)))
    return BucketMap(rules, tuple(streets), recipe="forgetful")
