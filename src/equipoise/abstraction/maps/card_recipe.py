"""The `[cards]` table of a recipe: the abstraction of each street, checked before anything is computed.

    [cards]
    preflop = "lossless"
    flop  = { method = "emd", buckets = 200 }
    turn  = { method = "emd", buckets = 200 }
    river = { method = "ochs", buckets = 200 }
    public = { clusters = 8 }        # hierarchical: separate buckets for each cluster of public boards

Streets are preflop, flop, turn and river, then round_5 and so on. A street that is not listed is lossless.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import comb
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from equipoise.abstraction.features.card_features import MOST_DEALS
from equipoise.cards.deck import check_hole_cards
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.checked_model import CheckedModel, check_table
from equipoise.core.errors import MOST_COUNT, InputError, shown
from equipoise.core.files.text import load_toml
from equipoise.core.wording import did_you_mean
from equipoise.games.bet_menu import street_names
from equipoise.games.rules import GameRules

Method: TypeAlias = Literal["lossless", "percentile", "emd", "l2", "ochs", "potential"]
METHODS: tuple[str, ...] = ("lossless", "percentile", "emd", "l2", "ochs", "potential")
KMEANS = ("emd", "l2", "ochs", "potential")
USED_BY: dict[str, tuple[str, ...]] = {  # the methods that use a key
    "feature": ("percentile",),
    "second": ("percentile",),
    "nested": ("percentile",),
    "bins": ("emd", "l2"),
    "clusters": ("ochs",),
    "cells": ("emd", "l2", "ochs"),
    "boards": ("emd", "l2", "ochs"),
    "sample": KMEANS,
    "iterations": KMEANS,
    "restarts": ("emd", "l2", "ochs"),
}
MOST_BUCKETS = 1 << 24
MOST_PARTS = 1 << 16  # parts of a percentile street within one bucket of the previous street
MOST_NEXT = 1 << 16  # buckets of the next street, for "potential"
MOST_LOSSLESS = 1 << 30  # hands of a lossless street
PUBLIC = "public"
RECIPE_KEYS = ("game", "betting", "cards", "solver", "deep", "cluster", "stop", "checkpoint", "measure")
EXAMPLE = 'write e.g. flop = { method = "emd", buckets = 200 }'


class StreetRecipe(CheckedModel):
    """One street. Keys that the method does not use are refused."""

    method: Method = "lossless"
    buckets: int | None = Field(default=None, ge=1, le=MOST_BUCKETS)
    feature: Literal["ehs", "ehs2", "both"] = "ehs2"  # percentile: E[HS], E[HS^2]; both: E[HS^2], then E[HS]
    second: int | None = Field(
        default=None, ge=1, le=1000
    )  # percentile by both: parts by E[HS] of each part by E[HS^2]
    nested: bool = True  # percentile: within each bucket of the previous street
    bins: int = Field(default=50, ge=2, le=1000)  # emd, l2: bins of the histogram
    clusters: int = Field(default=8, ge=1, le=16)  # ochs: clusters of the opponent's holes
    cells: int | None = Field(
        default=None, ge=1, le=1 << 16
    )  # with public clusters, after their street: see hierarchy.py
    boards: int | None = Field(default=None, ge=1, le=10_000)  # public buckets of boards: see board_street.py
    sample: int = Field(default=300_000, ge=0, le=MOST_COUNT)  # k-means: hands to fit the centroids to; 0: all
    iterations: int = Field(default=30, ge=1, le=MOST_COUNT)
    restarts: int = Field(default=1, ge=1, le=100)

    @model_validator(mode="after")
    def _whole(self) -> StreetRecipe:
        if (self.buckets is None) != (self.method == "lossless"):
            need = "takes no buckets" if self.method == "lossless" else "needs buckets"
            raise ValueError(f"{self.method} {need}")
        for key, methods in USED_BY.items():
            if self.method not in methods and getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(f"{self.method} takes no {key}")
        if (self.second is None) != (self.feature != "both"):
            raise ValueError("second goes with feature = 'both'")
        return self


class PublicRecipe(CheckedModel):
    """Clusters of public boards (Tartanian7). `base` is a number of buckets to build, or the file of a BucketMap."""

    clusters: int = Field(ge=1, le=10_000)
    street: str | None = None  # default: the first street with a board
    base: Annotated[int, Field(ge=1)] | str = 1000
    objective: Literal["sum", "mean", "medoid"] = "sum"


class CardRecipe(CheckedModel):
    """All streets of a game, by number."""

    streets: tuple[StreetRecipe, ...]
    public: PublicRecipe | None = None
    seed: int = Field(default=1, ge=0)

    def text(self) -> str:
        """The recipe as one line of JSON, with all defaults."""
        table = self.model_dump(mode="json")
        for street in table["streets"]:
            if street["boards"] is None:
                del street["boards"]
        return json.dumps(table, sort_keys=True, separators=(",", ":"))

    def buckets(self, rules: GameRules) -> tuple[int, ...]:
        """The number of buckets of each street, over all public clusters and buckets of the previous street."""
        found: list[int] = []
        for number, street in enumerate(self.streets):
            if street.buckets is None:
                found.append(HandIndexer(rules.deals(number), rules.deck).size)
                continue
            times = found[-1] if number and street.method == "percentile" and street.nested else 1
            if self.public and number >= self.public_street(rules):
                times = self.public.clusters
            times *= street.boards or 1
            found.append(street.buckets * (street.second or 1) * times)
        return tuple(found)

    def public_street(self, rules: GameRules) -> int:
        """The street whose boards are clustered."""
        assert self.public is not None
        if self.public.street is None:
            return next(s for s in range(rules.rounds) if rules.board_size(s))
        return street_names(rules.rounds).index(self.public.street)


def read_card_recipe(
    table: Mapping[str, Any] | str, rules: GameRules, where: str = "", *, in_tables: bool = True
) -> CardRecipe:
    """Read and check a `[cards]` table for a game; the word `lossless` stands for all streets.

    Hands that are kept `in_tables` must not be too many.
    """
    if isinstance(table, str):
        table = dict.fromkeys(street_names(rules.rounds), table)
    if not isinstance(table, Mapping):
        raise InputError("cards is not a table", where=where, remedy='write [cards], or cards = "lossless"')
    names = street_names(rules.rounds)
    known = (*names, PUBLIC, "seed")
    for key in table:
        if key not in known:
            raise InputError(f"unknown key {shown(key)} in cards", where=where, remedy=did_you_mean(str(key), known))
    streets = [table.get(name, "lossless") for name in names]
    for name, street in zip(names, streets, strict=True):
        if not isinstance(street, (str, Mapping)):
            raise InputError(f"{name}: neither a method nor a table (got {shown(street)})", where=where, remedy=EXAMPLE)
    data = {
        "streets": tuple({"method": street} if isinstance(street, str) else street for street in streets),
        **{key: table[key] for key in (PUBLIC, "seed") if key in table},
    }
    recipe = check_table(
        CardRecipe, data, where, EXAMPLE,
        remedies={PUBLIC: "write e.g. public = { clusters = 8 }"}, elements={"streets": names},
    )  # fmt: skip
    check_card_recipe(recipe, rules, where, in_tables=in_tables)
    return recipe


def check_card_recipe(recipe: CardRecipe, rules: GameRules, where: str = "", *, in_tables: bool = True) -> None:
    """Refuse a recipe that does not fit a game."""
    names = street_names(rules.rounds)
    if len(recipe.streets) != len(names):
        raise InputError(f"cards of {len(recipe.streets)} streets", where=where, remedy=f"the game has {len(names)}")
    try:
        _check_public(rules, recipe, names)
        for number, name in enumerate(names):
            _check_street(rules, number, name, recipe, in_tables)
    except InputError as error:
        raise error.at(where) from None


def load_card_recipe(path: str | Path, rules: GameRules) -> CardRecipe:
    """The `[cards]` table of a TOML file (a recipe)."""
    return read_card_recipe(load_recipe_table(path).get("cards", "lossless"), rules, str(path))


def load_recipe_table(path: str | Path) -> dict[str, Any]:
    """The table of a recipe's TOML file."""
    return load_toml(path, "recipe", "give a TOML file with a [cards] table, see docs/abstraction.md", RECIPE_KEYS)


def _check_street(rules: GameRules, number: int, name: str, recipe: CardRecipe, in_tables: bool) -> None:
    """Refuse what would otherwise fail only while the street is built, perhaps after hours."""
    street = recipe.streets[number]
    if street.method == "lossless":
        hands = HandIndexer(rules.deals(number), rules.deck).size
        if hands > MOST_LOSSLESS and in_tables:
            raise InputError(f"{name}: lossless has {hands:,} hands, too many for a table", remedy="give it buckets")
        return
    assert street.buckets is not None
    check_hole_cards(rules.hole_cards, f"method {street.method}")
    hands = HandIndexer(rules.unordered_deals(number), rules.deck).size
    most = max(street.buckets * (street.second or 1), street.cells or 0)
    if most > hands:
        raise InputError(
            f"{name}: {most:,} {'cells' if street.cells == most else 'buckets'} for {hands:,} hands",
            remedy="ask for fewer",
        )
    if street.cells is not None and street.cells < street.buckets:
        raise InputError(f"{name}: {street.buckets:,} buckets of {street.cells:,} cells", remedy="ask for more cells")
    if street.method == "percentile" and street.buckets > MOST_PARTS:
        raise InputError(f"{name}: {street.buckets:,} buckets by percentile", remedy=f"ask for at most {MOST_PARTS}")
    if recipe.buckets(rules)[number] > MOST_BUCKETS:
        raise InputError(
            f"{name}: {recipe.buckets(rules)[number]:,} buckets in all",
            remedy="ask for fewer, here or on an earlier street",
        )
    holes = HandIndexer((rules.hole_cards,), rules.deck).size
    if street.method == "ochs" and street.clusters > holes:
        raise InputError(f"{name}: {street.clusters} clusters of {holes} holes", remedy="ask for fewer")
    if street.cells is not None and not (street.boards or (recipe.public and number > recipe.public_street(rules))):
        raise InputError(f"{name}: cells", remedy="cells need boards, or public clusters of an earlier street")
    if street.boards is not None:
        _check_boards(rules, number, name, street.boards, recipe)
    if street.method == "potential":
        _check_potential(rules, number, name, recipe)


def _check_boards(rules: GameRules, number: int, name: str, boards: int, recipe: CardRecipe) -> None:
    size = rules.board_size(number)
    there = HandIndexer((size,), rules.deck).size if size else 0
    if recipe.public or boards > there:
        raise InputError(
            f"{name}: {boards:,} public buckets of {there:,} boards",
            remedy="leave out public" if recipe.public and boards <= there else "ask for fewer",
        )


def _check_potential(rules: GameRules, number: int, name: str, recipe: CardRecipe) -> None:
    after = recipe.streets[number + 1] if number + 1 < rules.rounds else None
    clustered = after is not None and after.method in KMEANS and (after.buckets or 0) <= MOST_NEXT
    if not clustered or recipe.public or (after and after.boards):
        raise InputError(
            f"{name}: potential needs clusters of the next street",
            remedy=f"make the next street emd, l2, ochs or potential, at most {MOST_NEXT}, without public clusters",
        )
    unseen = rules.deck.size - rules.hole_cards - rules.board_size(number)
    deals = comb(unseen, rules.board_cards[number + 1])
    if deals > MOST_DEALS:
        raise InputError(
            f"{name}: potential of {deals:,} next deals", remedy=f"use it where at most {MOST_DEALS} follow"
        )


def _check_public(rules: GameRules, recipe: CardRecipe, names: tuple[str, ...]) -> None:
    public = recipe.public
    if public is None:
        return
    boards = [names[s] for s in range(rules.rounds) if rules.board_size(s)]
    if not boards or (public.street or boards[0]) not in boards:
        raise InputError(
            f"public.street {shown(public.street)}",
            remedy=f"use one of {', '.join(boards) or 'a game with boards'}",
        )
    street = recipe.public_street(rules)
    states = HandIndexer((rules.board_size(street),), rules.deck).size
    if public.clusters > states:
        raise InputError(f"public: {public.clusters:,} clusters of {states:,} boards", remedy="ask for fewer")
    hands = HandIndexer(rules.unordered_deals(street), rules.deck).size
    if isinstance(public.base, int) and public.base > hands:
        raise InputError(f"public: a base of {public.base:,} buckets for {hands:,} hands", remedy="ask for fewer")
    for number in range(street, rules.rounds):
        method = recipe.streets[number].method
        if method in ("percentile", "potential"):
            raise InputError(f"{names[number]}: {method} with public clusters", remedy="use emd, l2, ochs or lossless")
