"""A solved strategy as an agent: its probabilities, and the bucket of every hole on the boards of a walk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from equipoise._errors import InputError, shown
from equipoise._jit import I32, U32
from equipoise.abstraction.bet_menu import BetMenu
from equipoise.abstraction.buckets import BEFORE, BucketMap, fill_board
from equipoise.agents.measured import NAMES, ByBucket, NamedAgent, ProfileAgent, Strategy
from equipoise.cards.symmetry import hole_card_table
from equipoise.games.gamedef import load_game
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.strategy.file import StrategyFile, load_strategy
from equipoise.strategy.profile import Profile
from equipoise.tree.public_cards import PublicCards


def blueprint(strategy: StrategyFile) -> ProfileAgent:
    """The agent that plays a strategy file."""
    return profile_agent(strategy.name, strategy.profile, strategy.buckets)


def load_agent(what: str, game: str = "", menu: str | None = None) -> tuple[Strategy, GameRules, BetMenu | str | None]:
    """An agent, its game and its bets: a run folder, a strategy file, or a named agent, which plays any game."""
    if what in NAMES or not Path(what).exists():
        agent = NamedAgent(what)
        if not game:
            raise InputError(f"{what} plays any game", remedy="name one, e.g. --game holdem.limit")
        return agent, load_game(game), menu
    strategy = load_strategy(what)
    if game:
        strategy.require(load_game(game))
    if menu is not None:
        raise InputError(f"{shown(what)} has bets of its own", remedy="leave out the menu")
    return blueprint(strategy), strategy.rules, strategy.plan.menu


def profile_agent(name: str, profile: Profile, buckets: BucketMap) -> ProfileAgent:
    """The agent that plays a profile by the buckets of a map."""
    return ProfileAgent(name, ByBucket(profile, buckets_of_places(buckets)))


def buckets_of_places(buckets: BucketMap) -> Callable[[PublicCards], U32]:
    """A function that gives the buckets of all places of some boards: one kernel call a board, then a gather."""
    rules = buckets.rules
    hole_card = hole_card_table(rules.deck, rules.hole_cards)
    needs_before = any(street.context == BEFORE for street in buckets.streets)

    def cells(cards: PublicCards) -> U32:
        found = np.zeros(len(cards.arrays.hole), np.uint32)
        kept: dict[int, I32] = {}  # by board, where the next street's buckets depend on these
        for board, dealt in enumerate(cards.cards):
            street, parent = int(cards.arrays.street[board]), int(cards.arrays.parent[board])
            before = kept.get(parent, np.zeros(0, np.int32))
            if needs_before and parent < 0 and street > 0:
                before = buckets.buckets_of_board(street - 1, dealt[: rules.board_size(street - 1)])
            here = np.empty(len(hole_card), np.int32)
            scratch = np.zeros(rules.hole_cards + len(dealt), np.uint8)
            fill_board(np.array(dealt, np.uint8), street, hole_card, before, buckets.tables, scratch, here)
            if needs_before and street + 1 < rules.rounds:
                kept[board] = here
            for player in range(PLAYERS):
                found[cards.slice(board, player)] = cards.gather(board, player, here)
        return found

    return cells
