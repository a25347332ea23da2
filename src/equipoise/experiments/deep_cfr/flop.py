"""Deep CFR against SD-CFR on flop hold'em: exact exploitability of average strategies of the same training.

Brown and others (2019) give the exploitability of Deep CFR and of NFSP, in total of both seats; we give the mean of
both seats, and compare twice that. The averages come from the same traversals and advantage networks, as on Leduc
(`leduc.py`): the networks of all iterations, an average-strategy network, and its table alone, which has the mean
strategy of every percentile bucket. Training time does not count measuring, nor the training of the average-strategy
network, which is given beside it. The quick version is a short training on a CPU, measured on sampled flops; `full` is
for a GPU and exact.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core.machine import thread_count
from equipoise.core.progress import Say
from equipoise.experiments.curves import side_by_side
from equipoise.experiments.deep_cfr.leduc import ALGORITHMS
from equipoise.measure.report import plain_log, write_report

NAME = "deep-cfr-flop"
ABOUT = "flop hold'em: Deep CFR and SD-CFR from the same traversals, exploitability against seconds (3 minutes)"
GAME = "holdem.flop"
CURVES: dict[str, tuple[str, bool]] = {  # algorithm, whether the table plays alone
    **{curve: (algorithm, False) for algorithm, curve in ALGORITHMS.items()},
    "Deep CFR, its table alone": ("deep-cfr", True),
}
PUBLISHED = {"Deep CFR": 37, "NFSP": 47}  # mbb/g, total of both seats


class Dose(NamedTuple):
    """How much is trained and measured."""

    seconds: tuple[float, ...]  # of training, at which strategies are measured
    flops: int | None  # sampled for a measure; None: all
    settings: dict[str, Any]


SETTINGS: dict[str, Any] = {
    "growth": 1, "learning_rate": 0.003, "warm_start": True, "thin": 0.5, "strength": True,
    "heads": True, "table": 255, "sampling": "public", "holes": 16,
}  # fmt: skip
SMALL = {
    "hidden": 32, "traversals": 128, "steps": 30, "batch": 1024, "memory": 2_000_000, "average_steps": 1000, "keep": 32,
    "device": "cpu",
}  # fmt: skip
LARGE = {
    "hidden": 64, "traversals": 1024, "steps": 30, "batch": 16_384, "memory": 20_000_000, "average_steps": 6000,
    "keep": 48, "device": "auto",
}  # fmt: skip
QUICK = Dose((15.0, 30.0, 60.0), 20, {**SETTINGS, **SMALL})
FULL = Dose((100.0, 300.0), None, {**SETTINGS, **LARGE})


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """All curves; `full` trains wider networks for five minutes and uses a GPU if there is one."""
    return compare_averages(out, FULL if full else QUICK, say)


def compare_averages(out: Path, dose: Dose, say: Say, threads: int = 0) -> dict[str, Any]:
    """Train once, measure all averages, and write the three files."""
    rows = trained(dose, say, thread_count(threads))
    summary = {
        "experiment": NAME,
        "game": GAME,
        "settings": dose.settings,
        "flops": dose.flops or "all",
        "unit": "mbb/g, mean of both seats; published: total of both seats",
        "last": {curve: [row for row in rows if row["curve"] == curve][-1] for curve in CURVES},
        "published_total_mbb": PUBLISHED,
    }
    write_report(out / NAME, summary, rows, _draw)
    return summary


def trained(dose: Dose, say: Say, threads: int) -> list[dict[str, Any]]:
    """One training: all averages after some seconds."""
    from equipoise.agents.network import NetworkAgent
    from equipoise.deep.learner import DeepCFR
    from equipoise.measure.best_response import exploitability
    from equipoise.runs.deep_recipe import DeepRecipe
    from equipoise.tree.betting_tree import build_tree

    recipe = DeepRecipe.model_validate(dose.settings)
    learner = DeepCFR(build_tree(GAME), recipe, threads=threads, algorithms=tuple(ALGORITHMS))
    spent, rows = 0.0, []
    for point in dose.seconds:
        while spent < point:
            start = time.perf_counter()
            learner.run(1)
            spent += time.perf_counter() - start
        for curve, (algorithm, table_alone) in CURVES.items():
            start = time.perf_counter()
            agent = NetworkAgent(f"{curve} {learner.iteration}", learner.mixture(algorithm, table_alone=table_alone))
            average = time.perf_counter() - start
            found = exploitability(GAME, agent, sample_flops=dose.flops, threads=threads)
            rows.append({
                "curve": curve, "seconds": spent, "iteration": learner.iteration, "average_seconds": average,
                "exploitability_mbb": found.exploitability, "ci95_mbb": found.ci95_mbb,
            })  # fmt: skip
            say(f"{spent:.0f} s, {learner.iteration} iterations: {curve} {found.exploitability:.1f} mbb/g")
    return rows


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Totals of both seats at the end."""
    last = summary["last"]
    ours = {curve: 2 * last[curve]["exploitability_mbb"] for curve in last}
    return side_by_side(
        {_total(curve): mbb for curve, mbb in (dict.fromkeys(PUBLISHED) | ours).items()},
        {_total(curve): mbb for curve, mbb in PUBLISHED.items()},
    )


def _total(curve: str) -> str:
    return f"{curve}, total of both seats"


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    for number, curve in enumerate(CURVES):
        mine = [row for row in rows if row["curve"] == curve]
        values = [row["exploitability_mbb"] for row in mine]
        axes.plot([row["seconds"] for row in mine], values, "o-", color=f"C{number}", label=f"{curve}, ours")
    for curve, style in zip(PUBLISHED, ("--", ":"), strict=True):
        axes.axhline(PUBLISHED[curve] / 2, color="grey", linestyle=style, label=f"{curve}, published (half the total)")
    plain_log(axes, "y")
    axes.set_xlabel("seconds of training")
    sampled = any(row["ci95_mbb"] for row in rows)  # the same flops for all: intervals would say nothing of differences
    axes.set_ylabel("exploitability, mbb/g, mean of both seats" + sampled * "\n(on sampled flops, the same for all)")
    axes.set_title("Flop hold'em: average strategies of the same training")
    axes.legend(fontsize=8)
