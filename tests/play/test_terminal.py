"""Play at the terminal, scripted: chips, words, hints, the end of the input."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from rich.cells import cell_len

from equipoise.cards.hand_names import hand_strength, names_beside
from equipoise.core.errors import InputError
from equipoise.games.betting_state import CALL, FOLD, BettingState, Deal
from equipoise.games.gamedef import as_game, load_game, read_gamedef
from equipoise.games.rules import GameRules
from equipoise.play.logs import replay
from equipoise.play.terminal import play_terminal
from equipoise.play.winnings import Winnings
from players import PLAYERS, Player, player
from waiting import GUARD

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
    assert "Hand 1: you have the button, stacks 20,000.\nYou post 50, raise posts 100. Your cards: " in text
    assert "You fold.\nYou lose 50. In all: -50 after 1 hand." in text
    won, text = play(player("raise", NOLIMIT), "fold", hands=1, seat="big-blind")
    assert (won.hands, won.chips) == (1, -100)
    assert "raise raises to 200." in text
    won, text = play(player("raise", NOLIMIT), "fold, fold, fold, fold", hands=4)
    assert won.chips == -50 - 100 - 50 - 100
    assert text.index("you have the button") < text.index("raise has the button")
    assert "You post 100, raise posts 50." in text


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
    found = re.search(r"Showdown on (.*):\n  you +(\w\w \w\w)  (.*)\n  call +(\w\w \w\w)  (.*)\n", text)
    assert found
    board, mine, theirs = (rules.deck.read_cards(found[at]) for at in (1, 2, 4))
    one, two = (hand_strength(rules.deck, (*hole, *board)) for hole in (mine, theirs))
    assert (found[3], found[5]) == names_beside(one, two)
    assert f"Your cards: {found[2]}\n" in text
    assert f"You show {found[2]}, call shows {found[4]}.\n" in text
    streets = re.findall(r"^(Flop|Turn|River): (.*)  \(pot 40,000\)$", text, re.MULTILINE)  # dealt one by one
    assert [cards for _, cards in streets] == [found[1][:end] for end in (8, 11, 14)]
    state = BettingState.start(rules).apply(20000).apply(CALL)
    assert won.chips == state.payoffs(Deal((theirs, mine), board))[1]
    assert "You go all-in for 20,000.\ncall calls 19,900 and is all-in.\n" in text
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
    words = "hello, raise, raise 150, , ?, 1/0, fold"
    won, text = play(player("call", NOLIMIT), words, hands=1, seat="button")
    assert won.chips == -50
    for answer in (
        "No: 'hello' is not understood; type fold, call 50, raise to 200 or all-in",
        "No: a raise needs a size; type raise to 200, pot, half pot or all-in.",
        "No: a raise to 150 is too small; type call 50 or raise to 200.",
        "No: '1/0' is not understood",
        "  all-in, shove, jam              everything",
    ):
        assert answer in text
    assert text.count("You may fold, call 50, raise to 200 or more, all-in 20,000.\n> ") == 7


def test_the_end_of_the_input_ends_the_game() -> None:
    won, text = play(player("call", NOLIMIT), "fold, call", hands=5, seat="button")
    assert (won.hands, won.chips) == (1, -50)
    assert text.endswith("You played 1 hand, -50 chips: -500 mbb/hand.\n")
    won, text = play(player("call", NOLIMIT), "")
    assert won.hands == 0
    assert text.endswith("> \nHand 1 ends unfinished and does not count.\nYou played 0 hands, +0 chips.\n")


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
        assert hint[1] == ("bet 1 (100%)" if card[1] == "4" else "check (100%)")
        shown.add(card[1])
        if "bets 1" in text:
            assert "Hint: fold (50%), call 1 (50%)" in text
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
    assert text.count("No: the size of a bet is fixed in this game; type raise to 20.") == 1
    assert won.hands == 1
    assert abs(won.chips) in (0, 20 + 10 + 20 + 20)


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
        [*line, "--seed", "1", "--json"], input="c\nc\n", capture_output=True, text=True, timeout=GUARD, check=True
    )
    assert json.loads(done.stdout)["hands"] == 2
    assert "Hint: check (100%)" in done.stderr


# --- what is shown ---------------------------------------------------------------------------------------------------

RICH = read_gamedef(
    "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 4\nblind = 1000000 500000\nstack = 400000000 499999999\n"
    "firstPlayer = 2 1 1 1\nnumSuits = 4\nnumRanks = 13\nnumHoleCards = 2\nnumBoardCards = 0 3 1 1\nEND GAMEDEF\n"
)


def random_words(seed: int, count: int = 300) -> str:
    """Lines that a person might type, most of them calls."""
    rng = Random(seed)
    words = ("c", "c", "k", "min", "half pot", "pot", "3x", "b33", "shove", "300", "f", "?", "nonsense " * 9, "call 1")
    return "".join(f"{rng.choice(words)}\n" for _ in range(count))


@pytest.mark.parametrize("name", ["mixed", "a-name-that-is-longer-than-the-line-of-a-terminal-has-columns-to-show-it"])
@pytest.mark.parametrize("game", ["kuhn", "leduc", "rhode-island", LIMIT, NOLIMIT, RICH])
def test_lines_fit_eighty_columns(game: str | GameRules, name: str) -> None:
    rules = as_game(game)
    opponent = Player(name, rules, PLAYERS["mixed"])
    for seed in range(4):
        for big_blinds in (False, True) if rules.blinds[0] != rules.blinds[1] else (False,):
            screen = io.StringIO()
            play_terminal(
                opponent, io.StringIO(random_words(seed)), screen, hands=20, seed=seed, hint=opponent,
                big_blinds=big_blinds,
            )  # fmt: skip
            assert max(cell_len(line) for line in screen.getvalue().splitlines()) <= 80


def test_big_blinds_are_the_same_game_in_another_unit() -> None:
    chips, in_chips = play(player("call", NOLIMIT), "raise 250, b33, bet 300, k, shove", hands=2)
    won, text = play(player("call", NOLIMIT), "2.5, b33%, 3, k, shove", hands=2, big_blinds=True)
    assert won == chips
    assert "Hand 1: you have the button, stacks 200bb.\nYou post 0.5bb, call posts 1bb. Your cards: " in text
    assert "You may fold, call 0.5bb, raise to 2bb or more, all-in 200bb." in text
    assert "You raise to 2.5bb.\ncall calls 1.5bb.\n" in text
    for shown, expected in ((in_chips, f"{chips.chips:+,}"), (text, f"{chips.chips / 100:+,g}bb")):
        assert f"In all: {expected} after 2 hands." in shown
    assert f"You played 2 hands, {chips.chips / 100:+,g}bb: " in text


def test_blinds_stacks_and_bets_are_stated() -> None:
    assert "Blinds 50 and 100, full stacks every hand." in play(player("call", NOLIMIT), "")[1]
    limit = play(player("call", LIMIT), "")[1]
    assert "Blinds 5 and 10, bets of 10 and 20. Type" in limit
    assert "Hand 1: you have the button.\nYou post 5, call posts 10. Your cards: " in limit
    leduc = play(player("call", "leduc"), "")[1]
    assert "Hand 1: you act second.\nBoth post 1. Your cards: " in leduc
    rich = Player("rich", RICH, PLAYERS["call"])
    assert "Hand 1: you have the button, stacks: you 499,999,999, rich 400,000,000." in play(rich, "")[1]


def test_hands_are_named_at_showdown() -> None:
    rules = load_game("leduc")
    _, text = play(player("call", "leduc"), ",".join("c" * 40), hands=20)
    shown = re.findall(r"Showdown on (\w\w):\n  you +(\w\w)  (.*)\n  call +(\w\w)  (.*)\n", text)
    assert len(shown) == 20
    for board, mine, my_name, theirs, their_name in shown:
        one, two = (hand_strength(rules.deck, rules.deck.read_cards(hole + board)) for hole in (mine, theirs))
        assert names_beside(one, two) == (my_name, their_name)
    assert "a pair of" in text
    assert "  you                 3c\n" in play(player("call", "kuhn"), "c,c,c,c", hands=2)[1].replace("4c", "3c")


def test_the_agent_has_a_short_name_and_the_whole_one_once() -> None:
    agent = Player("runs/a/demo?post=purify&search=turn", load_game(NOLIMIT), PLAYERS["call"])
    _, text = play(agent, "c,c,c,c", hands=1)
    assert text.count(agent.name) == 1
    assert "demo checks." in text


class Interrupted(io.StringIO):
    """Ctrl-C, where the input ends."""

    def readline(self, *arguments: int) -> str:
        found = super().readline(*arguments)
        if not found:
            raise KeyboardInterrupt
        return found


def test_ctrl_c_ends_the_game_and_the_log_is_complete(tmp_path: Path) -> None:
    for number, source in enumerate((io.StringIO, Interrupted)):
        log, screen = tmp_path / f"{number}.acpc", io.StringIO()
        agent = player("mixed", NOLIMIT)
        won = play_terminal(agent, source("c\n" * 60 + "shove\nf\n" * 20), screen, seed=3, log=log)
        assert won.hands > 5
        assert f"You played {won}.\n" in screen.getvalue()
        assert f"Hand {won.hands + 1} ends unfinished and does not count.\n" in screen.getvalue()
        replayed = replay(log, NOLIMIT)
        assert (replayed.hands, replayed.scored) == (won.hands, True)
        assert dict(zip(replayed.names, replayed.chips, strict=True)) == {"person": won.chips, "mixed": -won.chips}


def test_ctrl_c_while_the_agent_thinks(tmp_path: Path) -> None:
    def interrupted(_view: object) -> dict[int, float]:
        raise KeyboardInterrupt

    agent = Player("stopped", load_game(NOLIMIT), interrupted)
    won, text = play(agent, "fold, c", log=tmp_path / "x.phh")
    assert won.hands == 1
    assert text.endswith("does not count.\nYou played 1 hand, -50 chips: -500 mbb/hand.\n")
    assert replay(tmp_path / "x.phh", NOLIMIT).hands == 1


def test_a_hand_is_in_the_log_when_the_next_one_begins(tmp_path: Path) -> None:
    """What a killed process leaves."""
    found = list[int]()

    def look(_view: object) -> dict[int, float]:
        found.append((tmp_path / "x.log").read_text().count("STATE"))
        return {CALL: 1.0}

    play(Player("looks", load_game(NOLIMIT), look), "f, f, f, c", seat="button", log=tmp_path / "x.log")
    assert found[0] == 3
