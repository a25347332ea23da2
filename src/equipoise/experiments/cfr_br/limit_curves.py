"""What figures 6, 8 and 11 of the CFR-BR paper share: training runs in limit hold'em and their curves.

A run is trained in OUT/runs/NAME. Each time its training time has doubled, its strategies are saved in
OUT/points/NAME/ITERATION: these are the points of a curve, measured and played later. Every result is stored at once,
so the same call continues after a kill.

A best response over all 1,755 flops takes five to seven core-hours per strategy. A smaller figure samples flops, the
same for all its points, so differences between points are much more certain than levels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from equipoise.agents.blueprint import blueprint
from equipoise.core.errors import InputError
from equipoise.core.machine import available_memory, thread_count
from equipoise.core.progress import Say
from equipoise.core.wording import size_text
from equipoise.experiments.curves import by_curve, draw_intervals, halvings, remembered, train_to
from equipoise.games.bet_menu import street_names
from equipoise.games.gamedef import load_game
from equipoise.games.rules import PLAYERS
from equipoise.measure.best_response import exploitability
from equipoise.measure.flop_sample import FlopSample
from equipoise.measure.report import plain_log
from equipoise.runs.cost import cost_of, working_bytes
from equipoise.runs.folder import RunFolder
from equipoise.runs.recipe import Recipe, read_recipe
from equipoise.runs.strategy import run_strategy
from equipoise.solvers.solver import AVERAGE, StrategyName
from equipoise.strategy.file import load_strategy, read_about, save_stored

FEATURE = "ehs2"  # of the percentiles
CFR = {"method": "external", "schedule": "linear", "seed": 1}  # as in the recipe limit-small


@dataclass(frozen=True)
class Scale:
    """The size of a figure. All runs and points share one game and one sample of flops."""

    buckets: tuple[int, ...]  # per round, one abstraction each
    minutes: float  # training time of each run
    points: int = 5  # of each run; the first is at minutes / 2^(points - 1)
    flops: int | None = 16  # number to sample; None: all, an exact measurement
    threads: int = 0  # 0: all cores
    boards: int = 1  # subgames per iteration of CFR-BR; a thread takes one seat of one subgame
    trunks: tuple[int, ...] = (2,)
    cfr_points: int = 0  # of the CFR run; 0: the same number
    hands: int = 4_000_000  # per match
    seed: int = 1  # of the flop sample and of the deals in matches
    game: str = "holdem.limit"


@dataclass(frozen=True, eq=False)
class Contender:
    """A run: its name, its recipe, its number of points, and the names of its curves by strategy."""

    name: str
    recipe: Recipe
    points: int
    curves: dict[StrategyName, str]


@dataclass(frozen=True)
class Point:
    """A saved strategy of a run after some training."""

    curve: str
    strategy: StrategyName
    path: Path

    @cached_property
    def about(self) -> dict[str, Any]:
        """Iterations and seconds of training so far."""
        return read_about(self.path)

    @property
    def seconds(self) -> float:
        return float(self.about["seconds"])

    @property
    def iteration(self) -> int:
        return int(self.about["iterations"])

    def result(self, name: str) -> Path:
        """The file of a result about it."""
        return self.path.with_name(f"{self.path.name}.{name}")


def recipe_of(scale: Scale, buckets: int, solver: dict[str, Any], name: str) -> Recipe:
    """Percentile buckets, each split again in the next round (perfect recall), for a given solver."""
    cards = {"method": "percentile", "buckets": buckets, "feature": FEATURE}
    streets = street_names(load_game(scale.game).rounds)
    table = {
        "game": scale.game, "cards": dict.fromkeys(streets, cards), "solver": solver, "checkpoint": {"keep": 1}
    }  # fmt: skip
    return read_recipe(table, name=name)


def cfr_br_contender(scale: Scale, buckets: int, trunk: int, curves: dict[StrategyName, str]) -> Contender:
    """CFR-BR with a trunk of some rounds."""
    name = f"cfr-br-{buckets}-buckets-trunk-{trunk}-boards-{scale.boards}"
    solver = {"method": "cfr-br", "trunk": trunk, "boards": scale.boards, "seed": 1, "currents": 0}
    return Contender(name, recipe_of(scale, buckets, solver, name), scale.points, curves)


def cfr_contender(scale: Scale, buckets: int, curve: str) -> Contender:
    """CFR with both players abstracted, by external sampling."""
    name = f"cfr-{buckets}-buckets"
    return Contender(name, recipe_of(scale, buckets, CFR, name), scale.cfr_points or scale.points, {AVERAGE: curve})


def point_minutes(minutes: float, points: int) -> list[float]:
    """Minutes of training at the points of a run: the last is its end, and each is half of the next."""
    if minutes <= 0 or points < 1:
        raise InputError(f"{points} points of {minutes:g} minutes", remedy="use at least one, and some time")
    return [minutes * share for share in halvings(points)]


def train_points(contender: Contender, scale: Scale, out: Path, say: Say) -> list[Point]:
    """Train a run from point to point, continuing an earlier call; returns all its points, in order."""
    run = out / "runs" / contender.name
    folder = RunFolder(run)
    if folder.is_run:
        folder.check_same(contender.recipe)
    points = kept_points(contender, out)
    reached = points[-1].seconds if points else 0.0
    coming = [minutes for minutes in point_minutes(scale.minutes, contender.points) if reached < 60 * minutes]
    if coming:
        check_memory(contender, scale, say)
        size = 4 * len(contender.curves) * len(coming) * cost_of(contender.recipe).slots
        say(f"{contender.name}: strategies of its points take {size_text(size)} of disk beside the run")
    for minutes in coming:
        say(f"{contender.name}: training to {60 * minutes:.0f} s")
        train_to(contender.recipe, run, minutes, threads=scale.threads, say=say)
        keep_point(contender, run, out)
    return kept_points(contender, out)


def keep_point(contender: Contender, run: Path, out: Path) -> None:
    """Write the strategies of a run's newest checkpoint."""
    for strategy in contender.curves:
        found = run_strategy(run, strategy)
        path = out / "points" / contender.name / f"{found.about['iterations']:012d}" / f"{strategy}.float32"
        path.parent.mkdir(parents=True, exist_ok=True)
        save_stored(path, found.game, found.stored, found.about)


def kept_points(contender: Contender, out: Path) -> list[Point]:
    """The complete points of a run: those with all strategies of an iteration."""
    points = []
    for folder in sorted((out / "points" / contender.name).glob("[0-9]*")):
        here = [Point(curve, s, folder / f"{s}.float32") for s, curve in contender.curves.items()]
        if all(point.path.is_file() for point in here):
            points += here
    return points


def measure_points(points: Iterable[Point], scale: Scale, say: Say) -> list[tuple[Point, dict[str, Any]]]:
    """The exploitability of points, as in `measure --json`, and the `sample`; earlier results are reused."""
    found = []
    for point in points:
        name = "all-flops" if scale.flops is None else f"{scale.flops}-flops-seed-{scale.seed}"
        result = remembered(point.result(name), partial(_measure, point, scale, say))
        width = f" ± {result['ci95_mbb']:.1f}" if "ci95_mbb" in result else ""
        say(f"{point.curve}: {point.seconds:.0f} s, {result['exploitability_mbb']:.1f}{width} mbb/g")
        found.append((point, result))
    return found


def _measure(point: Point, scale: Scale, say: Say) -> dict[str, Any]:
    strategy = load_strategy(point.path)
    flops = point.path.with_name(f"{point.path.name}.flops")  # finished flops, in case this call is interrupted
    tenths = [0]

    def progress(share: float) -> None:
        if scale.flops is None and int(10 * share) > tenths[0]:
            tenths[0] = int(10 * share)
            say(f"{point.curve}: {point.seconds:.0f} s, best response, {10 * tenths[0]}%")

    result = exploitability(
        strategy.rules, blueprint(strategy), sample_flops=scale.flops, seed=scale.seed, threads=scale.threads,
        out=flops, progress=progress,
    )  # fmt: skip
    return {**result.as_json(), "sample": result.sample.as_json() if result.sample else None}


def curve_rows(found: list[tuple[Point, dict[str, Any]]], reference: str, published: dict[str, float]) -> list[Any]:
    """A row for each point: its exploitability, the difference to the last point of a reference curve, and the
    published end of its curve. Half 95% intervals are None where all flops were walked.
    """
    base = next(result for point, result in reversed(found) if point.curve == reference)
    rows = []
    for point, result in found:
        if result["sample"]:
            less, width = FlopSample.of_json(result["sample"]).less(FlopSample.of_json(base["sample"]))
        else:
            less, width = result["exploitability_mbb"] - base["exploitability_mbb"], None
        rows.append({
            "curve": point.curve, "seconds": point.seconds, "iteration": point.iteration,
            "exploitability_mbb": result["exploitability_mbb"], "ci95_mbb": result.get("ci95_mbb"),
            "less_reference_mbb": less, "less_reference_ci95_mbb": width,
            "flops": result["flops"], "published_mbb": published.get(point.curve),
        })  # fmt: skip
    return rows


def last_and_lowest(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By curve: its last and its lowest row, with intervals."""
    said = ("seconds", "iteration", "exploitability_mbb", "ci95_mbb", "less_reference_mbb", "less_reference_ci95_mbb")
    found: dict[str, dict[str, Any]] = {}
    for curve, mine in by_curve(rows).items():
        lowest = min(mine, key=lambda row: row["exploitability_mbb"])
        last = {key: mine[-1][key] for key in said}
        found[curve] = {"last": last, "lowest": {key: lowest[key] for key in said}}
    return found


def curve_ends(found: dict[str, dict[str, Any]]) -> dict[str, float | None]:
    """By curve: the exploitability of its last point; from `last_and_lowest`."""
    return {curve: points["last"]["exploitability_mbb"] for curve, points in found.items()}


def check_memory(contender: Contender, scale: Scale, say: Say) -> None:
    """Report the memory that an iteration with a trunk needs besides the tables; refuse it if it cannot fit."""
    if not contender.recipe.solver.trunk:
        return
    threads = min(thread_count(scale.threads), PLAYERS * scale.boards)
    needed, free = working_bytes(contender.recipe, threads), available_memory()
    say(f"{contender.name}: an iteration takes up to {size_text(needed)} of memory beside the tables")
    if needed > free:
        raise InputError(
            f"{contender.name}: an iteration takes up to {size_text(needed)}, and only {size_text(free)} is free",
            remedy="use fewer boards, threads or buckets, or a longer trunk",
        )


def draw_exploitability(axes: Any, rows: list[dict[str, Any]], title: str, published: str) -> None:
    """Curves against seconds of training; dotted lines are the published ends (for what `published` says)."""
    draw_intervals(axes, rows, "exploitability_mbb", "ci95_mbb")
    for number, mine in enumerate(by_curve(rows).values()):
        if mine[-1]["published_mbb"] is not None:
            axes.axhline(mine[-1]["published_mbb"], color=f"C{number}", linewidth=0.8, linestyle=":")
    plain_log(axes, "x")
    plain_log(axes, "y")
    sampled = any(row["ci95_mbb"] for row in rows)
    axes.set_xlabel(f"seconds of training (dotted: published ends, {published})")
    axes.set_ylabel(f"exploitability, mbb/g{', from a sample of flops, ± 95%' if sampled else ''}")
    axes.set_title(title)
