"""The messages that docs/commands.md shows, provoked on purpose."""

from __future__ import annotations

import re
import shlex
import socket
from pathlib import Path

import pytest
from tests.helpers.commands import refusal, run

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
SECTION = PAGE.read_text().split("## When something is wrong\n")[1].split("\n## ")[0]
SHOWN = re.findall(r"^\| `equipoise ([^`]+)` \| (.*) \|$", SECTION, re.MULTILINE)


def test_the_page_shows_ten_messages() -> None:
    assert len(SHOWN) >= 10


@pytest.mark.parametrize(("command", "message"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_message_is_as_shown(command: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal(*shlex.split(command)) == message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "spot solve river --target",
            "spot solve: option '--target' requires an argument; see equipoise spot solve --help",
        ),
        (
            "spot solve river --target abc",
            "spot solve: --target must be a number (got 'abc'); see equipoise spot solve",
        ),
        ("spot solve river --target -1", "spot solve: --target must be at least 0 (got '-1'); "),
        ("slumbot serve uniform --port ²", "slumbot serve: --port must be a whole number (got '²'); "),
        ("acpc play uniform host 99999", "acpc play: PORT must be at most 65,535 (got '99999'); "),
        ("games leduc kuhn", "games: too many arguments: 'kuhn'; see equipoise games --help"),
        ("match uniform --game leduc", "1 agent cannot play a match; name two or more"),
        (
            "train leduc --out r --set solver.sede=7",
            "--set solver.sede=7: solver.sede: unknown key; did you mean seed",
        ),
        (
            "train leduc --out r --set solver.seed=x",
            "--set solver.seed=x: solver.seed: must be a whole number (got 'x')",
        ),
        (
            "train leduc --out r --set sovler.seed=1",
            "--set sovler.seed=1: unknown key 'sovler'; did you mean solver",
        ),
        (
            "train leduc --out r --set stop.minutes=1 --set solver.threads=-1",
            "--set solver.threads=-1: solver.threads: ",
        ),
        ("slumbot play uniform http://[", "'http://[' is not a URL that can be used: its host cannot be read; "),
        ("acpc play uniform a..b 1 --game leduc", "'a..b' is not a host; "),
        ("acpc deal --game leduc --ports ²,0", "'²' is not a port; use a number from 0 to 65,535"),
        ("measure uniform?search=preflop --game leduc", "no search from round 1; "),
    ],
)
def test_a_message_says_what_is_wrong_in_words(
    command: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*shlex.split(command))
    assert done.returncode == 2
    assert done.stderr.startswith(f"equipoise: {message}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_port_that_is_taken_is_said_once_and_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for command in (("slumbot", "serve", "uniform", "--port"), ("acpc", "deal", "--game", "leduc", "--ports")):
            done = run(*command, f"{port},0" if "deal" in command else f"{port}")
            assert done.stderr.startswith(
                f"equipoise: 127.0.0.1:{port}: cannot listen: another program uses this port; name a free port, or 0"
            )


def test_one_of_a_thing_is_no_plural(tmp_path: Path) -> None:
    done = run("spot", "solve", "river", "--iterations", "1", "--threads", "1", "--out", str(tmp_path / "one.solution"))
    assert "69 betting nodes, 1 board: " in done.stderr
    assert "1 iteration in " in done.stdout
    assert "after 1 iteration the target" in done.stderr
