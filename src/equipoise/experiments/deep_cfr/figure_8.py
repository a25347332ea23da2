"""Deep CFR for HUNL, figure 8: a lower bound on the exploitability of a no-limit agent against iterations.

Chitsazan and others (2020) train Deep CFR on no-limit hold'em with a few bet sizes and measure by local best response
(LBR). They give a curve without numbers: it falls steeply, then slowly. Ours has bets of the pot and all-in, stacks of
200 big blinds, traversals that grow as theirs do, and no card abstraction. LBR wins at least this much; a best response
may win far more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core.progress import Say
from equipoise.experiments.curves import side_by_side
from equipoise.measure.report import write_report

NAME = "deep-cfr-figure-8"
ABOUT = "no-limit hold'em by Deep CFR: LBR, a lower bound, against iterations (2 minutes)"
GAME, MENU = "holdem.nolimit", "pot"


class Dose(NamedTuple):
    """How much is trained and measured."""

    iterations: tuple[int, ...]
    hands: int  # of LBR, at each point
    settings: dict[str, Any]


SETTINGS: dict[str, Any] = {
    "algorithm": "deep-cfr", "hidden": 32, "traversals": 500, "growth": 1.02, "steps": 50, "batch": 2048,
    "learning_rate": 0.003, "warm_start": True, "memory": 1_000_000, "average_steps": 200, "device": "cpu",
}  # fmt: skip
QUICK = Dose((1, 4, 16, 48), 800, SETTINGS)
LONG = {
    "hidden": 64,
    "traversals": 20_000,
    "steps": 1000,
    "batch": 16_384,
    "memory": 20_000_000,
    "average_steps": 10_000,
}
FULL = Dose((1, 2, 4, 8, 16, 32, 64, 128, 256), 10_000, {**SETTINGS, **LONG, "device": "auto"})


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """The curve; `full` has wider networks, more of everything, and uses a GPU if there is one."""
    return train_and_measure(out, FULL if full else QUICK, say)


def train_and_measure(out: Path, dose: Dose, say: Say) -> dict[str, Any]:
    """Train one agent, measure its checkpoints by LBR on the same seeds, and write the three files."""
    from equipoise.agents.network import NetworkAgent
    from equipoise.deep.learner import DeepCFR
    from equipoise.measure.lbr import local_best_response
    from equipoise.runs.deep_recipe import DeepRecipe
    from equipoise.tree.betting_tree import build_tree

    learner = DeepCFR(build_tree(GAME, MENU), DeepRecipe.model_validate(dose.settings))
    rows: list[dict[str, Any]] = []
    for iteration in dose.iterations:
        learner.run(iteration - learner.iteration)
        found = local_best_response(NetworkAgent(f"iteration {iteration}", learner.mixture()), hands=dose.hands)
        rows.append({"iteration": iteration, "lbr_mbb": found.lbr, "ci95_mbb": found.ci95, "hands": found.hands})
        say("iteration {iteration}: LBR wins at least {lbr_mbb:.0f} ± {ci95_mbb:.0f} mbb/hand".format(**rows[-1]))
    summary = {
        "experiment": NAME,
        "game": GAME,
        "betting": MENU,
        "settings": dose.settings,
        "first": rows[0],
        "last": rows[-1],
        "measure": "local best response, a lower bound on exploitability",
    }
    write_report(out / NAME, summary, rows, _draw)
    return summary


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The ends of the curve, mbb/hand; the paper gives no numbers."""
    first, last = (f"LBR at iteration {summary[end]['iteration']}, at least" for end in ("first", "last"))
    return side_by_side({first: summary["first"]["lbr_mbb"], last: summary["last"]["lbr_mbb"]}, {last: "lower"})


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    axes.errorbar(
        [row["iteration"] for row in rows], [row["lbr_mbb"] for row in rows], [row["ci95_mbb"] for row in rows],
        fmt="o-", capsize=3,
    )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _place: f"{value:,.6g}")
    axes.set_ylim(bottom=min(0, *(row["lbr_mbb"] - row["ci95_mbb"] for row in rows)))
    axes.set_xlabel("iterations")
    axes.set_ylabel("LBR wins at least, mbb/hand, ± 95%")
    axes.set_title("No-limit hold'em, pot-size bets, Deep CFR: a lower bound")
