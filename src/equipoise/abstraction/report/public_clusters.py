"""The public clusters of a hierarchical abstraction: sizes, similarity of their boards, and sample boards.

Distances are those of Algorithm 2 (`clustering/public_boards.py`). The picture of the boards is classical
multidimensional scaling (Torgerson 1952): the two leading eigenvectors of the doubly centred squared distances, by
subspace iteration.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.card_recipe import CardRecipe
from equipoise.abstraction.maps.hierarchy import board_distances, board_weights, public_boards
from equipoise.core.jit import F32, F64
from equipoise.core.progress import Progress

DIRECTIONS, ROUNDS = 8, 200  # of the subspace iteration
EXAMPLES = 4


@dataclass(frozen=True)
class ClusterReport:
    """One cluster of boards."""

    boards: int
    share: float  # of all boards as they are dealt
    within: float | None  # the mean distance of two of its boards
    examples: tuple[str, ...]  # the most central board first


@dataclass(frozen=True)
class PublicReport:
    """The clusters of a street's boards. Balance is the largest cluster by the mean one; 1 is perfect."""

    street: str
    boards: int
    balance: float
    balance_by_deals: float
    within: float | None  # the mean distance of a board to the others of its cluster
    iterations: int | None
    converged: bool | None
    clusters: tuple[ClusterReport, ...]
    label: Any = field(repr=False, compare=False)  # [board]
    place: F64 = field(repr=False, compare=False)  # [board, 2] for the picture
    central: tuple[int, ...] = field(repr=False, compare=False)  # [cluster] the most central board

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {key: value for key, value in asdict(self).items() if key not in ("label", "place", "central")}


def public_report(found: BucketMap, recipe: CardRecipe, seed: int, progress: Progress | None) -> PublicReport | None:
    """The public clusters of a map, or nothing if it has none."""
    if found.public is None:
        return None
    rules, street, label = found.rules, found.public.street, np.asarray(found.public.label)
    boards = public_boards(rules, street)
    distances = board_distances(rules, recipe, street, progress)
    weights = board_weights(rules, street)
    rng = np.random.default_rng(seed)
    clusters, central = [], []
    for number in range(found.public.clusters):
        members = np.flatnonzero(label == number)
        between = distances[np.ix_(members, members)].sum(axis=1, dtype=np.float64)
        middle = int(members[between.argmin()])
        others = rng.permutation(members[members != middle])[: EXAMPLES - 1]
        shown = [rules.deck.text(sorted(board.tolist(), reverse=True)) for board in boards[[middle, *others]]]
        pairs = len(members) * (len(members) - 1)
        within = float(between.sum() / pairs) if pairs else None
        clusters.append(
            ClusterReport(len(members), float(weights[members].sum() / weights.sum()), within, tuple(shown))
        )
        central.append(middle)
    about = found.about.get("public", {})
    return PublicReport(
        street=rules.street_name(street),
        boards=len(boards),
        balance=max(c.boards for c in clusters) * len(clusters) / len(boards),
        balance_by_deals=max(c.share for c in clusters) * len(clusters),
        within=about.get("within"),
        iterations=about.get("iterations"),
        converged=about.get("converged"),
        clusters=tuple(clusters),
        label=label,
        place=in_the_plane(distances),
        central=tuple(central),
    )


def in_the_plane(distances: F32) -> F64:
    """float64[point, 2]: places in the plane whose distances are like those given."""
    centred = -0.5 * distances.astype(np.float64) ** 2
    centred -= centred.mean(axis=0)
    centred -= centred.mean(axis=1)[:, np.newaxis]
    columns = min(DIRECTIONS, len(centred))
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((len(centred), columns)))[0]
    for _ in range(ROUNDS):
        basis = np.linalg.qr(centred @ basis)[0]
    inside = basis.T @ centred @ basis
    values, vectors = np.linalg.eigh((inside + inside.T) / 2)
    place = np.zeros((len(centred), 2))
    for axis, number in enumerate(range(columns - 1, max(columns - 3, -1), -1)):
        way = basis @ vectors[:, number]
        way *= 1.0 if way[np.abs(way).argmax()] > 0 else -1.0  # which end is up is arbitrary: fixed
        place[:, axis] = np.sqrt(max(values[number], 0.0)) * way
    return place
