"""Buckets by k-means: each hand goes to the centroid nearest to its features. Imperfect recall.

Features: the histogram of final strength (compared by the earth mover's distance for "emd", as a vector for "l2"),
strength against clusters of the opponent's holes ("ochs", Johanson and others 2013), the distribution over the next
street's buckets ("potential", Ganzfried and Sandholm 2014). On the last street a histogram has one full bin, so "emd"
and "l2" cluster the strength itself. Centroids are fitted to a sample of hands, each weighted by how often it is dealt;
then every hand is assigned. Features that would not fit into memory are streamed board by board.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.abstraction.clustering.distance import Metric, distances
from equipoise.abstraction.clustering.kmeans import kmeans, nearest
from equipoise.abstraction.clustering.potential_aware import potential_kmeans, potential_nearest
from equipoise.abstraction.features.card_features import StreetFeatures, histograms, strengths
from equipoise.abstraction.features.hand_space import HandSpace
from equipoise.abstraction.maps.card_recipe import StreetRecipe
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, F64, I64, U8
from equipoise.core.progress import Fraction, part
from equipoise.games.bet_menu import street_names
from equipoise.games.rules import GameRules

STREAMED = 20_000_000  # hands: features of more are streamed, not kept
AT_ONCE = 1 << 20  # hands


@dataclass(frozen=True, eq=False)
class Clusters:
    """A street's hands in clusters."""

    label: Any  # unsigned[hand]
    centroids: F32
    metric: Metric
    ground: F32  # [bucket, bucket] how far apart centroids are
    cost: float  # the mean distance over all deals; its mean square for "l2" and "ochs"
    opponents: U8 | None = None  # [hole] clusters of the opponent's holes, for "ochs"


def cluster_street(
    rules: GameRules,
    street: int,
    recipe: StreetRecipe,
    seed: int,
    after: Clusters | None = None,
    progress: Fraction | None = None,
) -> Clusters:
    """The clusters of a street's hands; `after` are the clusters of the next street, for "potential"."""
    assert recipe.buckets is not None
    space = HandSpace(rules, street)
    if recipe.method == "potential":
        assert after is not None
        return _by_potential(space, recipe, seed, after, progress)
    if recipe.method != "ochs" and space.last:
        return _by_strength(space, recipe, seed, progress)
    opponents = opponent_clusters(rules, recipe.clusters, seed) if recipe.method == "ochs" else None
    if opponents is not None and space.size >= STREAMED:
        return replace(_by_stream(space, opponents, recipe, seed, progress), opponents=opponents)
    points, metric = street_points(rules, street, recipe, seed, part(progress, 0, 0.5), opponents)
    centroids = fit(points, space.weights, recipe, recipe.buckets, metric, seed, part(progress, 0.5, 0.8))
    starts = range(0, space.size, AT_ONCE)
    blocks = ((np.arange(at, min(at + AT_ONCE, space.size)), points[at : at + AT_ONCE]) for at in starts)
    return replace(_assign(space, blocks, centroids, metric, part(progress, 0.8, 1)), opponents=opponents)


def street_points(
    rules: GameRules,
    street: int,
    recipe: StreetRecipe,
    seed: int,
    progress: Fraction | None = None,
    opponents: U8 | None = None,
) -> tuple[Any, Metric]:
    """The points that k-means clusters, [hand, column] for all hands of a street, and the metric."""
    if recipe.method == "ochs":
        if opponents is None:
            opponents = opponent_clusters(rules, recipe.clusters, seed)
        ochs = StreetFeatures(rules, street).ochs(opponents, recipe.clusters)
        return ochs.table(progress=progress), "l2"
    if HandSpace(rules, street).last:
        top = StreetFeatures(rules, street).top
        return (strengths(rules, progress=progress) / np.float32(top))[:, np.newaxis], "l2"
    found = histograms(rules, street, recipe.bins, progress=progress)
    if recipe.method == "emd":
        return found.histogram, "emd"
    return found.histogram / np.float32(found.completions), "l2"


def fit(
    points: Any,
    weights: Any,
    recipe: StreetRecipe,
    buckets: int,
    metric: Metric,
    seed: int,
    progress: Fraction | None = None,
) -> F32:
    """Centroids of points, fitted to a sample of them."""
    chosen = sample(len(points), recipe.sample, seed)
    rows, mass = (points, weights) if chosen is None else (points[chosen], weights[chosen])
    return kmeans(
        rows, np.asarray(mass, np.float64), buckets, metric=metric, seed=seed, restarts=recipe.restarts,
        iterations=recipe.iterations, progress=progress,
    ).centroids  # fmt: skip


def sample(size: int, wanted: int, seed: int) -> I64 | None:
    """Some of `size` hands, in order; None if all are wanted."""
    if not wanted or wanted >= size:
        return None
    return np.sort(np.random.default_rng(seed).choice(size, wanted, replace=False, shuffle=False))


def _assign(
    space: HandSpace, blocks: Iterator[tuple[Any, Any]], centroids: F32, metric: Metric, progress: Fraction | None
) -> Clusters:
    """Assign every hand to its nearest centroid; `blocks` are pairs of hands and features."""
    label = np.empty(space.size, np.min_scalar_type(len(centroids) - 1).newbyteorder("="))
    cost, done = 0.0, 0
    for hands, rows in blocks:
        labels, away = nearest(rows, centroids, metric)
        label[hands] = labels
        cost += float(space.weights[hands] @ (away.astype(np.float64) ** (2 if metric == "l2" else 1)))
        done += len(hands)
        if progress:
            progress(done / space.size)
    ground = distances(centroids, centroids, metric)
    return Clusters(_wide(label), centroids, metric, ground, cost / float(space.weights.sum(dtype=np.int64)))


def _by_strength(space: HandSpace, recipe: StreetRecipe, seed: int, progress: Fraction | None) -> Clusters:
    """The last street by strength alone: hands of equal strength are one point."""
    assert recipe.buckets is not None
    found = strengths(space.rules, progress=part(progress, 0, 0.8))
    top = StreetFeatures(space.rules, space.street).top
    weights: F64 = np.bincount(found, space.weights, top + 1).astype(np.float64)
    there = np.flatnonzero(weights)
    if recipe.buckets > len(there):
        raise InputError(f"{recipe.buckets} buckets for {len(there)} strengths", remedy="ask for fewer, or use ochs")
    points = (there / top).astype(np.float32)[:, np.newaxis]
    clustering = kmeans(
        points,
        weights[there],
        recipe.buckets,
        metric="l2",
        seed=seed,
        restarts=recipe.restarts,
        iterations=recipe.iterations,
    )
    by_strength = np.zeros(top + 1, np.uint16)
    by_strength[there] = clustering.labels
    ground = distances(clustering.centroids, clustering.centroids, "l2")
    return Clusters(by_strength[found], clustering.centroids, "l2", ground, clustering.cost)


def _by_stream(space: HandSpace, opponent: U8, recipe: StreetRecipe, seed: int, progress: Fraction | None) -> Clusters:
    """OCHS when the features of all hands do not fit into memory: one pass for the sample, one to assign."""
    assert recipe.buckets is not None
    chosen = sample(space.size, recipe.sample, seed)
    if chosen is None:
        raise InputError(f"a sample of all {space.size:,} hands", remedy="give sample = 300000, say")
    wanted = np.zeros(space.size, bool)
    wanted[chosen] = True
    hands_of: list[Any] = []
    rows_of: list[Any] = []
    ochs = StreetFeatures(space.rules, space.street).ochs(opponent, recipe.clusters)
    for hands, rows in ochs.stream(progress=part(progress, 0, 0.3)):
        here = wanted[hands]
        hands_of.append(hands[here])
        rows_of.append(rows[here])
    hands, rows = np.concatenate(hands_of), np.concatenate(rows_of)
    order = np.argsort(hands)  # the order of a table of features
    hands, rows = hands[order], rows[order]
    centroids = kmeans(
        rows, space.weights[hands].astype(np.float64), recipe.buckets, metric="l2", seed=seed,
        restarts=recipe.restarts, iterations=recipe.iterations, progress=part(progress, 0.3, 0.5),
    ).centroids  # fmt: skip
    blocks = _gathered(ochs.stream())
    return _assign(space, blocks, centroids, "l2", part(progress, 0.5, 1))


def _gathered(blocks: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Merge blocks, so that assigning has enough work to share among threads."""
    hands: list[Any] = []
    rows: list[Any] = []
    for some, features in blocks:
        hands.append(some)
        rows.append(features)
        if sum(map(len, hands)) >= AT_ONCE:
            yield np.concatenate(hands), np.concatenate(rows)
            hands, rows = [], []
    if hands:
        yield np.concatenate(hands), np.concatenate(rows)


def _by_potential(
    space: HandSpace, recipe: StreetRecipe, seed: int, after: Clusters, progress: Fraction | None
) -> Clusters:
    assert recipe.buckets is not None
    feature = StreetFeatures(space.rules, space.street).next_buckets(after.label)
    found = feature.table(progress=part(progress, 0, 0.2))
    chosen = sample(space.size, recipe.sample, seed)
    rows, weights = (found, space.weights) if chosen is None else (found[chosen], space.weights[chosen])
    clustering = potential_kmeans(
        rows, weights.astype(np.float64), recipe.buckets, after.ground, seed=seed, iterations=recipe.iterations,
        progress=part(progress, 0.2, 0.8),
    )  # fmt: skip
    label, away = potential_nearest(found, clustering.centroids, after.ground)
    apart = _apart(clustering.centroids, after.ground)
    cost = float(space.weights @ away.astype(np.float64)) / float(space.weights.sum(dtype=np.int64))
    return Clusters(_wide(label), clustering.centroids, "l2", apart, cost)


def _apart(means: F32, ground: F32) -> F32:
    """The distances between means: each mean, rounded to a list of next buckets, is measured like a hand.

    The two directions are averaged. The diagonal is set to 0, since rounding moves a list away from its own mean.
    """
    deals = 64
    places = (np.arange(deals) + 0.5) / deals
    shares = np.cumsum(means, axis=1, dtype=np.float64)
    lists = np.array([np.searchsorted(row / row[-1], places) for row in shares]).astype(np.uint16)
    matrix = np.stack([potential_nearest(lists, mean[np.newaxis], ground)[1] for mean in means])
    matrix = (matrix + matrix.T) / np.float32(2)
    np.fill_diagonal(matrix, 0)
    return np.asarray(matrix)


def opponent_clusters(rules: GameRules, clusters: int, seed: int) -> U8:
    """uint8[hole]: clusters of holes before any board card, by the earth mover's distance, weakest first."""
    space = HandSpace(rules, 0)
    hole_hand = space.indexer.indices(hole_card_table(rules.deck, rules.hole_cards))
    histogram = histograms(rules, 0).histogram
    clustering = kmeans(histogram, space.weights.astype(np.float64), clusters, metric="emd", seed=seed, restarts=10)
    strength = clustering.centroids @ np.arange(histogram.shape[1])  # of the centroid: a cluster may be empty
    order = np.argsort(np.argsort(strength))
    return order[clustering.labels][hole_hand].astype(np.uint8)


def _wide(label: Any) -> Any:
    """At least sixteen bits, as the tables of a map."""
    return label.astype(np.uint16) if label.max() < 1 << 16 else label.astype(np.uint32)


@contextmanager
def street_named(rules: GameRules, street: int) -> Iterator[None]:
    """Put the street's name in front of an error."""
    try:
        yield
    except InputError as error:
        name = street_names(rules.rounds)[street]
        raise InputError(f"{name}: {error.what}", where=error.where, remedy=error.remedy) from None
