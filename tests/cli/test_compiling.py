"""First use: the message while kernels are compiled is true, and after a warm-up nothing is left to compile."""

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clocks import Clock
from equipoise.cli.render import compiling
from equipoise.cli.render.compiling import CompilingNotice
from equipoise.core.compiling import on_compile
from waiting import GUARD, wait_until

COUNT = """
import sys
from equipoise.core.compiling import on_compile
names = []
on_compile(names.append)
if sys.argv[1] == "--stage":
    from equipoise.cli.warm_up import _run_stage
    _run_stage(sys.argv[2])
else:
    from equipoise.cli import main
    try:
        main()
    except SystemExit as done:
        assert not done.code
print("COMPILED", len(names), file=sys.stderr)
"""


def compiled_by(*arguments: str, cache: Path) -> tuple[int, str, str]:
    """The number of kernels that a process compiles, and what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *arguments],
        capture_output=True,
        text=True,
        timeout=GUARD,
        env={**os.environ, "EQUIPOISE_CACHE": str(cache)},
        cwd=cache,
        check=True,
    )
    return int(done.stderr.split("COMPILED")[-1]), done.stdout, done.stderr


STAGES = [
    ("equity", "equity AA KK --json"),
    pytest.param("spots", "spot solve river --target 20 --threads 1 --json", marks=pytest.mark.slow),
    pytest.param("matches", "match uniform always-call --game leduc --hands 8 --json", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("stage", "command"), STAGES)
def test_after_its_stage_a_command_compiles_nothing(stage: str, command: str, tmp_path: Path) -> None:
    assert compiled_by("--stage", stage, cache=tmp_path)[0] > 0
    compiled, out, err = compiled_by(*command.split(), cache=tmp_path)
    assert compiled == 0
    assert "compiling" not in err
    assert json.loads(out)


class Screen(io.StringIO):
    """A terminal that remembers what it shows."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def notice(monkeypatch: pytest.MonkeyPatch) -> CompilingNotice:
    monkeypatch.setattr(compiling, "PATIENCE", 0.0)
    monkeypatch.setattr(compiling, "TICK", 0.01)
    return CompilingNotice()


def wait_for(found: io.StringIO, text: str) -> None:
    wait_until(lambda: text in found.getvalue(), f"{text!r} on the screen")


def test_a_pipe_gets_one_line(notice: CompilingNotice, monkeypatch: pytest.MonkeyPatch) -> None:
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    assert notice.text() == ""
    for kernel in ("one", "two"):
        notice._begin(kernel)
        wait_for(err, "compiling, once\n")
        notice._end()
    assert notice.text() == ""
    assert err.getvalue().count("compiling") == 1


def test_a_terminal_sees_it_move_and_go(notice: CompilingNotice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(compiling.FIRST_USE, "spot solve", 9)
    monkeypatch.setattr(compiling, "on_compile", lambda *_: None)
    notice.follow(["spot", "solve", "turn"])
    err = Screen()
    monkeypatch.setattr(sys, "stderr", err)
    clock = Clock(monkeypatch, "equipoise.cli.render.compiling")
    notice._begin("one")
    for sign in "/-":
        clock.now += compiling.TICK
        wait_for(err, f"\r{sign} compiling, once, about 9 seconds: 0 s")
    notice._end()
    line = "| compiling, once, about 9 seconds: 0 s"
    assert err.getvalue().endswith(f"\r{' ' * len(line)}\r")  # the line is empty again
    with notice.shown_elsewhere():
        shown = err.getvalue()
        notice._begin("two")
        time.sleep(0.1)
        assert notice.text()  # for the display
        assert err.getvalue() == shown
        notice._end()
    notice._said = True  # ends the thread


def test_listeners_hear_the_start_and_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    from equipoise.core import compiling as core
    from equipoise.core.jit import kernel

    for name in ("_on_start", "_on_end"):
        monkeypatch.setattr(core, name, [])
    heard: list[str] = []
    on_compile(heard.append, lambda: heard.append("end"))
    twice = 2

    @kernel
    def doubled(number: int) -> int:
        return twice * number  # a closure is never cached

    assert doubled(np.int64(3)) == 6
    assert heard == ["doubled", "end"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("train --minuts 3", "equipoise: train: no option --minuts; did you mean --minutes?"),
        ("games --frobnicate", "equipoise: games: no option --frobnicate; see equipoise games --help"),
        ("equity AA", "equipoise: equity: missing argument 'HANDS'; see equipoise equity --help"),
        ("spot solv turn", "equipoise: spot: no such command 'solv'"),
        ("measure uniform --flops many", "equipoise: measure: --flops must be a whole number (got 'many')"),
        ("train leduc --iterations", "'--iterations' requires an argument"),
        ("chess", "equipoise: no such command 'chess'"),
    ],
)
def test_bad_usage_is_one_line(line: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "equipoise", *line.split()], capture_output=True, text=True, timeout=GUARD, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout
