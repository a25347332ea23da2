"""Training with a look at exploitability: a run of `training/loop.py` that is measured, and drawn when it stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.blueprint import profile_agent
from equipoise.agents.card_blind import NamedAgent
from equipoise.agents.table import TableAgent
from equipoise.core.errors import InputError
from equipoise.core.machine import thread_count
from equipoise.core.progress import Progress
from equipoise.measure.best_response import Measurement, exploitability
from equipoise.measure.lbr import local_best_response
from equipoise.measure.report import write_report
from equipoise.runs.folder import RunFolder
from equipoise.runs.progress import Measured
from equipoise.runs.recipe import Recipe, load_recipe
from equipoise.strategy.profile import Profile
from equipoise.training import loop as runs
from equipoise.tree.betting_tree import build_tree

HANDS = 1000  # of a lower bound
PROGRESS = "progress"  # the stem of a run's picture and its numbers
PREFIXES = {"": ("average strategy", "o-"), "current_": ("current strategy", "s--")}  # of metrics; how they are drawn


def train(
    recipe: Recipe | str | Path,
    out: str | Path,
    *,
    resume: bool = False,
    minutes: float | None = None,
    iterations: int | None = None,
    threads: int | None = None,
    overrides: Sequence[str] = (),
    on_look: runs.OnLook | None = None,
    on_stage: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> runs.Run:
    """Train by a recipe (a value, a built-in name or a TOML file) into a folder; go on there with `resume`.

    `overrides` are texts such as `solver.seed=7`. `minutes` and `iterations` are totals of the run, and take the place
    of the recipe's; `threads` of 0 are all cores. `on_look` is told how far it is about every second, `on_stage` how
    far the making of buckets is, `say` what is worth reading. Ctrl-C saves the run and stops it.
    """
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe, overrides)
    elif overrides:
        raise InputError("overrides of a recipe that is read already", remedy="give them to load_recipe")
    run = runs.train(
        recipe, out, resume=resume, minutes=minutes, iterations=iterations, threads=threads, on_look=on_look,
        on_stage=on_stage, say=say, measure=measure_of(recipe, threads or 0),
    )  # fmt: skip
    draw_progress(run)
    return run


def measure_of(recipe: Recipe, threads: int) -> runs.Measure | None:
    """What measures a run of a recipe; refused where it would take longer than the run."""
    if recipe.measure.method == "none":
        return None
    if recipe.measure.method == "lbr":
        return _bound(recipe.measure.hands or HANDS, threads)
    rules, menu, used = recipe.game.rules, recipe.game.menu, thread_count(threads)
    tree = build_tree(rules, menu)
    try:
        large = Measurement(rules, NamedAgent("uniform"), tree, used).is_large
    except InputError:
        large = True
    if large and rules.rounds > 1:
        raise InputError(
            f"measure.method: an exact measurement of {rules.name} takes longer than a run can wait",
            remedy='set measure.method = "lbr", or "none" and use equipoise measure afterwards',
        )

    def measure(profile: Profile, buckets: BucketMap) -> Measured:
        agent = profile_agent("trained", profile, buckets)
        return Measured(exploitability(rules, agent, menu=menu, threads=threads).exploitability)

    return measure


def _bound(hands: int, threads: int) -> runs.Measure:
    """Local best response against a strategy; every time with the same cards, so that changes are the strategy's."""

    def measure(profile: Profile, buckets: BucketMap) -> Measured:
        agent = TableAgent("trained", profile.layout, profile.chances, buckets)
        found = local_best_response(agent, hands=hands, threads=threads)
        return Measured(lbr_mbb=found.lbr, lbr_ci95_mbb=found.ci95)

    return measure


def draw_progress(run: runs.Run) -> None:
    """Write a run's looks as CSV and JSON, and draw regret and exploitability against time."""
    rows = RunFolder(run.folder).read_metrics()
    try:
        write_report(run.folder / PROGRESS, run.as_json(), rows, _draw)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", where=str(run.folder), remedy="make room") from None


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    drawn = [row for row in rows if row["regret"] > 0]
    axes.plot([row["seconds"] for row in drawn], [row["regret"] for row in drawn], color="tab:gray")
    axes.set_xlabel("seconds of training")
    axes.set_ylabel("average positive regret", color="tab:gray")
    if drawn:
        axes.set_yscale("log")
    if any(row.get(f"{prefix}exploitability_mbb") for row in rows for prefix in PREFIXES):
        _draw_exploitability(axes.twinx(), rows)
    elif any(row.get(f"{prefix}lbr_mbb") is not None for row in rows for prefix in PREFIXES):
        _draw_bounds(axes.twinx(), rows)


def _draw_exploitability(right: Any, rows: list[dict[str, Any]]) -> None:
    for prefix, (name, style) in PREFIXES.items():
        known = [row for row in rows if row.get(f"{prefix}exploitability_mbb")]
        seconds, values = ([row[key] for row in known] for key in ("seconds", f"{prefix}exploitability_mbb"))
        right.plot(seconds, values, style, color="tab:blue", label=name if known else None)
    right.set_yscale("log")
    right.set_ylabel("exploitability, mbb/g", color="tab:blue")
    right.legend()


def _draw_bounds(right: Any, rows: list[dict[str, Any]]) -> None:
    for prefix, (name, style) in PREFIXES.items():
        known = [row for row in rows if row.get(f"{prefix}lbr_mbb") is not None]
        keys = ("seconds", f"{prefix}lbr_mbb", f"{prefix}lbr_ci95_mbb")
        seconds, values, widths = ([row[key] for row in known] for key in keys)
        right.errorbar(seconds, values, widths, fmt=style, color="tab:red", capsize=3, label=name if known else None)
    right.set_ylabel("LBR, a lower bound on exploitability, mbb/hand, ± 95%", color="tab:red")
    right.legend()
