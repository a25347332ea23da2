"""Subgames dealt in blocks: every iteration has those of its samples, whoever asks when."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise import load_game
from equipoise.solvers.board_samples import BoardSource
from equipoise.solvers.cfr_br.subgame_prefetch import BLOCK, KEPT_BYTES, SubgamePrefetch, iterations_per_block
from small_games import LIMIT


class Dealer:
    """Notes what it is asked to deal."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.dealt: list[tuple[int, ...]] = []

    def deal(self, board: tuple[int, ...], weight: float) -> Any:
        self.dealt.append(board)
        return SimpleNamespace(board=board, weight=weight, subgame=SimpleNamespace(bytes=self.size))


def expected(source: BoardSource, iteration: int, boards: int) -> list[tuple[tuple[int, ...], float]]:
    cards, weights = source.boards(iteration * boards, boards)
    return [(tuple(board), float(weight)) for board, weight in zip(cards.tolist(), weights, strict=True)]


def asked(subgames: SubgamePrefetch, iteration: int) -> list[tuple[tuple[int, ...], float]]:
    return [(each.board, each.weight) for each in subgames.of(iteration)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("cycle", [False, True])
@pytest.mark.parametrize(("boards", "block"), [(1, 1), (1, 4), (3, 5)])
def test_an_iteration_has_its_own_samples(ahead: bool, cycle: bool, boards: int, block: int) -> None:
    source = BoardSource(LIMIT, 3, cycle, 1)
    subgames = SubgamePrefetch(source, Dealer(10**12).deal, boards, block, ahead=ahead)
    for iteration in (0, 1, 2, 2, 3, 4, 9, 10, 11, 40, 41, 7, 0):  # on, again, and after a run was taken up elsewhere
        assert asked(subgames, iteration) == expected(source, iteration, boards)


def test_two_seats_may_be_apart_within_a_block() -> None:
    source = BoardSource(LIMIT, 3, True, 1)
    subgames = SubgamePrefetch(source, Dealer(10**12).deal, 2, 8, ahead=True)
    whole = [expected(source, iteration, 2) for iteration in range(64)]
    with ThreadPoolExecutor(2) as pool:
        for first in range(0, 64, 8):
            numbers = range(first, first + 8)
            found = list(pool.map(lambda _, block=numbers: [asked(subgames, number) for number in block], range(2)))
            assert found == [whole[first : first + 8]] * 2


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(("more", "cycles"), [(0, 1), (1, 3)])
def test_subgames_are_dealt_once_if_all_of_them_fit(more: int, cycles: int, ahead: bool) -> None:
    source = BoardSource(LIMIT, 3, True, 1)
    dealer = Dealer(KEPT_BYTES // source.size + more)
    subgames = SubgamePrefetch(source, dealer.deal, 1, 5, ahead=ahead)
    for iteration in range(3 * source.size):
        subgames.of(iteration)
    assert len(set(dealer.dealt)) == source.size
    assert cycles * source.size <= len(dealer.dealt) <= cycles * source.size + 10 * (1 + ahead)  # blocks go beyond


@pytest.mark.parametrize("ahead", [False, True])
def test_what_goes_wrong_is_said_to_who_asks(ahead: bool) -> None:
    def deal(*_sample: Any) -> Any:
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        SubgamePrefetch(BoardSource(LIMIT, 3, True, 1), deal, 1, 2, ahead=ahead).of(0)


def test_blocks_are_many_small_subgames_or_one_large() -> None:
    limit, small = load_game("holdem.limit"), load_game("holdem.two-four")
    assert (iterations_per_block(small, 1, 1), iterations_per_block(small, 1, 3)) == (BLOCK, BLOCK // 3)
    assert (
        iterations_per_block(limit, 2, 1),
        iterations_per_block(limit, 2, 9),
        iterations_per_block(limit, 1, 1),
    ) == (BLOCK // 48, 1, 1)
