"""Public buckets of boards on every street: features against a slow twin, buckets that never mix boards, the report."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from equipoise.abstraction.features.board_features import board_features, strong_range
from equipoise.abstraction.features.card_features import expected
from equipoise.abstraction.features.hand_space import HandSpace
from equipoise.abstraction.maps.board_street import public_buckets
from equipoise.abstraction.maps.bucket_map import NONE, BucketMap
from equipoise.abstraction.maps.build import build_map
from equipoise.abstraction.maps.card_recipe import CardRecipe, StreetRecipe, read_card_recipe
from equipoise.abstraction.report.numbers import describe
from equipoise.cards.isomorphism import HandIndexer
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.errors import InputError
from equipoise.games.rules import GameRules
from naive_abstraction import GAMES, every_deal

THREE = GAMES["three"]
TABLE = {
    "flop": {"method": "l2", "buckets": 3, "boards": 5},
    "turn": {"method": "ochs", "buckets": 4, "boards": 6, "clusters": 3, "cells": 30},
}

pytestmark = pytest.mark.usefixtures("own_cache")


def recipe() -> CardRecipe:
    return read_card_recipe(TABLE, THREE)


def slow_features(rules: GameRules, street: int) -> np.ndarray:
    """The features of boards, one board and one hole at a time, before they are scaled."""
    deck, space, found = rules.deck, HandSpace(rules, street), []
    strong, strength = strong_range(rules), expected(rules, street)[0]
    for board in space.boards.tolist():
        met = []
        for hole, cards in enumerate(hole_card_table(deck, 2).tolist()):
            if strong[hole] and not set(cards) & set(board):
                met.append(strength[space.indexer.indices(np.array([[*cards, *board]], np.uint8))[0]])
        ranks, suits = [deck.rank(card) for card in board], [deck.suit(card) for card in board]
        low = {rank - deck.ranks if rank == deck.ranks - 1 else rank for rank in ranks}
        straight = max(
            len({rank for rank in have if start <= rank < start + 5})
            for have in (set(ranks), low)
            for start in range(-1, deck.ranks)
        )
        shape = (np.mean(ranks), max(map(suits.count, suits)), max(map(ranks.count, ranks)), straight)
        found.append([np.mean(met), np.mean(np.square(met)), *shape])
    return np.array(found)


@pytest.mark.parametrize("street", [1, 2])
def test_features_of_boards(street: int) -> None:
    slow, fast = slow_features(THREE, street), board_features(THREE, street)
    weights = HandSpace(THREE, street).board_sizes / HandSpace(THREE, street).board_sizes.sum()
    spread = np.sqrt(weights @ (slow - weights @ slow) ** 2)
    assert fast == pytest.approx(slow / np.where(spread > 0, spread, 1), rel=1e-9)
    assert (spread > 0).sum() >= 5  # in a deck of four ranks, any ranks may be of one straight


def test_the_strong_range_is_strong() -> None:
    strong = strong_range(THREE).astype(bool)
    strength = expected(THREE, 0)[0][HandSpace(THREE, 0).indexer.indices(hole_card_table(THREE.deck, 2))]
    assert 0.15 < strong.mean() < 0.45  # holes that suits alone tell apart are all in or all out
    assert strength[strong].min() > strength[~strong].max()


def mixing(found: BucketMap, street: int, by: CardRecipe | None = None) -> int:
    """The most public buckets whose hands share a bucket, over all deals."""
    deals = every_deal("three")
    public, _ = public_buckets(THREE, street, (by or recipe()).streets[street], 1)
    size = THREE.board_size(street)
    boards = np.ascontiguousarray(deals[:, 2 : 2 + size])
    cluster = public.label[HandIndexer((size,), THREE.deck).indices(boards)]
    bucket = found.buckets_of_deals(deals)[:, street]
    return int(np.bincount(np.unique(np.stack([bucket, cluster]), axis=1)[0]).max())


@pytest.mark.parametrize("street", [1, 2])
def test_a_bucket_has_boards_of_one_public_bucket(street: int) -> None:
    found = build_map(THREE, recipe(), keep=False)
    own = recipe().streets[street]
    assert own.boards is not None
    assert own.buckets is not None
    assert found.buckets[street] == own.boards * own.buckets
    assert found.streets[street].context == NONE
    assert mixing(found, street) == 1
    used = np.unique(found.buckets_of_deals(every_deal("three"))[:, street])
    assert len(used) > 0.8 * found.buckets[street]


def test_rare_boards_may_have_few_hands() -> None:
    """With as many private buckets as cells, every cell of a public bucket is a bucket."""
    table = {**TABLE, "turn": {"method": "l2", "buckets": 9, "boards": 6, "cells": 9}}
    found = build_map(THREE, read_card_recipe(table, THREE), keep=False)
    assert mixing(found, 2, read_card_recipe(table, THREE)) == 1
    assert len(np.unique(found.buckets_of_deals(every_deal("three"))[:, 2])) > 6


def test_without_boards_public_buckets_are_mixed() -> None:
    table = {"flop": {"method": "l2", "buckets": 3}, "turn": {"method": "ochs", "buckets": 4, "clusters": 3}}
    assert mixing(build_map(THREE, read_card_recipe(table, THREE), keep=False), 1) > 1


@pytest.mark.parametrize("street", [1, 2])
def test_public_buckets_are_alike_by_features(street: int) -> None:
    """Much of the variance is between public buckets; labels at random would leave nearly all of it within."""
    _, about = public_buckets(THREE, street, recipe().streets[street], 1)
    assert about["within"] < 0.5
    shares = [bucket["share"] for bucket in about["buckets"]]
    assert sum(shares) == pytest.approx(1)
    boards = len(HandSpace(THREE, street).boards)
    assert sum(bucket["boards"] for bucket in about["buckets"]) == about["boards"] == boards


def test_the_report_has_public_buckets() -> None:
    found = build_map(THREE, recipe(), keep=False)
    boards = describe("boards", found, recipe()).as_json()["boards"]
    assert [len(boards[street]["buckets"]) for street in ("1", "2")] == [5, 6]
    assert all(bucket["examples"] for street in boards.values() for bucket in street["buckets"])


def test_recipes_without_boards_keep_their_fingerprints() -> None:
    streets = json.loads(read_card_recipe({"flop": {"method": "l2", "buckets": 3}}, THREE).text())["streets"]
    assert all("boards" not in street for street in streets)
    assert [street.get("boards") for street in json.loads(recipe().text())["streets"]] == [None, 5, 6]


def test_what_makes_no_sense_is_said() -> None:
    def refused(**changed: object) -> str:
        with pytest.raises(InputError) as error:
            read_card_recipe({**TABLE, **changed}, THREE)
        return str(error.value)

    assert "takes no boards" in refused(flop={"method": "percentile", "buckets": 3, "boards": 2})
    assert "public buckets" in refused(flop={"method": "l2", "buckets": 3, "boards": 5000})
    assert "public buckets" in refused(preflop={"method": "l2", "buckets": 3, "boards": 2})
    assert "leave out public" in refused(public={"clusters": 2, "base": 9})
    assert "potential" in refused(flop={"method": "potential", "buckets": 5})
    assert StreetRecipe(method="l2", buckets=3, boards=2).boards == 2


def test_boards_that_differ_by_suits_share_a_public_bucket() -> None:
    public, _ = public_buckets(THREE, 1, recipe().streets[1], 1)
    indexer = HandIndexer((2,), THREE.deck)
    for board in itertools.islice(itertools.combinations(range(THREE.deck.size), 2), 0, None, 7):
        renamed = [card // 4 * 4 + (card + 1) % 4 for card in board]
        one, other = indexer.indices(np.array([board, renamed], np.uint8))
        assert public.label[one] == public.label[other]
