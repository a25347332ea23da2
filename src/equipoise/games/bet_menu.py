"""Bet menus: the raises that a betting tree offers, by street and by the number of earlier bets.

A size is a fraction of the pot after calling, `"min"` (the smallest legal raise) or `"all-in"`. Fraction f of a pot P
raises to the opponent's total + round(f x P), halves away from zero. A size below the legal minimum is dropped; one at
or above the stack is all-in; equal sizes merge. The first bet or raise of a street takes its size from `bet`, the next
from `raise`, then `three_bet`, and all later ones from `four_bet`. Blinds are not bets: an opening raise before the
flop is a `bet`. (This reading of Slumbot NL's menu gives its published 835 sequences to the flop exactly.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from equipoise.core.errors import InputError, shown
from equipoise.core.files.shipped import Shelf
from equipoise.core.files.text import load_toml
from equipoise.core.wording import did_you_mean
from equipoise.games.gamedef import as_game
from equipoise.games.rules import MOST_ROUNDS, STREETS, GameRules

Size: TypeAlias = float | str
LEVELS = ("bet", "raise", "three_bet", "four_bet")
POSITIONS = ("oop", "ip")  # player 0, who acts first after the flop, and player 1
ALL_IN = "all-in"
MIN = "min"
MOST_SIZES = 64
MOST_FRACTION = 1e6
UNCAPPED = 255
_KEYS = (*LEVELS, "cap")
MENUS = Shelf("menu", ("games/menus",), otherwise="give a TOML file, see docs/betting.md")


@dataclass(frozen=True)
class BetMenu:
    """Sizes by street, player and level (see LEVELS), the maximum number of bets a street, and the all-in threshold."""

    sizes: tuple[tuple[tuple[tuple[Size, ...], ...], ...], ...]  # [street][player][level]
    caps: tuple[int, ...]  # [street]
    all_in_threshold: float = 1.0  # of the stack: a bet that puts in at least this share is all-in
    name: str = field(default="", compare=False)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], streets: int, name: str = "", where: str = "") -> BetMenu:
        """A menu from the `[betting]` table of a recipe: for all streets, with overrides by street and by position."""
        names = street_names(streets)
        _check_keys(table, (*_KEYS, *POSITIONS, *names, "all_in_threshold"), "a bet menu", where)
        sizes, caps = [], []
        for street in names:
            own = _subtable(table, street, where)
            _check_keys(own, (*_KEYS, *POSITIONS), street, where)
            layers = [table, own]
            caps.append(_cap(_merged(layers).get("cap", UNCAPPED), where))
            by_player = []
            for position in POSITIONS:
                overrides = [_subtable(layer, position, where) for layer in layers]
                for override in overrides:
                    _check_keys(override, LEVELS, position, where)
                by_player.append(_levels(_merged([table, overrides[0], own, overrides[1]]), where))
            sizes.append(tuple(by_player))
        return cls(tuple(sizes), tuple(caps), _threshold(table.get("all_in_threshold", 1.0), where), name)

    def for_rules(self, rules: GameRules) -> BetMenu:
        """The menu cut to the streets of a game."""
        if rules.rounds > len(self.sizes):
            raise InputError(f"a menu of {len(self.sizes)} streets", remedy=f"the game has {rules.rounds} rounds")
        return replace(self, sizes=self.sizes[: rules.rounds], caps=self.caps[: rules.rounds])


def _check_keys(table: Mapping[str, Any], known: Sequence[str], what: str, where: str) -> None:
    for key in table:
        if key not in known:
            raise InputError(f"unknown key {shown(key)} in {what}", where=where, remedy=did_you_mean(str(key), known))


def _subtable(table: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, Mapping):
        raise InputError(f"{key} is not a table", where=where, remedy=f"write [betting.{key}]")
    return found


def _merged(layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sizes and cap of several tables; later tables take precedence."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged |= {key: layer[key] for key in _KEYS if key in layer}
    return merged


def street_names(streets: int) -> tuple[str, ...]:
    """The names of streets in menus: preflop, flop, turn, river, then round_5 and so on."""
    return tuple(STREETS[i] if i < len(STREETS) else f"round_{i + 1}" for i in range(streets))


def _levels(table: Mapping[str, Any], where: str) -> tuple[tuple[Size, ...], ...]:
    """Sizes of each level; the default is the previous level."""
    if "bet" not in table:
        raise InputError("a bet menu without bet", where=where, remedy='write e.g. bet = [0.5, 1.0, "all-in"]')
    levels: list[tuple[Size, ...]] = []
    for level in LEVELS:
        levels.append(_sizes(table[level], level, where) if level in table else levels[-1])
    return tuple(levels)


def _sizes(value: Any, level: str, where: str) -> tuple[Size, ...]:
    remedy = f'write e.g. {level} = [0.5, 1.0, "all-in"]'
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MOST_SIZES:
        raise InputError(f"{level} is not a list of sizes", where=where, remedy=remedy)
    sizes: list[Size] = []
    for size in value:
        if size in (ALL_IN, MIN):
            sizes.append(str(size))
        elif isinstance(size, (int, float)) and not isinstance(size, bool) and 0 < size <= MOST_FRACTION:
            sizes.append(float(size))
        else:
            raise InputError(f"size {shown(size)} in {level}", where=where, remedy=remedy)
    return tuple(sizes)


def _cap(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= UNCAPPED:
        raise InputError(f"cap {shown(value)}", where=where, remedy="give the maximum bets per street, e.g. cap = 3")
    return value


def _threshold(value: Any, where: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value <= 1:
        raise InputError(f"all_in_threshold {shown(value)}", where=where, remedy="give a share of the stack, up to 1")
    return float(value)


_MENU_KEYS = ("betting", *_KEYS, *POSITIONS, *street_names(MOST_ROUNDS), "all_in_threshold")


def load_menu(name_or_file: str | Path, game: GameRules | str) -> BetMenu:
    """A built-in menu, or that of a TOML file with a `[betting]` table (a recipe, say), for a game."""
    name = str(name_or_file)
    return BetMenu.from_table(load_menu_table(name), as_game(game).rounds, name=Path(name).stem, where=name)


def load_menu_table(name: str) -> Mapping[str, Any]:
    """The `[betting]` table of a built-in menu or a TOML file, as it is written there."""
    document = load_toml(MENUS.find(name), "bet menu", MENUS.otherwise, _MENU_KEYS)
    table = document.get("betting", document)
    if not isinstance(table, Mapping):
        raise InputError("betting is not a table", where=name, remedy="write [betting]")
    return table


def round_half_away(value: float) -> int:
    """The nearest integer, halves away from zero, as in the tree's kernel."""
    return math.floor(value + 0.5)


def betting_table(value: Any, where: str = "") -> dict[str, Any]:
    """The betting of a recipe: a table, or the name of a menu."""
    if isinstance(value, str):
        return dict(load_menu_table(value))
    if not isinstance(value, Mapping):
        raise InputError("betting is not a table", where=where, remedy="write [betting], or the name of a menu")
    return dict(value)
