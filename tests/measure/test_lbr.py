"""Local best response: the value of its naive twin, never above the best response; known values; threads; bad input."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt

import numpy as np
import pytest

from commands import invoke, refusal
from equipoise import (
    BettingState,
    GameRules,
    InputError,
    LocalBestResponse,
    exploitability,
    load_game,
    local_best_response,
    measure_agent,
    read_gamedef,
)
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.agent import FunctionAgent, View
from equipoise.agents.blueprint import profile_agent
from equipoise.agents.card_blind import ProfileStrategy
from equipoise.agents.named import load_player
from equipoise.agents.table import TableAgent
from equipoise.games.bet_menu import BetMenu
from equipoise.games.betting_state import CALL, FOLD
from equipoise.measure import lbr
from equipoise.measure.lbr import considered_raises, read_bets
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import build_tree
from equipoise.tree.infosets import SlotLayout
from naive_lbr import NaiveLbr

MENU = BetMenu.from_table({"bet": [1.0, "all-in"], "cap": 2}, 2)


def small_nolimit(hole_cards: int) -> GameRules:
    """Two rounds of no-limit: one hole card of six and a board card, or two of seven and two."""
    cards = ("numSuits = 2", "numRanks = 3") if hole_cards == 1 else ("numSuits = 1", "numRanks = 7")
    lines = ["GAMEDEF", "nolimit", "numPlayers = 2", "numRounds = 2", "stack = 14 14", "blind = 2 1", *cards]
    lines += ["firstPlayer = 2 1", f"numHoleCards = {hole_cards}", f"numBoardCards = 0 {hole_cards}"]
    return read_gamedef("\n".join([*lines, "maxRaises = 2 2", "END GAMEDEF"]))


@dataclass(frozen=True)
class Random:
    """A random profile in all its shapes."""

    rules: GameRules
    menu: BetMenu | None
    function: Callable[[View], dict[int, float]]
    table: TableAgent
    measured: ProfileStrategy

    @property
    def agent(self) -> FunctionAgent:
        return FunctionAgent("random", self.rules, self.function)


@cache
def random_agent(game: str, seed: int, sharp: float = 2.0) -> Random:
    """Probabilities to the power of `sharp`, so that ranges differ from uniform ones."""
    rules = small_nolimit(int(game[-1])) if game.startswith("nolimit") else load_game(game)
    menu = None if rules.limit else MENU
    tree, buckets = build_tree(rules, menu), BucketMap.lossless(rules)
    profile = Profile.random(SlotLayout(tree, buckets.buckets), np.random.default_rng(seed))
    for node in np.flatnonzero(profile.layout.offset >= 0).tolist():
        chances = profile.at(node)
        chances **= np.float32(sharp)
        chances /= chances.sum(axis=1, keepdims=True)

    def function(view: View) -> dict[int, float]:
        node, board = tree.find(view.state), view.board[: rules.board_size(view.state.round)]
        row = profile.at(node)[buckets.bucket(view.hole, board)].astype(np.float64)
        actions = tree.action[tree.children(node).start : tree.children(node).stop].tolist()
        return dict(zip(actions, (row / row.sum()).tolist(), strict=True))

    table = TableAgent("random", profile.layout, profile.chances, buckets)
    return Random(rules, menu, function, table, profile_agent("random", profile, buckets))


def naive_raises(state: BettingState) -> list[int]:
    """The one raise of limit games; else pot and all-in."""
    legal = state.legal()
    if not legal.can_raise:
        return []
    if state.rules.limit:
        return [legal.raise_min]
    pot = 2 * max(state.spent)
    return sorted({min(max(state.spent) + pot, legal.raise_max), legal.raise_max})


def far(result: LocalBestResponse, values: list[float]) -> list[float]:
    """By player, how many standard errors a result is above some values (of float32 tables; Kuhn has no noise left)."""
    pairs = zip(result.player_values, values, result.player_errors, strict=True)
    return [(found - value) / (error + 1e-6) for found, value, error in pairs]


@pytest.mark.parametrize(
    ("game", "seed", "from_street"),
    [("kuhn", 1, 0), ("kuhn", 2, 0), ("leduc", 1, 0), ("leduc", 2, 1), ("nolimit-1", 3, 0), ("nolimit-2", 4, 0)],
)
def test_the_value_of_the_naive_twin(game: str, seed: int, from_street: int) -> None:
    random = random_agent(game, seed)
    naive = NaiveLbr(random.rules, random.function, naive_raises, from_street)
    values = [naive.value(player) for player in range(2)]
    result = local_best_response(random.table, hands=3000, from_street=from_street, seed=seed, threads=1)
    assert max(abs(z) for z in far(result, values)) < 4
    tight = 0.08 * random.rules.stacks[0] if not random.rules.limit else 0.25
    assert max(result.player_errors) < tight / 3  # an interval that says something
    few = local_best_response(random.agent, hands=200, from_street=from_street, seed=seed, threads=1)
    assert max(abs(z) for z in far(few, values)) < 4.5


@pytest.mark.parametrize("bets", ["none/1.0,all-in", "1.0,all-in/none", "none"])
def test_bets_by_street_are_those_of_the_naive_twin(bets: str) -> None:
    random, lists = random_agent("nolimit-1", 3), bets.split("/")

    def raises(state: BettingState) -> list[int]:
        return naive_raises(state) if lists[: state.round + 1][-1] != "none" else []

    naive = NaiveLbr(random.rules, random.function, raises)
    values = [naive.value(player) for player in range(2)]
    result = local_best_response(random.table, hands=1500, bets=bets, seed=2, threads=1)
    assert max(abs(z) for z in far(result, values)) < 4
    assert max(far(local_best_response(random.table, hands=1500, seed=2, threads=1), values)) > 5  # other bets


def test_only_folding_and_calling_wins_a_quarter_of_a_blind_from_always_fold() -> None:
    # It folds the small blind; as the big blind it checks to the end, with even chances.
    result = local_best_response(load_player("always-fold", "holdem.nolimit", "pot"), hands=400, bets="none", threads=1)
    assert result.player_values[0] == 50 and abs(result.lbr - 250) < 2 * result.ci95 < 100


@pytest.mark.parametrize("game", ["kuhn", "leduc", "nolimit-1", "nolimit-2"])
@pytest.mark.parametrize("seed", [5, 6, 7])
def test_never_above_the_best_response(game: str, seed: int) -> None:
    random = random_agent(game, seed)
    exact = exploitability(random.rules, random.measured, menu=random.menu, threads=1)
    result = local_best_response(random.table, hands=1500, seed=seed, threads=1)
    assert max(far(result, list(exact.player_values))) < 3.5
    assert result.lbr <= exact.exploitability + 1.7 * result.ci95
    assert result.lbr > 0.3 * exact.exploitability  # random play is a feast


@pytest.mark.parametrize("game", ["leduc", "nolimit-1"])
def test_a_function_and_a_table_are_the_same_agent(game: str) -> None:
    random = random_agent(game, 8)
    one, two = (local_best_response(agent, hands=100, threads=1) for agent in (random.agent, random.table))
    assert one.player_values == pytest.approx(two.player_values, rel=1e-5)


@pytest.mark.parametrize("game", ["holdem.nolimit", "holdem.limit"])
def test_always_fold_loses_its_blinds_without_noise(game: str) -> None:
    menu = None if game == "holdem.limit" else "pot"
    result = local_best_response(load_player("always-fold", game, menu), hands=200, threads=1)
    assert result.player_values == (load_game(game).blinds[1], load_game(game).blinds[0])
    assert (result.lbr, result.ci95) == (750, 0)


def test_always_call_in_limit_loses_to_a_raise_whenever_ahead() -> None:
    # Against an agent that never folds nor bets, LBR is the best response: 1163.48 mbb/g is published.
    result = local_best_response(load_player("always-call", "holdem.limit"), hands=600, seed=3, threads=2)
    assert abs(result.lbr - 1163.48) < 2.2 * result.ci95 < 400


def test_an_agent_that_never_folds_pays_as_equities_say() -> None:
    # Kuhn, always-call: as player 0, LBR bets the king (2), checks the queen (0) and the jack (-1).
    result = local_best_response(load_player("always-call", "kuhn"), hands=3000, threads=1)
    assert result.player_values == pytest.approx((1 / 3, 1 / 3), abs=1e-9 + 4 * max(result.player_errors))


def test_before_its_street_it_checks_and_calls() -> None:
    def raiser(view: View) -> dict[int, float]:
        legal = view.state.legal()
        return {legal.raise_min if legal.can_raise else CALL: 1.0}

    rules, seen = load_game("leduc"), []

    def spy(view: View) -> dict[int, float]:
        seen.append(view.state.rounds[0])
        return raiser(view)

    local_best_response(FunctionAgent("raiser", rules, spy), hands=40, from_street=1, threads=1)
    assert set(seen) == {(), (3, 0), (0,), (0, 3, 0)}  # the agent first; the agent second


@pytest.mark.parametrize("game", ["leduc", "nolimit-2"])
def test_any_number_of_threads_gives_the_same(game: str) -> None:
    agent = random_agent(game, 9).table
    results = [local_best_response(agent, hands=130, seed=4, threads=threads) for threads in (1, 2, 5)]
    assert len({result.player_values for result in results}) == 1
    assert len({result.player_errors for result in results}) == 1
    assert local_best_response(agent, hands=130, seed=5, threads=1).player_values != results[0].player_values


def test_minutes_end_it_and_progress_is_told() -> None:
    told: list[tuple[str, float]] = []
    agent = random_agent("kuhn", 1).table
    result = local_best_response(agent, minutes=0.005, threads=1, progress=lambda *step: told.append(step))
    assert result.hands >= 20
    assert {stage for stage, _ in told} <= {"local best response", "finishing the hands that have begun"}
    assert 0 <= told[-1][1] <= 1
    again = local_best_response(agent, hands=result.hands, threads=2)
    assert again.player_values == result.player_values
    capped = local_best_response(agent, minutes=1, hands=30, threads=1)
    assert capped.hands == 30


def test_progress_is_told_by_the_clock_while_long_hands_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against search, twenty hands may take minutes: the share of the limit is told, then that of the hands."""
    now, told = [0.0], list[tuple[str, float]]()
    monkeypatch.setattr(lbr.time, "monotonic", lambda: now[0])
    for seconds, done, hands in ((15.0, 0, None), (45.0, 20, None), (90.0, 20, 80), (120.0, 60, 80), (200.0, 80, 80)):
        now[0] = seconds
        lbr._report(lambda *step: told.append(step), done, hands, 0.0, 60.0)
    late = "finishing the hands that have begun"
    assert told[:4] == [(lbr.STAGE, 0.25), (lbr.STAGE, 0.75), (late, 0.25), (late, 0.75)]
    told.clear()
    lbr._report(lambda *step: told.append(step), 30, 120, 0.0, None)
    assert told == [(lbr.STAGE, 0.25)]


def test_what_json_says() -> None:
    result = local_best_response(random_agent("nolimit-1", 1).table, hands=40, threads=1, bets="0.5, all-in")
    found = json.loads(json.dumps(result.as_json()))
    assert found["method"] == "lbr" and found["hands"] == 40 and found["bets"] == [0.5, "all-in"]
    assert found["lbr_mbb"] == pytest.approx(sum(found["player_values_mbb"]) / 2)
    assert found["ci95_mbb"] > 0
    errors = replace(result, player_errors=(3.0, 4.0), hands=10**6, big_blind=2)
    assert errors.ci95 == pytest.approx(1.96 * sqrt(9 + 16) / 2 * 1000 / 2, rel=1e-3)


def test_raises_are_those_of_bet_menus() -> None:
    start = BettingState.start(load_game("holdem.nolimit"))
    assert considered_raises(start, (1.0, "all-in")) == [300, 20000]
    assert considered_raises(start, (0.25, 0.5, "min", 1000.0)) == [200, 20000]  # too small: left out
    assert considered_raises(start.apply(300), (0.755, 1.0)) == [753, 900]  # 300 + 453 + 0, 300 + 600
    assert considered_raises(start.apply(20000), (1.0, "all-in")) == []
    limit = BettingState.start(load_game("holdem.limit"))
    assert considered_raises(limit, ()) == [20]
    assert considered_raises(start, ()) == []


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"hands": 3}, "number of hands is 3"),
        ({"minutes": 0}, "minutes must be positive, got 0"),
        ({"minutes": float("nan")}, "minutes must be positive, got nan"),
        ({"bets": "pot"}, "bet 'pot'"),
        ({"bets": "1.0,,all-in"}, "bet ''"),
        ({"bets": (-1.0,)}, "bet '-1.0'"),
        ({"bets": "1.0/"}, "bet ''"),
        ({"bets": (1.0, (2.0,))}, "bet"),
        ({"bets": "none/none/none"}, "bets on 3 streets"),
        ({"bets": (float("nan"),)}, "bet 'nan'"),
        ({"holes": 0}, "number of holes is 0"),
        ({"from_street": 2}, "no street '2'"),
        ({"from_street": -1}, "no street '-1'"),
        ({"from_street": "river"}, "no street 'river'"),
    ],
)
def test_bad_input_ends_in_one_line(options: dict, complaint: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match=complaint) as caught:
        local_best_response(random_agent("leduc", 1).table, **options)
    assert "\n" not in str(caught.value)


def test_streets_have_names() -> None:
    assert [load_game("holdem.limit").find_street(name) for name in ("preflop", "turn", 3)] == [0, 2, 3]
    assert [load_game("leduc").find_street(name) for name in ("round 2", "flop", 1)] == [1, 1, 1]
    assert read_bets("0.5, 1,min,all-in") == ((0.5, 1.0, "min", "all-in"),)
    assert read_bets("0.5/ none /all-in") == read_bets([(0.5,), (), ["all-in"]]) == ((0.5,), (), ("all-in",))
    assert read_bets(()) == read_bets("none") == ((),)


def test_an_agent_that_folds_and_one_that_cannot_be_called() -> None:
    # It folds queen and jack to a bet, calls the king, never bets: LBR bets everything it can.
    rules = load_game("kuhn")

    def function(view: View) -> dict[int, float]:
        if not view.state.legal().fold:
            return {CALL: 1.0}
        return {CALL: 1.0} if view.hole == (2,) else {FOLD: 1.0}

    naive = NaiveLbr(rules, function, naive_raises)
    values = [naive.value(player) for player in range(2)]
    result = local_best_response(FunctionAgent("folder", rules, function), hands=2000, threads=1)
    assert max(abs(z) for z in far(result, values)) < 4
    assert values[0] == values[1] > 0


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({"game": "kuhn"}, "exact"),
        ({"game": "leduc"}, "exact"),
        ({"game": "leduc", "sample_flops": 9}, "sampled"),
        ({"game": "leduc", "method": "lbr", "hands": 40, "from_street": "flop"}, "lbr"),
        ({"game": "holdem.limit", "hands": 4}, "lbr"),
        ({"game": "holdem.nolimit", "menu": "pot", "hands": 4}, "lbr"),
    ],
)
def test_auto_is_exact_where_it_can_be(options: dict, method: str) -> None:  # type: ignore[type-arg]
    result = measure_agent("always-fold", threads=1, **options)
    assert result.as_json()["method"] == method
    assert ("lbr_mbb" in result.as_json()) == (method == "lbr")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"method": "guess"}, "unknown method 'guess'"),
        ({"method": "lbr", "sample_flops": 9}, "flops sampled"),
        ({"method": "lbr", "out": "flops"}, "flops sampled"),
        ({"method": "exact", "hands": 100}, "for an exact measurement"),
        ({"bets": "all-in"}, "use the method lbr"),
        ({"holes": 4}, "use the method lbr"),
        ({"method": "lbr", "bets": "all-in"}, "limit game"),
        ({"method": "lbr", "bets": "half", "game": "holdem.nolimit"}, "bet 'half'"),
    ],
)
def test_options_of_the_other_method_are_refused(options: dict, complaint: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match=complaint):
        measure_agent("uniform", **{"game": "leduc", **options})


def test_the_command_says_that_it_is_a_lower_bound() -> None:
    words = ("measure", "uniform", "--game", "leduc", "--method", "lbr", "--hands", "200", "--from-street")
    said = invoke(*words, "flop").stdout
    assert "LBR lower bound on exploitability" in said and "±" in said and "200 hands" in said
    found = json.loads(invoke(*words, "flop", "--json").stdout)
    assert found["method"] == "lbr" and found["from_street"] == "round 2"
    assert found["holes"] == 1
    assert "river" in refusal(*words, "river")
    assert "200 hands with 3 holes each" in invoke(*words, "flop", "--holes", "3").stdout
    assert "holes" in refusal("measure", "uniform", "--game", "leduc", "--holes", "3")
