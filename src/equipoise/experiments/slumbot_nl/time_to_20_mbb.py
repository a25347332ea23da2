"""Time and nodes to 20 mbb/g on small lossless games: external sampling, public chance sampling and vector CFR+.

Not from a paper: the three solvers as `equipoise train` and `equipoise spot solve` run them, one thread each, so that
their curves can be compared. A node is what a solver visits in one step: one hand of each player at a betting node for
external sampling, but all hands of a board for the other two, so they need far fewer.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from equipoise.core.progress import Say
from equipoise.experiments.curves import side_by_side
from equipoise.games.gamedef import load_game
from equipoise.measure.report import write_report
from equipoise.runs.folder import RunFolder
from equipoise.runs.recipe import read_recipe
from equipoise.spots.problem import Problem
from equipoise.spots.solve import solve
from equipoise.training.train import train

ABOUT = "exploitability against seconds and nodes of three solvers, to 20 mbb/g and below, lossless (1 minute)"
TARGET = 20.0  # mbb/g
BELOW = 0.5  # runs stop at this share of the target, or after MINUTES
MINUTES = 0.25
ITERATIONS = 2000  # of vector CFR+, at most
SMALL = """# Flop hold'em with twelve cards: four ranks in three suits, one bet a round.
GAMEDEF
limit
numPlayers = 2
numRounds = 2
blind = 10 5
raiseSize = 10 20
firstPlayer = 2 1
maxRaises = 1 1
numSuits = 3
numRanks = 4
numHoleCards = 2
numBoardCards = 0 3
END GAMEDEF
"""
SOLVERS: dict[str, dict[str, Any]] = {
    "external sampling": {"method": "external", "schedule": "linear", "period": 10_000},
    "public chance sampling": {"method": "pcs", "schedule": "cfr+", "boards": 1},
}
VECTOR = "vector CFR+"


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """Leduc and a hold'em of twelve cards; `full` gives each run ten times as long."""
    with TemporaryDirectory() as folder:
        small = Path(folder) / "twelve-card.game"
        small.write_text(SMALL)
        games = {"leduc": "leduc", "flop hold'em, 12 cards": str(small)}
        return compare_solvers(games, MINUTES * (10 if full else 1), TARGET * BELOW, out, say)


def compare_solvers(games: dict[str, str], minutes: float, until: float, out: Path, say: Say) -> dict[str, Any]:
    """Run every solver on every game."""
    rows: list[dict[str, Any]] = []
    for name, game in games.items():
        for solver, settings in SOLVERS.items():
            rows += [{"game": name, "solver": solver, **row} for row in train_rows(game, settings, minutes, until)]
            say(f"{name}, {solver}: {_reached(rows, name, solver)}")
        rows += [{"game": name, "solver": VECTOR, **row} for row in solve_game_rows(game, until)]
        say(f"{name}, {VECTOR}: {_reached(rows, name, VECTOR)}")
    summary = {
        "experiment": "time-to-20-mbb",
        "target_mbb": TARGET,
        "reached": {name: {solver: _reached(rows, name, solver) for solver in (*SOLVERS, VECTOR)} for name in games},
    }
    write_report(out / "time-to-20-mbb", summary, rows, _draw)
    return summary


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Seconds to 20 mbb/g by game and solver; not from a paper."""
    reached = {f"{game}, {name}, s": at for game, found in summary["reached"].items() for name, at in found.items()}
    return side_by_side({name: at and at["seconds"] for name, at in reached.items()}, {})


def train_rows(game: str, settings: dict[str, Any], minutes: float, until: float) -> list[dict[str, Any]]:
    """A run of `train`, measured often."""
    table = {
        "game": game,
        "solver": {**settings, "seed": 1},
        "stop": {"minutes": minutes, "exploitability": until},
        "measure": {"method": "exact", "every": minutes / 100},
        "checkpoint": {"minutes": minutes / 50, "keep": 1},  # slices of a run are shorter than the time between two
    }
    with TemporaryDirectory() as folder:
        done = train(read_recipe(table, name="time-to-20-mbb"), Path(folder) / "run", threads=1)
        rows = RunFolder(done.folder).read_metrics()
    keys = ("iteration", "seconds", "nodes", "exploitability_mbb")
    return [{key: row[key] for key in keys} for row in rows if row.get("exploitability_mbb")]


def solve_game_rows(game: str, until: float) -> list[dict[str, Any]]:
    """A run of `solve`."""
    problem = Problem.of_game(load_game(game))
    tree, street = problem.tree, problem.cards.arrays.street
    nodes = int(np.diff(tree.street_first)[street].sum())  # of all boards, each with all holes
    rows: list[dict[str, Any]] = []

    solution = solve(problem, target=until / 10, iterations=ITERATIONS, variant="cfr+", threads=1)
    for iteration, seconds, percent in solution.history:
        row = {"iteration": iteration, "seconds": seconds, "nodes": 2 * iteration * nodes}
        rows.append({**row, "exploitability_mbb": 10 * percent})
    return rows


def _reached(rows: list[dict[str, Any]], game: str, solver: str) -> dict[str, float] | None:
    """Seconds, nodes and iterations of the first measurement at or below the target."""
    for row in rows:
        if (row["game"], row["solver"]) == (game, solver) and row["exploitability_mbb"] <= TARGET:
            return {key: row[key] for key in ("seconds", "nodes", "iteration", "exploitability_mbb")}
    return None


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    figure = axes.figure
    figure.set_size_inches(11, 4.5)
    axes.remove()
    panes = figure.subplots(1, 2, sharey=True)
    games = sorted({row["game"] for row in rows})
    for pane, key in zip(panes, ("seconds", "nodes"), strict=True):
        for game, style in zip(games, ("o-", "x--"), strict=False):
            for solver, colour in zip((*SOLVERS, VECTOR), ("tab:blue", "tab:orange", "tab:green"), strict=True):
                mine = [row for row in rows if (row["game"], row["solver"]) == (game, solver)]
                values = [row["exploitability_mbb"] for row in mine]
                pane.loglog(
                    [r[key] for r in mine], values, style, color=colour, markersize=3, label=f"{solver}, {game}"
                )
        pane.axhline(TARGET, color="grey", linewidth=0.8, linestyle=":")
        pane.set_xlabel(f"{key} of training" if key == "seconds" else "nodes touched")
    panes[0].set_ylabel("exploitability, mbb/g")
    panes[1].legend(fontsize=7)
