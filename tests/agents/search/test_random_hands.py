"""Search under fire: random hands with bets of any size, and almost no time to think, at every kind of table.

The slow cases are 100,000 hands together.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.agents.named import load_player
from equipoise.agents.search.agent import SearchAgent
from equipoise.agents.search.options import SearchOptions
from equipoise.agents.search.subgame import Position
from equipoise.core.errors import InputError
from equipoise.games.rules import GameRules
from equipoise.play.acpc.client import play_at
from equipoise.play.acpc.dealer import deal_match
from equipoise.play.dealing import dealt
from equipoise.play.logs import replay
from equipoise.play.match import match, play_hand
from equipoise.play.slumbot.client import play_slumbot
from equipoise.play.slumbot.server import SlumbotTable
from players import RandomBets
from servers import HOST, WAIT, serving
from small_games import MENU, NO_LIMIT

HOLDEM = "holdem.nolimit"
slow = pytest.mark.slow


def searching(what: str, game: str | GameRules = HOLDEM) -> SearchAgent:
    agent = load_player(what, game)
    assert isinstance(agent, SearchAgent)
    return agent


def small_search(**more: Any) -> SearchAgent:
    """Search from the second of four streets, in a game of nine cards."""
    options = SearchOptions(1, NO_LIMIT, 10, bets=MENU, later_bets=MENU)
    return SearchAgent("searching", load_player("uniform?menu=pot", NO_LIMIT), replace(options, **more))


def play_random_hands(agent: SearchAgent, hands: int, seed: int = 7) -> None:
    """In alternating seats; `BettingState.apply` refuses what is illegal."""
    rules, rng = agent.rules, np.random.default_rng(seed)
    opponent: Any = RandomBets("random", rules)
    for hand in range(hands):
        deal = dealt(rules, rng.permutation(rules.deck.size)[: rules.deal_size].tolist())
        play_hand((agent, opponent) if hand % 2 else (opponent, agent), deal, rng)


def solves(agent: SearchAgent) -> tuple[int, int]:
    """The solves that it remembers, and how many of them failed."""
    found = list(agent._solved.values())
    return len(found), sum(subgame is None for subgame in found)


@pytest.mark.parametrize(
    ("what", "hands"),
    [
        ("uniform?search=river&time=0.004", 150),
        ("always-call?search=river&time=0.02", 25),
        ("uniform?search=turn&time=0.02", 10),
        pytest.param("uniform?search=river&time=0.001", 20_000, marks=slow),
        pytest.param("uniform?search=river&time=0.02", 30_000, marks=slow),
        pytest.param("uniform?search=river&time=0.02&safety=none&bets=standard", 10_000, marks=slow),
        pytest.param("always-call?search=river&time=0.004", 16_000, marks=slow),
        pytest.param("always-call?search=river&time=0.02", 10_000, marks=slow),
        pytest.param("uniform?search=turn&time=0.02", 2_000, marks=slow),
        pytest.param("uniform?search=turn&time=0.1&later=keep&safety=gadget", 1_000, marks=slow),
    ],
)
def test_random_hands_of_holdem(what: str, hands: int, capfd: pytest.CaptureFixture[str]) -> None:
    """No illegal action and no exception. Where time runs out the blueprint decides, and the agent says so, once."""
    agent = searching(what)
    play_random_hands(agent, hands)
    made, failed = solves(agent)
    assert made > 0
    assert agent._failed or not failed
    assert capfd.readouterr().err.count("too little time); the blueprint decides") == agent._failed


@pytest.mark.parametrize("hands", [60, pytest.param(3_000, marks=slow)])
@pytest.mark.parametrize("seconds", [1e-9, 0.004, np.inf])
def test_random_hands_of_a_small_game(seconds: float, hands: int, capfd: pytest.CaptureFixture[str]) -> None:
    agent = small_search(seconds=seconds)
    play_random_hands(agent, hands)
    made, failed = solves(agent)
    assert made > 0
    assert failed == made or seconds > 1e-6
    assert failed == 0 or seconds < np.inf
    assert capfd.readouterr().err.count("the blueprint decides") == (failed > 0)


def test_a_search_that_skips_a_bet_that_it_lacks_plays_what_is_illegal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong twin: these hands find it."""
    along = Position.along

    def skipping(self: Position, line: tuple[int, ...]) -> Position | None:
        return along(self, line) or along(self, line[:-2])

    monkeypatch.setattr(SearchAgent, "_line", lambda *_: ())
    play_random_hands(small_search(), 60)  # the blueprint decides where the tree lacks the bet
    monkeypatch.setattr(Position, "along", skipping)
    with pytest.raises(InputError, match="illegal action"):
        play_random_hands(small_search(), 60)


def test_a_solve_that_fails_is_left_to_the_blueprint(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("equipoise.agents.search.agent.solve_subgame", fails)
    agent = small_search()
    play_random_hands(agent, 40)
    made, failed = solves(agent)
    assert made == failed > 0
    assert capfd.readouterr().err == "searching: a search failed (oh); the blueprint decides there\n"


@pytest.mark.parametrize("hands", [20, pytest.param(1_000, marks=slow)])
def test_matches_and_their_logs(hands: int, tmp_path: Path) -> None:
    agent: Any = searching("uniform?search=river&time=0.02")
    opponent: Any = RandomBets("random", agent.rules)
    result = match(agent, opponent, hands=hands, threads=1, log=tmp_path / "m.log")
    assert result.hands == hands == replay(tmp_path / "m.log", agent.rules).hands


@pytest.mark.parametrize("hands", [20, pytest.param(500, marks=slow)])
def test_acpc_matches(hands: int) -> None:
    """The dealer corrects no answer."""
    agent: Any = searching("always-call?search=river&time=0.02")
    ports: Future[tuple[int, int]] = Future()
    with ThreadPoolExecutor(3) as pool:
        dealer = pool.submit(deal_match, HOLDEM, hands, seed=7, on_ports=ports.set_result)
        players: list[Any] = [agent, RandomBets("random", agent.rules)]
        seats = [
            pool.submit(play_at, player, HOST, port, seed=3, timeout=WAIT)
            for player, port in zip(players, ports.result(WAIT), strict=True)
        ]
        result = dealer.result()
    assert (result.stopped, result.hands, result.corrected) == ("", hands, (0, 0))
    assert [seat.result().winnings.chips for seat in seats] == list(result.score)
    assert solves(agent)[0] > 0


@pytest.mark.parametrize("hands", [20, pytest.param(500, marks=slow)])
def test_slumbot_sessions(hands: int) -> None:
    agent: Any = searching("always-call?search=river&time=0.02")
    opponent: Any = RandomBets("random", agent.rules)
    with serving(SlumbotTable(agent, seed=7)) as server:
        assert play_slumbot(opponent, server.url, hands=hands, seed=5).hands == hands
    assert solves(agent)[0] > 0
    with serving(SlumbotTable(opponent, seed=7)) as server:
        assert play_slumbot(agent, server.url, hands=hands, seed=5).hands == hands
