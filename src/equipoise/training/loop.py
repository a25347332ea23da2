"""The training loop: checks a recipe and its cost, prepares what it trains, and iterates until it should stop.

Training goes in slices of about a second. After each slice, the loop reports progress, writes a checkpoint if one
is due, and stops if it should. Slices do not change results: a single-threaded run that stops by iterations ends with
the same bits however often it was killed and resumed. Ctrl-C and SIGTERM end the slice and save the run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.display import table_html
from equipoise.core.errors import InputError, check_count
from equipoise.core.machine import thread_count
from equipoise.core.progress import Progress, Say, TimeLeft
from equipoise.core.signals import stopping
from equipoise.core.wording import counted, size_text
from equipoise.runs.cost import MOST_SLOTS, Cost, cost_of
from equipoise.runs.folder import CUT, Checkpoint, LostPartError, RunFolder
from equipoise.runs.progress import Measured, TrainingProgress
from equipoise.runs.recipe import MOST_MINUTES, Recipe, StopRecipe, load_recipe, with_stop
from equipoise.solvers.registry import make_solver
from equipoise.solvers.solver import Solver
from equipoise.training.trainee import TableTrainee, Trained, Trainee
from equipoise.tree.betting_tree import BettingTree

if TYPE_CHECKING:
    from equipoise.cluster.ray_door import Cluster
    from equipoise.training.cluster_trainee import ClusterOptions

SLICE = 1.0  # seconds
PROGRESS_SHARE = 0.05  # maximum share of time spent on figures such as the sum of regrets

OnProgress = Callable[[TrainingProgress], None]
Measure = Callable[[Trained], Measured]
Make = Callable[[Recipe, BettingTree, BucketMap, int], Solver]


@dataclass(frozen=True)
class Run:
    """How a training ended. `stopped` is iterations, minutes, exploitability or interrupted."""

    folder: Path
    recipe: Recipe
    cost: Cost
    progress: TrainingProgress
    stopped: str
    threads: int

    def __repr__(self) -> str:
        measured = f", {self.progress.measured.text}" if self.progress.measured.text else ""
        return f"Run({self.folder}: {self.recipe.name}, {counted(self.progress.iteration, 'iteration')}{measured})"

    @property
    def has_table(self) -> bool:
        """Whether its strategy is in a table; that of large networks is not."""
        return self.recipe.deep is None or self.cost.slots <= MOST_SLOTS

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each progress report of the run."""
        return RunFolder(self.folder).read_metrics()

    _repr_html_ = table_html

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        progress = self.progress.as_json()
        return {
            "run": str(self.folder),
            "recipe": self.recipe.name,
            "fingerprint": self.recipe.fingerprint,
            "stopped": self.stopped,
            "iterations": progress.pop("iteration"),
            **{key: value for key, value in progress.items() if key not in ("seconds_left", "checkpoint_age")},
            "threads": self.threads,
            **{f"cost_{key}": value for key, value in self.cost.as_json().items()},
        }


def run_training(
    recipe: Recipe | str | Path,
    out: str | Path,
    *,
    resume: bool = False,
    minutes: float | None = None,
    iterations: int | None = None,
    threads: int | None = None,
    on_progress: OnProgress | None = None,
    on_stage: Progress | None = None,
    say: Say | None = None,
    measure: Measure | None = None,
    make: Make | None = None,
    cluster: ClusterOptions | None = None,
) -> Run:
    """Train a recipe in a folder, without a report at the end; arguments as in `equipoise.train`.

    A folder that holds a run of this very recipe, at its end, stays as it is: its result is returned.

    `measure` computes exploitability, or a lower bound on it, at the intervals of the recipe. `make` makes the solver.
    With `cluster`, `threads` are those of each part.
    """
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe)
    recipe = with_stop(recipe, _stop(recipe, minutes, iterations))
    if recipe.measure.method != "none" and measure is None:
        raise InputError("measure.method needs a measure function", remedy='use equipoise.train, or method = "none"')
    folder = RunFolder(Path(out))
    resume = resume or folder.has_reached(recipe)
    if resume:
        folder.check_run()
    else:
        folder.check_new()
    if recipe.deep:
        _check_torch(recipe.deep.device)
    cost = _checked_cost(recipe, folder, threads, cluster)
    with ExitStack() as stack:
        there = _open_cluster(recipe, cluster, stack) if cluster else None
        stack.enter_context(folder.locked())
        if resume:
            folder.check_same(recipe)
        folder.clear_remains()

        def log(line: str) -> None:
            folder.log(line)
            if say:
                say(line)

        folder.keep_recipe(recipe)
        log(_cost_text(recipe, cost))
        checkpoint = folder.newest(recipe, log) if resume else None
        wanted = threads or recipe.solver.threads or (checkpoint.threads if checkpoint else 0)
        used = wanted or 1 if there and not recipe.deep else thread_count(wanted)  # parts have one unless asked
        if cluster and there:
            from equipoise.training.cluster_trainee import cluster_trainee

            trainee: Trainee = cluster_trainee(there, cluster, recipe, folder, used, checkpoint, stack, on_stage, log)
        else:
            _check_whole(checkpoint)
            trainee = _trainee(recipe, folder, used, on_stage, make)
        training = _Training(recipe, folder, trainee, used, log, on_progress, measure)
        training.begin(checkpoint)
        with stopping() as asked:
            stopped = training.go(asked)
            training.finish(stopped)
        if asked.is_set():
            stopped = "interrupted"  # even if Ctrl-C came as the run ended: callers must know
    return Run(folder.path, recipe, cost, training.last, stopped, used)


def _checked_cost(recipe: Recipe, folder: RunFolder, threads: int | None, cluster: ClusterOptions | None) -> Cost:
    """What a run needs; refused if this machine, where it is to run, does not have it."""
    cost = cost_of(recipe, recipe.game.tree, thread_count(threads or recipe.solver.threads))
    if cluster and recipe.solver.method == "pcs":
        cost = cost.on_disk()
    if cluster is None or cluster.where == "local":
        cost.check(folder.path)
    return cost


def _open_cluster(recipe: Recipe, cluster: ClusterOptions, stack: ExitStack) -> Cluster:
    """Check that the recipe has the parts that are asked for, and find the machines."""
    from equipoise.cluster.ray_door import find_ray, open_cluster
    from equipoise.cluster.split_recipe import check_parts

    find_ray()
    check_parts(recipe, cluster.parts)
    return stack.enter_context(open_cluster(cluster.where))


def _check_whole(checkpoint: Checkpoint | None) -> None:
    """Refuse the checkpoint of a run in parts."""
    if checkpoint and CUT in checkpoint.arrays:
        raise InputError(
            "a run in parts", where=checkpoint.where, remedy="resume it with --cluster local, or elsewhere"
        )


def _check_torch(device: str) -> None:
    """Refuse to train networks without torch, or on a device that is not there."""
    from equipoise.deep.torch_door import find_device

    find_device(device)


def _trainee(recipe: Recipe, folder: RunFolder, threads: int, on_stage: Progress | None, make: Make | None) -> Trainee:
    """What the recipe trains, before the first iteration."""
    if recipe.deep:
        from equipoise.deep.hands import strength_map
        from equipoise.training.deep_trainee import DeepTrainee

        if recipe.deep.strength:
            strength_map(recipe.game.rules, on_stage)  # networks find it in the cache
        return DeepTrainee(recipe, folder, threads)
    buckets = recipe.game.buckets(on_stage)
    return TableTrainee(recipe, folder, buckets, (make or _make_solver)(recipe, recipe.game.tree, buckets, threads))


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
            f"recipe {recipe.name} has no stopping condition",
            remedy="give [stop] minutes or iterations, or --minutes, --iterations",
        )
    return stop


def _cost_text(recipe: Recipe, cost: Cost) -> str:
    return (
        f"{recipe.name}: {counted(cost.nodes, 'betting node')}, {counted(cost.infosets, 'information set')}, "
        f"{size_text(cost.memory_bytes)} of memory, {size_text(cost.disk_bytes)} of disk; until {_until(recipe.stop)}"
    )


def _until(stop: StopRecipe) -> str:
    ends = [f"{stop.minutes:g} minutes"] if stop.minutes else []
    ends += [counted(stop.iterations, "iteration")] if stop.iterations else []
    ends += [f"{stop.exploitability:g} mbb/g"] if stop.exploitability else []
    return " or ".join(ends)


@dataclass(eq=False)
class _Training:
    """The state of a run while it trains."""

    recipe: Recipe
    folder: RunFolder
    trainee: Trainee
    threads: int
    log: Say
    on_progress: OnProgress | None
    measure: Measure | None

    def __post_init__(self) -> None:
        self.stop = self.recipe.stop
        self.seconds = 0.0
        self.last = TrainingProgress(0, 0.0, 0, 0.0, 0.0)
        self.progress_cost = 0.0
        self.left = TimeLeft(lambda: self.seconds)  # until the last iteration
        self.measured_at = 0.0  # training seconds
        self.saved_at = time.monotonic()
        self.saved: int | None = None  # iteration of the newest checkpoint

    def begin(self, checkpoint: Checkpoint | None) -> None:
        """Start from a checkpoint, or from nothing."""
        if checkpoint:
            checkpoint = self._restore(checkpoint)
            self.seconds, self.saved = checkpoint.seconds, checkpoint.iteration
        self.folder.cut_metrics(self.trainee.iteration)
        self.last = TrainingProgress(
            self.trainee.iteration, self.seconds, self.trainee.nodes, 0, 0, **self.trainee.figures(),
            **(checkpoint.measured if checkpoint else Measured())._asdict(),
        )  # fmt: skip
        self.measured_at = self.seconds
        self.left = TimeLeft(lambda: self.seconds, self._share())
        self.log(self._plan(checkpoint))

    def _restore(self, checkpoint: Checkpoint) -> Checkpoint:
        """Restore a checkpoint, or the newest one before it of which every part has its file; returns it.

        If there is none, all stay as they are: the files may be on a machine that is away.
        """
        lost: list[Checkpoint] = []
        while True:
            try:
                self.trainee.restore(checkpoint)
                break
            except LostPartError as error:
                before = self.folder.newest(self.recipe, self.log, before=checkpoint.iteration)
                if before is None:
                    raise
                self.log(f"iteration {checkpoint.iteration:,}: {error}")
                lost.append(checkpoint)
                checkpoint = before
            except InputError as error:
                raise (error if error.where else error.at(checkpoint.where)) from None
        for each in lost:
            self.log(f"{each.iteration - checkpoint.iteration:,} iterations are lost")
            self.folder.set_aside(each.where)
        return checkpoint

    def _plan(self, checkpoint: Checkpoint | None) -> str:
        """What will happen now."""
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        if checkpoint is None:
            return f"starts from the beginning, {threads}"
        where = f"iteration {checkpoint.iteration:,} ({checkpoint.seconds / 60:.2g} minutes)"
        if self._reason(threading.Event()):
            return f"is already at its end, {where}: ask for more with --minutes or --iterations"
        return f"continues from {where} until {_until(self.stop)}, {threads}"

    def go(self, asked: threading.Event) -> str:
        """Iterate until there is a reason to stop, and return it."""
        count, compiled = 1, False
        while not (reason := self._reason(asked)):
            ends = (self.stop.iterations, self.trainee.before_next())
            left = [end - self.trainee.iteration for end in ends if end is not None]
            done = max(1, min([count, *left]))
            started = time.perf_counter()
            self.trainee.run(done)
            took = time.perf_counter() - started
            if compiled:
                self.seconds += took
                count = max(1, min(int(done * self._slice() / max(took, 1e-9)), 4 * done))
            compiled = True  # the first iteration of a process compiles kernels: do not count it
            due = self.seconds - self.last.seconds >= max(self._slice(), self.progress_cost / PROGRESS_SHARE)
            if due and not self._reason(asked):  # the last report follows the last checkpoint
                self._report(measure=self._measure_due())
            if time.monotonic() - self.saved_at >= 60 * self.recipe.checkpoint.minutes:
                self._save()
        return reason

    def _slice(self) -> float:
        """Seconds of a slice: short enough to keep to the checkpoint interval and the time limit."""
        slice_ = min(SLICE, 15 * self.recipe.checkpoint.minutes)
        if self.stop.minutes is not None:
            slice_ = min(slice_, max(60 * self.stop.minutes - self.seconds, 0.01))
        return slice_

    def _reason(self, asked: threading.Event) -> str:
        stop, known = self.stop, self.last.measured.exploitability
        if stop.iterations is not None and self.trainee.iteration >= stop.iterations:
            return "iterations"
        if stop.minutes is not None and self.seconds >= 60 * stop.minutes:
            return "minutes"
        if stop.exploitability is not None and known is not None and known <= stop.exploitability:
            return "exploitability"
        return "interrupted" if asked.is_set() else ""

    def _measure_due(self) -> bool:
        wanted = self.recipe.measure
        return wanted.method != "none" and self.seconds - self.measured_at >= 60 * wanted.every

    def _report(self, *, measure: bool) -> None:
        started = time.perf_counter()
        trainee, before = self.trainee, self.last
        figures = trainee.figures()
        self.progress_cost = time.perf_counter() - started
        since = self.seconds - before.seconds
        rates = [(now - then) / since if since > 0 else 0.0 for now, then in
                 ((trainee.iteration, before.iteration), (trainee.nodes, before.nodes))]  # fmt: skip
        found = Measured()
        if measure and self.measure:
            names = self.recipe.solver.strategies
            found = Measured.of({name: self.measure(trainee.strategy(name)) for name in names})
            self.measured_at = self.seconds
        age = None if self.saved is None else time.monotonic() - self.saved_at
        self.left.update(self._share())
        rest = {"seconds_left": self._left(), "checkpoint_age": age, **figures, **found._asdict()}
        now = TrainingProgress(trainee.iteration, self.seconds, trainee.nodes, rates[0], rates[1], **rest)
        self.folder.add_metrics(now.as_json())
        known = found if any(value is not None for value in found) else before.measured
        self.last = TrainingProgress(**{**now.as_json(), **known._asdict()})
        if self.on_progress:
            self.on_progress(self.last)

    def _share(self) -> float:
        """The share of the iterations that are done; 0 if the run has no last one."""
        return self.trainee.iteration / self.stop.iterations if self.stop.iterations else 0.0

    def _left(self) -> float | None:
        """Seconds of training until the run ends: what the limit leaves, or what the last iteration is away."""
        ends = [] if self.stop.minutes is None else [60 * self.stop.minutes - self.seconds, self.left.seconds]
        known = [end for end in ends or [self.left.seconds] if end is not None]
        return max(0.0, min(known)) if known else None

    def _save(self) -> None:
        trainee = self.trainee
        if self.saved != trainee.iteration:
            numbers = (trainee.iteration, trainee.nodes, self.seconds, self.threads, self.last.measured)
            self.folder.save(Checkpoint(*numbers, trainee.arrays()), self.recipe)
            self.saved = trainee.iteration
            trainee.after_checkpoint()
        self.saved_at = time.monotonic()

    def finish(self, stopped: str) -> None:
        """Write the last checkpoint, report progress, and write the final files."""
        self._save()
        measured = self.recipe.measure.method != "none" and stopped in ("iterations", "minutes")
        trainee = self.trainee
        if measured or trainee.iteration > self.last.iteration:
            self._report(measure=measured)
        about = {"iterations": trainee.iteration, "seconds": self.seconds, "nodes": trainee.nodes}
        trainee.write(about, self.log)
        self.log(f"stopped at iteration {trainee.iteration:,}: {stopped}")
