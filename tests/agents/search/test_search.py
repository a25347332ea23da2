"""Agents that search: exact exploitability with search everywhere, tracks, bets off the tree, limits, failures."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from equipoise import InputError, local_best_response, match
from equipoise.agents.agent import Agent, View, track_to
from equipoise.agents.named import load_agent, load_player
from equipoise.agents.search.agent import Rounds, SearchAgent
from equipoise.agents.search.options import SearchOptions
from equipoise.agents.search.safety import Gadget
from equipoise.agents.search.subgame import Position, free_holes
from equipoise.agents.tracked_strategy import TrackedStrategy
from equipoise.cards.deck import hole_cards
from equipoise.core.jit import F64
from equipoise.games.betting_state import CALL, BettingState
from equipoise.games.rules import GameRules
from equipoise.measure.aivat import Aivat
from equipoise.measure.best_response import exploitability
from play import random_action, random_deal
from small_games import LEDUC, MENU, NO_LIMIT
from solved_games import solved_agent


def searching(base: Agent, street: int = 1, iterations: int = 300, **more: object) -> SearchAgent:
    bets = None if base.rules.limit else MENU
    options = SearchOptions(street, base.rules, iterations, bets=bets, later_bets=bets, safety="none")
    return SearchAgent("searching", base, replace(options, **more))  # type: ignore[arg-type]


def exact(agent: Agent) -> float:
    """Exploitability in mbb/g, with search in every subgame."""
    return exploitability(agent.rules, TrackedStrategy(agent), threads=1).exploitability


class SwappedRanges(SearchAgent):
    """A wrong twin: each player's range is taken for the other's."""

    def _ranges(self, before: Rounds, board: tuple[int, ...], earlier: Position | None) -> F64:
        return super()._ranges(before, board, earlier)[::-1].copy()


class UniformRanges(SearchAgent):
    """A wrong twin: the betting so far tells nothing."""

    def _ranges(self, before: Rounds, board: tuple[int, ...], earlier: Position | None) -> F64:
        return np.ones_like(super()._ranges(before, board, earlier))


def test_search_needs_the_right_ranges_and_repairs_a_bad_blueprint() -> None:
    good, bad = solved_agent(LEDUC), solved_agent(LEDUC, noise=0.5)  # the same play before the board
    assert exact(good) < 1
    assert exact(bad) > 1000
    for base in (good, bad):
        assert exact(searching(base)) < 60  # unsafe solving does not keep an equilibrium
        for twin in (SwappedRanges, UniformRanges):
            assert exact(twin("twin", base, searching(base).options)) > 400


class SwappedAlternatives(Gadget):
    """A wrong twin: the opponent leaves for the negative of what it would get."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.alternatives = -self.alternatives


def test_safe_search_keeps_what_the_blueprint_guarantees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gadget is never more exploitable than the blueprint; combined with the range it repairs as well."""
    found = {}
    for noise in (0.0, 0.02, 0.5):
        for safety in ("none", "gadget", "combined"):
            found[noise, safety] = exact(searching(solved_agent(LEDUC, noise), iterations=100, safety=safety))
        blueprint = exact(solved_agent(LEDUC, noise))
        assert found[noise, "gadget"] < blueprint + 10
        assert found[noise, "combined"] < blueprint + 10
    assert found[0.0, "none"] > 15 > 10 > found[0.0, "gadget"]  # unsafe search harms an equilibrium
    assert found[0.02, "combined"] < min(found[0.02, "none"], found[0.02, "gadget"]) / 2
    assert found[0.5, "combined"] < found[0.5, "gadget"] / 5
    monkeypatch.setattr("equipoise.agents.search.safety.Gadget", SwappedAlternatives)
    assert exact(searching(solved_agent(LEDUC), iterations=100, safety="gadget")) > 100


def all_states(rules: GameRules, hands: int, seed: int) -> list[tuple[BettingState, tuple[int, ...]]]:
    """Decisions of random hands, with their boards."""
    rng, found = Random(seed), []
    for _ in range(hands):
        state, deal = BettingState.start(rules), random_deal(rules, rng)
        while not state.is_over:
            found.append((state, deal.board[: rules.board_size(state.round)]))
            state = state.apply(random_action(state, rng))
    return found


@pytest.mark.parametrize("safety", ["none", "combined"])
@pytest.mark.parametrize("later", ["solve", "keep"])
def test_tracks_are_the_answers_about_all_holes(later: str, safety: str) -> None:
    agent = searching(load_player("uniform?menu=pot", NO_LIMIT), iterations=5, later=later, safety=safety)
    rules = agent.rules
    for state, board in all_states(rules, 6, seed=3):
        free = free_holes(rules, board)
        track = track_to(agent.follow(state.player), View(state, state.player, (), board))
        actions, chances = track.probabilities()
        np.testing.assert_allclose(chances.sum(axis=0)[free], 1, rtol=1e-6)
        assert not track.reach[~free].any()
        assert all(state.legal().allows(action) for action, row in zip(actions, chances, strict=True) if row.any())
        for hole in np.flatnonzero(free)[::13].tolist():
            view = View(state, state.player, tuple(hole_cards(hole, rules.hole_cards)), board)
            alone = agent.probabilities(view)
            for action, row in zip(actions, chances, strict=True):
                assert alone.get(action, 0.0) == pytest.approx(row[hole], abs=1e-12)
            assert agent.range(view)[hole] == pytest.approx(track.reach[hole])
            assert track_to(agent.follow(state.player, hole), view).reach[0] == pytest.approx(track.reach[hole])


def test_reach_is_the_product_of_the_agents_own_probabilities() -> None:
    agent = searching(solved_agent(LEDUC), iterations=50)
    for state, board in all_states(LEDUC, 8, seed=5):
        for player in (0, 1):
            track, expected = agent.follow(player), np.ones(LEDUC.deck.size)
            for round_, actions in enumerate(state.rounds):
                if LEDUC.board_size(round_) > len(track.board):
                    track = track.dealt(board)
                for action in actions:
                    if track.state.player == player:
                        offered, chances = track.probabilities()
                        expected = expected * chances[offered.index(action)]
                    track = track.after(action)
            np.testing.assert_allclose(track.reach, expected * free_holes(LEDUC, board))


def test_a_bet_off_the_tree_is_added_and_not_translated() -> None:
    agent = searching(load_player("uniform?menu=pot", NO_LIMIT), street=3, iterations=200)
    state, board = BettingState.start(NO_LIMIT), (0, 4, 5)
    while state.round < 3:
        state = state.apply(CALL)
    offered = {action for action, _ in zip(*agent.position(state.rounds, board, 0).probabilities(), strict=True)}  # type: ignore[union-attr]
    assert offered == {CALL, 300}
    answers = {}
    for bet in (300, 217, 218, 699):
        raised = state.apply(bet)
        position = agent.position(raised.rounds, board, 0)
        assert position is not None
        tree = position.subgame.tree
        assert tree.chips[position.node].tolist() == list(raised.spent)
        assert bet in [int(tree.action[child]) for child in tree.children(0)]
        assert (217 in tree.action) == (bet == 217)  # each has its own tree
        actions, rows = position.probabilities()
        assert all(raised.legal().allows(action) for action in actions)
        answers[bet] = rows[actions.index(CALL)]
    assert answers[217].sum() > answers[300].sum() > answers[699].sum()  # smaller bets are called more
    again = state.apply(217).apply(434).apply(651)  # beyond the menu's cap
    assert agent.position(again.rounds, board, 0) is not None


def test_later_streets_start_from_the_ranges_of_the_search() -> None:
    state = BettingState.start(NO_LIMIT).apply(CALL).apply(CALL).apply(300).apply(CALL)
    board = (0, 4)
    for later in ("solve", "keep"):
        agent = searching(load_player("uniform?menu=pot", NO_LIMIT), iterations=50, later=later)
        first, second = (agent.position(rounds, board, 0) for rounds in (state.rounds[:-1], state.rounds))
        assert first is not None
        assert second is not None
        assert (second.subgame is first.subgame) == (later == "keep")
        expected = first.ranges * free_holes(NO_LIMIT, board)
        found = second.ranges * expected.max(axis=1, keepdims=True) / second.ranges.max(axis=1, keepdims=True)
        np.testing.assert_allclose(found, expected, atol=2e-3 * expected.max())


def test_a_subgame_that_does_not_fit_into_memory_is_left_to_the_blueprint(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    blueprint = solved_agent(LEDUC)
    monkeypatch.setattr("equipoise.agents.search.subgame.LARGE", 0)
    monkeypatch.setattr("equipoise.agents.search.subgame.available_memory", lambda: 1000)
    agent = searching(blueprint)
    state = BettingState.start(LEDUC).apply(CALL).apply(CALL)
    for hole in (2, 3, 4):
        view = View(state, 0, (hole,), (0,))
        assert agent.probabilities(view) == pytest.approx(blueprint.probabilities(view))
    assert capfd.readouterr().err.count("is free") == 1


def test_an_impossible_range_is_taken_as_uniform() -> None:
    agent = searching(load_player("always-fold", LEDUC), iterations=20)  # it never sees a board
    state = BettingState.start(LEDUC).apply(CALL).apply(CALL)
    position = agent.position(state.rounds, (0,), 0)
    assert position is not None
    assert set(position.ranges[0].tolist()) == {0.0, 1.0}


def test_the_same_seed_gives_the_same_play_whatever_is_remembered() -> None:
    base = solved_agent(LEDUC)
    results = []
    for most_bytes in (0, 10**9):
        agent = searching(base, iterations=10)
        agent.most_bytes = most_bytes
        results.append(match(agent, "uniform", hands=100, seed=3, threads=1))
        assert len(agent._solved) == 1 or most_bytes
    assert results[0].mbb_per_hand == results[1].mbb_per_hand


def test_a_match_of_search_is_the_same_in_several_processes() -> None:
    players = "uniform?search=round 2&iterations=10", "uniform"
    one, three = (match(*players, game="leduc", hands=150, seed=3, threads=n, aivat=True) for n in (1, 3))
    assert one.mbb_per_hand == three.mbb_per_hand and one.aivat == three.aivat
    assert match(*players, game="leduc", hands=150, seed=4, threads=3).mbb_per_hand != one.mbb_per_hand


def test_search_is_an_agent_by_name() -> None:
    what = "uniform?search=round 2&iterations=20"
    assert match(what, "always-call", game="leduc", hands=200, threads=1, aivat=True).aivat
    assert local_best_response(what, game="leduc", hands=40, threads=1).hands == 40
    strategy, rules, _ = load_agent(what, "leduc")
    assert isinstance(strategy, TrackedStrategy)
    assert exploitability(rules, strategy, threads=1).exploitability > 100
    agent = load_player(what, "leduc")
    Aivat(agent.rules, (agent, agent))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("search=turn", "no street 'turn'"),
        ("search=preflop", "no search from round 1"),
        ("time=2", "no search"),
        ("search=round 2&time=soon", "time='soon'"),
        ("search=round 2&iterations=0", "iterations='0'"),
        ("search=round 2&bets=pot", "bets"),
        ("search=round 2&later=never", "later='never'"),
        ("search=round 2&safety=first", "safety='first'"),
    ],
)
def test_wrong_options_are_refused(options: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_player(f"uniform?{options}", "leduc")
