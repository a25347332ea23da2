"""Agents by name (a command's WHAT): a shipped agent, a run folder, a strategy file, a named agent, or one in Python.

`runs/small?post=tartanian7:0.2&translate=nearest`: `post` is a post-processor (`agents/postprocess.py`), `translate`
how bets outside the tree are read (`agents/translate.py`), `menu` the bet menu of a named agent in a no-limit game,
`strategy` the average or current strategy of a run, from its newest checkpoint, `device` where networks run (cpu,
cuda). `search` is the street from which the agent solves the rest of a hand (`agents/search/`), with options of its
own (`agents/search/options.py`). `my_bot.py:agent` is a function of a view, or an agent, in a Python file;
`package.module:agent` in a module (`agents/user_code.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap, StreetBuckets
from equipoise.agents.agent import Agent, Function, FunctionAgent, ViewAgent
from equipoise.agents.blueprint import profile_agent
from equipoise.agents.card_blind import NAMES, CardBlindStrategy, Strategy
from equipoise.agents.function import FunctionStrategy
from equipoise.agents.postprocess import PostProcess, process_profile
from equipoise.agents.search.agent import SearchAgent
from equipoise.agents.search.options import KEYS as SEARCH_OPTIONS
from equipoise.agents.search.options import SearchOptions
from equipoise.agents.table import TableAgent
from equipoise.agents.tracked_strategy import TrackedStrategy
from equipoise.agents.translate import TRANSLATIONS
from equipoise.agents.tree_agent import TreeAgent
from equipoise.agents.user_agent import by_probabilities, is_agent, is_function, user_agent
from equipoise.agents.user_code import is_reference
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.errors import InputError, shown
from equipoise.core.files.shipped import no_such
from equipoise.core.files.text import is_file, is_folder
from equipoise.core.wording import counted
from equipoise.games.bet_menu import BetMenu
from equipoise.games.gamedef import as_game
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.runs.strategy import run_strategy
from equipoise.strategy import shipped
from equipoise.strategy.file import IN_A_RUN, NETWORKS, StrategyFile, load_strategy
from equipoise.tree.betting_tree import DECISION, build_tree
from equipoise.tree.game_report import menu_of
from equipoise.tree.infosets import SlotLayout

if TYPE_CHECKING:
    from equipoise.deep.file import NetworkFile

OPTIONS = ("post", "translate", "menu", "strategy", "device", *SEARCH_OPTIONS)


@dataclass(frozen=True)
class What:
    """A parsed WHAT."""

    name: str
    post: PostProcess
    translate: str
    menu: str | None
    strategy: str | None = None
    device: str | None = None
    search: dict[str, str] = field(default_factory=dict)  # options of the search, if there is one

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
        search = {key: options[key] for key in SEARCH_OPTIONS if key in options}
        if search and "search" not in search:
            raise InputError(f"{next(iter(search))} of {shown(text)}, and no search", remedy="add e.g. search=turn")
        found = cls(
            name, post, translate, options.get("menu", menu), options.get("strategy"), options.get("device"), search
        )
        if found.is_stored:
            if name.endswith(".py"):
                raise InputError(f"{name} is a Python file", remedy=f"name the agent in it, e.g. {name}:agent")
            if found.device is not None and found.networks is None:
                raise InputError(f"device={shown(found.device)} for {shown(name)}", remedy="leave it out: no networks")
            return found
        if found.device is not None:
            raise InputError(f"no run {shown(name)}, so no device={shown(found.device)}", remedy="name a run")
        if found.strategy is not None:
            raise InputError(f"no run {shown(name)}, so no strategy={shown(found.strategy)}", remedy="name a run")
        if found.is_own and set(options) - {"menu", *search}:
            raise InputError(f"options for {shown(name)}", remedy="leave them out: the agent decides by itself")
        if name not in NAMES and not found.is_own:
            raise no_such(
                "agent, run or strategy file",
                name,
                [*shipped.AGENTS.names(), *NAMES],
                "name a run folder, a strategy file or FILE.py:NAME",
            )
        return found

    @cached_property
    def path(self) -> Path:
        """The file of a shipped agent, or where its name points to."""
        return shipped.stored_file(self.name)

    @property
    def is_stored(self) -> bool:
        """A run folder, a strategy file or a shipped agent."""
        return self.name not in NAMES and (is_file(self.path) or is_folder(self.path))

    @property
    def networks(self) -> Path | None:
        """The file of its networks, if it has no table."""
        path = self.path
        if is_folder(path):
            tables = any(is_file(path / name) for name in IN_A_RUN)
            return path / NETWORKS if not tables and is_file(path / NETWORKS) else None
        return path if path.suffix == Path(NETWORKS).suffix else None

    def open_networks(self, path: Path, game: str | GameRules) -> NetworkFile:
        """The networks of a run or file; their game must be `game`, if given."""
        from equipoise.deep.file import load_networks

        file = load_networks(path, self.device or "cpu")
        if self.strategy is not None:
            raise InputError(f"strategy={shown(self.strategy)} of networks", remedy="leave it out")
        if self.menu is not None:
            raise InputError(f"{shown(self.name)} has bets of its own", remedy="leave out the menu")
        if game and self.rules(game).fingerprint != file.game.rules.fingerprint:
            raise InputError(f"made for {file.game.rules.name or 'another game'}", where=str(path), remedy="name it")
        return file

    @property
    def is_own(self) -> bool:
        """A user's, in Python."""
        return not self.is_stored and is_reference(self.name)

    @property
    def is_named(self) -> bool:
        """One of `NAMES`: it ignores its cards, and plays any game with any menu."""
        return self.name in NAMES

    def open(self, game: str | GameRules, *, copied: bool = False) -> StrategyFile:
        """The strategy file of a run or file; its game must be `game`, if given."""
        if self.strategy is None:
            strategy = load_strategy(self.path, copied=copied)
        else:
            strategy = run_strategy(self.path, self.strategy, copied=copied)
        if game:
            strategy.require(self.rules(game))
        if self.menu is not None:
            raise InputError(f"{shown(self.name)} has bets of its own", remedy="leave out the menu")
        return strategy

    def rules(self, game: str | GameRules) -> GameRules:
        """The game of a named agent."""
        if not game:
            raise InputError(f"{self.name} plays any game", remedy="name one, e.g. --game holdem.limit")
        return as_game(game)

    def own(self, game: str | GameRules) -> Agent:
        """The user's agent: a function of a view, or an object that gives the probabilities of actions in a view."""
        return as_agent(user_agent(self.name, as_game(game) if game else None), game)


def load_player(what: str, game: str | GameRules = "", menu: str | None = None, *, copied: bool = False) -> Agent:
    """The agent that plays a WHAT. Named agents play the bets of `menu` in no-limit games.

    `copied` reads its strategy into memory: for servers, which must survive a truncated file.
    """
    asked = What.read(what, menu)
    agent = _load(asked, what, game, copied=copied)
    return SearchAgent(what, agent, SearchOptions.read(asked.search, agent.rules)) if asked.search else agent


def _load(asked: What, what: str, game: str | GameRules, *, copied: bool) -> Agent:
    """The agent of a WHAT, without its search."""
    if asked.is_own:
        if asked.menu is not None:
            raise InputError(f"a menu for {asked.name}", remedy="leave it out: the agent chooses its bets itself")
        return asked.own(game)
    if asked.is_named:
        named = CardBlindStrategy(asked.name)
        return named_player(named, asked.rules(game), asked.menu, asked.post, asked.translate)
    if networks := asked.networks:
        file = asked.open_networks(networks, game)
        from equipoise.agents.network import NetworkAgent

        return NetworkAgent(what, file.mixture, file.name, asked.post, asked.translate)
    strategy = asked.open(game, copied=copied)
    return TableAgent(what, strategy.game.layout, strategy.stored, strategy.buckets, asked.post, asked.translate)


Playing: TypeAlias = Agent | Function | str
Measurable: TypeAlias = Strategy | Agent | Function | str


def load_players(whats: Sequence[Playing], game: str | GameRules = "", menu: str | None = None) -> list[Agent]:
    """The agents of a match: agents, functions of a view, or names as in commands.

    Functions and named agents play the game of the others if none is given, so these are loaded first.
    """
    if len(whats) < PLAYERS:
        raise InputError(
            f"{counted(len(whats), 'agent')} cannot play a match", remedy="name two or more, e.g. runs/demo always-call"
        )
    read = [What.read(what) if isinstance(what, str) else None for what in whats]
    named = [what is not None and what.is_named for what in read]
    any_game = [what.is_named or what.is_own if what else is_function(whats[at]) for at, what in enumerate(read)]
    if menu is not None and not any(named):
        raise InputError("a menu, and no named agent", remedy="leave it out: all agents have bets of their own")
    known: str | GameRules = as_game(game) if game else ""
    players: dict[int, Agent] = {}
    for at in sorted(range(len(whats)), key=lambda at: (any_game[at], named[at])):
        what = whats[at]
        if isinstance(what, str):
            players[at] = load_player(what, known, menu if named[at] else None)
        else:
            players[at] = as_agent(what, known)
        known = known or players[at].rules
    return [players[at] for at in range(len(whats))]


def as_agent(what: Playing, game: str | GameRules = "", menu: str | None = None) -> Agent:
    """An agent as given, from a function of a view, or by name: what every function does that takes an agent."""
    if isinstance(what, str):
        return load_player(what, game, menu)
    rules = as_game(game) if game else None
    if is_function(what):
        if rules is None:
            raise InputError(f"{_function_name(what)} plays any game", remedy='name one, e.g. game="leduc"')
        return FunctionAgent(_function_name(what), rules, what)
    if not all(hasattr(what, part) for part in ("name", "rules", "act")):
        raise InputError(f"{shown(repr(what))} is no agent", remedy="give an agent, a function of a view, or a name")
    agent = cast(Agent, what)
    if rules is not None and agent.rules != rules:
        raise InputError(f"{agent.name} plays {agent.rules.name or 'another game'}", remedy="leave out the game")
    return agent


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
    what: Measurable, game: str | GameRules = "", menu: str | None = None
) -> tuple[Strategy, GameRules, BetMenu | str | None]:
    """The strategy of a WHAT for the exact measure (post-processed, in its own tree), its game and its bets."""
    if not isinstance(what, str):
        rules = as_game(game) if game else getattr(what, "rules", None)
        if rules is None:
            raise InputError(f"{_function_name(what)} plays any game", remedy='name one, e.g. game="leduc"')
        strategy, bets = as_strategy(what, rules, menu)
        return strategy, rules, bets
    asked = What.read(what, menu)
    if asked.search:
        agent = load_player(what, game, menu)
        strategy, bets = as_strategy(agent, agent.rules, None)
        return strategy, agent.rules, bets
    if asked.is_own:
        agent = asked.own(game)
        strategy, bets = as_strategy(agent, agent.rules, asked.menu)
        return strategy, agent.rules, bets
    if asked.is_named:
        named = CardBlindStrategy(asked.name)
        if asked.post.method != "none":
            raise InputError(f"{asked.name} with a post-processor", remedy="give one to a run or strategy file")
        return named, asked.rules(game), asked.menu
    if asked.translate != TRANSLATIONS[0]:
        raise InputError(
            f"translate={asked.translate} in an exact measurement", remedy="leave it out: all bets are in the tree"
        )
    if asked.networks:
        agent = load_player(what, game)
        assert isinstance(agent, TreeAgent)
        return agent.strategy(), agent.rules, agent.tree.menu
    stored = asked.open(game)
    name = stored.name if asked.post.method == "none" else f"{stored.name} {asked.post}"
    profile = process_profile(stored.profile, asked.post)
    return profile_agent(name, profile, stored.buckets), stored.rules, stored.game.menu


def as_strategy(
    what: Measurable, rules: GameRules, menu: BetMenu | str | None
) -> tuple[Strategy, BetMenu | str | None]:
    """A strategy for the exact measure, and its bets: from a strategy, a table, a function of a view, or a name."""
    if isinstance(what, str):
        own = menu if isinstance(menu, str) else None
        strategy, _, bets = load_agent(what, rules, own)
        return strategy, menu if bets is None else bets
    if isinstance(what, TreeAgent):
        as_agent(what, rules)
        if menu is not None and menu != what.tree.menu:
            raise InputError(f"{what.name} has bets of its own", remedy="leave out the menu")
        return what.strategy(), what.tree.menu
    if isinstance(what, SearchAgent):
        as_agent(what, rules)
        bets = what.blueprint.tree.menu if isinstance(what.blueprint, TreeAgent) else None
        return TrackedStrategy(what), bets if menu is None else menu
    if isinstance(what, ViewAgent) or is_function(what):
        agent = as_agent(what, rules)
        assert isinstance(agent, ViewAgent)
        return FunctionStrategy(agent), menu
    if not all(hasattr(what, part) for part in ("tables", "never", "by_bucket")):
        if is_agent(what):
            return FunctionStrategy(by_probabilities(what)), menu
        raise InputError(f"{shown(repr(what))} cannot be measured", remedy="give a strategy, a function, or a name")
    return cast(Strategy, what), menu
