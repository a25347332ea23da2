"""Runs: a recipe is checked, its cost said, its abstraction built or opened, and its solver driven until it may stop.

Iterations are done in slices of about a second; between two, the run looks how far it is, writes a checkpoint when one
is due, and stops if it should. Slices do not change results: a run of one thread that stops by iterations ends with the
same bits however often it was killed and resumed. One that stops by minutes does as many iterations as it could.
Ctrl-C and SIGTERM end the slice, and the run is saved.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.errors import InputError, check_count
from equipoise.core.machine import thread_count
from equipoise.core.progress import Progress
from equipoise.core.signals import stopping
from equipoise.runs.cost import Cost, cost_of
from equipoise.runs.folder import Checkpoint, RunFolder, Say
from equipoise.runs.progress import Look, Measured, regret_of
from equipoise.runs.recipe import MOST_MINUTES, Recipe, StopRecipe, load_recipe
from equipoise.runs.strategy_snapshots import Currents
from equipoise.solvers.registry import make_solver
from equipoise.solvers.solver import Solver, StrategyName, table_of
from equipoise.strategy.file import KINDS, save_strategy
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import Blocks, probabilities
from equipoise.tree.betting_tree import BettingTree

SLICE = 1.0  # seconds
LOOK_SHARE = 0.05  # of the time that may go into looking at regrets

OnLook = Callable[[Look], None]
Measure = Callable[[Profile, BucketMap], Measured]
Make = Callable[[Recipe, BettingTree, BucketMap, int], Solver]


@dataclass(frozen=True)
class Run:
    """How a training ended. `stopped` is iterations, minutes, exploitability or interrupted."""

    folder: Path
    recipe: Recipe
    cost: Cost
    look: Look
    stopped: str
    threads: int

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        look = self.look.as_json()
        return {
            "run": str(self.folder),
            "recipe": self.recipe.name,
            "fingerprint": self.recipe.fingerprint,
            "stopped": self.stopped,
            "iterations": look.pop("iteration"),
            **{key: value for key, value in look.items() if key not in ("seconds_left", "checkpoint_age")},
            "threads": self.threads,
            **{f"cost_{key}": value for key, value in self.cost.as_json().items()},
        }


def train(
    recipe: Recipe | str | Path,
    out: str | Path,
    *,
    resume: bool = False,
    minutes: float | None = None,
    iterations: int | None = None,
    threads: int | None = None,
    on_look: OnLook | None = None,
    on_stage: Progress | None = None,
    say: Say | None = None,
    measure: Measure | None = None,
    make: Make | None = None,
) -> Run:
    """Train by a recipe (a value, a built-in name or a TOML file) into a folder; go on there with `resume`.

    `minutes` and `iterations` are totals of the run, and take the place of the recipe's; `threads` of 0 are all cores.
    `on_look` is called about every second, `on_stage` while buckets are made, `say` with lines worth reading. `measure`
    gives exploitability or a lower bound on it, as often as the recipe wants it.
    """
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe)
    stop = _stop(recipe, minutes, iterations)
    if recipe.measure.method != "none" and measure is None:
        raise InputError("measure.method without a way to measure", remedy='use equipoise.train, or method = "none"')
    folder = RunFolder(Path(out))
    if resume:
        folder.check_run()
    else:
        folder.check_new()
    game = recipe.game
    cost = cost_of(recipe, game.tree, thread_count(threads or recipe.solver.threads))
    cost.check(folder.path)
    with folder.locked():
        if resume:
            folder.check_same(recipe)
        folder.clear_remains()

        def tell(line: str) -> None:
            folder.log(line)
            if say:
                say(line)

        folder.keep_recipe(recipe)
        tell(_cost_text(recipe, cost, stop))
        checkpoint = folder.newest(recipe, tell) if resume else None
        buckets = game.buckets(on_stage)
        used = thread_count(threads or recipe.solver.threads or (checkpoint.threads if checkpoint else 0))
        solver = (make or _make_solver)(recipe, game.tree, buckets, used)
        training = _Training(recipe, stop, folder, buckets, solver, used, tell, on_look, measure)
        training.begin(checkpoint)
        with stopping() as asked:
            stopped = training.go(asked)
            training.finish(stopped)
        if asked.is_set():
            stopped = "interrupted"  # also where Ctrl-C came when the run was at its end: callers must know
    return Run(folder.path, recipe, cost, training.last, stopped, used)


def _make_solver(recipe: Recipe, tree: BettingTree, buckets: BucketMap, threads: int) -> Solver:
    return make_solver(recipe.solver.method, tree, buckets, threads=threads, **recipe.solver.settings())


def _stop(recipe: Recipe, minutes: float | None, iterations: int | None) -> StopRecipe:
    stop = recipe.stop
    if minutes is not None or iterations is not None:
        if minutes is not None and not 0 < minutes <= MOST_MINUTES:
            raise InputError(f"a run of {minutes:g} minutes", remedy=f"give a positive number up to {MOST_MINUTES:g}")
        if iterations is not None:
            check_count(iterations, "iterations")
        stop = StopRecipe(minutes=minutes, iterations=iterations, exploitability=recipe.stop.exploitability)
    if stop == StopRecipe():
        raise InputError(
            f"recipe {recipe.name} never stops", remedy="give [stop] minutes or iterations, or --minutes, --iterations"
        )
    return stop


def _cost_text(recipe: Recipe, cost: Cost, stop: StopRecipe) -> str:
    ends = [f"{stop.minutes:g} minutes"] if stop.minutes else []
    ends += [f"{stop.iterations:,} iterations"] if stop.iterations else []
    ends += [f"{stop.exploitability:g} mbb/g"] if stop.exploitability else []
    return (
        f"{recipe.name}: {cost.nodes:,} betting nodes, {cost.infosets:,} information sets, "
        f"{_size(cost.memory_bytes)} of memory, {_size(cost.disk_bytes)} of disk; until {' or '.join(ends)}"
    )


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


class _Training:
    """The loop of a run."""

    def __init__(
        self,
        recipe: Recipe,
        stop: StopRecipe,
        folder: RunFolder,
        buckets: BucketMap,
        solver: Solver,
        threads: int,
        tell: Say,
        on_look: OnLook | None,
        measure: Measure | None,
    ) -> None:
        self.recipe, self.stop, self.folder, self.buckets = recipe, stop, folder, buckets
        self.solver, self.threads, self.tell, self.on_look, self.measure = solver, threads, tell, on_look, measure
        self.blocks = Blocks.of(solver.layout)
        self.currents = Currents(folder, recipe.game, recipe.solver.draws)
        self.seconds = 0.0
        self.last = Look(0, 0.0, 0, 0.0, 0.0, 0.0, 0.0)
        self.look_cost = 0.0
        self.measured_at = 0.0  # training seconds
        self.saved_at = time.monotonic()
        self.saved: int | None = None  # iteration of the newest checkpoint

    def begin(self, checkpoint: Checkpoint | None) -> None:
        """Start from a checkpoint, or from nothing."""
        if checkpoint:
            checkpoint.restore(self.solver)
            self.seconds, self.saved = checkpoint.seconds, checkpoint.iteration
        self.folder.cut_metrics(self.solver.iteration)
        self.last = Look(
            self.solver.iteration, self.seconds, self.solver.nodes, 0, 0, *regret_of(self.solver, self.blocks),
            **(checkpoint.measured if checkpoint else Measured())._asdict(),
        )  # fmt: skip
        self.measured_at = self.seconds
        where = f"resumed at iteration {checkpoint.iteration:,}" if checkpoint else "started from the beginning"
        self.tell(f"{where}, {self.threads} thread{'s' if self.threads > 1 else ''}")

    def go(self, asked: threading.Event) -> str:
        """Iterate until there is a reason to stop."""
        count, compiled = 1, False
        while not (reason := self._reason(asked)):
            ends = (self.stop.iterations, self.currents.before_next(self.solver))
            left = [end - self.solver.iteration for end in ends if end is not None]
            done = max(1, min([count, *left]))
            started = time.perf_counter()
            self.solver.run(done)
            took = time.perf_counter() - started
            if compiled:
                self.seconds += took
                count = max(1, min(int(done * self._slice() / max(took, 1e-9)), 4 * done))
            compiled = True  # the first iteration of a process compiles kernels: it is not on the clock
            due = self.seconds - self.last.seconds >= max(self._slice(), self.look_cost / LOOK_SHARE)
            if due and not self._reason(asked):  # the last look is taken when all is saved
                self._look(measure=self._measure_due())
            if time.monotonic() - self.saved_at >= 60 * self.recipe.checkpoint.minutes:
                self._save()
        return reason

    def _slice(self) -> float:
        """Seconds of a slice: short enough for the checkpoints and the end."""
        slice_ = min(SLICE, 15 * self.recipe.checkpoint.minutes)
        if self.stop.minutes is not None:
            slice_ = min(slice_, max(60 * self.stop.minutes - self.seconds, 0.01))
        return slice_

    def _reason(self, asked: threading.Event) -> str:
        stop, known = self.stop, self.last.measured.exploitability
        if stop.iterations is not None and self.solver.iteration >= stop.iterations:
            return "iterations"
        if stop.minutes is not None and self.seconds >= 60 * stop.minutes:
            return "minutes"
        if stop.exploitability is not None and known is not None and known <= stop.exploitability:
            return "exploitability"
        return "interrupted" if asked.is_set() else ""

    def _measure_due(self) -> bool:
        wanted = self.recipe.measure
        return wanted.method != "none" and self.seconds - self.measured_at >= 60 * wanted.every

    def _look(self, *, measure: bool) -> None:
        started = time.perf_counter()
        solver, before = self.solver, self.last
        regret, visited = regret_of(solver, self.blocks)
        self.look_cost = time.perf_counter() - started
        since = self.seconds - before.seconds
        rates = [(now - then) / since if since > 0 else 0.0 for now, then in
                 ((solver.iteration, before.iteration), (solver.nodes, before.nodes))]  # fmt: skip
        found = Measured()
        if measure:
            found = Measured.of({name: self._measure(name) for name in self.recipe.solver.strategies})
            self.measured_at = self.seconds
        numbers = (solver.iteration, self.seconds, solver.nodes, rates[0], rates[1], regret, visited)
        age = None if self.saved is None else time.monotonic() - self.saved_at
        look = Look(*numbers, seconds_left=self._left(rates[0]), checkpoint_age=age, **found._asdict())
        self.folder.add_metrics(look.as_json())
        known = found if any(value is not None for value in found) else before.measured
        self.last = Look(**{**look.as_json(), **known._asdict()})
        if self.on_look:
            self.on_look(self.last)

    def _measure(self, strategy: StrategyName) -> Measured:
        chances = probabilities(self.solver.layout, table_of(self.solver, strategy))
        return self.measure(Profile(self.solver.layout, chances), self.buckets) if self.measure else Measured()

    def _left(self, rate: float) -> float | None:
        """Seconds until the run ends, at this rate."""
        ends = [] if self.stop.minutes is None else [60 * self.stop.minutes - self.seconds]
        if self.stop.iterations is not None and rate > 0:
            ends.append((self.stop.iterations - self.solver.iteration) / rate)
        return max(0.0, min(ends)) if ends else None

    def _save(self) -> None:
        if self.saved != self.solver.iteration:
            self.folder.save(self.solver, self.recipe, self.seconds, self.threads, self.last.measured)
            self.saved = self.solver.iteration
            self.currents.forget()
        self.saved_at = time.monotonic()

    def finish(self, stopped: str) -> None:
        """A last checkpoint, a last look, and the strategies."""
        self._save()
        measured = self.recipe.measure.method != "none" and stopped in ("iterations", "minutes")
        if measured or self.solver.iteration > self.last.iteration:
            self._look(measure=measured)
        layout, strategy = self.solver.layout, self.recipe.solver.strategies[0]
        table = table_of(self.solver, strategy)
        chances = probabilities(layout, table, out=table)  # the table is in the checkpoint, and not needed here
        about = {
            "strategy": strategy, "iterations": self.solver.iteration, "seconds": self.seconds,
            "nodes": self.solver.nodes,
        }  # fmt: skip
        for kind in KINDS:
            save_strategy(self.folder.path / f"strategy.{kind}", self.recipe.game, chances, kind, about)
        self.currents.finish(self.solver.iteration, self.tell)
        self.tell(f"stopped at iteration {self.solver.iteration:,}: {stopped}")
