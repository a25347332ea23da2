"""Random hands: what the tests of the games layer play."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log
from random import Random

from equipoise.games.betting_state import CALL, FOLD, BettingState, Deal, Legal
from equipoise.games.rules import GameRules


def random_deal(rules: GameRules, rng: Random) -> Deal:
    """Cards for both players and the whole board."""
    cards = tuple(rng.sample(range(rules.deck.size), rules.deal_size))
    first, second = rules.hole_cards, 2 * rules.hole_cards
    return Deal((cards[:first], cards[first:second]), cards[second:])


def random_raise(legal: Legal, rng: Random) -> int:
    """A legal total: the least, the most, near the least, log-uniform or uniform, equally often."""
    low, high = legal.raise_min, legal.raise_max
    near = min(high, low + rng.randint(1, max(1, low // 4)))
    spread = min(high, max(low, round(exp(rng.uniform(log(low), log(high))))))
    return rng.choice([low, high, near, spread, rng.randint(low, high)])


def random_action(state: BettingState, rng: Random) -> int:
    """A legal action: mostly calls and raises, so that hands get deep."""
    legal, draw = state.legal(), rng.random()
    if legal.fold and draw < 0.1:
        return FOLD
    return random_raise(legal, rng) if legal.can_raise and draw < 0.55 else CALL


def random_hand(rules: GameRules, rng: Random) -> BettingState:
    """A finished hand."""
    state = BettingState.start(rules)
    while not state.is_over:
        state = state.apply(random_action(state, rng))
    return state


def longest_hand(rules: GameRules) -> BettingState:
    """The hand in which every raise is made, each as small as it may be."""
    state = BettingState.start(rules)
    while not state.is_over:
        state = state.apply(state.legal().raise_min or CALL)
    return state


def random_state(rules: GameRules, rng: Random) -> BettingState:
    """Any state of a random hand, the first and the last included."""
    hand = random_hand(rules, rng)
    return rng.choice([*(state for state, _ in decisions(hand)), hand])


def decisions(hand: BettingState) -> Iterator[tuple[BettingState, int]]:
    """Every decision of a hand: the state and the action taken there."""
    state = BettingState.start(hand.rules)
    for action in (action for actions in hand.rounds for action in actions):
        yield state, action
        state = state.apply(action)


def kinds(state: BettingState, action: int) -> Iterator[str]:
    """What an action is called; one may be several things."""
    if state.raises == state.rules.max_raises[state.round]:
        yield "capped"
    if action == FOLD:
        yield "fold"
    elif action == CALL:
        yield "call" if state.to_call else "check"
        if state.to_call and state.spent[state.player] + state.to_call == state.rules.stacks[state.player]:
            yield "all-in call"
    else:
        yield "raise"
        stack = state.rules.stacks[state.player]
        if action == state.min_raise_to:
            yield "min-raise"
        elif state.min_raise_to < action <= state.min_raise_to * 5 // 4 and action < stack:
            yield "small raise"
        if action == stack:
            yield "all-in"
        if action == stack < state.min_raise_to:
            yield "short all-in"
