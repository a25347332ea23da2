"""What is typed at a table: what is printed reads back, every form of an action is that action, refusals help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from math import floor
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.errors import InputError
from equipoise.games.betting_state import CALL, FOLD, BettingState
from equipoise.games.gamedef import load_game, read_gamedef
from equipoise.games.rules import GameRules
from equipoise.play.action_text import action_told, action_words, offers, on_street
from equipoise.play.amounts import Amounts
from equipoise.play.typed_action import help_text, read_action
from play import decisions, random_hand, random_raise

NOLIMIT = load_game("holdem.nolimit")


def gamedef(blinds: str, stacks: str) -> GameRules:
    return read_gamedef(
        f"GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 3\nblind = {blinds}\nstack = {stacks}\nfirstPlayer = 2 1 1\n"
        "numSuits = 4\nnumRanks = 13\nnumHoleCards = 2\nnumBoardCards = 0 3 1\nEND GAMEDEF\n"
    )


GAMES = {
    **{name: load_game(name) for name in ("kuhn", "leduc", "rhode-island", "holdem.limit")},
    "no-limit": NOLIMIT,
    "short": gamedef("20 10", "150 400"),
    "odd": gamedef("7 3", "1000 800"),
    "antes": gamedef("5 5", "300 300"),
    "rich": gamedef("1000000 500000", "400000000 400000000"),
}


def units(rules: GameRules) -> list[Amounts]:
    blind = rules.blinds[0] != rules.blinds[1]
    return [Amounts.of(rules), *([Amounts.of(rules, in_big_blinds=True)] if blind else [])]


def states(rules: GameRules, hands: int = 40) -> Iterator[tuple[BettingState, Random]]:
    """All decisions of random hands."""
    rng = Random(7)
    for _ in range(hands):
        for state, _action in decisions(random_hand(rules, rng)):
            yield state, rng


def legal_actions(state: BettingState, rng: Random) -> list[int]:
    legal = state.legal()
    raises = (
        {legal.raise_min, legal.raise_max, *(random_raise(legal, rng) for _ in range(3))} if legal.can_raise else ()
    )
    return [*([FOLD] if legal.fold else []), CALL, *raises]


@pytest.mark.parametrize("game", GAMES)
def test_what_the_prompt_prints_is_accepted(game: str) -> None:
    for state, rng in states(GAMES[game]):
        legal = state.legal()
        first = [*([FOLD] if legal.fold else []), CALL]
        raises = sorted({legal.raise_min, legal.raise_max}) if legal.can_raise else []
        for amounts in units(state.rules):
            printed = offers(state, amounts)
            assert [read_action(state, text, amounts) for text in printed] == first + raises
            assert [read_action(state, f"  {text.upper()}. ", amounts) for text in printed] == first + raises
            for action in legal_actions(state, rng):  # the hint's words
                assert read_action(state, action_words(state, action, amounts), amounts) == action


def forms(state: BettingState, action: int, amounts: Amounts) -> list[str]:
    """All forms of a legal action that name its amount, or need none."""
    if action == FOLD:
        return ["f", "fold", " FOLD "]
    if action == CALL:
        cost = amounts.text(state.to_call)
        return ["c", "call", f"call {cost}", f"c {cost}"] if state.to_call else ["c", "k", "x", "check", "X"]
    legal, total = state.legal(), on_street(state, action)
    plain = amounts.text(total)
    texts = [plain, plain.replace(",", ""), f"{total} chips", f"{total:_} chips", f"{total:,}chips".replace(",", " ")]
    if not amounts.in_big_blinds:
        texts += [str(total), f"{total:,}".replace(",", "'")]
    if amounts.big_blind:
        shown = Amounts(amounts.big_blind, in_big_blinds=True).text(total)
        texts += [shown, shown.replace("bb", " bb"), shown.replace("bb", " big blinds")]
    found = [
        form.format(text) for text in texts for form in ("{}", "to {}", "raise {}", "Bet  {}", "raise TO {}", "r{}")
    ]
    if not state.rules.limit and action == legal.raise_max:
        found += ["all-in", "ALL IN", "allin", "shove", "jam", "a", "raise all-in", f"all-in {plain}", f"shove {plain}"]
    if action == legal.raise_min:
        found += ["min", "raise min", "bet min", "min raise", "minraise"]
    if state.rules.limit:
        found += ["bet", "raise", "b", "r"]
    return found


@pytest.mark.parametrize("game", GAMES)
def test_every_form_of_an_action_is_that_action(game: str) -> None:
    for state, rng in states(GAMES[game], 15):
        for amounts in units(state.rules):
            for action in legal_actions(state, rng):
                for text in forms(state, action, amounts):
                    assert read_action(state, text, amounts) == action, (text, offers(state, amounts))


@pytest.mark.parametrize("game", ["no-limit", "short", "odd", "antes", "rich"])
def test_parts_of_the_pot_and_multiples_are_as_defined(game: str) -> None:
    parts = {
        "half": Fraction(1, 2), "half pot": Fraction(1, 2), "half the pot": Fraction(1, 2), "1/2 pot": Fraction(1, 2),
        "2/3": Fraction(2, 3), "two thirds pot": Fraction(2, 3), "pot": Fraction(1), "75%": Fraction(3, 4),
        "75 % of the pot": Fraction(3, 4), "bet pot": Fraction(1), "raise 3/4 pot": Fraction(3, 4),
        "b300%": Fraction(3), "quarter pot": Fraction(1, 4), "third pot": Fraction(1, 3), "2x pot": Fraction(2),
        "0.5 pot": Fraction(1, 2),
    }  # fmt: skip
    times = {"3x": Fraction(3), "raise 2.5x": Fraction(5, 2), "Raise to 4 X": Fraction(4), "1.5x": Fraction(3, 2)}
    legal_ones = dict.fromkeys([*parts, *times], 0)
    for state, _ in states(GAMES[game]):
        legal = state.legal()
        if not legal.can_raise:
            continue
        most, before = max(state.spent), max(state.spent) - on_street(state, max(state.spent))
        for text, part in parts.items():
            total = most + floor(
                part * (most + most) + Fraction(1, 2)
            )  # the pot after calling: both have put in `most`
            check(state, text, min(total, legal.raise_max), legal_ones)
        for text, factor in times.items():
            if most > before:
                check(state, text, before + floor(factor * (most - before) + Fraction(1, 2)), legal_ones)
    assert min(legal_ones.values()) > 0


def check(state: BettingState, text: str, total: int, legal_ones: dict[str, int]) -> None:
    """The text is a raise to this total, or is refused where that is illegal."""
    if state.legal().allows(total):
        assert read_action(state, text) == total, text
        legal_ones[text] += 1
    else:
        assert refused(state, text, Amounts.of(state.rules))


def refused(state: BettingState, text: str, amounts: Amounts) -> bool:
    """Whether a text is refused; all forms that its remedy names are then accepted."""
    try:
        action = read_action(state, text, amounts)
    except InputError as error:
        found = re.fullmatch(r"type (.+?)(?:, or \? for help)?", error.remedy)
        assert found, error
        for example in re.split(r", | or ", found[1]):
            assert state.legal().allows(read_action(state, example, amounts)), (text, error.remedy, example)
        assert error.what
        return True
    assert state.legal().allows(action)
    return False


WORDS = [
    "fold", "check", "call", "c", "k", "x", "f", "b", "r", "bet", "raise", "to", "all-in", "shove", "jam", "min", "pot",
    "half", "3x", "x3", "33%", "b33", "b150", "1/0", "2/3", "bb", "3bb", "0.5bb", "2.333bb", "chips", "1.5", "0", "1",
    "50", "100", "20,0", "1,5", "1,000", "2.000", "20000", "99999999999", "\u0663", "\u00b2", "-5", "+5", "1e5",
    "hello", "by", "or more", "", "%", "x pot", "9999%", "all", "1,000,000", "999x", "bet x", "...", "\x1b[2J",
    "\udc80",
]  # fmt: skip


@pytest.mark.parametrize("game", GAMES)
def test_other_words_are_refused_with_forms_that_are_right(game: str) -> None:
    seen = 0
    for state, rng in states(GAMES[game], 10):
        for amounts in units(state.rules):
            for _ in range(25):
                text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 3)))
                seen += refused(state, text, amounts)
            for number in (0, 1, state.to_call, max(state.spent), rng.randrange(state.rules.stacks[0] * 2), 10**9):
                refused(state, f"{number} chips", amounts)
    assert seen > 100


@given(st.text(max_size=30))
def test_any_text_is_an_action_or_refused(text: str) -> None:
    refused(BettingState.start(NOLIMIT).apply(300), text, Amounts.of(NOLIMIT))


def test_a_number_after_b_has_one_meaning_or_is_refused() -> None:
    """10 to 200 is a percentage of the pot, and is refused where it is a legal amount too; others are amounts."""
    chips, blinds = (Amounts.of(NOLIMIT, in_big_blinds=there) for there in (False, True))
    flop = BettingState.start(NOLIMIT).apply(300).apply(CALL)  # 600 in the middle, bets from 100
    assert read_action(flop, "b33") == read_action(flop, "b 33") == 300 + 198
    assert read_action(flop, "b75") == 300 + 450
    assert read_action(flop, "b300") == read_action(flop, "b 300") == 300 + 300
    assert read_action(flop.apply(400), "r300") == 600  # only b is short for a percentage
    assert (read_action(flop, "b2.5", blinds), read_action(flop, "b9", blinds)) == (550, 1200)
    small = BettingState.start(NOLIMIT).apply(CALL).apply(CALL)  # 200 in the middle: 33% of it is less than the least
    for state, text, amounts, remedy in (
        (flop, "b150", chips, "type bet 150 or bet 150%"),
        (flop, "b33", blinds, "type bet 33bb or bet 33%"),
        (small, "b33", blinds, "type bet 33bb or bet 1bb"),
        (small, "b33", chips, "a bet of 66 is too small; type check or bet 100"),
        (flop, "bet 33", chips, "a bet of 33 is too small; type check or bet 100"),
        (flop.apply(400), "r33", chips, "a raise to 33 is too small; type call 100 or raise to 200"),
    ):
        with pytest.raises(InputError, match=re.escape(remedy)):
            read_action(state, text, amounts)
    assert (read_action(flop, "bet 150"), read_action(flop, "bet 150%")) == (450, 300 + 900)


@pytest.mark.parametrize("game", ["no-limit", "short", "odd", "antes", "rich"])
def test_a_number_after_b_is_never_an_amount_that_was_meant_as_a_percentage(game: str) -> None:
    for state, rng in states(GAMES[game]):
        number = rng.randint(10, 200)
        for amounts in units(state.rules):
            try:
                action = read_action(state, f"b{number}", amounts)
            except InputError:
                continue
            assert action == read_action(state, f"{number}%", amounts)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("150", "a raise to 150 is too small; type call 50 or raise to 200"),
        ("30,000", "a raise to 30,000 is more than you have; type all-in 20,000"),
        ("check", "there are 50 chips to call; type call 50 or fold"),
        ("call 100", "a call costs 50; type call 50"),
        ("raise", "a raise needs a size; type raise to 200, pot, half pot or all-in"),
        ("all-in 300", "all-in is 20,000 here; type all-in 20,000"),
        ("2.5", "'2.5' is no whole number of chips; type fold, call 50 or raise to 200"),
        ("hello", "'hello' is not understood; type fold, call 50, raise to 200 or all-in 20,000, or ? for help"),
    ],
)
def test_refusals_say_what_is_right(text: str, line: str) -> None:
    with pytest.raises(InputError) as error:
        read_action(BettingState.start(NOLIMIT), text)
    assert str(error.value) == line


def test_everything_can_be_a_call() -> None:
    all_in = BettingState.start(NOLIMIT).apply(20000)
    assert read_action(all_in, "shove") == read_action(all_in, "all in") == CALL
    assert action_told(all_in, CALL, Amounts.of(NOLIMIT)) == "You call 19,900 and are all-in."
    with pytest.raises(InputError, match="the other player is all-in; type call 19,900 or fold"):
        read_action(all_in, "raise 300")
    start = BettingState.start(GAMES["short"])  # 150 chips against the button's 400
    assert read_action(start.apply(150), "jam") == CALL
    with pytest.raises(InputError, match="the other player is all-in; type call 110 or fold"):
        read_action(start.apply(40).apply(150), "jam")


def test_words_that_tell() -> None:
    blinds, chips = (Amounts.of(NOLIMIT, in_big_blinds=there) for there in (True, False))
    start = BettingState.start(NOLIMIT)
    assert offers(start, chips) == ["fold", "call 50", "raise to 200 or more", "all-in 20,000"]
    assert offers(start, blinds) == ["fold", "call 0.5bb", "raise to 2bb or more", "all-in 200bb"]
    assert offers(start.apply(CALL), chips)[1] == "raise to 200 or more"  # the blind is a bet
    assert offers(start.apply(CALL).apply(CALL), chips)[1] == "bet 100 or more"
    assert action_told(start, 250, blinds) == "You raise to 2.5bb."
    assert action_told(start, 250, chips, "demo") == "demo raises to 250."
    assert action_told(start, 20000, chips, "demo") == "demo goes all-in for 20,000."
    assert action_told(start, CALL, chips, "demo") == "demo calls 50."
    assert action_told(start, FOLD, chips) == "You fold."


def test_antes_are_not_part_of_a_bet() -> None:
    state, amounts = BettingState.start(load_game("leduc")), Amounts.of(load_game("leduc"))
    assert offers(state, amounts) == ["check", "bet 2"]
    assert action_told(state, 3, amounts) == "You bet 2."
    assert offers(state.apply(3), amounts) == ["fold", "call 2", "raise to 4"]
    with pytest.raises(InputError, match="antes and no big blind"):
        read_action(state, "2bb")
    with pytest.raises(InputError, match="antes and no big blind"):
        Amounts.of(load_game("kuhn"), in_big_blinds=True)


@pytest.mark.parametrize("big_blind", [1, 2, 3, 7, 10, 20, 64, 100, 128, 1000, 999_999, 250_000_000])
def test_big_blinds_read_back_to_the_same_chips(big_blind: int) -> None:
    amounts, rng = Amounts(big_blind, in_big_blinds=True), Random(big_blind)
    chips = [*range(300), *(rng.randrange(500_000_000) for _ in range(500)), 500_000_000]
    assert [amounts.read(amounts.text(count)) for count in chips] == chips
    assert all(amounts.read(f"{count} chips") == count for count in chips)
    assert amounts.text(3 * big_blind) == "3bb"
    assert amounts.signed(-big_blind) == "-1bb"


def test_the_help_is_of_forms_that_are_understood() -> None:
    for rules in GAMES.values():
        for amounts in units(rules):
            lines = help_text(amounts, limit=rules.limit).splitlines()
            assert max(map(len, lines)) <= 80
            for form in ", ".join(line[2:32].strip() for line in lines).split(", "):
                if form in ("?", "help", "quit"):
                    continue
                for state in (BettingState.start(rules), BettingState.start(rules).apply(CALL)):
                    try:
                        read_action(state, form, amounts)
                    except InputError as error:
                        assert "not understood" not in str(error)
