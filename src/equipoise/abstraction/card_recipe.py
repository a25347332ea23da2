"""The `[cards]` table of a recipe: how each street's hands are put into buckets, checked before anything is computed.

    [cards]
    preflop = "lossless"
    flop  = { method = "emd", buckets = 200 }
    turn  = { method = "emd", buckets = 200 }
    river = { method = "ochs", buckets = 200 }
    public = { clusters = 8 }        # hierarchical: buckets are then per cluster of the public cards

Streets are called preflop, flop, turn and river, then round_5 and so on; one that is not named is lossless.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from equipoise._errors import InputError, shown
from equipoise.abstraction.bet_menu import street_names
from equipoise.cards.isomorphism import HandIndexer
from equipoise.games.rules import GameRules

Method: TypeAlias = Literal["lossless", "percentile", "emd", "l2", "ochs", "potential"]
METHODS: tuple[str, ...] = ("lossless", "percentile", "emd", "l2", "ochs", "potential")
MOST_BUCKETS = 1 << 24
MOST_LOSSLESS = 1 << 30  # hands of a street that may be told apart
PUBLIC = "public"


class _Checked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class StreetRecipe(_Checked):
    """One street. What a method does not use must be left out."""

    method: Method = "lossless"
    buckets: int | None = Field(default=None, ge=1, le=MOST_BUCKETS)
    feature: Literal["ehs", "ehs2", "both"] = "ehs2"  # percentile: E[HS], E[HS^2]; both: E[HS^2], then E[HS]
    second: int | None = Field(
        default=None, ge=1, le=1000
    )  # percentile by both: parts by E[HS] of each part by E[HS^2]
    nested: bool = True  # percentile: within each bucket of the street before
    bins: int = Field(default=50, ge=2, le=1000)  # emd, l2: of the histogram
    clusters: int = Field(default=8, ge=1, le=16)  # ochs: of the opponent's holes
    cells: int | None = Field(
        default=None, ge=1, le=1 << 16
    )  # with public clusters, after their street: see hierarchy.py
    sample: int = Field(default=300_000, ge=0)  # k-means: hands that centroids are fitted to; 0: all
    iterations: int = Field(default=30, ge=1)
    restarts: int = Field(default=1, ge=1, le=100)

    @model_validator(mode="after")
    def _whole(self) -> StreetRecipe:
        if (self.buckets is None) != (self.method == "lossless"):
            need = "takes no buckets" if self.method == "lossless" else "needs buckets"
            raise ValueError(f"{self.method} {need}")
        if (self.second is None) != (self.feature != "both"):
            raise ValueError("second goes with feature = 'both'")
        return self


class PublicRecipe(_Checked):
    """Clusters of public boards (Tartanian7): the base is a number of buckets to make, or a file of a BucketMap."""

    clusters: int = Field(ge=1, le=10_000)
    street: str | None = None  # the first with a board, unless named
    base: int | str = 1000
    objective: Literal["sum", "mean", "medoid"] = "sum"


class CardRecipe(_Checked):
    """All streets of a game, by number."""

    streets: tuple[StreetRecipe, ...]
    public: PublicRecipe | None = None
    seed: int = Field(default=1, ge=0)

    def text(self) -> str:
        """The recipe as one line, all defaults written out: what a map is marked with."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))

    def public_street(self, rules: GameRules) -> int:
        """The street whose boards are clustered."""
        assert self.public is not None
        if self.public.street is None:
            return next(s for s in range(rules.rounds) if rules.board_size(s))
        return street_names(rules.rounds).index(self.public.street)


def read_cards(table: Mapping[str, Any] | str, rules: GameRules, where: str = "") -> CardRecipe:
    """A recipe's `[cards]` for a game, or the word `lossless` for all streets; refused if it cannot be done."""
    if isinstance(table, str):
        table = dict.fromkeys(street_names(rules.rounds), table)
    if not isinstance(table, Mapping):
        raise InputError("cards is not a table", where=where, remedy='write [cards], or cards = "lossless"')
    names = street_names(rules.rounds)
    known = (*names, PUBLIC, "seed")
    for key in table:
        if key not in known:
            raise InputError(
                f"unknown key {shown(str(key))} in cards", where=where, remedy=f"known: {', '.join(known)}"
            )
    streets = [table.get(name, "lossless") for name in names]
    data = {
        "streets": tuple({"method": street} if isinstance(street, str) else street for street in streets),
        **{key: table[key] for key in (PUBLIC, "seed") if key in table},
    }
    try:
        recipe = CardRecipe.model_validate(data)
    except ValidationError as error:
        raise _one_line(error, names, where) from None
    for number, (name, street) in enumerate(zip(names, recipe.streets, strict=True)):
        _check_street(rules, number, name, street, recipe, where)
    _check_public(rules, recipe, names, where)
    return recipe


def load_cards(path: str | Path, rules: GameRules) -> CardRecipe:
    """The `[cards]` table of a TOML file (a recipe)."""
    return read_cards(read_toml(path).get("cards", "lossless"), rules, str(path))


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML file."""
    name = str(path)
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not a TOML file: {error}", where=name, remedy="see docs/abstraction.md") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"no recipe {shown(name)} ({reason})", remedy="give a TOML file with a [cards] table"
        ) from None


def _one_line(error: ValidationError, names: tuple[str, ...], where: str) -> InputError:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    if path[:1] == ["streets"] and len(path) > 1 and path[1].isdigit():
        path = [names[int(path[1])], *path[2:]]
    said = first["msg"].removeprefix("Value error, ")
    given = f" (got {shown(str(first['input']))})" if isinstance(first["input"], (str, int, float)) else ""
    return InputError(
        f"{'.'.join(path) or 'cards'}: {said}{given}",
        where=where,
        remedy='write e.g. flop = { method = "emd", buckets = 200 }',
    )


def _check_street(
    rules: GameRules, number: int, name: str, street: StreetRecipe, recipe: CardRecipe, where: str
) -> None:
    hands = HandIndexer(rules.unordered_deals(number), rules.deck).size
    if street.method == "lossless":
        told_apart = HandIndexer(rules.deals(number), rules.deck).size
        if told_apart > MOST_LOSSLESS:
            raise InputError(
                f"{name}: lossless has {told_apart:,} hands, which cannot fit", where=where, remedy="give it buckets"
            )
        return
    assert street.buckets is not None
    if street.buckets * (street.second or 1) > hands:
        raise InputError(
            f"{name}: {street.buckets * (street.second or 1):,} buckets for {hands:,} hands",
            where=where,
            remedy="ask for fewer",
        )
    if street.method == "potential":
        after = recipe.streets[number + 1] if number + 1 < rules.rounds else None
        if after is None or after.method not in ("emd", "l2", "ochs", "potential") or recipe.public:
            raise InputError(
                f"{name}: potential needs clusters of the next street",
                where=where,
                remedy="make the next street emd, l2, ochs or potential, without public clusters",
            )


def _check_public(rules: GameRules, recipe: CardRecipe, names: tuple[str, ...], where: str) -> None:
    if recipe.public is None:
        return
    boards = [names[s] for s in range(rules.rounds) if rules.board_size(s)]
    if not boards or (recipe.public.street or boards[0]) not in boards:
        raise InputError(
            f"public.street {shown(str(recipe.public.street))}",
            where=where,
            remedy=f"use one of {', '.join(boards) or 'a game with boards'}",
        )
    street = recipe.public_street(rules)
    states = HandIndexer((rules.board_size(street),), rules.deck).size
    if recipe.public.clusters > states:
        raise InputError(
            f"public: {recipe.public.clusters} clusters of {states:,} boards", where=where, remedy="ask for fewer"
        )
    for number in range(street, rules.rounds):
        if recipe.streets[number].method in ("percentile", "potential"):
            raise InputError(
                f"{names[number]}: {recipe.streets[number].method} with public clusters",
                where=where,
                remedy="use emd, l2, ochs or lossless",
            )
