"""LiveMap: the buckets of one board at a time, computed from centroids, without a table of all hands.

At the table a hand has one board a street. The features of all holes of a board take a millisecond on the river and on
the turn, and fourteen on the flop; the nearest centroid is the bucket. The same kernels work on the same boards (the
first of each class under renamings of the suits) as when a map is built, so the buckets are those of the `BucketMap`,
to the last hand. Lossless streets need no table; other small streets keep theirs.

What needs the buckets of very many deals asks for `full`, which assigns every hand to its centroid, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from equipoise.abstraction.clustering.distance import Metric, coordinates, used_columns
from equipoise.abstraction.clustering.nearest import Centroids, arrange, find_nearest, spread_over
from equipoise.abstraction.features.card_features import StreetFeatures
from equipoise.abstraction.features.hand_space import HandBlock, HandSpace, fill
from equipoise.abstraction.maps.bucket_map import (
    BLOCKED,
    NONE,
    BucketMap,
    BucketTables,
    StreetBuckets,
    fingerprint,
    lossless_street,
)
from equipoise.abstraction.maps.build import build_map, kept_centroids, map_centroids, map_path
from equipoise.abstraction.maps.card_recipe import KMEANS, CardRecipe, StreetRecipe
from equipoise.cards.deck import hole_index
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.array_checks import check_array, check_indices, check_range
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, I32, I64, U8
from equipoise.core.progress import Fraction, Progress, stage
from equipoise.core.simd import LANES
from equipoise.games.rules import GameRules

MOST_CENTROID = 1e9  # of a coordinate: distances stay finite
MOST_TABLE = 1 << 21  # hands of a street that keeps its table
KEPT_BOARDS = 2048  # whose buckets a map remembers: 11 MB in hold'em
FEW_DEALS = 256  # computed board by board; for more, all hands are assigned


@dataclass(frozen=True, eq=False)
class StreetClusters:
    """A street whose buckets are nearest centroids (methods emd, l2 and ochs)."""

    rules: GameRules
    street: int
    recipe: StreetRecipe
    centroids: F32  # [bucket, column]
    opponents: U8 | None = None  # [hole] clusters of the opponent's holes, for "ochs"

    def __post_init__(self) -> None:
        recipe, last = self.recipe, self._space.last
        columns = recipe.clusters if recipe.method == "ochs" else 1 if last else recipe.bins
        assert recipe.buckets is not None
        check_array(self.centroids, "centroids", (recipe.buckets, columns), np.float32)
        check_range(self.centroids, "centroids", -MOST_CENTROID, MOST_CENTROID)
        if (recipe.method == "ochs") != (self.opponents is not None):
            raise InputError("clusters of opponent holes", remedy="give them for ochs, and for nothing else")
        if self.opponents is not None:
            check_array(self.opponents, "opponents", (len(self._space.tables.hole_card),), np.uint8)
            check_indices(self.opponents, recipe.clusters, "opponents")

    @cached_property
    def _space(self) -> HandSpace:
        return HandSpace(self.rules, self.street)

    @cached_property
    def _features(self) -> StreetFeatures:
        return StreetFeatures(self.rules, self.street)

    @property
    def _metric(self) -> Metric:
        return "emd" if self.recipe.method == "emd" and not self._space.last else "l2"

    @cached_property
    def _index(self) -> Centroids:
        metric = self._metric
        with spread_over(1) as spread:
            rows = coordinates(self.centroids, metric)
            return arrange(rows, used_columns(self.centroids, metric), metric, spread, pruned=True)

    @cached_property
    def _points(self) -> Callable[[HandBlock], Any]:
        """A function that gives the features of a block's hands, [hand, column], as the centroids were fitted to."""
        here = self._features
        if self.opponents is not None:
            return here.ochs(self.opponents, self.recipe.clusters).work
        if self._space.last:
            strengths = here.summed(0)
            return lambda block: (strengths(block).total / here.top).astype(np.float32)[:, np.newaxis]
        counts = here.histogram(self.recipe.bins).work
        if self.recipe.method == "emd":
            return counts
        kind, completions = np.min_scalar_type(here.completions), np.float32(here.completions)
        return lambda block: counts(block).astype(kind) / completions

    def labels(self, block: HandBlock) -> I32:
        """int32[hand] the buckets of a block's hands."""
        rows = coordinates(self._points(block), self._metric)
        found, away = np.empty(len(rows), np.int32), np.empty(len(rows), np.float32)
        find_nearest(rows, self._index, np.empty(LANES, np.float32), found, away)
        return found

    def buckets_of_board(self, board: Sequence[int]) -> I32:
        """int32[hole] the buckets on a board, BLOCKED where blocked."""
        space, holes = self._space, self._space.tables.hole_card
        block = space.hands_of(first_of_class(space, board)[np.newaxis], np.ones(1, np.uint16))
        order = np.argsort(block.hand)
        free = np.flatnonzero(~np.isin(holes, board).any(axis=1))
        cards = np.hstack([holes[free], np.broadcast_to(np.array(board, np.uint8), (len(free), len(board)))])
        place = np.searchsorted(block.hand[order], space.indexer.indices(np.ascontiguousarray(cards)))
        buckets = np.full(len(holes), BLOCKED, np.int32)
        buckets[free] = self.labels(block)[order][place]
        return buckets

    def assigned(self, progress: Fraction | None = None) -> StreetBuckets:
        """The buckets of all hands of the street."""
        assert self.recipe.buckets is not None
        label = np.empty(self._space.size, np.uint16 if self.recipe.buckets <= 1 << 16 else np.uint32)
        fill(self._space, lambda block: (self.labels(block),), (label,), deals=self._features.deals, progress=progress)
        return StreetBuckets(self._space.indexer.rounds, self.recipe.buckets, label, method=self.recipe.method)


def first_of_class(space: HandSpace, board: Sequence[int]) -> U8:
    """The board that a walk over all hands visits instead of this one: uint8[card]."""
    tables = space.tables
    images = tables.renamed_card[:, np.array(board, np.int64)]
    least = int(np.argmin(tables.lane_mask[images].sum(axis=1, dtype=np.uint64)))
    return np.sort(images[least])


LiveStreet: TypeAlias = StreetClusters | StreetBuckets


@dataclass(frozen=True, eq=False)
class LiveMap:
    """The buckets of a game's hands, computed when they are asked for. See `live_map` for where one comes from."""

    rules: GameRules
    recipe: CardRecipe
    streets: tuple[LiveStreet, ...]

    def __repr__(self) -> str:
        return f"LiveMap({self.rules.name or 'unnamed'}: {', '.join(f'{count:,}' for count in self.buckets)} buckets)"

    @property
    def buckets(self) -> tuple[int, ...]:
        """The number of buckets of each street."""
        return self.recipe.buckets(self.rules)

    @property
    def fingerprint(self) -> str:
        """That of the map of all hands."""
        return fingerprint(self.rules, self.recipe.text())

    @cached_property
    def _tables(self) -> BucketMap:
        """The streets that need no centroids; the others are placeholders."""
        own = [street if isinstance(street, StreetBuckets) else None for street in self.streets]
        return BucketMap(self.rules, tuple(s or lossless_street(self.rules, at) for at, s in enumerate(own)))

    @cached_property
    def _of_board(self) -> Any:
        """`StreetClusters.buckets_of_board` with a memory."""

        def compute(street: int, board: tuple[int, ...]) -> I32:
            clusters = self.streets[street]
            assert isinstance(clusters, StreetClusters)
            found = clusters.buckets_of_board(board)
            found.flags.writeable = False
            return found

        return lru_cache(KEPT_BOARDS)(compute)

    def buckets_of_board(self, street: int, board: Sequence[int]) -> I32:
        """The bucket of every hole on a board, -1 where blocked: int32[hole]."""
        rules = self.rules
        if not 0 <= street < rules.rounds or isinstance(self.streets[street], StreetBuckets):
            return self._tables.buckets_of_board(street, board)
        if len(board) != rules.board_size(street):
            raise InputError(f"a board of {len(board)} cards", remedy=f"street {street} has {rules.board_size(street)}")
        rules.deck.check_cards(list(board))
        found: I32 = self._of_board(street, tuple(sorted(int(card) for card in board)))
        return found

    def bucket(self, hole: Sequence[int], board: Sequence[int]) -> int:
        """The bucket of one hand on the street of its board."""
        sizes = [self.rules.board_size(s) for s in range(self.rules.rounds)]
        if len(board) not in sizes or isinstance(self.streets[sizes.index(len(board))], StreetBuckets):
            return self._tables.bucket(hole, board)
        self.rules.deck.check_cards([*hole, *board])
        return int(self.buckets_of_board(sizes.index(len(board)), board)[hole_index(hole)])

    def buckets_of_deals(self, deals: U8) -> I64:
        """The buckets of deals, uint8[deal, card], on all streets reached: int64[deal, street]."""
        if len(deals) > FEW_DEALS or "full" in self.__dict__:
            return self.full.buckets_of_deals(deals)
        found, holes = self._tables.buckets_of_deals(deals), self.rules.hole_cards
        for street in range(found.shape[1]):
            if isinstance(self.streets[street], StreetClusters):
                last = holes + self.rules.board_size(street)
                for row, cards in enumerate(deals.tolist()):
                    found[row, street] = self.buckets_of_board(street, cards[holes:last])[hole_index(cards[:holes])]
        return found

    @cached_property
    def full(self) -> BucketMap:
        """The buckets of all hands, from the cache or assigned, which takes a minute or two in hold'em."""
        with _ASSIGNING:
            return self._full or self.assign()

    @property
    def _full(self) -> BucketMap | None:
        """A map in the cache with the same centroids."""
        mine, kept = self.arrays(), kept_centroids(self.rules, self.recipe)
        alike = kept is not None and all(name in mine and np.array_equal(mine[name], kept[name]) for name in kept)
        for path in [self._path, *([map_path(self.rules, self.recipe)] if alike else [])]:
            with suppress(InputError):
                return BucketMap.load(path, self.rules)
        return None

    @cached_property
    def _path(self) -> Any:
        """Where a map assigned from these centroids is kept."""
        own = map_path(self.rules, self.recipe)
        digest = blake2b(digest_size=8)
        for name, array in sorted(self.arrays().items()):
            digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return own.with_name(f"{own.stem}-{digest.hexdigest()}{own.suffix}")

    def assign(self, progress: Progress | None = None) -> BucketMap:
        """Assign all hands to their centroids, and keep the map."""
        made = [
            street if isinstance(street, StreetBuckets) else street.assigned(stage(progress, f"street {at + 1}"))
            for at, street in enumerate(self.streets)
        ]
        found = BucketMap(self.rules, tuple(made), recipe=self.recipe.text())
        with suppress(OSError, InputError):  # a full or read-only disk costs time, not correctness
            found.save(self._path)
            return BucketMap.load(self._path, self.rules)
        return found

    @property
    def tables(self) -> BucketTables:
        """The arrays of all hands, for kernels."""
        return self.full.tables

    def arrays(self) -> dict[str, Any]:
        """What it is made of, for files: `centroids N` and `opponents N` as in `map_centroids`, `table N` by hand."""
        found: dict[str, Any] = {}
        for at, street in enumerate(self.streets):
            if isinstance(street, StreetClusters):
                found[f"centroids {at}"] = street.centroids
                if street.opponents is not None:
                    found[f"opponents {at}"] = street.opponents
            elif street.cell is not None:
                found[f"table {at}"] = street.cell
        return found

    @classmethod
    def of_arrays(cls, rules: GameRules, recipe: CardRecipe, arrays: Mapping[str, Any]) -> LiveMap:
        """The map of `arrays()`, checked: kernels do not check their indices."""
        counts = recipe.buckets(rules)

        def one(at: int) -> LiveStreet:
            own = recipe.streets[at]
            if own.method == "lossless":
                return lossless_street(rules, at)
            if f"table {at}" not in arrays:
                centroids: Any = arrays.get(f"centroids {at}")
                return StreetClusters(rules, at, own, centroids, arrays.get(f"opponents {at}"))
            table, deals = arrays[f"table {at}"], rules.unordered_deals(at)
            kind = table.dtype if table.dtype.kind == "u" else np.dtype(np.uint16)
            check_array(table, f"table {at}", (HandIndexer(deals, rules.deck).size,), kind)
            check_indices(table, counts[at], f"table {at}")
            return StreetBuckets(deals, counts[at], table, method=own.method)

        return cls(rules, recipe, tuple(one(at) for at in range(rules.rounds)))


_ASSIGNING = Lock()
Buckets: TypeAlias = BucketMap | LiveMap


def full_map(buckets: Buckets) -> BucketMap:
    """The map of all hands."""
    return buckets.full if isinstance(buckets, LiveMap) else buckets


def live_map(rules: GameRules, recipe: CardRecipe, progress: Progress | None = None) -> LiveMap:
    """The live map of a recipe; its centroids come from the cache, or from a build of the map of all hands.

    Streets that are neither lossless nor clustered by k-means on features of their own keep a table, if it is small.
    """
    tabled = [at for at, own in enumerate(recipe.streets) if not _is_computed(own) and own.method != "lossless"]
    arrays: dict[str, Any] = {}
    if recipe.public is not None:
        raise InputError("public clusters need tables of all hands", remedy="use a card recipe without them")
    if tabled:
        built = build_map(rules, recipe, progress)
        for at in tabled:
            street = built.streets[at]
            if street.context != NONE or street.cell is None or len(street.cell) > MOST_TABLE:
                name, method = rules.street_name(at), recipe.streets[at].method
                raise InputError(f"{name}: {method} needs a large table of hands", remedy="use emd, l2 or ochs there")
            arrays[f"table {at}"] = street.cell
    if any(_is_computed(own) for own in recipe.streets):
        arrays |= map_centroids(rules, recipe, progress)
    return LiveMap.of_arrays(rules, recipe, arrays)


def _is_computed(recipe: StreetRecipe) -> bool:
    """Whether a street's buckets follow from centroids and features that one board determines."""
    return recipe.method in KMEANS and recipe.method != "potential" and recipe.boards is None
