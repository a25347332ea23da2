"""Agents by name (a command's WHAT): a run folder, a strategy file or a named agent, with options after `?`.

`runs/small?post=tartanian7:0.2&translate=nearest`: `post` is a post-processor (`agents/postprocess.py`), `translate`
how bets outside the tree are read (`agents/translate.py`), `menu` the bet menu of a named agent in a no-limit game,
`strategy` the average or current strategy of a run, from its newest checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard, cast

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap, StreetBuckets
from equipoise.agents.agent import Agent, Function, FunctionAgent
from equipoise.agents.blueprint import profile_agent
from equipoise.agents.card_blind import NAMES, CardBlindStrategy, Strategy
from equipoise.agents.function import FunctionStrategy
from equipoise.agents.postprocess import PostProcess, process_profile
from equipoise.agents.table import TableAgent
from equipoise.agents.translate import TRANSLATIONS
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.errors import InputError, shown
from equipoise.core.files.text import is_file, is_folder
from equipoise.games.bet_menu import BetMenu
from equipoise.games.gamedef import load_game
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.runs.strategy import run_strategy
from equipoise.strategy.file import StrategyFile, load_strategy
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import from_bytes
from equipoise.tree.betting_tree import DECISION, build_tree
from equipoise.tree.game_report import menu_of
from equipoise.tree.infosets import SlotLayout

OPTIONS = ("post", "translate", "menu", "strategy")


@dataclass(frozen=True)
class What:
    """A parsed WHAT."""

    name: str
    post: PostProcess
    translate: str
    menu: str | None
    strategy: str | None = None

    @classmethod
    def read(cls, text: str, menu: str | None = None) -> What:
        """Parse it; `menu` is the command's own option."""
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
        return self.name in NAMES or not (is_file(self.name) or is_folder(self.name))

    def open(self, game: str | GameRules, *, copied: bool = False) -> StrategyFile:
        """The strategy file of a run or file; its game must be `game`, if given."""
        if self.strategy is None:
            strategy = load_strategy(self.name, copied=copied)
        else:
            strategy = run_strategy(self.name, self.strategy, copied=copied)
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


def load_player(what: str, game: str | GameRules = "", menu: str | None = None, *, copied: bool = False) -> TableAgent:
    """The agent that plays a WHAT. Named agents play the bets of `menu` in no-limit games.

    `copied` reads its strategy into memory: for servers, which must survive a truncated file.
    """
    asked = What.read(what, menu)
    if asked.is_named:
        named = CardBlindStrategy(asked.name)
        return named_player(named, asked.rules(game), asked.menu, asked.post, asked.translate)
    strategy = asked.open(game, copied=copied)
    return TableAgent(what, strategy.game.layout, strategy.stored, strategy.buckets, asked.post, asked.translate)


Playing: TypeAlias = Agent | Function | str
Measurable: TypeAlias = Strategy | TableAgent | FunctionAgent | Function | str


def load_players(whats: Sequence[Playing], game: str | GameRules = "", menu: str | None = None) -> list[Agent]:
    """The agents of a match: agents, functions of a view, or names as in commands.

    Functions and named agents play the game of the others if none is given.
    """
    if len(whats) < PLAYERS:
        raise InputError(f"{len(whats)} agents", remedy="name two or more, e.g. runs/demo always-call")
    named = [isinstance(what, str) and What.read(what).is_named for what in whats]
    if menu is not None and not any(named):
        raise InputError("a menu, and no named agent", remedy="leave it out: all agents have bets of their own")
    known: str | GameRules = load_game(game) if game and isinstance(game, str) else game
    players: dict[int, Agent] = {}
    for at in sorted(range(len(whats)), key=lambda at: named[at] or _is_function(whats[at])):
        what = whats[at]
        if isinstance(what, str):
            players[at] = load_player(what, known, menu if named[at] else None)
        else:
            players[at] = as_agent(what, known)
        known = known or players[at].rules
    return [players[at] for at in range(len(whats))]


def as_agent(what: Playing, game: str | GameRules = "") -> Agent:
    """An agent: as given, from a function of a view, or by name."""
    if isinstance(what, str):
        return load_player(what, game)
    rules = load_game(game) if game and isinstance(game, str) else game
    if _is_function(what):
        if not isinstance(rules, GameRules):
            raise InputError(f"{_function_name(what)} plays any game", remedy='name one, e.g. game="leduc"')
        return FunctionAgent(_function_name(what), rules, what)
    if not all(hasattr(what, part) for part in ("name", "rules", "act")):
        raise InputError(f"{shown(repr(what))} is no agent", remedy="give an agent, a function of a view, or a name")
    agent = cast(Agent, what)
    if isinstance(rules, GameRules) and agent.rules != rules:
        raise InputError(f"{agent.name} plays {agent.rules.name or 'another game'}", remedy="leave out the game")
    return agent


def _is_function(what: object) -> TypeGuard[Function]:
    return callable(what) and not hasattr(what, "rules")


def _function_name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def named_player(
    named: CardBlindStrategy,
    rules: GameRules,
    menu: BetMenu | str | None = None,
    post: PostProcess | None = None,
    translate: str = TRANSLATIONS[0],
) -> TableAgent:
    """A named strategy as a table agent, with one bucket per street."""
    tree = build_tree(rules, menu_of(rules, menu))
    layout = SlotLayout(tree, (1,) * rules.rounds)
    stored = np.zeros(layout.slots, np.float32)
    chances = named.chances(tree)
    for node in np.flatnonzero(tree.kind == DECISION).tolist():
        layout.at(stored, node)[0] = chances[tree.children(node).start : tree.children(node).stop]
    return TableAgent(named.name, layout, stored, one_bucket(rules), post or PostProcess(), translate)


def one_bucket(rules: GameRules) -> BucketMap:
    """The map with all hands in one bucket."""
    hands = HandIndexer((rules.hole_cards,), rules.deck).size
    street = StreetBuckets((rules.hole_cards,), 1, np.zeros(hands, np.uint16), method="one bucket")
    return BucketMap(rules, (street,) * rules.rounds, recipe="one bucket")


def load_agent(
    what: str, game: str | GameRules = "", menu: str | None = None
) -> tuple[Strategy, GameRules, BetMenu | str | None]:
    """The strategy of a WHAT for the exact measure (post-processed, in its own tree), its game and its bets."""
    asked = What.read(what, menu)
    if asked.is_named:
        named = CardBlindStrategy(asked.name)
        if asked.post.method != "none":
            raise InputError(f"{asked.name} with a post-processor", remedy="give one to a run or strategy file")
        return named, asked.rules(game), asked.menu
    if asked.translate != TRANSLATIONS[0]:
        raise InputError(
            f"translate={asked.translate} in an exact measurement", remedy="leave it out: all bets are in the tree"
        )
    strategy = asked.open(game)
    name = strategy.name if asked.post.method == "none" else f"{strategy.name} {asked.post}"
    profile = process_profile(strategy.profile, asked.post)
    return profile_agent(name, profile, strategy.buckets), strategy.rules, strategy.game.menu


def as_strategy(
    what: Measurable, rules: GameRules, menu: BetMenu | str | None
) -> tuple[Strategy, BetMenu | str | None]:
    """A strategy for the exact measure, and its bets: from a strategy, a table, a function of a view, or a name."""
    if isinstance(what, str):
        own = menu if isinstance(menu, str) else None
        strategy, _, bets = load_agent(what, rules, own)
        return strategy, menu if bets is None else bets
    if isinstance(what, TableAgent):
        as_agent(what, rules)
        if menu is not None and menu != what.tree.menu:
            raise InputError(f"{what.name} has bets of its own", remedy="leave out the menu")
        stored = from_bytes(what.stored) if what.stored.dtype == np.uint8 else what.stored
        profile = process_profile(Profile(what.layout, stored), what.post)
        return profile_agent(f"{what.name} {what.fingerprint}", profile, what.buckets), what.tree.menu
    if isinstance(what, FunctionAgent) or _is_function(what):
        agent = as_agent(what, rules)
        assert isinstance(agent, FunctionAgent)
        return FunctionStrategy(agent), menu
    if not all(hasattr(what, part) for part in ("tables", "never", "by_bucket")):
        raise InputError(f"{shown(repr(what))} cannot be measured", remedy="give a strategy, a function, or a name")
    return cast(Strategy, what), menu
