"""Adaptive traversals against constants: exact exploitability on Leduc at equal CPU time.

Chitsazan and others (2020) begin with few traversals an iteration and increase the number, and say that this saves much
time; they give no numbers. Here every schedule trains SD-CFR with the same seeds on one thread until its CPU time is
spent. Schedules take turns, so that a busy machine slows all of them. Measuring is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core.progress import Say
from equipoise.experiments.curves import by_curve, side_by_side
from equipoise.experiments.deep_cfr.exploitability import SETTINGS, draw_means, mean_curve
from equipoise.measure.report import plain_log, write_report
from equipoise.measure.stats import interval

NAME = "deep-cfr-adaptive"
ABOUT = "Leduc: adaptive traversals against constants at equal CPU time (5 minutes)"
SCHEDULES: dict[str, dict[str, Any]] = {
    "constant 100": {"traversals": 100},
    "constant 300": {"traversals": 300},
    "constant 1,000": {"traversals": 1000},
    "constant 3,000": {"traversals": 3000},
    "constant 10,000": {"traversals": 10_000},
    "300 growing 2% to 10,000": {"traversals": 300, "growth": 1.02, "most_traversals": 10_000},
    "300 growing 5% to 10,000": {"traversals": 300, "growth": 1.05, "most_traversals": 10_000},
}


class Budget(NamedTuple):
    """How much is trained."""

    seeds: int
    seconds: tuple[float, ...]  # of CPU time, at which strategies are measured
    settings: dict[str, Any]


QUICK = Budget(5, (2.0, 4.0, 8.0), {**SETTINGS, "hidden": 32})
FULL = Budget(10, (4.0, 8.0, 16.0, 32.0, 64.0, 128.0), {**QUICK.settings, "memory": 4_000_000})


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """All schedules; `full` has twice the seeds and 16 times the CPU time."""
    return compare_schedules(out, SCHEDULES, FULL if full else QUICK, say)


def compare_schedules(
    out: Path, schedules: Mapping[str, dict[str, Any]], budget: Budget, say: Say
) -> dict[str, Any]:  # fmt: skip
    """Train all schedules, and write the three files."""
    rows: list[dict[str, Any]] = []
    for seed in range(1, budget.seeds + 1):
        for curve, schedule in schedules.items():
            found = _train({**budget.settings, **schedule}, seed, budget.seconds)
            rows += [{"curve": curve, "seed": seed, **row} for row in found]
            say("{curve}, seed {seed}: {iteration} iterations, {exploitability_mbb:.0f} mbb/g".format(**rows[-1]))
    last = {curve: _values(rows, curve, budget.seconds[-1]) for curve in schedules}
    growing = [curve for curve in schedules if schedules[curve].get("growth", 1) > 1]
    constant = [curve for curve in schedules if curve not in growing]
    best, rival = (min(curves, key=lambda curve: sum(last[curve])) for curves in (growing, constant))
    mean, half = interval([a - b for a, b in zip(last[best], last[rival], strict=True)])
    summary = {
        "experiment": NAME,
        "seeds": budget.seeds,
        "cpu_seconds": budget.seconds[-1],
        "settings": budget.settings,
        "means": {curve: mean_curve(mine, "cpu_seconds") for curve, mine in by_curve(rows).items()},
        "best_adaptive": best,
        "best_constant": rival,
        "adaptive_less_constant_mbb": mean,
        "adaptive_less_constant_ci95_mbb": half,
    }
    write_report(out / NAME, summary, rows, _draw)
    return summary


def _train(settings: dict[str, Any], seed: int, points: Sequence[float]) -> list[dict[str, Any]]:
    """A run, measured when its CPU time passes each point."""
    from equipoise.experiments.deep_cfr.training import average_agent, exploitability_mbb, leduc_learner

    learner = leduc_learner(settings, seed, ("sd-cfr",))
    spent, rows = 0.0, []
    for point in points:
        while spent < point:
            start = time.process_time()
            learner.run(1)
            spent += time.process_time() - start
        mbb = exploitability_mbb(average_agent(learner, "sd-cfr"))
        rows.append({"cpu_seconds": point, "iteration": learner.iteration, "exploitability_mbb": mbb})
    return rows


def _values(rows: Sequence[dict[str, Any]], curve: str, point: float) -> list[float]:
    """The exploitability of each seed at a point."""
    return [row["exploitability_mbb"] for row in rows if (row["curve"], row["cpu_seconds"]) == (curve, point)]


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Every schedule at the end, in mbb/g, and the best adaptive one less the best constant."""
    ours = {curve: means[-1]["mean_mbb"] for curve, means in summary["means"].items()}
    difference = "best adaptive less best constant"
    ours[difference] = summary["adaptive_less_constant_mbb"]
    return side_by_side(ours, {difference: "below zero"})


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    for number, (curve, mine) in enumerate(by_curve(rows).items()):
        means = mean_curve(mine, "cpu_seconds")
        shifted = [{**row, "cpu_seconds": row["cpu_seconds"] * 1.02 ** (number - 3)} for row in means]
        draw_means(axes, shifted, f"C{number}", curve, "cpu_seconds")
    plain_log(axes, "x")
    plain_log(axes, "y")
    axes.set_xlabel("CPU seconds of training")
    axes.set_ylabel("exploitability, mbb/g, mean of seeds ± 95%")
    axes.set_title("SD-CFR on Leduc: traversals an iteration")
    axes.legend(fontsize=7)
