"""What a person types at a table: `call 50`, `3bb`, `raise 3x`, `half pot`, `b33`, `shove`.

A number is the player's chips on this street after the action, as in lines of betting: `raise to 300`, `300`.
A fraction is of the pot after calling, as in bet menus: `half pot`, `75%`. `3x` is three times the largest bet of the
street. What is illegal, unknown or has two meanings is refused, with a remedy of forms that are right.
"""

from __future__ import annotations

import re

from equipoise.core.errors import InputError, shown
from equipoise.games.bet_menu import round_half_away
from equipoise.games.betting_state import CALL, FOLD, BettingState
from equipoise.games.notation.typed import CALL_OR_CHECK, read_typed
from equipoise.play.action_text import action_words, bet_faced, is_all_in, listed, on_street, paid_before
from equipoise.play.amounts import Amounts

PERCENTAGES = range(10, 201)  # of the pot, as `b33`; other numbers are amounts
_PARTS = {
    "quarter": 1 / 4, "third": 1 / 3, "half": 1 / 2, "two thirds": 2 / 3, "three quarters": 3 / 4, "full": 1.0,
}  # fmt: skip
_PART = re.compile(r"(?P<part>.*?) ?(?P<pot>(?:of )?(?:the )?pot)?")
_PERCENT = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,2})?) ?(?:%|percent)")
_RATIO = re.compile(r"([0-9]{1,3})/([0-9]{1,3})")
_TIMES = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,2})?) ?x")
_SHORT_PERCENT = re.compile(r"b ?([0-9]{1,3})")
_SMALLEST = re.compile(r"(?:(?:bet|raise) )?min(?:imum)?(?:[ -]?(?:bet|raise))?")


def read_action(state: BettingState, text: str, amounts: Amounts | None = None) -> int:
    """The action for a person's words; `amounts` says in what unit numbers are, chips if it is left out."""
    return _Reader(state, amounts or Amounts.of(state.rules)).action(text)


class _Reader:
    """Reads what the player to act types."""

    def __init__(self, state: BettingState, amounts: Amounts) -> None:
        self.state, self.amounts, self.legal = state, amounts, state.legal()

    def action(self, text: str) -> int:
        """The action; a text that names none is refused."""
        try:
            return self.action_of(" ".join(text.lower().split()).rstrip(".").removesuffix(" or more"))
        except _NotUnderstoodError:
            actions = [*self.simple(), *([self.legal.raise_max] if self.legal.raise_max > self.legal.raise_min else [])]
            what, remedy = f"{shown(text.strip())} is not understood", self.refused("", *actions).remedy
            raise InputError(what, remedy=f"{remedy}, or ? for help") from None

    def action_of(self, words: str) -> int:
        if _SMALLEST.fullmatch(words):
            return self.total("min")
        if short := _SHORT_PERCENT.fullmatch(words):
            return self.bet_of_percent(short[1])
        typed = read_typed(words)
        verb, size = typed or ("", words.removeprefix("to "))
        if verb == CALL_OR_CHECK:
            verb = "call" if self.state.to_call or size else "check"
        match verb:
            case "fold" | "check" if size:
                raise _NotUnderstoodError
            case "fold":
                return self.fold()
            case "check":
                return self.check()
            case "call":
                return self.call(size)
            case "all-in":
                return self.all_in(size)
            case "bet" | "raise" if not size:
                return self.bet_without_size(verb)
        return self.total(size)

    def fold(self) -> int:
        if not self.legal.fold:
            raise self.refused("there is nothing to fold to", CALL)
        return FOLD

    def check(self) -> int:
        if self.state.to_call:
            raise self.refused(f"there are {self.amounts.with_unit(self.state.to_call)} to call", CALL, FOLD)
        return CALL

    def call(self, size: str) -> int:
        """A call, if its amount, where one is given, is what the call costs."""
        if not self.state.to_call:
            raise self.refused("there is nothing to call", CALL)
        if size and self.amount(size) != self.state.to_call:
            raise self.refused(f"a call costs {self.amounts.text(self.state.to_call)}", CALL)
        return CALL

    def all_in(self, size: str) -> int:
        """Everything: a raise, or a call that takes all that is left."""
        legal, state = self.legal, self.state
        if legal.can_raise and is_all_in(state, legal.raise_max):
            if size and self.amount(size) != on_street(state, legal.raise_max):
                raise self.refused(f"all-in is {self.on_street(legal.raise_max)} here", legal.raise_max)
            return legal.raise_max
        if state.to_call and is_all_in(state, CALL) and not size:
            return CALL
        raise self.no_raise() if not legal.can_raise else self.fixed()

    def bet_without_size(self, verb: str) -> int:
        if not self.legal.can_raise:
            raise self.no_raise()
        if not self.state.rules.limit:
            raise InputError(
                f"a {'raise' if bet_faced(self.state) else verb} needs a size",
                remedy=f"type {listed([self.words(self.legal.raise_min), 'pot', 'half pot', 'all-in'])}",
            )
        return self.legal.raise_min

    def bet_of_percent(self, number: str) -> int:
        """`b33` is 33% of the pot; where the number is a legal amount too, it has two meanings."""
        if int(number) not in PERCENTAGES or not self.legal.can_raise:
            return self.total(number)
        amount, part = paid_before(self.state) + self.amount(number), self.part_of_pot(int(number) / 100)
        if amount != part and self.legal.allows(amount):
            percent = f"{'raise' if bet_faced(self.state) else 'bet'} {number}%"
            raise InputError(
                f"b{number} can be {self.amounts.with_unit(on_street(self.state, amount))} or {number}% of the pot, "
                f"which is {self.on_street(part)}",
                remedy=f"type {self.words(amount)} or "
                f"{percent if self.legal.allows(part) else self.words(self.legal.raise_min)}",
            )
        return self.checked(part)

    def total(self, size: str) -> int:
        """A raise to a size, as a total of the whole hand; an illegal one is refused."""
        legal, state = self.legal, self.state
        if size in ("max", "all-in", "all in", "allin"):
            return self.all_in("")
        if size == "min":
            if not legal.can_raise:
                raise self.no_raise()
            return legal.raise_min
        part = _read_part(size)
        if part is not None:
            return self.checked(self.part_of_pot(part))
        if times := _TIMES.fullmatch(size):
            if not bet_faced(state):
                raise self.refused(f"there is no bet to make {times[1]} times as large", legal.raise_min or CALL)
            return self.checked(paid_before(state) + round_half_away(float(times[1]) * bet_faced(state)))
        return self.checked(paid_before(state) + self.amount(size))

    def part_of_pot(self, part: float) -> int:
        """The total of a bet of a part of the pot after calling; more than everything is everything."""
        state = self.state
        total = max(state.spent) + round_half_away(part * (state.pot + state.to_call))
        return total if state.rules.limit else min(total, self.legal.raise_max or total)

    def checked(self, total: int) -> int:
        """A total to raise to, if it is legal."""
        legal = self.legal
        if not legal.can_raise:
            raise self.no_raise()
        if legal.raise_min <= total <= legal.raise_max:
            return total
        if self.state.rules.limit:
            raise self.fixed()
        said = f"a {'raise to' if bet_faced(self.state) else 'bet of'} {self.on_street(total)}"
        if total < legal.raise_min:
            raise self.refused(f"{said} is too small", CALL, legal.raise_min)
        raise self.refused(f"{said} is more than you have", legal.raise_max)

    def amount(self, size: str) -> int:
        """The chips of an amount."""
        try:
            chips = self.amounts.read(size)
        except InputError as error:
            raise self.refused(error.what, *self.simple()) from None
        if chips is None:
            raise _NotUnderstoodError
        return chips

    def words(self, action: int) -> str:
        return action_words(self.state, action, self.amounts)

    def on_street(self, total: int) -> str:
        return self.amounts.text(on_street(self.state, total))

    def simple(self) -> list[int]:
        """Actions to name as examples."""
        legal = self.legal
        return [*([FOLD] if legal.fold else []), CALL, *([legal.raise_min] if legal.can_raise else [])]

    def refused(self, what: str, *actions: int) -> InputError:
        """The error for an illegal action, with legal ones."""
        return InputError(what, remedy=f"type {listed([self.words(action) for action in actions])}")

    def no_raise(self) -> InputError:
        state = self.state
        what = "nobody can raise any more on this street"
        if state.spent[1 - state.player] >= state.rules.stacks[1 - state.player]:
            what = "nobody can raise: the other player is all-in"
        elif max(state.spent) >= state.rules.stacks[state.player]:
            what = "nobody can raise: a call takes all that you have"
        return self.refused(what, CALL, *([FOLD] if self.legal.fold else []))

    def fixed(self) -> InputError:
        return self.refused("the size of a bet is fixed in this game", self.legal.raise_min)


class _NotUnderstoodError(Exception):
    """A text that names no action."""


def _read_part(size: str) -> float | None:
    """The part of the pot that a size is: `half pot`, `pot`, `75%`, `2/3`, `1.5 pot`; None if it is something else."""
    found = _PART.fullmatch(size)
    part, has_pot = (found["part"], found["pot"] is not None) if found else (size, False)
    part = part.replace("-", " ")
    if has_pot and not part:
        return 1.0
    if part in _PARTS and (has_pot or part != "full"):
        return _PARTS[part]
    if percent := _PERCENT.fullmatch(part):
        return float(percent[1]) / 100
    if (ratio := _RATIO.fullmatch(part)) and int(ratio[2]):
        return int(ratio[1]) / int(ratio[2])
    if has_pot and (times := re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,2})?) ?x?", part)):
        return float(times[1])
    return None


def help_text(amounts: Amounts, *, limit: bool) -> str:
    """All forms, in lines of at most 80 columns."""
    unit = "big blinds" if amounts.in_big_blinds else "chips"
    size = "3" if amounts.in_big_blinds else "300"
    other = "300 chips" if amounts.in_big_blinds else "3bb"
    rows = [("fold, check, call", "or f, x or k, c")]
    if limit:
        rows.append(("bet, raise", "the size is fixed"))
    else:
        rows.append((f"raise to {size}, bet {size}, {size}", f"to a total of {size} {unit} on this street"))
        if amounts.big_blind:
            rows.append((f"raise to {other}, {other}", f"the same in {'chips' if unit != 'chips' else 'big blinds'}"))
        rows += [
            ("raise 3x, 2.5x", "to this multiple of the bet that you face"),
            ("pot, half pot, 75%, 2/3, b33", "this part of the pot after calling; b33 is 33%"),
            ("min", "the smallest bet or raise"),
            ("all-in, shove, jam", "everything"),
        ]
    rows += [("?, help", "this help"), ("quit", "leave; an unfinished hand does not count")]
    return "\n".join(f"  {forms:<30}  {about}" for forms, about in rows)
