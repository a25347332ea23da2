"""What every table needs: deals, views, and independent random streams."""

from __future__ import annotations

import secrets

import numpy as np

from equipoise.agents.agent import View
from equipoise.games.betting_state import BettingState, Deal
from equipoise.games.rules import GameRules

DEALS, PLAYERS_OWN = 0, 1  # purpose of a stream: cards and actions must not share random numbers


def stream(seed: int | None, *key: int) -> np.random.Generator:
    """A generator for one purpose; without a seed, an unpredictable one."""
    return np.random.default_rng(None if seed is None else np.random.SeedSequence(seed, spawn_key=key))


def fresh_seed() -> int:
    """An unpredictable seed, short enough to type."""
    return secrets.randbelow(1 << 53)  # exact also where JSON numbers are floats


def dealt(rules: GameRules, cards: list[int]) -> Deal:
    """The deal of a row of cards: the holes of player 0, of player 1, the board."""
    holes = rules.hole_cards
    return Deal((tuple(cards[:holes]), tuple(cards[holes : 2 * holes])), tuple(cards[2 * holes :]))


def deal_hand(rules: GameRules, rng: np.random.Generator) -> Deal:
    """Cards for both players and the whole board."""
    return dealt(rules, rng.permutation(rules.deck.size)[: rules.deal_size].tolist())


def view_of(state: BettingState, deal: Deal, player: int) -> View:
    """What a player sees."""
    return View(state, player, deal.holes[player], deal.board[: state.rules.board_size(state.round)])


def button(rules: GameRules) -> int:
    """The player with the button: the smaller blind, or where both post the same, the one who acts second."""
    small, large = rules.blinds
    return (1 - rules.first[0]) if small == large else int(large < small)
