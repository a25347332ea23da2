"""What a command's WHAT names: a run folder, a strategy file or a named agent, with options after `?`.

`runs/small?post=tartanian7:0.2&translate=nearest`: `post` is a post-processor (`agents/postprocess.py`), `translate`
how bets that are not in the tree are read (`agents/translate.py`), `menu` the bets of a named agent in a no-limit game,
`strategy` the average or the current strategy of a run as its newest checkpoint has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from equipoise._errors import InputError, shown
from equipoise.abstraction.bet_menu import BetMenu, load_menu
from equipoise.abstraction.buckets import BucketMap, StreetBuckets
from equipoise.agents.blueprint import profile_agent
from equipoise.agents.measured import NAMES, NamedAgent, Strategy
from equipoise.agents.postprocess import PostProcess, process_profile
from equipoise.agents.table import TableAgent
from equipoise.agents.translate import TRANSLATIONS
from equipoise.cards.isomorphism import HandIndexer
from equipoise.games.gamedef import load_game
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.solve.run_strategy import run_strategy
from equipoise.strategy.file import StrategyFile, load_strategy
from equipoise.tree.infosets import SlotLayout
from equipoise.tree.public_tree import DECISION, build_tree

DEFAULT_MENU = "standard"
OPTIONS = ("post", "translate", "menu", "strategy")


@dataclass(frozen=True)
class What:
    """A WHAT taken apart."""

    name: str
    post: PostProcess
    translate: str
    menu: str | None
    strategy: str | None = None

    @classmethod
    def read(cls, text: str, menu: str | None = None) -> What:
        """Read it; `menu` is a command's own option."""
        name, _, tail = text.partition("?")
        options: dict[str, str] = {}
        for part in tail.split("&") if tail else ():
            key, equals, value = part.partition("=")
            if key not in OPTIONS or not equals or key in options:
                raise InputError(f"option {shown(part)} of {shown(text)}", remedy=f"use {', '.join(OPTIONS)}")
            options[key] = value
        post = PostProcess.read(options.get("post", "none"))
        translate = options.get("translate", TRANSLATIONS[0])
        if translate not in TRANSLATIONS:
            raise InputError(f"translate={shown(translate)}", remedy=f"use {', '.join(TRANSLATIONS)}")
        found = cls(name, post, translate, options.get("menu", menu), options.get("strategy"))
        if found.strategy is not None and found.is_named:
            raise InputError(f"no run {shown(name)}, so no strategy={shown(found.strategy)}", remedy="name a run")
        return found

    @property
    def is_named(self) -> bool:
        return self.name in NAMES or not Path(self.name).exists()

    def open(self, game: str | GameRules) -> StrategyFile:
        """The strategy file of a run or file, for the game that a command names, if it does."""
        strategy = load_strategy(self.name) if self.strategy is None else run_strategy(self.name, self.strategy)
        if game:
            strategy.require(self.rules(game))
        if self.menu is not None:
            raise InputError(f"{shown(self.name)} has bets of its own", remedy="leave out the menu")
        return strategy

    def rules(self, game: str | GameRules) -> GameRules:
        """The game of a named agent."""
        if isinstance(game, GameRules):
            return game
        if not game:
            raise InputError(f"{self.name} plays any game", remedy="name one, e.g. --game holdem.limit")
        return load_game(game)


def load_player(what: str, game: str | GameRules = "", menu: str | None = None) -> TableAgent:
    """The agent that plays a WHAT. Named agents play the bets of `menu` in no-limit games."""
    asked = What.read(what, menu)
    if asked.is_named:
        named = NamedAgent(asked.name)
        return named_player(named, asked.rules(game), asked.menu, asked.post, asked.translate)
    strategy = asked.open(game)
    return TableAgent(what, strategy.plan.layout, strategy.stored, strategy.buckets, asked.post, asked.translate)


def load_players(whats: Sequence[str], game: str = "", menu: str | None = None) -> list[TableAgent]:
    """The agents of a match; named ones play the game of the others."""
    if len(whats) < PLAYERS:
        raise InputError(f"{len(whats)} agents", remedy="name two or more, e.g. runs/demo always-call")
    menus = [menu if What.read(what).is_named else None for what in whats]
    known: str | GameRules = game
    players: dict[int, TableAgent] = {}
    for at in sorted(range(len(whats)), key=lambda at: What.read(whats[at]).is_named):
        players[at] = load_player(whats[at], known, menus[at])
        known = known or players[at].rules
    return [players[at] for at in range(len(whats))]


def named_player(
    named: NamedAgent,
    rules: GameRules,
    menu: BetMenu | str | None = None,
    post: PostProcess | None = None,
    translate: str = TRANSLATIONS[0],
) -> TableAgent:
    """A named agent as a table: one bucket a street."""
    if not rules.limit and not isinstance(menu, BetMenu):
        menu = load_menu(menu or DEFAULT_MENU, rules)
    tree = build_tree(rules, menu if isinstance(menu, BetMenu) else None)
    layout = SlotLayout(tree, (1,) * rules.rounds)
    stored = np.zeros(layout.slots, np.float32)
    chances = named.chances(tree)
    for node in np.flatnonzero(tree.kind == DECISION).tolist():
        layout.at(stored, node)[0] = chances[tree.children(node).start : tree.children(node).stop]
    return TableAgent(named.name, layout, stored, one_bucket(rules), post or PostProcess(), translate)


def one_bucket(rules: GameRules) -> BucketMap:
    """The map that tells no hands apart."""
    hands = HandIndexer((rules.hole_cards,), rules.deck).size
    street = StreetBuckets((rules.hole_cards,), 1, np.zeros(hands, np.uint16), method="one bucket")
    return BucketMap(rules, (street,) * rules.rounds, recipe="one bucket")


def load_agent(what: str, game: str = "", menu: str | None = None) -> tuple[Strategy, GameRules, BetMenu | str | None]:
    """A WHAT to be measured exactly, its game and its bets: post-processed, in its own tree."""
    asked = What.read(what, menu)
    if asked.is_named:
        named = NamedAgent(asked.name)
        if asked.post.method != "none":
            raise InputError(f"{asked.name} with a post-processor", remedy="give one to a run or strategy file")
        return named, asked.rules(game), asked.menu
    strategy = asked.open(game)
    name = strategy.name if asked.post.method == "none" else f"{strategy.name} {asked.post}"
    profile = process_profile(strategy.profile, asked.post)
    return profile_agent(name, profile, strategy.buckets), strategy.rules, strategy.plan.menu
