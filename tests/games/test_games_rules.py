"""Rules and gamedefs: the built-in games' facts, what a bad gamedef is told, and the laws of betting."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.cards.deck import Deck
from equipoise.core.errors import InputError
from equipoise.games.betting_state import CALL, FOLD, BettingState
from equipoise.games.gamedef import load_game, preset_about, preset_names, read_gamedef, write_gamedef
from equipoise.games.rules import MOST_CHIPS, UNLIMITED_RAISES, UNLIMITED_STACK, GameRules
from equipoise.tree.betting_tree import build_tree
from equipoise.tree.lines import line_of, path_to
from play import decisions, longest_hand, random_deal, random_hand, random_state

LIMIT = load_game("holdem.limit")
NO_LIMIT = load_game("holdem.nolimit")
UNEQUAL = replace(NO_LIMIT, stacks=(20_000, 700))
SHORT_LIMIT = replace(LIMIT, stacks=(37, 100))
PRESETS = {name: load_game(name) for name in preset_names()}
games = st.sampled_from([*PRESETS.values(), UNEQUAL, SHORT_LIMIT])
rngs = st.randoms(use_true_random=False)
relaxed = settings(deadline=None)  # the first hand compiles the ranking


def test_the_built_in_games_come_smallest_first() -> None:
    assert list(PRESETS) == [
        "kuhn", "leduc", "rhode-island", "holdem.two-four", "holdem.flop", "holdem.limit", "holdem.nolimit",
    ]  # fmt: skip
    assert all(rules.name == name and len(preset_about(name)) > 20 for name, rules in PRESETS.items())


@pytest.mark.parametrize(
    ("name", "blinds", "raise_sizes", "max_raises", "first", "deck", "hole_cards", "board_cards"),
    [
        ("kuhn", (1, 1), (1,), (1,), (0,), (3, 1), 1, (0,)),
        ("leduc", (1, 1), (2, 4), (2, 2), (0, 0), (3, 2), 1, (0, 1)),
        ("rhode-island", (5, 5), (10, 20, 20), (3, 3, 3), (0, 0, 0), (13, 4), 1, (0, 1, 1)),
        ("holdem.two-four", (10, 5), (10, 10), (3, 4), (1, 0), (13, 4), 2, (0, 3)),
        ("holdem.flop", (100, 50), (100, 100), (3, 4), (1, 0), (13, 4), 2, (0, 3)),
        ("holdem.limit", (10, 5), (10, 10, 20, 20), (3, 4, 4, 4), (1, 0, 0, 0), (13, 4), 2, (0, 3, 1, 1)),
        ("holdem.nolimit", (100, 50), (), (UNLIMITED_RAISES,) * 4, (1, 0, 0, 0), (13, 4), 2, (0, 3, 1, 1)),
    ],
)
def test_the_facts_of_a_built_in_game(
    name: str,
    blinds: tuple[int, int],
    raise_sizes: tuple[int, ...],
    max_raises: tuple[int, ...],
    first: tuple[int, ...],
    deck: tuple[int, int],
    hole_cards: int,
    board_cards: tuple[int, ...],
) -> None:
    limit = name != "holdem.nolimit"
    assert PRESETS[name] == GameRules(
        limit=limit,
        blinds=blinds,
        stacks=(UNLIMITED_STACK,) * 2 if limit else (20_000, 20_000),
        first=first,
        max_raises=max_raises,
        deck=Deck(*deck),
        hole_cards=hole_cards,
        board_cards=board_cards,
        raise_sizes=raise_sizes,
        three_card=name == "rhode-island",
    )


@pytest.mark.parametrize(
    ("name", "most"),
    [("kuhn", 2), ("leduc", 13), ("holdem.two-four", 80), ("holdem.limit", 240), ("holdem.nolimit", 20_000)],
)
def test_the_most_chips_a_player_can_put_in(name: str, most: int) -> None:
    assert longest_hand(PRESETS[name]).spent == (most, most)


def test_streets_are_named_in_holdem_and_numbered_elsewhere() -> None:
    assert [LIMIT.street_name(round_) for round_ in range(4)] == ["preflop", "flop", "turn", "river"]
    assert [PRESETS["leduc"].street_name(round_) for round_ in range(2)] == ["round 1", "round 2"]
    assert [LIMIT.board_size(round_) for round_ in range(4)] == [0, 3, 4, 5]
    assert (LIMIT.hand_cards, LIMIT.deal_size, LIMIT.big_blind) == (7, 9, 10)


@st.composite
def any_rules(draw: st.DrawFn) -> GameRules:
    """Rules of every shape that is allowed."""
    rounds, limit = draw(st.integers(1, 8)), draw(st.booleans())

    def by_round(low: int, high: int) -> tuple[int, ...]:
        return draw(st.tuples(*[st.integers(low, high)] * rounds))

    hole_cards = draw(st.integers(1, 3))
    board_cards = [0] * rounds
    for _ in range(draw(st.integers(0, 7 - hole_cards))):
        board_cards[draw(st.integers(0, rounds - 1))] += 1
    blinds = draw(st.tuples(st.integers(0, 100), st.integers(0, 100)).filter(any))
    finite = st.integers(max(blinds) + 1, MOST_CHIPS)
    return GameRules(
        limit=limit,
        blinds=blinds,
        stacks=draw(st.tuples(finite, finite) | st.just((UNLIMITED_STACK, UNLIMITED_STACK)))
        if limit
        else draw(st.tuples(finite, finite)),
        first=by_round(0, 1),
        max_raises=by_round(0, UNLIMITED_RAISES),
        deck=Deck(draw(st.integers(7, 13)), draw(st.integers(2, 4))),
        hole_cards=hole_cards,
        board_cards=tuple(board_cards),
        raise_sizes=by_round(1, 1000) if limit else (),
        three_card=hole_cards + sum(board_cards) == 3 and draw(st.booleans()),
    )


@relaxed
@given(any_rules(), st.text(max_size=9))
def test_writing_and_reading_a_gamedef_are_inverse(rules: GameRules, name: str) -> None:
    text = write_gamedef(rules)
    read = read_gamedef(text, name=name)
    assert (read, read.name, write_gamedef(read)) == (rules, name, text)


@relaxed
@given(any_rules(), any_rules())
def test_fingerprints_tell_rules_apart_and_ignore_names(first: GameRules, second: GameRules) -> None:
    assert (first.fingerprint == second.fingerprint) == (first == second)
    assert replace(first, name="other").fingerprint == first.fingerprint


def test_comments_blank_lines_and_case_do_not_matter() -> None:
    text = write_gamedef(LIMIT)
    assert read_gamedef("# about\n\n" + text.upper().replace("\n", "  # why\r\n\n")) == LIMIT
    without_defaults = re.sub(r"(maxRaises|firstPlayer).*\n", "", write_gamedef(PRESETS["kuhn"]))
    assert read_gamedef(without_defaults) == replace(PRESETS["kuhn"], max_raises=(UNLIMITED_RAISES,))


def complaint(text: str) -> str:
    """What a bad gamedef is told: one line with a remedy."""
    with pytest.raises(InputError) as caught:
        read_gamedef(text, source="my.game")
    assert caught.value.remedy
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["numPlayers", "numRounds", "blind", "raiseSize", "numSuits", "numRanks", "numHoleCards", "numBoardCards"],
)
def test_a_missing_field_is_named(name: str) -> None:
    text = re.sub(rf"{name} .*\n", "", write_gamedef(LIMIT))
    assert complaint(text).startswith(f"my.game: {name} is missing; add a line {name} = ")


def test_missing_betting_and_no_limit_without_stacks_are_named() -> None:
    assert complaint(write_gamedef(LIMIT).replace("\nlimit\n", "\n")).startswith("my.game: the betting is missing")
    assert complaint(re.sub("stack.*\n", "", write_gamedef(NO_LIMIT))).startswith("my.game: stack is missing")


@pytest.mark.parametrize(
    ("good", "bad", "line", "said"),
    [
        ("GAMEDEF\nnolimit", "nolimit\nGAMEDEF", 1, "'nolimit' where GAMEDEF was expected"),
        ("nolimit", "nolimits", 2, "no '=' in 'nolimits'"),
        ("nolimit", "nolimit\nlimit", 3, "the betting is given twice"),
        ("numPlayers = 2", "numPlayers = 3", 3, "numPlayers is 3; use 2"),
        ("numRounds = 4", "numRounds = 0", 4, "numRounds is 0; use 1 to 8"),
        ("numRounds = 4", "numRounds = 9", 4, "numRounds is 9; use 1 to 8"),
        ("numRounds = 4", "numRounds = 4 4", 4, "numRounds has 2 values; give one value"),
        ("numRounds = 4", "numRounds =", 4, "numRounds has 0 values; give it"),
        ("stack = 20000 20000", "stack = 20000", 5, "stack has 1 values; give 2, one a player"),
        ("stack = 20000 20000", "stack = 20000 100", 5, "stack must be larger than the blinds"),
        ("stack = 20000 20000", "stack = 20000 500000001", 5, "stack lets a player put in '500000001' chips"),
        ("stack = 20000 20000", "stack = 20000 99999999999", 5, "'99999999999' is not a number"),
        ("blind = 100 50", "blind = 100 -50", 6, "'-50' is not a number"),
        ("blind = 100 50", "blind = 100 5²", 6, "'5²' is not a number"),
        ("blind = 100 50", "blind = 0 0", 6, "blind needs a positive number"),
        ("blind = 100 50", "blind = 100 50 0", 6, "blind has 3 values; give 2, one a player"),
        ("firstPlayer = 2 1 1 1", "firstPlayer = 2 1 1", 7, "firstPlayer has 3 values; give 4, one a round"),
        ("firstPlayer = 2 1 1 1", "firstPlayer = 3 1 1 1", 7, "firstPlayer names a player that does not exist; use"),
        ("firstPlayer = 2 1 1 1", "firstPlayer = 0 1 1 1", 7, "firstPlayer names a player that does not exist; use"),
        ("firstPlayer = 2 1 1 1", "maxRaises = 3 4 4 256", 7, "maxRaises is out of range; use 0 to 255"),
        ("firstPlayer = 2 1 1 1", "raiseSize = 10 10 20 20", 7, "raiseSize in a no-limit game"),
        ("numSuits = 4", "numSuits = 5", 8, "numSuits is 5; use 1 to 4"),
        ("numRanks = 13", "numRanks = 14", 9, "numRanks is 14; use 1 to 13"),
        ("numRanks = 13", "numRanks = 2", 11, "numBoardCards deals 9 of 8 cards"),
        ("numRanks = 13", "numRank = 13", 9, "unknown field 'numrank'; did you mean numRanks? known: numPlayers, "),
        ("numRanks = 13", "numRanks 13", 9, "no '=' in 'numRanks 13'"),
        ("numHoleCards = 2", "numHoleCards = 0", 10, "numHoleCards is 0; use 1 to 7"),
        ("numHoleCards = 2", "numRanks = 13", 10, "numRanks is given twice; it is already on line 9"),
        ("numBoardCards = 0 3 1 1", "numBoardCards = 0 3 1", 11, "numBoardCards has 3 values; give 4, one a round"),
        ("numBoardCards = 0 3 1 1", "numBoardCards = 0 3 1 2", 11, "numBoardCards makes hands of 8 cards; use up to 7"),
        ("END GAMEDEF", "handRanking = best\nEND GAMEDEF", 12, "unknown ranking 'best'; use standard or three-card"),
        ("END GAMEDEF", "handRanking = three-card\nEND GAMEDEF", 12, "handRanking three-card without three cards"),
        ("END GAMEDEF", "", 12, "no END GAMEDEF"),
        ("END GAMEDEF", "END GAMEDEF\nlimit", 13, "text after END GAMEDEF"),
    ],
)  # fmt: skip
def test_a_bad_line_is_told_where_it_stands_and_what_would_be_right(good: str, bad: str, line: int, said: str) -> None:
    text = write_gamedef(NO_LIMIT)
    assert good in text
    before, _, after = text.rpartition(good)
    assert complaint(before + bad + after).startswith(f"my.game:{line}: {said}")


def test_limit_raise_sizes_are_checked_where_they_stand() -> None:
    text = write_gamedef(LIMIT)
    assert complaint(text.replace("10 10 20 20", "10 0 20 20")).startswith("my.game:6: raiseSize must be positive")
    assert complaint(text.replace("10 10 20 20", "10 20")).startswith("my.game:6: raiseSize has 2 values; give 4")


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_an_empty_gamedef_says_how_to_start(text: str) -> None:
    assert "it has no line GAMEDEF; start it with GAMEDEF" in complaint(text)


def test_a_gamedef_file_is_read_and_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.game"
    path.write_text(write_gamedef(LIMIT))
    assert (load_game(path), load_game(str(path)).name) == (LIMIT, "mine")
    path.write_text(write_gamedef(LIMIT).replace("numRanks = 13", "numRanks = many"))
    with pytest.raises(InputError, match=re.escape(f"{path}:10: 'many' is not a number")):
        load_game(path)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00GAMEDEF", bytes(range(256))])
def test_a_file_that_is_not_text_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "binary.game"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(f"{path}: not a text file")):
        load_game(path)


@pytest.mark.parametrize("name", ["nothing", "", "no\nfile.game", "nul\0byte", "a" * 5000, "b" * 300, ".", "../kuhn"])
def test_a_game_that_is_not_there_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(InputError) as caught:
        load_game(name)
    assert caught.value.remedy
    assert str(caught.value).isprintable()


@relaxed
@given(games, rngs)
def test_chips_are_conserved_and_never_exceed_the_stacks(rules: GameRules, rng: Random) -> None:
    hand = random_hand(rules, rng)
    states = [*(state for state, _ in decisions(hand)), hand]
    for state, after in pairwise(states):
        assert state.player in (0, 1)
        assert after.spent[1 - state.player] == state.spent[1 - state.player], "only who acts pays"
        assert after.spent[state.player] >= state.spent[state.player]
    for state in states:
        assert all(0 <= spent <= stack for spent, stack in zip(state.spent, rules.stacks, strict=True))
        assert state.pot == sum(state.spent)


@relaxed
@given(games, rngs)
def test_payoffs_sum_to_zero_and_nobody_loses_more_than_was_put_in(rules: GameRules, rng: Random) -> None:
    hand, deal = random_hand(rules, rng), random_deal(rules, rng)
    payoffs = hand.payoffs(deal)
    assert sum(payoffs) == 0
    assert all(-spent <= payoff for spent, payoff in zip(hand.spent, payoffs, strict=True))
    assert max(payoffs) in (0, min(hand.spent))
    if hand.folded >= 0:
        assert payoffs[hand.folded] == -hand.spent[hand.folded] < 0
    swapped = hand.payoffs(deal._replace(holes=deal.holes[::-1]))
    assert swapped == (payoffs[::-1] if hand.is_showdown else payoffs), "the cards decide a showdown, and only that"


@relaxed
@given(games, rngs)
def test_legal_raises_are_larger_than_the_bet_and_inside_the_stack(rules: GameRules, rng: Random) -> None:
    for state, _ in decisions(random_hand(rules, rng)):
        legal, stack = state.legal(), rules.stacks[state.player]
        assert legal.fold == (state.to_call > 0)
        assert 0 <= state.to_call <= stack - state.spent[state.player]
        assert legal.can_raise == (legal.raise_min > 0) == (legal.raise_max > 0)
        if legal.can_raise:
            assert max(state.spent) < legal.raise_min <= legal.raise_max <= stack
            by = legal.raise_min - max(state.spent)
            assert (
                by >= (rules.raise_sizes[state.round] if rules.limit else rules.big_blind) or legal.raise_min == stack
            )


@relaxed
@given(games, rngs, st.integers(-3, 2**40))
def test_an_illegal_action_is_refused_and_a_legal_one_is_not(rules: GameRules, rng: Random, other: int) -> None:
    state = random_state(rules, rng)
    legal = state.legal()
    edges = [FOLD, CALL, *(edge + step for edge in legal[1:] for step in (-1, 0, 1)), max(state.spent), other]
    for action in edges:
        may = not state.is_over and (
            (action == CALL or (action == FOLD and legal.fold))
            or (legal.can_raise and action > 0 and legal.raise_min <= action <= legal.raise_max)
        )
        if may:
            assert state.apply(action).rounds[state.round] == (*state.rounds[state.round], action)
        else:
            with pytest.raises(InputError, match="illegal action"):
                state.apply(action)


@relaxed
@given(games, rngs)
def test_actions_alternate_within_a_round_and_every_round_opens_with_its_first_player(
    rules: GameRules, rng: Random
) -> None:
    previous = None
    for state, _ in decisions(random_hand(rules, rng)):
        opens = previous is None or state.round > previous.round
        assert state.player == (rules.first[state.round] if opens or previous is None else 1 - previous.player)
        previous = state


def test_a_raise_sets_the_next_minimum() -> None:
    state = BettingState.start(NO_LIMIT)
    assert state.legal() == (True, 200, 20_000)
    state = state.apply(300)  # by 200
    assert state.legal() == (True, 500, 20_000)
    state = state.apply(1_000)  # by 700
    assert state.legal() == (True, 1_700, 20_000)
    state = state.apply(CALL)
    assert state.legal() == (False, 1_100, 20_000)
    state = state.apply(12_000)  # by 11,000: only a short all-in is left
    assert state.legal() == (True, 20_000, 20_000)
    state = state.apply(20_000)
    assert state.legal() == (True, 0, 0)
    assert state.apply(CALL).is_showdown


@pytest.mark.parametrize(("name", "menu"), [("leduc", None), ("holdem.nolimit", "pot")])
def test_a_line_leads_to_the_state_of_its_node(name: str, menu: str | None) -> None:
    tree = build_tree(name, menu)
    start = BettingState.start(name)
    for node in Random(5).sample(range(1, len(tree)), min(len(tree) - 1, 200)):
        line, state = line_of(tree, node), start
        for step in path_to(tree, node):
            state = state.apply(int(tree.action[step]))
        assert start.after(line) == start.after(line.replace(",", "")) == state


@pytest.mark.parametrize(
    "line", ["check", "call 3", "fold 2", "bet", "raise zz", "all-in 900", "r" + 5000 * "9", "fold, fold", "raise 99"]
)
def test_a_line_that_cannot_be_played_is_refused(line: str) -> None:
    with pytest.raises(InputError, match=r"legal: |the hand is over"):
        BettingState.start("holdem.nolimit").after(line)


def test_words_of_a_line() -> None:
    start = BettingState.start("holdem.nolimit")
    for line in ("raise 300, call", "r300 c", "Raise to 300 CALL", "b300 c"):
        assert start.after(line).rounds == ((300, 0), ())
    assert start.after("c x").after("x b200 r600").spent == (700, 300)
    assert start.after("all-in call").is_showdown and start.after("").rounds == ((),)
