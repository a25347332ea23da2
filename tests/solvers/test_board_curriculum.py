"""Boards that grow: passes over a list that gets longer, nothing left out; and what that is good for."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest

from equipoise import Deck, GameRules, exploitability, load_game
from equipoise.agents.blueprint import profile_agent
from equipoise.solvers.cfr_br.board_curriculum import FIRST, GROW, BoardCurriculum, default_growth
from equipoise.solvers.cfr_br.hybrid import HybridCFRBR
from small_games import forgetful, tree_of

LIMIT = load_game("holdem.limit")
MANY_FLOPS = dataclasses.replace(
    LIMIT, deck=Deck(6, 4), board_cards=(0, 3, 1, 0), max_raises=(1, 1, 1, 1), name="many flops"
)
PAIRS = dataclasses.replace(LIMIT, deck=Deck(4, 2), board_cards=(0, 1, 2, 0), name="two cards at once")


@pytest.mark.parametrize("grow", [1, 4, 8, 32])
def test_a_pass_visits_each_board_once_and_the_next_has_more(grow: int) -> None:
    source = BoardCurriculum(LIMIT, 3, grow, 2)
    visits, size, n = [source.visit(n) for n in range(2000)], FIRST, 0
    number = 0
    while n + size <= len(visits):
        here = visits[n : n + size]
        assert {passed for passed, _ in here} == {number}
        assert sorted(board for _, board in here) == list(range(size))
        n, size, number = n + size, size + max(1, size // grow), number + 1
    assert number > 5
    firsts = len({board for _, board in visits}) - FIRST
    assert firsts / len(visits) == pytest.approx(1 / (1 + grow), rel=0.35)  # the share of boards never seen before


def test_a_board_comes_back_with_every_other_card_before_one_comes_again() -> None:
    source = BoardCurriculum(LIMIT, 1, 16, 2)
    boards, weights = source.boards(0, 10_000)
    assert (weights == 1).all()
    by_flop: dict[int, list[tuple[int, ...]]] = {}
    for n, board in enumerate(boards.tolist()):
        assert len(set(board)) == 4
        by_flop.setdefault(source.visit(n)[1], []).append(tuple(board))
    longest = by_flop[0]
    assert len(longest) > 49 and len({board[:3] for board in longest}) == 1
    assert sorted(card for *_, card in longest[:49]) == sorted(set(range(52)) - set(longest[0][:3]))


def test_two_cards_at_once_come_in_all_pairs() -> None:
    source = BoardCurriculum(PAIRS, 1, 8, 2)
    boards, _ = source.boards(0, 20_000)
    first = [tuple(sorted(b[1:])) for n, b in enumerate(boards.tolist()) if source.visit(n)[1] == 0]
    assert len(first) > 40
    assert len(set(first)) > 15  # of 21 pairs: not the same three chunks of the deck again and again


@pytest.mark.parametrize(
    ("rules", "trunk", "width"),
    [
        (LIMIT, 1, 3),
        pytest.param(LIMIT, 2, 4, marks=pytest.mark.slow),
        (LIMIT, 3, 5),
        pytest.param(LIMIT, 4, 5, marks=pytest.mark.slow),
        (PAIRS, 2, 3),
    ],
)
def test_in_the_long_run_all_cards_come_alike(rules: GameRules, trunk: int, width: int) -> None:
    source = BoardCurriculum(rules, 5, 4, trunk)
    boards, _ = source.boards(0, 30_000)
    assert boards.shape == (30_000, width)
    for place in range(width):
        counts = np.bincount(boards[20_000:, place], minlength=rules.deck.size)
        expected = 10_000 / rules.deck.size
        assert np.abs(counts - expected).max() < 0.45 * expected, place


def test_what_comes_follows_from_the_seed_and_the_number() -> None:
    one, other, third = (BoardCurriculum(LIMIT, seed, 8, 2) for seed in (1, 1, 2))
    whole, _ = one.boards(0, 300)
    assert np.array_equal(other.boards(250, 50)[0], whole[250:])  # asked for in another order
    assert np.array_equal(np.concatenate([other.boards(n, 1)[0] for n in range(250)]), whole[:250])
    assert not np.array_equal(third.boards(0, 300)[0], whole)


def test_a_trunk_of_few_boards_is_not_grown() -> None:
    assert [default_growth(LIMIT, trunk) for trunk in range(5)] == [0, 0, GROW, GROW, GROW]
    assert default_growth(load_game("holdem.two-four"), 1) == default_growth(load_game("leduc"), 1) == 0
    tree, buckets = tree_of(MANY_FLOPS), forgetful(MANY_FLOPS)
    said = Counter[str]()
    for options in ({}, {"cycle": True}, {"cycle": False}, {"grow": 0}):
        said[type(HybridCFRBR(tree, buckets, trunk=2, **options).source).__name__] += 1
    assert said == {"BoardCurriculum": 1, "BoardSource": 3}


def test_where_flops_are_many_the_same_subgames_teach_more() -> None:
    """166 flops: in a cycle, an opponent at random on nearly every one of them."""
    tree, buckets = tree_of(MANY_FLOPS), forgetful(MANY_FLOPS)
    lost = []
    for grow in (0, 8):
        solver = HybridCFRBR(tree, buckets, trunk=2, grow=grow)
        solver.run(160)
        lost.append(exploitability(MANY_FLOPS, profile_agent("it", solver.profile(), buckets)).player_values[0])
    assert lost[1] < 0.85 * lost[0]
