"""The betting text of Slumbot's web API, both ways.

`k` check, `c` call, `f` fold, `bN` bet or raise to N chips on the street, `/` between streets. A street that has begun
may or may not be announced by a trailing `/`; we write it, and read both. The same holds for the streets that an
all-in skips. Bets count the street only, where the ACPC text counts the whole hand.
"""

from __future__ import annotations

from equipoise.core.errors import InputError, shown
from equipoise.games.betting_state import CALL, FOLD, BettingState
from equipoise.games.rules import GameRules

_MOST_DIGITS = 10


def betting_text(state: BettingState) -> str:
    """The betting so far."""
    replay = BettingState.start(state.rules)
    streets = []
    for actions in state.rounds:
        text = ""
        for action in actions:
            if action == FOLD:
                text += "f"
            elif action == CALL:
                text += "c" if replay.to_call else "k"
            else:
                text += f"b{action - replay.street_start}"
            replay = replay.apply(action)
        streets.append(text)
    return "/".join(streets)


def read_betting(rules: GameRules, text: str) -> BettingState:
    """The state after a betting text; every action must be legal."""
    state = BettingState.start(rules)
    at = 0
    slashes = 0
    while at < len(text):
        letter = text[at]
        at += 1
        if letter == "/":
            slashes += 1
            if slashes > state.round:
                raise _bad(text, at, "a '/' before the street is over", "end streets with a call or check")
            continue
        if state.is_over or slashes != state.round:
            raise _bad(text, at, "an action where none is due", "separate streets by '/'")
        start = at
        while at < len(text) and text[at] in "0123456789":
            at += 1
        if (at > start) != (letter == "b") or at - start > _MOST_DIGITS:
            raise _bad(text, at, "an action that is not one of f, k, c and bN", "write a bet as b and its chips")
        state = _apply(state, letter, text[start:at], text, at)
    return state


def _apply(state: BettingState, letter: str, digits: str, text: str, at: int) -> BettingState:
    if letter == "k" and state.to_call:
        raise _bad(text, at, "a check with a bet to call", "use c or f")
    if letter == "c" and not state.to_call:
        raise _bad(text, at, "a call with nothing to call", "use k")
    actions = {"f": FOLD, "k": CALL, "c": CALL}
    if letter != "b" and letter not in actions:
        raise _bad(text, at, f"unknown action {shown(letter)}", "use f, k, c and bN")
    action = actions[letter] if letter in actions else state.street_start + int(digits)
    if letter == "b" and action <= 0:
        raise _bad(text, at, "a bet of nothing", "bet at least the minimum")
    try:
        return state.apply(action)
    except InputError as error:
        raise _bad(text, at, error.what, error.remedy) from None


def _bad(text: str, at: int, what: str, remedy: str) -> InputError:
    return InputError(f"action {shown(text)}, character {at}: {what}", remedy=remedy)
