"""What figures 6, 8 and 11 of the CFR-BR paper share: runs in limit hold'em, looked at on the way, and their curves.

A run is trained into OUT/runs/NAME. When its training has taken twice as long as at the last look, it is stopped, and
its strategies are kept in OUT/points/NAME/ITERATION: those are the points of a curve, and they are measured and played
afterwards. All of it is kept in files as soon as it is known, and found again: after a kill, the same call goes on.

A best response over all 1,755 flops takes five to seven core-hours for one strategy. A smaller figure samples flops,
the same for all its points: differences between points are then much more certain than levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from equipoise.agents.blueprint import blueprint
from equipoise.core.errors import InputError
from equipoise.core.files.array_file import load_header, save_arrays
from equipoise.core.machine import available_memory, thread_count
from equipoise.core.progress import Say
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
from equipoise.training.loop import run_training

FORMAT = "equipoise result 1"
FEATURE = "ehs2"  # of the percentiles
STEP = 2  # times the seconds of training, from one point to the next
CFR = {"method": "external", "schedule": "linear", "seed": 1}  # as recipes/limit-small.toml


@dataclass(frozen=True)
class Scale:
    """How large a figure is made. All runs and points are of one game and one sample of flops."""

    buckets: tuple[int, ...]  # a round, one abstraction each
    minutes: float  # of training, of each run
    points: int = 5  # of each run, from its minutes / 2^(points - 1)
    flops: int | None = 16  # to sample; None: all of them, an exact measurement
    threads: int = 0  # 0: all cores
    boards: int = 1  # subgames in an iteration of CFR-BR: threads take a seat of one each
    trunks: tuple[int, ...] = (2,)
    cfr_points: int = 0  # of a run of CFR, which takes as many minutes; 0: as many
    hands: int = 4_000_000  # of a match
    seed: int = 1  # of the sample of flops, and of the deals of a match
    game: str = "holdem.limit"


@dataclass(frozen=True, eq=False)
class Contender:
    """A run: its name, its recipe, how many points it has, and what the curves of its strategies are called."""

    name: str
    recipe: Recipe
    points: int
    curves: dict[StrategyName, str]


@dataclass(frozen=True)
class Point:
    """A strategy of a run after some training, in a file."""

    curve: str
    strategy: StrategyName
    path: Path

    @cached_property
    def about(self) -> dict[str, Any]:
        """Iterations and seconds of training until then."""
        return read_about(self.path)

    @property
    def seconds(self) -> float:
        return float(self.about["seconds"])

    @property
    def iteration(self) -> int:
        return int(self.about["iterations"])

    def result(self, name: str) -> Path:
        """Where a result about it is kept."""
        return self.path.with_name(f"{self.path.name}.{name}")


def recipe_of(scale: Scale, buckets: int, solver: dict[str, Any], name: str) -> Recipe:
    """So many percentile buckets a round, each cut again in the next (perfect recall), by some solver."""
    cards = {"method": "percentile", "buckets": buckets, "feature": FEATURE}
    streets = street_names(load_game(scale.game).rounds)
    table = {
        "game": scale.game, "cards": dict.fromkeys(streets, cards), "solver": solver, "checkpoint": {"keep": 1}
    }  # fmt: skip
    return read_recipe(table, name=name)


def cfr_br(scale: Scale, buckets: int, trunk: int, curves: dict[StrategyName, str]) -> Contender:
    """CFR-BR with a trunk of some rounds."""
    name = f"cfr-br-{buckets}-buckets-trunk-{trunk}-boards-{scale.boards}"
    solver = {"method": "cfr-br", "trunk": trunk, "boards": scale.boards, "seed": 1, "currents": 0}
    return Contender(name, recipe_of(scale, buckets, solver, name), scale.points, curves)


def cfr(scale: Scale, buckets: int, curve: str) -> Contender:
    """CFR with both players abstracted, by external sampling."""
    name = f"cfr-{buckets}-buckets"
    return Contender(name, recipe_of(scale, buckets, CFR, name), scale.cfr_points or scale.points, {AVERAGE: curve})


def looks(minutes: float, points: int) -> list[float]:
    """Minutes of training at which a run is looked at: the last is its end, each before half of the next."""
    if minutes <= 0 or points < 1:
        raise InputError(f"{points} points of {minutes:g} minutes", remedy="use at least one, and some time")
    return [minutes / STEP**left for left in reversed(range(points))]


def trained(contender: Contender, scale: Scale, out: Path, say: Say) -> list[Point]:
    """Train a run from point to point, as far as it is not there yet; all its points, in the order of training."""
    run = out / "runs" / contender.name
    folder = RunFolder(run)
    if folder.is_run:
        folder.check_same(contender.recipe)
    points = kept_points(contender, out)
    reached = points[-1].seconds if points else 0.0
    coming = [minutes for minutes in looks(scale.minutes, contender.points) if reached < 60 * minutes]
    if coming:
        check_memory(contender, scale, say)
        size = 4 * len(contender.curves) * len(coming) * cost_of(contender.recipe).slots
        say(f"{contender.name}: strategies of its points take {size / 1e9:.2f} GB of disk beside the run")
    for minutes in coming:
        say(f"{contender.name}: training to {60 * minutes:.0f} s")
        done = run_training(
            contender.recipe, run, resume=folder.is_run, minutes=minutes, threads=scale.threads or None, say=say
        )
        if done.stopped == "interrupted":
            raise KeyboardInterrupt
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
    """The points of a run that are whole: all strategies of an iteration."""
    points = []
    for folder in sorted((out / "points" / contender.name).glob("[0-9]*")):
        here = [Point(curve, s, folder / f"{s}.float32") for s, curve in contender.curves.items()]
        if all(point.path.is_file() for point in here):
            points += here
    return points


def measured(points: Iterable[Point], scale: Scale, say: Say) -> list[tuple[Point, dict[str, Any]]]:
    """The exploitability of points: what `measure --json` says, and the `sample`; as far as not known from before."""
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
    flops = point.path.with_name(f"{point.path.name}.flops")  # finished flops, for a call that is interrupted
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


def remembered(path: Path, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a file holds; if it is not there whole, what is found, and then written there."""
    with suppress(InputError):
        return dict(load_header(path, FORMAT, remedy="")["found"])
    found = find()
    save_arrays(path, FORMAT, {"found": found}, {})
    return found


def rows_of(found: list[tuple[Point, dict[str, Any]]], reference: str, published: dict[str, float]) -> list[Any]:
    """A row for each point: its exploitability, how much more that is than at the last point of a reference curve,

    both with half their 95% intervals (none where all flops were walked), and the published end of its curve.
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


def ends(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By curve: its last row and its lowest, with intervals."""
    said = ("seconds", "iteration", "exploitability_mbb", "ci95_mbb", "less_reference_mbb", "less_reference_ci95_mbb")
    found: dict[str, dict[str, Any]] = {}
    for curve in dict.fromkeys(row["curve"] for row in rows):
        mine = [row for row in rows if row["curve"] == curve]
        lowest = min(mine, key=lambda row: row["exploitability_mbb"])
        last = {key: mine[-1][key] for key in said}
        found[curve] = {"last": last, "lowest": {key: lowest[key] for key in said}}
    return found


def check_memory(contender: Contender, scale: Scale, say: Say) -> None:
    """Say what an iteration of a run with a trunk takes beside its tables; refuse it if it cannot fit."""
    if not contender.recipe.solver.trunk:
        return
    threads = min(thread_count(scale.threads), PLAYERS * scale.boards)
    needed, free = working_bytes(contender.recipe, threads), available_memory()
    say(f"{contender.name}: an iteration takes up to {needed / 1e9:.1f} GB of memory beside the tables")
    if needed > free:
        raise InputError(
            f"{contender.name}: an iteration takes up to {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free",
            remedy="use fewer boards, threads or buckets, or a longer trunk",
        )


def draw_exploitability(axes: Any, rows: list[dict[str, Any]], title: str, published: str) -> None:
    """Curves against seconds of training; dotted lines are the published ends, which are of what `published` says."""
    for number, curve in enumerate(dict.fromkeys(row["curve"] for row in rows)):
        mine = [row for row in rows if row["curve"] == curve]
        widths = [row["ci95_mbb"] or 0.0 for row in mine]
        values = [row["exploitability_mbb"] for row in mine]
        seconds = [row["seconds"] for row in mine]
        axes.errorbar(seconds, values, widths, fmt="o-", capsize=3, color=f"C{number}", label=curve)
        if mine[-1]["published_mbb"] is not None:
            axes.axhline(mine[-1]["published_mbb"], color=f"C{number}", linewidth=0.8, linestyle=":")
    plain_log(axes, "x")
    plain_log(axes, "y")
    sampled = any(row["ci95_mbb"] for row in rows)
    axes.set_xlabel(f"seconds of training (dotted: published ends, {published})")
    axes.set_ylabel(f"exploitability, mbb/g{', from a sample of flops, ± 95%' if sampled else ''}")
    axes.set_title(title)
    axes.legend(fontsize=8)
