"""A recipe as the abstraction sees it: which game, which cards, which bets; and the call that builds its buckets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.build import Tell, build_map
from equipoise.abstraction.maps.card_recipe import CardRecipe, load_recipe_table, read_cards
from equipoise.core.errors import InputError, shown
from equipoise.games.bet_menu import BetMenu, betting_table
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules

KNOWN = ("game", "cards", "betting", "solver", "stop", "checkpoint", "measure")


@dataclass(frozen=True)
class Recipe:
    """What a recipe says of cards and bets, checked. `menu` is None if it has no `[betting]`."""

    name: str
    rules: GameRules
    cards: CardRecipe
    menu: BetMenu | None = None

    def build(self, progress: Tell | None = None) -> BucketMap:
        """Its map: opened if it was built before, else built, and kept."""
        return build_map(self.rules, self.cards, progress)


def read_recipe(recipe: str | Path | Mapping[str, Any], game: str | GameRules | None = None) -> Recipe:
    """A recipe from a TOML file or a mapping of the same shape; `game` stands in for the one it names."""
    where = "" if isinstance(recipe, Mapping) else str(recipe)
    table = recipe if isinstance(recipe, Mapping) else load_recipe_table(recipe)
    for key in table:
        if key not in KNOWN:
            raise InputError(f"unknown key {shown(str(key))}", where=where, remedy=f"known: {', '.join(KNOWN)}")
    named = table.get("game") if game is None else game
    if not isinstance(named, (str, GameRules)):
        raise InputError("no game", where=where, remedy='write game = "holdem.nolimit", or give --game')
    rules = named if isinstance(named, GameRules) else load_game(named)
    cards = read_cards(table.get("cards", "lossless"), rules, where)
    name = Path(where).stem if where else "recipe"
    return Recipe(name, rules, cards, _menu(table, rules, name, where))


def _menu(table: Mapping[str, Any], rules: GameRules, name: str, where: str) -> BetMenu | None:
    betting = table.get("betting")
    if betting is None:
        return None
    if rules.limit:
        raise InputError("[betting] in a limit game", where=where, remedy="leave it out, or name a no-limit game")
    return BetMenu.from_table(betting_table(betting, where), rules.rounds, name=name, where=where)


def build_abstraction(
    recipe: str | Path | Mapping[str, Any], *, game: str | GameRules | None = None, progress: Tell | None = None
) -> BucketMap:
    """The buckets that a recipe (a TOML file, or a mapping) makes of a game's hands; kept on disk for the next time.

    `progress` is told what is being done and how far it is, from 0 to 1.

    >>> cards = {"preflop": {"method": "percentile", "buckets": 2}}
    >>> leduc = build_abstraction({"game": "leduc", "cards": cards})
    >>> leduc.buckets, leduc.perfect_recall
    ((2, 15), True)
    """
    return read_recipe(recipe, game).build(progress)
