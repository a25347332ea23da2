"""Hierarchical abstraction (Brown, Ganzfried and Sandholm 2015, Algorithm 1): public clusters, private buckets in each.

The boards of one street, in hold'em the 1,755 flops, are clustered by how similarly a base abstraction treats them
(Algorithms 2 and 3, in `clustering/public_boards.py`). Each cluster then has its own buckets, on that street and all
later ones. No two clusters share a bucket, so each cluster can be solved by itself.

On the public street, k-means clusters the hands of each public cluster. On later streets we deviate: clustering the
hands once per public cluster would be too slow, so k-means puts all hands of the street into many fine cells, and each
public cluster groups the cells into buckets by the same features, weighted by how often a cell is dealt there.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from equipoise.abstraction.clustering.distance import Metric
from equipoise.abstraction.clustering.kmeans import nearest
from equipoise.abstraction.clustering.public_boards import (
    PublicClusters,
    cluster_public,
    public_distances,
    transition_table,
)
from equipoise.abstraction.features.card_features import strengths
from equipoise.abstraction.features.hand_space import HandBlock, HandSpace, walk_hands
from equipoise.abstraction.maps import bucket_map as maps
from equipoise.abstraction.maps.bucket_map import BucketMap, PublicBuckets, StreetBuckets
from equipoise.abstraction.maps.card_recipe import CardRecipe, StreetRecipe
from equipoise.abstraction.maps.kmeans_street import Clusters, cluster_street, fit, street_named, street_points
from equipoise.cards.isomorphism import HandIndexer, IndexTables, hand_index
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, F64, U8, U16, kernel
from equipoise.core.progress import Fraction, Progress, part, stage
from equipoise.games.rules import GameRules

CELLS = 10  # default number of cells of a later street for each private bucket
MOST_CELLS = 5000


def hierarchical_streets(
    rules: GameRules, recipe: CardRecipe, progress: Progress | None
) -> tuple[dict[int, StreetBuckets], PublicBuckets, dict[str, Any]]:
    """The streets from the public one on, the public clusters, and their statistics for reports."""
    street = recipe.public_street(rules)
    found = cluster_boards(rules, recipe, progress)
    public = PublicBuckets(street, found.labels.astype(np.uint16), len(found.sizes))
    streets = {}
    for number in range(street, rules.rounds):
        own, fraction = recipe.streets[number], stage(progress, f"street {number + 1}")
        with street_named(rules, number):
            if own.method == "lossless":
                streets[number] = maps.lossless_street(rules, number)
            elif number == street:
                streets[number] = _street_of_clusters(rules, number, own, public, recipe.seed, fraction)
            else:
                streets[number] = _street_of_cells(rules, number, own, public, recipe.seed, fraction)
    about = {
        "clusters": len(found.sizes),
        "balance": found.balance,
        "balance_by_deals": found.weighted_balance,
        "within": found.within,
        "sizes": found.sizes.tolist(),
        "iterations": found.iterations,
        "converged": found.converged,
    }
    return streets, public, about


def cluster_boards(rules: GameRules, recipe: CardRecipe, progress: Progress | None) -> PublicClusters:
    """Algorithms 2 and 3 on the boards of the public street, in the order of their index."""
    assert recipe.public is not None
    street = recipe.public_street(rules)
    distances = board_distances(rules, recipe, street, progress)
    return cluster_public(
        distances, recipe.public.clusters, seed=recipe.seed, objective=recipe.public.objective,
        weights=board_weights(rules, street),
    )  # fmt: skip


def board_distances(rules: GameRules, recipe: CardRecipe, street: int, progress: Progress | None) -> F32:
    """float32[board, board]: Algorithm 2's distances; cached on disk unless the base is a file."""
    assert recipe.public is not None

    def build() -> dict[str, Any]:
        return {"distances": public_distances(*base_transitions(rules, recipe, street, progress))}

    space, base = HandSpace(rules, street), recipe.public.base
    size = 0 if isinstance(base, str) else 4 * len(public_boards(rules, street)) ** 2
    distances: F32 = space.kept("boards", ("distances",), size, build, base, recipe.seed)["distances"]
    return distances


def base_transitions(rules: GameRules, recipe: CardRecipe, street: int, progress: Progress | None) -> tuple[Any, int]:
    """Algorithm 2's table T, [board, base bucket], and the number of private states of a board."""
    assert recipe.public is not None
    base, boards = recipe.public.base, public_boards(rules, street)
    if isinstance(base, str):
        loaded = BucketMap.load(base, rules)
        buckets = loaded.buckets[street]
        rows = np.array([loaded.buckets_of_board(street, board.tolist()) for board in boards])
    else:
        own, buckets = StreetRecipe(method="emd", buckets=base), base
        try:
            label = cluster_street(rules, street, own, recipe.seed, progress=stage(progress, "base")).label
        except InputError as error:
            raise InputError(f"public.base: {error.what}", remedy=error.remedy) from None
        rows = _rows_of_boards(HandSpace(rules, street), boards, label)
    return transition_table(rows, buckets), int((rows[0] >= 0).sum())


def public_boards(rules: GameRules, street: int) -> U8:
    """uint8[board, card]: the boards of a street, suits renamed, by the index of their cards."""
    indexer = HandIndexer((rules.board_size(street),), rules.deck)
    return indexer.hands(np.arange(indexer.size))


def _rows_of_boards(space: HandSpace, boards: U8, label: Any) -> Any:
    """[board, hole] the labels of all hands of boards, -1 where blocked."""
    holes = space.tables.hole_card
    rows = np.full((len(boards), len(holes)), -1, np.int32)
    for row, board in zip(rows, boards, strict=True):
        live = ~np.isin(holes, board).any(axis=1)
        hands = np.hstack([holes[live], np.tile(board, (int(live.sum()), 1))])
        row[live] = label[space.indexer.indices(hands)]
    return rows


def board_weights(rules: GameRules, street: int) -> F64:
    """[board] the number of raw boards in each class."""
    space = HandSpace(rules, street)
    indexer = HandIndexer((space.board_cards,), rules.deck)
    weights = np.zeros(indexer.size)
    weights[indexer.indices(space.boards)] = space.board_sizes
    return weights


def _street_of_clusters(
    rules: GameRules, street: int, recipe: StreetRecipe, public: PublicBuckets, seed: int, progress: Fraction | None
) -> StreetBuckets:
    """The street whose boards are clustered: k-means on the hands of each cluster."""
    assert recipe.buckets is not None
    space = HandSpace(rules, street)
    points, metric = street_points(rules, street, recipe, seed, part(progress, 0, 0.3))
    boards = space.indexer.hands(np.arange(space.size))[:, rules.hole_cards :]
    cluster = public.label[HandIndexer((space.board_cards,), rules.deck).indices(boards)]
    cell = np.zeros(space.size, np.uint32)
    order = np.argsort(cluster, kind="stable")
    ends = np.cumsum(np.bincount(cluster, minlength=public.clusters))
    for number in range(public.clusters):
        hands = order[ends[number - 1] if number else 0 : ends[number]]
        inside = part(progress, 0.3 + 0.7 * number / public.clusters, 0.3 + 0.7 * (number + 1) / public.clusters)
        labels = _private(points[hands], space.weights[hands], recipe, metric, seed, number, inside)
        cell[hands] = number * recipe.buckets + labels
    buckets = public.clusters * recipe.buckets
    return StreetBuckets(
        space.indexer.rounds, buckets, cell.astype(np.uint16 if buckets <= 1 << 16 else np.uint32), method=recipe.method
    )


def _private(
    points: Any, weights: Any, recipe: StreetRecipe, metric: Metric, seed: int, number: int, progress: Fraction | None
) -> Any:
    """Buckets of the hands (or cells) of one public cluster."""
    assert recipe.buckets is not None
    try:
        centroids = fit(points, weights, recipe, recipe.buckets, metric, seed, progress)
    except InputError as error:
        raise InputError(f"public cluster {number}: {error.what}", remedy=error.remedy) from None
    return nearest(points, centroids, metric)[0]


def _street_of_cells(
    rules: GameRules, street: int, recipe: StreetRecipe, public: PublicBuckets, seed: int, progress: Fraction | None
) -> StreetBuckets:
    """A later street: fine cells for all hands, grouped into buckets by each cluster."""
    assert recipe.buckets is not None
    cells, join = grouped_cells(rules, street, recipe, public, seed, progress)
    buckets, deals = public.clusters * recipe.buckets, HandSpace(rules, street).indexer.rounds
    return StreetBuckets(deals, buckets, cells.label, join, maps.PUBLIC, recipe.method)


def grouped_cells(
    rules: GameRules, street: int, recipe: StreetRecipe, public: PublicBuckets, seed: int, progress: Fraction | None
) -> tuple[Clusters, Any]:
    """Fine cells for all hands of a street, and the bucket of each cluster and cell: uint32[cluster, cell]."""
    assert recipe.buckets is not None
    space = HandSpace(rules, street)
    count = recipe.cells or min(CELLS * recipe.buckets, MOST_CELLS, space.size)
    if space.last and recipe.method != "ochs" and not recipe.cells:
        count = min(count, len(np.unique(strengths(rules))))
    fine = recipe.model_copy(update={"buckets": count, "cells": None, "boards": None})
    cells = cluster_street(rules, street, fine, seed, progress=part(progress, 0, 0.8))
    weights = weigh_cells(space, public, cells, rules.board_size(public.street), part(progress, 0.8, 0.9))
    join = np.zeros((public.clusters, count), np.uint32)
    for number in range(public.clusters):
        there = np.flatnonzero(weights[number])
        if recipe.boards and len(there) <= recipe.buckets:  # rare boards, e.g. four of a kind, have few hands
            own = np.arange(len(there))
        else:
            own = _private(cells.centroids[there], weights[number, there], recipe, cells.metric, seed, number, None)
        join[number] = number * recipe.buckets  # a cell that is never dealt there may have any bucket of the cluster
        join[number, there] += own.astype(np.uint32)
    return cells, join


def weigh_cells(space: HandSpace, public: PublicBuckets, cells: Clusters, seen: int, progress: Fraction | None) -> F64:
    """float64[public cluster, cell]: the number of deals of each; any cards of a board may be the clustered ones."""
    indexer = HandIndexer((seen,), space.rules.deck)
    subsets = np.array(list(itertools.combinations(range(space.board_cards), seen)), np.uint8)
    weights = np.zeros((public.clusters, len(cells.centroids)))

    def work(block: HandBlock) -> F64:
        found = np.zeros_like(weights)
        count_cells(
            block, subsets, indexer.tables, public.label, cells.label,
            np.empty(seen, np.uint8), np.empty(public.clusters), found,
        )  # fmt: skip
        return found

    for _, found in walk_hands(space, work, progress=progress):
        weights += found
    return weights


@kernel
def count_cells(
    block: HandBlock,
    subsets: U8,
    indexing: IndexTables,
    label: U16,
    cell: Any,
    cards: U8,
    share: F64,
    weights: F64,
) -> None:
    """IN: a block of hands, uint8[subset, card], uint16[board], [hand]; scratch; IN OUT: float64[cluster, cell]."""
    for board in range(block.boards.shape[0]):
        share[:] = 0.0
        for subset in range(subsets.shape[0]):
            for i in range(subsets.shape[1]):
                cards[i] = block.boards[board, subsets[subset, i]]
            share[label[hand_index(cards, indexing)]] += np.float64(block.sizes[board])
        for cluster in range(share.size):
            if share[cluster] > 0.0:
                row = weights[cluster]
                for place in range(block.first[board], block.first[board + 1]):
                    row[cell[block.hand[place]]] += share[cluster] * np.float64(block.times[place])
