"""Small games with public clusters, for solvers in parts."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np

from equipoise import GameRules, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap, PublicBuckets
from equipoise.abstraction.maps.build import build_map
from equipoise.abstraction.maps.card_recipe import read_card_recipe
from equipoise.cards.deck import Deck
from equipoise.games.bet_menu import load_menu
from equipoise.tree.betting_tree import BettingTree, build_tree

LIMIT = dataclasses.replace(
    load_game("holdem.limit"),
    deck=Deck(4, 2),
    first=(1, 0, 0),
    max_raises=(2, 1, 1),
    raise_sizes=(10, 20, 20),
    board_cards=(0, 2, 1),
)
NO_LIMIT = dataclasses.replace(
    load_game("holdem.nolimit"), deck=Deck(5, 2), stacks=(400, 400), first=(1, 0), max_raises=(2, 2), board_cards=(0, 3)
)


def leduc() -> tuple[BettingTree, BucketMap]:
    """Leduc with a cluster of one rank and a cluster of two."""
    rules = load_game("leduc")
    public = PublicBuckets(1, np.array([0, 1, 1], np.uint16), 2)
    return build_tree(rules), dataclasses.replace(BucketMap.lossless(rules), public=public)


def clustered(rules: GameRules, clusters: int) -> tuple[BettingTree, BucketMap]:
    """A small hold'em with three buckets a street and cluster."""
    names = ("flop", "turn")[: rules.rounds - 1]
    cards = {name: {"method": "emd", "buckets": 3} for name in names} | {"public": {"clusters": clusters, "base": 6}}
    tree = build_tree(rules, None if rules.limit else load_menu("standard", rules))
    return tree, build_map(rules, read_card_recipe(cards, rules), keep=False)


@cache
def hierarchy(name: str) -> tuple[BettingTree, BucketMap]:
    """The tree and the map of a small game: leduc, limit (later cards) or no-limit (all-ins before the board)."""
    return {"leduc": leduc, "limit": lambda: clustered(LIMIT, 4), "no-limit": lambda: clustered(NO_LIMIT, 3)}[name]()
