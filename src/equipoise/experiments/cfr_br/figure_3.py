"""CFR-BR, figure 3: convergence to equilibrium in unabridged [2-4] hold'em.

Johanson and others (2012) draw exploitability against time of CFR with public chance sampling and of CFR-BR, on a
twelve-core machine; the text gives no numbers of that figure. Ours is vector CFR without sampling, with several update
rules: every information set of every deal is updated in each iteration.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from equipoise.core.machine import all_cores
from equipoise.core.progress import Say
from equipoise.experiments.curves import side_by_side
from equipoise.games.gamedef import load_game
from equipoise.measure.report import write_report
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.spots.problem import Problem

ABOUT = "[2-4] hold'em, unabstracted: exploitability against time for several CFR variants (5 minutes on two cores)"
VARIANTS = ("practical", "cfr+", "linear")
TARGET = 5.0  # mbb/g
ITERATIONS = 150


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """Solve the game with each variant, measured every ten iterations; `full` continues to 0.5 mbb/g."""
    problem = Problem.of_game(load_game("holdem.two-four"))
    engine = problem.engine(all_cores())
    say(f"{engine.infosets:,} information sets of live holes, {problem.memory_bytes(engine.threads) / 1e9:.2f} GB")
    rows: list[dict[str, Any]] = []
    for variant in VARIANTS:
        solver = VectorCFR(engine, variant)
        seconds = 0.0
        while solver.iteration < (2000 if full else ITERATIONS):
            start = time.perf_counter()
            solver.run(10)
            seconds += time.perf_counter() - start
            left = 1000 * solver.exploitability() / problem.unit
            rows.append(
                {"variant": variant, "iteration": solver.iteration, "seconds": seconds, "exploitability_mbb": left}
            )
            say(f"{variant}: iteration {solver.iteration}, {seconds:.0f} s, {left:.2f} mbb/g")
            if full and left < TARGET / 10:
                break
    best = min(rows, key=lambda row: row["exploitability_mbb"])
    summary = {
        "experiment": "cfr-br-figure-3",
        "threads": engine.threads,
        "infosets": engine.infosets,
        "memory_bytes": problem.memory_bytes(engine.threads),
        "seconds_to_5_mbb": {v: _first_below(rows, v, TARGET) for v in VARIANTS},
        "best": best,
    }
    write_report(out / "cfr-br-figure-3", summary, rows, _draw)
    return summary


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Seconds to 5 mbb/g by variant; the paper gives none."""
    return side_by_side({f"{v}, s to 5 mbb/g": s for v, s in summary["seconds_to_5_mbb"].items()}, {})


def _first_below(rows: list[dict[str, Any]], variant: str, level: float) -> float | None:
    found = [r["seconds"] for r in rows if r["variant"] == variant and r["exploitability_mbb"] < level]
    return min(found, default=None)


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    for variant in VARIANTS:
        mine = [row for row in rows if row["variant"] == variant]
        axes.loglog([r["seconds"] for r in mine], [r["exploitability_mbb"] for r in mine], marker=".", label=variant)
    axes.axhline(TARGET, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xlabel("seconds")
    axes.set_ylabel("exploitability of the average strategy, mbb/g")
    axes.set_title("[2-4] hold'em, unabstracted")
    axes.legend()
