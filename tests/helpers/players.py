"""Simple players for tests of tables: functions of a view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np

from equipoise.agents.agent import View
from equipoise.games.betting_state import CALL, FOLD
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from play import random_action


@dataclass(frozen=True)
class Player:
    """An agent that looks at the view alone, whatever led there."""

    name: str
    rules: GameRules
    probabilities: Callable[[View], dict[int, float]]

    def act(self, view: View, rng: np.random.Generator) -> int:
        chances = self.probabilities(view)
        return int(rng.choice(list(chances), p=list(chances.values())))


@dataclass(frozen=True)
class RandomBets:
    """A player of any legal bet: the least, all-in, odd chips; it seldom folds."""

    name: str
    rules: GameRules

    def act(self, view: View, rng: np.random.Generator) -> int:
        return random_action(view.state, Random(int(rng.integers(2**32))))


def player(name: str, game: str) -> Player:
    """One of `PLAYERS` for a game."""
    return Player(name, load_game(game), PLAYERS[name])


def _fold(view: View) -> dict[int, float]:
    return {FOLD if view.state.legal().fold else CALL: 1.0}


def _call(_view: View) -> dict[int, float]:
    return {CALL: 1.0}


def _raise(view: View) -> dict[int, float]:
    return {view.state.legal().raise_min or CALL: 1.0}


def _mixed(view: View) -> dict[int, float]:
    """Seldom folds, and raises by many sizes, so that hands get long."""
    legal = view.state.legal()
    low, high = legal.raise_min, legal.raise_max
    raises = sorted({low, min(high, low + low // 3), (low + high) // 2, high}) if legal.can_raise else []
    chances = {action: 0.35 / len(raises) for action in raises}
    if legal.fold:
        chances[FOLD] = 0.1
    return {**chances, CALL: 1 - sum(chances.values())}


PLAYERS: dict[str, Callable[[View], dict[int, float]]] = {
    "fold": _fold,
    "call": _call,
    "raise": _raise,
    "mixed": _mixed,
}
