"""The last street sixteen entries side by side, against the walk that takes one row at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from equipoise import GameRules, exploitability, load_game
from equipoise.agents.card_blind import ByBucket, CardBlindStrategy, ProfileStrategy, Strategy
from equipoise.cards.deck import Deck
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.jit import U32
from equipoise.games.bet_menu import BetMenu, load_menu
from equipoise.measure import best_response
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import DECISION, build_tree
from equipoise.tree.boards import PublicCards
from equipoise.tree.infosets import SlotLayout

DECK = Deck(5, 3)
LIMIT = dataclasses.replace(
    load_game("holdem.limit"),
    deck=DECK,
    first=(1, 0, 0),
    max_raises=(2, 3, 4),
    raise_sizes=(10, 10, 20),
    board_cards=(0, 2, 1),
)
NO_LIMIT = dataclasses.replace(
    load_game("holdem.nolimit"),
    deck=DECK,
    stacks=(600, 600),
    first=(1, 0, 0),
    max_raises=(3, 3, 3),
    board_cards=(0, 2, 1),
)


def buckets_of_places(rules: GameRules, counts: tuple[int, ...]) -> Callable[[PublicCards], U32]:
    """Buckets that tell hands apart, but not suits: the number of the hand, modulo the number of buckets."""

    def cells(cards: PublicCards) -> U32:
        found = np.zeros(len(cards.arrays.hole), np.uint32)
        for board, dealt in enumerate(cards.cards):
            indexer = HandIndexer((2, len(dealt)) if dealt else (2,), rules.deck)
            for player in range(2):
                here = cards.slice(board, player)
                holes = np.stack([cards.arrays.card1[here], cards.arrays.card2[here]], axis=1)
                hands = np.hstack([holes, np.tile(np.array(dealt, np.uint8), (len(holes), 1))])
                found[here] = indexer.indices(hands) % counts[cards.arrays.street[board]]
        return found

    return cells


def random_agent(rules: GameRules, menu: BetMenu | None, seed: int) -> ProfileStrategy:
    counts = (3, 5, 7)
    layout = SlotLayout(build_tree(rules, menu), counts)
    profile = Profile.random(layout, np.random.default_rng(seed))
    for node in np.flatnonzero(layout.tree.kind == DECISION).tolist():  # sums of one, exactly: the row walk divides
        chances = profile.at(node)
        chances[:] = np.floor(chances * 256) / 256
        chances[:, -1] = 1 - chances[:, :-1].sum(axis=1)
    return ProfileStrategy("random", ByBucket(profile, buckets_of_places(rules, counts)))


@pytest.mark.parametrize("rules", [LIMIT, NO_LIMIT], ids=["limit", "no-limit"])
@pytest.mark.parametrize("agent", ["buckets", "uniform", "always-raise", "always-fold"])
def test_side_by_side_equals_row_by_row(rules: GameRules, agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    menu = None if rules.limit else load_menu("standard", rules)
    strategy: Strategy = random_agent(rules, menu, 1) if agent == "buckets" else CardBlindStrategy(agent)
    fast = exploitability(rules, strategy, menu=menu, threads=1)
    monkeypatch.setattr(best_response, "compile_last_street", lambda *_: None)
    slow = exploitability(rules, strategy, menu=menu, threads=1)
    assert fast.player_values == pytest.approx(slow.player_values, rel=1e-10)
    for street, values in slow.by_street.items():
        assert fast.by_street[street] == pytest.approx(values, rel=1e-9, abs=1e-9)


def test_probabilities_that_do_not_sum_to_one_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the walk by rows does; a bucket without any plays all actions alike."""
    agent = random_agent(LIMIT, None, 2)
    profile = agent.by_bucket.profile
    for node in np.flatnonzero(profile.layout.tree.kind == DECISION).tolist():
        profile.at(node)[0] = 0
        profile.at(node)[1] *= 4
    fast = exploitability(LIMIT, agent, threads=1)
    monkeypatch.setattr(best_response, "compile_last_street", lambda *_: None)
    assert fast.player_values == pytest.approx(exploitability(LIMIT, agent, threads=1).player_values, rel=1e-10)


def test_the_buckets_matter() -> None:
    """A profile read by the wrong bucket is another strategy."""
    agent = random_agent(LIMIT, None, 1)
    right = exploitability(LIMIT, agent, threads=1).exploitability
    shifted = dataclasses.replace(
        agent,
        by_bucket=dataclasses.replace(agent.by_bucket, cells=lambda cards: (agent.by_bucket.cells(cards) + 1) % 3),
    )
    assert abs(exploitability(LIMIT, shifted, threads=1).exploitability - right) > 1


def test_a_profile_has_the_length_of_its_layout() -> None:
    layout = SlotLayout(build_tree(LIMIT), (1, 1, 1))
    with pytest.raises(Exception, match=f"have {layout.slots}"):
        Profile(layout, np.zeros(layout.slots + 1, np.float32))
