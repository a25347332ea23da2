"""A solved strategy as an agent: its probabilities, and the bucket of every hole on the boards of a walk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equipoise._jit import I32, U32
from equipoise.abstraction.buckets import BEFORE, BucketMap, fill_board
from equipoise.agents.measured import ByBucket, ProfileAgent
from equipoise.cards.symmetry import hole_card_table
from equipoise.games.rules import PLAYERS
from equipoise.strategy.file import StrategyFile
from equipoise.strategy.profile import Profile
from equipoise.tree.public_cards import PublicCards


def blueprint(strategy: StrategyFile) -> ProfileAgent:
    """The agent that plays a strategy file."""
    return profile_agent(strategy.name, strategy.profile, strategy.buckets)


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
