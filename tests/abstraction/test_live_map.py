"""Buckets computed board by board are those of the map of all hands, on every board of small games."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from equipoise import load_game
from equipoise.abstraction.maps import build, live_map
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.build import build_map, map_centroids, map_path
from equipoise.abstraction.maps.card_recipe import read_card_recipe
from equipoise.abstraction.maps.live_map import LiveMap, StreetClusters
from equipoise.core.errors import InputError
from naive_abstraction import GAMES, every_deal, recipe_of, small_map

pytestmark = pytest.mark.usefixtures("own_cache")

COMPUTED = [("three", "emd"), ("three", "l2"), ("three", "ochs"), ("leduc", "emd")]
WITH_TABLES = [
    ("three", "lossless"),
    ("three", "potential"),
    ("three", "not nested"),
    ("three", "forgets at first"),
    ("four", "potential"),
    ("still", "emd"),
]
REFUSED = [("three", "nested"), ("three", "nested in clusters"), ("three", "hierarchical"), ("four", "hierarchical")]


def live(game: str, kind: str) -> LiveMap:
    return live_map.live_map(GAMES[game], recipe_of(game, kind))


def boards(game: str, street: int) -> list[tuple[int, ...]]:
    """Every board, its cards in an order that is not sorted."""
    rules = GAMES[game]
    return [board[::-1] for board in itertools.combinations(range(rules.deck.size), rules.board_size(street))]


def share_of_equal_buckets(one: Any, two: BucketMap, game: str, street: int) -> float:
    pairs = [(one.buckets_of_board(street, b), two.buckets_of_board(street, b)) for b in boards(game, street)]
    return float(np.mean([mine == wanted for mine, wanted in pairs]))


@pytest.mark.parametrize(("game", "kind"), [*COMPUTED, *WITH_TABLES])
def test_every_board_has_the_buckets_of_the_full_map(game: str, kind: str) -> None:
    found, wanted = live(game, kind), small_map(game, kind)
    assert found.buckets == wanted.buckets
    assert found.fingerprint == wanted.fingerprint
    for street in range(GAMES[game].rounds):
        assert share_of_equal_buckets(found, wanted, game, street) == 1
    deals = every_deal(game)[::97]
    assert np.array_equal(found.buckets_of_deals(deals[:50]), wanted.buckets_of_deals(deals[:50]))
    assert "full" not in found.__dict__  # few deals need no table
    hole, cards = GAMES[game].hole_cards, deals[-1].tolist()
    assert found.bucket(cards[:hole], cards[hole:]) == wanted.bucket(cards[:hole], cards[hole:])


def test_a_holdem_board_of_any_suits_has_the_nearest_centroids() -> None:
    """The whole deck: labels from one board of a class equal those of its renamings, hole by hole."""
    rules = load_game("holdem.nolimit")
    recipe = read_card_recipe({"river": {"method": "ochs", "buckets": 40, "clusters": 4}}, rules)
    rng = np.random.default_rng(1)
    hands = live_map.HandSpace(rules, 0).indexer.indices(live_map.HandSpace(rules, 3).tables.hole_card)
    centroids = rng.random((40, 1), np.float32) + np.float32(0.1) * rng.random((40, 4), np.float32)
    arrays = {"centroids 3": centroids, "opponents 3": (hands % 4).astype(np.uint8)}
    found = LiveMap.of_arrays(rules, recipe, arrays)
    tables = live_map.HandSpace(rules, 3).tables
    for _ in range(5):
        board = rng.choice(52, 5, replace=False)
        here = found.buckets_of_board(3, board.tolist())
        assert (here < 0).sum() == 1326 - 1081
        assert len(np.unique(here)) > 5
        renaming = int(rng.integers(24))
        there = found.buckets_of_board(3, tables.renamed_card[renaming, board].tolist())
        assert np.array_equal(there[tables.renamed_hole[renaming]], here)


@pytest.mark.parametrize(("game", "kind"), COMPUTED)
def test_other_centroids_give_other_buckets(game: str, kind: str) -> None:
    """The wrong twin of the law: one centroid is moved to another, or the centroids change places."""
    found, wanted = live(game, kind), small_map(game, kind)
    street = next(at for at, own in enumerate(found.streets) if isinstance(own, StreetClusters))
    arrays = found.arrays()
    arrays[f"centroids {street}"] = arrays[f"centroids {street}"][::-1].copy()
    wrong = LiveMap.of_arrays(found.rules, found.recipe, arrays)
    assert share_of_equal_buckets(wrong, wanted, game, street) < 0.9


@pytest.mark.parametrize(("game", "kind"), COMPUTED)
def test_all_hands_are_assigned_to_the_buckets_of_the_full_map(game: str, kind: str) -> None:
    found, wanted = live(game, kind), small_map(game, kind)
    path = map_path(found.rules, found.recipe)
    path.unlink(missing_ok=True)
    full = found.full
    assert not path.exists()  # what fits its own recipe need not fit these centroids
    for one, two in zip(full.streets, wanted.streets, strict=True):
        assert (one.cell is None) == (two.cell is None)
        assert one.cell is None or np.array_equal(one.cell, two.cell)
    assert np.array_equal(found.buckets_of_deals(every_deal(game)), wanted.buckets_of_deals(every_deal(game)))


def test_a_map_with_the_same_centroids_is_not_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, recipe = GAMES["three"], recipe_of("three", "emd")
    build_map(rules, recipe)
    monkeypatch.setattr(LiveMap, "assign", lambda _: pytest.fail("it is in the cache"))
    found = live("three", "emd")
    assert found.full.buckets == found.buckets
    other = {**found.arrays(), "centroids 1": found.arrays()["centroids 1"][::-1].copy()}
    with pytest.raises(pytest.fail.Exception):
        _ = LiveMap.of_arrays(rules, recipe, other).full


def test_centroids_are_kept_beside_a_map_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, recipe = GAMES["three"], recipe_of("three", "ochs")
    build_map(rules, recipe)
    path = map_path(rules, recipe).with_suffix(".centroids")
    first = map_centroids(rules, recipe)
    assert {"centroids 1", "opponents 1", "centroids 2", "opponents 2"} == set(first)
    path.unlink()  # as of a map that an earlier version has built
    again = map_centroids(rules, recipe)
    assert path.exists()
    assert all(np.array_equal(first[name], again[name]) for name in first)
    path.unlink()
    other = build_map(rules, recipe_of("three", "ochs", seed=2), keep=False)
    monkeypatch.setattr(build.BucketMap, "load", lambda *_: other)
    with pytest.raises(InputError, match="gives other buckets"):
        map_centroids(rules, recipe)


@pytest.mark.parametrize(("game", "kind"), REFUSED)
def test_what_needs_large_tables_is_refused(game: str, kind: str) -> None:
    with pytest.raises(InputError, match="table") as refused:
        live(game, kind)
    assert "\n" not in str(refused.value)


def test_arrays_that_do_not_fit_are_refused() -> None:
    found = live("three", "ochs")
    good = found.arrays()
    table = {"table 1": np.full(small_map("three", "emd").streets[1].cell.shape, 7, np.uint16)}
    wrong: list[dict[str, Any]] = [
        {**good, "centroids 1": good["centroids 1"][:-1]},
        {**good, "centroids 1": np.full_like(good["centroids 1"], np.nan)},
        {**good, "centroids 1": good["centroids 1"].astype(np.float64)},
        {name: array for name, array in good.items() if name != "opponents 1"},
        {**good, **table},
    ]
    for arrays in wrong:
        with pytest.raises(InputError):
            LiveMap.of_arrays(found.rules, found.recipe, arrays)
    with pytest.raises(InputError, match="board of 2 cards"):
        found.buckets_of_board(2, (0, 1))
    with pytest.raises(InputError):
        found.buckets_of_board(1, (0, 0))
