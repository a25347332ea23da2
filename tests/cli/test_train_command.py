"""`train --resume RUN` needs nothing else, says what will happen, and refuses what a run has already."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from equipoise import InputError, load_recipe
from equipoise.cli.commands.registry import app


def train(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["train", *arguments])


@pytest.fixture
def run(tmp_path: Path) -> str:
    """A run of 100 iterations on one thread, by a recipe that says neither."""
    out = str(tmp_path / "leduc")  # the name of a shipped recipe: the folder is meant
    changes = ["--set", "solver.seed=9", "--set", "measure.method=none"]
    assert train("leduc", "--out", out, "--iterations", "100", "--threads", "1", *changes).exit_code == 0
    return out


def test_a_run_knows_its_recipe_its_end_and_its_threads(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(run).parent)
    kept = load_recipe(Path(run) / "recipe.toml")
    assert (kept.stop.iterations, kept.stop.minutes, kept.solver.seed) == (100, None, 9)
    again = train("--resume", "leduc", "--json")
    assert again.exit_code == 0
    assert "is already at its end, iteration 100 (" in again.stderr
    assert json.loads(again.stdout)["iterations"] == 100
    more = train("--resume", "leduc", "--iterations", "150", "--json")
    assert "continues from iteration 100 (" in more.stderr
    assert "until 150 iterations, 1 thread" in more.stderr
    found = json.loads(more.stdout)
    assert (found["iterations"], found["threads"], found["fingerprint"]) == (150, 1, kept.fingerprint)
    assert load_recipe(Path(run) / "recipe.toml").stop.iterations == 150


def test_a_run_at_its_end_is_shown_and_stays(run: str) -> None:
    """The command that made it trains nothing more; another recipe or a longer run is refused."""
    same = ["leduc", "--out", run, "--threads", "1", "--set", "solver.seed=9", "--set", "measure.method=none"]
    tables = sorted((Path(run) / "checkpoints").iterdir())
    for iterations in ("100", "60"):
        again = train(*same, "--iterations", iterations, "--json")
        assert "is already at its end, iteration 100 (" in again.stderr
        assert json.loads(again.stdout)["iterations"] == 100
    assert sorted((Path(run) / "checkpoints").iterdir()) == tables
    for other in (["--iterations", "101"], ["--minutes", "9"], ["--iterations", "100", "--set", "solver.seed=8"]):
        assert "is not empty; continue it with" in str(train(*same, *other).exception)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "no recipe to train"),
        ("leduc", "no folder for the run"),
        ("--resume RUN leduc", "a resumed run has a recipe and a folder"),
        ("--resume RUN --out x", "a resumed run has a recipe and a folder"),
        ("--resume nothing", "'nothing' is not the folder of a run"),
        ("--resume RUN --set solver.seed=3", "a run of another recipe"),
        ("leduc --out RUN", "is not empty; continue it with equipoise train --resume RUN"),
    ],
)
def test_refusals_are_one_line(line: str, said: str, run: str) -> None:
    before = sorted(Path(run).rglob("*"))
    error = train(*line.replace("RUN", run).split()).exception
    assert isinstance(error, InputError)
    assert said.replace("RUN", run) in str(error)
    assert error.remedy
    assert sorted(Path(run).rglob("*")) == before


def test_what_a_run_prints_to_do_next_is_done(run: str) -> None:
    text = train("--resume", run, "--iterations", "120").stdout
    (command,) = [line.split("equipoise ")[1] for line in text.splitlines() if "train it on:" in line]
    done = CliRunner().invoke(app, [*command.split(), "--json"])
    assert json.loads(done.stdout)["iterations"] == 240
    (command,) = [line.split("equipoise ")[1] for line in text.splitlines() if "show it:" in line]
    assert CliRunner().invoke(app, command.split()).exit_code == 0
