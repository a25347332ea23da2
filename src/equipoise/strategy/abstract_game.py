"""An abstract game: the rules of a game, the bets to consider, and the buckets of its hands.

It is the game that a solver solves, and it gives the numbers of a strategy their meaning. It determines the betting
tree, the slot layout and the buckets; fingerprints identify it. Recipes and strategy files contain one each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.bucket_map import fingerprint as map_fingerprint
from equipoise.abstraction.maps.build import build_map
from equipoise.abstraction.maps.card_recipe import CardRecipe, check_card_recipe, read_card_recipe
from equipoise.core.checked_model import CheckedModel
from equipoise.core.errors import InputError, shown
from equipoise.core.files.array_file import FileHeader
from equipoise.core.progress import Progress
from equipoise.games.bet_menu import MENUS, BetMenu, betting_table
from equipoise.games.gamedef import GAMES, load_game, read_gamedef, write_gamedef
from equipoise.games.rules import GameRules
from equipoise.tree.betting_tree import BettingTree, build_tree
from equipoise.tree.infosets import SlotLayout

KEYS = ("game", "betting", "cards")  # of a recipe


class Fingerprints(CheckedModel):
    """Digests of the game, the tree and the buckets, which give the numbers of a table their meaning."""

    game: str
    tree: str
    buckets: str


class GameText(CheckedModel):
    """An abstract game as text: in the header of a file, and on the way to another machine."""

    name: str
    gamedef: str
    betting: dict[str, Any] | None
    cards: dict[str, Any]
    fingerprints: Fingerprints


class GameHeader(FileHeader, GameText):
    """The header of a file that holds an abstract game."""


@dataclass(frozen=True, eq=False)
class AbstractGame:
    """Rules, bets and cards. `betting` is the table of the bet menu as written. It is None in limit games, and in
    no-limit games without a menu, which have no tree.
    """

    rules: GameRules
    betting: Mapping[str, Any] | None
    cards: CardRecipe
    name: str = ""

    @cached_property
    def menu(self) -> BetMenu | None:
        if self.betting is None:
            return None
        return BetMenu.from_table(self.betting, self.rules.rounds, name=self.name, where=self.name)

    @cached_property
    def tree(self) -> BettingTree:
        return build_tree(self.rules, self.menu)

    @cached_property
    def layout(self) -> SlotLayout:
        return SlotLayout(self.tree, self.cards.buckets(self.rules))

    def buckets(self, progress: Progress | None = None) -> BucketMap:
        """The bucket map, from the cache or built."""
        found = build_map(self.rules, self.cards, progress)
        planned = self.cards.buckets(self.rules)
        if found.buckets != planned:
            raise InputError(f"the map has {found.buckets} buckets, not {planned}", remedy="clear the cache")
        return found

    def fingerprints(self) -> Fingerprints:
        """Its digests."""
        tree = self.tree
        nodes = blake2b(tree.parent.tobytes() + tree.action.tobytes() + tree.kind.tobytes(), digest_size=8)
        buckets = map_fingerprint(self.rules, self.cards.text())
        return Fingerprints(game=self.rules.fingerprint, tree=nodes.hexdigest(), buckets=buckets)

    def text(self) -> GameText:
        """The abstract game as text."""
        return GameText(
            name=self.rules.name,
            gamedef=write_gamedef(self.rules),
            betting=None if self.betting is None else dict(self.betting),
            cards=json.loads(self.cards.text()),
            fingerprints=self.fingerprints(),
        )

    @classmethod
    def of_text(cls, text: GameText, where: str, remedy: str) -> AbstractGame:
        """The abstract game of a text; refused if it gives another tree or other buckets today."""
        try:
            rules = read_gamedef(text.gamedef, name=text.name, source=where)
            if rules.limit and text.betting is not None:
                raise InputError("damaged: a limit game has no bet menu", where=where, remedy=remedy)
            game = cls(rules, text.betting, CardRecipe.model_validate_json(json.dumps(text.cards)))
            check_card_recipe(game.cards, rules, where, in_tables=False)
            now = game.fingerprints()
        except InputError as error:
            raise (error if error.where else error.at(where)) from None
        except ValueError:
            raise InputError("damaged: its header has no card recipe", where=where, remedy=remedy) from None
        for what, fingerprint in text.fingerprints:
            if getattr(now, what) != fingerprint:
                raise InputError(f"made for another {what}", where=where, remedy=remedy)
        return game


def read_abstract_game(
    table: Mapping[str, Any], *, name: str = "", where: str = "", game: str | GameRules | None = None,
    default_menu: str | None = None, in_tables: bool = True,
) -> AbstractGame:  # fmt: skip
    """The abstract game of a recipe's keys `game`, `betting` and `cards`; `where` names the recipe in messages.

    `game` replaces the one it names; `default_menu` is for no-limit games without `betting`; without tables, lossless
    streets may have any number of hands.
    """
    rules = game if isinstance(game, GameRules) else _read_game(table.get("game") if game is None else game, where)
    betting = None
    if rules.limit:
        if "betting" in table:
            raise InputError(f"betting: {rules.name} is a limit game", where=where, remedy="leave out [betting]")
    elif "betting" in table or default_menu is not None:
        betting = betting_table(table.get("betting", default_menu), where)
        BetMenu.from_table(betting, rules.rounds, name=name, where=where)  # errors here name the file
    cards = read_card_recipe(table.get("cards", "lossless"), rules, where, in_tables=in_tables)
    return AbstractGame(rules, betting, cards, name or rules.name)


def _read_game(value: Any, where: str) -> GameRules:
    if not isinstance(value, str):
        what = "no game" if value is None else f"game is {shown(value)}"
        raise InputError(what, where=where, remedy='write e.g. game = "holdem.limit"')
    try:
        return load_game(value)
    except InputError as error:
        raise (error if error.where else error.at(where)) from None


def resolve_paths(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A recipe's table with the paths that it names, which are relative to its folder, made usable from here."""
    found = dict(table)
    for key, shelf in (("game", GAMES), ("betting", MENUS)):
        if isinstance(found.get(key), str):
            found[key] = shelf.beside(found[key], folder)
    cards = found.get("cards")
    public = cards.get("public") if isinstance(cards, Mapping) else None
    if isinstance(public, Mapping) and isinstance(public.get("base"), str):
        base = str((folder / public["base"]).resolve())  # in fingerprints, so absolute
        found["cards"] = {**found["cards"], "public": {**public, "base": base}}
    return found
