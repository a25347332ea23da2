"""Deep CFR against SD-CFR on Leduc: exact exploitability of two average strategies of the same training.

Steinberger (2019) compares them; the published points were digitised by others from his figure. Both averages come from
the same traversals and advantage networks here: an average-strategy network learns the strategy memories (Deep CFR), or
the networks of all iterations play (SD-CFR). We give the mean of both seats. The quick version stops before the first
published point.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from equipoise.core.machine import thread_count
from equipoise.core.progress import Say
from equipoise.core.workers import workers
from equipoise.experiments.curves import side_by_side
from equipoise.experiments.deep_cfr.exploitability import SETTINGS, Dose, draw_means, mean_curve
from equipoise.measure.report import plain_log, write_report

NAME = "deep-cfr-leduc"
ABOUT = "Leduc: Deep CFR and SD-CFR from the same traversals, exploitability against iterations (2 minutes)"
ALGORITHMS = {"sd-cfr": "SD-CFR", "deep-cfr": "Deep CFR"}
PUBLISHED = {"SD-CFR": {500: 96, 2000: 69, 5000: 59}, "Deep CFR": {500: 116, 2000: 93, 5000: 80}}
QUICK = Dose(3, (5, 10, 20, 30, 40, 60), {**SETTINGS, "hidden": 64})
LONG = {
    "traversals": 200, "holes": 4, "whole": 100, "steps": 100, "batch": 32_768, "learning_rate": 0.002,
    "memory": 5_000_000, "average_steps": 3000, "keep": 512,
}  # fmt: skip
FULL = Dose(3, (20, 50, 100, 200, 500, 1000, 2000, 5000), {**QUICK.settings, **LONG})


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """Both curves; `full` goes to 5,000 iterations, with at most 512 networks of SD-CFR."""
    return compare_averages(out, FULL if full else QUICK, say)


def compare_averages(out: Path, dose: Dose, say: Say) -> dict[str, Any]:
    """Train, a process for each seed, measure both averages, and write the three files."""
    rows: list[dict[str, Any]] = []
    with workers(partial(train_seed, dose), min(thread_count(0), dose.seeds)) as submit:
        for done in [submit(seed) for seed in range(1, dose.seeds + 1)]:
            rows += done.result()
            one, two = rows[-2:]
            say("seed {seed}, iteration {iteration}: SD-CFR {exploitability_mbb:.0f} mbb/g,".format(**one)
                + " Deep CFR {exploitability_mbb:.0f}".format(**two))  # fmt: skip
    summary = {
        "experiment": NAME,
        "seeds": dose.seeds,
        "settings": dose.settings,
        "unit": "milli-antes per game (mbb/g: the big blind is the ante)",
        "means": {curve: mean_curve([row for row in rows if row["curve"] == curve]) for curve in PUBLISHED},
        "published_mbb": {
            curve: {str(iteration): mbb for iteration, mbb in points.items()} for curve, points in PUBLISHED.items()
        },
    }
    write_report(out / NAME, summary, rows, _draw)
    return summary


def train_seed(dose: Dose, seed: int) -> list[dict[str, Any]]:
    """One training: both averages at some iterations."""
    from equipoise.experiments.deep_cfr.training import average_agent, exploitability_mbb, leduc_learner

    rows: list[dict[str, Any]] = []
    learner = leduc_learner(dose.settings, seed, tuple(ALGORITHMS))
    for iteration in dose.iterations:
        learner.run(iteration - learner.iteration)
        for algorithm, curve in ALGORITHMS.items():
            mbb = exploitability_mbb(average_agent(learner, algorithm))
            rows.append({"curve": curve, "seed": seed, "iteration": iteration, "exploitability_mbb": mbb})
    return rows


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Every point of both curves, and the published points that we did not reach."""
    ours: dict[str, float | None] = {}
    published: dict[str, float | str] = {}
    for curve, points in PUBLISHED.items():
        ours |= {_point(curve, row["iteration"]): row["mean_mbb"] for row in summary["means"][curve]}
        published |= {_point(curve, iteration): mbb for iteration, mbb in points.items()}
    return side_by_side(dict.fromkeys(published) | ours, published)


def _point(curve: str, iteration: int) -> str:
    return f"{curve}, iteration {iteration:,}"


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    for number, (curve, points) in enumerate(PUBLISHED.items()):
        means = mean_curve([row for row in rows if row["curve"] == curve])
        draw_means(axes, means, f"C{number}", f"{curve}, ours, ± 95%")
        axes.plot(list(points), list(points.values()), "s--", color=f"C{number}", markerfacecolor="white",
                  label=f"{curve}, published")  # fmt: skip
    plain_log(axes, "x")
    plain_log(axes, "y")
    axes.set_xlabel("iterations")
    axes.set_ylabel("exploitability, milli-antes per game (mbb/g)")
    axes.set_title("Leduc: two averages of the same training")
    axes.legend(fontsize=8)
