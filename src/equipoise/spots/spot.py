"""A postflop spot: two ranges, a board, a pot and stacks, and the bets to consider; read from a file and checked.

Chips are whole numbers. The pot is in the middle when the spot starts, half of it counted as each player's, so that
what a player wins is measured from half the pot; `oop` acts first on every street. A node lock fixes the strategy at a
line of betting, on one board or on all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cards.deck import FULL_DECK
from equipoise.cards.ranges import Range
from equipoise.core.errors import InputError, shown
from equipoise.core.files.shipped import Shelf
from equipoise.core.files.text import read_text, read_toml
from equipoise.core.jit import F64
from equipoise.core.wording import counted
from equipoise.games.bet_menu import BetMenu
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.spots.postflop_bets import PostflopBets
from equipoise.spots.postflop_json import read_postflop_json
from equipoise.tree.betting_tree import MOST_NODES, BettingTree, Root, build_tree
from equipoise.tree.boards import PublicCards, deal_boards
from equipoise.walk.betting_program import Stakes

MOST_CHIPS = 10**8
SPOTS = Shelf("spot", ("spots/examples",), (".toml", ".json"), "give a TOML or JSON file, see docs/spots.md")
_KEYS = ("board", "pot", "stack", "target", "ranges", "betting", "rake", "lock")
_STREETS = {3: 1, 4: 2, 5: 3}


@dataclass(frozen=True)
class Lock:
    """A fixed strategy: where (a line of betting, and a board or all boards), and how often each action is taken."""

    line: str
    board: tuple[int, ...]
    strategy: tuple[tuple[str, F64], ...]  # action text, frequency by hole


@dataclass(frozen=True)
class Spot:
    """A spot to solve. `target` is an exploitability in percent of the pot."""

    board: tuple[int, ...]
    pot: int
    stack: int
    ranges: tuple[Range, Range]  # oop, ip
    menu: BetMenu | PostflopBets
    target: float = 0.5
    rake: float = 0.0
    rake_cap: float = np.inf
    locks: tuple[Lock, ...] = ()
    text: str = field(default="", compare=False, repr=False)  # the TOML or JSON it was read from
    name: str = field(default="spot", compare=False)

    def __repr__(self) -> str:
        return f"Spot({self.name}: {FULL_DECK.text(self.board)}, pot {self.pot:,}, stack {self.stack:,})"

    def __post_init__(self) -> None:
        FULL_DECK.check_distinct(self.board)
        if len(self.board) not in _STREETS:
            raise InputError(f"a board of {counted(len(self.board), 'card')}", remedy="give three, four or five")
        for name, value, least in (("pot", self.pot, 1), ("stack", self.stack, 1)):
            if not least <= value <= MOST_CHIPS:
                raise InputError(f"a {name} of {value}", remedy=f"use {least} to {MOST_CHIPS} chips")
        for name, side in zip(("oop", "ip"), self.ranges, strict=True):
            if not side.without(self.board).weights.any():
                raise InputError(
                    f"range {name} has no hand left on this board", remedy="add hands, or change the board"
                )

    @property
    def street(self) -> int:
        return _STREETS[len(self.board)]

    @property
    def rules(self) -> GameRules:
        """No-limit hold'em with both players half the pot in, and the stacks behind."""
        most = self.pot // 2 + self.stack
        return replace(load_game("holdem.nolimit"), blinds=(1, 1), stacks=(most, most), name="spot")

    @property
    def stakes(self) -> Stakes:
        return Stakes(self.pot % 2, self.rake, self.rake_cap)

    def tree(self, most_nodes: int = MOST_NODES) -> BettingTree:
        """The betting from here on."""
        root = Root(self.street, self.pot // 2, self.pot % 2)
        if isinstance(self.menu, PostflopBets):
            return self.menu.tree(self.rules, root, most_nodes)
        return build_tree(self.rules, self.menu, root, most_nodes)

    def boards(self, *, isomorphism: bool = True) -> PublicCards:
        """This board and all that may follow."""
        weights = self.ranges[0].without(self.board).weights, self.ranges[1].without(self.board).weights
        locks = tuple(frequency for lock in self.locks for _, frequency in lock.strategy)
        named = any(lock.board for lock in self.locks)  # a lock on one runout breaks its symmetry
        return deal_boards(self.rules, weights, self.board, isomorphism=isomorphism and not named, also_keep=locks)


def read_spot(text: str, where: str = "spot") -> Spot:
    """The spot that a TOML text describes, or the JSON text of desktop-postflop's export."""
    if text.lstrip().startswith("{"):
        return Spot(**read_postflop_json(text, where), text=text)
    table = read_toml(text, where, remedy="see docs/spots.md", what="spot", keys=_KEYS)
    try:
        return _from_table(table, text, where)
    except InputError as error:
        raise (error if error.where else error.at(where)) from None


def load_spot(name_or_path: str | Path) -> Spot:
    """A shipped spot, that of a TOML file, or that of a JSON file that desktop-postflop exported."""
    path = SPOTS.find(name_or_path)
    try:
        text = read_text(path)
    except OSError as error:
        raise InputError(f"no spot {shown(path)} ({error.strerror})", remedy="give a TOML or JSON file") from None
    return replace(read_spot(text, str(path)), name=path.stem)


def _from_table(table: Mapping[str, Any], text: str, where: str) -> Spot:
    for key in table:
        if key not in _KEYS:
            raise InputError(f"unknown key {shown(key)}", remedy=f"known are {', '.join(_KEYS)}")
    for key in ("board", "pot", "stack", "ranges", "betting"):
        if key not in table:
            raise InputError(f"{key} is missing", remedy=f"add {key}; see docs/spots.md")
    ranges = _table(table, "ranges")
    for key in ranges:
        if key not in ("oop", "ip"):
            raise InputError(f"unknown range {shown(key)}", remedy="ranges are oop and ip")
    rake = _table(table, "rake")
    return Spot(
        board=FULL_DECK.read_cards(_typed(table, "board", str, "a text like Qs Jh 2h")),
        pot=_typed(table, "pot", int, "a whole number of chips"),
        stack=_typed(table, "stack", int, "a whole number of chips"),
        ranges=(_range(ranges, "oop"), _range(ranges, "ip")),
        menu=BetMenu.from_table(_table(table, "betting"), 4, where=where),
        target=_number(table, "target", 0.5, 0.0, 100.0),
        rake=_number(rake, "rate", 0.0, 0.0, 0.5),
        rake_cap=_number(rake, "cap", np.inf, 0.0, np.inf),
        locks=tuple(_lock(lock) for lock in _typed(table, "lock", list, "[[lock]] tables", [])),
        text=text,
    )


def _typed(table: Mapping[str, Any], key: str, kind: type, what: str, default: Any = None) -> Any:
    value = table.get(key, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"{key} is {shown(value)}", remedy=f"give {what}")
    return value


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return dict(_typed(table, key, Mapping, f"a table [{key}]", {}))


def _number(table: Mapping[str, Any], key: str, default: float, least: float, most: float) -> float:
    value = table.get(key, default)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"{key} is {shown(value)}", remedy=f"give a number from {least:g} to {most:g}")
    return float(value)


def _range(ranges: Mapping[str, Any], key: str) -> Range:
    if key not in ranges:
        raise InputError(f"the range {key} is missing", remedy=f'write {key} = "QQ+,AKs"')
    try:
        return Range.read(_typed(ranges, key, str, 'a text like "QQ+,AKs"'))
    except InputError as error:
        raise InputError(f"range {key}: {error.what}", remedy=error.remedy) from None


def _lock(table: Any) -> Lock:
    if not isinstance(table, Mapping) or not isinstance(table.get("strategy"), Mapping) or not table["strategy"]:
        raise InputError("a lock without a strategy", remedy='write strategy = { fold = 1.0 } or { "bet 100" = "QQ+" }')
    for key in table:
        if key not in ("line", "board", "strategy"):
            raise InputError(f"unknown key {shown(key)} in a lock", remedy="known are line, board, strategy")
    strategy = []
    for action, often in table["strategy"].items():
        if isinstance(often, str):
            by_hole = Range.read(often).weights
        else:
            by_hole = np.full(1326, _number({action: often}, action, 0.0, 0.0, 1.0))
        strategy.append((str(action), by_hole))
    board = FULL_DECK.read_cards(_typed(table, "board", str, "board cards", ""))
    return Lock(_typed(table, "line", str, "a line of betting", ""), board, tuple(strategy))
