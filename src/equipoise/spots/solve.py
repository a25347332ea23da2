"""The loop of a vector solve: iterate, measure exploitability, stop at the target.

Ctrl-C and SIGTERM stop it after the current iteration and keep the solution so far.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from math import ceil, inf
from pathlib import Path

from equipoise.core.errors import InputError, check_count
from equipoise.core.machine import available_memory, thread_count
from equipoise.core.signals import stopping
from equipoise.core.wording import counted, size_text
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.spots.cost import SolveCost, cost_of_solve, usual_iterations
from equipoise.spots.problem import Menu, Problem, read_problem
from equipoise.spots.progress import EndEstimate, SolveProgress
from equipoise.spots.solution import SUFFIX, Solution, SolverState
from equipoise.spots.spot import Spot
from equipoise.spots.trend import Measurement, iteration_at
from equipoise.walk.table_storage import storage_name, table_type

FIRST_MEASUREMENT = 10
PIECE = 0.5  # seconds of iterations between two reports
OnProgress = Callable[[SolveProgress], None]


def solve(
    what: Spot | GameRules | Problem | Solution | str | Path,
    *,
    target: float | None = None,
    iterations: int = 10_000,
    variant: str = "practical",
    menu: Menu | None = None,
    threads: int = 0,
    storage: str = "float32",
    resumable: bool = False,
    on_progress: OnProgress | None = None,
) -> Solution:
    """Solve a spot (a value, or a TOML or JSON file) or a small game (rules or a built-in name).

    A solution (a value or a file) is solved again: if it has the regrets of this variant and storage, from where it
    stopped, else from the start. `resumable` keeps them: the file is then up to eight times as large.

    `target` is an exploitability in percent of the pot (of the big blind, for a game; default: the spot's own); 0 runs
    all `iterations`. The solution's `stopped` says what ended the solve: target, iterations or interrupted. `menu` is
    for a no-limit game: a built-in menu's name, a TOML file, or a `[betting]` table (default: the standard menu).
    `storage` is the type of the tables: float32, or int16 for half the memory (see walk/table_storage.py).
    `on_progress` gets a `SolveProgress` before the first iteration, about twice a second, and after each measurement.
    Without it, a solve of over a gigabyte or a minute begins with a warning that says what it takes; `solve_cost` tells
    beforehand.
    """
    stored = table_type(storage)
    check_count(iterations, "iterations")
    if str(what).endswith(SUFFIX):
        what = Solution.load(str(what))
    problem = problem_of(what, menu)
    if target is None:
        target = problem.target
    threads = thread_count(threads)
    tables = 3 if variant == "predictive" else 2
    needed, free = problem.memory_bytes(threads, tables, stored), available_memory()
    if needed > free:
        raise InputError(
            f"{counted(len(problem.tree), 'betting node')} on {counted(len(problem.cards.cards), 'board')}: "
            f"the solve needs {size_text(needed)}, and only {size_text(free)} is free",
            remedy="use fewer bet sizes, a cap, narrower ranges, or 16-bit storage",
        )
    engine = problem.engine(threads, stored=stored)
    _warm_up(variant, stored, engine.in_threads)
    cost = cost_of_solve(problem, target, iterations, variant, threads, storage, resumable=resumable)
    if cost.heavy and on_progress is None:
        warnings.warn(cost.hint, stacklevel=2)
    earlier = what if isinstance(what, Solution) and continues(what, variant, storage) else None
    if earlier and earlier.state:
        state = {name: table.copy() for name, table in earlier.state.arrays().items()}
        solver = VectorCFR(engine, variant, earlier.iterations, **state)
    else:
        solver = VectorCFR(engine, variant)
        for table in (solver.current, solver.average):
            problem.lock_tables(engine, table)
    return _run(problem, solver, cost, target, iterations, on_progress, resumable=resumable, earlier=earlier)


def solve_cost(
    what: Spot | GameRules | Problem | Solution | str | Path,
    *,
    target: float | None = None,
    iterations: int = 10_000,
    variant: str = "practical",
    menu: Menu | None = None,
    threads: int = 0,
    storage: str = "float32",
    resumable: bool = False,
) -> SolveCost:
    """What a solve with these options would take: its tree, memory, file, and about how many seconds."""
    table_type(storage)
    problem = problem_of(what, menu)
    target = problem.target if target is None else target
    threads = thread_count(threads)
    _warm_up(variant, table_type(storage), threads > 1)
    return cost_of_solve(problem, target, iterations, variant, threads, storage, resumable=resumable, timed=True)


def continues(solution: Solution, variant: str, storage: str) -> bool:
    """Can a solve with these options continue from a solution?"""
    state = solution.state
    return state is not None and (state.variant, state.average.dtype.type) == (variant, table_type(storage))


def solved_already(path: str | Path, problem: Problem, target: float | None = None) -> Solution | None:
    """The solution in a file, if it is one of this very problem, and as exact as the target asks for."""
    if not Path(path).is_file():
        return None
    try:
        there = Solution.load(path)
    except InputError:
        return None
    wanted = problem.target if target is None else target
    same = there.problem.source == problem.source
    return there if same and there.history and there.percent <= wanted else None


def problem_of(what: Spot | GameRules | Problem | Solution | str | Path, menu: Menu | None = None) -> Problem:
    """What `solve` would solve."""
    if isinstance(what, Problem | Spot | Solution):
        if menu is not None:
            raise InputError("a menu for a problem with its own bets", remedy="leave out the menu")
        return what if isinstance(what, Problem) else Problem.of_spot(what) if isinstance(what, Spot) else what.problem
    if isinstance(what, GameRules):
        return Problem.of_game(what, menu)
    if str(what).endswith(SUFFIX):
        return problem_of(Solution.load(what), menu)
    return read_problem(str(what), menu)


@cache
def _warm_up(variant: str, stored: type, in_threads: bool) -> None:
    """Compile (or load) the kernels on a tiny game, so that the clock measures solving only."""
    solver = VectorCFR(Problem.of_game(load_game("leduc")).engine(1 + in_threads, stored=stored), variant)
    solver.run(1)
    solver.exploitability()
    solver.fill_gaps()


def _next_measurement(history: Sequence[Measurement], target: float) -> int:
    """How many iterations to run before the next measurement, which costs about as much as an iteration.

    A tenth of those done; less if the trend of the last two measurements, a power law, reaches the target before that.
    """
    if not history:
        return FIRST_MEASUREMENT
    done = history[-1][0]
    expected = iteration_at(target, history[-2], history[-1]) - done if len(history) > 1 else inf
    return max(FIRST_MEASUREMENT, ceil(min(done // 10, max(done // 50, expected))))


class _StopError(Exception):
    """Raised between iterations after a signal to stop."""


def _run(
    problem: Problem,
    solver: VectorCFR,
    cost: SolveCost,
    target: float,
    iterations: int,
    on_progress: OnProgress | None,
    *,
    resumable: bool,
    earlier: Solution | None,
) -> Solution:
    start, cpu_start = time.perf_counter(), time.process_time()
    history: list[tuple[int, float, float]] = []
    if earlier:
        start, cpu_start = start - earlier.seconds, cpu_start - earlier.cpu_seconds
        history = list(earlier.history)
    reached = bool(history) and history[-1][2] <= target
    stopped = "iterations" if target > 0 and not reached else "target"  # no target asks for all iterations
    begun, resumed = time.perf_counter(), solver.iteration
    end = EndEstimate(target, iterations, resumed + min(usual_iterations(target), iterations))
    told = -inf
    with stopping() as asked:

        def stop_if_asked(_iteration: int) -> None:
            if asked.is_set():
                raise _StopError

        def tell(*, measured: bool = False) -> None:
            nonlocal told
            now = time.perf_counter()
            if on_progress and (measured or now - told >= PIECE):
                told = now
                left = end.seconds_left(solver.iteration - resumed, solver.iteration, now - begun)
                percent = history[-1][2] if history else None
                on_progress(SolveProgress(cost, solver.iteration, now - start, percent, left, measured))

        def measure() -> float:
            left = 100 * solver.exploitability() / problem.unit
            history.append((solver.iteration, time.perf_counter() - start, left))
            end.measured(history)
            tell(measured=True)
            return left

        solver.on_iteration = stop_if_asked
        try:
            tell()
            while solver.iteration < iterations and not reached:
                stop = min(solver.iteration + _next_measurement(history, target), iterations)
                while solver.iteration < stop:  # in pieces, so that a large spot can report and stop in between
                    done = solver.iteration - resumed
                    pace = (time.perf_counter() - begun) / done if done else PIECE
                    solver.run(min(max(1, int(PIECE / pace)), stop - solver.iteration))
                    tell()
                if measure() <= target:
                    stopped = "target"
                    break
        except _StopError:
            stopped = "interrupted"
            measure()
        except KeyboardInterrupt:  # of `on_progress`; or a second signal, which does not wait
            if asked.is_set() or not solver.iteration:
                raise
            stopped = "interrupted"
        state = None
        if resumable:
            state = SolverState(solver.variant, solver.average.copy(), solver.regret, solver.predicted, solver.scale)
        solver.fill_gaps()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    return Solution(
        problem, solver.average, solver.iteration, seconds, cpu, history, solver.engine.threads, stopped, target, state,
        storage_name(solver.engine.stored),
    )  # fmt: skip
