"""Runs that survive: kill -9, damaged checkpoints, a full disk, two at once, Ctrl-C; and end with the same bits."""

import errno
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from containers import read_container
from equipoise import InputError, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.progress import TimeLeft
from equipoise.games.gamedef import write_gamedef
from equipoise.runs import cost
from equipoise.runs.folder import RunFolder, load_checkpoint
from equipoise.runs.progress import Measured, TrainingProgress, average_regret
from equipoise.runs.recipe import Recipe, load_recipe, read_recipe
from equipoise.strategy.tables import Blocks
from equipoise.training.loop import run_training
from equipoise.tree.betting_tree import DECISION, build_tree
from standin import RECIPE, StandIn, run
from waiting import GUARD, newest, wait_until

STANDIN = str(Path(__file__).parents[1] / "helpers" / "standin.py")


def tables(out: Path, iteration: int) -> dict[str, bytes]:
    header, arrays = read_container(out / "checkpoints" / f"{iteration:012d}.ckpt")
    assert header["iteration"] == iteration
    return {name: array.tobytes() for name, array in arrays.items()} | {"nodes": str(header["nodes"]).encode()}


def recipe(*overrides: str) -> Recipe:
    return load_recipe(RECIPE, overrides)


def spawn(out: Path, iterations: int, pause: float) -> subprocess.Popen[str]:
    command = [sys.executable, STANDIN, str(out), str(iterations), str(pause)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_start(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    for line in process.stdout:
        if "thread" in line:
            return line
    raise AssertionError(process.stderr.read() if process.stderr else "")


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_again_and_again_a_run_ends_with_the_same_bits(kills: int, tmp_path: Path) -> None:
    rng, killed = random.Random(5), tmp_path / "killed"
    for kill in range(kills):
        before = newest(killed)
        process = spawn(killed, 10**9, 0.0001)
        assert ("continues" in wait_for_start(process)) == (kill > 0)
        wait_until(lambda: newest(killed) > before or process.poll() is not None, "a new checkpoint")  # noqa: B023
        time.sleep(rng.uniform(0, 0.1))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    iterations = newest(killed) + 1000
    run(tmp_path / "whole", iterations)
    with (killed / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 5, "sec')  # as a kill in the middle of a line leaves it
    (killed / "checkpoints" / f".equipoise-tmp-{'0' * 16}.ckpt").write_bytes(b"half")
    process = spawn(killed, iterations, 0)
    _, errors = process.communicate(timeout=GUARD)
    assert process.returncode == 0, errors
    assert tables(killed, iterations) == tables(tmp_path / "whole", iterations)
    for kind in ("float32", "u8"):
        first, second = (
            read_container(folder / f"strategy.{kind}")[1]["chances"] for folder in (killed, tmp_path / "whole")
        )
        assert np.array_equal(first, second)
    rows = [json.loads(line)["iteration"] for line in (killed / "metrics.jsonl").read_text().splitlines()]
    assert rows == sorted(set(rows))
    assert rows[-1] == iterations
    assert not list(killed.glob("**/.*"))


@pytest.mark.slow
def test_external_sampling_killed_ten_times_ends_with_the_same_bits(tmp_path: Path) -> None:
    """The real solver by the real command: `equipoise train leduc`, one thread, killed at random moments."""
    rng, killed = random.Random(11), tmp_path / "killed"

    def command(out: Path, iterations: int) -> list[str]:
        changed = ["solver.method=external", "solver.seed=3", "measure.method=none", "checkpoint.minutes=0.0005"]
        sets = [word for change in changed for word in ("--set", change)]
        stop = ["--iterations", str(iterations), "--threads", "1"]
        start = ["--resume", str(out)] if RunFolder(out).is_run else ["leduc", "--out", str(out), *sets]
        return [sys.executable, "-m", "equipoise", "train", *start, *stop]

    resumed = []
    for _ in range(10):
        line = command(killed, 10**9)
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr
        started = next((line for line in process.stderr if "thread" in line), "")
        assert started
        found = re.search(r"continues from iteration ([0-9,]+)", started)
        resumed += [int(found[1].replace(",", ""))] if found else []
        before = newest(killed)
        wait_until(lambda: newest(killed) > before or process.poll() is not None, "a new checkpoint")  # noqa: B023
        time.sleep(rng.uniform(0, 0.25))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    assert len(resumed) == 9
    assert resumed == sorted(set(resumed))
    iterations = newest(killed) + 1000
    subprocess.run(command(tmp_path / "whole", iterations), check=True, capture_output=True, timeout=GUARD)
    done = subprocess.run(command(killed, iterations), check=False, capture_output=True, text=True, timeout=GUARD)
    assert done.returncode == 0, done.stderr
    assert tables(killed, iterations) == tables(tmp_path / "whole", iterations)
    assert (killed / "strategy.u8").read_bytes()[-4096:] == (tmp_path / "whole" / "strategy.u8").read_bytes()[-4096:]


def test_slices_do_not_matter(tmp_path: Path) -> None:
    run(tmp_path / "whole", 500)
    for until in (1, 2, 130, 131, 500):
        done = run(tmp_path / "parts", until, resume=RunFolder(tmp_path / "parts").is_run)
        assert done.progress.iteration == until
    assert tables(tmp_path / "parts", 500) == tables(tmp_path / "whole", 500)
    run(tmp_path / "other", 500, recipe=recipe("solver.seed=2"))
    assert tables(tmp_path / "other", 500) != tables(tmp_path / "whole", 500)


@pytest.mark.parametrize(
    "changes",
    [["solver.period=200"], ["solver.method=pcs"], ["solver.method=cfr-br", "solver.stage=150"]],
    ids=["external", "pcs", "cfr-br"],
)
def test_the_real_solvers_can_be_stopped_anywhere(tmp_path: Path, changes: list[str]) -> None:
    chosen = recipe(*changes)
    if chosen.solver.method == "pcs":
        pytest.importorskip("equipoise.solvers.public_chance")
    run_training(chosen, tmp_path / "whole", iterations=1000, threads=1)
    for until in (1, 199, 200, 201, 640, 1000):
        run_training(
            chosen, tmp_path / "parts", iterations=until, threads=1, resume=RunFolder(tmp_path / "parts").is_run
        )
    assert tables(tmp_path / "parts", 1000) == tables(tmp_path / "whole", 1000)


def checkpoints(out: Path) -> list[Path]:
    return RunFolder(out).listed()


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A run with checkpoints at 300 and 400."""
    for until in (100, 300, 400):
        run(tmp_path / "run", until, resume=RunFolder(tmp_path / "run").is_run, recipe=recipe("checkpoint.minutes=5"))
    assert [int(path.stem) for path in checkpoints(tmp_path / "run")] == [300, 400]
    return tmp_path / "run"


@pytest.mark.parametrize("harm", ["truncated", "flipped", "flipped header", "empty", "grown"])
def test_a_damaged_checkpoint_is_refused_and_the_one_before_used(stopped: Path, harm: str) -> None:
    newest = checkpoints(stopped)[-1]
    whole = tables(stopped, 400)
    data = bytearray(newest.read_bytes())
    if harm == "truncated":
        data = data[:-1]
    elif harm == "empty":
        data = data[:0]
    elif harm == "grown":
        data += b"\1"
    else:
        data[data.index(b'"iteration":400') + 13 if "header" in harm else len(data) // 2] ^= 1
    newest.write_bytes(data)
    said: list[str] = []
    run(stopped, 400, resume=True, say=said.append)
    assert any(str(newest) in line for line in said)
    assert any("continues from iteration 300" in line for line in said)
    assert tables(stopped, 400) == whole


def test_every_flipped_byte_is_noticed(stopped: Path) -> None:
    path = checkpoints(stopped)[-1]
    data = path.read_bytes()
    places = [*range(700), *range(700, len(data), 997), len(data) - 1]
    for place in places:
        path.write_bytes(data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :])
        with pytest.raises(InputError):
            load_checkpoint(path, "none")
    path.write_bytes(data)
    load_checkpoint(path, "none")


def test_with_no_whole_checkpoint_a_run_does_not_start_again_by_accident(stopped: Path) -> None:
    for path in checkpoints(stopped):
        path.write_bytes(path.read_bytes()[:100])
    for _ in range(2):
        with pytest.raises(InputError, match="every checkpoint is damaged"):
            run(stopped, 400, resume=True)
    for path in (stopped / "checkpoints").iterdir():  # a run that was killed before its first checkpoint
        path.unlink()
    said: list[str] = []
    run(stopped, 400, resume=True, say=said.append)
    assert any("starts from the beginning" in line for line in said)


def test_only_what_is_a_run_is_resumed(tmp_path: Path) -> None:
    """Nothing is written to a folder that is none, and nothing starts there."""
    for name, files in (("none", []), ("empty", ["."]), ("other", ["thesis.txt"]), ("recipe", ["recipe.toml"])):
        for file in files:
            (tmp_path / name).mkdir(exist_ok=True)
            if file != ".":
                (tmp_path / name / file).write_text('game = "leduc"\n')
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(InputError, match="is not the folder of a run; name one that equipoise train has written"):
            run(tmp_path / name, 10, resume=True)
        assert sorted(tmp_path.rglob("*")) == before


def test_a_run_killed_before_it_began_can_be_started(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "lock").touch()
    (tmp_path / "run" / f".equipoise-tmp-{'a' * 16}.toml").touch()
    run(tmp_path / "run", 10)
    assert RunFolder(tmp_path / "run").is_run


def test_users_files_in_a_run_stay(stopped: Path) -> None:
    names = (
        ".env",
        ".gitignore",
        ".notes.swp",
        "notes.txt",
        "checkpoints/.env",
        "checkpoints/.000000000400.ckpt.a.ckpt",
    )
    for name in names:
        (stopped / name).write_text(name)
    (stopped / f".equipoise-tmp-{'0' * 16}.toml").touch()
    (stopped / "checkpoints" / f".equipoise-tmp-{'0' * 16}.ckpt").touch()
    run(stopped, 500, resume=True)
    assert all((stopped / name).read_text() == name for name in names)
    assert not list(stopped.rglob(".equipoise-tmp-*"))


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe\x00", b"[]", b"null", b'{"iteration": "five"}', b'{"iteration": 5}', b'{"iteration": NaN}',
        b"[" * 9999, b"1" * 9999, b'{"iteration": 1e999}',
    ],
)  # fmt: skip
def test_damaged_metrics_do_not_stop_a_resume(stopped: Path, line: bytes) -> None:
    path = stopped / "metrics.jsonl"
    whole = path.read_bytes()
    assert whole
    path.write_bytes(line + b"\n" + whole[:-20] + b"\n" + line + b"\n" + whole)
    run(stopped, 500, resume=True)
    rows = [json.loads(each) for each in path.read_text().splitlines()]
    assert rows[-1]["iteration"] == 500
    changed = whole.splitlines()[0].replace(b'"regret": ', b'"regret": "much", "none": ')
    path.write_bytes(changed + b"\n")
    run(stopped, 600, resume=True)


class FullDisk(io.FileIO):
    def write(self, _: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_checkpoint_before_whole(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tables(stopped, 400)
    opened = Path.open

    def full(self: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if self.suffix == ".ckpt" and "w" in mode:
            return FullDisk(str(self), "w")
        return opened(self, mode, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        with pytest.raises(InputError) as refused:
            run(stopped, 500, resume=True)
    message = str(refused.value)
    assert "No space left on device" in message
    assert "iteration 400 is intact" in message
    assert "\n" not in message
    assert not list(stopped.glob("**/.*"))
    assert tables(stopped, 400) == before
    run(stopped, 500, resume=True)
    run(stopped.parent / "whole", 500)
    assert tables(stopped, 500) == tables(stopped.parent / "whole", 500)


def test_a_limit_on_file_sizes_is_one_line(tmp_path: Path) -> None:
    """The same from outside, by the system: a disk on which no file of a table fits."""
    limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000));"
    code = limit + (
        f"sys.path.insert(0, {str(Path(STANDIN).parent)!r})\n"
        "from standin import run\nfrom equipoise import InputError\n"
        f"try: run({str(tmp_path / 'run')!r}, 2000)\nexcept InputError as error: print('REFUSED', error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GUARD, check=False)
    assert done.stdout.startswith("REFUSED"), done.stderr
    assert "there is none yet" in done.stdout
    assert not list(tmp_path.glob("run/checkpoints/*"))


def test_a_run_that_was_moved_away_says_so(stopped: Path) -> None:
    folder, again = RunFolder(stopped), recipe("stop.iterations=450")
    newest = folder.newest(again, print)
    assert newest is not None
    stopped.rename(stopped.parent / "elsewhere")
    with pytest.raises(InputError, match=r"its folder is no longer there; put the folder back .* --resume"):
        folder.save(newest, again)


def test_two_trainings_in_one_folder_are_refused(tmp_path: Path) -> None:
    process = spawn(tmp_path / "run", 10**9, 0.001)
    wait_for_start(process)
    with pytest.raises(InputError, match="another training runs"):
        run(tmp_path / "run", 10, resume=True)
    process.kill()
    process.communicate()
    run(tmp_path / "run", 10, resume=True)  # the lock goes with its holder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_saves_and_stops(tmp_path: Path, number: signal.Signals) -> None:
    process = spawn(tmp_path / "run", 10**9, 0.0005)
    wait_for_start(process)
    time.sleep(0.2)
    process.send_signal(number)
    out, errors = process.communicate(timeout=GUARD)
    assert process.returncode == 0, errors
    assert "interrupted" in out
    done = int(checkpoints(tmp_path / "run")[-1].stem)
    assert (tmp_path / "run" / "strategy.u8").is_file()
    run(tmp_path / "whole", done)
    assert tables(tmp_path / "run", done) == tables(tmp_path / "whole", done)


def test_folders_and_recipes_that_do_not_fit_are_refused(stopped: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not empty"):
        run(stopped, 500)
    with pytest.raises(InputError, match="another recipe"):
        run(stopped, 500, resume=True, recipe=recipe("solver.seed=2"))
    other = load_recipe(stopped, ["solver.seed=2"])
    RunFolder(stopped).keep_recipe(other)  # the checkpoints know too
    with pytest.raises(InputError, match="another recipe"):
        run(stopped, 500, resume=True, recipe=other)
    assert len(checkpoints(stopped)) == 2
    (tmp_path / "file").write_text("")
    for resume in (False, True):
        with pytest.raises(InputError):
            run(tmp_path / "file", 500, resume=resume)
    with pytest.raises(InputError, match="has no stopping condition"):
        run(tmp_path / "new", None, recipe=read_recipe({"game": "leduc"}))
    with pytest.raises(InputError, match="positive"):
        run(tmp_path / "new", None, minutes=-1)
    for number in (0, float("nan")):
        with pytest.raises(InputError, match="positive"):
            run(tmp_path / "new", None, minutes=number)
    assert not (tmp_path / "new").exists()


def test_what_cannot_fit_is_refused_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "available_memory", lambda: 1000)
    with pytest.raises(InputError, match=r"B of memory.*fewer buckets"):
        run(tmp_path / "new", 5)
    trunk = read_recipe({"game": "leduc", "solver": {"method": "cfr-br", "trunk": 2}, "stop": {"iterations": 5}})
    with pytest.raises(InputError, match=r"B of memory.*a shorter trunk"):
        run(tmp_path / "new", 5, recipe=trunk)
    monkeypatch.undo()
    monkeypatch.setattr(cost.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 100))  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="B of disk"):
        run(tmp_path / "new", 5)
    assert not (tmp_path / "new").exists()


def test_a_run_can_go_on_where_its_recipe_changes_only_when_it_stops(stopped: Path) -> None:
    run(stopped, None, resume=True, recipe=recipe("stop.iterations=450", "checkpoint={keep=3}"))
    assert [int(path.stem) for path in checkpoints(stopped)] == [300, 400, 450]
    assert load_recipe(stopped).stop.iterations == 450
    assert load_recipe(stopped).fingerprint == recipe().fingerprint


def test_a_folder_holds_its_game(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "mine.game").write_text(write_gamedef(load_game("kuhn")))
    (tmp_path / "here" / "mine.toml").write_text('game = "mine.game"\n[stop]\niterations = 20\n')
    run(tmp_path / "run", None, recipe=tmp_path / "here" / "mine.toml")
    shutil.rmtree(tmp_path / "here")
    run(tmp_path / "run", 30, recipe=tmp_path / "run", resume=True)
    assert checkpoints(tmp_path / "run")[-1].stem.endswith("030")


def test_looks_and_measurements_reach_the_caller_and_the_file(tmp_path: Path) -> None:
    seen: list[TrainingProgress] = []
    asked: list[int] = []

    def measure(strategy: Any) -> Measured:
        profile, buckets = strategy
        assert profile.chances.sum() == pytest.approx(profile.layout.infosets, rel=1e-4)
        assert buckets.buckets == profile.layout.buckets
        asked.append(1)
        return Measured(100.0 / len(asked))

    wanted = recipe("measure.method=exact", "measure.every=0.0001", "stop.exploitability=30")
    done = run(tmp_path / "run", 10**8, recipe=wanted, measure=measure, on_progress=seen.append, pause=0.001)
    assert done.stopped == "exploitability"
    assert len(asked) == 4
    assert done.progress.exploitability_mbb == 25
    written = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in written] == [row.iteration for row in seen]
    assert [row["exploitability_mbb"] for row in written if row["exploitability_mbb"]] == [100, 50, 100 / 3, 25]
    assert all(row.regret > 0 and row.visited == 1 and row.iterations_per_second > 0 for row in seen)
    with pytest.raises(InputError, match="measure"):
        run(tmp_path / "new", 10, recipe=wanted)


def test_the_time_left_is_the_rest_of_the_limit_or_that_of_the_iterations(tmp_path: Path) -> None:
    seen: list[TrainingProgress] = []
    done = equipoise.train("leduc", tmp_path / "minutes", minutes=0.02, threads=1, on_progress=seen.append)
    assert done.stopped == "minutes"
    assert [row.seconds_left for row in seen] == [max(0.0, 1.2 - row.seconds) for row in seen]
    seen.clear()
    run(tmp_path / "iterations", 2000, recipe=recipe(), on_progress=seen.append, pause=0.001)
    now = [0.0]
    left = TimeLeft(lambda: now[0])
    for row in seen:
        now[0] = row.seconds
        left.update(row.iteration / 2000)
        assert row.seconds_left == left.seconds


def test_a_lower_bound_is_not_called_exploitability(tmp_path: Path) -> None:
    wanted = load_recipe(
        "leduc", ["measure={method='lbr',every=0.001,hands=100}", "stop={iterations=20000}", "solver.period=1000"]
    )
    done = equipoise.train(wanted, tmp_path / "run", threads=1)
    assert done.progress.exploitability_mbb is None
    assert (
        done.progress.lbr_mbb is not None and done.progress.lbr_ci95_mbb is not None and done.progress.lbr_ci95_mbb > 0
    )
    assert "lower bound" in done.progress.measured_text
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert all(row["exploitability_mbb"] is None for row in rows) and rows[-1]["lbr_mbb"] == done.progress.lbr_mbb
    assert (tmp_path / "run" / "progress.png").is_file()
    with pytest.raises(InputError, match=r"stop\.exploitability"):
        load_recipe("leduc", ["measure.method=lbr", "stop.exploitability=5"])
    with pytest.raises(InputError, match="hands"):
        load_recipe("leduc", ["measure.hands=500"])


def test_minutes_stop_a_run(tmp_path: Path) -> None:
    done = run(tmp_path / "run", None, minutes=0.003, pause=0.001)
    assert done.stopped == "minutes"
    assert done.progress.seconds >= 0.18
    assert done.as_json()["iterations"] == done.progress.iteration


def test_the_average_positive_regret_is_what_it_says() -> None:
    rules = recipe().game.rules
    tree = build_tree(rules)
    solver = StandIn(tree, BucketMap.lossless(rules), 1)
    solver.run(7)
    solver.regret[:200] = 0
    total, visited = 0.0, 0
    for node in np.flatnonzero(tree.kind == DECISION).tolist():
        for values in solver.layout.at(solver.regret, node):
            total += float(np.maximum(values, 0).sum())
            visited += bool((values != 0).any())
    found, share = average_regret(solver, Blocks.of(solver.layout))
    assert found == pytest.approx(total / visited / 7, rel=1e-5)
    assert share == visited / solver.layout.infosets < 1
