"""Hostile text: whatever comes in, a reader returns a value or raises a ValueError of one line that says something."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from equipoise.games.betting_state import Deal
from equipoise.games.gamedef import load_game, preset_names, read_gamedef, write_gamedef
from equipoise.games.notation import acpc, slumbot
from equipoise.games.rules import GameRules
from play import random_deal, random_hand, random_state

GAMES = [load_game(name) for name in preset_names()]


def match_state(rules: GameRules, rng: Random) -> str:
    state, deal = random_state(rules, rng), random_deal(rules, rng)
    seen = Deal((deal.holes[0], ()), deal.board)
    return acpc.match_state_text(acpc.MatchState(0, rng.randrange(100), state, seen))


def log_state(rules: GameRules, rng: Random) -> str:
    hand, deal = random_hand(rules, rng), random_deal(rules, rng)
    return acpc.log_state_text(acpc.LogState(rng.randrange(100), hand, deal, hand.payoffs(deal), ("A", "B")))


Read = Callable[[GameRules, str], object]
Write = Callable[[GameRules, Random], str]
READERS: dict[str, tuple[Read, Write]] = {
    "gamedef": (lambda _, text: read_gamedef(text), lambda rules, _: write_gamedef(rules)),
    "match state": (acpc.read_match_state, match_state),
    "log state": (acpc.read_log_state, log_state),
    "betting": (acpc.read_acpc_betting, lambda rules, rng: acpc.acpc_betting(random_state(rules, rng))),
    "cards": (acpc.read_cards, lambda rules, rng: acpc.cards_text(rules, random_deal(rules, rng), rules.rounds - 1)),
    "slumbot": (slumbot.read_slumbot_betting, lambda rules, rng: slumbot.slumbot_betting(random_state(rules, rng))),
}

fuzzed = settings(deadline=None, max_examples=300)
readers = pytest.mark.parametrize("name", READERS)
games = st.sampled_from(GAMES)
rngs = st.randoms(use_true_random=False)
bits = st.text(alphabet="0123456789:/|=-.#fcrkbAKdhs \t\r\n\0\x85\u2028\ud800é½²٣", max_size=12) | st.text(max_size=12)


def complaint(read: Read, rules: GameRules, text: str) -> str | None:
    """What the reader says against a text; None if it has read it."""
    try:
        read(rules, text)
    except ValueError as error:
        return str(error)
    return None


def fine(said: str | None) -> bool:
    """No complaint, or one in a line that is not empty."""
    return said is None or (bool(said.strip()) and len(said.splitlines()) == 1 and len(said) < 500)


@readers
@fuzzed
@given(rules=games, text=st.text() | bits)
@example(rules=GAMES[-1], text="9" * 5_000)
@example(rules=GAMES[-1], text="r" + "9" * 5_000)
@example(rules=GAMES[-1], text="b" + "9" * 5_000)
@example(rules=GAMES[-1], text="/" * 5_000)
@example(rules=GAMES[-1], text="|" * 5_000)
@example(rules=GAMES[-1], text="MATCHSTATE:0:0:" + "c" * 5_000 + ":AsKs|")
@example(rules=GAMES[-1], text="MATCHSTATE:٣:0::AsKs|")
@example(rules=GAMES[-1], text="STATE:0:f:AsKs|2c2d:1e999|-1e999:A|B")
@example(rules=GAMES[-1], text="GAMEDEF\nlimit\nlimit = 1\n")
def test_arbitrary_text_is_read_or_refused_in_one_line(name: str, rules: GameRules, text: str) -> None:
    read, _ = READERS[name]
    assert fine(complaint(read, rules, text))


@readers
@fuzzed
@given(rules=games, rng=rngs, data=st.data())
def test_mutated_text_is_read_or_refused_in_one_line(
    name: str, rules: GameRules, rng: Random, data: st.DataObject
) -> None:
    read, write = READERS[name]
    text = write(rules, rng)
    assert complaint(read, rules, text) is None, "the text was good before"
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 4)))
        piece = data.draw(bits | st.just(text[start:end] * 2) | st.just(text[end:][:20]))
        text = text[:start] + piece + text[end:]
    assert fine(complaint(read, rules, text))


@readers
@fuzzed
@given(rules=games, other=games, rng=rngs)
def test_another_games_text_is_read_or_refused_in_one_line(
    name: str, rules: GameRules, other: GameRules, rng: Random
) -> None:
    read, write = READERS[name]
    assert fine(complaint(read, rules, write(other, rng)))
