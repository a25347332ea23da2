"""Amounts at a table, in chips or in big blinds, as text and from text.

Big blinds have as many decimals as it takes to tell two amounts of chips apart, and no more: with a big blind of 100,
250 chips are `2.5bb`. What is shown reads back to the same chips.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from equipoise.core.errors import InputError, shown
from equipoise.core.wording import counted
from equipoise.games.rules import GameRules

_AMOUNT = re.compile(
    r"(?P<whole>[0-9]{1,3}(?:[,'_ ][0-9]{3})+|[0-9]{1,12})(?P<part>\.[0-9]{1,9})?"
    r" ?(?P<unit>bb|big blinds?|chips?)?"
)


@dataclass(frozen=True)
class Amounts:
    """How a table shows chips, and what a number without a unit means there."""

    big_blind: int  # 0 in a game of antes, which has none
    in_big_blinds: bool = False

    @classmethod
    def of(cls, rules: GameRules, *, in_big_blinds: bool = False) -> Amounts:
        """Checked: the amounts of a game."""
        if rules.blinds[0] != rules.blinds[1]:
            return cls(rules.big_blind, in_big_blinds)
        if in_big_blinds:
            raise InputError(f"{rules.name or 'this game'} has antes and no big blind", remedy="play it in chips")
        return cls(0)

    def text(self, chips: int) -> str:
        """`1,250`, or `12.5bb`."""
        return f"{self._big_blinds(chips)}bb" if self.in_big_blinds else f"{chips:,}"

    def signed(self, chips: int) -> str:
        """The same, with a sign."""
        return ("-" if chips < 0 else "+") + self.text(abs(chips))

    def with_unit(self, chips: int) -> str:
        """`1,250 chips`, or `12.5bb`."""
        return self.text(chips) if self.in_big_blinds else counted(chips, "chip")

    def read(self, text: str) -> int | None:
        """The chips of `300`, `1,250`, `12.5bb` or `300 chips`; None if it is no amount, an error if it is no chips."""
        found = _AMOUNT.fullmatch(text)
        if not found:
            return None
        whole, unit = re.sub("[,'_ ]", "", found["whole"]), found["unit"] or ("bb" if self.in_big_blinds else "chip")
        if unit.startswith("chip"):
            if found["part"]:
                raise InputError(f"{shown(text)} is no whole number of chips")
            return int(whole)
        if not self.big_blind:
            raise InputError("this game has antes and no big blind")
        number = Fraction(whole + (found["part"] or ""))
        chips = int(number * self.big_blind + Fraction(1, 2))
        if number * self.big_blind != chips and number != Fraction(self._big_blinds(chips).replace(",", "")):
            raise InputError(f"{shown(text)} is no whole number of chips")
        return chips

    def _big_blinds(self, chips: int) -> str:
        """A number of big blinds, to as many decimals as tell amounts of chips apart."""
        places = len(str(self.big_blind - 1)) if self.big_blind > 1 else 0
        whole, part = divmod((2 * chips * 10**places + self.big_blind) // (2 * self.big_blind), 10**places)
        return f"{whole:,}.{part:0{places}}".rstrip("0").rstrip(".") if part else f"{whole:,}"
