"""The reader that the ACPC and Slumbot betting texts share: a letter per action, bets with a number, `/` after a round.

The two notations differ in their letters and in what a bet's number counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from equipoise.core.errors import InputError, shown
from equipoise.games.betting_state import BettingState
from equipoise.games.rules import GameRules

MOST_DIGITS = 10
_TOKEN = re.compile(r"/|([^/])([0-9]*)")

ActionReader = Callable[[BettingState, str, str], int]  # (state, letter, digits after it) -> action


def replay_betting(rules: GameRules, text: str, field: str, read_action: ActionReader) -> tuple[BettingState, int]:
    """The state after a betting text, and the number of `/` in it; every action must be legal.

    Messages call the text by `field` and count its characters from 1.
    """
    state, slashes = BettingState.start(rules), 0
    for token in _TOKEN.finditer(text):
        letter, digits = token.groups()
        try:
            if letter is None:
                slashes += 1
                if slashes > state.round:
                    raise InputError("a '/' before the round is over", remedy="end rounds with a call or check")
                continue
            if state.is_over or slashes != state.round:
                raise InputError("an action where none is due", remedy="separate rounds by '/'")
            if len(digits) > MOST_DIGITS:
                raise InputError("a number that is too long", remedy=f"chips have at most {MOST_DIGITS} digits")
            state = state.apply(read_action(state, letter, digits))
        except InputError as error:
            raise bad_betting(text, token.end(), field, error.what, error.remedy) from None
    return state, slashes


def bad_betting(text: str, at: int, field: str, what: str, remedy: str) -> InputError:
    """The error for a betting text that goes wrong at character `at`."""
    return InputError(f"{field} {shown(text)}, character {at}: {what}", remedy=remedy)
