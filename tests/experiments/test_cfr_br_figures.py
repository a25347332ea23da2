"""Figures 6, 8 and 11 of the CFR-BR paper on a game that takes seconds; interrupted anywhere, the same call goes on."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clocks import Clock
from equipoise import InputError, exploitability, load_recipe, match
from equipoise.agents.blueprint import blueprint
from equipoise.agents.named import load_player
from equipoise.experiments.cfr_br import figure_6 as cfr_br_figure_6
from equipoise.experiments.cfr_br import figure_8 as cfr_br_figure_8
from equipoise.experiments.cfr_br import figure_11 as cfr_br_figure_11
from equipoise.experiments.cfr_br import limit_curves
from equipoise.experiments.cfr_br.figure_6 import CFR_CURVE, contenders, figure_6, trunk_curve
from equipoise.experiments.cfr_br.figure_8 import figure_8
from equipoise.experiments.cfr_br.figure_11 import figure_11
from equipoise.experiments.cfr_br.limit_curves import Scale, kept_points, point_minutes
from equipoise.games.gamedef import write_gamedef
from equipoise.measure.flop_sample import FlopSample
from equipoise.runs.cost import cost_of, working_bytes
from equipoise.runs.folder import RunFolder
from equipoise.runs.recipe import with_solver
from equipoise.solvers.cfr_br.hybrid import HybridCFRBR
from equipoise.solvers.external_sampling import External
from equipoise.strategy.file import load_strategy
from small_games import TWO_STREETS

PUBLISHED = tomllib.loads((Path(__file__).parents[1] / "data" / "published.toml").read_text())["hulhe"]
AVERAGE, CURRENT = trunk_curve(1, "average"), trunk_curve(1, "current")


def quiet(line: str) -> None:
    del line


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Scale:
    """Two rounds and twelve cards, two buckets a round; about a second for each run."""
    game = tmp_path_factory.mktemp("game") / "small.game"
    game.write_text(write_gamedef(TWO_STREETS))
    return Scale((2,), 0.02, 2, None, 1, boards=4, trunks=(1,), hands=20_000, game=str(game))


@contextmanager
def steady_clock() -> Iterator[None]:
    """Training time by iterations, not by a machine that may be busy."""
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch, "equipoise.training.loop")
        clock.charge(HybridCFRBR, 0.01)
        clock.charge(External, 1e-4)
        yield


@pytest.fixture(scope="module")
def done(small: Scale, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Figure 6, measured exactly."""
    out = tmp_path_factory.mktemp("done")
    with steady_clock():
        return out, figure_6(out, small, quiet)


def by_curve(rows: list[dict[str, Any]], curve: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["curve"] == curve]


def test_figure_6_has_what_its_points_lose(done: tuple[Path, list[dict[str, Any]]], small: Scale) -> None:
    out, rows = done
    assert {row["curve"] for row in rows} == {CFR_CURVE, AVERAGE, CURRENT}
    for contender in contenders(small, quiet):
        points = kept_points(contender, out)
        assert len(points) == 2 * len(contender.curves)
        for point in points:
            strategy = load_strategy(point.path)
            (row,) = (r for r in by_curve(rows, point.curve) if r["iteration"] == point.iteration)
            exact = exploitability(strategy.rules, blueprint(strategy)).exploitability
            assert row["exploitability_mbb"] == pytest.approx(exact)
            assert row["ci95_mbb"] is None and strategy.strategy == point.strategy
    for curve in (CFR_CURVE, AVERAGE, CURRENT):
        first, last = by_curve(rows, curve)
        assert 0.6 <= first["seconds"] < 1.2 <= last["seconds"] < 10 and first["iteration"] < last["iteration"]
    one, other = (by_curve(rows, curve)[-1] for curve in (AVERAGE, CURRENT))
    assert one["iteration"] == other["iteration"] and one["exploitability_mbb"] != other["exploitability_mbb"]


def test_cfr_br_is_less_exploitable_and_does_not_win(done: tuple[Path, list[dict[str, Any]]], small: Scale) -> None:
    """What the figures are for: the abstraction holds far better than CFR finds, which loses to CFR in play."""
    out, rows = done
    last = by_curve(rows, CFR_CURVE)[-1]
    for curve in (AVERAGE, CURRENT):
        row = by_curve(rows, curve)[-1]
        assert row["less_reference_mbb"] == row["exploitability_mbb"] - last["exploitability_mbb"] < -20
    assert last["less_reference_mbb"] == 0
    played = figure_8(out, small, quiet)
    opponent = kept_points(contenders(small, quiet)[0], out)[-1]
    hybrid = kept_points(contenders(small, quiet)[1], out)
    assert [row["curve"] for row in played] == [point.curve for point in hybrid]
    for row, point in zip(played, hybrid, strict=True):
        players = load_player(str(point.path)), load_player(str(opponent.path))
        found = match(*players, hands=small.hands, seed=small.seed, threads=1)
        assert (row["mbb_per_hand"], row["ci95"]) == (found.mbb_per_hand, found.ci95)
        assert row["mbb_per_hand"] - row["ci95"] < 0  # nothing in the abstraction beats its equilibrium
    summary = cfr_br_figure_8.write_figure_8(out, played, small)
    assert cfr_br_figure_8.compared(summary)[0]["ours"] in [row["mbb_per_hand"] for row in played]
    assert summary["last"][AVERAGE] == played[-2] and (out / "cfr-br-figure-8.png").stat().st_size > 5_000


def test_what_is_there_is_not_done_again(
    done: tuple[Path, list[dict[str, Any]]], small: Scale, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, rows = done

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("done again")

    for name in ("train_to", "exploitability", "save_stored"):
        monkeypatch.setattr(limit_curves, name, never)
    assert figure_6(out, small, quiet) == rows
    written = cfr_br_figure_6.write_figure_6(out, rows, small)
    stored = json.loads((out / "cfr-br-figure-6.json").read_text())
    assert stored["rows"] == rows and written["ours"][AVERAGE]["last"]["iteration"] == rows[-2]["iteration"]
    lowest = min(row["exploitability_mbb"] for row in by_curve(rows, CFR_CURVE))
    assert stored["ours"][CFR_CURVE]["lowest"]["exploitability_mbb"] == lowest
    assert stored["published_mbb"]["cfr_final"] == 305
    assert len((out / "cfr-br-figure-6.csv").read_text().splitlines()) == 1 + len(rows)
    assert (out / "cfr-br-figure-6.png").stat().st_size > 5_000


def test_a_longer_figure_goes_on_from_a_shorter_one(
    done: tuple[Path, list[dict[str, Any]]], small: Scale, tmp_path: Path
) -> None:
    out, rows = done
    subprocess.run(["cp", "-a", str(out), str(tmp_path / "longer")], check=True)
    with steady_clock():
        longer = figure_6(tmp_path / "longer", replace(small, minutes=2 * small.minutes, points=3), quiet)
    for curve in (CFR_CURVE, AVERAGE, CURRENT):
        before, after = by_curve(rows, curve), by_curve(longer, curve)
        assert [row["iteration"] for row in after[:2]] == [row["iteration"] for row in before]
        assert len(after) == 3 and after[2]["seconds"] >= 2.4
    other = tmp_path / "other.game"
    other.write_text(write_gamedef(replace(TWO_STREETS, max_raises=(1, 1))))
    with pytest.raises(InputError, match="another recipe"):
        figure_6(tmp_path / "longer", replace(small, game=str(other)), quiet)


def stopping_after(lines: int) -> Callable[[str], None]:
    left = [lines]

    def tell(line: str) -> None:
        del line
        left[0] -= 1
        if left[0] < 0:
            raise ConnectionAbortedError

    return tell


def test_interrupted_anywhere_it_goes_on(small: Scale, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every line that it says; and where one of a point's two strategies has been written."""
    scale = replace(small, buckets=(2, 3), minutes=0.01, flops=8)
    saved = limit_curves.save_stored

    def fails_once(path: Path, *rest: Any) -> None:
        if path.name.startswith("current"):
            monkeypatch.setattr(limit_curves, "save_stored", saved)
            raise ConnectionAbortedError
        saved(path, *rest)

    monkeypatch.setattr(limit_curves, "save_stored", fails_once)
    reached, stops = [0], 0
    for lines in range(30):
        try:
            with steady_clock():
                rows = figure_11(tmp_path, scale, stopping_after(lines))
            break
        except ConnectionAbortedError:
            stops += 1
            checkpoints = RunFolder(tmp_path / "runs" / "cfr-br-2-buckets-trunk-1-boards-4").listed()
            reached += [int(path.stem) for path in checkpoints]
    assert stops >= 6 and reached == sorted(reached)
    for buckets in (2, 3):
        for strategy in ("average", "current"):
            mine = by_curve(rows, cfr_br_figure_11.bucket_curve(buckets, strategy))
            assert len(mine) == 2 and mine[0]["iteration"] < mine[1]["iteration"]
            assert all(row["ci95_mbb"] > 0 for row in mine)
            assert {row["published_mbb"] for row in mine} == {cfr_br_figure_11.PUBLISHED[buckets]}
    base = by_curve(rows, cfr_br_figure_11.bucket_curve(2, "average"))[-1]
    for row in rows:
        difference = row["exploitability_mbb"] - base["exploitability_mbb"]
        assert row["less_reference_mbb"] == pytest.approx(difference, abs=1e-6)
    assert cfr_br_figure_11.write_figure_11(tmp_path, rows, scale)["ours"]["3 buckets, current"]["last"]["ci95_mbb"] > 0
    assert (tmp_path / "cfr-br-figure-11.png").stat().st_size > 5_000


def test_the_pieces_need_neither_pictures_nor_a_terminal(done: tuple[Path, list[dict[str, Any]]], small: Scale) -> None:
    out, rows = done
    script = f"""
import sys
for name in ("typer", "rich", "matplotlib"):
    sys.modules[name] = None
from equipoise.experiments.cfr_br.figure_11 import figure_11
from equipoise.experiments.cfr_br.figure_8 import figure_8
from equipoise.experiments.cfr_br.figure_6 import figure_6
from equipoise.experiments.cfr_br.limit_curves import Scale
scale = {small!r}
rows = figure_6({str(out)!r}, scale, lambda line: None)
print(len(rows), len(figure_8({str(out)!r}, scale, lambda line: None)))
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert found.stdout.split() == [str(len(rows)), "4"], found.stderr


def test_what_was_published() -> None:
    published = PUBLISHED["cfr_br"]
    assert published["10_bucket_perfect_recall"] == cfr_br_figure_6.PUBLISHED
    for buckets, value in cfr_br_figure_11.PUBLISHED.items():
        assert published[f"{buckets}_bucket_perfect_recall"] == value
    six, eleven = cfr_br_figure_6.SCALED, cfr_br_figure_11.SCALED  # one run of CFR-BR serves both
    names = [limit_curves.cfr_br_contender(scale, scale.buckets[-1], 2, {}).name for scale in (six, eleven)]
    assert names[0] == names[1] and point_minutes(six.minutes, six.points) == point_minutes(
        eleven.minutes, eleven.points
    )
    sizes = {2: 96_056, 3: 476_934, 10: 57_337_080}
    for buckets, infosets in sizes.items():
        contender = limit_curves.cfr_br_contender(cfr_br_figure_11.SCALED, buckets, 2, {})
        assert cost_of(contender.recipe).infosets == infosets
    for buckets in cfr_br_figure_11.PUBLISHED:
        shipped = load_recipe(f"limit-{buckets}-bucket")
        contender = limit_curves.cfr_br_contender(cfr_br_figure_11.SCALED, buckets, 2, {})
        assert shipped.game.cards == contender.recipe.game.cards and shipped.solver.trunk == 2
    small = load_recipe("limit-small").solver
    assert {"method": small.method, "schedule": small.schedule, "seed": small.seed} == limit_curves.CFR


def test_what_an_iteration_takes_is_said_before(small: Scale, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ten = limit_curves.cfr_br_contender(cfr_br_figure_6.FULL, 10, 2, {}).recipe
    one = limit_curves.cfr_br_contender(cfr_br_figure_6.FULL, 10, 1, {}).recipe
    slots = cost_of(ten).slots
    many = with_solver(ten, {"method": "cfr-br", "trunk": 2, "boards": 16})
    assert 0.9 * 8 * slots < working_bytes(ten, 0) < 1.3 * 8 * slots  # nearly all slots are the river's
    assert working_bytes(many, 0) == 16 * working_bytes(ten, 0)
    boards = (working_bytes(one, 5) - working_bytes(one, 0)) / (working_bytes(ten, 5) - working_bytes(ten, 0))
    assert boards == pytest.approx(49, abs=1e-6)
    assert cost_of(ten, threads=9).memory_bytes - cost_of(ten).memory_bytes == 8 * (
        working_bytes(ten, 1) - working_bytes(ten, 0)
    )
    told: list[str] = []
    both = replace(small, trunks=(2, 1))
    _, long, short = contenders(both, quiet)
    enough = working_bytes(long.recipe, 1)
    assert enough < working_bytes(short.recipe, 1)  # a trunk of all rounds has nothing below it
    monkeypatch.setattr(limit_curves, "available_memory", lambda: enough)
    assert [contender.name for contender in contenders(both, told.append)] == ["cfr-2-buckets", long.name]
    assert told[-1].startswith(f"left out: {short.name}")
    told.clear()
    monkeypatch.setattr(limit_curves, "available_memory", lambda: 1)
    with pytest.raises(InputError, match="byte is free"):
        figure_6(tmp_path, small, told.append)
    assert "B of memory" in told[0] and not list(tmp_path.iterdir())


def test_looks_double() -> None:
    assert point_minutes(0.5, 1) == [0.5]
    assert point_minutes(24, 5) == [1.5, 3, 6, 12, 24]
    assert point_minutes(48, 6)[:5] == point_minutes(24, 5)
    for minutes, points in ((0, 3), (-1.0, 3), (5, 0)):
        with pytest.raises(InputError, match="points of"):
            point_minutes(minutes, points)


def test_differences_on_the_same_flops_are_more_certain_than_levels() -> None:
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(300):
        luck = rng.normal(0, 100, 20)
        flops = tuple(range(20))
        one, other = (FlopSample(flops, tuple(mean + luck + rng.normal(0, 5, 20)), 0.0) for mean in (200.0, 150.0))
        less, width = one.less(other)
        covered.append(abs(less - 50) <= width)
        assert width < one.estimate[1] / 4
    assert 0.92 <= np.mean(covered) <= 0.98
    doubtful = replace(one, doubt=3.0)
    assert doubtful.less(replace(other, doubt=1.0))[1] == pytest.approx(width + 2)
    assert doubtful.estimate[1] == pytest.approx(one.estimate[1] + 3)
    assert FlopSample.of_json(json.loads(json.dumps(doubtful.as_json()))) == doubtful
    with pytest.raises(InputError, match="other flops"):
        one.less(replace(other, flops=flops[::-1]))


def test_intervals_of_differences_cover_the_exact_ones(done: tuple[Path, list[dict[str, Any]]], small: Scale) -> None:
    """Of strategies of all curves, to the last of CFR: few draws, of which the responder's first street is chosen."""
    strategies = [load_strategy(p.path) for c in contenders(small, quiet) for p in kept_points(c, done[0])]
    exact = [exploitability(TWO_STREETS, blueprint(strategy)).exploitability for strategy in strategies]
    covered, narrower = [], []
    for seed in range(40):
        found = []
        for strategy in strategies:
            out = strategy.path.with_name(strategy.path.name + ".sampled")
            by = exploitability(TWO_STREETS, blueprint(strategy), sample_flops=20, seed=seed, threads=1, out=out)
            assert by.sample is not None and by.ci95_mbb == by.sample.estimate[1]
            assert by.exploitability == pytest.approx(by.sample.estimate[0])
            found.append(by.sample)
        for sample, value in zip(found, exact, strict=True):
            if sample is not found[1]:
                less, width = sample.less(found[1])
                covered.append(abs(less - (value - exact[1])) <= width)
                narrower.append(width / found[1].estimate[1])
    assert np.mean(covered) >= 0.9 and np.mean(narrower) < 0.8


def test_too_few_flops_are_refused(small: Scale, done: tuple[Path, list[dict[str, Any]]]) -> None:
    with pytest.raises(InputError, match="the number of flops to sample is 3"):
        figure_6(done[0], replace(small, flops=3), quiet)
