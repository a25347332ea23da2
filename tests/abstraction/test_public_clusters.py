"""Clusters of public states: Algorithms 2 and 3 of Tartanian7 against slow twins, their laws, Leduc and small flops."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from equipoise.abstraction.clustering.public_boards import (
    Objective,
    PublicClusters,
    cluster_public,
    public_distances,
    transition_table,
)
from equipoise.cards.deck import Deck
from equipoise.cards.hand_ranks import Ranker
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, I32, U8

OBJECTIVES: list[Objective] = ["sum", "mean", "medoid"]
DECK = Deck(6, 3)
HOLES = list(itertools.combinations(range(DECK.size), 2))
LIVE = 15 * 14 // 2  # holes that a flop of this deck leaves


class Flops(NamedTuple):
    flops: U8  # [flop, 3] canonical
    weights: I32  # [flop] how many flops each stands for
    table: I32
    distances: F32


def base_buckets(flops: U8) -> I32:
    """A base abstraction of the flop: the rank of the five cards. int32[flop, hole], -1 where blocked."""
    ranker = Ranker(DECK, 5)
    hands = np.array([[(*hole, *flop) for hole in HOLES] for flop in flops.tolist()], np.uint8)
    blocked = np.array([[bool(set(hole) & set(flop)) for hole in HOLES] for flop in flops.tolist()])
    indexer = HandIndexer((2, 3), DECK)
    ranks = ranker.ranks(indexer.hands(np.arange(indexer.size)))
    bucket_of_hand = np.unique(ranks, return_inverse=True)[1]
    buckets = np.full(blocked.shape, -1, np.int32)
    buckets[~blocked] = bucket_of_hand[indexer.indices(hands[~blocked])]
    return buckets


@functools.cache
def small_flops() -> Flops:
    indexer = HandIndexer((3,), DECK)
    flops = indexer.hands(np.arange(indexer.size))
    everything = np.array(list(itertools.combinations(range(DECK.size), 3)), np.uint8)
    weights = np.bincount(indexer.indices(everything).astype(np.int64)).astype(np.int32)
    buckets = base_buckets(flops)
    table = transition_table(buckets, int(buckets.max()) + 1)
    return Flops(flops, weights, table, public_distances(table, LIVE))


def random_distances(seed: int, states: int) -> F32:
    """Whole 64ths, so that sums are exact and ties common."""
    numbers = np.random.default_rng(seed).integers(0, 64, (states, states))
    return ((np.triu(numbers, 1) + np.triu(numbers, 1).T) / 64).astype(np.float32)


def cost(distances: F32, clusters: PublicClusters) -> float:
    same = clusters.labels[:, None] == clusters.labels
    return float((distances * same).sum(dtype=np.float64)) / 2


# Slow twins


def naive_distance(mine: list[int], theirs: list[int], private_states: int) -> float:
    similarity = 0
    for bucket in range(len(mine)):
        similarity += min(mine[bucket], theirs[bucket])
    return (private_states - similarity) / private_states


def naive_passes(distances: F32, start: I32, clusters: int, objective: str, *, at_once: bool) -> list[list[int]]:
    """Labels after each pass of Algorithm 3, sums made anew for each state. `at_once`: as the paper prints it."""
    history = [start.tolist()]
    while len(history) == 1 or (history[-1] != history[-2] and len(history) < 40):
        now = list(history[-1])
        seen = list(now) if at_once else now
        for i in range(len(now)):
            others = [[j for j in range(len(now)) if j != i and seen[j] == c] for c in range(clusters)]
            values = [sum(float(distances[i, j]) for j in others[c]) for c in range(clusters)]
            if objective == "mean":
                values = [value / max(len(other), 1) for value, other in zip(values, others, strict=True)]
            if at_once or min(values) < values[now[i]]:
                now[i] = values.index(min(values))
        history.append(now)
    return history


def naive_medoid_labels(distances: F32, start: I32, clusters: int) -> list[int]:
    labels: list[int] = start.tolist()
    before: list[int] = []
    while labels != before:
        before = list(labels)
        medoids = []
        for c in range(clusters):
            members = [i for i, label in enumerate(labels) if label == c]
            medoids.append(min(members, key=lambda i: sum(float(distances[i, j]) for j in members)))
        for i in range(len(labels)):
            near = [float(distances[i, medoid]) for medoid in medoids]
            if min(near) < near[labels[i]]:
                labels[i] = near.index(min(near))
    return labels


# Algorithm 2


def test_transitions_are_counted_and_blocked_private_states_are_not() -> None:
    rng = np.random.default_rng(1)
    buckets_of = rng.integers(-1, 7, (9, 40))
    table = transition_table(buckets_of, 8)
    assert table.shape == (9, 8)
    for row, counts in zip(buckets_of.tolist(), table.tolist(), strict=True):
        expected = Counter(row)
        assert counts == [expected[bucket] for bucket in range(8)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_distances_equal_the_definition(threads: int) -> None:
    rng = np.random.default_rng(2)
    table = transition_table(
        rng.integers(-1, 30, (70, 25)) // rng.integers(1, 6, (70, 1)), 33
    )  # some narrow, some wide
    distances = public_distances(table, 26, threads=threads)
    for i, j in itertools.product(range(70), repeat=2):
        expected = 0 if i == j else naive_distance(table[i].tolist(), table[j].tolist(), 26)
        assert distances[i, j] == np.float32(expected)


def test_a_distance_is_half_of_l1_and_so_a_metric() -> None:
    # Footnote 3 of the paper says that d fails the triangle inequality; its example has similarities for distances.
    always_one, always_two, mixed = [10, 0, 0], [0, 10, 0], [2, 2, 6]
    example = public_distances(np.array([always_one, always_two, mixed]), 10)
    np.testing.assert_array_equal(example, np.array([[0, 1, 0.8], [1, 0, 0.8], [0.8, 0.8, 0]], np.float32))
    table, distances = small_flops().table, small_flops().distances
    apart = np.abs(table[:, None] - table).sum(axis=2) / (2 * LIVE)
    np.testing.assert_array_equal(distances, apart.astype(np.float32))
    assert all((distances[i] + distances[i][:, None] >= distances - 1e-6).all() for i in range(len(distances)))


# Algorithm 3


@pytest.mark.parametrize("objective", ["sum", "mean"])
@pytest.mark.parametrize("seed", range(6))
def test_clusters_equal_the_slow_twin_pass_by_pass(objective: Objective, seed: int) -> None:
    distances = random_distances(seed, 40)
    start = cluster_public(distances, 6, seed=seed, objective=objective, iterations=0)
    history = naive_passes(distances, start.labels, 6, objective, at_once=False)
    for passes, labels in enumerate(history[:-1]):
        result = cluster_public(distances, 6, seed=seed, objective=objective, iterations=passes)
        assert result.labels.tolist() == labels
        assert result.iterations == passes and not result.converged
    result = cluster_public(distances, 6, seed=seed, objective=objective, iterations=39)
    assert result.labels.tolist() == history[-1]
    assert result.converged == (history[-1] == history[-2])
    assert result.iterations == len(history) - 1


@pytest.mark.parametrize("seed", range(6))
def test_medoid_clusters_equal_the_slow_twin(seed: int) -> None:
    points = np.random.default_rng(seed).random((80, 2))  # no ties
    distances = np.hypot(*(points[:, None] - points).transpose(2, 0, 1)).astype(np.float32)
    start = cluster_public(distances, 7, seed=seed, objective="medoid", iterations=0)
    result = cluster_public(distances, 7, seed=seed, objective="medoid")
    assert result.converged and result.iterations > 1
    assert result.labels.tolist() == naive_medoid_labels(distances, start.labels, 7)


def test_start_is_the_nearest_seed() -> None:
    # Iteration 0 is a partition by nearest seed: some choice of one member a cluster explains all labels.
    distances = random_distances(3, 24)
    labels = cluster_public(distances, 3, seed=5, iterations=0).labels
    members = [np.flatnonzero(labels == c) for c in range(3)]
    assert any(
        all(distances[i, seeds[labels[i]]] == distances[i, list(seeds)].min() for i in range(24))
        for seeds in itertools.product(*members)
    )


def test_seeds_are_drawn_by_squared_distance() -> None:
    # Eight states in one place, one near them (1), one far from all (3). The near one is apart from the eight only if
    # both seeds are there: the second has a chance of 1 / 10 after one of the eight, and of 8 / 17 after the near one.
    distances = np.zeros((10, 10), np.float32)
    distances[8, :8] = distances[:8, 8] = 1
    distances[9, :9] = distances[:9, 9] = 3
    starts = [cluster_public(distances, 2, seed=seed, iterations=0).labels for seed in range(2000)]
    apart = np.mean([Counter(labels[:8].tolist()).most_common(1)[0][0] != labels[8] for labels in starts])
    expected = 0.8 * 1 / 10 + 0.1 * 8 / 17
    assert abs(apart - expected) < 5 * (expected * (1 - expected) / 2000) ** 0.5


def test_as_printed_the_algorithm_collapses_into_one_cluster() -> None:
    distances = small_flops().distances
    for seed in range(3):
        start = cluster_public(distances, 8, seed=seed, iterations=0)
        history = naive_passes(distances, start.labels, 8, "sum", at_once=True)
        assert len(history) == 40  # never at rest: all move together, from one empty cluster to the next
        assert all(len(set(labels)) == 1 for labels in history[5:])
        assert history[5] != history[6]


@pytest.mark.parametrize("seed", range(4))
def test_no_single_move_lowers_the_sum_of_distances(seed: int) -> None:
    distances = small_flops().distances
    result = cluster_public(distances, 8, seed=seed)
    assert result.converged
    best = cost(distances, result)
    costs = [cost(distances, cluster_public(distances, 8, seed=seed, iterations=n)) for n in range(result.iterations)]
    assert all(np.diff(costs) <= 0) and costs[0] > best == costs[-1]
    same = np.eye(8)[result.labels]
    sums = distances.astype(np.float64) @ same
    own = sums[same == 1]
    assert (sums >= own[:, None])[result.sizes[result.labels] > 1].all()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_separate_groups_are_found(objective: Objective) -> None:
    rng = np.random.default_rng(4)
    group = rng.permutation(np.repeat(np.arange(5), 7))
    noise = random_distances(4, 35) / 64
    distances = np.where(group[:, None] == group, noise, 1 - noise).astype(np.float32)
    np.fill_diagonal(distances, 0)
    for seed in range(5):
        result = cluster_public(distances, 5, seed=seed, objective=objective)
        assert len(set(zip(group.tolist(), result.labels.tolist(), strict=True))) == 5
        assert result.sizes.tolist() == [7] * 5 and result.balance == 1
        same = (group[:, None] == group) & ~np.eye(35, dtype=bool)
        assert result.within == pytest.approx(float(distances[same].mean()))


def test_sums_give_more_balanced_sizes_than_means_and_medoids() -> None:
    flops = small_flops()
    balance = {
        objective: np.mean([cluster_public(flops.distances, 10, seed=s, objective=objective).balance for s in range(8)])
        for objective in OBJECTIVES
    }
    assert balance["sum"] < 1.3 < min(balance["mean"], balance["medoid"])  # footnote 4 of the paper


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_cluster_is_empty(objective: Objective) -> None:
    twins = np.repeat(np.repeat(random_distances(7, 5), 4, axis=0), 4, axis=1)  # five different states, four times each
    nothing = np.zeros((12, 12), np.float32)
    cases = [(twins, 5), (twins, 9), (twins, 20), (nothing, 5), (nothing, 12), (random_distances(8, 30), 30)]
    for (distances, clusters), seed in itertools.product(cases, range(5)):
        result = cluster_public(distances, clusters, seed=seed, objective=objective)
        assert result.sizes.min() >= 1
        assert result.converged
        assert result.sizes.tolist() == np.bincount(result.labels, minlength=clusters).tolist()
        assert (clusters == len(distances)) <= (result.within == 0 and result.balance == 1)
    whole = cluster_public(twins, 1, seed=0, objective=objective)
    assert not whole.labels.any()
    assert whole.within == pytest.approx(float(twins.sum()) / (20 * 19))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_seed_decides_everything_and_weights_nothing(objective: Objective) -> None:
    flops = small_flops()
    results = [cluster_public(flops.distances, 9, seed=s, objective=objective) for s in range(4)]
    assert len({result.labels.tobytes() for result in results}) > 1
    again = cluster_public(flops.distances, 9, seed=3, objective=objective, weights=flops.weights)
    np.testing.assert_array_equal(again.labels, results[3].labels)
    assert results[3].weighted_sizes is None and results[3].weighted_balance is None
    assert again.weighted_sizes is not None and again.weighted_sizes.sum() == 18 * 17 * 16 // 6
    assert again.weighted_sizes[2] == flops.weights[again.labels == 2].sum()
    assert again.weighted_balance == again.weighted_sizes.max() / again.weighted_sizes.mean()


# Cards


def test_leduc_boards_cluster_by_rank() -> None:
    deck = Deck(3, 2)
    pair = deck.ranks
    buckets = [
        [-1 if hole == board else pair if deck.rank(hole) == deck.rank(board) else deck.rank(hole) for hole in range(6)]
        for board in range(6)
    ]
    table = transition_table(np.array(buckets), 4)
    assert table[0].tolist() == [0, 2, 2, 1]
    distances = public_distances(table, 5)
    for one, two in itertools.combinations(range(6), 2):
        # Of five holes the pair and those of the third rank meet.
        assert distances[one, two] == np.float32(0 if deck.rank(one) == deck.rank(two) else 0.4)
    for seed, objective in itertools.product(range(10), OBJECTIVES):
        labels = cluster_public(distances, 3, seed=seed, objective=objective).labels
        assert len({(deck.rank(board), int(label)) for board, label in enumerate(labels)}) == 3


def test_flops_have_all_their_live_holes_and_suits_do_not_matter() -> None:
    flops = small_flops()
    assert (flops.table.sum(axis=1) == LIVE).all()
    renamed = (flops.flops // 3 * 3 + (flops.flops % 3 + 1) % 3).astype(np.uint8)
    np.testing.assert_array_equal(transition_table(base_buckets(renamed), flops.table.shape[1]), flops.table)


def test_like_flops_are_nearer_than_unlike_ones() -> None:
    indexer = HandIndexer((3,), DECK)

    def distance(one: str, two: str) -> float:
        at = [indexer.index(DECK.read_cards(text)) for text in (one, two)]
        return float(small_flops().distances[at[0], at[1]])

    assert distance("7c 6d 2h", "7c 6d 3h") < distance("7c 6d 2h", "7c 7d 2h")
    assert distance("7c 6d 2h", "7c 6d 2c") < distance("7c 6d 2h", "7c 6c 2c")


@pytest.mark.parametrize(
    "call",
    [
        lambda: transition_table(np.array([[0, 3]]), 3),
        lambda: transition_table(np.array([[0, -2]]), 3),
        lambda: public_distances(np.array([[2, 3], [3, 3]]), 5),
        lambda: public_distances(np.array([[2, -1]]), 5),
        lambda: cluster_public(np.zeros((3, 2), np.float32), 2, seed=0),
        lambda: cluster_public(np.full((2, 2), np.nan, np.float32), 2, seed=0),
        lambda: cluster_public(np.ones((2, 2), np.float32), 2, seed=0),
        lambda: cluster_public(-random_distances(0, 5), 2, seed=0),
        lambda: cluster_public(np.triu(random_distances(0, 5)), 2, seed=0),
        lambda: cluster_public(random_distances(0, 5), 0, seed=0),
        lambda: cluster_public(random_distances(0, 5), 6, seed=0),
        lambda: cluster_public(random_distances(0, 5), 2, seed=0, objective="median"),  # type: ignore[arg-type]
        lambda: cluster_public(random_distances(0, 5), 2, seed=0, iterations=-1),
        lambda: cluster_public(random_distances(0, 5), 2, seed=0, weights=np.ones(4)),
    ],
)
def test_bad_input(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="; "):
        call()
