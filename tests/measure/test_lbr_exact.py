"""Local best response beside its exact value on Leduc: card-blind and deterministic agents, all streets, many holes.

These agents leave control variates without anything to explain: they are zero up to rounding errors, or rare.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from test_lbr import far, naive_raises, random_agent

from commands import invoke
from equipoise import load_game, local_best_response
from equipoise.agents.agent import Agent, FunctionAgent, View
from equipoise.agents.named import load_player
from equipoise.cards.deck import hole_index
from equipoise.cards.matchups import equities_against
from equipoise.games.betting_state import CALL, FOLD
from equipoise.games.rules import PLAYERS
from equipoise.measure.lbr import CHUNK, CONTROLS, Hand, Responder, Track, read_bets
from naive_lbr import NaiveLbr

LEDUC = load_game("leduc")


def blind(name: str) -> Callable[[View], dict[int, float]]:
    """A named agent as a function."""
    agent = load_player(name, "leduc")
    return lambda view: agent.probabilities(view)


def by_rank(view: View) -> dict[int, float]:
    """Kings raise, jacks fold, queens call."""
    legal, rank = view.state.legal(), view.hole[0] // 2
    if rank == 2 and legal.can_raise:
        return {legal.raise_min: 1.0}
    return {FOLD if rank == 0 and legal.fold else CALL: 1.0}


def hardly_mixed(view: View) -> dict[int, float]:
    """The same, but for one action in a million."""
    (action,), legal = by_rank(view), view.state.legal()
    other = CALL if action != CALL else FOLD if legal.fold else None
    return {action: 1.0} if other is None else {action: 1 - 1e-6, other: 1e-6}


FUNCTIONS: dict[str, Callable[[View], dict[int, float]]] = {
    "uniform": blind("uniform"),
    "always-call": blind("always-call"),
    "always-raise": blind("always-raise"),
    "always-fold": blind("always-fold"),
    "by rank": by_rank,
    "hardly mixed": hardly_mixed,
    "always-call, with search": blind("always-call?search=flop"),
}


@cache
def exact(name: str, street: int) -> list[float]:
    """The exact value, by player."""
    naive = NaiveLbr(LEDUC, cache(FUNCTIONS[name]), naive_raises, street)
    return [naive.value(player) for player in range(PLAYERS)]


def agent_of(name: str) -> Agent:
    """The agent itself, where it has a name."""
    if name in ("by rank", "hardly mixed"):
        return FunctionAgent(name, LEDUC, FUNCTIONS[name])
    return load_player(name.replace(", with search", "?search=flop"), "leduc")


def measured(words: str) -> dict[str, Any]:
    """What a command prints as JSON."""
    found: dict[str, Any] = json.loads(invoke(*words.split(), "--json").stdout)
    return found


SETTINGS = [(0, 1), (1, 1), (1, 4), (1, 16)]  # first street and holes
CASES = [(name, *setting) for name in FUNCTIONS for setting in SETTINGS[name.endswith("search") :]]


@pytest.mark.parametrize(("name", "street", "holes"), CASES)
def test_the_interval_holds_the_exact_value(name: str, street: int, holes: int) -> None:
    result = local_best_response(agent_of(name), hands=400, from_street=street, holes=holes, seed=3, threads=1)
    assert max(abs(z) for z in far(result, exact(name, street))) < 4.2
    assert max(result.player_errors) < 0.3


def test_what_search_keeps_from_a_best_response_is_not_a_win() -> None:
    """Search from the second street leaves it nothing there: what it wins is below zero, as the exact value is."""
    words = "measure always-call?search=flop --game leduc --method lbr --from-street flop --hands 400 --seed 3"
    found = measured(words)
    value = 1000 * np.mean(exact("always-call, with search", 1)) / LEDUC.big_blind
    assert value < 0 and abs(found["lbr_mbb"] - value) < 2 * found["ci95_mbb"] < 40


def test_several_holes_against_uniform_play() -> None:
    words = "measure uniform --game leduc --method lbr --from-street flop --holes 4 --hands 2000 --seed 3"
    found = measured(words)
    assert 1000 * np.mean(exact("uniform", 1)) / LEDUC.big_blind == pytest.approx(1875)
    assert abs(found["lbr_mbb"] - 1875) < 2 * found["ci95_mbb"] < 100


def test_an_agent_that_calls_all_in_with_anything() -> None:
    """From the river on it pays the stack whenever it is behind: by equities of random holes on random boards."""
    words = "measure always-call --game holdem.nolimit --method lbr --from-street river --holes 8 --hands 200 --seed 9"
    found, rules, rng = measured(words), load_game("holdem.nolimit"), np.random.default_rng(7)
    responder = Responder(load_player("always-call", "holdem.nolimit", "pot"), 3, read_bets("all-in"))
    won = []
    for _ in range(600):
        cards = rng.permutation(52).tolist()
        hole, board = hole_index(tuple(cards[:2])), tuple(cards[2:7])
        free = responder.free(cards[:7])
        share = float(equities_against(rules, hole, board) @ free / free.sum())
        won.append((20_000 if share > 0.5 else 100) * (2 * share - 1))
    value, error = 10 * np.mean(won), 10 * np.std(won) / np.sqrt(len(won))
    assert abs(found["lbr_mbb"] - value) < 4 * np.hypot(error, found["ci95_mbb"] / 2)
    assert found["ci95_mbb"] < 3000


def controls(game: str, seed: int, from_street: int, holes: int, hands: int = 800) -> np.ndarray:  # type: ignore[type-arg]
    """[hand, control] the control variates of some hands."""
    responder = Responder(random_agent(game, seed, 20.0).table, from_street, read_bets("1.0,all-in"), holes)
    rows = [row for chunk in range(hands // CHUNK) for row in responder.play_chunk(1, chunk, CHUNK)]
    return np.array(rows)[:, 1:]


def unfair_luck(hand: Hand, track: Track, play: Callable[[Hand, Track], Track] = Hand.play) -> Track:
    """A control variate whose mean is not zero."""
    track = play(hand, track)
    hand.card_luck = abs(hand.card_luck)
    return track


@pytest.mark.parametrize("holes", [1, 8])
def test_luck_has_a_mean_of_zero(holes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def z() -> np.ndarray:  # type: ignore[type-arg]
        rows = controls("nolimit-1", 4, 1, holes)
        assert rows.shape == (800, CONTROLS) and np.count_nonzero(rows.std(axis=0)) >= 2
        return np.asarray(rows.mean(axis=0) / (rows.std(axis=0) / np.sqrt(len(rows)) + 1e-9))

    assert abs(z()).max() < 4.5
    monkeypatch.setattr(Hand, "play", unfair_luck)
    assert abs(z()).max() > 10


def test_swapped_seats_are_noticed() -> None:
    result = local_best_response(agent_of("uniform"), hands=400, from_street=1, holes=16, seed=3, threads=1)
    assert max(abs(z) for z in far(result, exact("uniform", 1)[::-1])) > 8
