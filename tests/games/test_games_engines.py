"""Our betting state in step with two independent engines: OpenSpiel's universal_poker and PokerKit.

At every decision: who acts, what both have put in, and the whole set of legal actions; at the end: the payoffs.
universal_poker is built on the ACPC dealer's own code, so its betting text is compared as well.

Where the engines differ from our rules, which are the dealer's:
- PokerKit lets a player fold with nothing to call in a cash game; its tournament mode, used here, does not.
- PokerKit's limit hold'em has four raises before the flop; here its `State` is built with the rules' own counts.
- universal_poker stops raising at 63 actions a round (the dealer's array ends there); no random hand gets that far.
- universal_poker ignores stacks in limit games; those are compared with PokerKit.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, Protocol

import pokerkit
import pyspiel
import pytest

from equipoise.games.betting_state import CALL, FOLD, BettingState, Deal, Legal
from equipoise.games.gamedef import load_game
from equipoise.games.notation import acpc
from equipoise.games.rules import GameRules
from play import decisions, kinds, random_action, random_deal

LIMIT = load_game("holdem.limit")
NO_LIMIT = load_game("holdem.nolimit")


class Engine(Protocol):
    """Another implementation of the rules, told in our words."""

    def __init__(self, rules: GameRules, deal: Deal) -> None: ...

    def player(self) -> int: ...

    def spent(self) -> tuple[int, int]: ...

    def legal(self) -> Legal: ...

    def apply(self, action: int) -> None: ...

    def payoffs(self) -> tuple[int, int]: ...

    def betting(self) -> str | None: ...


@cache
def _spiel_game(rules: GameRules) -> Any:
    def words(values: tuple[int, ...]) -> str:
        return " ".join(map(str, values))

    settings = {
        "betting": "limit" if rules.limit else "nolimit",
        "bettingAbstraction": "fcpa" if rules.limit else "fullgame",
        "numPlayers": 2,
        "numRounds": rules.rounds,
        "blind": words(rules.blinds),
        "stack": words(rules.stacks),
        "firstPlayer": words(tuple(player + 1 for player in rules.first)),
        "maxRaises": words(rules.max_raises),
        "numSuits": rules.deck.suits,
        "numRanks": rules.deck.ranks,
        "numHoleCards": rules.hole_cards,
        "numBoardCards": words(rules.board_cards),
    }
    return pyspiel.load_game(
        "universal_poker", settings | ({"raiseSize": words(rules.raise_sizes)} if rules.limit else {})
    )


class Spiel:
    """OpenSpiel: actions are 0 fold, 1 call, then a raise's total, or 2 in a limit game."""

    def __init__(self, rules: GameRules, deal: Deal) -> None:
        self.rules = rules
        self.cards = iter([*deal.holes[0], *deal.holes[1], *deal.board])
        self.state = _spiel_game(rules).new_initial_state()
        self._deal()

    def _deal(self) -> None:
        while self.state.is_chance_node():
            self.state.apply_action(next(self.cards))

    def player(self) -> int:
        return -1 if self.state.is_terminal() else self.state.current_player()

    def spent(self) -> tuple[int, int]:
        first, second = self.state.to_dict()["player_contributions"]
        return first, second

    def legal(self) -> Legal:
        actions = self.state.legal_actions()
        fold = actions[0] == 0
        assert actions[fold] == 1, "a call is always legal"
        raises = actions[fold + 1 :]
        if not raises:
            return Legal(fold, 0, 0)
        if self.rules.limit:
            assert raises == [2]
            raises = [self.state.child(2).to_dict()["player_contributions"][self.player()]]
        assert raises == list(range(raises[0], raises[-1] + 1)), "raises have no gaps"
        return Legal(fold, raises[0], raises[-1])

    def apply(self, action: int) -> None:
        self.state.apply_action({FOLD: 0, CALL: 1}.get(action, 2 if self.rules.limit else action))
        self._deal()

    def payoffs(self) -> tuple[int, int]:
        first, second = self.state.returns()
        return first, second

    def betting(self) -> str | None:
        return str(self.state.to_dict()["acpc_state"]).split(":")[2]


class PokerKit:
    """PokerKit: blinds [small, big] make index 0 the big blind, as with us; raises count the chips of the street."""

    AUTOMATIC = (
        pokerkit.Automation.ANTE_POSTING,
        pokerkit.Automation.BET_COLLECTION,
        pokerkit.Automation.BLIND_OR_STRADDLE_POSTING,
        pokerkit.Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
        pokerkit.Automation.HAND_KILLING,
        pokerkit.Automation.CHIPS_PUSHING,
        pokerkit.Automation.CHIPS_PULLING,
    )

    def __init__(self, rules: GameRules, deal: Deal) -> None:
        self.rules = rules
        self.board = list(deal.board)
        sizes = rules.raise_sizes or (rules.big_blind,) * rules.rounds
        streets = tuple(
            pokerkit.Street(
                card_burning_status=round_ > 0,
                hole_dealing_statuses=(False,) * rules.hole_cards if round_ == 0 else (),
                board_dealing_count=rules.board_cards[round_],
                draw_status=False,
                opening=pokerkit.Opening.POSITION,
                min_completion_betting_or_raising_amount=sizes[round_],
                max_completion_betting_or_raising_count=rules.max_raises[round_],
            )
            for round_ in range(rules.rounds)
        )
        structure = pokerkit.BettingStructure
        antes = rules.blinds[0] == rules.blinds[1]
        self.state = pokerkit.State(
            automations=self.AUTOMATIC,
            deck=pokerkit.Deck.STANDARD,
            hand_types=(pokerkit.RhodeIslandHoldemHand if rules.three_card else pokerkit.StandardHighHand,),
            streets=streets,
            betting_structure=structure.FIXED_LIMIT if rules.limit else structure.NO_LIMIT,
            ante_trimming_status=False,
            raw_antes=rules.big_blind if antes else 0,
            raw_blinds_or_straddles=0 if antes else tuple(sorted(rules.blinds)),
            bring_in=0,
            raw_starting_stacks=rules.stacks,
            player_count=2,
        )
        for hole in deal.holes:
            self.state.deal_hole(rules.deck.text(hole))

    def player(self) -> int:
        return -1 if self.state.actor_index is None else self.state.actor_index

    def spent(self) -> tuple[int, int]:
        first, second = self.state.payoffs
        return -first, -second

    def legal(self) -> Legal:
        low = self.state.min_completion_betting_or_raising_to_amount
        high = self.state.max_completion_betting_or_raising_to_amount
        fold = self.state.can_fold()
        assert self.state.can_check_or_call()
        if low is None or high is None:
            return Legal(fold, 0, 0)
        return Legal(fold, self._before() + low, self._before() + high)

    def _before(self) -> int:
        """The actor's chips from earlier streets."""
        return self.spent()[self.player()] - self.state.bets[self.player()]

    def apply(self, action: int) -> None:
        if action == FOLD:
            self.state.fold()
        elif action == CALL:
            self.state.check_or_call()
        else:
            self.state.complete_bet_or_raise_to(action - self._before())
        while self.state.can_burn_card():
            self.state.burn_card("??")
            count = sum(self.state.board_dealing_counts)
            self.state.deal_board(self.rules.deck.text(self.board[:count]))
            del self.board[:count]

    def payoffs(self) -> tuple[int, int]:
        assert not self.state.status
        first, second = self.state.payoffs
        return first, second

    def betting(self) -> str | None:
        return None


def play_in_step(engine_type: type[Engine], rules: GameRules, rng: Random) -> Counter[str]:
    """Play one hand with both and compare them throughout; what happened is counted."""
    deal = random_deal(rules, rng)
    state, engine = BettingState.start(rules), engine_type(rules, deal)
    while not state.is_over:
        assert (engine.player(), engine.spent(), engine.legal()) == (state.player, state.spent, state.legal()), state
        action = random_action(state, rng)
        state = state.apply(action)
        engine.apply(action)
    payoffs = state.payoffs(deal)
    assert (engine.player(), engine.payoffs()) == (-1, payoffs), (state, deal)
    assert engine.betting() in (None, acpc.acpc_betting(state))
    seen = Counter(itertools.chain.from_iterable(kinds(*decision) for decision in decisions(state)))
    winner = "player 0" if payoffs[0] > 0 else "player 1" if payoffs[0] < 0 else "nobody"
    seen[f"{winner} wins a showdown" if state.is_showdown else f"player {state.folded} folds"] += 1
    seen[f"ends in round {state.round}"] += 1
    return seen


EVERYWHERE = {
    "check",
    "call",
    "raise",
    *(f"player {i} {does}" for i in (0, 1) for does in ("folds", "wins a showdown")),
}
HOLDEM = EVERYWHERE | {"nobody wins a showdown", *(f"ends in round {round_}" for round_ in range(4))}
SIZED = {"min-raise", "small raise", "all-in", "short all-in", "all-in call"}


@pytest.mark.parametrize(
    ("hands", "times"), [(600, 4), pytest.param(2_500, 20, marks=pytest.mark.slow)], ids=["quick", "long"]
)
@pytest.mark.parametrize("engine_type", [Spiel, PokerKit])
@pytest.mark.parametrize(
    ("rules", "must_occur"), [(LIMIT, HOLDEM | {"capped"}), (NO_LIMIT, HOLDEM | SIZED)], ids=["limit", "nolimit"]
)
def test_random_hands_agree(
    engine_type: type[Engine], rules: GameRules, must_occur: set[str], hands: int, times: int
) -> None:
    rng = Random(1)
    seen: Counter[str] = Counter()
    for _ in range(hands):
        # PokerKit has no unlimited stack: in a limit game, one that is never used up.
        enough = replace(rules, stacks=(10_000, 10_000)) if rules.limit else rules
        seen += play_in_step(engine_type, enough, rng)
    rare = {kind: seen[kind] for kind in must_occur if seen[kind] < times}
    assert not rare


@pytest.mark.parametrize("name", ["kuhn", "leduc", "holdem.two-four", "holdem.flop"])
def test_small_games_agree_with_openspiel(name: str) -> None:
    rng = Random(2)
    seen = sum((play_in_step(Spiel, load_game(name), rng) for _ in range(300)), Counter())
    assert EVERYWHERE | {"capped"} <= seen.keys()


def test_rhode_island_agrees_with_pokerkit() -> None:
    rng, rules = Random(3), replace(load_game("rhode-island"), stacks=(1_000, 1_000))
    seen = sum((play_in_step(PokerKit, rules, rng) for _ in range(300)), Counter())
    assert EVERYWHERE | {"capped"} <= seen.keys()


@pytest.mark.parametrize("engine_type", [Spiel, PokerKit])
@pytest.mark.parametrize("stacks", [(20_000, 700), (700, 20_000), (101, 20_000), (150, 170), (250, 250)], ids=str)
def test_unequal_and_short_stacks_agree_in_no_limit(engine_type: type[Engine], stacks: tuple[int, int]) -> None:
    rng, rules = Random(4), replace(NO_LIMIT, stacks=stacks)
    seen = sum((play_in_step(engine_type, rules, rng) for _ in range(100)), Counter())
    assert {"all-in", "all-in call", "fold"} <= seen.keys()


@pytest.mark.parametrize("stacks", [(37, 37), (37, 100), (100, 37), (11, 60)], ids=str)
def test_short_stacks_agree_in_limit(stacks: tuple[int, int]) -> None:
    rng, rules = Random(5), replace(LIMIT, stacks=stacks)
    seen = sum((play_in_step(PokerKit, rules, rng) for _ in range(100)), Counter())
    assert {"all-in", "all-in call", "fold"} <= seen.keys()


@pytest.mark.parametrize("engine_type", [Spiel, PokerKit])
def test_a_cap_on_raises_agrees_in_no_limit(engine_type: type[Engine]) -> None:
    rng, rules = Random(6), replace(NO_LIMIT, max_raises=(1, 2, 1, 3))
    seen = sum((play_in_step(engine_type, rules, rng) for _ in range(100)), Counter())
    assert seen["capped"] > 20


@pytest.mark.parametrize("rules", [LIMIT, NO_LIMIT], ids=["limit", "nolimit"])
def test_the_button_may_sit_in_either_seat(rules: GameRules) -> None:
    rng, swapped = Random(7), replace(rules, blinds=rules.blinds[::-1], first=(0, 1, 1, 1))
    seen = sum((play_in_step(Spiel, swapped, rng) for _ in range(100)), Counter())
    assert seen.keys() >= EVERYWHERE
