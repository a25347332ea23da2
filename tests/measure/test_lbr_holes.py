"""Local best response with several holes a hand: the value of the naive twin, less noise, one solve for all holes."""

from collections.abc import Callable
from functools import cache
from math import sqrt

import numpy as np
import pytest
from test_lbr import far, naive_raises, random_agent

from equipoise import load_game, local_best_response
from equipoise.agents.named import load_player
from equipoise.agents.search.agent import SearchAgent
from equipoise.agents.search.options import SearchOptions
from equipoise.measure import lbr
from equipoise.measure.lbr import SEARCH_HOLES, Hand, LocalBestResponse, spread_draws
from naive_lbr import NaiveLbr

Play = Callable[[Hand, lbr.Track], lbr.Track]
GAMES = [("leduc", 2, 1), ("nolimit-1", 4, 1), ("nolimit-2", 4, 1), ("nolimit-1", 3, 0)]
SHARP = 20.0  # ranges so narrow that blockers matter


@cache
def exact_values(game: str, seed: int, from_street: int) -> list[float]:
    random = random_agent(game, seed, SHARP)
    naive = NaiveLbr(random.rules, random.function, naive_raises, from_street)
    return [naive.value(player) for player in range(2)]


def estimate(game: str, seed: int, from_street: int, holes: int, hands: int = 400) -> LocalBestResponse:
    agent = random_agent(game, seed, SHARP).table
    return local_best_response(agent, hands=hands, from_street=from_street, holes=holes, seed=seed, threads=1)


@pytest.mark.parametrize(("game", "seed", "from_street"), GAMES)
def test_the_value_of_the_naive_twin_with_less_noise(game: str, seed: int, from_street: int) -> None:
    one, eight = (estimate(game, seed, from_street, holes) for holes in (1, 8))
    assert max(abs(z) for z in far(eight, exact_values(game, seed, from_street))) < 4
    assert np.mean(eight.player_errors) < 0.8 * np.mean(one.player_errors)


def no_blockers(_rules: object, weights: lbr.F64) -> lbr.F64:
    """Every hole of the responder is as likely."""
    return np.full(len(weights), weights.sum())


def forgotten_folds(hand: Hand, track: lbr.Track, play: Play = Hand.play) -> lbr.Track:
    """The rest of the hand counts in full, however often the agent has folded."""
    track = play(hand, track)
    hand.chance = 1.0 if hand.hole is None else hand.chance
    return track


@pytest.mark.parametrize(
    ("place", "name", "wrong"),
    [
        (lbr, "meeting_weights", no_blockers),
        (Hand, "play", forgotten_folds),
    ],
)
def test_wrong_twins_are_found(place: object, name: str, wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, name, wrong)
    result = estimate("nolimit-1", 4, 1, holes=8, hands=800)
    assert max(abs(z) for z in far(result, exact_values("nolimit-1", 4, 1))) > 5


def test_draws_are_spread_and_fair() -> None:
    rng = np.random.default_rng(1)
    chances, values = np.array([0.1, 0.0, 0.4, 0.3, 0.2]), np.array([3.0, 0.0, 1.0, -2.0, 1.0])
    counts = np.array([np.bincount(spread_draws(chances, values, 7, rng), minlength=5) for _ in range(4000)])
    assert abs(counts.mean(axis=0) - 7 * chances).max() < 5 * 0.5 / sqrt(4000)
    assert abs(counts - 7 * chances).max() < 1 + 1e-9 and not counts[:, 1].any()
    lows = counts[:, 3] + counts[:, 2]  # the lowest values, in order: 0.7 of the chances
    assert abs(lows - 4.9).max() < 1


def test_any_number_of_threads_gives_the_same() -> None:
    agent = random_agent("nolimit-2", 9).table
    results = [local_best_response(agent, hands=90, from_street=1, holes=3, threads=threads) for threads in (1, 3)]
    assert len({(result.player_values, result.player_errors) for result in results}) == 1


def test_an_agent_that_folds_or_goes_all_in_before_the_street() -> None:
    for name, menu, expected in (("always-fold", "pot", 750.0), ("always-call", "pot", None)):
        result = local_best_response(load_player(name, "holdem.nolimit", menu), hands=8, from_street=2, holes=4)
        assert result.hands == 8 and (expected is None or (result.lbr, result.ci95) == (expected, 0))


def test_one_solve_serves_all_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = load_game("leduc")
    options = SearchOptions.read({"search": "round 2", "iterations": "5", "safety": "none"}, rules)
    agent = SearchAgent("forgetful", load_player("uniform", "leduc"), options, most_bytes=0)
    solves: list[object] = []
    solve = SearchAgent._solve

    def counted(self: SearchAgent, *root: object) -> object:
        solves.append(root)
        return solve(self, *root)  # type: ignore[arg-type]

    monkeypatch.setattr(SearchAgent, "_solve", counted)
    responder = lbr.Responder(agent, 1, ((),), holes=8)
    responder.play_chunk(1, 0, 20)
    assert 0 < len(solves) <= 20
    assert local_best_response(agent, hands=4, from_street=1, threads=1).holes == SEARCH_HOLES
    assert local_best_response(agent, hands=4, from_street=0, threads=1).holes == 1
