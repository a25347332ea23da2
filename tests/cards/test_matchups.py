"""Equities of a hole against every hole: against `equity`, an independent ranker, and enumeration in words."""

import itertools

import numpy as np
import pytest
from phevaluator import evaluate_cards

from equipoise import GameRules, InputError, equities_against, equity, load_game, read_gamedef
from equipoise.cards import matchups
from equipoise.cards.deck import FULL_DECK, hole_cards, hole_index
from equipoise.cards.ranges import hole_text


def short_deck(ranks: int, suits: int, board: str = "0 3 1 1") -> GameRules:
    """Two hole cards and a small deck."""
    rounds = len(board.split())
    lines = ["GAMEDEF", "nolimit", "numPlayers = 2", f"numRounds = {rounds}", "stack = 20 20", "blind = 2 1"]
    lines += [f"firstPlayer = {' '.join(['2', '1', '1', '1'][:rounds])}", f"numSuits = {suits}", f"numRanks = {ranks}"]
    return read_gamedef("\n".join([*lines, "numHoleCards = 2", f"numBoardCards = {board}", "END GAMEDEF"]))


def enumerated(rules: GameRules, hole: int, board: tuple[int, ...]) -> list[float]:
    """The same in words of the rules."""
    mine, missing = hole_cards(hole, rules.hole_cards), rules.hand_cards - rules.hole_cards - len(board)
    shares = []
    for other in range(rules.deck.holes(rules.hole_cards)):
        theirs = hole_cards(other, rules.hole_cards)
        dead = {*mine, *theirs, *board}
        if len(dead) < 2 * rules.hole_cards + len(board):
            shares.append(0.0)
            continue
        won = []
        for more in itertools.combinations([c for c in range(rules.deck.size) if c not in dead], missing):
            a, b = (rules.ranker.rank((*cards, *board, *more)) for cards in (mine, theirs))
            won.append((a > b) + (a == b) / 2)
        shares.append(sum(won) / len(won))
    return shares


@pytest.mark.parametrize(
    ("rules", "board_size"),
    [
        (load_game("kuhn"), 0),
        (load_game("leduc"), 0),
        (load_game("leduc"), 1),
        (load_game("rhode-island"), 1),
        (load_game("rhode-island"), 2),
        (short_deck(3, 3, "0 3"), 0),
        (short_deck(3, 3), 2),  # in the middle of a flop
        (short_deck(4, 3), 3),
        (short_deck(6, 2), 4),
    ],
)
def test_equals_plain_enumeration(rules: GameRules, board_size: int) -> None:
    rng = np.random.default_rng(board_size)
    for _ in range(3):
        cards = rng.permutation(rules.deck.size)[: rules.hole_cards + board_size].tolist()
        hole, board = hole_index(cards[: rules.hole_cards]), tuple(cards[rules.hole_cards :])
        found = equities_against(rules, hole, board)
        assert found.dtype == np.float64
        assert found == pytest.approx(enumerated(rules, hole, board), abs=1e-12)


@pytest.mark.parametrize("board", ["2c 7d Jh", "Th 8h 2h", "5c 4c 3c 9d", "Ac Kc Qc Jc Tc", "2c 2d 7h 7s Ah"])
def test_equals_equity_of_ranges_on_boards(board: str) -> None:
    given = FULL_DECK.read_cards(board)
    rules, rng = load_game("holdem.limit"), np.random.default_rng(len(board))
    live = [card for card in range(52) if card not in given]
    mine = rng.choice(live, 2, replace=False).tolist()
    found = equities_against(rules, hole_index(mine), given)
    for other in range(1326):
        if {*hole_cards(other)} & {*mine, *given}:
            assert found[other] == 0
    for other in rng.permutation(np.flatnonzero(found > 0))[:12].tolist():
        expected = equity(hole_text(hole_index(mine)), hole_text(other), board).equity[0]
        assert found[other] == pytest.approx(expected, abs=1e-12)


def test_equals_another_ranker_on_the_turn() -> None:
    board, mine = FULL_DECK.read_cards("5c 4c 3c 9d"), FULL_DECK.read_cards("Ac2d")
    found = equities_against(load_game("holdem.nolimit"), hole_index(mine), board)
    for text in ("6c7d", "KcQd", "AdAh", "Ah2c", "9c9h"):
        theirs = FULL_DECK.read_cards(text)
        won = []
        for card in set(range(52)) - {*board, *mine, *theirs}:
            a, b = evaluate_cards(*mine, *board, card), evaluate_cards(*theirs, *board, card)
            won.append((a < b) + (a == b) / 2)
        assert found[hole_index(theirs)] == pytest.approx(sum(won) / 44, abs=1e-12)


def test_both_sides_share_the_pot() -> None:
    rules, board = load_game("holdem.limit"), FULL_DECK.read_cards("2c 7d Jh")
    a, b = (hole_index(FULL_DECK.read_cards(text)) for text in ("AhKh", "7c6c"))
    assert equities_against(rules, a, board)[b] + equities_against(rules, b, board)[a] == pytest.approx(1, abs=1e-12)


def test_before_the_flop_equals_equity() -> None:
    rules = load_game("holdem.nolimit")
    for mine, others in {
        "AsAh": ("AdAc", "KsQs"),
        "AhKh": ("AdKc", "2s2h"),
        "7c2d": ("7d2h", "3c2s"),
    }.items():
        found = equities_against(rules, hole_index(FULL_DECK.read_cards(mine)))
        for other in others:
            expected = equity(mine, other).equity[0]
            assert found[hole_index(FULL_DECK.read_cards(other))] == np.float32(expected)
        assert found[hole_index(FULL_DECK.read_cards("AhKd" if mine[0] == "A" else "7cAd"))] == 0


def test_the_table_before_the_flop_knows_blockers_and_suits() -> None:
    share = matchups.equity_table(load_game("holdem.limit"))
    holes = [hole_cards(hole) for hole in range(1326)]
    meets = np.array([[not {*a} & {*b} for b in holes] for a in holes])
    assert (share > 0).tolist() == meets.tolist()
    assert np.abs((share + share.T)[meets] - 1).max() < 1e-6
    swap = [1, 0, 2, 3]  # clubs and diamonds
    renamed = [hole_index(card // 4 * 4 + swap[card % 4] for card in hole) for hole in holes]
    assert np.array_equal(share[np.ix_(renamed, renamed)], share)


@pytest.mark.parametrize("rules", [short_deck(5, 2), short_deck(3, 3), load_game("leduc"), load_game("rhode-island")])
def test_a_table_equals_enumeration(rules: GameRules, monkeypatch: pytest.MonkeyPatch) -> None:
    holes = range(rules.deck.holes(rules.hole_cards))
    one_by_one = np.array([equities_against(rules, hole) for hole in holes])
    monkeypatch.setattr(matchups, "BATCH", 7)
    for threads in (1, 3):
        told: list[float] = []
        table = matchups._build_table(rules.ranker, rules.hole_cards, threads, told.append)
        assert np.array_equal(table, one_by_one.astype(np.float32))
        assert told[-1] == 1 and told == sorted(told)


@pytest.mark.parametrize(
    ("hole", "board", "complaint"),
    [
        (1326, (), "no hole number 1326"),
        (-1, (), "no hole number -1"),
        (0, (1, 5, 6), "2d appears twice"),
        (0, (5, 5, 6), "appears twice"),
        (0, (5, 6, 52), "no card number 52"),
        (0, (5, 6, 7, 8, 9, 10), "a board of 6 cards"),
    ],
)
def test_bad_input_ends_in_one_line(hole: int, board: tuple[int, ...], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        equities_against(load_game("holdem.limit"), hole, board)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("board", ["2c 7d Jh", "2c 2d 2h", "Ah 7h 2c", "Ac Ad Kc Kd"])
def test_runouts_without_a_flush_are_counted_as_others_are(board: str) -> None:
    """The short way by ranks against the long way by holes: quads on the board, pairs that the deck cannot make."""
    rules, given = load_game("holdem.limit"), FULL_DECK.read_cards(board)
    holes = [hole_index(FULL_DECK.read_cards(text)) for text in ("As2s", "KsKh", "9c8c", "7c7s")]
    short = [equities_against(rules, hole, given) for hole in holes]
    ranks = rules.ranker
    for hole, found in zip(holes, short, strict=True):
        mine = hole_cards(hole)
        live = [card for card in range(52) if card not in {*mine, *given}]
        won, met = np.zeros(1326), np.zeros(1326)
        for more in itertools.combinations(live, 5 - len(given)):
            by_hole = ranks.ranks_on_board((*given, *more)).astype(np.int64)
            seen = by_hole != matchups.BLOCKED
            met += seen
            won += seen * ((by_hole[hole] > by_hole) + (by_hole[hole] == by_hole) / 2)
        blocked = np.array([bool({*hole_cards(other)} & {*mine, *given}) for other in range(1326)])
        assert found == pytest.approx(np.where(blocked, 0, won / np.maximum(met, 1)), abs=1e-12)
