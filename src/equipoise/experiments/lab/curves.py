"""Curves: one recipe trained in stretches, its average strategy measured at the end of each.

Stretches end at ..., a quarter, a half and all of the run, so points are evenly spaced on a logarithmic axis, as in the
figures of Johanson and others (2012). Each stretch resumes the training in the run's folder, and every point is stored
at once, so the same call continues after a kill, and so does a call that asks for more. A solver with stages is trained
to the end of a stage before it is measured: within a stage, its average covers few iterations.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.agents.blueprint import blueprint
from equipoise.agents.table import TableAgent
from equipoise.core.errors import InputError, check_count
from equipoise.core.files.array_file import FileHeader, load_header, save_arrays
from equipoise.core.progress import Progress, Say
from equipoise.experiments.curves import halvings, train_to
from equipoise.games.bet_menu import BetMenu
from equipoise.games.rules import GameRules
from equipoise.measure.agent import is_small
from equipoise.measure.best_response import LEAST_SAMPLE, MOST_SAMPLE, exploitability
from equipoise.measure.lbr import HANDS, LEAST_HANDS, local_best_response
from equipoise.runs.progress import TrainingProgress
from equipoise.runs.recipe import Recipe
from equipoise.strategy.file import StrategyFile, load_strategy

FORMAT = "equipoise curve 2"
FILE = "curve.points"
FLOPS = 40  # sample size where exploitability cannot be computed exactly


class Until(NamedTuple):
    """When a run ends: at the first limit that it reaches."""

    minutes: float | None = None
    iterations: int | None = None

    def part(self, share: float, stage: int) -> Until:
        """A share of it; iterations are rounded to whole stages."""
        minutes, iterations = self.minutes, self.iterations
        if iterations is not None:
            iterations = max(1, round(iterations * share / stage)) * stage
        return Until(None if minutes is None else minutes * share, iterations)

    def reached(self, iteration: int, seconds: float) -> bool:
        return (self.minutes is not None and seconds >= 60 * self.minutes) or (
            self.iterations is not None and iteration >= self.iterations
        )

    def done(self, now: TrainingProgress) -> float:
        """The fraction that is done."""
        shares = [0.0] if self.minutes is None else [now.seconds / (60 * self.minutes)]
        shares += [] if self.iterations is None else [now.iteration / self.iterations]
        return min(max(shares), 1.0)


@dataclass(frozen=True)
class Point:
    """A measurement on the way, in mbb/g, with half its 95% interval (None: exact)."""

    iteration: int
    seconds: float
    nodes: int
    mbb: float
    ci95: float | None


@dataclass(frozen=True)
class Curve:
    """The points of one run, in order; `method` is the solver's."""

    method: str
    points: tuple[Point, ...]

    @property
    def last(self) -> Point:
        return self.points[-1]

    @property
    def half_way(self) -> Point | None:
        """The point before the last."""
        return self.points[-2] if len(self.points) > 1 else None


@dataclass(frozen=True)
class Measuring:
    """How strategies are measured: `exact`, `flops` (an estimate of the same) or `lbr` (a lower bound)."""

    method: str
    size: int = 0  # flops or hands
    seed: int = 1

    @classmethod
    def of(cls, rules: GameRules, menu: BetMenu | None, flops: int | None, hands: int | None, seed: int) -> Measuring:
        """The method for a game: exact if it is small, a sample of flops in limit games, else the lower bound."""
        small = is_small(rules, menu)
        if flops is not None:
            check_count(flops, "flops to sample", LEAST_SAMPLE, MOST_SAMPLE)
        if flops is not None and (rules.rounds == 1 or not (small or rules.limit)):
            raise InputError(f"flops of {rules.name}", remedy="leave them out")
        if hands is not None and (small or rules.limit):
            raise InputError(f"LBR hands for {rules.name}, where exploitability can be had", remedy="leave them out")
        if hands is not None:
            check_count(hands, "LBR hands", LEAST_HANDS)
        if flops is not None or (rules.limit and not small):
            return cls("flops", flops or FLOPS, seed)
        return cls("exact") if small else cls("lbr", hands or HANDS, seed)

    @property
    def key(self) -> str:
        """Its key in JSON."""
        return "lbr_mbb" if self.method == "lbr" else "exploitability_mbb"

    @property
    def words(self) -> str:
        """The measure in words."""
        if self.method == "lbr":
            return f"LBR lower bound on exploitability ({self.size:,} hands)"
        return "exploitability" if self.method == "exact" else f"exploitability, estimated from {self.size:,} flops"

    def value(self, strategy: StrategyFile, threads: int, progress: Progress) -> tuple[float, float | None]:
        """Measure a strategy, in mbb/g, with half the interval; all strategies meet the same flops or hands."""
        if self.method == "lbr":
            player = TableAgent("it", strategy.game.layout, strategy.stored, strategy.buckets)
            bound = local_best_response(player, hands=self.size, seed=self.seed, threads=threads, progress=progress)
            return bound.lbr, bound.ci95
        found = exploitability(
            strategy.rules, blueprint(strategy), menu=strategy.game.menu, threads=threads, seed=self.seed,
            sample_flops=self.size or None, progress=lambda done: progress("best response", done),
        )  # fmt: skip
        return found.exploitability, found.ci95_mbb


def train_curve(
    recipe: Recipe,
    folder: Path,
    until: Until,
    measuring: Measuring,
    *,
    points: int,
    threads: int,
    progress: Progress,
    say: Say,
) -> Curve:
    """Train a recipe in a folder and measure it at `points` moments; earlier points are reused."""
    kept = _Kept(folder / FILE, {"recipe": recipe.fingerprint, "measuring": asdict(measuring)})
    found = kept.read(until)
    stage = recipe.solver.stage or 1
    go = partial(
        train_to, recipe, folder, threads=threads, on_stage=progress,
        on_progress=lambda now: progress(recipe.name, until.done(now)),
    )  # fmt: skip
    for share in halvings(points):
        to = until.part(share, stage)
        if found and to.reached(found[-1].iteration, found[-1].seconds):
            continue
        run = go(*to)
        if over := run.progress.iteration % stage:
            run = go(None, run.progress.iteration + stage - over)
        if found and run.progress.iteration <= found[-1].iteration:
            continue
        value, width = measuring.value(load_strategy(folder), threads, progress)
        found.append(Point(run.progress.iteration, run.progress.seconds, run.progress.nodes, value, width))
        kept.write(found, until)
        say(f"{recipe.name}, {recipe.solver.method}: {_point_text(found[-1], measuring)}")
    return Curve(recipe.solver.method, tuple(found))


def _point_text(point: Point, measuring: Measuring) -> str:
    width = "" if point.ci95 is None else f" ± {point.ci95:.1f}"
    what = "LBR lower bound" if measuring.method == "lbr" else "exploitability"
    return f"iteration {point.iteration:,}, {point.seconds:.1f} s, {what} {point.mbb:.2f}{width} mbb/g"


class CurveHeader(FileHeader):
    """The points of a curve, and what they were made for."""

    made_for: dict[str, Any]
    until: Until
    points: tuple[Point, ...]


@dataclass(frozen=True)
class _Kept:
    """A curve's file in the run's folder. Points of another recipe or another kind of measurement are dropped."""

    path: Path
    made_for: dict[str, Any]

    def read(self, until: Until) -> list[Point]:
        """The points so far. Refused if the earlier run was to be longer: the curves would end at different totals."""
        try:
            stored = load_header(self.path, FORMAT, CurveHeader, remedy="")
        except InputError:
            return []
        if stored.made_for != json.loads(json.dumps(self.made_for)):
            return []
        points, before = list(stored.points), stored.until
        for asked, was in zip(until, before, strict=True):
            if (asked is None) != (was is None) or (asked is not None and was is not None and asked < was):
                raise InputError(
                    f"a run until {_until_text(before)}, not {_until_text(until)}",
                    where=str(self.path.parent),
                    remedy="ask for as much or more, or name a new folder",
                )
        return points

    def write(self, points: list[Point], until: Until) -> None:
        value = {"made_for": self.made_for, "until": until, "points": [asdict(p) for p in points]}
        save_arrays(self.path, FORMAT, value, {})


def _until_text(until: Until) -> str:
    ends = [f"{until.minutes:g} minutes"] if until.minutes is not None else []
    ends += [f"{until.iterations:,} iterations"] if until.iterations is not None else []
    return " or ".join(ends)
