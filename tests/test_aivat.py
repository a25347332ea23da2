"""AIVAT by its laws: unbiased in games that can be played out, silent where values are perfect, quieter elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from equipoise.agents.agent import Agent, FunctionAgent, View
from equipoise.cards.deck import Deck
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.games.state import CALL, FOLD, BettingState, Deal
from equipoise.measure.aivat import Aivat, AllInValues

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")
TINY = GameRules(  # two hole cards, two boards, all-ins on every street, blinds of different size
    limit=False,
    blinds=(2, 1),
    stacks=(4, 4),
    first=(1, 0, 0),
    max_raises=(1, 1, 1),
    deck=Deck(3, 2),
    hole_cards=1,
    board_cards=(0, 1, 1),
    name="tiny",
)
PAIRS = GameRules(
    limit=False,
    blinds=(2, 1),
    stacks=(6, 6),
    first=(1, 0),
    max_raises=(2, 1),
    deck=Deck(3, 2),
    hole_cards=2,
    board_cards=(0, 1),
    name="pairs",
)


def random_agent(rules: GameRules, seed: int, *, hesitant: bool = False) -> FunctionAgent:
    """Plays the smallest and the largest raise; some actions never, where it is not hesitant."""
    known: dict[tuple[object, ...], dict[int, float]] = {}

    def answer(view: View) -> dict[int, float]:
        key = (view.state.rounds, view.player, view.hole, tuple(sorted(view.board)))
        if key not in known:
            rng = np.random.default_rng([seed, hash(key) % 2**32])
            legal = view.state.legal()
            actions = [*([FOLD] if legal.fold else []), CALL]
            actions += sorted({legal.raise_min, legal.raise_max} - {0})
            chances = rng.exponential(size=len(actions)) ** 2
            if not hesitant and len(actions) > 1 and rng.random() < 0.3:
                chances[rng.integers(len(actions))] = 0
            known[key] = dict(zip(actions, (chances / chances.sum()).tolist(), strict=True))
        return known[key]

    return FunctionAgent(f"random {seed}", rules, answer)


def deals(rules: GameRules) -> Iterator[Deal]:
    """All of them; the cards of one hole or one round in one order only."""

    def rest(sizes: tuple[int, ...], used: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
        if not sizes:
            yield ()
            return
        for cards in itertools.combinations([c for c in range(rules.deck.size) if c not in used], sizes[0]):
            for more in rest(sizes[1:], (*used, *cards)):
                yield (cards, *more)

    for first, second, *board in rest((rules.hole_cards, rules.hole_cards, *rules.board_cards), ()):
        yield Deal((first, second), tuple(itertools.chain(*board)))


Hand = tuple[float, BettingState, Deal]


def hands(rules: GameRules, agents: tuple[Agent, Agent]) -> Iterator[Hand]:
    """Every hand that can be played, and how likely it is."""
    everything = list(deals(rules))
    chance_of = cache(
        lambda state, hole, board: agents[state.player].probabilities(View(state, state.player, hole, board))
    )
    for deal in everything:
        waiting = [(1 / len(everything), BettingState.start(rules))]
        while waiting:
            chance, state = waiting.pop()
            if state.is_over:
                yield chance, state, deal
                continue
            board = deal.board[: rules.board_size(state.round)]
            for action, share in chance_of(state, deal.holes[state.player], board).items():
                waiting.append((chance * share, state.apply(action)))


@dataclass
class Moments:
    """Mean and variance of chips and of estimates."""

    chips: tuple[float, float]
    corrected: tuple[float, float]


def moments(rules: GameRules, agents: tuple[Agent, Agent], estimate: Callable[[BettingState, Deal], float]) -> Moments:
    rows = np.array([(c, s.payoffs(d)[0], estimate(s, d)) for c, s, d in hands(rules, agents)])
    chances = rows[:, 0]
    assert chances.sum() == pytest.approx(1)
    means = chances @ rows[:, 1:]
    spread = chances @ (rows[:, 1:] - means) ** 2
    return Moments((means[0], spread[0]), (means[1], spread[1]))


KNOWN = [(True, True), (True, False), (False, True), (False, False)]


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("rules", [KUHN, LEDUC, TINY, PAIRS], ids=lambda rules: rules.name)
def test_unbiased(rules: GameRules, known: tuple[bool, bool]) -> None:
    agents = random_agent(rules, 1), random_agent(rules, 2)
    factors = AllInValues((0.7, 1.9, 1.3))
    aivat = Aivat(rules, (agents[0] if known[0] else None, agents[1] if known[1] else None), factors)
    found = moments(rules, agents, aivat.value)
    assert found.corrected[0] == pytest.approx(found.chips[0], abs=1e-9)
    assert abs(found.chips[0]) > 0.01
    print(rules.name, known, (found.chips[1] / found.corrected[1]) ** 0.5)
