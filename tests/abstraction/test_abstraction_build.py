"""Maps from recipes, against all deals of small games: percentiles, k-means, public clusters; and maps kept on disk."""

from __future__ import annotations

import errno
import itertools
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import naive_kmeans
from equipoise import GameRules, load_game
from equipoise.abstraction.clustering.public_boards import cluster_public, public_distances
from equipoise.abstraction.features import hand_space as hands
from equipoise.abstraction.features.card_features import StreetFeatures, histograms, strengths
from equipoise.abstraction.features.hand_space import HandSpace
from equipoise.abstraction.maps import build, hierarchy
from equipoise.abstraction.maps import kmeans_street as clusters
from equipoise.abstraction.maps import nested_percentile as nested
from equipoise.abstraction.maps.bucket_map import BEFORE, PUBLIC, BucketMap
from equipoise.abstraction.maps.build import build_map, map_path
from equipoise.abstraction.maps.card_recipe import CardRecipe, StreetRecipe, read_card_recipe
from equipoise.abstraction.maps.kmeans_street import Clusters, cluster_street, opponent_clusters, street_points
from equipoise.cards.isomorphism import HandIndexer
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.arrays import I64
from equipoise.core.errors import InputError
from naive_abstraction import (
    GAMES,
    RECIPES,
    bucket_weights,
    every_bucket,
    every_deal,
    percentile_rule,
    recipe_of,
    small_map,
)

THREE = GAMES["three"]
MAPS = list(RECIPES)
HIERARCHICAL = [(game, kind) for game, kind in MAPS if "hierarchical" in kind]


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hands, "BOARDS_AT_ONCE", 3)


def hand_of_deals(game: str, street: int) -> I64:
    """The hand (unordered board) of every deal on a street."""
    space = HandSpace(GAMES[game], street)
    return space.indexer.indices(every_deal(game)[:, : sum(space.indexer.rounds)]).astype(np.int64)


def tables_of(found: BucketMap) -> list[Any]:
    arrays = [array for street in found.streets for array in (street.cell, street.join)]
    return [*arrays, found.public.label if found.public else None]


def same_tables(one: BucketMap, two: BucketMap) -> bool:
    pairs = list(zip(tables_of(one), tables_of(two), strict=True))
    assert all((a is None) == (b is None) for a, b in pairs)
    return all(a is None or (a.dtype == b.dtype and np.array_equal(a, b)) for a, b in pairs)


# Percentiles: every deal weighs one, the rounds of the board told apart


def keys_of_deals(game: str, street: int, feature: str) -> I64:
    rules = GAMES[game]
    if HandSpace(rules, street).last:
        return strengths(rules)[hand_of_deals(game, street)].astype(np.int64)
    found = histograms(rules, street, 0)
    key = found.total if feature == "ehs" else found.total_of_squares
    return np.asarray(key[hand_of_deals(game, street)], np.int64)


PERCENTILES = [
    (game, kind, number)
    for (game, kind), table in RECIPES.items()
    for number, street in enumerate(recipe_of(game, kind).streets)
    if street.method == "percentile"
]


@pytest.mark.parametrize(("game", "kind", "street"), PERCENTILES)
def test_percentiles_are_of_deals_within_the_bucket_before(game: str, kind: str, street: int) -> None:
    recipe, found = recipe_of(game, kind).streets[street], every_bucket(game, kind)
    assert recipe.buckets is not None
    nested_here = recipe.nested and street > 0
    parent = found[:, street - 1] if nested_here else np.zeros(len(found), np.int64)
    by = ["ehs2", "ehs"] if recipe.feature == "both" else [recipe.feature]
    expected = parent
    for feature, parts in zip(by, [recipe.buckets, recipe.second or 0], strict=False):
        expected = percentile_rule(keys_of_deals(game, street, feature), expected, parts)
    np.testing.assert_array_equal(found[:, street], expected)


@pytest.mark.parametrize(("game", "kind", "street"), [case for case in PERCENTILES if case[1] != "both"])
def test_buckets_weigh_alike_but_for_the_heaviest_class(game: str, kind: str, street: int) -> None:
    recipe, found = recipe_of(game, kind).streets[street], every_bucket(game, kind)
    if recipe.feature == "both":
        return
    assert recipe.buckets is not None
    parent = found[:, street - 1] if recipe.nested and street else np.zeros(len(found), np.int64)
    keys = keys_of_deals(game, street, recipe.feature)
    for mother in np.unique(parent):
        inside = parent == mother
        heaviest = max(Counter(keys[inside].tolist()).values())
        weights = np.bincount(found[inside, street] - mother * recipe.buckets, minlength=recipe.buckets)
        assert np.abs(weights - inside.sum() / recipe.buckets).max() <= heaviest
        assert weights.sum() == inside.sum()


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(("game", "kind"), [("three", "nested"), ("four", "nested"), ("three", "nested in clusters")])
def test_strength_within_the_bucket_before_is_the_same_bucket(
    game: str, kind: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = GAMES[game]
    last = rules.rounds - 1
    monkeypatch.setattr(nested, "MOST_ORDERED", HandIndexer(rules.deals(last), rules.deck).size - 1)
    monkeypatch.setattr(hands, "SMALL", 0 if kept else hands.SMALL)
    found = build_map(rules, recipe_of(game, kind), keep=False)
    assert found.streets[last].context == BEFORE and found.streets[last].join is not None
    assert (
        found.buckets == small_map(game, kind).buckets and found.perfect_recall == small_map(game, kind).perfect_recall
    )
    np.testing.assert_array_equal(found.buckets_of_deals(every_deal(game)), every_bucket(game, kind))
    for deal in np.random.default_rng(1).choice(every_deal(game), 50):
        board = deal[rules.hole_cards :].tolist()
        np.testing.assert_array_equal(
            found.buckets_of_board(last, board), small_map(game, kind).buckets_of_board(last, board)
        )
    path = Path(os.environ["EQUIPOISE_CACHE"]).parent / "joined.buckets"
    found.save(path)
    np.testing.assert_array_equal(
        BucketMap.load(path, rules).buckets_of_deals(every_deal(game)), every_bucket(game, kind)
    )


@pytest.mark.parametrize(("game", "kind"), [("three", "nested"), ("three", "lossless"), ("four", "nested")])
def test_pairs_of_bucket_before_and_strength_weigh_their_deals(game: str, kind: str) -> None:
    rules, last = GAMES[game], GAMES[game].rounds - 1
    before, strength = every_bucket(game, kind)[:, last - 1], keys_of_deals(game, last, "ehs")
    shape = small_map(game, kind).buckets[last - 1], StreetFeatures(rules, last).top + 1
    expected = np.bincount(before * shape[1] + strength, minlength=shape[0] * shape[1]).reshape(shape)
    found = nested.weigh_pairs(rules, last, small_map(game, kind), np.zeros(shape), None)
    np.testing.assert_array_equal(found, expected)


def test_too_many_ordered_hands_are_refused_by_street(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "MOST_ORDERED", 0)
    with pytest.raises(InputError, match=r"^flop: percentile buckets of 628 ordered hands; use"):
        build_map(THREE, recipe_of("three", "nested"), keep=False)
    monkeypatch.setattr(nested, "MOST_ORDERED", 700)
    with pytest.raises(InputError, match=r"^turn: percentile buckets of .* ordered hands; use"):
        build_map(THREE, recipe_of("three", "both"), keep=False)
    rules = GAMES["still"]  # its last two rounds have all cards: the last would look back to one that looks back
    monkeypatch.setattr(nested, "MOST_ORDERED", HandIndexer(rules.deals(2), rules.deck).size - 1)
    with pytest.raises(InputError, match=r"^river: percentile buckets of .* ordered hands; use"):
        build_map(rules, recipe_of("still", "nested"), keep=False)


def test_deal_orders_are_all_ways_to_deal_a_board() -> None:
    assert nested.deal_orders((2, 1)).tolist() == [[0, 1, 2], [0, 2, 1], [1, 2, 0]]
    assert nested.deal_orders(()).shape == (1, 0)
    assert len(nested.deal_orders((3, 1, 1))) == 20
    assert sorted(map(tuple, nested.deal_orders((1, 1, 1)).tolist())) == sorted(itertools.permutations(range(3)))


# k-means

CLUSTERED = [
    (kind, street) for kind, streets in [("emd", 2), ("l2", 3), ("ochs", 2)] for street in range(3 - streets, 3)
]


def clusters_of(kind: str, street: int, **more: Any) -> tuple[StreetRecipe, Clusters]:
    recipe = recipe_of("three", kind).streets[street].model_copy(update=more)
    return recipe, cluster_street(THREE, street, recipe, 1)


@pytest.mark.parametrize("sample", [300_000, 60])
@pytest.mark.parametrize(("kind", "street"), CLUSTERED)
def test_every_hand_is_with_its_nearest_centroid(kind: str, street: int, sample: int) -> None:
    recipe, found = clusters_of(kind, street, sample=sample)
    points, metric = street_points(THREE, street, recipe, 1)
    assert metric == found.metric == ("emd" if kind == "emd" and street < 2 else "l2")
    away = naive_kmeans.all_distances(points, found.centroids, metric)
    np.testing.assert_allclose(away[np.arange(len(points)), found.label], away.min(axis=1), atol=1e-6)
    dealt = np.bincount(hand_of_deals("three", street), minlength=len(points))
    cost = np.average(away.min(axis=1) ** (2 if metric == "l2" else 1), weights=dealt)
    assert found.cost == pytest.approx(cost, rel=1e-4)
    np.testing.assert_allclose(
        found.ground, naive_kmeans.all_distances(found.centroids, found.centroids, metric), atol=1e-6
    )
    if sample > 10_000:
        np.testing.assert_array_equal(found.label, small_map("three", kind).streets[street].cell)
        assert small_map("three", kind).about["costs"][str(street)] == found.cost


@pytest.mark.parametrize(("kind", "street"), [case for case in CLUSTERED if case[0] != "emd"])
def test_centroids_are_means_of_all_deals_in_their_bucket(kind: str, street: int) -> None:
    recipe, found = clusters_of(kind, street, iterations=1000)
    points, _ = street_points(THREE, street, recipe, 1)
    dealt = np.bincount(hand_of_deals("three", street), minlength=len(points))
    means = [
        np.average(points[found.label == c], axis=0, weights=dealt[found.label == c])
        for c in range(len(found.centroids))
    ]
    np.testing.assert_allclose(found.centroids, np.array(means), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("street", [1, 2])
def test_streamed_features_give_the_same_clusters(street: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, kept = clusters_of("ochs", street, sample=200)
    monkeypatch.setattr(clusters, "STREAMED", 0)
    monkeypatch.setattr(clusters, "AT_ONCE", 100)
    _, streamed = clusters_of("ochs", street, sample=200)
    np.testing.assert_array_equal(streamed.centroids, kept.centroids)
    np.testing.assert_array_equal(streamed.label, kept.label)
    assert streamed.cost == pytest.approx(kept.cost)
    with pytest.raises(InputError, match=r"a sample of all .* hands; give sample"):
        clusters_of("ochs", street, sample=0)


@pytest.mark.parametrize("street", [0, 1])
def test_potential_is_over_the_buckets_of_the_next_deal(street: int) -> None:
    recipe = recipe_of("three", "potential")
    after: Clusters | None = None
    for number in range(2, street, -1):
        after = cluster_street(THREE, number, recipe.streets[number], 1, after)
    assert after is not None
    found = cluster_street(THREE, street, recipe.streets[street], 1, after)
    np.testing.assert_array_equal(found.label, small_map("three", "potential").streets[street].cell)
    next_bucket = every_bucket("three", "potential")[:, street + 1]
    here = hand_of_deals("three", street)
    for hand in np.random.default_rng(2).permutation(here.max() + 1)[:40]:
        mine = np.flatnonzero(here == hand)
        counts = np.bincount(next_bucket[mine])
        point = np.repeat(np.arange(len(counts)), counts // np.gcd.reduce(counts)).tolist()
        away = [naive_kmeans.greedy_transport(point, mean, after.ground) for mean in found.centroids]
        assert away[found.label[hand]] <= min(away) + 1e-5
    assert found.ground.shape == (len(found.centroids),) * 2
    assert (found.ground == found.ground.T).all() and not found.ground.diagonal().any()
    assert (found.ground + np.eye(len(found.ground)) > 0).all()


def test_opponent_clusters_are_of_hands_weakest_first() -> None:
    space = HandSpace(THREE, 0)
    cluster = opponent_clusters(THREE, 4, 1)
    holes = hole_card_table(THREE.deck, THREE.hole_cards)
    expected = histograms(THREE, 0).expected[space.indexer.indices(holes)]
    means = [expected[cluster == c].mean() for c in range(4)]
    assert means == sorted(means) and set(cluster.tolist()) == {0, 1, 2, 3}
    by_hand = {(int(hand), int(c)) for hand, c in zip(space.indexer.indices(holes), cluster, strict=True)}
    assert len(by_hand) == space.size


@pytest.mark.parametrize("kind", ["emd", "l2", "ochs", "potential", "hierarchical", "hierarchical, by strength"])
def test_a_seed_decides_every_bit_and_threads_none(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for threads in (1, 3):
        monkeypatch.setattr(os, "cpu_count", lambda threads=threads: threads)
        again = build_map(THREE, recipe_of("three", kind), keep=False)
        assert same_tables(again, small_map("three", kind))
        again.save(tmp_path / f"{threads}")
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()
    other = build_map(THREE, recipe_of("three", kind, seed=2), keep=False)
    assert not same_tables(other, small_map("three", kind))


@pytest.mark.parametrize(
    ("buckets", "base", "said"),
    [
        ((2, None, 40), None, r"turn: 40 buckets for 33 strengths; ask for fewer, or use ochs"),
        ((16, 2, 2), None, r"preflop: 16 clusters, but only \d+ distinct points"),
        ((None, 90, 3), 9, r"flop: public cluster \d: 90 clusters, but only \d+ distinct points"),
        ((None, 2, 30), 9, r"turn: public cluster \d: 30 clusters, but only \d+ distinct points"),
        ((None, 2, 3), 600, r"public.base: 600 clusters, but only \d+ distinct points"),
    ],
)
def test_more_buckets_than_can_be_told_apart(buckets: tuple[int | None, ...], base: int | None, said: str) -> None:
    streets = zip(("preflop", "flop", "turn"), buckets, strict=True)
    table: dict[str, Any] = {name: {"method": "emd", "buckets": n, "bins": 4} for name, n in streets if n}
    if base:
        table["public"] = {"clusters": 9, "base": base}
    with pytest.raises(InputError, match=f"^{said}"):
        build_map(THREE, read_card_recipe(table, THREE), keep=False)


# Public clusters


def public_of_deals(found: BucketMap, game: str) -> I64:
    """The cluster of every deal, by the cards that were public on the clusters' street."""
    assert found.public is not None
    rules = GAMES[game]
    seen = rules.board_size(found.public.street)
    board = every_deal(game)[:, rules.hole_cards : rules.hole_cards + seen]
    return np.asarray(found.public.label[HandIndexer((seen,), rules.deck).indices(board)], np.int64)


@pytest.mark.parametrize(("game", "kind"), HIERARCHICAL)
def test_no_bucket_is_shared_by_two_clusters(game: str, kind: str) -> None:
    found, buckets, recipe = small_map(game, kind), every_bucket(game, kind), recipe_of(game, kind)
    assert found.public is not None and recipe.public is not None
    cluster = public_of_deals(found, game)
    assert np.unique(cluster).tolist() == list(range(recipe.public.clusters))
    for street in range(GAMES[game].rounds):
        pairs = np.unique(np.stack([buckets[:, street], cluster]), axis=1)
        private = recipe.streets[street].buckets
        if street < found.public.street:
            assert pairs.shape[1] > len(np.unique(buckets[:, street]))  # earlier streets know of no clusters
        else:
            assert pairs.shape[1] == len(np.unique(buckets[:, street]))
            if private is not None:
                np.testing.assert_array_equal(buckets[:, street] // private, cluster)
    assert found.about["public"]["clusters"] == recipe.public.clusters
    assert sum(found.about["public"]["sizes"]) == len(found.public.label)


@pytest.mark.parametrize(("game", "kind"), HIERARCHICAL)
def test_clusters_are_algorithms_2_and_3_on_the_base(game: str, kind: str) -> None:
    rules, recipe = GAMES[game], recipe_of(game, kind)
    assert recipe.public is not None and isinstance(recipe.public.base, int)
    street = recipe.public_street(rules)
    base = cluster_street(rules, street, StreetRecipe(method="emd", buckets=recipe.public.base), recipe.seed)
    space = HandSpace(rules, street)
    boards = HandIndexer((space.board_cards,), rules.deck)
    table = np.zeros((boards.size, recipe.public.base), np.int64)
    for number in range(boards.size):
        board = boards.hand(number)
        live = [card for card in range(rules.deck.size) if card not in board]
        for hole in itertools.combinations(live, rules.hole_cards):
            table[number, base.label[space.indexer.index((*hole, *board))]] += 1
    expected = cluster_public(
        public_distances(table, int(table[0].sum())), recipe.public.clusters, seed=recipe.seed,
        objective=recipe.public.objective,
    )  # fmt: skip
    found = small_map(game, kind)
    assert found.public is not None
    np.testing.assert_array_equal(found.public.label, expected.labels)
    raw = [boards.index(board) for board in itertools.combinations(range(rules.deck.size), space.board_cards)]
    sizes = np.bincount(expected.labels[raw])
    assert found.about["public"]["balance_by_deals"] == pytest.approx(sizes.max() / sizes.mean())


@pytest.mark.parametrize(
    ("game", "kind"), [("three", "hierarchical"), ("three", "hierarchical, by strength"), ("four", "hierarchical")]
)
def test_cells_weigh_what_is_dealt_in_a_cluster(game: str, kind: str) -> None:
    found, last = small_map(game, kind), GAMES[game].rounds - 1
    street = found.streets[last]
    assert found.public is not None and street.context == PUBLIC
    space, cluster = HandSpace(GAMES[game], last), public_of_deals(found, game)
    count = street.join.shape[1]
    cells = Clusters(street.cell, np.zeros((count, 1), np.float32), "l2", np.zeros((count, count), np.float32), 0.0)
    seen = GAMES[game].board_size(found.public.street)
    weights = hierarchy.weigh_cells(space, found.public, cells, seen, None)
    cell = street.cell[hand_of_deals(game, last)].astype(np.int64)
    dealt = np.bincount(cluster * count + cell, minlength=weights.size).reshape(weights.shape)
    # Every order of a board's cards counts here, each set of public cards once there.
    np.testing.assert_array_equal(weights * dealt.sum() / weights.sum(), dealt)
    np.testing.assert_array_equal(street.join[cluster, cell], every_bucket(game, kind)[:, last])


def test_private_buckets_of_a_cluster_are_its_own_k_means() -> None:
    found, recipe = small_map("three", "hierarchical"), recipe_of("three", "hierarchical")
    own, space = recipe.streets[1], HandSpace(THREE, 1)
    assert own.buckets is not None and found.public is not None
    points, metric = street_points(THREE, 1, own, recipe.seed)
    cluster = np.empty(space.size, np.int64)
    cluster[hand_of_deals("three", 1)] = public_of_deals(found, "three")
    weights = np.bincount(hand_of_deals("three", 1), minlength=space.size) / (THREE.deck.size - 4)
    for number in range(found.public.clusters):
        inside = np.flatnonzero(cluster == number)
        centroids = clusters.fit(points[inside], weights[inside], own, own.buckets, metric, recipe.seed)
        away = naive_kmeans.all_distances(points[inside], centroids, metric)
        label = found.streets[1].cell[inside].astype(np.int64) - number * own.buckets
        np.testing.assert_allclose(away[np.arange(len(inside)), label], away.min(axis=1), atol=1e-6)


def based_on(path: Path) -> CardRecipe:
    table = {**RECIPES["three", "hierarchical"], "public": {"clusters": 4, "base": str(path)}}
    return read_card_recipe(table, THREE)


def test_a_base_may_be_the_file_of_a_map(tmp_path: Path) -> None:
    path = tmp_path / "base.buckets"
    base = small_map("three", "nested")
    base.save(path)
    found = build_map(THREE, based_on(path))
    assert found.public is not None
    boards = HandIndexer((2,), THREE.deck)
    table = np.array([
        np.bincount([b for b in base.buckets_of_board(1, boards.hand(i)).tolist() if b >= 0], minlength=base.buckets[1])
        for i in range(boards.size)
    ])  # fmt: skip
    expected = cluster_public(public_distances(table, 14 * 13 // 2), 4, seed=1)
    np.testing.assert_array_equal(found.public.label, expected.labels)
    cluster = public_of_deals(found, "three")
    for street, own in ((1, 7), (2, 6)):
        np.testing.assert_array_equal(found.buckets_of_deals(every_deal("three"))[:, street] // own, cluster)


def test_another_base_under_the_same_name_is_another_map(tmp_path: Path) -> None:
    path, moved = tmp_path / "base.buckets", tmp_path / "moved.buckets"
    small_map("three", "nested").save(path)
    small_map("three", "nested").save(moved)
    first = build_map(THREE, based_on(path))
    assert map_path(THREE, based_on(moved)) == map_path(THREE, based_on(path))
    small_map("three", "l2").save(path)
    second = build_map(THREE, based_on(path))
    assert first.fingerprint != second.fingerprint
    assert same_tables(second, build_map(THREE, based_on(path), keep=False)) and not same_tables(first, second)


@pytest.mark.parametrize("keep", [True, False])
def test_a_base_that_does_not_fit_is_refused_in_one_line(tmp_path: Path, keep: bool) -> None:
    path = tmp_path / "base.buckets"
    with pytest.raises(InputError, match=rf"^{path}: cannot read \(No such file or directory\); "):
        build_map(THREE, based_on(path), keep=keep)
    small_map("four", "nested").save(path)
    with pytest.raises(InputError, match=rf"^{path}: made for a game with other cards; ") as caught:
        build_map(THREE, based_on(path), keep=keep)
    assert "\n" not in str(caught.value)
    path.write_bytes(b"")
    with pytest.raises(InputError, match=rf"^{path}: not a file of format"):
        build_map(THREE, based_on(path), keep=keep)


# Kept maps


def _forbidden(*_: object) -> None:
    raise AssertionError("built again")


@pytest.mark.parametrize("kind", ["emd", "hierarchical", "nested"])
def test_a_map_is_built_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = recipe_of("three", kind)
    first = build_map(THREE, recipe)
    assert map_path(THREE, recipe).exists() and same_tables(first, small_map("three", kind))
    monkeypatch.setattr(build._Building, "run", _forbidden)
    again = build_map(THREE, recipe)
    assert same_tables(first, again) and again.recipe == first.recipe and again.about == first.about
    assert isinstance(first.streets[1].cell.base, np.memmap) and isinstance(again.streets[1].cell.base, np.memmap)
    with pytest.raises(AssertionError):
        build_map(THREE, recipe_of("three", kind, seed=5))
    with pytest.raises(AssertionError):
        build_map(THREE, recipe, keep=False)


def test_nothing_is_kept_of_what_needs_no_tables() -> None:
    recipe = recipe_of("three", "lossless")
    assert build_map(THREE, recipe).bytes == 0
    assert not map_path(THREE, recipe).exists()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "cut": lambda data: data[:-1],
    "cut in the header": lambda data: data[:100],
    "header": lambda data: data.replace(b'"perfect_recall":false', b'"perfect_recall":true ', 1),
    "array": lambda data: data[:-5] + bytes([data[-5] ^ 1]) + data[-4:],
    "other format": lambda data: data.replace(b"equipoise buckets", b"equipoise baskets", 1),
    "not a file of ours": lambda _: b"hello\n" * 1000,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_map_is_built_again(damage: str) -> None:
    recipe = recipe_of("three", "hierarchical")
    build_map(THREE, recipe)
    path = map_path(THREE, recipe)
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    assert path.read_bytes() != whole
    with pytest.raises(InputError):
        BucketMap.load(path, THREE)
    assert same_tables(build_map(THREE, recipe), small_map("three", "hierarchical"))
    assert path.read_bytes() == whole


def test_another_map_under_this_name_is_built_again() -> None:
    recipe = recipe_of("three", "emd")
    path = map_path(THREE, recipe)
    for other in (small_map("three", "l2"), small_map("four", "nested")):
        other.save(path)
        assert same_tables(build_map(THREE, recipe), small_map("three", "emd"))


def _full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _read_only(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@pytest.mark.parametrize(
    ("where", "failing"),
    [
        ("equipoise.abstraction.maps.bucket_map.BucketMap.save", _full),
        ("equipoise.core.files.cache.os.fsync", _full),
        ("equipoise.core.files.cache.tempfile.mkstemp", _read_only),
        ("pathlib.Path.mkdir", _read_only),
        ("pathlib.Path.unlink", _read_only),
    ],
)
@pytest.mark.parametrize("damaged", [False, True])
def test_a_disk_that_takes_nothing_costs_time_only(
    where: str, failing: Callable[..., None], damaged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hands, "SMALL", 0)  # features go to the disk too
    recipe = recipe_of("three", "hierarchical, by strength")
    if damaged:
        build_map(THREE, recipe)
        map_path(THREE, recipe).write_bytes(b"")
    if "unlink" not in where or damaged:
        monkeypatch.setattr(where, failing)
    found = build_map(THREE, recipe)
    assert same_tables(found, small_map("three", "hierarchical, by strength"))
    np.testing.assert_array_equal(
        found.buckets_of_deals(every_deal("three")), every_bucket("three", "hierarchical, by strength")
    )


# Reports


@pytest.mark.parametrize(("game", "kind"), MAPS)
def test_progress_is_told_by_street_and_never_falls(game: str, kind: str) -> None:
    told: dict[str, list[float]] = {}
    build_map(GAMES[game], recipe_of(game, kind), lambda name, done: told.setdefault(name, []).append(done), keep=False)
    streets = {f"street {number + 1}" for number in range(GAMES[game].rounds)}
    assert told.keys() <= streets | {"base"} and bool(told) == (kind != "lossless")
    for name, done in told.items():
        assert done == sorted(done) and 0 <= done[0] <= done[-1] <= 1 + 1e-9, name


def test_sampled_weights_are_those_of_all_deals() -> None:
    found, deals = small_map("three", "emd"), 20_000
    for street in range(3):
        exact = np.bincount(every_bucket("three", "emd")[:, street], minlength=found.buckets[street])
        exact = exact / exact.sum()
        sampled = bucket_weights(found, street, deals, np.random.default_rng(1))
        assert sampled.sum() == pytest.approx(1)
        assert (np.abs(sampled - exact) < 5 * np.sqrt(exact * (1 - exact) / deals) + 1e-9).all()


def test_percentiles_of_a_whole_deck() -> None:
    rules: GameRules = load_game("holdem.two-four")
    recipe = read_card_recipe(
        {"preflop": {"method": "percentile", "buckets": 5}, "flop": {"method": "percentile", "buckets": 5}}, rules
    )
    found = build_map(rules, recipe, keep=False)
    assert found.perfect_recall and found.buckets == (5, 25)
    space = HandSpace(rules, 1)
    cards = space.indexer.hands(np.arange(space.size))
    bucket = found.buckets_of_deals(cards)
    assert (bucket[:, 1] // 5 == bucket[:, 0]).all()
    strength = strengths(rules).astype(np.int64)
    assert StreetFeatures(rules, 1).top >= strength.max()
    for mother in range(5):
        inside = bucket[:, 0] == mother
        weights = np.bincount(bucket[inside, 1] % 5, space.weights[inside], 5)
        heaviest = np.bincount(strength[inside], space.weights[inside]).max()
        assert np.abs(weights - weights.sum() / 5).max() <= heaviest < weights.sum() / 10
