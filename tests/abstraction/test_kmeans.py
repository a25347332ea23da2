"""Clustering: the fast against the naive, exactness of all pruning, and the laws of weights, threads and order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import wasserstein_distance

import naive_kmeans as naive
from equipoise.abstraction.clustering import nearest as nearest_module
from equipoise.abstraction.clustering import seeding
from equipoise.abstraction.clustering.distance import Metric, distances
from equipoise.abstraction.clustering.kmeans import Clustering, choose_centres, kmeans, lloyd, nearest
from equipoise.core.errors import InputError

Array = npt.NDArray[Any]
METRICS: tuple[Metric, ...] = ("l2", "emd")


def strengths(seed: int, count: int, bins: int = 12, deals: int = 40) -> Array:
    """Histograms like those of poker hands: mixtures of two humps, counted over a few deals: uint8[point, bin]."""
    rng = np.random.default_rng(seed)
    low, high = rng.uniform(0.5, 6, (2, 2, count, 1))
    place = rng.beta(low, high, (2, count, deals))
    drawn = np.where(rng.random((count, deals)) < rng.random((count, 1)), place[0], place[1])
    return np.stack([np.histogram(row, bins, (0, 1))[0] for row in drawn]).astype(np.uint8)


def smooth(seed: int, count: int) -> Array:
    """The same without ties, which rounding would decide: float64[point, bin]."""
    return strengths(seed, count) + np.random.default_rng(seed).random((count, 12))


def same(one: Clustering, two: Clustering) -> bool:
    arrays = np.array_equal(one.labels, two.labels) and np.array_equal(one.centroids, two.centroids)
    return arrays and (one.cost, one.iterations, one.moved) == (two.cost, two.iterations, two.moved)


def test_emd_is_that_of_scipy_in_units_of_the_range() -> None:
    one, two = strengths(1, 15), strengths(2, 20)
    bins = np.arange(12)
    expected = [[wasserstein_distance(bins, bins, x, y) / 12 for y in two] for x in one]
    np.testing.assert_allclose(distances(one, two, "emd"), expected, atol=1e-7)
    line = np.abs(np.subtract.outer(bins, bins)) / 12
    assert naive.transport(one[0], two[0], line) == pytest.approx(expected[0][0])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("width", [1, 2, 8, 17, 50])
def test_distances(metric: Metric, width: int) -> None:
    rng = np.random.default_rng(width)
    one, two = rng.random((9, width)), rng.random((35, width))
    matrix = distances(one, two, metric)
    np.testing.assert_allclose(matrix, naive.all_distances(one, two, metric), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(np.diag(distances(one, one, metric)), 0)
    third = distances(two, two, metric)
    assert (matrix[:, :, None] <= (matrix[:, None, :] + third[None]) * (1 + 1e-5)).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("iterations", [1, 2, 5, 100])
def test_equals_naive_lloyd(metric: Metric, iterations: int) -> None:
    points, weights = smooth(3, 700), np.random.default_rng(4).integers(0, 5, 700).astype(float)
    start = points[np.random.default_rng(5).choice(700, 60, replace=False)]
    fast = lloyd(points, weights, start, metric=metric, iterations=iterations)
    centroids, labels, cost = naive.lloyd(points, weights, start, metric, fast.iterations)
    if metric == "l2" or iterations < 100:  # with "emd" the last may not be the best
        np.testing.assert_allclose(fast.centroids, centroids, atol=1e-6)
        np.testing.assert_array_equal(fast.labels, labels)
        assert fast.cost == pytest.approx(cost, rel=1e-5)
    assert fast.cost <= cost * (1 + 1e-5)
    assert fast.iterations <= iterations and (iterations < 100 or fast.moved < 10)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("clusters", [1, 2, 16, 17, 300, 600])
def test_pruning_changes_nothing(metric: Metric, clusters: int) -> None:
    points = strengths(6, 3000, bins=20)
    weights = np.random.default_rng(7).random(3000)
    start = points[choose_centres(points, weights, clusters, metric=metric, seed=8)]
    pruned, plain = (lloyd(points, weights, start, metric=metric, iterations=12, pruned=p) for p in (True, False))
    assert same(pruned, plain)


def test_a_centroid_from_afar_is_not_overlooked() -> None:
    # The point at 0 has its centroid at 10, with 207 others behind it that do not move; the one at -10.5 goes to -9.5.
    still = np.concatenate([10 + 0.1 * np.arange(208), -100.0 * np.arange(2, 17)])[:, None]
    points = np.concatenate([still, [[-9.4], [-9.6], [0.0]]])
    weights = np.append(np.ones(len(points) - 1), 0.0)
    start = np.concatenate([still, [[-10.5]]])
    assert lloyd(points, weights, start, metric="l2", iterations=1).labels[-1] == 0
    assert lloyd(points, weights, start, metric="l2", iterations=2).labels[-1] == len(still)


@pytest.mark.parametrize("metric", METRICS)
def test_labels_are_the_nearest_centroids(metric: Metric) -> None:
    points, weights = strengths(9, 2000), np.ones(2000)
    for iterations in (1, 4, 100):
        found = kmeans(points, weights, 150, metric=metric, seed=10, iterations=iterations)
        labels, away = nearest(points, found.centroids, metric)
        np.testing.assert_array_equal(labels, found.labels)
        assert found.cost == pytest.approx(float(np.mean(away.astype(float) ** (2 if metric == "l2" else 1))), rel=1e-5)


@pytest.mark.parametrize("metric", METRICS)
def test_threads_and_parts_do_not_matter(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    points, weights = strengths(11, 3000), np.random.default_rng(12).random(3000)
    monkeypatch.setattr(seeding, "PART", 500)
    monkeypatch.setattr("equipoise.abstraction.clustering.kmeans.CHUNK", 300)
    monkeypatch.setattr(nearest_module, "CHUNK", 300)
    one, two = (kmeans(points, weights, 90, metric=metric, seed=13, threads=threads, restarts=2) for threads in (1, 2))
    assert same(one, two)
    for left, right in zip(*(nearest(points, one.centroids, metric, threads) for threads in (1, 2)), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("metric", METRICS)
def test_a_weight_is_so_many_copies(metric: Metric) -> None:
    points = np.unique(strengths(14, 400), axis=0)
    weights = np.random.default_rng(15).integers(0, 4, len(points))
    copies = np.repeat(points, weights, axis=0)
    once = kmeans(points, weights.astype(float), 40, metric=metric, seed=16)
    again = kmeans(copies, np.ones(len(copies)), 40, metric=metric, seed=16)
    np.testing.assert_array_equal(np.repeat(once.labels, weights), again.labels)
    np.testing.assert_allclose(once.centroids, again.centroids, atol=1e-6)
    assert once.cost == pytest.approx(again.cost, rel=1e-6)
    unweighted = kmeans(points, np.ones(len(points)), 40, metric=metric, seed=16)
    assert not np.array_equal(unweighted.labels, once.labels)


@pytest.mark.parametrize("metric", METRICS)
def test_order_of_the_points_does_not_matter(metric: Metric) -> None:
    points, weights = smooth(17, 900), np.random.default_rng(18).integers(1, 9, 900).astype(float)
    order = np.random.default_rng(19).permutation(900)
    one = lloyd(points, weights, points[:50], metric=metric, iterations=6)
    two = lloyd(points[order], weights[order], points[:50], metric=metric, iterations=6)
    np.testing.assert_array_equal(one.labels[order], two.labels)
    np.testing.assert_allclose(one.centroids, two.centroids, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("clusters", [1, 15, 16, 33, 700])
def test_nearest_equals_brute_force_with_ties(metric: Metric, clusters: int) -> None:
    # Few values and repeated centroids: a third of the points are equally near to several.
    rng = np.random.default_rng(20)
    points, centroids = (rng.multinomial(4, [0.25] * 4, count) for count in (1000, clusters))
    labels, away = nearest(points, centroids, metric)
    matrix = distances(points, centroids, metric)
    np.testing.assert_array_equal(labels, matrix.argmin(axis=1))
    np.testing.assert_array_equal(away, matrix.min(axis=1))
    assert clusters < 15 or ((matrix == matrix.min(axis=1, keepdims=True)).sum(axis=1) > 1).mean() > 0.3
    few, _ = nearest(points[:3], centroids, metric)  # fewer points than centroids are measured without a search
    np.testing.assert_array_equal(few, labels[:3])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64, np.float32, np.float64])
def test_nearest_takes_any_numbers(dtype: type) -> None:
    points, centroids = strengths(21, 3000, bins=50), strengths(22, 500, bins=50)
    for metric in METRICS:
        labels, _ = nearest(points.astype(dtype), centroids.astype(dtype), metric)
        np.testing.assert_array_equal(labels, distances(points, centroids, metric).argmin(axis=1))


@pytest.mark.parametrize("metric", METRICS)
def test_seeding_draws_by_weight_and_cost(metric: Metric) -> None:
    points, weights = strengths(23, 9, bins=5, deals=8), np.array([1.0, 2, 1, 0, 3, 1, 1, 5, 0.5])
    drawn = np.array([choose_centres(points, weights, 4, metric=metric, seed=s, threads=1) for s in range(1500)])
    for place, expected in enumerate(naive.seeding_shares(points, weights, 4, metric)):
        found = np.bincount(drawn[:, place], minlength=9) / len(drawn)
        assert (np.abs(found - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / len(drawn))).all()
        assert found[3] == 0  # no weight


@pytest.mark.parametrize("metric", METRICS)
def test_seeding_equals_the_naive_twin(metric: Metric) -> None:
    points, weights = smooth(31, 800), np.random.default_rng(32).random(800)
    weights[::7] = 0
    draws = np.random.default_rng(np.random.SeedSequence(33)).random(90)
    chosen = choose_centres(points, weights, 90, metric=metric, seed=33)
    assert chosen.tolist() == naive.seeding(points, weights, draws, metric)


@pytest.mark.parametrize("metric", METRICS)
def test_every_point_is_drawn_once_all_others_are(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.unique(strengths(24, 300), axis=0)
    monkeypatch.setattr(seeding, "PART", 50)
    chosen = choose_centres(points, np.ones(len(points)), len(points), metric=metric, seed=25)
    assert sorted(chosen.tolist()) == list(range(len(points)))


@pytest.mark.parametrize("metric", METRICS)
def test_planted_clusters_are_found(metric: Metric) -> None:
    rng = np.random.default_rng(26)
    planted = rng.integers(0, 30, 3000)
    points = np.zeros((3000, 64))
    points[np.arange(3000), 2 * planted] = 20
    points[:, 1::2] = 0
    points += rng.random((3000, 64)) * 0.01
    found = kmeans(points, np.ones(3000), 30, metric=metric, seed=27, restarts=5)
    pairs = set(zip(planted.tolist(), found.labels.tolist(), strict=True))
    assert len(pairs) == 30


def test_empty_clusters_go_to_the_farthest_points() -> None:
    points = np.array([[0.0], [1.0], [10.0], [14.0], [99.0]])
    weights = np.array([1.0, 1, 1, 1, 0])
    start = np.array([[0.0], [1000.0], [2000.0]])
    found = lloyd(points, weights, start, metric="l2", iterations=2)
    assert found.centroids[1:, 0].tolist() == [14.0, 10.0]
    assert found.labels.tolist() == [0, 0, 2, 1, 1]
    hopeless = lloyd(points[:1], weights[:1], start, metric="l2")  # nothing to give an empty cluster
    assert hopeless.labels.tolist() == [0] and hopeless.cost == 0


@pytest.mark.parametrize("metric", METRICS)
def test_many_empty_clusters_equal_the_naive_twin(metric: Metric) -> None:
    points, weights = smooth(28, 300), np.ones(300)
    start = np.repeat(points[:8], 5, axis=0)
    fast = lloyd(points, weights, start, metric=metric, iterations=4)
    centroids, labels, _ = naive.lloyd(points, weights, start, metric, 4)
    np.testing.assert_array_equal(fast.labels, labels)
    np.testing.assert_allclose(fast.centroids, centroids, atol=1e-6)


def test_restarts_keep_the_best_and_progress_rises() -> None:
    points, weights = strengths(29, 500), np.ones(500)
    told: list[float] = []
    best = kmeans(points, weights, 20, metric="emd", seed=30, restarts=4, progress=told.append)
    assert best.cost <= kmeans(points, weights, 20, metric="emd", seed=30).cost
    assert told == sorted(told) and told[0] > 0 and told[-1] <= 1
    assert same(best, kmeans(points, weights, 20, metric="emd", seed=30, restarts=4))
    assert not np.array_equal(best.labels, kmeans(points, weights, 20, metric="emd", seed=31, restarts=4).labels)


POINTS = np.array([[1.0, 0], [1, 0], [0, 1], [2, 2], [5, 5]])
ONES = np.ones(5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: kmeans(POINTS, ONES, 5, metric="l2", seed=1),
        lambda: kmeans(POINTS, ONES, 4, metric="emd", seed=1),
        lambda: kmeans(POINTS, np.array([1, 1, 1, 0, 0]), 3, metric="l2", seed=1),
        lambda: kmeans(POINTS, ONES, 0, metric="l2", seed=1),
        lambda: kmeans(POINTS, -ONES, 2, metric="l2", seed=1),
        lambda: kmeans(POINTS, 0 * ONES, 2, metric="l2", seed=1),
        lambda: kmeans(POINTS, ONES[:4], 2, metric="l2", seed=1),
        lambda: kmeans(POINTS * np.nan, ONES, 2, metric="l2", seed=1),
        lambda: kmeans(POINTS * np.nan, ONES, 2, metric="emd", seed=1),
        lambda: kmeans(POINTS - 1, ONES, 2, metric="emd", seed=1),
        lambda: kmeans(POINTS * 0, ONES, 2, metric="emd", seed=1),
        lambda: kmeans(POINTS[0], ONES, 2, metric="l2", seed=1),
        lambda: lloyd(POINTS, ONES, POINTS[:, :1], metric="l2"),
        lambda: nearest(POINTS, POINTS[:, :1], "l2"),
        lambda: distances(POINTS, POINTS[:, :1], "l2"),
    ],
)
def test_bad_input(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="; "):
        call()


def test_a_bad_point_is_named_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest_module, "CHUNK", 2)
    with pytest.raises(InputError, match="point 3 is not a histogram"):
        nearest(np.array([[1, 0], [0, 1], [1, 1], [0, 0]]), POINTS, "emd")


def test_too_many_clusters_says_how_many_would_do() -> None:
    with pytest.raises(InputError, match="only 4 distinct points"):
        kmeans(POINTS, ONES, 5, metric="l2", seed=1)
    assert kmeans(POINTS, ONES, 4, metric="l2", seed=1).cost == 0
