"""Solution files: as small as their values allow, with locks, pure hands and unreached hands as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise import InputError, Solution, read_spot
from equipoise.spots import small_strategy as small
from equipoise.spots.problem import Problem
from equipoise.spots.small_strategy import MOST_OFF, small_strategy
from equipoise.spots.spot import load_spot
from equipoise.walk import strategy_codes
from equipoise.walk.strategy_codes import code_strategy

HEADER = 8192  # bytes: at least one page, and more with many measurements
CLASSES = [
    *(2 * rank for rank in "AKQJT98765432"),
    "AKs",
    "AQo",
    "AJs",
    "KQs",
    "KJo",
    "QJs",
    "JTs",
    "T9s",
    "98s",
    "76s",
]


def random_spot(seed: int) -> Any:
    """A spot with some classes of hands a side, on the turn or the river, perhaps with rake."""
    rng = np.random.default_rng(seed)
    board = rng.choice(52, 4 + seed % 2, replace=False)
    cards = " ".join("23456789TJQKA"[card // 4] + "cdhs"[card % 4] for card in board)
    oop, ip = (",".join(rng.choice(CLASSES, rng.integers(2, 14), replace=False)) for _ in range(2))
    rake = "rake = { rate = 0.05, cap = 20 }\n" if seed % 3 == 0 else ""
    return read_spot(
        f'board = "{cards}"\npot = {rng.integers(20, 400)}\nstack = {rng.integers(100, 900)}\n{rake}'
        f'ranges = {{ oop = "{oop}", ip = "{ip}" }}\nbetting = {{ bet = [{rng.uniform(0.3, 1.2):.2f}, "all-in"] }}'
    )


def measured(problem: Problem, table: Any) -> Any:
    """EVs and exploitability by the engine in double precision, from numbers that the test decodes itself."""
    exact = problem.engine(1, np.float64)
    wide = np.asarray(table, np.float64)
    tables = exact.tables(wide * wide if table.dtype == np.uint8 else wide)
    return np.array([exact.evaluate(0, tables), exact.evaluate(1, tables), exact.exploitability(tables)])


@pytest.fixture(autouse=True)
def code_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code tables of any size."""
    monkeypatch.setattr(small, "EXACT", 0)


@pytest.mark.parametrize("seed", range(8))
def test_a_stored_strategy_is_worth_what_it_was(seed: int, tmp_path: Path) -> None:
    solution = equipoise.solve(random_spot(seed), target=0.5, iterations=300, threads=1)
    solution.save(tmp_path / "random.solution")
    again = Solution.load(tmp_path / "random.solution")
    assert again.average.dtype in (np.uint8, np.int16)
    off = np.abs(measured(again.problem, again.average) - measured(solution.problem, solution.average))
    assert off.max() <= 1.05 * MOST_OFF * solution.problem.unit
    assert (tmp_path / "random.solution").stat().st_size <= again.average.nbytes + HEADER
    assert again.strategy().strategy.sum(axis=0) == pytest.approx(1)


@pytest.mark.parametrize("name", ["river", "turn"])
def test_packaged_spots_take_a_byte_an_action(name: str, tmp_path: Path) -> None:
    solution = equipoise.solve(load_spot(name), threads=1)
    solution.save(tmp_path / "x.solution")
    again = Solution.load(tmp_path / "x.solution")
    assert again.average.dtype == np.uint8
    assert (tmp_path / "x.solution").stat().st_size <= solution.engine.slots + HEADER
    for player in (0, 1):  # not only the range's EV: that of each hand
        assert np.abs(again.values(player) - solution.values(player)).max() <= MOST_OFF * solution.problem.unit


def test_small_tables_stay_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    solution = equipoise.solve(random_spot(2), target=5, threads=1)
    assert solution.average.nbytes <= small.EXACT
    solution.save(tmp_path / "x.solution")
    np.testing.assert_array_equal(Solution.load(tmp_path / "x.solution").average, solution.average)


def test_codes_that_are_too_small_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    solution = equipoise.solve(load_spot("river"), threads=1)
    engine, average = solution.engine, solution.average
    exact = measured(solution.problem, average)
    for units, taken in ((3, np.int16), (255, np.uint8)):
        monkeypatch.setitem(strategy_codes.CODES, np.uint8, (units, True))
        off = np.abs(measured(solution.problem, code_strategy(engine, average, np.uint8)) - exact).max()
        assert (off > MOST_OFF * 100) == (taken is np.int16)
        assert small_strategy(engine, average, 100).dtype == taken
    monkeypatch.setitem(strategy_codes.CODES, np.uint8, (3, True))
    monkeypatch.setitem(strategy_codes.CODES, np.int16, (3, False))
    assert small_strategy(engine, average, 100) is average


def test_locks_unreached_hands_and_pure_hands_stay_right(tmp_path: Path) -> None:
    lock = """
[[lock]]
line = "check"
strategy = { check = 0.3, "bet 33" = "AA:0.123,KK:0.7" }
"""
    spot = read_spot(
        'board = "2c 3d 7h 8s Jc"\npot = 33\nstack = 200\nranges = { oop = "QQ,99,54s,72o", ip = "AA,KK,66,A5s" }\n'
        f'betting = {{ bet = [1.0, "all-in"] }}\n{lock}'
    )
    solution = equipoise.solve(spot, target=0.1, threads=1)
    solution.save(tmp_path / "locked.solution")
    again = Solution.load(tmp_path / "locked.solution")
    view = again.strategy("check")
    mix = {view.hole_text(i): view.strategy[:, i].tolist() for i in range(len(view.holes))}
    assert mix["AdAc"] == pytest.approx([0.3, 0.123, 0.577], abs=1e-12)
    assert mix["6d6c"] == [0.3, 0, 0.7]
    assert mix["KdKc"] == pytest.approx([0.3, 0.7, 0], abs=1e-12)
    lines = ("", "check, bet 33", "bet 33", "bet 33, all-in 200", "all-in 200")
    for line in lines:
        exact, found = solution.strategy(line), again.strategy(line)
        assert np.abs(exact.strategy - found.strategy).max() < 0.006  # of every hand, whether it gets here or not
        pure = exact.strategy.max(axis=0) == 1
        np.testing.assert_array_equal(found.strategy[:, pure], exact.strategy[:, pure])


def test_a_file_of_the_version_before_is_refused_with_a_remedy(tmp_path: Path) -> None:
    from equipoise.core.files.array_file import save_arrays

    path = tmp_path / "old.solution"
    save_arrays(path, "equipoise solution 3", {"spot": ""}, {"average": np.zeros(3, np.float32)})
    with pytest.raises(InputError) as error:
        Solution.load(path)
    assert "\n" not in str(error.value)
    assert "equipoise spot solve" in str(error.value)


def test_a_resumable_file_has_the_tables_of_the_solve(tmp_path: Path) -> None:
    spot = random_spot(1)
    for resumable in (False, True):
        solution = equipoise.solve(spot, target=0, iterations=20, threads=1, resumable=resumable)
        solution.save(tmp_path / f"{resumable}.solution")
    plain, kept = (Solution.load(tmp_path / f"{resumable}.solution") for resumable in (False, True))
    assert plain.state is None
    assert kept.state is not None
    assert kept.average.dtype == np.float32
    sizes = [(tmp_path / f"{resumable}.solution").stat().st_size for resumable in (False, True)]
    assert sizes[1] >= 8 * (sizes[0] - HEADER) / np.dtype(plain.average.dtype).itemsize
