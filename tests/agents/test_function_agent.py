"""Functions as agents, and games and agents by name: `match` and `exploitability` take both, and name wrong answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from equipoise import FunctionAgent, InputError, View, exploitability, load_game, load_player, match
from equipoise.games.betting_state import CALL, FOLD


def uniform(view: View) -> dict[int, float]:
    legal = view.state.legal()
    actions = [FOLD] * legal.fold + [CALL] + [legal.raise_min] * legal.can_raise
    return {action: 1 / len(actions) for action in actions}


def raiser(view: View) -> int:
    return view.state.legal().raise_min or CALL


def by_rank(view: View) -> int:
    """Raises the best card, folds the worst, else calls: no bucket tells suits apart."""
    legal, rank = view.state.legal(), view.state.rules.deck.rank(view.hole[0])
    if rank == 2 and legal.can_raise:
        return legal.raise_min
    return FOLD if rank == 0 and legal.fold else CALL


@pytest.mark.parametrize("game", ["kuhn", "leduc"])
@pytest.mark.parametrize(("function", "name"), [(uniform, "uniform"), (raiser, "always-raise")])
def test_a_function_is_as_exploitable_as_the_same_agent_of_a_name(game: str, function: Any, name: str) -> None:
    known = exploitability(game, name, threads=1)
    for agent in (function, FunctionAgent("it", load_game(game), function), load_player(name, game)):
        found = exploitability(game, agent, threads=1)
        assert found.player_values == pytest.approx(known.player_values, rel=1e-12)
        assert found.by_street.keys() == known.by_street.keys()
    assert exploitability(load_game(game), function, threads=1).exploitability == pytest.approx(known.exploitability)


def test_a_function_that_looks_at_its_cards_is_measured() -> None:
    """Kuhn poker by hand: a best response to `by_rank` wins 1/6 a hand, by folding to its bets and betting its blinds.

    Against it a player that checks and folds loses the ante to every king's bet and wins the showdowns of the rest.
    """
    found = exploitability("kuhn", by_rank, threads=1)
    naive = [best_response_in_kuhn(by_rank, player) for player in (0, 1)]
    assert found.player_values == pytest.approx(naive)
    assert found.player_values != pytest.approx(exploitability("kuhn", "always-call", threads=1).player_values)


def best_response_in_kuhn(function: Callable[[View], int], player: int) -> float:
    """Every strategy of the responder, card by card: the most that it wins."""
    from equipoise.games.betting_state import BettingState, Deal

    rules = load_game("kuhn")

    def value(state: BettingState, mine: int, reach: dict[int, float]) -> float:
        if state.is_over:
            holes = {other: ((mine,), (other,)) if player == 0 else ((other,), (mine,)) for other in reach}
            return sum(chance * state.payoffs(Deal(holes[other], ()))[player] for other, chance in reach.items())
        legal = state.legal()
        actions = [FOLD] * legal.fold + [CALL] + [legal.raise_min] * legal.can_raise
        if state.player == player:
            return max(value(state.apply(action), mine, reach) for action in actions)
        total = 0.0
        for action in actions:
            there = {
                other: chance
                for other, chance in reach.items()
                if function(View(state, state.player, (other,), ())) == action
            }
            total += value(state.apply(action), mine, there) if there else 0.0
        return total

    return sum(value(BettingState.start(rules), mine, {c: 1 / 6 for c in range(3) if c != mine}) for mine in range(3))


def test_matches_take_names_functions_and_agents() -> None:
    named = match("always-raise", "always-fold", game="leduc", hands=400, threads=1)
    for one in (raiser, FunctionAgent("always-raise", load_game("leduc"), raiser)):
        found = match(one, "always-fold", game="leduc", hands=400, threads=1)
        assert (found.mbb_per_hand, found.ci95) == (named.mbb_per_hand, named.ci95) == (1000, 0)
    assert match(load_player("uniform", "leduc"), raiser, hands=40).names == ("uniform", "raiser")
    assert match("uniform", FunctionAgent("it", load_game("kuhn"), uniform), hands=40).game == "kuhn"


WRONG: list[tuple[Any, str]] = [
    (9, "answers 9 .*raise to 9 is illegal"),
    (FOLD, "answers -1 .*fold is illegal"),
    ("call", "answers 'call' .*neither an action nor probabilities"),
    (None, "answers None"),
    (True, "answers True"),
    (1.0, "answers 1.0"),
    ([0.5, 0.5], "neither an action"),
    ({"call": 1.0}, "'call' is no action"),
    ({CALL: math.nan}, "nan is no probability"),
    ({CALL: math.inf}, "inf is no probability"),
    ({CALL: -0.5, 3: 1.5}, "-0.5 is no probability"),
    ({CALL: "1"}, "'1' is no probability"),
    ({CALL: 0.5}, "sum to 0.5, not to 1"),
    ({}, "sum to 0, not to 1"),
    ({CALL: 0.5, 4: 0.5}, "raise to 4 is illegal"),
]


@pytest.mark.parametrize(("answer", "said"), WRONG)
def test_wrong_answers_are_named(answer: Any, said: str) -> None:
    """By the agent, the place and what is legal there, in one line."""
    agent = FunctionAgent("my bot", load_game("leduc"), lambda _: answer)
    for call in (
        lambda: match(agent, "always-call", hands=20),
        lambda: exploitability("leduc", agent, threads=1),
    ):
        with pytest.raises(InputError, match=said) as error:
            call()
        text = str(error.value)
        assert "agent 'my bot'" in text
        assert "first to act" in text
        assert "legal: check, raise to 3" in text
        assert "\n" not in text


def test_a_wrong_answer_says_where() -> None:
    def late(view: View) -> int:
        return 99 if view.state.round else CALL

    with pytest.raises(InputError, match=r"agent 'late' answers 99 with .. on .. after call, call: raise to 99"):
        match(late, "always-call", game="leduc", hands=20)


def test_numbers_of_numpy_are_numbers() -> None:
    def answer(view: View) -> Any:
        return {np.int64(action): np.float32(chance) for action, chance in uniform(view).items()}

    assert exploitability("leduc", answer, threads=1).exploitability == pytest.approx(2373.6111, rel=1e-6)
    assert match(lambda _: np.int32(CALL), "always-call", game="kuhn", hands=20).mbb_per_hand == 0


def test_what_cannot_be_measured_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_suit(view: View) -> int:
        return raiser(view) if view.hole[0] % 2 else CALL

    with pytest.raises(InputError, match="tells suits apart"):
        exploitability("leduc", by_suit, threads=1)
    with monkeypatch.context() as patch, pytest.raises(InputError, match=r"questions.*method lbr"):
        patch.setattr("equipoise.agents.function.MOST_QUESTIONS", 50)
        exploitability("leduc", uniform, threads=1)
    with pytest.raises(InputError, match="functions change"):
        exploitability("leduc", uniform, threads=1, out="x.flops")
    with pytest.raises(InputError, match="cannot be measured"):
        exploitability("leduc", 3, threads=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no game 'chess'"):
        exploitability("chess", "uniform")
    with pytest.raises(InputError, match="plays any game"):
        match(uniform, "always-call", hands=20)
    with pytest.raises(InputError, match="is no agent"):
        match(3, "always-call", game="leduc", hands=20)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="leave out the game"):
        match(load_player("uniform", "leduc"), uniform, game="kuhn", hands=20)
    with pytest.raises(InputError, match="limit game"):
        exploitability("leduc", "uniform", menu="pot")


def test_a_function_remembers_the_hands_of_a_match() -> None:
    seen: list[View] = []

    def learner(view: View) -> int:
        seen.append(view)
        return CALL

    match(learner, "uniform", game="kuhn", hands=200, threads=2)
    assert len(seen) >= 200  # nothing was played by a copy in another process
