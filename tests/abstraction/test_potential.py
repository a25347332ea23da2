"""Potential-aware clustering: the heuristic against its definition and the exact distance, and the laws of k-means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import naive_kmeans as naive
from equipoise.abstraction.clustering import potential_aware as potential
from equipoise.abstraction.clustering.kmeans import Clustering
from equipoise.abstraction.clustering.potential_aware import potential_kmeans, potential_nearest
from equipoise.core.errors import InputError

Array = npt.NDArray[Any]


def plane(seed: int, buckets: int) -> Array:
    """Distances of random places: float32[bucket, bucket]."""
    places = np.random.default_rng(seed).random((buckets, 2))
    return np.sqrt(np.square(places[:, None] - places[None]).sum(axis=2)).astype(np.float32)


def random_hands(seed: int, count: int, deals: int, buckets: int) -> Array:
    """Some buckets likelier than others, in each hand others: uint16[hand, deal]."""
    rng = np.random.default_rng(seed)
    centre = rng.integers(0, buckets, (count, 1))
    return ((centre + rng.geometric(0.3, (count, deals))) % buckets).astype(np.uint16)


def distributions(hands: Array, buckets: int) -> Array:
    return np.stack([np.bincount(hand, minlength=buckets) / len(hand) for hand in hands])


def distance(hand: Array, mean: Array, ground: Array) -> float:
    return float(potential_nearest(hand[None], mean[None].astype(np.float32), ground)[1][0])


@pytest.mark.parametrize("seed", range(5))
def test_the_heuristic_is_as_defined_and_never_below_the_exact_distance(seed: int) -> None:
    ground, hands = plane(seed, 9), random_hands(seed, 12, 7, 9)
    means = distributions(random_hands(seed + 100, 12, 20, 9), 9)
    ratios = []
    for hand, mean in zip(hands, means, strict=True):
        found = distance(hand, mean, ground)
        assert found == pytest.approx(naive.greedy_transport(sorted(hand.tolist()), mean, ground), rel=1e-5)
        exact = naive.transport(np.bincount(hand, minlength=9), mean, ground)
        assert found >= exact - 1e-6
        ratios.append(found / exact)
    assert 1 < np.mean(ratios) < 1.3


def test_the_heuristic_is_exact_where_it_must_be() -> None:
    ground, hands = plane(1, 9), random_hands(2, 20, 7, 9)
    for hand, mean in zip(hands, distributions(random_hands(3, 20, 20, 9), 9), strict=True):
        assert distance(hand, np.eye(9)[4], ground) == pytest.approx(ground[hand, 4].mean(), rel=1e-5)
        alone = np.full(7, hand[0], np.uint16)
        assert distance(alone, mean, ground) == pytest.approx((ground[hand[0]] * mean).sum(), rel=1e-5)
        assert distance(hand, distributions(hand[None], 9)[0], ground) == 0
    apart = 1 - np.eye(9, dtype=np.float32)  # then it is the total variation
    for hand, mean in zip(hands, distributions(random_hands(4, 20, 20, 9), 9), strict=True):
        own = np.bincount(hand, minlength=9) / 7
        assert distance(hand, mean, apart) == pytest.approx(np.maximum(own - mean, 0).sum(), rel=1e-5)


@pytest.mark.parametrize("metric", [True, False])
def test_nearest_equals_brute_force(metric: bool) -> None:
    rng = np.random.default_rng(5)
    ground = (
        plane(6, 30) if metric else rng.random((30, 30)).astype(np.float32)
    )  # a bound for one must not fail another
    hands = random_hands(7, 150, 11, 30)
    means = np.concatenate([distributions(random_hands(8, 25, 30, 30), 30), distributions(hands[:5], 30)])
    means = np.concatenate([means, means[-3:]]).astype(np.float32)  # equals: the first counts
    table = np.array([[naive.greedy_transport(sorted(h.tolist()), m, ground) for m in means] for h in hands])
    labels, away = potential_nearest(hands, means, ground)
    np.testing.assert_allclose(away, table.min(axis=1), atol=1e-6)
    np.testing.assert_allclose(table[np.arange(150), labels], table.min(axis=1), atol=1e-6)
    assert labels.max() < 30
    assert not metric or labels[:5].tolist() == [25, 26, 27, 28, 29]


def naive_means(hands: Array, weights: Array, labels: Array, buckets: int) -> Array:
    shares = distributions(hands, buckets) * weights[:, None]
    return np.stack([shares[labels == k].sum(axis=0) / weights[labels == k].sum() for k in range(labels.max() + 1)])


def test_clusters_are_means_and_labels_their_nearest() -> None:
    ground, hands = plane(9, 40), random_hands(10, 600, 13, 40)
    weights = np.random.default_rng(11).integers(1, 5, 600).astype(float)
    one = potential_kmeans(hands, weights, 12, ground, seed=12, iterations=1)
    two = potential_kmeans(hands, weights, 12, ground, seed=12, iterations=2)
    np.testing.assert_allclose(two.centroids, naive_means(hands, weights, one.labels, 40), atol=1e-6)
    for found in (one, two, potential_kmeans(hands, weights, 12, ground, seed=12)):
        labels, away = potential_nearest(hands, found.centroids, ground)
        np.testing.assert_array_equal(labels, found.labels)
        assert found.cost == pytest.approx((weights * away).sum() / weights.sum(), rel=1e-5)
    assert found.cost < two.cost < one.cost


def test_threads_order_of_deals_and_copies_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(potential, "CHUNK", 50)
    ground, hands = plane(13, 20), np.unique(np.sort(random_hands(14, 300, 9, 20), axis=1), axis=0)
    weights = np.random.default_rng(15).integers(0, 4, len(hands))
    shuffled = np.random.default_rng(16).permuted(hands, axis=1)

    def run(hands: Array, weights: Array, threads: int) -> Clustering:
        return potential_kmeans(hands, weights.astype(float), 15, ground, seed=17, threads=threads)

    one, two = run(hands, weights, 1), run(shuffled, weights, 2)
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.centroids, two.centroids)
    copies = np.repeat(hands, weights, axis=0)
    np.testing.assert_array_equal(np.repeat(one.labels, weights), run(copies, np.ones(len(copies)), 2).labels)


def test_planted_clusters_are_found_and_hidden_by_the_end_of_the_street_alone() -> None:
    # Two kinds of hands of the same mean strength: all deals to the middle, or half to either end.
    ground = np.abs(np.subtract.outer(np.arange(21), np.arange(21))).astype(np.float32)
    rng = np.random.default_rng(18)
    middle, ends = rng.integers(9, 12, (50, 20)), rng.choice([0, 1, 19, 20], (50, 20))
    found = potential_kmeans(np.concatenate([middle, ends]).astype(np.uint16), np.ones(100), 2, ground, seed=19)
    assert len(set(found.labels[:50].tolist())) == len(set(found.labels[50:].tolist())) == 1
    assert found.labels[0] != found.labels[50]


def test_empty_clusters_go_to_the_farthest_hands() -> None:
    ground = np.abs(np.subtract.outer(np.arange(10), np.arange(10))).astype(np.float32)
    hands = np.array([[0, 0], [0, 1], [5, 5], [9, 9]], np.uint16)
    work = potential._Work(hands, ground, lambda work, size, _chunk: [work(0, size)])
    start = np.stack([np.eye(10)[0], np.eye(10)[7], np.eye(10)[7]]).astype(np.float32)
    work.labels[:] = 0
    work.away[:] = [0, 0.5, 5, 9]
    means = potential._means(work, np.array([1.0, 1, 1, 1]), start)
    np.testing.assert_array_equal(means[1:], np.eye(10)[[9, 5]])
    assert work.labels.tolist() == [0, 0, 0, 0]


GROUND, HANDS, ONES = plane(20, 5), random_hands(21, 4, 3, 5), np.ones(4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: potential_kmeans(HANDS, ONES, 5, GROUND, seed=1),
        lambda: potential_kmeans(HANDS, ONES, 0, GROUND, seed=1),
        lambda: potential_kmeans(HANDS + 5, ONES, 2, GROUND, seed=1),
        lambda: potential_kmeans(HANDS.astype(float), ONES, 2, GROUND, seed=1),
        lambda: potential_kmeans(HANDS, -ONES, 2, GROUND, seed=1),
        lambda: potential_kmeans(HANDS, ONES[:3], 2, GROUND, seed=1),
        lambda: potential_kmeans(HANDS, ONES, 2, GROUND[:4], seed=1),
        lambda: potential_kmeans(HANDS, ONES, 2, -GROUND, seed=1),
        lambda: potential_kmeans(HANDS[0], ONES, 2, GROUND, seed=1),
        lambda: potential_nearest(HANDS, np.ones((2, 4), np.float32), GROUND),
    ],
)
def test_bad_input(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="; "):
        call()
