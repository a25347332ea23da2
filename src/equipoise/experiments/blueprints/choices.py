"""What each choice of a blueprint is worth: bets, buckets, schedule and pruning, one change at a time.

Every blueprint gets the same core time on one thread (time of this process: other work on the machine does not count).
No-limit blueprints are compared by local best response, a lower bound on exploitability, and one-on-one with the base;
limit ones by the exploitability on sampled flops, the same for all, and one-on-one. There are no published values.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core.progress import Say
from equipoise.experiments.curves import remembered, train_to
from equipoise.measure.agent import measure_agent
from equipoise.measure.best_response import Exploitability
from equipoise.measure.lbr import local_best_response
from equipoise.measure.report import write_report
from equipoise.play.match import match
from equipoise.runs.recipe import load_recipe

NAME = "blueprint-choices"
ABOUT = "what bets, buckets, schedule and pruning are worth at equal core time (an hour on one core)"
BASE = "base"
ROUNDS = ("flop", "turn", "river")
FIRST = 200_000  # iterations that show the pace
SEED = 11


class Base(NamedTuple):
    """A recipe, and what its variants change."""

    recipe: str
    variants: dict[str, tuple[str, ...]]


def buckets(count: int) -> tuple[str, ...]:
    """Overrides: a number of buckets on every street after the first."""
    return tuple(f"cards.{street}.buckets={count}" for street in ROUNDS)


def by_percentile(count: int) -> tuple[str, ...]:
    """Overrides: percentile buckets on every street after the first."""
    return tuple(f"cards.{street}={{method='percentile', buckets={count}, nested=false}}" for street in ROUNDS)


BETS = {"bets pot": ("betting=pot",), "bets standard": ("betting=standard",)}
CARDS_AND_SOLVER: dict[str, tuple[str, ...]] = {
    "100 buckets": buckets(100),
    "300 buckets": buckets(300),
    "1,000 percentile buckets": by_percentile(1000),
    "schedule discounted": ("solver.schedule=discounted",),
    "schedule cfr": ("solver.schedule=cfr",),
    "pruning": ("solver.prune=1e6",),
}
BASES = {
    "no-limit": Base("nolimit-strong", {**BETS, **CARDS_AND_SOLVER}),
    "limit": Base("limit-strong", CARDS_AND_SOLVER),
}


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """Train, measure and play every variant; `full` takes thirty times as long."""
    minutes, hands, lbr_hands, flops = (60.0, 4_000_000, 40_000, 40) if full else (2.0, 400_000, 4_000, 6)
    folder = out / f"{NAME}-{minutes:g}-minutes"
    rows = []
    for game, base in BASES.items():
        against = folder / game / BASE
        for name, changes in {BASE: (), **base.variants}.items():
            run_folder = folder / game / name.replace(" ", "-").replace(",", "")
            say(f"{game}, {name}: {base.recipe} {' '.join(changes)}".rstrip())
            row = {"game": game, "choice": name, **train_for(base.recipe, changes, run_folder, 60 * minutes)}
            row |= measured(run_folder, game, lbr_hands, flops)
            if name != BASE:
                row |= one_on_one(run_folder, against, hands)
            rows.append(row)
            say("; ".join(f"{key} {value:,.1f}" for key, value in row.items() if isinstance(value, float)))
    summary = {"experiment": NAME, "minutes": minutes, "hands": hands, "lbr_hands": lbr_hands, "flops": flops}
    write_report(out / NAME, summary, rows, _draw)
    return summary | {"found": rows}


def train_for(recipe: str, changes: tuple[str, ...], folder: Path, seconds: float) -> dict[str, Any]:
    """Train on one thread until this process has spent the time on it."""

    def find() -> dict[str, Any]:
        chosen, spent, iterations = load_recipe(recipe, (*changes, "measure={method='none'}")), 0.0, FIRST
        chosen.game.buckets()  # built, if necessary, off the clock
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            start = time.process_time()
            train_to(chosen, folder, None, iterations, threads=1)
            spent += time.process_time() - start
            if spent >= 0.97 * seconds:
                return {"iterations": iterations, "core_seconds": spent}
            iterations += max(FIRST, int(iterations * (seconds - spent) / spent))

    return remembered(folder.parent / f"{folder.name}.trained", find)


def measured(folder: Path, game: str, lbr_hands: int, flops: int) -> dict[str, Any]:
    """How exploitable a run is: on sampled flops in limit, at least, by local best response, in no-limit."""

    def find() -> dict[str, Any]:
        if game == "limit":
            on_flops = measure_agent(str(folder), method="exact", sample_flops=flops)
            assert isinstance(on_flops, Exploitability)
            return {"exploitability": on_flops.exploitability, "± exploitability": on_flops.ci95_mbb}
        found = local_best_response(str(folder), hands=lbr_hands)
        return {"lbr": found.lbr, "± lbr": found.ci95}

    return remembered(folder.parent / f"{folder.name}.measured", find)


def one_on_one(folder: Path, base: Path, hands: int) -> dict[str, Any]:
    """What a run wins from the base, in mbb/hand."""

    def find() -> dict[str, Any]:
        played = match(str(folder), str(base), hands=hands, seed=SEED)
        return {"wins": played.mbb_per_hand, "± wins": played.ci95}

    return remembered(folder.parent / f"{folder.name}.played", find)


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """What each variant wins from the base, in mbb/hand; nothing is published."""
    found = [row for row in summary["found"] if "wins" in row]
    return [{"name": f"{row['game']}, {row['choice']}", "published": None, "ours": row["wins"]} for row in found]


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    shown = [row for row in rows if "wins" in row]
    axes.errorbar(
        [row["wins"] for row in shown], range(len(shown)), xerr=[row["± wins"] for row in shown], fmt="o", capsize=3
    )
    axes.set_yticks(range(len(shown)), [f"{row['game']}: {row['choice']}" for row in shown])
    axes.invert_yaxis()
    axes.axvline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("one-on-one with the base, mbb/hand")
    axes.set_title("What a choice is worth at equal core time")
