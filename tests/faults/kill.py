"""Trainings that are killed at random moments, and what must be true afterwards.

A run of one thread and one seed that stops by iterations is a fixed computation. However often it is killed and
resumed, it must end with the bits of the run that nobody touched: in its strategies, and in all that its checkpoint
holds, which shows when both runs are continued. What users keep in a run's folder stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import equipoise
from attempts import Ended, finish, start
from dose import Tally
from waiting import GUARD

MORE = 64  # iterations by which finished runs are continued
OFTEN = ("measure.method=none", "checkpoint.minutes=0.0003")  # a checkpoint each 18 ms: kills land in writes
STRATEGIES = ("strategy.float32", "strategy.u8", "strategy.current-1.u8")
MINE = {
    ".env": b"TOKEN=1\n",
    ".gitignore": b"*\n",
    ".notes.ckpt": b"mine\n",
    "notes.txt": b"do not delete\n",
    "checkpoints/.keep": b"",
    "checkpoints/.gitignore": b"*.ckpt\n",
    "checkpoints/mine.u8": b"mine\n",
    "checkpoints/2024.ckpt": b"mine\n",
    "checkpoints/9999999999.ckpt": b"mine\n",
    "checkpoints/mine.damaged": b"mine\n",
}


@dataclass(frozen=True)
class Training:
    """One solver on a small game: overrides of the recipe `leduc`, and iterations that take about a second."""

    name: str
    overrides: tuple[str, ...]
    iterations: int

    def arguments(self, out: Path, *, resume: bool) -> list[str]:
        """Of the command line."""
        sets = [word for change in (*self.overrides, *OFTEN) for word in ("--set", change)]
        start = ["--resume", str(out)] if resume else ["leduc", "--out", str(out)]
        return ["train", *start, "--iterations", str(self.iterations), "--threads", "1", *sets]

    def train(self, out: Path, iterations: int, *, resume: bool = False) -> None:
        """The same by the library."""
        overrides = (*self.overrides, *OFTEN)
        equipoise.train("leduc", out, iterations=iterations, threads=1, resume=resume, overrides=overrides)


QUICK = ("external", "pcs", "cfr-br", "trunk")  # the others are their variants
BUCKETS = "cards={preflop={method='percentile',buckets=2}}"
TRAININGS = {
    training.name: training
    for training in (
        Training("external", ("solver={method='external',seed=3,period=10000}",), 500_000),
        Training("external-pruned", ("solver={method='external',seed=4,prune=5.0}", BUCKETS), 500_000),
        Training("pcs", ("solver={method='pcs',seed=3,boards=2}",), 4_000),
        Training("pcs-cycle", ("solver={method='pcs',seed=5,cycle=true}", BUCKETS), 4_000),
        Training("cfr-br", ("solver={method='cfr-br',stage=900}",), 5_000),
        Training("trunk", ("solver={method='cfr-br',trunk=1,seed=3}",), 7_000),
        Training("trunk-current", ("solver={method='cfr-br',trunk=1,seed=6,keep='current',currents=2}",), 7_000),
    )
}


def result_of(training: Training, run: Path, copy: Path) -> dict[str, Any]:
    """All that a finished run holds, bit by bit: its strategies, and those of its continuation.

    A checkpoint's bytes differ between runs by the seconds they took. Its tables, counters and random state all show
    in what comes after it, so that is compared instead.
    """
    found: dict[str, Any] = {}
    shutil.copytree(run, copy)
    for name in STRATEGIES:
        if (run / name).exists():
            found[name] = equipoise.load_strategy(run / name).stored.tobytes()
    training.train(copy, training.iterations + MORE, resume=True)
    found["continued"] = equipoise.load_strategy(copy).stored.tobytes()
    shutil.rmtree(copy)
    return found


class Killing:
    """Runs of one training, one after the other, until so many kills have landed."""

    def __init__(self, training: Training, folder: Path, rng: Random, tally: Tally) -> None:
        self.training, self.folder, self.rng, self.tally = training, folder, rng, tally
        self.run, self.own_files = folder / "killed", False
        training.train(folder / "whole", training.iterations)
        self.whole = result_of(training, folder / "whole", folder / "copy")

    def kill(self, times: int) -> None:
        """Kill that often; every run that comes to its end is compared, the last one is led there."""
        landed = 0
        while landed < times:
            ended = self._once(starting=landed > 0 and self.rng.random() < 0.25)
            self._check_own_files()
            if ended is None:
                landed += 1
                self.tally.add("killed")
            elif not self._check_end(ended):
                return
        ended = finish(self._start(), GUARD)
        self._check_own_files()
        self._check_end(ended)

    def _start(self) -> subprocess.Popen[str]:
        if not (self.run / "recipe.toml").exists():  # killed before there was a run
            shutil.rmtree(self.run, ignore_errors=True)
            self.own_files = False
            return start(self.training.arguments(self.run, resume=False))
        if not self.own_files:
            self._place_own_files()
        return start(self.training.arguments(self.run, resume=True))

    def _once(self, *, starting: bool) -> Ended | None:
        """Start or resume the run and kill it, while it starts or while it trains; how it ended if it was faster."""
        process = self._start()
        if starting:
            pause = self.rng.uniform(0, 1.5)
        else:
            _wait_for_training(process)
            pause = self.rng.uniform(0, 0.4)
        try:
            out, err = process.communicate(timeout=pause)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None
        return Ended(process.returncode, out, err)

    def _place_own_files(self) -> None:
        for name, content in MINE.items():
            (self.run / name).parent.mkdir(exist_ok=True)
            (self.run / name).write_bytes(content)
        self.own_files = True

    def _check_own_files(self) -> None:
        if not self.own_files:
            return
        paths = {name: self.run / name for name in MINE}
        lost = [name for name, path in paths.items() if not path.exists() or path.read_bytes() != MINE[name]]
        if lost:
            self.tally.add("own files lost", fault=f"{', '.join(lost)}")
            self._place_own_files()

    def _check_end(self, ended: Ended) -> bool:
        """Whether the run ended as it should; the next one begins anew."""
        fault = ended.fault or (ended.code and ended.last_line)
        if not fault:
            found = result_of(self.training, self.run, self.folder / "copy")
            wrong = [name for name in self.whole if found.get(name) != self.whole[name]]
            fault = f"other bits in {', '.join(wrong)}" if wrong else ""
        self.tally.add("ended with other bits" if fault else "ended with the same bits", fault=str(fault))
        shutil.rmtree(self.run)
        self.own_files = False
        return not fault


def _wait_for_training(process: subprocess.Popen[str]) -> None:
    """Until it says that it has started or resumed: then it iterates."""
    assert process.stderr
    deadline = time.monotonic() + GUARD
    while time.monotonic() < deadline:
        if select.select([process.stderr], [], [], 1.0)[0]:
            line = process.stderr.readline()
            if not line or "thread" in line:
                return


def kill_solve(out: Path, times: int, rng: Random, tally: Tally) -> None:
    """Kill solves of a small game, which cannot be resumed: their file is not there, or whole."""
    arguments = ["spot", "solve", "leduc", "--out", str(out), "--iterations", "5000", "--target", "0", "--threads", "1"]
    started = time.monotonic()
    done = finish(start(arguments), GUARD)
    assert not done.fault, done.fault
    took, expected = time.monotonic() - started, _solution(out)
    for _ in range(times):
        out.unlink(missing_ok=True)
        process = start(arguments)
        try:
            process.communicate(timeout=took * rng.uniform(0.3, 1.1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        if not out.exists():
            tally.add("killed before there was a file")
            continue
        same = _solution(out) == expected
        tally.add("whole file" if same else "other file", fault="" if same else "another solution")


def _solution(path: Path) -> tuple[bytes, bytes]:
    view = equipoise.Solution.load(path).strategy()
    return view.strategy.tobytes(), view.ev.tobytes()


def kill_map(folder: Path, times: int, rng: Random, tally: Tally) -> None:
    """Kill the building of a bucket map in a cache of its own; the next one opens or rebuilds it, the same."""
    recipe = {"game": "leduc", "cards": {"flop": {"method": "percentile", "buckets": 2}}}
    text = 'game = "leduc"\n[cards]\nflop = { method = "percentile", buckets = 2 }\n'
    (folder / "map.toml").write_text(text)
    boards = [[card] for card in range(6)]
    expected = _map_bytes(recipe, boards)
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    for _ in range(times):
        process = start(["abstraction", "report", str(folder / "map.toml")], cache=cache)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=rng.uniform(0.5, 4.0))
        process.kill()
        process.communicate()
        tally.add("killed")
    done = finish(start(["abstraction", "report", str(folder / "map.toml")], cache=cache), GUARD)
    tally.add(done.word, fault=done.fault)
    with _environment(cache):
        same = _map_bytes(recipe, boards) == expected
    tally.add("same map" if same else "other map", fault="" if same else "other buckets")


def _map_bytes(recipe: dict[str, Any], boards: list[list[int]]) -> list[bytes]:
    found = equipoise.build_abstraction(recipe)
    return [np.asarray(found.buckets_of_board(1, board)).tobytes() for board in boards]


@contextlib.contextmanager
def _environment(cache: Path) -> Any:
    before = os.environ.get("EQUIPOISE_CACHE")
    os.environ["EQUIPOISE_CACHE"] = str(cache)
    try:
        yield
    finally:
        if before is None:
            del os.environ["EQUIPOISE_CACHE"]
        else:
            os.environ["EQUIPOISE_CACHE"] = before
