"""Bet menus: which raises a betting tree offers, by street and by the number of bets before.

A size is a fraction of the pot after calling, `"min"` (the smallest legal raise) or `"all-in"`. Fraction f of a pot P
raises to the opponent's total + round(f x P), halves away from zero. A size below the legal minimum is left out; one at
or above the stack is all-in; equal sizes merge. The first bet or raise of a street takes its size from `bet`, the next
from `raise`, then `three_bet`, and all later ones from `four_bet`. Blinds are not bets: an opening raise before the
flop is a `bet`. (This reading of Slumbot NL's menu gives its published 835 sequences to the flop exactly.)
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

from equipoise._errors import InputError, shown
from equipoise.games.rules import STREETS, GameRules

Size: TypeAlias = float | str
LEVELS = ("bet", "raise", "three_bet", "four_bet")
ALL_IN = "all-in"
MIN = "min"
MOST_SIZES = 64
MOST_FRACTION = 1e6
UNCAPPED = 255
_KEYS = (*LEVELS, "cap")


@dataclass(frozen=True)
class BetMenu:
    """Sizes by street and level (see LEVELS), and the most bets a street, blinds not counted, by street."""

    sizes: tuple[tuple[tuple[Size, ...], ...], ...]  # [street][level]
    caps: tuple[int, ...]  # [street]
    name: str = field(default="", compare=False)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], streets: int, name: str = "", where: str = "") -> BetMenu:
        """A menu from the `[betting]` table of a recipe: sizes for all streets, and overrides by street name."""
        names = street_names(streets)
        sizes, caps = [], []
        for key in table:
            if key not in (*_KEYS, *names):
                raise InputError(
                    f"unknown key {shown(str(key))} in a bet menu",
                    where=where,
                    remedy=f"known are {', '.join(_KEYS)}, {', '.join(names)}",
                )
        for street in names:
            own = table.get(street, {})
            if not isinstance(own, Mapping):
                raise InputError(f"{street} is not a table", where=where, remedy=f"write [betting.{street}]")
            for key in own:
                if key not in _KEYS:
                    raise InputError(
                        f"unknown key {shown(str(key))} in {street}",
                        where=where,
                        remedy=f"known are {', '.join(_KEYS)}",
                    )
            merged = {key: table[key] for key in _KEYS if key in table} | dict(own)
            sizes.append(_levels(merged, where))
            caps.append(_cap(merged.get("cap", UNCAPPED), where))
        return cls(tuple(sizes), tuple(caps), name)

    def for_rules(self, rules: GameRules) -> BetMenu:
        """The menu cut to the streets of a game."""
        if rules.rounds > len(self.sizes):
            raise InputError(f"a menu of {len(self.sizes)} streets", remedy=f"the game has {rules.rounds} rounds")
        return BetMenu(self.sizes[: rules.rounds], self.caps[: rules.rounds], self.name)


def street_names(streets: int) -> tuple[str, ...]:
    """The names of streets in menus: preflop, flop, turn, river, then round_5 and so on."""
    return tuple(STREETS[i] if i < len(STREETS) else f"round_{i + 1}" for i in range(streets))


def _levels(table: Mapping[str, Any], where: str) -> tuple[tuple[Size, ...], ...]:
    """Sizes of each level; one that is not given is as the level before it."""
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
            raise InputError(f"size {shown(str(size))} in {level}", where=where, remedy=remedy)
    return tuple(sizes)


def _cap(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= UNCAPPED:
        raise InputError(f"cap {shown(str(value))}", where=where, remedy="give the most bets a street, e.g. cap = 3")
    return value


def menu_names() -> list[str]:
    """The built-in menus."""
    folder = Path(str(resources.files("equipoise.abstraction") / "menus"))
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_menu(name_or_file: str | Path, rules: GameRules) -> BetMenu:
    """A built-in menu, or that of a TOML file with a `[betting]` table (a recipe, say), for a game."""
    name = str(name_or_file)
    path = Path(name)
    if name in menu_names():
        path = Path(str(resources.files("equipoise.abstraction") / "menus" / f"{name}.toml"))
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not a TOML file: {error}", where=name, remedy="see the menus in docs/betting.md") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"no menu {shown(name)} ({reason})", remedy=f"built-in: {', '.join(menu_names())}; or give a TOML file"
        ) from None
    table = document.get("betting", document)
    if not isinstance(table, Mapping):
        raise InputError("betting is not a table", where=name, remedy="write [betting]")
    return BetMenu.from_table(table, rules.rounds, name=path.stem, where=name)


def round_half_away(value: float) -> int:
    """Nearest whole number, halves away from zero: the twin of what the tree's kernel does."""
    return math.floor(value + 0.5)
