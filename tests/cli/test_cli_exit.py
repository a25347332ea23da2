"""How commands end: exit codes, signals, outputs that are there already, options that do nothing, odd devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import equipoise
from equipoise import InputError, Solution
from equipoise.cli.commands.registry import app
from waiting import GUARD

SPOT = "turn"
RECIPE = "small"
START = "import os, signal, sys\nfrom equipoise.cli import main\n"


def invoke(*arguments: str) -> Any:
    """A command in this process: quick, but `main` is not there."""
    return CliRunner().invoke(app, list(arguments))


def refusal(*arguments: str) -> str:
    """The one line that a command ends in."""
    error = invoke(*arguments).exception
    assert isinstance(error, InputError), arguments
    assert "\n" not in str(error)
    return str(error)


def strict(text: str) -> Any:
    """JSON as the standard has it."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Code before the command, in a process of its own."""
    command = [sys.executable, "-c", f"{code}\nsys.argv[1:] = {list(arguments)!r}\nmain()"]
    return subprocess.run(command, capture_output=True, text=True, timeout=GUARD, check=False, **options)


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a shell: `equipoise` is the command."""
    text = line.replace("equipoise", f"{sys.executable} -m equipoise", 1)
    return subprocess.run(
        ["bash", "-c", text],
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
        env={**os.environ, **environment},
    )


NAMED = ("always-raise", "always-call", "uniform")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("games --menu pot", "--menu is for one game"),
        ("games --buckets 5", "--buckets is for one game"),
        ("games leduc --menu pot", "leduc is a limit game"),
        ("reproduce --full", "--full is for one experiment"),
        ("reproduce --quick", "--quick is for one experiment"),
        ("reproduce --out x", "--out is for one experiment"),
        ("match always-call uniform --game kuhn --out x", "--out is for three agents and more"),
        ("match always-call uniform always-fold --game kuhn --log x.log", "--log is for two agents"),
        ("match always-call uniform always-fold --game kuhn --aivat", "--aivat is for two agents"),
        ("match always-call uniform --game kuhn --force", "--force is for --log and --out"),
        ("match always-call uniform --game kuhn --menu pot", "kuhn is a limit game"),
        ("spot report x.solution --on QsJh2h --board 5c", "--board is for reports over the next card"),
        ("spot report x.solution --target 1", "--target is for --on"),
        ("spot report x.solution --threads 0", "--threads is for --on"),
        ("measure uniform --game leduc --menu pot", "leduc is a limit game"),
        ("measure uniform --game kuhn --seed 3", "a seed for an exact measurement"),
        ("measure uniform --game kuhn --hands 50", "use the method lbr"),
        ("measure uniform --game kuhn --method lbr --bets 1.0", "kuhn is a limit game"),
        ("measure uniform --game leduc --method lbr --flops 9", "leave that out, or use exact"),
        ("measure uniform --game leduc --reference-out x", "no reference"),
        ("abstraction compare a b --no-cfr --cfr-iterations 5", "--cfr-iterations is for CFR"),
        (f"abstraction report {RECIPE} --force", "--force is for --out"),
        ("acpc deal --game kuhn --force", "--force is for --log"),
        ("slumbot play uniform http://127.0.0.1:1 --force", "--force is for --log"),
        ("play uniform --game kuhn --force", "--force is for --log"),
        ("play uniform --game kuhn --bb", "kuhn has antes and no big blind"),
    ],
)
def test_options_that_do_nothing_are_refused(line: str, said: str) -> None:
    assert said in refusal(*line.split())


def test_all_json_is_strict(tmp_path: Path) -> None:
    """Between two agents that look at no cards AIVAT leaves no luck: a ratio of infinity."""
    lines = [
        "match always-raise always-call --game kuhn --hands 40 --no-duplicate --aivat --threads 1",
        "match always-raise always-call uniform --game kuhn --hands 40 --threads 1",
        "games kuhn",
        "measure uniform --game kuhn --threads 1",
        "measure uniform --game leduc --flops 9 --threads 1",
        f"spot solve kuhn --by-hand --threads 1 --out {tmp_path / 'kuhn.solution'}",
        f"spot show {tmp_path / 'kuhn.solution'}",
        f"spot solve leduc --threads 1 --target 5 --out {tmp_path / 'leduc.solution'}",
        f"spot report {tmp_path / 'leduc.solution'}",
    ]
    for line in lines:
        done = invoke(*line.split(), "--json")
        assert done.exit_code == 0, line
        assert strict(done.stdout), line
    luckless = strict(invoke(*lines[0].split(), "--json").stdout)
    assert luckless["aivat"]["ci95"] == 0
    assert luckless["aivat"]["times_smaller"] is None
    assert "no luck left" in invoke(*lines[0].split()).stdout


def test_reports_are_strict_json(tmp_path: Path) -> None:
    from equipoise.measure.report import write_report
    from equipoise.runs.folder import RunFolder

    write_report(tmp_path / "x", {"width": float("inf")}, [{"value": float("nan")}], lambda *_: None)
    assert strict((tmp_path / "x.json").read_text()) == {"width": None, "rows": [{"value": None}]}
    RunFolder(tmp_path).add_metrics({"iteration": 1, "seconds": 0.0, "regret": float("nan")})
    assert strict((tmp_path / "metrics.jsonl").read_text())["regret"] is None


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be solved, played or built."""

    def work(*_arguments: object, **_options: object) -> None:
        raise AssertionError("the work has begun")

    for name in ("spots.solve._run", "play.match.Match.play", "runs.abstraction.describe"):
        monkeypatch.setattr(f"equipoise.{name}", work)
    monkeypatch.setattr("equipoise.experiments.cfr_br.leduc_pathology.run", work)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("spot solve kuhn --out FOLDER/kuhn.solution", "kuhn.solution"),
        ("spot solve kuhn", "kuhn.solution"),
        ("match uniform always-call --game kuhn --log FOLDER/x.log", "x.log"),
        ("match uniform always-call always-fold --game kuhn --out FOLDER/cup", "cup.csv"),
        ("reproduce leduc-pathology --out FOLDER", "leduc-pathology.json"),
        (f"abstraction report {RECIPE} --out FOLDER", "abstraction.csv"),
        ("abstraction compare two-four-ehs two-four-ehs2 --out FOLDER", "compare.png"),
        ("acpc deal --game kuhn --log FOLDER/x.log", "x.log"),
        ("slumbot play uniform http://127.0.0.1:1 --log FOLDER/x.log", "x.log"),
        ("play uniform --game kuhn --log FOLDER/x.log", "x.log"),
    ],
)
def test_a_file_that_is_there_stays(line: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_text("mine")
    said = refusal(*line.replace("FOLDER", str(tmp_path)).split())
    assert f"{file}' is there already" in said
    assert "--force" in said
    assert (tmp_path / file).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [file]


def test_measure_goes_on_only_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    assert "made for another" in refusal("measure", "uniform", "--game", "leduc", "--out", str(tmp_path / "notes"))
    assert (tmp_path / "notes").read_text() == "mine"


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("place", ["FOLDER", "FOLDER/none/x.solution", "/dev/null", "FOLDER/" + 300 * "x"])
def test_solve_knows_before_that_it_cannot_save(place: str, tmp_path: Path) -> None:
    error = refusal("spot", "solve", "kuhn", "--force", "--out", place.replace("FOLDER", str(tmp_path)))
    assert any(said in error for said in ("cannot write", "is a folder", "is no plain file"))
    assert not list(tmp_path.iterdir())


def test_force_overwrites(tmp_path: Path) -> None:
    saved, log = tmp_path / "x.solution", tmp_path / "x.log"
    for path in (saved, log):
        path.write_text("old")
    assert invoke("spot", "solve", "kuhn", "--threads", "1", "--out", str(saved), "--force").exit_code == 0
    assert Solution.load(saved).iterations
    line = ("match", "uniform", "always-call", "--game", "kuhn", "--hands", "8", "--log", str(log))
    assert invoke(*line, "--force").exit_code == 0
    assert len(log.read_text().splitlines()) == 9


def test_a_tournament_goes_on_in_its_own_files(tmp_path: Path) -> None:
    line = ("match", *NAMED, "--game", "kuhn", "--hands", "40", "--threads", "1", "--out", str(tmp_path / "cup"))
    assert [invoke(*line).exit_code for _ in range(2)] == [0, 0]


def test_a_target_that_is_not_reached_has_an_exit_code(tmp_path: Path) -> None:
    saved = tmp_path / "x.solution"
    line = ("spot", "solve", "leduc", "--threads", "1", "--iterations", "5", "--force", "--out", str(saved), "--json")
    missed = invoke(*line, "--target", "0.001")
    assert missed.exit_code == 3
    assert strict(missed.stdout)["stopped"] == "iterations"
    assert "after 5 iterations the target of 0.001% is not reached" in missed.stderr
    assert Solution.load(saved).iterations == 5
    assert invoke(*line, "--target", "0").exit_code == 0  # no target
    reached = invoke(*line, "--target", "1000")
    assert (reached.exit_code, strict(reached.stdout)["stopped"]) == (0, "target")


def test_a_training_that_misses_its_target_has_an_exit_code(tmp_path: Path) -> None:
    line = ("train", "leduc", "--out", str(tmp_path / "run"), "--iterations", "20", "--threads", "1", "--json")
    done = invoke(*line, "--set", "stop.exploitability=0.001")
    assert done.exit_code == 3, done.stderr
    assert strict(done.stdout)["stopped"] == "iterations"


IN_A_SOLVE = """
import equipoise.spots.solve as solving
solving._warm_up = lambda *_: None
run = solving.VectorCFR.run
def one(self, count):
    os.kill(os.getpid(), signal.NUMBER)
    run(self, 1000)
solving.VectorCFR.run = one
"""
IN_A_TRAINING = """
import equipoise.training.loop as runs
go = runs._Training.go
def ask(self, asked):
    os.kill(os.getpid(), signal.NUMBER)
    return go(self, asked)
runs._Training.go = ask
"""


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_solve_that_is_stopped_is_saved(number: str, code: int, tmp_path: Path) -> None:
    saved = str(tmp_path / "x.solution")
    options = ("--threads", "1", "--target", "0", "--out", saved, "--json")
    done = python(START + IN_A_SOLVE.replace("NUMBER", number), "spot", "solve", "kuhn", *options)
    assert (done.returncode, done.stderr) == (code, "equipoise: interrupted\n")
    answer = strict(done.stdout)
    assert (answer["stopped"], answer["iterations"]) == ("interrupted", 1000)
    solution = Solution.load(saved)
    assert solution.iterations == 1000
    assert solution.percent == pytest.approx(100 * solution.exploitability(), rel=1e-6)


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_training_that_is_stopped_is_saved(number: str, code: int, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = python(START + IN_A_TRAINING.replace("NUMBER", number), "train", "leduc", "--out", str(out), "--json")
    assert done.returncode == code, done.stderr
    assert done.stderr.endswith("equipoise: interrupted\n")
    assert strict(done.stdout)["stopped"] == "interrupted"
    assert (out / "strategy.u8").is_file()


@pytest.mark.parametrize(
    ("module", "number", "code"),
    [("typer", "SIGINT", 130), ("numba", "SIGTERM", 143), ("equipoise.cards.equity", "SIGINT", 130)],
)
def test_a_signal_while_it_starts_is_one_line(module: str, number: str, code: int) -> None:
    code_before = f"""
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{number})
sys.meta_path.insert(0, Finder())
from equipoise.cli import main
"""
    done = python(code_before, "equity", "AhKh", "QQ", "--board", "2c 7d Jh")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "equipoise: interrupted\n")


def test_a_full_device_is_one_line() -> None:
    done = shell("equipoise games > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "equipoise: cannot write the output: No space left on device\n"


def test_a_closed_output_is_one_line() -> None:
    done = shell("equipoise games >&-")
    assert done.returncode == 1
    assert done.stderr == "equipoise: cannot write the output: standard output is closed\n"


def test_a_reader_that_leaves_is_no_news() -> None:
    done = shell("equipoise games kuhn | head -n 1; exit ${PIPESTATUS[0]}")
    assert (done.stdout, done.stderr) == ("GAMEDEF\n", "")
    assert done.returncode in (0, 1)  # it may have been quicker than its reader
    done = shell("equipoise games | true; exit ${PIPESTATUS[0]}")
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode in (0, 1)


@pytest.mark.parametrize("device", ["/dev/full", "&-"])
def test_progress_that_cannot_be_told_stops_nothing(device: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    line = f"equipoise train leduc --out {out} --iterations 20 --threads 1 --json 2>{device}"
    done = shell(line)
    assert done.returncode == 0
    assert strict(done.stdout)["iterations"] == 20
    assert shell(f"equipoise games chess 2>{device}").returncode == 2


def test_letters_that_a_device_lacks_are_written_in_its_own(tmp_path: Path) -> None:
    done = shell("equipoise measure uniform --game leduc --flops 9", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert " +- " in done.stdout
    done = shell(f"equipoise spot solve kuhn --threads 1 --out {tmp_path}/'\u00e9'.solution", PYTHONIOENCODING="ascii")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert "\\xe9.solution" in done.stdout


def test_there_is_no_input() -> None:
    done = shell("equipoise play uniform --game kuhn --json <&-")
    assert (done.returncode, strict(done.stdout)["hands"]) == (0, 0)


def test_exploitability_is_in_chips_and_percent_is_not() -> None:
    spot = equipoise.read_spot(
        'board = "Qs Jh 2h 8d 5c"\npot = 400\nstack = 200\nranges = { oop = "QQ,76s", ip = "AQ" }\n'
        "betting = { bet = [0.5] }"
    )
    solution = equipoise.solve(spot, target=0.2, threads=1)
    assert solution.percent <= 0.2
    assert solution.exploitability() == pytest.approx(4 * solution.percent, rel=1e-4)
    assert (solution.stopped, solution.target) == ("target", 0.2)
