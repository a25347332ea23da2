"""Faults in the middle of a run, ten of each. Whatever was lost, the tables end with the bits of an untouched run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from waiting import GUARD, newest

pytest.importorskip("ray", reason="needs pip install 'equipoise[cluster]'")

from equipoise.cluster.engine import Engine, Patience
from equipoise.cluster.ray_door import Cluster
from equipoise.core.errors import InputError
from equipoise.runs.recipe import Recipe, read_recipe
from equipoise.strategy.file import load_strategy
from equipoise.training.cluster_trainee import ClusterOptions
from equipoise.training.loop import run_training
from processes import part_actors
from toy_split import ToyHead, run_here, table_of, toy_makers

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]
FAULTS = 10
HELPERS = Path(__file__).parents[1] / "helpers"
PUBLIC = {"public": {"clusters": 3, "base": 3}}
SOLVERS: dict[str, Any] = {
    "blades": {"solver": {"method": "external", "seed": 3, "period": 10_000}, "cards": PUBLIC},
    "tasks": {"solver": {"method": "pcs", "boards": 2, "seed": 3}},
}
ITERATIONS = {"blades": 500_000, "tasks": 1000}  # about ten seconds in two parts


def recipe(name: str) -> Recipe:
    return read_recipe({"game": "leduc", "checkpoint": {"minutes": 0.02}, **SOLVERS[name]})


def table(run: Path) -> Any:
    return load_strategy(run / "strategy.float32").profile.chances


@contextmanager
def disturbed(run: Path, number: signal.Signals) -> Iterator[None]:
    """Send a signal to a random part, again and again: a while after each new checkpoint."""
    chance, ended = random.Random(1), threading.Event()

    def disturb() -> None:
        sent, at = 0, newest(run)
        while not ended.wait(chance.uniform(0.1, 1.0)) and sent < FAULTS:
            parts = part_actors(os.getpid())
            if newest(run) > at and len(parts) == 2:
                at = newest(run)
                os.kill(chance.choice(parts), number)
                sent += 1

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hangs"])
@pytest.mark.parametrize("name", list(SOLVERS))
def test_children_that_are_lost_change_no_bit(name: str, number: signal.Signals, tmp_path: Path) -> None:
    chosen, lines, faults, iterations = recipe(name), list[str](), 0, 0
    options = ClusterOptions("auto", 2, patience=Patience(start=20.0, least=2.0, times=20.0))
    while faults < FAULTS:
        iterations += ITERATIONS[name]
        lines.clear()
        with disturbed(tmp_path / "disturbed", number):
            run_training(
                chosen, tmp_path / "disturbed", iterations=iterations, threads=1, resume=iterations > ITERATIONS[name],
                cluster=options, say=lines.append,
            )  # fmt: skip
        faults += sum(line.startswith("lost part") for line in lines)
    run_training(chosen, tmp_path / "calm", iterations=iterations, threads=1, cluster=ClusterOptions("auto", 2))
    assert np.array_equal(table(tmp_path / "disturbed"), table(tmp_path / "calm"))


def test_a_machine_that_is_lost_changes_no_bit(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HELPERS), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, str(HELPERS / "node_loss.py"), str(tmp_path), str(FAULTS)],
        env=environment, capture_output=True, text=True, timeout=GUARD, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("lost part") == FAULTS


@pytest.mark.parametrize("name", list(SOLVERS))
def test_a_head_that_is_killed_resumes(name: str, tmp_path: Path) -> None:
    chance, run, kills = random.Random(2), tmp_path / "killed", 0
    sets = [f"solver={inline(SOLVERS[name]['solver'])}", "measure.method=none", "checkpoint.minutes=0.005"]
    sets += [f"cards={inline(PUBLIC)}"] if name == "blades" else []
    words = [word for change in sets for word in ("--set", change)]
    command = [sys.executable, "-m", "equipoise", "train"]
    rest = ["--cluster", "local", "--parts", "2", "--threads", "1", "--iterations", "100000000", *words]
    while kills < FAULTS:
        start = ["--resume", str(run)] if (run / "recipe.toml").exists() else ["leduc", "--out", str(run)]
        head = subprocess.Popen([*command, *start, *rest], stderr=subprocess.DEVNULL)
        try:
            before = newest(run)
            while newest(run) == before:
                assert head.poll() is None
                time.sleep(0.05)
            time.sleep(chance.uniform(0, 0.5))
        finally:
            head.kill()
            head.wait()
        kills += 1
    last = newest(run) + 1000
    done = subprocess.run(
        [*command, "--resume", str(run), "--cluster", "local", "--iterations", str(last), "--threads", "1"],
        capture_output=True, text=True, timeout=GUARD, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    calm = [*command, "leduc", "--out", str(tmp_path / "calm"), "--cluster", "local", "--threads", "1"]
    subprocess.run([*calm, "--iterations", str(last), *words], check=True, capture_output=True, timeout=GUARD)
    assert np.array_equal(table(run), table(tmp_path / "calm"))


def inline(values: dict[str, Any]) -> str:
    """A table as TOML writes it in a line."""
    pairs = (f"{key}={inline(value) if isinstance(value, dict) else repr(value)}" for key, value in values.items())
    return "{" + ",".join(pairs) + "}"


def test_full_disks_leave_the_cut_before(cluster: Cluster, tmp_path: Path) -> None:
    engine = Engine(
        cluster, ToyHead(2, 2), toy_makers(2, tmp_path), folder=tmp_path / "parts", fingerprint="toy",
        patience=Patience(start=60.0, least=2.0),
    )  # fmt: skip
    try:
        for fault in range(FAULTS):
            engine.run(3)
            engine.save()
            kept = engine.head.iteration
            engine.confirm([kept])
            part = fault % 2
            (tmp_path / f"full-{part}").touch()
            engine.run(4)
            with pytest.raises(InputError, match=f"part {part}: .*iteration {kept:,} is intact"):
                engine.save()
            os.kill(engine.abouts()[part].process, signal.SIGKILL)  # its limit goes with it
            engine.run(1)
            head, parts = run_here(2, engine.head.iteration, 2)
            assert np.array_equal(engine.head.arrays()["table"], head)
            assert all(
                np.array_equal(a, b)
                for a, b in zip((engine.ask(part, table_of) for part in range(2)), parts, strict=True)
            )
    finally:
        engine.close()
