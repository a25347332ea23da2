"""Folders and files of names that people, scripts and attackers give: nothing is lost, and no terminal obeys them."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from random import Random

import pytest
from tests.helpers.commands import run

from equipoise import load_game, replay
from equipoise.play.logs import LogWriter, log_names
from play import random_deal, random_hand

NAMES = [
    "$\\frac{$",
    "$x^2$",
    "two\nlines",
    "\x1b[31mred\x07",
    "r\udcff",
    "[red]x[-red]",
    "=1+1",
    "@sum",
    "\u202elaer",
    "²",
]


def check(*arguments: str) -> str:
    """A command that must succeed: what it printed."""
    done = run(*arguments)
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    assert not any(sign in printed for sign in ("\x1b", "\x07", "\u202e", "Traceback", "two\nlines"))
    return done.stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd") / "run"
    check("train", "leduc", "--out", str(folder), "--iterations", "5", "--threads", "1")
    return folder


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_run_of_any_name_is_matched_logged_and_continued(
    name: str, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(trained, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    check("match", name, "uniform", "always-call", "--hands", "20", "--threads", "1", "--seed", "1", "--out", "cup")
    assert (tmp_path / "cup.png").stat().st_size > 1000
    assert name in json.loads((tmp_path / "cup.json").read_text())["names"]
    with (tmp_path / "cup.csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert len(cells) == 4 * 11
    assert not any(cell.startswith(("=", "@")) for cell in cells)
    check("match", name, "uniform", "--hands", "20", "--threads", "1", "--seed", "1", "--log", "hands.acpc")
    assert "20 hands" in check("log", "replay", "hands.acpc", "--game", "leduc")
    assert "saved in" in check("train", "--resume", name, "--iterations", "7")


@pytest.mark.parametrize("suffix", [".acpc", ".phh"])
def test_logs_keep_every_hand_of_any_agent(suffix: str, tmp_path: Path) -> None:
    rules, rng = load_game("holdem.limit"), Random(3)
    for number, name in enumerate([*NAMES, "a'b\"c", "back\\slash", "x" * 300, ""]):
        names = log_names(name, "other")
        log = tmp_path / f"{number}{suffix}"
        with LogWriter(log, rules) as writer:
            for hand in range(4):
                writer.write(hand, random_hand(rules, rng), random_deal(rules, rng), names)
        found = replay(log, rules)
        assert (found.hands, found.names) == (4, names)
