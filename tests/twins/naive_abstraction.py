"""Small games whose deals can all be listed, card abstractions of every kind for them, and slow twins of the rules."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from equipoise import GameRules, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.build import build_map
from equipoise.abstraction.maps.card_recipe import CardRecipe, read_card_recipe
from equipoise.cards.deck import Deck
from equipoise.core.arrays import I64, U8
from naive import all_deals

HOLDEM = load_game("holdem.limit")


def small(ranks: int, suits: int, board_cards: tuple[int, ...]) -> GameRules:
    """Hold'em with a short deck and other boards."""
    rounds = len(board_cards)
    return dataclasses.replace(
        HOLDEM, deck=Deck(ranks, suits), board_cards=board_cards, first=(1, *[0] * (rounds - 1)),
        max_raises=(3,) * rounds, raise_sizes=(1,) * rounds,
    )  # fmt: skip


GAMES = {
    "three": small(4, 4, (0, 2, 1)),
    "four": small(4, 4, (0, 1, 1, 1)),
    "still": small(4, 3, (0, 0, 3, 0)),  # rounds without cards
    "leduc": load_game("leduc"),
}

_KMEANS = {"flop": {"method": "emd", "buckets": 7}, "turn": {"method": "ochs", "buckets": 6, "clusters": 3}}
RECIPES: dict[tuple[str, str], Any] = {
    ("three", "lossless"): "lossless",
    ("three", "emd"): {"flop": {"method": "emd", "buckets": 7}, "turn": {"method": "emd", "buckets": 6}},
    ("three", "l2"): {
        "preflop": {"method": "l2", "buckets": 5},
        "flop": {"method": "l2", "buckets": 7, "bins": 10},
        "turn": {"method": "l2", "buckets": 6},
    },
    ("three", "ochs"): {
        "flop": {"method": "ochs", "buckets": 7, "clusters": 4},
        "turn": {"method": "ochs", "buckets": 6, "clusters": 3},
    },
    ("three", "potential"): {
        "preflop": {"method": "potential", "buckets": 5},
        "flop": {"method": "potential", "buckets": 7},
        "turn": {"method": "emd", "buckets": 6},
    },
    ("three", "nested"): {
        "preflop": {"method": "percentile", "buckets": 3},
        "flop": {"method": "percentile", "buckets": 3, "feature": "ehs"},
        "turn": {"method": "percentile", "buckets": 4},
    },
    ("three", "not nested"): {
        "preflop": {"method": "percentile", "buckets": 3},
        "flop": {"method": "percentile", "buckets": 4, "nested": False},
        "turn": {"method": "percentile", "buckets": 5, "nested": False},
    },
    ("three", "both"): {
        "preflop": {"method": "percentile", "buckets": 2, "second": 2, "feature": "both"},
        "flop": {"method": "percentile", "buckets": 3, "second": 2, "feature": "both"},
        "turn": {"method": "percentile", "buckets": 3, "second": 2, "feature": "both"},
    },
    ("three", "nested in clusters"): {
        "flop": {"method": "emd", "buckets": 7},
        "turn": {"method": "percentile", "buckets": 3},
    },
    ("three", "forgets at first"): {  # one bucket before the flop: whatever comes next tells it
        "preflop": {"method": "percentile", "buckets": 1},
        "flop": {"method": "emd", "buckets": 7},
        "turn": "lossless",
    },
    ("three", "hierarchical"): {**_KMEANS, "public": {"clusters": 4, "base": 30}},
    ("three", "hierarchical, by strength"): {
        "flop": {"method": "ochs", "buckets": 3, "clusters": 4},
        "turn": {"method": "emd", "buckets": 5},
        "public": {"clusters": 5, "base": 20, "objective": "medoid"},
    },
    ("three", "hierarchical, then lossless"): {
        "flop": {"method": "l2", "buckets": 5},
        "public": {"clusters": 3, "base": 20},
    },
    ("three", "hierarchical, last"): {
        "flop": {"method": "emd", "buckets": 5},
        "turn": {"method": "l2", "buckets": 4},
        "public": {"clusters": 6, "base": 9, "street": "turn"},
    },
    ("four", "nested"): {
        "preflop": {"method": "percentile", "buckets": 2},
        "flop": {"method": "percentile", "buckets": 2, "feature": "ehs"},
        "turn": {"method": "percentile", "buckets": 2, "second": 2, "feature": "both"},
        "river": {"method": "percentile", "buckets": 3},
    },
    ("four", "hierarchical"): {
        "flop": {"method": "emd", "buckets": 4},
        "turn": {"method": "l2", "buckets": 5},
        "river": {"method": "ochs", "buckets": 4, "clusters": 3, "cells": 25},
        "public": {"clusters": 5, "base": 15, "street": "turn"},
    },
    ("four", "potential"): {
        "flop": {"method": "potential", "buckets": 6},
        "turn": {"method": "potential", "buckets": 7},
        "river": {"method": "ochs", "buckets": 8, "clusters": 4},
    },
    ("still", "nested"): {
        "preflop": {"method": "percentile", "buckets": 2},
        "flop": {"method": "percentile", "buckets": 2, "feature": "ehs"},
        "turn": {"method": "percentile", "buckets": 3},
        "river": {"method": "percentile", "buckets": 2},
    },
    ("still", "emd"): {
        "flop": {"method": "emd", "buckets": 3},
        "turn": {"method": "potential", "buckets": 3},
        "river": {"method": "emd", "buckets": 4},
    },
    ("still", "lossless"): "lossless",
    ("leduc", "lossless"): "lossless",
    ("leduc", "emd"): {"flop": {"method": "emd", "buckets": 3}},
    ("leduc", "nested"): {"flop": {"method": "percentile", "buckets": 2}},
}  # fmt: skip


def recipe_of(game: str, kind: str, **more: Any) -> CardRecipe:
    table = RECIPES[game, kind]
    return read_card_recipe({**table, **more} if more else table, GAMES[game])


@cache
def small_map(game: str, kind: str) -> BucketMap:
    return build_map(GAMES[game], recipe_of(game, kind), keep=False)


@cache
def every_deal(game: str) -> U8:
    """All deals of one player's hole and the board, the rounds told apart: uint8[deal, card], each round ascending."""
    rules = GAMES[game]
    return np.array(list(all_deals(rules.deals(rules.rounds - 1), rules.deck)), np.uint8)


@cache
def every_bucket(game: str, kind: str) -> I64:
    """[deal, street]."""
    return small_map(game, kind).buckets_of_deals(every_deal(game))


def percentile_rule(key: I64, parent: I64, parts: int) -> I64:
    """Deals to parts, word for word: each a unit long, side by side by key within a parent, classes kept together."""
    weight: dict[tuple[int, int], int] = defaultdict(int)
    for pair in zip(parent.tolist(), key.tolist(), strict=True):
        weight[pair] += 1
    total: dict[int, int] = defaultdict(int)
    for (mother, _), count in weight.items():
        total[mother] += count
    bucket, before = {}, dict.fromkeys(total, 0)
    for mother, here in sorted(weight):
        middle = before[mother] + Fraction(weight[mother, here], 2)
        bucket[mother, here] = mother * parts + int(middle * parts / total[mother])
        before[mother] += weight[mother, here]
    return np.array([bucket[pair] for pair in zip(parent.tolist(), key.tolist(), strict=True)])


def bucket_weights(found: BucketMap, street: int, samples: int, rng: np.random.Generator) -> Any:
    """[bucket] the share of deals in each, from random deals."""
    rules = found.rules
    seen = rules.hole_cards + rules.board_size(street)
    deals = np.argsort(rng.random((samples, rules.deck.size), np.float32), axis=1)[:, :seen].astype(np.uint8)
    return np.bincount(found.buckets_of_deals(deals)[:, street], minlength=found.buckets[street]) / samples
