"""A street with public buckets of its boards, and private buckets inside each (Jackson 2013, section 5.2).

Boards are clustered by k-means on their features (`features/board_features.py`). The private buckets of a public one
are made as in `hierarchy.py`: fine cells for all hands of the street, grouped by the deals of the public bucket. Unlike
there, every street has public buckets of its own, and forgets those of the street before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.abstraction.clustering.kmeans import kmeans
from equipoise.abstraction.features.board_features import board_features
from equipoise.abstraction.features.hand_space import HandBlock, HandSpace, fill
from equipoise.abstraction.maps.bucket_map import PublicBuckets, StreetBuckets
from equipoise.abstraction.maps.card_recipe import StreetRecipe
from equipoise.abstraction.maps.hierarchy import grouped_cells
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.arrays import F64, I64, U16
from equipoise.core.progress import Fraction, part
from equipoise.games.rules import GameRules

EXAMPLES = 4  # boards of a public bucket in a report


def street_by_boards(
    rules: GameRules, street: int, recipe: StreetRecipe, seed: int, progress: Fraction | None = None
) -> tuple[StreetBuckets, dict[str, Any]]:
    """The buckets of a street with `boards`, and what its public buckets are like, for reports."""
    assert recipe.buckets is not None
    space = HandSpace(rules, street)
    public, about = public_buckets(rules, street, recipe, seed, part(progress, 0, 0.2))
    cells, join = grouped_cells(rules, street, recipe, public, seed, part(progress, 0.2, 0.9))
    indexer = HandIndexer((space.board_cards,), rules.deck)
    buckets = public.clusters * recipe.buckets
    label = np.zeros(space.size, np.uint16 if buckets <= 1 << 16 else np.uint32)

    def work(block: HandBlock) -> tuple[Any]:
        cluster = np.repeat(public.label[indexer.indices(block.boards)], np.diff(block.first))
        return (join[cluster, cells.label[block.hand]].astype(label.dtype),)

    fill(space, work, (label,), progress=part(progress, 0.9, 1))
    return StreetBuckets(space.indexer.rounds, buckets, label, method=recipe.method), about


def public_buckets(
    rules: GameRules, street: int, recipe: StreetRecipe, seed: int, progress: Fraction | None = None
) -> tuple[PublicBuckets, dict[str, Any]]:
    """The boards of a street in public buckets: the strongest for a strong range first."""
    assert recipe.boards is not None
    space = HandSpace(rules, street)
    features, weights = board_features(rules, street, progress), space.board_sizes.astype(np.float64)
    found = kmeans(features, weights, recipe.boards, metric="l2", seed=seed, restarts=recipe.restarts, iterations=100)
    share = weights / weights.sum()
    order = np.argsort(-found.centroids[:, 0], kind="stable")
    number: U16 = np.argsort(order).astype(np.uint16)
    mine = number[found.labels]
    label = np.zeros(len(features), np.uint16)
    label[HandIndexer((space.board_cards,), rules.deck).indices(space.boards)] = mine
    away = ((features - found.centroids[found.labels]) ** 2).sum(axis=1)
    about = {
        "boards": len(features),
        "within": float(share @ away) / float((share @ (features - share @ features) ** 2).sum()),
        "buckets": [_described(space, np.flatnonzero(mine == bucket), share, away) for bucket in range(recipe.boards)],
    }
    return PublicBuckets(street, label, recipe.boards), about


def _described(space: HandSpace, boards: I64, share: F64, away: F64) -> dict[str, Any]:
    """A public bucket for reports: the number of its boards, their share of deals, and the most central ones."""
    central = boards[np.argsort(away[boards], kind="stable")[:EXAMPLES]]
    examples = [space.rules.deck.text(space.boards[board].tolist()) for board in central]
    return {"boards": len(boards), "share": float(share[boards].sum()), "examples": examples}
