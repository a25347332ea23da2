"""The options of search, as in `RUN?search=turn&time=2`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from equipoise.core.errors import InputError, shown
from equipoise.core.wording import the_street
from equipoise.games.bet_menu import BetMenu, load_menu
from equipoise.games.rules import GameRules

KEYS = ("search", "iterations", "time", "bets", "later", "safety")
LATER = ("solve", "keep")
SAFETY = ("combined", "gadget", "none")
ITERATIONS = (80, 150)  # before the last street, and on it
MOST_ITERATIONS = 1_000_000
BETS, LATER_BETS = "search", "search-later"


@dataclass(frozen=True)
class SearchOptions:
    """How an agent searches."""

    street: int  # the first one that is solved
    rules: GameRules = field(repr=False)
    iterations: int | None = None  # of a solve; None: see `iterations_on`
    seconds: float = inf  # for a solve
    bets: BetMenu | None = None  # on the street that is solved; None in limit games
    later_bets: BetMenu | None = None  # on the streets after it
    later: str = LATER[0]  # on a later street: solve it again, or keep the solution while it has the line
    safety: str = SAFETY[0]

    @classmethod
    def read(cls, texts: Mapping[str, str], rules: GameRules) -> SearchOptions:
        """The options of a WHAT: texts by name."""
        found = cls(search_street(texts["search"], rules), rules)
        if "iterations" in texts:
            found = replace(found, iterations=int(_number(texts, "iterations", 1, MOST_ITERATIONS)))
        if "time" in texts:
            found = replace(found, seconds=_number(texts, "time", 0, 1e6))
        later, safety = (_one_of(texts, key, words) for key, words in (("later", LATER), ("safety", SAFETY)))
        if not rules.limit:
            bets = load_menu(texts.get("bets", BETS), rules)
            later_bets = load_menu(LATER_BETS, rules) if later == "solve" and "bets" not in texts else bets
            found = replace(found, bets=bets, later_bets=later_bets)
        elif "bets" in texts:
            raise InputError(f"bets in {rules.name or 'a limit game'}", remedy="leave them out: its bets are fixed")
        return replace(found, later=later, safety=safety)

    def iterations_on(self, street: int) -> int:
        """The number of iterations of a solve that starts on a street."""
        return ITERATIONS[street == self.rules.rounds - 1] if self.iterations is None else self.iterations

    def menu(self, street: int) -> BetMenu | None:
        """The bets of a solve that starts on a street."""
        if self.bets is None or self.later_bets is None:
            return None
        now, later = self.bets.for_rules(self.rules), self.later_bets.for_rules(self.rules)
        end = street + 1
        return replace(now, sizes=now.sizes[:end] + later.sizes[end:], caps=now.caps[:end] + later.caps[end:])


def search_street(text: str, rules: GameRules) -> int:
    """A street by its name; search starts after the first deal of board cards."""
    street = rules.find_street(text)
    if street == 0:
        raise InputError(f"no search from {the_street(rules.street_name(0))}", remedy="name a later street")
    return street


def _one_of(texts: Mapping[str, str], key: str, words: tuple[str, ...]) -> str:
    text = texts.get(key, words[0])
    if text not in words:
        raise InputError(f"{key}={shown(text)}", remedy=f"use {', '.join(words)}")
    return text


def _number(texts: Mapping[str, str], key: str, least: float, most: float) -> float:
    try:
        value = float(texts[key])
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise InputError(f"{key}={shown(texts[key])}", remedy=f"give a number from {least:g} to {most:g}")
    return value
