"""The words for actions at a table: what may be typed, and what is told.

Amounts are totals of a player's chips on this street: `raise to 300`. A bet is a raise where there is one already,
and blinds are bets.
"""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.games.betting_state import CALL, FOLD, BettingState
from equipoise.play.amounts import Amounts


def paid_before(state: BettingState) -> int:
    """The chips each player had in before this street; antes that both post alike are before the first."""
    blinds = state.rules.blinds
    return state.street_start or (blinds[0] if blinds[0] == blinds[1] else 0)


def on_street(state: BettingState, total: int) -> int:
    """A total of the whole hand as chips on this street."""
    return total - paid_before(state)


def bet_faced(state: BettingState) -> int:
    """The largest bet on this street, 0 if there is none."""
    return on_street(state, max(state.spent))


def is_all_in(state: BettingState, action: int) -> bool:
    """Whether an action puts in everything the player to act has."""
    spent = max(action, state.spent[state.player] + state.to_call) if action != FOLD else 0
    return spent >= state.rules.stacks[state.player]


def action_words(state: BettingState, action: int, amounts: Amounts) -> str:
    """An action of the player to act, as it can be typed: `call 50`, `raise to 300`, `bet 100`, `all-in 20,000`."""
    if action == FOLD:
        return "fold"
    if action == CALL:
        return f"call {amounts.text(state.to_call)}" if state.to_call else "check"
    amount = amounts.text(on_street(state, action))
    if is_all_in(state, action):
        return f"all-in {amount}"
    return f"raise to {amount}" if bet_faced(state) else f"bet {amount}"


def action_told(state: BettingState, action: int, amounts: Amounts, name: str = "") -> str:
    """An action of the player to act, as it is told: `You raise to 900.`, or `NAME raises to 900.`"""
    words = action_words(state, action, amounts)
    verb, _, size = words.partition(" ")
    if verb == "all-in":
        verb, size = "go", f"all-in for {size}"
    elif action == CALL and state.to_call and is_all_in(state, action):
        size += f" and {'is' if name else 'are'} all-in"
    if name:
        verb = "goes" if verb == "go" else f"{verb}s"
    return f"{name or 'You'} {verb} {size}".strip() + "."


def offers(state: BettingState, amounts: Amounts) -> list[str]:
    """What the player to act may type: `fold`, `call 50`, `raise to 200 or more`, `all-in 20,000`."""
    legal = state.legal()
    actions = ([FOLD] if legal.fold else []) + [CALL]
    choices = [action_words(state, action, amounts) for action in actions]
    if legal.can_raise:
        least = action_words(state, legal.raise_min, amounts)
        if legal.raise_min < legal.raise_max:
            choices += [f"{least} or more", action_words(state, legal.raise_max, amounts)]
        else:
            choices.append(least)
    return choices


def listed(words: Sequence[str], between: str = "or") -> str:
    """`fold, check or bet 100`."""
    return f" {between} ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)
