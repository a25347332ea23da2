"""Play at the terminal, scripted: chips, words, hints, the end of the input."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys

import pytest

from equipoise.core.errors import InputError
from equipoise.games.betting_state import CALL, FOLD, BettingState, Deal
from equipoise.games.gamedef import load_game
from equipoise.play.terminal import play_terminal
from equipoise.play.winnings import Winnings
from equipoise.play.words import action_told, action_words, offers, read_action
from players import Player, player

NOLIMIT, LIMIT = "holdem.nolimit", "holdem.limit"


def play(agent: Player, words: str, **options: object) -> tuple[Winnings, str]:
    """A game in which the person types these words, separated by commas."""
    screen = io.StringIO()
    typed = "".join(f"{word.strip()}\n" for word in words.split(",")) if words else ""
    won = play_terminal(agent, io.StringIO(typed), screen, **{"seed": 4, **options})  # type: ignore[arg-type]
    return won, screen.getvalue()


def test_folding_costs_the_blind_of_the_seat() -> None:
    won, text = play(player("raise", NOLIMIT), "fold", hands=1, seat="button")
    assert (won.hands, won.chips) == (1, -50)
    assert "you have the button" in text
    assert "You lose 50. In all: -50." in text
    won, text = play(player("raise", NOLIMIT), "fold", hands=1, seat="big-blind")
    assert (won.hands, won.chips) == (1, -100)
    assert "raise raises to 200." in text
    won, text = play(player("raise", NOLIMIT), "fold, fold, fold, fold", hands=4)
    assert won.chips == -50 - 100 - 50 - 100
    assert text.index("you have the button") < text.index("you are in the big blind")


def test_winning_a_pot_that_the_agent_folds() -> None:
    won, text = play(player("fold", NOLIMIT), "raise 300", hands=1, seat="button")
    assert won.chips == 100
    assert "fold folds." in text
    assert "You win 100." in text
    assert "shows" not in text


@pytest.mark.parametrize("seed", range(6))
def test_a_showdown_shows_both_hands_and_pays_them(seed: int) -> None:
    won, text = play(player("call", NOLIMIT), "all-in", hands=1, seat="button", seed=seed)
    rules = load_game(NOLIMIT)
    found = re.search(r"call shows (.*) on (.*); you have (.*)", text)
    assert found
    theirs, board, mine = (rules.deck.read_cards(cards) for cards in found.groups())
    assert found[3] in text.splitlines()[2]
    state = BettingState.start(rules).apply(20000).apply(CALL)
    assert won.chips == state.payoffs(Deal((theirs, mine), board))[1]
    assert "goes all-in" not in text
    outcome = {20000: "You win 20,000", -20000: "You lose 20,000", 0: "You split the pot"}[won.chips]
    assert outcome in text


def test_a_whole_hand_street_by_street() -> None:
    won, text = play(player("call", NOLIMIT), "raise 300, bet half, bet pot, check", hands=1, seat="button")
    lines = text.splitlines()
    assert [line.split(":")[0].split("  ")[0] for line in lines if "(pot" in line] == [
        "Preflop", "Flop", "Turn", "River",
    ]  # fmt: skip
    pots = [int(found.replace(",", "")) for found in re.findall(r"\(pot ([\d,]+)", text)]
    assert pots == [150, 600, 1200, 3600]
    assert abs(won.chips) in (0, 1800)
    assert lines[-1].startswith(f"You played 1 hand, {won.chips:+,} chips")


def test_illegal_words_are_answered_and_asked_again() -> None:
    words = "hello, raise, raise 150, raise 30000, check, bet x, , ?, raise 1/0, fold now, fold"
    won, text = play(player("call", NOLIMIT), words, hands=1, seat="button")
    assert won.chips == -50
    for answer in (
        "No: 'hello' is no action.",
        "No: a raise needs its size.",
        "No: 150 is out of range.",
        "No: 30,000 is out of range.",
        "No: there are 50 chips to call.",
        "No: 'x' is no size.",
        "No: '1/0' is no size.",
        "No: 'fold now' is no action.",
        "? shows this",
    ):
        assert answer in text
    assert text.count("You may fold, call 50, raise 200 up to 20,000.") == 11


def test_the_end_of_the_input_ends_the_game() -> None:
    won, text = play(player("call", NOLIMIT), "fold, call", hands=5, seat="button")
    assert (won.hands, won.chips) == (1, -50)
    assert text.endswith("You played 1 hand, -50 chips: -500 mbb/hand.\n")
    won, text = play(player("call", NOLIMIT), "")
    assert won.hands == 0
    assert text.endswith("You played 0 hands, +0 chips.\n")


def test_quit_ends_the_game() -> None:
    won, text = play(player("call", NOLIMIT), "fold, quit, fold", seat="button")
    assert (won.hands, won.chips) == (1, -50)
    assert "Hand 3" not in text


def test_a_hint_is_the_mix_for_the_persons_hand() -> None:
    def by_card(view: object) -> dict[int, float]:
        """Bets a four, checks a deuce; calls half the time."""
        state, hole = view.state, view.hole  # type: ignore[attr-defined]
        if state.to_call:
            return {FOLD: 0.5, CALL: 0.5}
        return {state.legal().raise_min: 1.0} if hole[0] == 2 else {CALL: 1.0}

    agent = Player("by card", load_game("kuhn"), by_card)
    shown = set()
    for seed in range(12):
        _, text = play(agent, "check, fold", hands=1, seat="big-blind", hint=agent, seed=seed)
        card = re.search(r"Your cards: (\w)c", text)
        hint = re.search(r"Hint: (.*)", text)
        assert card and hint
        assert hint[1] == ("bet 1 100%" if card[1] == "4" else "check 100%")
        shown.add(card[1])
        if "bets 1" in text:
            assert "Hint: fold 50%, call 1 50%" in text
    assert shown == {"2", "3", "4"}
    assert "Hint" not in play(agent, "check, fold", hands=1, seat="big-blind")[1]


def test_a_hint_of_another_game_is_refused() -> None:
    with pytest.raises(InputError, match="another game"):
        play(player("call", "kuhn"), "", hint=player("call", "leduc"))
    with pytest.raises(InputError, match="seat"):
        play(player("call", "kuhn"), "", seat="dealer")


@pytest.mark.parametrize("game", ["kuhn", "leduc", "rhode-island", "holdem.flop", LIMIT, NOLIMIT])
def test_any_game_is_played_to_the_end(game: str) -> None:
    won, text = play(player("mixed", game), ",".join(["c"] * 400), hands=30)
    assert won.hands == 30
    assert "No:" not in text
    results = [int(value.replace(",", "")) for value in re.findall(r"In all: ([+-][\d,]+)", text)]
    assert (len(results), results[-1]) == (30, won.chips)


def test_limit_bets_have_no_size() -> None:
    won, text = play(player("call", LIMIT), "raise 50, raise, bet, bet 20, bet", hands=1, seat="button")
    assert text.count("No: the size is fixed here.") == 1
    assert won.hands == 1
    assert abs(won.chips) in (0, 20 + 10 + 20 + 20)


def test_words_mean_what_they_say() -> None:
    start = BettingState.start(load_game(NOLIMIT))
    for words, action in {
        "fold": FOLD, "f": FOLD, "call": CALL, "c": CALL, "raise 300": 300, "raise to 300": 300, "r 1,000": 1000,
        "RAISE  300": 300, "bet 300": 300, "pot": 300, "raise pot": 300, "raise 100%": 300, "min": 200, "half": 200,
        "raise 3/2": 400, "all-in": 20000, "all in": 20000, "allin": 20000, "raise all-in": 20000, "raise 9999%": 20000,
    }.items():  # fmt: skip
        assert read_action(start, words) == action, words
    flop = start.apply(300).apply(CALL)  # 600 in the middle
    for words, action in {
        "check": CALL,
        "k": CALL,
        "bet 300": 600,
        "bet half": 600,
        "pot": 900,
        "bet 2/3": 700,
    }.items():
        assert read_action(flop, words) == action, words
    faced = flop.apply(600)  # a bet of 300 into 600
    for words, action in {"raise 900": 1200, "pot": 600 + 1200, "half": 1200, "min": 900, "call": CALL}.items():
        assert read_action(faced, words) == action, words
    for state, words in ((start, "check"), (flop, "fold"), (flop, "call"), (flop, "bet 50"), (faced, "raise 500")):
        with pytest.raises(InputError):
            read_action(state, words)


def test_what_is_said_can_be_typed() -> None:
    """Every action read back from its own words is itself, along hands of all kinds of games."""
    for game in ("kuhn", "leduc", LIMIT, NOLIMIT):
        state = BettingState.start(load_game(game))
        while not state.is_over:
            legal = state.legal()
            for action in {
                CALL,
                *([FOLD] if legal.fold else []),
                *(t for t in (legal.raise_min, legal.raise_max) if t),
            }:
                verb, _, amount = action_words(state, action).partition(" ")
                typed = verb if verb in ("call", "all-in") else f"{verb} {amount}"
                assert read_action(state, typed) == action
                assert action_told(state, action)
            state = state.apply(legal.raise_min if legal.can_raise and state.raises < 2 else CALL)


def test_antes_are_not_part_of_a_bet() -> None:
    state = BettingState.start(load_game("leduc"))
    assert offers(state) == "check, bet 2"
    assert action_told(state, 3) == "bets 2"
    assert offers(state.apply(3)) == "fold, call 2, raise 4"


def test_a_terminal_has_symbols_and_colours() -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    raw = io.BytesIO()
    screen = Terminal(raw, encoding="utf-8")
    play_terminal(player("call", NOLIMIT), io.StringIO("quit\n"), screen, seed=1)
    screen.flush()
    assert re.search("[♣♦♥♠]", raw.getvalue().decode())


def test_bytes_that_are_no_text_end_the_game() -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"call\n\xff\xfe\n"), encoding="utf-8")
    assert play_terminal(player("call", NOLIMIT), typed, io.StringIO(), seed=1).hands == 0


def test_the_command() -> None:
    line = [sys.executable, "-m", "equipoise", "play", "always-call", "--game", "kuhn", "--hands", "2", "--hint"]
    done = subprocess.run(
        [*line, "--seed", "1", "--json"], input="c\nc\n", capture_output=True, text=True, timeout=240, check=True
    )
    assert json.loads(done.stdout)["hands"] == 2
    assert "Hint: check 100%" in done.stderr
