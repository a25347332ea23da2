"""Tartanian7, table 2: what post-processing does for an agent in play.

Brown, Ganzfried and Sandholm (2015) play one strategy with four post-processors against the two strongest agents of the
2013 competition. Those agents are not available; ours play a small blueprint (recipe `nolimit-demo`) against two
others of our own: one trained with a half-pot bet besides (O1), which the first has to translate, and one with a fifth
of the buckets (O2). `always-call` plays too, but is no part of the average. All post-processors meet the same deals,
in duplicate. Purification leaves the first action of a hand as it is, as theirs does (footnote 6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.agents.agent import Agent
from equipoise.agents.named import load_player
from equipoise.core.progress import Say
from equipoise.experiments.curves import side_by_side
from equipoise.measure.report import write_report
from equipoise.play.match import match
from equipoise.play.tournament import Outcome
from equipoise.runs.folder import RunFolder
from equipoise.runs.recipe import load_recipe
from equipoise.training.train import train

NAME = "tartanian7-table-2"
ABOUT = "post-processors of a small no-limit blueprint against three other agents (20 minutes on two cores)"
GAME = "holdem.nolimit"
RECIPE = "nolimit-demo"
STREETS = ("flop", "turn", "river")
UNMEASURED = "measure={method='none'}"
RUNS: dict[str, tuple[str, ...]] = {  # what each blueprint has other than the recipe
    "hero": (UNMEASURED,),
    "half-pot": (UNMEASURED, "betting=standard", "solver.seed=2"),
    "coarse": (UNMEASURED, "solver.seed=3", *(f"cards.{street}.buckets=20" for street in STREETS)),
}
OPPONENTS = ("half-pot", "coarse")  # O1 and O2
WEAK = "always-call"
SEED = 7
SOURCES = ("", "published ")  # prefixes of columns


class Method(NamedTuple):
    """A row of the table: the paper's name, our text, and the paper's numbers against O1 and O2."""

    name: str
    post: str
    published: tuple[tuple[int, int], tuple[int, int]]  # (mbb/hand, 95%)


METHODS = (
    Method("No Threshold", "none", ((30, 32), (10, 27))),
    Method("Purification", "purify,first=keep", ((55, 27), (19, 22))),
    Method("Thresholding-0.15", "threshold:0.15", ((35, 30), (19, 25))),
    Method("New-0.2", "tartanian7:0.2", ((39, 26), (103, 21))),
)

Play = Callable[[Agent, Agent, int, int], Outcome]


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """Train what is missing, play, write the table; `full` trains fifteen times as long, plays twenty times as many."""
    minutes, hands = (30.0, 10_000_000) if full else (2.0, 500_000)
    folders = train_blueprints(out / f"{NAME}-{minutes:g}-minutes", minutes, say)
    summary, rows = table(folders, play_match, hands, say)
    summary |= {"minutes": minutes}
    write_report(out / NAME, summary, rows, _draw)
    return summary


def play_match(one: Agent, two: Agent, hands: int, seed: int) -> Outcome:
    """A duplicate match."""
    return match(one, two, hands=hands, seed=seed)


def train_blueprints(folder: Path, minutes: float, say: Say) -> dict[str, Path]:
    """Train the blueprints, continuing earlier runs; returns their folders."""
    folders = {}
    for name, overrides in RUNS.items():
        folders[name] = folder / name
        say(f"{name}: {RECIPE} {' '.join(overrides)}".rstrip())
        folders[name].mkdir(parents=True, exist_ok=True)
        train(load_recipe(RECIPE, overrides), folders[name], minutes=minutes, resume=RunFolder(folders[name]).is_run)
    return folders


def table(folders: Mapping[str, Path], play: Play, hands: int, say: Say) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Every post-processor against every opponent: the summary, and a row for each of the former."""
    opponents = {name: load_player(str(folders[name])) for name in OPPONENTS} | {WEAK: load_player(WEAK, GAME)}
    rows: list[dict[str, Any]] = []
    for method in METHODS:
        hero = load_player(f"{folders['hero']}?post={method.post}")
        row: dict[str, Any] = {"method": method.name, "post": method.post}
        for name, opponent in opponents.items():
            found = play(hero, opponent, hands, SEED)
            row |= {name: found.mbb_per_hand, f"± {name}": found.ci95}
        ours = [row[name] for name in OPPONENTS]
        theirs = [value for value, _ in method.published]
        row |= {"average": sum(ours) / len(ours), "minimum": min(ours)}
        for name, (value, width) in zip(("O1", "O2"), method.published, strict=True):
            row |= {f"published {name}": value, f"± published {name}": width}
        row |= {"published average": sum(theirs) / len(theirs), "published minimum": min(theirs)}
        rows.append(row)
        told = ", ".join(f"{name} {row[name]:+.0f} ± {row[f'± {name}']:.0f}" for name in opponents)
        say(f"{method.name}: {told}; average {row['average']:+.0f} (published {row['published average']:+.0f})")
    best = {key: max(rows, key=lambda row: row[key])["method"] for key in ("average", "minimum")}
    summary = {"experiment": NAME, "hands": hands, "seed": SEED, "best": best, "published_best": METHODS[-1].name}
    for key in ("average", "minimum"):
        summary |= {f"{source}{key}": {row["method"]: row[f"{source}{key}"] for row in rows} for source in SOURCES}
    return summary, rows


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Win rates against both opponents, in mbb/hand: their average, and the lower of the two."""
    ours, theirs = (
        {f"{name}, {key}": value for key in ("average", "minimum") for name, value in summary[f"{source}{key}"].items()}
        for source in SOURCES
    )
    return side_by_side(ours, theirs)


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    for place, (name, theirs) in enumerate(zip(OPPONENTS, ("O1", "O2"), strict=True)):
        for side, (value, label) in enumerate(((name, f"ours against {name}"), (f"published {theirs}",) * 2)):
            axes.errorbar(
                [at + 0.1 * (2 * place + side) - 0.15 for at in range(len(rows))], [row[value] for row in rows],
                yerr=[row[f"± {value}"] for row in rows], fmt="os"[side], capsize=3, color=f"C{place}", label=label,
                markerfacecolor="white" if side else f"C{place}",
            )  # fmt: skip
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xticks(range(len(rows)), [row["method"] for row in rows])
    axes.set_ylabel("win rate, mbb/hand")
    axes.set_title("Post-processing of a small no-limit blueprint, by opponent")
    axes.legend(fontsize=8)
