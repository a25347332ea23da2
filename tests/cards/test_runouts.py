"""Holes against ranges over the completions of a board, against one hole at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import comb

import numpy as np
import pytest

from equipoise.cards.deck import Deck, hole_cards
from equipoise.cards.matchups import equities_against
from equipoise.cards.runouts import Runouts, meeting_weights
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules

SMALL = replace(load_game("holdem.limit"), deck=Deck(6, 4))


def a_range(rules: GameRules, board: tuple[int, ...], seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    weights = np.random.default_rng(seed).random(rules.deck.holes(rules.hole_cards))
    for hole in range(len(weights)):
        if {*hole_cards(hole, rules.hole_cards)} & {*board}:
            weights[hole] = 0
    return weights


@pytest.mark.parametrize(
    ("rules", "board"),
    [
        (load_game("kuhn"), ()),
        (load_game("leduc"), ()),
        (load_game("leduc"), (3,)),
        (SMALL, (0, 5, 13, 22)),
        (SMALL, (0, 5, 13, 22, 23)),
        (load_game("holdem.limit"), (1, 17, 30, 44, 50)),
    ],
)
def test_edges_are_sums_over_single_holes(rules: GameRules, board: tuple[int, ...]) -> None:
    weights = a_range(rules, board, 1)
    edges, mass = Runouts.of(rules, board).edges(weights), meeting_weights(rules, weights)
    for hole in range(0, len(weights), max(1, len(weights) // 20)):
        cards = {*hole_cards(hole, rules.hole_cards)}
        if not cards & {*board}:
            free = [not cards & {*hole_cards(other, rules.hole_cards)} for other in range(len(weights))]
            expected = ((2 * equities_against(rules, hole, board) - 1) * weights)[free].sum()
            assert edges[hole] == pytest.approx(expected, abs=1e-9)
            assert mass[hole] == pytest.approx(weights[free].sum(), abs=1e-9)


def test_drawn_completions_are_unbiased() -> None:
    board = (0, 5, 13)
    weights = a_range(SMALL, board, 2)
    exact = Runouts.of(SMALL, board, most=comb(21, 2)).edges(weights)
    drawn = np.array([Runouts.of(SMALL, board, (1, seed), most=42).edges(weights) for seed in range(200)])
    error = drawn.std(axis=0) / len(drawn) ** 0.5
    assert np.abs(drawn.mean(axis=0) - exact).max() < 5 * error.max()
    assert 0 < error.max() < 0.1 * np.abs(exact).max()


def test_every_card_comes_equally_often() -> None:
    runouts = Runouts.of(SMALL, (0, 5, 13), (7,), most=42)
    assert len(runouts.order) == 42
    blocked = Counter(np.flatnonzero((runouts.ranks == 0xFFFF).any(axis=0)).tolist())
    assert len(blocked) == SMALL.deck.holes(2)
    assert {np.count_nonzero(runouts.ranks[:, hole] == 0xFFFF) for hole in blocked} <= {6, 7, 8, 42}
    assert (runouts.counts == comb(19, 2)).all()
    again = Runouts.of(SMALL, (0, 5, 13), (7,), most=42)
    assert np.array_equal(again.order[:, : comb(19, 2)], runouts.order[:, : comb(19, 2)])
