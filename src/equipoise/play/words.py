"""The words that a person types at a table, and the words for actions.

Numbers are chips put in on this street after the action, as in lines of betting: `bet 300`, `raise 900`. Fractions are
of the pot after calling, as in bet menus: `bet half`, `pot`, `raise 75%`.
"""

from __future__ import annotations

import re

from equipoise.core.errors import InputError, shown
from equipoise.games.bet_menu import round_half_away
from equipoise.games.betting_state import CALL, FOLD, BettingState, Legal
from equipoise.games.notation.typed import CALL_OR_CHECK, TypedAction, read_typed

HELP = """fold, check, call (f, x or k, c)
bet 300, raise 900: to a total of chips on this street (b300, r900)
bet half, raise pot, bet 75%, bet 2/3: that part of the pot after calling; bet min: as little as allowed
all-in; in limit games just bet or raise
? shows this, quit ends the game"""

_PARTS = {"quarter": 1 / 4, "third": 1 / 3, "half": 1 / 2, "two-thirds": 2 / 3, "pot": 1.0}
_AMOUNT = re.compile(r"\d{1,10}")
_PERCENT = re.compile(r"(\d{1,4})%")
_RATIO = re.compile(r"(\d{1,3})/(\d{1,3})")


def read_action(state: BettingState, text: str) -> int:
    """The action for a person's words; unknown words are refused."""
    words = " ".join(text.lower().replace(",", "").split())
    verb, size = read_typed(words) or TypedAction(words, "")
    legal, facing = state.legal(), state.to_call > 0
    if verb == CALL_OR_CHECK and not size:
        return CALL
    if verb in ("fold", "check", "call") and not size:
        if verb == "fold" and not legal.fold:
            raise InputError("there is nothing to fold to", remedy=offers(state))
        if (verb == "check") == facing and verb != "fold":
            what = f"there are {state.to_call:,} chips to call" if facing else "there is nothing to call"
            raise InputError(what, remedy=offers(state))
        return FOLD if verb == "fold" else CALL
    if verb in ("bet", "raise"):
        return _raise(state, legal, "all-in" if size == "allin" else size)
    if not size and (verb in _PARTS or verb in ("all-in", "min")):
        return _raise(state, legal, verb)
    raise InputError(f"{shown(text.strip())} is no action", remedy=offers(state))


def _raise(state: BettingState, legal: Legal, size: str) -> int:
    if not legal.can_raise:
        raise InputError("nobody can raise here", remedy=offers(state))
    if state.rules.limit:
        if size and size != str(on_street(state, legal.raise_min)):
            raise InputError("the size is fixed here", remedy=offers(state))
        return legal.raise_min
    if not size:
        raise InputError("a raise needs its size", remedy=offers(state))
    total = _total(state, legal, size)
    if not legal.allows(total):
        raise InputError(f"{on_street(state, total):,} is out of range", remedy=offers(state))
    return total


def _total(state: BettingState, legal: Legal, size: str) -> int:
    """What a size raises to, in the whole hand."""
    if size in ("all-in", "min"):
        return legal.raise_max if size == "all-in" else legal.raise_min
    if _AMOUNT.fullmatch(size):
        return int(size) + paid_before(state)
    percent, ratio = _PERCENT.fullmatch(size), _RATIO.fullmatch(size)
    if percent:
        part = int(percent[1]) / 100
    elif ratio and int(ratio[2]):
        part = int(ratio[1]) / int(ratio[2])
    elif size in _PARTS:
        part = _PARTS[size]
    else:
        raise InputError(f"{shown(size)} is no size", remedy="give chips, half, pot, 75%, 2/3, min or all-in")
    return min(max(state.spent) + round_half_away(part * (state.pot + state.to_call)), legal.raise_max)


def paid_before(state: BettingState) -> int:
    """The chips each player had in before this street; antes that both post alike are before the first."""
    blinds = state.rules.blinds
    return state.street_start or (blinds[0] if blinds[0] == blinds[1] else 0)


def on_street(state: BettingState, total: int) -> int:
    """A total of the whole hand as chips on this street."""
    return total - paid_before(state)


def offers(state: BettingState) -> str:
    """The legal actions."""
    legal, facing = state.legal(), state.to_call > 0
    choices = (["fold"] if legal.fold else []) + [f"call {state.to_call:,}" if facing else "check"]
    if legal.can_raise:
        verb = "raise" if facing else "bet"
        totals = sorted({legal.raise_min, legal.raise_max})
        choices.append(f"{verb} " + " up to ".join(f"{on_street(state, total):,}" for total in totals))
    return ", ".join(choices)


def action_words(state: BettingState, action: int) -> str:
    """An action of the player to act, as it is typed."""
    facing = state.to_call > 0
    if action == FOLD:
        return "fold"
    if action == CALL:
        return f"call {state.to_call:,}" if facing else "check"
    if not state.rules.limit and action == state.legal().raise_max:
        return f"all-in {on_street(state, action):,}"
    return f"{'raise' if facing else 'bet'} {on_street(state, action):,}"


def action_told(state: BettingState, action: int) -> str:
    """An action of the player to act, as it is told: `raises to 900`."""
    verb, _, amount = action_words(state, action).partition(" ")
    told = {"all-in": "goes all-in for", "raise": "raises to"}.get(verb, f"{verb}s")
    return f"{told} {amount}".strip()
