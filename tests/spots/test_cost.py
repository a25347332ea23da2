"""What a solve takes is said before it starts, and the time left settles."""

from __future__ import annotations

import dataclasses
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import equipoise
from equipoise import InputError, SolveCost, SolveProgress
from equipoise.cli.commands.registry import app
from equipoise.spots import cost
from equipoise.spots.cost import seconds_a_slot, usual_iterations
from equipoise.spots.progress import EndEstimate
from equipoise.spots.spot import load_spot

# Measurements of `spot solve` (practical): iteration and exploitability, to the target that the spot has
TURN = [(10, 15.6), (20, 11.0), (30, 3.29), (40, 1.72), (50, 1.16), (60, 0.841), (70, 0.979), (80, 0.504), (90, 2.22),
        (100, 1.08), (110, 0.641), (121, 0.421), (133, 0.299), (146, 0.231), (160, 0.186), (176, 0.158), (193, 0.136),
        (212, 0.116), (233, 0.0993)]  # fmt: skip
FLOP = [(10, 23.5), (20, 8.54), (30, 2.49), (40, 1.24), (50, 0.803), (60, 0.593), (70, 0.558), (80, 0.376)]


@pytest.mark.parametrize(("rows", "target"), [(TURN, 0.1), (FLOP, 0.5)])
def test_the_estimated_end_settles(rows: list[tuple[int, float]], target: float) -> None:
    end, history, told = EndEstimate(target, 10_000, usual_iterations(target)), list[Any](), list[float]()
    for iteration, percent in rows:
        history.append((iteration, iteration / 10, percent))
        end.measured(history)
        told.append(end.iteration)
    last = rows[-1][0]
    assert all(last / 3 < each < 3 * last for each in told)
    assert all(0.6 * last < each < 1.7 * last for each in told[len(told) // 2 :])
    assert all(0.7 < b / a < 1.4 for a, b in pairwise(told))  # a little, whatever is measured


def test_a_solve_that_gets_nowhere_does_not_take_for_ever() -> None:
    """A flat stretch once made ten iterations look like 26 hours."""
    end, history = EndEstimate(0.1, 10_000, usual_iterations(0.1)), list[Any]()
    for number in range(1, 11):
        history.append((10 * number, number, 5.0 - 1e-6 * number))
        end.measured(history)
        assert end.iteration <= 10_000
    assert end.seconds_left(100, 100, 10.0) == pytest.approx(0.1 * (end.iteration - 100))
    limited = EndEstimate(0.1, 200, usual_iterations(0.1))
    limited.measured(history)
    assert limited.iteration == pytest.approx(200)  # the last iteration comes first
    untargeted = EndEstimate(0.0, 500, usual_iterations(0.0))
    untargeted.measured(history)
    assert untargeted.seconds_left(100, 100, 10.0) == pytest.approx(40.0)  # exactly: all iterations
    assert untargeted.seconds_left(2, 2, 10.0) is None


def test_the_cost_is_that_of_the_solve_and_of_its_file(tmp_path: Path) -> None:
    spot = load_spot("turn")
    known = equipoise.solve_cost(spot, threads=1)
    seen: list[SolveProgress] = []
    solution = equipoise.solve(spot, target=2, threads=1, on_progress=seen.append)
    first = seen[0]
    assert (first.iteration, first.percent, first.seconds_left) == (0, None, None)
    assert dataclasses.replace(first.cost, seconds=known.seconds, iterations=known.iterations) == known
    assert [row.percent for row in seen if row.measured] == [row[2] for row in solution.history]
    assert (known.nodes, known.boards) == (len(solution.problem.tree), len(solution.problem.cards.cards))
    assert known.infosets == solution.engine.infosets
    assert known.memory_bytes == solution.as_json()["memory_bytes"]
    for resumable in (False, True):
        said = equipoise.solve_cost(spot, threads=1, resumable=resumable).file_bytes
        again = solution if not resumable else equipoise.solve(spot, iterations=2, threads=1, resumable=True)
        again.save(tmp_path / "x.solution")
        assert said <= (tmp_path / "x.solution").stat().st_size < said + 20_000
    halved = equipoise.solve_cost(spot, threads=1, storage="int16")
    assert halved.memory_bytes == known.int16_memory_bytes < 0.6 * known.memory_bytes
    assert known.seconds is not None
    with pytest.raises(InputError, match="storage"):
        equipoise.solve_cost(spot, storage="int8")


def test_the_time_is_slots_times_iterations_times_what_a_slot_takes() -> None:
    ticks = iter([100.0, 103.0])
    measured = seconds_a_slot.__wrapped__("practical", "float32", 1, lambda: next(ticks))
    assert measured == pytest.approx(3.0 / 10 / 1_619_160)
    one, two = (equipoise.solve_cost(load_spot("turn"), target=target, threads=1) for target in (0.5, 0.1))
    assert (one.iterations, two.iterations) == (80, usual_iterations(0.1))
    assert one.seconds is not None
    assert two.seconds == pytest.approx(one.seconds * two.iterations / one.iterations)
    assert equipoise.solve_cost(load_spot("turn"), iterations=7, threads=1).iterations == 7


def heavy(found: SolveCost) -> SolveCost:
    return dataclasses.replace(found, memory_bytes=6_620_000_000, file_bytes=830_000_000, seconds=4000.0)


def test_a_heavy_solve_says_so_before_it_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spot = tmp_path / "small.toml"
    spot.write_text(
        'board = "Qs Jh 2h 8d 5c"\npot = 10\nstack = 20\n[ranges]\noop = "QQ,AK"\nip = "JJ,AQ"\n[betting]\nbet = [1.0]'
    )
    saved = str(tmp_path / "small.solution")
    words = ["spot", "solve", str(spot), "--threads", "1", "--out", saved, "--force"]
    light = CliRunner().invoke(app, words)
    assert "heavy" not in light.stderr
    assert "of memory, a file of" in light.stderr
    real = equipoise.spots.solve.cost_of_solve  # type: ignore[attr-defined]
    monkeypatch.setattr("equipoise.spots.solve.cost_of_solve", lambda *args, **options: heavy(real(*args, **options)))
    for more in ([], ["--json"]):
        said = CliRunner().invoke(app, [*words, *more])
        assert said.exit_code == 0
        assert said.stderr.count("heavy") == 1
        assert "--storage int16 needs" in said.stderr
    with pytest.warns(UserWarning, match=r"6.62 GB of memory and a file of 830 MB, about 67 minutes; storage int16"):
        equipoise.solve(spot, threads=1)


def test_a_dry_run_tells_and_does_not_solve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(equipoise.Solution, "save", None)
    said = CliRunner().invoke(app, ["spot", "solve", "turn", "--dry-run", "--threads", "1"])
    assert said.exit_code == 0
    for word in ("174 betting nodes on 49 boards", "619,030 information sets", "memory", "int16", "file", "about"):
        assert word in said.stdout
    found = json.loads(
        CliRunner().invoke(app, ["spot", "solve", "turn", "--dry-run", "--threads", "1", "--json"]).stdout
    )
    assert found["memory_bytes"] > found["int16_memory_bytes"] > found["file_bytes"] > 0
    assert found["iterations"] == usual_iterations(0.1)
    assert not list(tmp_path.iterdir())


def test_estimates_in_words() -> None:
    plain = SolveCost(1, 1, 1, 10**6, 10**6, "float32", 10**6, 10, None)
    assert (plain.time_text, plain.heavy) == ("", False)
    texts = {1.0: "a second", 42.0: "42 seconds", 600.0: "10 minutes", 36000.0: "10.0 hours"}
    for seconds, words in texts.items():
        timed = dataclasses.replace(plain, seconds=seconds)
        assert timed.time_text == f", about {words}"
        assert timed.heavy == (seconds > 60)
    assert dataclasses.replace(plain, memory_bytes=cost.HEAVY_BYTES + 1).heavy
