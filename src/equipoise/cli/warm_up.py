"""Compile what the commands use: a tiny piece of work in every room, in processes that share the cache of kernels.

A kernel is compiled for the types of its arguments, so each stage does what its commands do by default, with one thread
and with two, in a small game and in hold'em.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import equipoise
from equipoise.core.compiling import on_compile
from equipoise.core.machine import thread_count
from equipoise.core.progress import Progress
from equipoise.core.workers import workers
from equipoise.spots.report import runout_report
from equipoise.walk.strategy_codes import code_strategy

MOST_PROCESSES = 2  # stages share most kernels: more processes would wait for each other
RIVER = """
board = "Qs Jh 2h 8d 5c"
pot = 100
stack = 200
ranges = { oop = "AA,KQ,T9s", ip = "QQ,AQ,87s" }
betting = { bet = [0.5, "all-in"] }
"""
TURN = RIVER.replace(" 5c", "")
LEDUC = 'game = "leduc"\n'
TWO_FOUR = """
game = "holdem.two-four"
cards.preflop = { method = "percentile", buckets = 2 }
cards.flop = { method = "percentile", buckets = 2 }
"""


def _equity(_folder: Path) -> None:
    for board in ("", "2c 7d Jh", "2c 7d Jh 3s"):
        equipoise.equity("AA", "QQ:0.5,AKs", board)


def _games(_folder: Path) -> None:
    equipoise.game_report("holdem.limit")
    equipoise.game_report("holdem.nolimit", "pot")


def _spots(folder: Path) -> None:
    for threads in (1, 2):
        equipoise.solve("leduc", target=5, threads=threads)
        for text in (RIVER, TURN):
            solution = equipoise.solve(equipoise.read_spot(text), target=5, threads=threads)
    solution.save(folder / "turn.solution")
    solution = equipoise.Solution.load(folder / "turn.solution")
    coded = code_strategy(solution.engine, solution.average, np.uint8)  # as files of larger spots have it
    replace(solution, average=coded).strategy("check")
    solution.engine.exploitability(solution.engine.tables(coded))
    solution.strategy("check").as_json()
    runout_report(solution, "check, check")


def _training(method: str, *settings: str) -> Callable[[Path], None]:
    """A stage that trains by a method, with settings of recipes that choose other kernels."""

    def train(folder: Path) -> None:
        for threads in (1, 2):
            _train(LEDUC, folder / str(threads), method, threads, *settings)
        _train(TWO_FOUR, folder / "two-four", method, 2, *settings)
        if method == "cfr-br":
            _train(LEDUC, folder / "whole", method)  # without a trunk

    return train


def _train(game: str, run: Path, method: str = "external", threads: int = 1, *settings: str) -> str:
    """The folder of a short run."""
    recipe = run.with_suffix(".toml")
    recipe.write_text("\n".join([game, f'solver.method = "{method}"', *settings]))
    equipoise.train(recipe, run, iterations=2, threads=threads)
    return str(run)


def _measures(folder: Path) -> None:
    run = _train(LEDUC, folder / "leduc")
    for threads in (1, 2):
        equipoise.measure_agent(run, threads=threads)
        equipoise.measure_agent("uniform", game="leduc", threads=threads)
    equipoise.measure_agent("always-call", game="holdem.limit", sample_flops=5)


def _bounds(folder: Path) -> None:
    equipoise.measure_agent(_train(LEDUC, folder / "leduc"), method="lbr", hands=20)
    equipoise.measure_agent("always-call", game="holdem.nolimit", method="lbr", hands=20)


def _matches(folder: Path) -> None:
    run = _train(LEDUC, folder / "leduc")
    for threads in (1, 2):
        equipoise.match(run, "uniform", hands=40, threads=threads)
        equipoise.match("always-raise", "uniform", game="holdem.nolimit", hands=40, threads=threads)
    equipoise.match(run, "uniform", hands=8, aivat=True, threads=1)
    equipoise.match("always-call", "uniform", game="kuhn", hands=8, aivat=True, threads=1)


def _abstractions(_folder: Path) -> None:
    for recipe in ("two-four-ehs", "two-four-ochs"):
        equipoise.abstraction_report(recipe, samples=100)


def _parts(_folder: Path) -> None:
    """The kernels of trainings in parts; parts run in processes that read them from the cache."""
    from equipoise.solvers.blades.build import blades_solver

    recipe = equipoise.load_recipe("two-four-blades")
    blades_solver(recipe.game.tree, recipe.game.buckets(), 1, **recipe.solver.settings()).run(2)


STAGES: dict[str, Callable[[Path], None]] = {  # the longest first: two processes then end together
    "spots": _spots,
    "train by external sampling": _training("external", "solver.period = 1"),
    "train by CFR-BR": _training("cfr-br", "solver.trunk = 1"),
    "exact measures": _measures,
    "train by public chance sampling": _training("pcs"),
    "lower bounds": _bounds,
    "matches": _matches,
    "abstractions": _abstractions,
    "train in parts": _parts,
    "equity": _equity,
    "games": _games,
}


def _run_stage(name: str) -> tuple[str, float, int]:
    """Do a stage's work: its name, its seconds, and the number of kernels that were compiled for it."""
    compiled: list[str] = []
    on_compile(compiled.append)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        STAGES[name](Path(folder))
    return name, time.monotonic() - start, len(compiled)


def compile_all(threads: int = 0, progress: Progress | None = None) -> dict[str, Any]:
    """Compile the kernels of all commands; the stages with their seconds and number of kernels, for `--json`."""
    start = time.monotonic()
    rows: list[dict[str, Any]] = []
    with workers(_run_stage, min(MOST_PROCESSES, thread_count(threads))) as submit:
        waiting = {submit(name) for name in STAGES}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for each in done:
                name, seconds, compiled = each.result()
                rows.append({"stage": name, "seconds": seconds, "compiled": compiled})
            if progress:
                progress(f"compiling: {rows[-1]['stage']} done", len(rows) / len(STAGES))
    return {"seconds": time.monotonic() - start, "compiled": sum(row["compiled"] for row in rows), "stages": rows}
