"""Tartanian7, section 3: external sampling in parts against external sampling in one piece, at equal touched nodes.

The paper says that its algorithm is unbiased and gives no curve by nodes. We train [2-4] hold'em with four clusters of
flops both ways, with the same buckets, and measure exploitability in the full game. `full` trains ten times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.build import build_map
from equipoise.abstraction.maps.card_recipe import read_card_recipe
from equipoise.agents.blueprint import profile_agent
from equipoise.core.progress import Say
from equipoise.experiments.curves import by_curve, side_by_side
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.measure.best_response import exploitability
from equipoise.measure.report import write_report
from equipoise.solvers.blades.build import blades_solver
from equipoise.solvers.external_sampling import External
from equipoise.solvers.solver import Solver
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import probabilities
from equipoise.tree.betting_tree import build_tree

NAME = "tartanian7-blades"
ABOUT = "external sampling in parts against one piece: exploitability at equal touched nodes ([2-4], 2 minutes)"
CARDS = {"flop": {"method": "emd", "buckets": 30}, "public": {"clusters": 4}}
PARTS = 2
SEEDS = (1, 2, 3)
NODES = (3e6, 1e7, 3e7, 1e8)
PIECE, IN_PARTS = "in one piece", "in parts"
Row: TypeAlias = dict[str, Any]


def run(out: Path, full: bool, say: Say) -> Row:
    """[2-4] hold'em with thirty buckets in each of four clusters of flops."""
    return compare_blades(load_game("holdem.two-four"), CARDS, [*NODES, *((3e8, 1e9) if full else ())], out, say)


def compare_blades(rules: GameRules, cards: Row, nodes: Sequence[float], out: Path, say: Say) -> Row:
    """Train both ways with all seeds, and measure at numbers of nodes."""
    buckets, tree = build_map(rules, read_card_recipe(cards, rules)), build_tree(rules)
    rows: list[Row] = []
    for seed in SEEDS:
        solvers: dict[str, Solver] = {
            PIECE: External(tree, buckets, seed=seed),
            IN_PARTS: blades_solver(tree, buckets, PARTS, seed=seed),
        }
        for (curve, solver), mark in ((pair, mark) for pair in solvers.items() for mark in nodes):
            train_to_nodes(solver, mark)
            found = measured(solver, buckets)
            at = {"curve": curve, "seed": seed, "mark": mark, "nodes": solver.nodes, "iterations": solver.iteration}
            rows.append({**at, "exploitability_mbb": found})
            say(f"{curve}, seed {seed}, {mark:.0e} nodes: {found:.1f} mbb/g")
    summary = {
        "experiment": NAME,
        "game": rules.name,
        "clusters": buckets.public.clusters if buckets.public else 0,
        "exploitability_mbb": {curve: _means(mine, nodes) for curve, mine in by_curve(rows).items()},
    }
    write_report(out / NAME, summary, rows, _draw)
    return summary


def compared(summary: Row) -> list[Row]:
    """Means over the seeds; the paper gives no numbers."""
    found = summary["exploitability_mbb"]
    ours = {f"{curve}, {mark} nodes, mbb/g": mean for curve, means in found.items() for mark, mean in means.items()}
    return side_by_side(ours, {})


def train_to_nodes(solver: Solver, nodes: float) -> None:
    """Train up to a number of nodes."""
    while solver.nodes < nodes:
        done = max(solver.iteration, 10)
        left = nodes / solver.nodes - 1 if solver.nodes else 1.0
        solver.run(max(1, int(min(1.0, left) * done)))


def measured(solver: Solver, buckets: BucketMap) -> float:
    """The exploitability of the average strategy in the full game, in mbb/g."""
    profile = Profile(solver.layout, probabilities(solver.layout, solver.average))
    return exploitability(buckets.rules, profile_agent("trained", profile, buckets)).exploitability


def _means(rows: Sequence[Row], nodes: Sequence[float]) -> dict[str, float]:
    return {
        f"{mark:.0e}": float(np.mean([row["exploitability_mbb"] for row in rows if row["mark"] == mark]))
        for mark in nodes
    }


def _draw(axes: Any, rows: list[Row]) -> None:
    for number, (curve, mine) in enumerate(by_curve(rows).items()):
        for seed in SEEDS:
            own = [row for row in mine if row["seed"] == seed]
            axes.loglog(
                [row["nodes"] for row in own], [row["exploitability_mbb"] for row in own], "o-" if number else "x--",
                color=f"C{number}", label=curve if seed == SEEDS[0] else None,
            )  # fmt: skip
    axes.set_xlabel("nodes touched")
    axes.set_ylabel("exploitability, mbb/g")
    axes.legend()
