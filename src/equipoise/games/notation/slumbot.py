"""The betting text of Slumbot's web API, both ways.

`k` check, `c` call, `f` fold, `bN` bet or raise to N chips on the street, `/` between streets. A trailing `/` may
or may not announce a new street, or those that an all-in skips: we write it, and read both. Bets count the chips of
the street; the ACPC text counts those of the whole hand.
"""

from __future__ import annotations

from equipoise.core.errors import InputError, shown
from equipoise.games.betting_state import CALL, FOLD, BettingState
from equipoise.games.notation.betting_text import replay_betting
from equipoise.games.rules import GameRules


def slumbot_betting(state: BettingState) -> str:
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


def read_slumbot_betting(rules: GameRules, text: str) -> BettingState:
    """The state after a betting text; every action must be legal."""
    return replay_betting(rules, text, "action", _read_action)[0]


def _read_action(state: BettingState, letter: str, digits: str) -> int:
    if letter not in "fkcb" or bool(digits) != (letter == "b"):
        raise InputError(f"unknown action {shown(letter + digits)}", remedy="use f, k, c and bN")
    if letter == "k" and state.to_call:
        raise InputError("a check with a bet to call", remedy="use c or f")
    if letter == "c" and not state.to_call:
        raise InputError("a call with nothing to call", remedy="use k")
    if letter != "b":
        return FOLD if letter == "f" else CALL
    action = state.street_start + int(digits)
    if action <= 0:
        raise InputError("a bet of nothing", remedy="bet at least the minimum")
    return action
