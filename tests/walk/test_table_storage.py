"""16-bit tables: rounding that loses nothing in the long run, and solves that come as far as with floats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise import InputError, Solution, load_game, read_spot
from equipoise.solvers import vector_cfr
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.spots.problem import Problem
from equipoise.spots.solve import solve
from equipoise.spots.spot import load_spot
from equipoise.walk.table_storage import AVERAGE, REGRET, UNITS, decode, encode, phase

LEDUC_VALUE = -0.0856064
TURN = """
board = "Ah 9h 4c 9d"
pot = 100
stack = 150
ranges = { oop = "AhKh, QQ, 98s, 44", ip = "JJ, AcQc, T8o:0.5" }
betting = { bet = [0.5, 1.0, "all-in"] }
"""


def measured(problem: Problem, average: Any) -> tuple[float, float]:
    """Exploitability and the first player's value of an average table, in double precision."""
    exact = problem.engine(1, np.float64)
    tables = exact.tables(average.astype(np.float64))
    return exact.exploitability(tables), exact.evaluate(0, tables)


# --- rounding ------------------------------------------------------------------------------------------------------


def stored(floats: Any, threshold: float = 0.5) -> tuple[Any, float]:
    """Rows and their unit; the scale beside it must stay as it is."""
    rows, scale = np.full(floats.shape, -7, np.int16), np.full((3, 2), 9, np.float32)
    encode(floats, np.float32(threshold), rows, scale, 1, AVERAGE)
    unit = float(scale[1, AVERAGE])
    scale[1, AVERAGE] = 9
    assert (scale == 9).all()
    return rows, unit


@pytest.mark.parametrize("size", [1, 16, 37, 1081])
@pytest.mark.parametrize("largest", [1e-20, 3e-5, 1.0, 4e9])
def test_rows_come_back_within_a_unit(size: int, largest: float) -> None:
    rng = np.random.default_rng(1)
    floats = (rng.standard_normal((3, size)) * largest).astype(np.float32)
    for t in (1, 2, 3, 10, 4095, 4096):
        rows, unit = stored(floats, phase(t))
        exact = floats.astype(np.float64) / (np.abs(floats).max() / UNITS)
        assert unit == pytest.approx(np.abs(floats).max() / UNITS, rel=1e-6)
        assert abs(np.abs(rows.astype(np.int64)).max() - UNITS) <= 1
        near = np.abs(exact + phase(t) - np.rint(exact + phase(t))) < 0.01  # here float32 may decide otherwise
        np.testing.assert_array_equal(rows[~near], np.floor(exact + phase(t))[~near])
        assert np.abs(rows - exact).max() < 1.01
        back = np.empty_like(floats)
        decode(rows, np.float32(unit), back)
        np.testing.assert_allclose(back, rows * unit, rtol=1e-6)


def test_rows_of_zeros_stay_zeros() -> None:
    for floats in (np.zeros((2, 20), np.float32), np.full((2, 20), -1e-35, np.float32)):
        for t in range(1, 50):
            assert not stored(floats, phase(t))[0].any()
    floats = np.array([[1.0, 0.0, -1.0, 1e-30]], np.float32)
    assert all(stored(floats, phase(t))[0][0, 1] == 0 for t in range(1, 5000))


def test_thresholds_are_spread_evenly() -> None:
    for start in (1, 1000, 70_000):
        for count in (10, 100, 4096):
            found = np.sort([phase(t) for t in range(start, start + count)])
            assert 0 < found[0] < found[-1] < 1
            assert np.abs(found - (np.arange(count) + 0.5) / count).max() < 2 / count


def test_increments_of_a_hundredth_of_a_unit_add_up() -> None:
    """Beside an entry that sets the scale: to nearest they would be lost, each for itself."""
    for step in (0.01, -0.01, 0.3, -0.3):
        floats = np.array([[1.0, 0.2, 0.0]], np.float32)
        unit = 1.0 / UNITS
        for t in range(1, 1001):
            floats[0, 0] = 1.0
            floats[0, 1:] += np.float32(step * unit)
            rows, found = stored(floats, phase(t))
            decode(rows, np.float32(found), floats)
        moved = (floats[0, 1:] - np.array([0.2, 0.0])) / unit
        assert moved == pytest.approx([1000 * step] * 2, abs=3)


# --- solves --------------------------------------------------------------------------------------------------------


def test_leduc_is_solved_and_rounding_to_nearest_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem.of_game(load_game("leduc"))
    for variant in ("cfr+", "practical"):
        solver = VectorCFR(problem.engine(stored=np.int16), variant)
        solver.run(4**6 - 1)
        left, value = measured(problem, solver.average)
        assert left < 1e-3
        assert value == pytest.approx(LEDUC_VALUE, abs=1e-3)
        assert solver.exploitability() == pytest.approx(left, abs=1e-6)
    monkeypatch.setattr(vector_cfr, "phase", lambda _: 0.5)
    stalled = VectorCFR(problem.engine(stored=np.int16), "cfr+")
    stalled.run(4**6 - 1)
    assert measured(problem, stalled.average)[0] > 3e-3


@pytest.mark.parametrize(("name", "variant"), [("river", "practical"), ("turn", "cfr+")])
def test_spots_reach_their_target_and_the_same_values(name: str, variant: str) -> None:
    spot = load_spot(name)
    target = 0.1
    sixteen = solve(spot, target=target, variant=variant, threads=1, storage="int16")
    floats = solve(spot, target=target, variant=variant, threads=1)
    assert sixteen.average.dtype == np.int16
    left, value = measured(sixteen.problem, sixteen.average)
    assert 100 * left / spot.pot <= target * 1.001
    assert value == pytest.approx(floats.value(0), abs=2 * target / 100 * spot.pot)
    assert sixteen.iterations < 1.3 * floats.iterations


def test_tables_are_half_as_large() -> None:
    problem = Problem.of_spot(load_spot("turn"))
    floats, sixteen = VectorCFR(problem.engine()), VectorCFR(problem.engine(stored=np.int16))
    for table in ("regret", "average"):
        assert 2 * getattr(sixteen, table).nbytes == getattr(floats, table).nbytes
    assert floats.scale.nbytes == 0
    assert sixteen.scale.nbytes < 0.02 * sixteen.regret.nbytes
    spared = problem.memory_bytes(2) - problem.memory_bytes(2, stored=np.int16)
    assert spared == floats.regret.nbytes - sixteen.scale.nbytes
    assert problem.memory_bytes(2, stored=np.float32) == problem.memory_bytes(2)


def test_scales_are_where_rows_begin_and_nowhere_else() -> None:
    """After an iteration of plain CFR, units times scale are the floats' tables."""
    problem = Problem.of_spot(read_spot(TURN))
    floats, sixteen = (VectorCFR(problem.engine(stored=kind), "cfr") for kind in (np.float32, np.int16))
    for solver in (floats, sixteen):
        solver.run(1)
    engine, tree, program = sixteen.engine, problem.tree, sixteen.engine.program
    used = np.zeros(len(sixteen.scale), bool)
    for node in np.flatnonzero(program.place_of >= 0):
        row, player = int(program.arrays.table_row[program.place_of[node]]), int(tree.player[node])
        for board in np.flatnonzero(engine.cards.arrays.street == tree.street[node]) if row >= 0 else ():
            size, count = int(engine.cards.arrays.counts[board, player]), int(tree.num_children[node])
            start = int(engine.table_first[board, player]) + row * size
            place = int(engine.tables(None).scale_first[board, player]) + row
            assert not used[place]
            used[place] = True
            for table, column in (("regret", REGRET), ("average", AVERAGE)):
                exact = getattr(floats, table)[start : start + count * size]
                found = getattr(sixteen, table)[start : start + count * size] * sixteen.scale[place, column]
                np.testing.assert_allclose(found, exact, rtol=0, atol=3 * np.abs(exact).max(initial=0) / UNITS)
    assert used.sum() > 100
    assert (sixteen.scale[~used] == 1).all()


def test_a_run_in_parts_is_the_same_run() -> None:
    engine = Problem.of_spot(read_spot(TURN)).engine(stored=np.int16)
    whole, parts = VectorCFR(engine, "cfr+"), VectorCFR(engine, "cfr+")
    whole.run(20)
    parts.run(7)
    resumed = VectorCFR(engine, "cfr+", parts.iteration, parts.regret, parts.average, scale=parts.scale)
    resumed.run(13)
    for name in ("regret", "average", "scale"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(resumed, name))


def test_threads_walk_16_bit_tables() -> None:
    spot = read_spot(TURN)
    one, two = (solve(spot, target=0.2, variant="cfr+", threads=threads, storage="int16") for threads in (1, 2))
    assert max(one.exploitability(), two.exploitability()) <= 0.2
    assert one.value(0) == pytest.approx(two.value(0), abs=0.4)


def test_locks_are_kept() -> None:
    lock = '[[lock]]\nline = "check"\nstrategy = { "bet 50" = "JJ:0.25,AcQc" }\n'
    solution = solve(read_spot(TURN + lock), target=100, iterations=50, threads=1, storage="int16")
    view = solution.strategy("check")
    mix = {view.hole_text(i): view.strategy[:, i] for i in range(len(view.holes))}
    assert mix["JsJc"] == pytest.approx([0.25] * 4, abs=1e-4)
    assert mix["AcQc"] == pytest.approx([0, 1, 0, 0])
    assert mix["Tc8h"] == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3], abs=1e-4)


def test_a_solution_file_of_16_bits_opens_and_shows_the_same(tmp_path: Path) -> None:
    def stop(now: equipoise.SolveProgress) -> None:
        if now.iteration >= 20 and now.measured:
            raise KeyboardInterrupt

    spot = read_spot(TURN)
    sixteen = equipoise.solve(spot, target=0, threads=1, storage="int16", on_progress=stop)
    floats = equipoise.solve(spot, target=0, threads=1, on_progress=stop)
    assert sixteen.iterations == floats.iterations == 20
    sixteen.save(tmp_path / "sixteen.solution")
    floats.save(tmp_path / "floats.solution")
    again, small = Solution.load(tmp_path / "sixteen.solution"), sixteen.compact()
    np.testing.assert_array_equal(again.average, small.average)
    assert again.exploitability() == small.exploitability() == pytest.approx(sixteen.exploitability(), abs=1e-4 * 100)
    for line, board in (("check", ""), ("check, bet 50", ""), ("check, check", "2c")):
        shown, known = again.strategy(line, board), small.strategy(line, board)
        np.testing.assert_array_equal(shown.strategy, known.strategy)
        np.testing.assert_array_equal(shown.ev, known.ev)
        assert shown.strategy.sum(axis=0) == pytest.approx(1)
    assert again.as_json()["memory_bytes"] == sixteen.as_json()["memory_bytes"]
    assert sixteen.as_json()["memory_bytes"] < floats.as_json()["memory_bytes"]


def test_what_16_bits_cannot_do_is_refused() -> None:
    with pytest.raises(InputError, match="predictive"):
        equipoise.solve("leduc", variant="predictive", storage="int16", threads=1)
    with pytest.raises(InputError, match="float32, int16"):
        equipoise.solve("leduc", storage="int8", threads=1)
