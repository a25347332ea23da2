"""Builds the BucketMap of a recipe, or opens the file of an earlier build.

The centroids of streets clustered by k-means are kept in a file beside that of the map. They determine the bucket of
every hand, and take a thousandth of the space: `live_map.py` needs nothing else.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.abstraction.maps.board_street import street_by_boards
from equipoise.abstraction.maps.bucket_map import BucketMap, PublicBuckets, StreetBuckets, fingerprint, lossless_street
from equipoise.abstraction.maps.card_recipe import KMEANS, CardRecipe, StreetRecipe
from equipoise.abstraction.maps.hierarchy import hierarchical_streets
from equipoise.abstraction.maps.kmeans_street import Clusters, cluster_street, street_named
from equipoise.abstraction.maps.nested_percentile import percentile_street
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.errors import InputError
from equipoise.core.files.array_file import FileHeader, load_arrays, save_arrays
from equipoise.core.files.cache import cache_folder, is_trusted
from equipoise.core.progress import Progress, stage
from equipoise.games.rules import GameRules

CENTROIDS = "equipoise centroids 1"


class CentroidsHeader(FileHeader):
    """The header of a file of centroids: the recipe that they are of."""

    recipe: str


AGAIN = "remove the file, and train again what was trained with it"


def map_path(rules: GameRules, recipe: CardRecipe) -> Path:
    """Where the map of a recipe is kept between runs."""
    return cache_folder("abstractions") / f"{fingerprint(rules, recipe_text(rules, recipe))}.buckets"


def recipe_text(rules: GameRules, recipe: CardRecipe) -> str:
    """The recipe as stored in a map: a base that is a file is named by its fingerprint, not by its path."""
    public = recipe.public
    if public is None or isinstance(public.base, int):
        return recipe.text()
    base = BucketMap.load(public.base, rules).fingerprint
    return recipe.model_copy(update={"public": public.model_copy(update={"base": base})}).text()


def planned_bytes(rules: GameRules, recipe: CardRecipe) -> int:
    """An estimate of the size of the map's tables: two bytes per hand of every street that is not lossless."""
    total = 0
    for street, own in enumerate(recipe.streets):
        if own.method != "lossless":
            ordered = own.method == "percentile" and own.nested and street + 1 < rules.rounds
            deals = rules.deals(street) if ordered else rules.unordered_deals(street)
            total += 2 * HandIndexer(deals, rules.deck).size
    return total


def build_map(
    rules: GameRules, recipe: CardRecipe, progress: Progress | None = None, *, keep: bool = True
) -> BucketMap:
    """The map of a recipe, from the cache or built; with `keep`, a new map is saved in the cache."""
    path = map_path(rules, recipe)
    if keep and is_trusted(path):
        with suppress(InputError):  # damaged or of an older format: built again
            kept = BucketMap.load(path, rules)
            if kept.recipe == recipe_text(rules, recipe):
                return kept
    building = _Building(rules, recipe, progress)
    found = building.run()
    if keep and found.bytes:
        with suppress(OSError, InputError):  # a full or read-only disk costs time, not correctness
            found.save(path, private=True)
            _save_centroids(path, found.recipe, building.centroids)
            return BucketMap.load(path, rules)
    return found


def map_centroids(rules: GameRules, recipe: CardRecipe, progress: Progress | None = None) -> dict[str, Any]:
    """What determines the buckets of streets clustered by k-means, from the cache or built.

    `centroids N` is float32[bucket, column] of street N; for "ochs", `opponents N` is uint8[hole].
    """
    path = map_path(rules, recipe)
    found = kept_centroids(rules, recipe)
    if found is not None:
        return found
    building = _Building(rules, recipe, progress)
    built = building.run()
    kept = built
    if is_trusted(path):
        with suppress(InputError):
            kept = BucketMap.load(path, rules)
    for one, two in zip(kept.streets, built.streets, strict=True):
        if one.cell is not None and not np.array_equal(one.cell, two.cell):
            raise InputError("made by another version: its recipe gives other buckets", where=str(path), remedy=AGAIN)
    with suppress(OSError, InputError):
        _save_centroids(path, built.recipe, building.centroids)
    return building.centroids


def kept_centroids(rules: GameRules, recipe: CardRecipe) -> dict[str, Any] | None:
    """The centroids beside a map in the cache, if they are there."""
    path = _centroids_path(map_path(rules, recipe))
    if not is_trusted(path):
        return None
    with suppress(InputError):
        header, arrays = load_arrays(path, CENTROIDS, CentroidsHeader, remedy="", copied=True)
        if header.recipe == recipe_text(rules, recipe):
            return arrays
    return None


def _save_centroids(path: Path, recipe: str, centroids: dict[str, Any]) -> None:
    save_arrays(_centroids_path(path), CENTROIDS, {"recipe": recipe}, centroids, private=True)


def _centroids_path(path: Path) -> Path:
    return path.with_suffix(".centroids")


class _Building:
    def __init__(self, rules: GameRules, recipe: CardRecipe, progress: Progress | None) -> None:
        self.rules, self.recipe, self.progress = rules, recipe, progress
        self.streets: dict[int, StreetBuckets] = {}
        self.costs: dict[int, float] = {}
        self.public: PublicBuckets | None = None
        self.about: dict[str, Any] = {}
        self.centroids: dict[str, Any] = {}  # see `map_centroids`

    def run(self) -> BucketMap:
        rules, recipe = self.rules, self.recipe
        upto = rules.rounds
        if recipe.public:
            self.streets, self.public, about = hierarchical_streets(rules, recipe, self.progress)
            self.about["public"] = about
            upto = recipe.public_street(rules)
        self._cluster(upto)
        for street in range(upto):
            if street not in self.streets:
                with street_named(rules, street):
                    self.streets[street] = self._one(street)
        if self.costs:
            self.about["costs"] = {str(street): cost for street, cost in sorted(self.costs.items())}
        nested = [self._determines_previous(street) for street in range(1, rules.rounds)]
        return BucketMap(
            rules,
            tuple(self.streets[s] for s in range(rules.rounds)),
            self.public,
            recipe_text(rules, recipe),
            all(nested),
            self.about,
        )

    def _cluster(self, upto: int) -> None:
        """Build the streets clustered by k-means, last street first: "potential" needs the next street."""
        after: Clusters | None = None
        for street in reversed(range(upto)):
            recipe = self.recipe.streets[street]
            if recipe.method not in KMEANS:
                after = None
                continue
            assert recipe.buckets is not None
            if recipe.boards:
                after = None
                self._by_boards(street, recipe)
                continue
            with street_named(self.rules, street):
                after = cluster_street(
                    self.rules, street, recipe, self.recipe.seed, after, stage(self.progress, f"street {street + 1}")
                )
            self.costs[street] = after.cost
            if recipe.method != "potential":
                self.centroids[f"centroids {street}"] = after.centroids
            if after.opponents is not None:
                self.centroids[f"opponents {street}"] = after.opponents
            deals = self.rules.unordered_deals(street)
            self.streets[street] = StreetBuckets(deals, recipe.buckets, after.label, method=recipe.method)

    def _by_boards(self, street: int, recipe: StreetRecipe) -> None:
        fraction = stage(self.progress, f"street {street + 1}")
        with street_named(self.rules, street):
            self.streets[street], about = street_by_boards(self.rules, street, recipe, self.recipe.seed, fraction)
        self.about.setdefault("boards", {})[str(street)] = about

    def _one(self, street: int) -> StreetBuckets:
        recipe = self.recipe.streets[street]
        if recipe.method == "lossless":
            return lossless_street(self.rules, street)
        return percentile_street(
            self.rules, street, recipe, self._so_far(street), stage(self.progress, f"street {street + 1}")
        )

    def _so_far(self, street: int) -> BucketMap | None:
        """A map of the streets built so far; placeholders fill the others."""
        if street == 0:
            return None
        first = lossless_street(self.rules, 0)
        streets = tuple(self.streets[s] if s < street else replace(first) for s in range(self.rules.rounds))
        return BucketMap(self.rules, streets)

    def _determines_previous(self, street: int) -> bool:
        """Whether a street's bucket determines the bucket on the previous street, by construction."""
        recipe = self.recipe.streets[street]
        if self.streets[street - 1].buckets == 1:
            return True
        return recipe.method == "lossless" or (recipe.method == "percentile" and recipe.nested)
