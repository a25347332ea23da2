"""Terminal values of sixteen reach vectors at once, against twins that look at every pair of holes."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
import pytest

import naive
from equipoise import GameRules, load_game
from equipoise.cards.deck import FULL_DECK, hole_cards
from equipoise.cards.showdown import DECK, Cards, meeting_lanes, showdown_lanes
from equipoise.core.jit import F64, I64, U16, kernel
from equipoise.core.simd import LANES, gather_tile, scatter_tile
from equipoise.tree.boards import PublicCards, deal_boards

HOLDEM = load_game("holdem.nolimit")
ONE_CARD = dataclasses.replace(HOLDEM, hole_cards=1, name="one card")
BOARDS = ["2c 7d Jh Qs 3c", "Ah Kh Qh Jh Th", "8s 8d 8c 3h 3d", "5c 6c 7c 8c Ah"]  # the second: everybody ties
FLOATS: dict[type, float] = {np.float32: 2e-6, np.float64: 1e-14}  # the largest error, of the reach of all holes


@kernel
def showdown(reach: F64, out: F64, run: F64, mine: Cards, theirs: Cards, groups: U16, me: int, two_cards: bool) -> None:
    showdown_lanes(reach, out, run, mine, theirs, groups, me, two_cards)


@kernel
def gather(flat: F64, offsets: I64, size: int, lanes: F64) -> None:
    for start in range(0, size, LANES):
        gather_tile(flat, offsets, start, lanes)


@kernel
def scatter(lanes: F64, size: int, factors: F64, offsets: I64, flat: F64) -> None:
    for start in range(0, size, LANES):
        scatter_tile(lanes, start, factors, offsets, flat)


def river(rules: GameRules, board: str, sizes: tuple[int, int], seed: int) -> PublicCards:
    """A last board with random ranges of about the given sizes; of the same holes if both are alike."""
    rng = np.random.default_rng(seed)
    holes = rules.deck.holes(rules.hole_cards)
    first, second = (np.isin(np.arange(holes), rng.permutation(holes)[:size]).astype(float) for size in sizes)
    if sizes[0] == sizes[1]:
        second = first
    return deal_boards(rules, (first, second), FULL_DECK.read_cards(board))


def hole_lists(cards: PublicCards, player: int) -> list[naive.Cards]:
    return [hole_cards(int(hole), cards.rules.hole_cards) for hole in cards.holes(0, player)]


def random_reach(count: int, precision: type, seed: int) -> npt.NDArray[np.float64]:
    """float[hole + 1, lane], the last row zero; lanes differ, some holes are not reached at all."""
    rng = np.random.default_rng(seed)
    reach = rng.random((count + 1, LANES)) * (rng.random((count + 1, LANES)) < 0.8)
    reach[-1] = 0
    return reach.astype(precision)


@pytest.mark.parametrize("precision", FLOATS)
@pytest.mark.parametrize("sizes", [(90, 90), (110, 40), (3, 120), (1, 1), (60, 0)], ids=str)
@pytest.mark.parametrize("hole_cards_", [1, 2])
def test_terminals_equal_their_twins(hole_cards_: int, sizes: tuple[int, int], precision: type) -> None:
    rules = HOLDEM if hole_cards_ == 2 else ONE_CARD
    sizes = sizes if hole_cards_ == 2 else (min(sizes[0], 35), min(sizes[1], 35))
    for seed, board in enumerate(BOARDS):
        cards = river(rules, board, sizes, seed)
        on_board = FULL_DECK.read_cards(board)
        ranks = {hole: rules.ranker.rank([*hole, *on_board]) for p in range(2) for hole in hole_lists(cards, p)}
        groups = cards.arrays.groups
        parts = [cards.slice(0, player) for player in range(2)]
        by_player = [Cards(cards.arrays.card1[part], cards.arrays.card2[part]) for part in parts]
        for me in range(2):
            mine, theirs = hole_lists(cards, me), hole_lists(cards, 1 - me)
            reach = random_reach(len(theirs), precision, seed)
            out, run = np.full((len(mine), LANES), np.nan, precision), np.full(DECK * LANES, np.nan, precision)
            allowed = FLOATS[precision] * (1 + reach.sum(axis=0).max())

            showdown(reach.ravel(), out.ravel(), run, by_player[me], by_player[1 - me], groups, me, hole_cards_ == 2)
            expected = naive.win_minus_lose(mine, theirs, ranks.__getitem__) @ reach[:-1].astype(float)
            np.testing.assert_allclose(out, expected, rtol=0, atol=allowed)

            same = cards.arrays.same[parts[me]]
            meeting_lanes(reach.ravel(), out.ravel(), run, by_player[me], by_player[1 - me], same, hole_cards_ == 2)
            expected = naive.can_meet(mine, theirs) @ reach[:-1].astype(float)
            np.testing.assert_allclose(out, expected, rtol=0, atol=allowed)


def test_the_twins_see_blockers_and_ties() -> None:
    """Aces block aces; on a board that plays, all tie; a better kicker wins."""
    ace = FULL_DECK.read_cards("AcAd"), FULL_DECK.read_cards("AcKd"), FULL_DECK.read_cards("2h3h")
    board = FULL_DECK.read_cards("As 7d 8h 9c Qs")
    rank = HOLDEM.ranker.rank
    table = naive.win_minus_lose(ace, ace, lambda hole: rank([*hole, *board]))
    assert table.tolist() == [[0, 0, 1], [0, 0, 1], [-1, -1, 0]]
    assert naive.can_meet(ace, ace).tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize("precision", FLOATS)
def test_tiles_are_transposes(precision: type) -> None:
    rng = np.random.default_rng(1)
    rows, size = 40, 48
    flat = rng.random((rows, size)).astype(precision)
    picked = rng.permutation(rows)[:LANES]
    lanes = np.zeros((size, LANES), precision)
    gather(flat.ravel(), picked * size, size, lanes.ravel())
    np.testing.assert_array_equal(lanes, flat[picked].T)

    factors = rng.random(LANES).astype(precision)
    back = np.full((rows, size), -1, precision)
    scatter(lanes.ravel(), size, factors, picked * size, back.ravel())
    np.testing.assert_array_equal(back[picked], factors[:, None] * flat[picked])
    others = np.setdiff1d(np.arange(rows), picked)
    assert (back[others] == -1).all()
