"""The commands about spots: what they print fits a terminal, marks what is never reached, and is written as asked."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import equipoise
from commands import refusal
from equipoise import read_spot
from equipoise.cards.action_style import action_colours, action_symbols, terminal_styles
from equipoise.cli.commands.registry import app
from equipoise.cli.render.spot_grid import bar
from waiting import GUARD

TURN = """
board = "Qs Js 2s 8d"
pot = 100
stack = 200
target = 2
ranges = { oop = "QQ,JJ,T9s,76s,KQ", ip = "AQ,KQ,AJs,T9s" }
betting = { bet = [0.3, 0.6, 0.9, 1.2, "all-in"], raise = ["all-in"] }
[[lock]]
line = "check"
strategy = { check = 1.0 }
"""

RIVER = """
board = "Qs Js 2s 8d 5c"
pot = 100
stack = 100
ranges = { oop = "QQ,JJ,T9s,76s", ip = "AQ,KQ,AJs,T9s" }
betting = { bet = [0.5] }
"""


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("spot") / "turn.solution"
    equipoise.solve(read_spot(TURN), threads=1).save(path)
    return str(path)


def spot(*arguments: str, keys: str | None = None) -> str:
    """What a command prints."""
    done = CliRunner().invoke(app, ["spot", *arguments], input=keys)
    assert done.exit_code == 0, (arguments, done.exception)
    return str(done.stdout)


def numbers(text: str) -> Any:
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def test_all_that_is_printed_fits_eighty_columns_of_ascii(solved: str) -> None:
    for line in (
        ["show", solved, "--by-hand"],
        ["show", solved, "--line", "check, check", "--board", "5c"],
        ["report", solved],
        ["report", solved, "--line", "bet 30, call", "--sort", "bet 48"],
    ):
        text = spot(*line)
        assert text.isascii()
        assert max(map(len, text.splitlines())) <= 80
    text = spot("show", solved)
    assert "x check" in text
    assert "5 bet" not in text
    for sign, size in (("1", 30), ("2", 60), ("3", 90), ("4", 120)):
        assert f"{sign} bet {size}" in text
    assert "oop, whole range" in text


def test_a_narrow_terminal_gets_a_narrow_grid_and_no_colours_if_asked(solved: str) -> None:
    code = (
        "import os, pty, sys\nfrom pathlib import Path\n"
        "for words in sys.argv[2:]:\n"
        "    pty.spawn([sys.executable, '-m', 'equipoise', 'spot', *words.split(), sys.argv[1]])"
    )
    for plain in (True, False):
        environment = {**os.environ, "COLUMNS": "60", "TERM": "xterm"}
        environment.pop("NO_COLOR", None)
        if plain:
            environment["NO_COLOR"] = "1"
        done = subprocess.run(
            [sys.executable, "-c", code, solved, "show --by-hand", *(["report"] if plain else [])],
            capture_output=True,
            text=True,
            timeout=GUARD,
            env=environment,
            check=True,
        )
        assert ("\x1b[" in done.stdout) != plain
        if plain:
            assert max(len(line.rstrip("\r")) for line in done.stdout.split("\n")) <= 60
            assert "a letter is a third" in done.stdout


def test_what_is_never_reached_is_said(solved: str) -> None:
    text = spot("show", solved, "--line", "check, bet 30")
    assert "never reached" in text
    assert "EV" not in text
    assert "%" not in text
    assert numbers(spot("show", solved, "--line", "check, bet 30", "--json"))["ev"] is None
    report = spot("report", solved, "--line", "check, bet 30, call")
    assert report.count("never reached") == 49
    rows = numbers(spot("report", solved, "--line", "check, bet 30, call", "--json"))["rows"]
    assert {(row["reached"], row["ev_oop"]) for row in rows} == {(False, None)}


def test_tables_and_pictures_are_written(solved: str, tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.csv", "a.png", "b.csv", "b.png")]
    shown = numbers(spot("show", solved, "--csv", files[0], "--png", files[1], "--json"))
    report = numbers(spot("report", solved, "--csv", files[2], "--png", files[3], "--sort", "ev", "--json"))
    with Path(files[0]).open() as file:
        hands = {row["hand"]: row for row in csv.DictReader(file)}
    assert hands.keys() == shown["hands"].keys()
    assert float(hands["QhQd"]["check"]) == shown["hands"]["QhQd"]["strategy"][0]
    with Path(files[2]).open() as file:
        assert [row["card"] for row in csv.DictReader(file)] == [row["card"] for row in report["rows"]]
    assert [row["ev_oop"] for row in report["rows"]] == sorted((row["ev_oop"] for row in report["rows"]), reverse=True)
    for file in files[1::2]:
        assert Path(file).read_bytes()[:4] == b"\x89PNG"
    refused = CliRunner().invoke(app, ["spot", "show", solved, "--csv", files[0]])
    assert "is there already" in str(refused.exception)


def test_a_solution_that_is_there_is_shown_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command again shows the file; what would make another solution is refused without --force."""
    monkeypatch.chdir(tmp_path)
    file = Path("kuhn.solution")
    first = numbers(spot("solve", "kuhn", "--threads", "1", "--json"))
    kept = file.read_bytes()
    again = CliRunner().invoke(app, ["spot", "solve", "kuhn", "--json"])
    assert "kuhn.solution is there already" in again.stderr and "--force" in again.stderr
    assert {**numbers(again.stdout), "stopped": first["stopped"]} == first
    exactness = first["exploitability_mbb"] / 10
    assert spot("solve", "kuhn", "--target", str(2 * exactness))
    others = (["--target", str(exactness / 2)], ["--target", "0"], ["--variant", "cfr"], ["--storage", "int16"])
    for options in (*others, ["--resumable"], ["--iterations", "20"]):
        assert "is there already" in refusal("spot", "solve", "kuhn", *options)
    assert "is there already" in refusal("spot", "solve", "leduc", "--out", "kuhn.solution")
    assert file.read_bytes() == kept
    spot("solve", "kuhn", "--target", str(exactness / 2), "--force")
    assert file.read_bytes() != kept


def test_a_spot_that_changed_is_not_the_solution_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("river.toml").write_text(RIVER)
    spot("solve", "river.toml")
    spot("solve", "river.toml")
    Path("river.toml").write_text(RIVER.replace("stack = 100", "stack = 120"))
    assert "is there already" in refusal("spot", "solve", "river.toml")


def test_a_walk_goes_down_and_back(solved: str) -> None:
    text = spot("walk", solved, keys="1\n1\n5x\nQs\n5c\nb\n6h\njump\n1\nr\n2\n2\nb\nb\nh\nq\nnever\n")
    order = [
        "at the root: oop to act",
        "after check: ip to act",
        "after check, check: deal a card",
        "no card '5x'",
        "Qs appears twice",
        "Qs Js 2s 8d 5c  after check, check: oop to act",
        "after check, check: deal a card",
        "Qs Js 2s 8d 6h  after check, check: oop to act",
        "no action 'jump'",
        "after check, check, check: ip to act",
        "at the root: oop to act",
        "after bet 30: ip to act",
        "after bet 30, call: deal a card",
        "after bet 30: ip to act",
        "at the root: oop to act",
        "hand  weight",
    ]
    at = 0
    for words in order:
        assert words in text[at:], words
        at = text.index(words, at) + 1
    assert spot("walk", solved, keys="").count("to act") == 1  # the end of the input ends the walk


def test_a_solution_is_solved_again_and_says_so(solved: str, tmp_path: Path) -> None:
    out = str(tmp_path / "better.solution")
    done = CliRunner().invoke(
        app, ["spot", "solve", solved, "--target", "0.5", "--threads", "1", "--out", out, "--json"]
    )
    assert "--resumable" in done.stderr
    assert numbers(done.stdout)["exploitability_percent_pot"] <= 0.5
    assert equipoise.Solution.load(out).strategy("check").frequency[0] == pytest.approx(1)  # its lock is still there
    kept = str(tmp_path / "kept.solution")
    first = ["spot", "solve", "kuhn", "--threads", "1", "--target", "1", "--resumable", "--out", kept, "--json"]
    iterations = numbers(CliRunner().invoke(app, first).stdout)["iterations"]
    more = [*first[:2], kept, *first[3:5], "--target", "0.01", "--force", "--out", kept, "--json"]
    done = CliRunner().invoke(app, more)
    assert f"continuing after {iterations} iterations" in done.stderr
    assert numbers(done.stdout)["iterations"] > iterations


def test_bars_have_as_many_letters_as_shares() -> None:
    assert bar([1.0], 5) == [0] * 5
    assert bar([0.42, 0.58], 5) == [0, 0, 1, 1, 1]
    assert bar([0.05, 0.9, 0.05], 5) in ([0, 1, 1, 1, 1], [1, 1, 1, 1, 2], [1] * 5)
    assert bar([1 / 3, 1 / 3, 1 / 3], 3) == [0, 1, 2]
    actions = ["fold", "call", *(f"raise {n}" for n in range(100, 1300, 100)), "all-in 2000"]
    symbols = action_symbols(actions)
    assert len(set(symbols)) == len(actions)
    assert symbols[:3] == ["f", "c", "1"]
    assert symbols[-1] == "A"
    assert len(action_colours(actions)) == len(terminal_styles(actions)) == len(actions)
