"""The text forms of a hand: the dealer's, Slumbot's and PHH."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import pokerkit
import pytest

from engines import pokerkit_replay
from equipoise.core.errors import InputError
from equipoise.games.betting_state import BettingState, Deal
from equipoise.games.gamedef import load_game, preset_names
from equipoise.games.notation import acpc, slumbot
from equipoise.games.notation.phh import phh_text
from equipoise.games.rules import GameRules
from play import decisions, longest_hand, random_deal, random_hand, random_state

DATA = Path(__file__).parents[1] / "data"
LIMIT = load_game("holdem.limit")
NO_LIMIT = load_game("holdem.nolimit")
FLOP_OPEN = replace(LIMIT, board_cards=(1, 0, 2, 1))  # a board card with the holes, a round without any
GAMES = [*(load_game(name) for name in preset_names()), FLOP_OPEN]
AWKWARD = ('a "b"\\', "\x07\U000e0001ü")
GAME_IDS = [*preset_names(), "open board"]


def played(rules: GameRules, actions: Iterable[int]) -> BettingState:
    state = BettingState.start(rules)
    for action in actions:
        state = state.apply(action)
    return state


def dealt(rules: GameRules, first: str, second: str, board: str = "") -> Deal:
    read = rules.deck.read_cards
    return Deal((read(first), read(second)), read(board))


@pytest.mark.parametrize("rules", [LIMIT, NO_LIMIT], ids=["limit", "nolimit"])
def test_the_dealers_log_replays_to_its_own_values_and_text(rules: GameRules) -> None:
    lines = (DATA / f"match-1000.{rules.name.removeprefix('holdem.')}.log").read_text().splitlines()
    hands = [line for line in lines if line.startswith("STATE:")]
    totals: dict[str, int] = {}
    for number, line in enumerate(hands):
        logged = acpc.read_log_state(rules, line)
        payoffs = logged.state.payoffs(logged.deal)
        assert (logged.hand, logged.values) == (number, payoffs), line
        assert acpc.log_state_text(logged) == line
        for name, payoff in zip(logged.names, payoffs, strict=True):
            totals[name] = totals.get(name, 0) + payoff
    assert len(hands) == 1000
    assert lines[-1] == f"SCORE:{totals['A']}|{totals['B']}:A|B"


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("rules", GAMES, ids=GAME_IDS)
def test_a_match_state_reads_back_with_and_without_the_opponents_cards(rules: GameRules, position: int) -> None:
    rng = Random(1)
    for hand in range(100):
        state, whole = random_state(rules, rng), random_deal(rules, rng)
        board = whole.board[: rules.board_size(state.round)]
        hidden = ((whole.holes[0], ()), ((), whole.holes[1]))[position]
        for holes in (whole.holes, hidden):
            said = acpc.MatchState(position, hand, state, Deal(holes, board))
            line = acpc.match_state_text(said)
            assert [acpc.read_match_state(rules, line + end) for end in ("", "\n", "\r\n")] == [said] * 3
        with pytest.raises(InputError, match="sees its own cards"):
            acpc.read_match_state(rules, line.replace(f"MATCHSTATE:{position}", f"MATCHSTATE:{1 - position}", 1))


@pytest.mark.parametrize(
    ("rules", "line", "actions", "player"),
    [
        (NO_LIMIT, "MATCHSTATE:0:0::8dJd|", [], 1),
        (NO_LIMIT, "MATCHSTATE:1:3:c:|Td4d", [0], 0),
        (NO_LIMIT, "MATCHSTATE:1:3:cc/:|Td4d/As9d6s", [0, 0], 0),
        (NO_LIMIT, "MATCHSTATE:1:3:r300c/c:|Td4d/As9d6s", [300, 0, 0], 1),
        (NO_LIMIT, "MATCHSTATE:1:30:r300f:|Td4d", [300, -1], -1),
        (NO_LIMIT, "MATCHSTATE:0:9:cr20000c///:8dJd|Td4d/As9d6s/3d/6c", [0, 20_000, 0], -1),
        (LIMIT, "MATCHSTATE:0:1:crc/rr:8dJd|/As9d6s", [0, 20, 0, 30, 40], 0),
    ],
)
def test_the_protocols_examples(rules: GameRules, line: str, actions: list[int], player: int) -> None:
    read = acpc.read_match_state(rules, line)
    assert (read.state, read.state.player) == (played(rules, actions), player)
    assert acpc.match_state_text(read) == line


def test_a_board_dealt_with_the_holes_stands_behind_them_as_the_dealer_writes_it() -> None:
    deal = dealt(FLOP_OPEN, "2c2d", "2h2s", "3c3d3h3s")
    texts = [acpc.cards_text(FLOP_OPEN, deal, round_) for round_ in range(4)]
    assert texts == ["2c2d|2h2s3c", "2c2d|2h2s3c/", "2c2d|2h2s3c//3d3h", "2c2d|2h2s3c//3d3h/3s"]
    assert acpc.read_cards(FLOP_OPEN, "2c2d|3c/") == Deal((deal.holes[0], ()), deal.board[:1])


@pytest.mark.parametrize(
    "betting",
    [
        "cc",
        "f/",
        "c/",
        "cc//",
        "r199",
        "r20001",
        "r",
        "r300r400",
        "cf",
        "x",
        "c3",
        "ff",
        "r300c",
        "cr20000c//",
        "r0",
        "C",
    ],
)
def test_betting_that_the_dealer_would_not_send_is_refused(betting: str) -> None:
    with pytest.raises(InputError, match="betting"):
        acpc.read_acpc_betting(NO_LIMIT, betting)


@pytest.mark.parametrize(
    "cards",
    ["8dJd", "8dJd|Td4d|AsAh", "8d|Td4d", "8dJd|8dTd", "8dJd|/As9d", "8dJd|/As9d6s", "8dJd|/AsJd6s/3d", "8dJd|Td4x"],
)
def test_cards_that_do_not_fit_the_betting_are_refused(cards: str) -> None:
    with pytest.raises(InputError):
        acpc.read_match_state(NO_LIMIT, f"MATCHSTATE:0:0:cc/cc/:{cards}")


@pytest.mark.parametrize("values", ["60", "60|-60|0", "60|x", "60|nan", "inf|-inf", "|"])
def test_a_log_needs_two_finite_values(values: str) -> None:
    with pytest.raises(InputError):
        acpc.read_log_state(LIMIT, f"STATE:0:f:8dJd|Td4d:{values}:A|B")


@pytest.mark.parametrize("rules", GAMES, ids=GAME_IDS)
def test_slumbots_text_reads_back_with_and_without_trailing_slashes(rules: GameRules) -> None:
    rng = Random(2)
    for _ in range(200):
        state = random_state(rules, rng)
        text = slumbot.slumbot_betting(state)
        assert slumbot.read_slumbot_betting(rules, text) == state
        assert slumbot.read_slumbot_betting(rules, text.rstrip("/")) == state


@pytest.mark.parametrize(
    ("text", "dealers"),
    [
        ("", ""),
        ("b200", "r200"),
        ("ck/", "cc/"),
        ("b300c/kb400c/", "r300c/cr700c/"),
        ("b300c/b100b20f", None),
        ("b300c/b100b200f", "r300c/r400r500f"),
        ("cb20000c///", "cr20000c///"),
        ("cb20000c", "cr20000c///"),
        ("b300c/kb19700c/", "r300c/cr20000c//"),
        ("kk", None),
        ("cc/", None),
        ("ck//", None),
        ("b300c/c", None),
        ("b", None),
        ("k200", None),
    ],
)
def test_slumbots_bets_count_the_street_and_the_dealers_the_hand(text: str, dealers: str | None) -> None:
    if dealers is None:
        with pytest.raises(InputError, match="action"):
            slumbot.read_slumbot_betting(NO_LIMIT, text)
    else:
        assert acpc.acpc_betting(slumbot.read_slumbot_betting(NO_LIMIT, text)) == dealers


@pytest.mark.parametrize(
    "rules",
    [LIMIT, NO_LIMIT, replace(NO_LIMIT, stacks=(20_000, 700)), replace(LIMIT, stacks=(37, 100))],
    ids=["limit", "nolimit", "nolimit unequal", "limit short"],
)
def test_pokerkit_replays_our_hand_histories_to_the_same_payoffs(rules: GameRules) -> None:
    rng = Random(3)
    for number, hand in enumerate([longest_hand(rules), *(random_hand(rules, rng) for _ in range(100))]):
        deal = random_deal(rules, rng)
        history = pokerkit.HandHistory.loads(phh_text(hand, deal, hand=number, names=AWKWARD))
        end = pokerkit_replay(history)
        assert not end.status
        assert tuple(end.payoffs) == hand.payoffs(deal), acpc.acpc_betting(hand)
        assert [action for _, action in history.state_actions if action] == history.actions
        assert (history.hand, history.players) == (number, list(AWKWARD))


def test_the_sample_history_is_the_hand_we_write() -> None:
    sample = pokerkit.HandHistory.loads((DATA / "sample.phh").read_text())
    state = slumbot.read_slumbot_betting(NO_LIMIT, "b300c/kb400c/kk/b1000c")
    deal = dealt(NO_LIMIT, "AcAs", "7h6h", "2h5sKd9hTs")
    ours = pokerkit.HandHistory.loads(phh_text(state, deal, hand=1))
    assert sample.actions[-1] == "p2 sm"  # the loser may hide its cards; we always show them
    assert ours == replace(sample, actions=[*sample.actions[:-1], "p2 sm 7h6h"])
    assert (
        pokerkit_replay(ours).payoffs == pokerkit_replay(sample).payoffs == list(state.payoffs(deal)) == [1_700, -1_700]
    )


@pytest.mark.parametrize(
    "rules",
    [
        load_game("leduc"),
        load_game("holdem.flop"),
        replace(LIMIT, raise_sizes=(10, 10, 20, 40)),
        replace(LIMIT, max_raises=(3, 4, 4, 5)),
        replace(NO_LIMIT, blinds=(50, 100), first=(0, 1, 1, 1)),
    ],
)
def test_a_game_that_phh_has_no_words_for_is_refused(rules: GameRules) -> None:
    hand = random_hand(rules, Random(4))
    with pytest.raises(InputError, match="PHH"):
        phh_text(hand, random_deal(rules, Random(4)))


def test_a_hand_that_is_not_over_has_no_history_and_no_payoffs() -> None:
    rng = Random(5)
    deal = random_deal(NO_LIMIT, rng)
    for state, _ in decisions(random_hand(NO_LIMIT, rng)):
        with pytest.raises(InputError, match="not over"):
            phh_text(state, deal)
        with pytest.raises(InputError, match="not over"):
            state.payoffs(deal)
