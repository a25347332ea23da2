"""Figures of Deep CFR with doses that take seconds: networks learn, two averages share a training, matches are fair."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the deep tests need PyTorch: pip install 'equipoise[deep]'")

from clocks import Clock
from equipoise.deep.learner import DeepCFR
from equipoise.experiments.deep_cfr import adaptive, exploitability, figure_8, flop, heat_maps, leduc, variants
from equipoise.experiments.deep_cfr.training import average_agent, checkpoints, exploitability_mbb, leduc_learner
from equipoise.runs.deep_recipe import DeepRecipe

TINY: dict[str, Any] = {
    "hidden": 16, "traversals": 300, "steps": 30, "batch": 4096, "learning_rate": 0.005, "warm_start": True,
    "memory": 50_000, "average_steps": 100, "device": "cpu",
}  # fmt: skip
UNIFORM = 2373.6111  # mbb/g
PUBLISHED = tomllib.loads((Path(__file__).parents[1] / "data" / "published.toml").read_text())["deep_cfr"]


def quiet(line: str) -> None:
    del line


def written(out: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a report whose three files are there."""
    rows: list[dict[str, Any]] = json.loads((out / f"{name}.json").read_text())["rows"]
    assert len((out / f"{name}.csv").read_text().splitlines()) == 1 + len(rows)
    assert (out / f"{name}.png").stat().st_size > 5_000
    return rows


def test_exploitability_falls_from_uniform_play(tmp_path: Path) -> None:
    dose = exploitability.Dose(2, (0, 4, 10), {key: value for key, value in TINY.items() if key != "hidden"})
    summary = exploitability.FIGURE_2.write(tmp_path, dose, quiet)
    rows = written(tmp_path, "deep-cfr-figure-2")
    assert [(row["seed"], row["iteration"]) for row in rows] == [(s, i) for s in (1, 2) for i in (0, 4, 10)]
    first, middle, last = summary["means"]
    assert first["mean_mbb"] == pytest.approx(UNIFORM, abs=0.01) and first["ci95_mbb"] == 0
    assert middle["ci95_mbb"] > 0  # seeds differ
    assert last["mean_mbb"] < middle["mean_mbb"] < UNIFORM
    assert last["mean_mbb"] < UNIFORM / 2
    assert {"name": "after 0 iterations", "published": None, "ours": first["mean_mbb"]} in (
        exploitability.FIGURE_2.compared(summary)
    )


def test_widths_are_those_of_the_paper() -> None:
    widths = PUBLISHED["hidden_sizes_studied"]
    curves = exploitability.FIGURE_2, exploitability.FIGURE_3, exploitability.FIGURE_4
    assert [figure.hidden for figure in curves] == widths
    assert [figure.hidden for figure in (heat_maps.FIGURE_5, heat_maps.FIGURE_6, heat_maps.FIGURE_7)] == widths


def test_two_averages_of_one_training_are_those_of_two_trainings() -> None:
    both = leduc_learner(TINY, 3, ("sd-cfr", "deep-cfr"))
    both.run(4)
    for algorithm in ("sd-cfr", "deep-cfr"):
        alone = leduc_learner(TINY, 3, (algorithm,))
        alone.run(4)
        mine, theirs = (average_agent(learner, algorithm).stored for learner in (both, alone))
        np.testing.assert_array_equal(mine, theirs)
    other = average_agent(both, "sd-cfr").stored
    assert np.abs(other - average_agent(both, "deep-cfr").stored).max() > 0.01  # they are two strategies


def test_both_averages_are_measured_beside_the_published_points(tmp_path: Path) -> None:
    summary = leduc.compare_averages(tmp_path, exploitability.Dose(2, (2, 12), TINY), quiet)
    rows = written(tmp_path, leduc.NAME)
    assert {(row["curve"], row["iteration"]) for row in rows} == {(c, i) for c in leduc.PUBLISHED for i in (2, 12)}
    for means in summary["means"].values():
        assert means[-1]["mean_mbb"] < UNIFORM / 2
    assert list(leduc.PUBLISHED["SD-CFR"].values()) == PUBLISHED["leduc_single_deep_cfr"]
    assert list(leduc.PUBLISHED["Deep CFR"].values()) == PUBLISHED["leduc_deep_cfr"]
    assert {"name": "Deep CFR, iteration 5,000", "published": 80, "ours": None} in leduc.compared(summary)


def test_all_averages_on_flop_holdem_are_measured_beside_the_published_totals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(monkeypatch, "equipoise.experiments.deep_cfr.flop").charge(DeepCFR, 0.1)
    small = {"hidden": 16, "traversals": 24, "steps": 6, "batch": 512, "memory": 100_000, "average_steps": 60}
    dose = flop.Dose((0.01, 4.0), 5, {**flop.QUICK.settings, **small})
    summary = flop.compare_averages(tmp_path, dose, quiet, threads=1)
    rows = written(tmp_path, flop.NAME)
    assert [row["curve"] for row in rows] == 2 * list(flop.CURVES)
    for first, last in zip(rows[:3], rows[3:], strict=True):
        assert (first["iteration"], last["iteration"]) == (1, 40)
        assert (first["seconds"], last["seconds"]) == (pytest.approx(0.1), pytest.approx(4.0))
        assert last["exploitability_mbb"] < first["exploitability_mbb"] / 2 and last["ci95_mbb"] > 0
    totals = {row["name"]: row for row in flop.compared(summary)}
    assert totals["Deep CFR, total of both seats"]["ours"] == 2 * rows[-2]["exploitability_mbb"]
    assert {curve.lower().replace(" ", "_"): mbb for curve, mbb in flop.PUBLISHED.items()} == PUBLISHED["flop_holdem"]


def test_trained_checkpoints_win_from_untrained_ones() -> None:
    agents = dict(checkpoints(TINY, 1, (0, 12)))
    won = heat_maps.play(agents, 12, 0, 20_000)
    lost = heat_maps.play(agents, 0, 12, 20_000)
    assert won["mbb_per_hand"] > 5 * won["ci95"] and lost["mbb_per_hand"] < -5 * lost["ci95"]
    assert won["mbb_per_hand"] + lost["mbb_per_hand"] == pytest.approx(0, abs=2 * (won["ci95"] + lost["ci95"]))
    assert exploitability_mbb(agents[12]) < exploitability_mbb(agents[0])


def test_the_heat_map_counts_pairs_and_neighbours(tmp_path: Path) -> None:
    dose = exploitability.Dose(1, (0, 10, 20), {**TINY, "traversals": 50, "steps": 5})
    summary = heat_maps.FIGURE_5.write(tmp_path, dose, quiet)
    assert len(written(tmp_path, "deep-cfr-figure-5")) == 2 * 6
    widths = summary["mean_ci95_mbb"]
    assert widths["1000"] > 5 * widths["100000"]
    result = {"ci95": 1.0, "games": heat_maps.GAMES[-1]}
    rows = [
        {"x": 10, "y": 0, "mbb_per_hand": 40.0, **result}, {"x": 0, "y": 10, "mbb_per_hand": -30.0, **result},
        {"x": 100, "y": 90, "mbb_per_hand": -2.0, **result}, {"x": 90, "y": 100, "mbb_per_hand": -3.0, **result},
    ]  # fmt: skip
    assert heat_maps.share_won(rows, heat_maps.GAMES[-1]) == 0.75
    assert heat_maps.worth(rows, 0, 20) == 40.0
    assert heat_maps.worth(rows, 80, 100) == -2.0
    assert heat_maps.worth(rows, 30, 60) is None


def test_variants_are_compared_seed_by_seed(tmp_path: Path) -> None:
    tiny = {**variants.SETTINGS, "hidden": 4, "steps": 3, "batch": 32, "memory": 1000, "traversals": 8}
    many = {"holes": 2, "whole": 100, "strength": True, "thin": 0.5}
    cases = {
        "Leduc": variants.Case("leduc", tiny, {variants.BASE: {}, "many": many}),
        "flop": variants.Case("holdem.flop", tiny, {variants.BASE: {}}),
    }
    summary = variants.compare_variants(tmp_path, cases, variants.Budget(2, 0.01, 5), quiet, threads=1)
    rows = written(tmp_path, variants.NAME)
    by_cell = {(row["variant"], row["seed"]): row["exploitability_mbb"] for row in rows}
    assert len(by_cell) == 6
    base, one = summary["found"][:2]
    assert (base["less_base_mbb"], one["variant"]) == (0, "Leduc, many")
    differences = [by_cell["Leduc, many", seed] - by_cell["Leduc, external sampling", seed] for seed in (1, 2)]
    assert one["less_base_mbb"] == pytest.approx(sum(differences) / 2)
    assert one["less_base_mbb"] == pytest.approx(one["mean_mbb"] - base["mean_mbb"])


def test_schedules_have_the_same_cpu_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that only traversals move: growing ones get more iterations from the same time."""
    now = 0.0

    def learner(settings: dict[str, Any], seed: int, algorithms: tuple[str, ...]) -> Any:
        found = leduc_learner(settings, seed, algorithms)
        go = found.run

        def run(iterations: int) -> None:
            nonlocal now
            go(iterations)
            now += found.settings.traversals_of(found.iteration) / 1000

        monkeypatch.setattr(found, "run", run)
        return found

    monkeypatch.setattr("equipoise.experiments.deep_cfr.training.leduc_learner", learner)
    monkeypatch.setattr("time.process_time", lambda: now)
    schedules: dict[str, Any] = {
        "constant": {"traversals": 400},
        "growing": {"traversals": 100, "growth": 1.5, "most_traversals": 400},
    }
    summary = adaptive.compare_schedules(tmp_path, schedules, adaptive.Budget(2, (1.0, 2.0), TINY), quiet)
    rows = written(tmp_path, adaptive.NAME)
    iterations = {(row["curve"], row["cpu_seconds"]): row["iteration"] for row in rows}
    assert (iterations["constant", 1.0], iterations["constant", 2.0]) == (3, 5)
    assert (iterations["growing", 1.0], iterations["growing", 2.0]) == (5, 7)
    assert (summary["best_constant"], summary["best_adaptive"]) == ("constant", "growing")
    by_curve = {curve: means[-1]["mean_mbb"] for curve, means in summary["means"].items()}
    assert summary["adaptive_less_constant_mbb"] == pytest.approx(by_curve["growing"] - by_curve["constant"])


def test_the_default_schedule_is_the_one_that_won() -> None:
    default = DeepRecipe()
    measured = DeepRecipe.model_validate(adaptive.SCHEDULES["300 growing 2% to 10,000"])
    for iteration in (1, 2, 60, 170):
        assert default.traversals_of(iteration) == measured.traversals_of(iteration)
    assert default.traversals_of(60) > 3 * default.traversals_of(1)
    assert default.traversals_of(10**6) == default.traversals_of(1000) <= measured.traversals_of(1000)  # it ends
    constant = DeepRecipe.model_validate(adaptive.QUICK.settings)
    assert constant.traversals_of(1) == constant.traversals_of(1000)


def test_a_lower_bound_falls_with_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Leduc, where hands are quick: the no-limit game takes minutes."""
    monkeypatch.setattr(figure_8, "GAME", "leduc")
    monkeypatch.setattr(figure_8, "MENU", None)
    dose = figure_8.Dose((1, 12), 200, {**TINY, "algorithm": "deep-cfr"})
    summary = figure_8.train_and_measure(tmp_path, dose, quiet)
    first, last = written(tmp_path, figure_8.NAME)
    assert last["lbr_mbb"] + last["ci95_mbb"] < first["lbr_mbb"] - first["ci95_mbb"]
    assert (summary["first"], summary["last"]) == (first, last)
    assert not any("exploitability" in key for key in first)
