"""Tartanian7, figure 1: win rate against training time, a hierarchical abstraction on blades against one machine.

Brown, Ganzfried and Sandholm (2015) train 60 blades (6.6e10 information sets), and a server with the prior approach
(imperfect recall, 1.1e10, what its memory holds), and play both against the two strongest agents of 2013. We keep the
shape at our size: the same bets; the recipe `nolimit-blades` on a local cluster with a part for each core, against
imperfect recall with a sixth of its buckets, external sampling on as many threads. Both have the same seconds on the
same cores. The opponents are two blueprints of our own (`table_2.py`). The paper gives curves without numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equipoise.agents.named import load_player
from equipoise.core.machine import thread_count
from equipoise.core.progress import Say
from equipoise.experiments.curves import halvings, side_by_side
from equipoise.experiments.tartanian7.table_2 import OPPONENTS, train_blueprints
from equipoise.measure.report import write_report
from equipoise.play.match import match
from equipoise.runs.folder import RunFolder
from equipoise.runs.recipe import Recipe, load_recipe
from equipoise.training.train import train

NAME = "tartanian7-figure-1"
ABOUT = "win rate against training time: blades against imperfect recall on one machine (30 minutes on two cores)"
RECIPE = "nolimit-blades"
SIXTH = 67  # buckets a round: 8 clusters of 50, over six
BLADES, SERVER = "hierarchical, blades", "imperfect recall, one machine"
POINTS = 4
SEED = 11


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """Train both in stretches, and play after each; `full` trains and plays twenty times as long."""
    minutes, opponent_minutes, hands = (80.0, 30.0, 5_000_000) if full else (4.0, 2.0, 400_000)
    opponents = train_blueprints(out / f"tartanian7-table-2-{opponent_minutes:g}-minutes", opponent_minutes, say)
    folder, rows = out / f"{NAME}-{minutes:g}-minutes", []
    for share in halvings(POINTS):
        for name, recipe in recipes().items():
            where = folder / name.split(",")[0].replace(" ", "-")
            seconds = _train(name, recipe, where, share * minutes)
            row: dict[str, Any] = {"curve": name, "seconds": seconds}
            for opponent in OPPONENTS:
                found = match(load_player(str(where)), load_player(str(opponents[opponent])), hands=hands, seed=SEED)
                row |= {opponent: found.mbb_per_hand, f"± {opponent}": found.ci95}
            rows.append(row)
            told = ", ".join(f"{each} {row[each]:+.0f} ± {row[f'± {each}']:.0f}" for each in OPPONENTS)
            say(f"{name}, {seconds:.0f} s: {told} mbb/hand")
    summary = {"experiment": NAME, "minutes": minutes, "hands": hands, "seed": SEED, "cores": thread_count(0)}
    summary |= {"last": {row["curve"]: {each: row[each] for each in OPPONENTS} for row in rows[-2:]}}
    write_report(out / NAME, summary, rows, _draw)
    return summary


def recipes() -> dict[str, Recipe]:
    """The two trainings."""
    cards = "cards={preflop='lossless', "
    for street, method in (("flop", "emd"), ("turn", "emd"), ("river", "ochs")):
        cards += f"{street}={{method='{method}', buckets={SIXTH}}}, "
    return {BLADES: load_recipe(RECIPE), SERVER: load_recipe(RECIPE, [cards.rstrip(", ") + "}"])}


def _train(name: str, recipe: Recipe, folder: Path, minutes: float) -> float:
    """Train up to some minutes, on all cores; returns the seconds of training."""
    resume = RunFolder(folder).is_run
    folder.mkdir(parents=True, exist_ok=True)
    if name == BLADES:
        run = train(recipe, folder, resume=resume, minutes=minutes, cluster="local", parts=_parts(recipe), threads=1)
    else:
        run = train(recipe, folder, resume=resume, minutes=minutes)
    if run.stopped == "interrupted":
        raise KeyboardInterrupt
    return run.progress.seconds


def _parts(recipe: Recipe) -> int:
    clusters = recipe.game.cards.public
    return min(thread_count(0), clusters.clusters if clusters else 1)


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Win rates after the whole training, in mbb/hand."""
    last = summary["last"]
    return side_by_side({f"{curve}, against {name}": last[curve][name] for curve in last for name in OPPONENTS}, {})


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    for number, curve in enumerate((BLADES, SERVER)):
        mine = [row for row in rows if row["curve"] == curve]
        for opponent, style in zip(OPPONENTS, ("o-", "s--"), strict=True):
            axes.errorbar(
                [row["seconds"] for row in mine], [row[opponent] for row in mine],
                [row[f"± {opponent}"] for row in mine], fmt=style, capsize=3, color=f"C{number}",
                label=f"{curve}, against {opponent}",
            )  # fmt: skip
    axes.set_xscale("log")
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("seconds of training, all cores")
    axes.set_ylabel("win rate, mbb/hand")
    axes.set_title("Blades against one machine, at equal core time")
    axes.legend(fontsize=7)
