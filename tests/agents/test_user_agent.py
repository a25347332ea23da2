"""Bots that hang, exit, crash or print: each is named in one line, and neither JSON nor results so far are spoilt."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.commands import run

import equipoise
from equipoise import InputError
from equipoise.agents.user_agent import UserAgent
from equipoise.core.isolated import Isolated, TimeUpError, can_isolate

pytestmark = pytest.mark.skipif(not can_isolate(), reason="processes are not forked here")

BOTS = """
import ctypes, os, sys, time
from equipoise import CALL, FOLD, FunctionAgent, load_game, load_player

class Own(BaseException): pass

asked = 0

def calls(view): return CALL
def spins(view):
    while True: pass
def sleeps(view): time.sleep(1000)
def stops(view): sys.exit(3)
def ends(view): os._exit(4)
def own(view): raise Own("mine")
def interrupts(view): raise KeyboardInterrupt
def crashes(view): ctypes.string_at(0)
def reads(view): return len(input())
def prints(view):
    print("hello \\x1b[31m")
    return CALL
def closes(view):
    global asked
    asked += 1
    if asked == 1:
        sys.stdout.close()
        os.close(1)
        os.close(2)
    return CALL
def learns(view):
    global asked
    asked += 1
    legal = view.state.legal()
    return legal.raise_min if asked % 3 == 0 and legal.can_raise else CALL

made = FunctionAgent("maker", load_game("leduc"), calls)
tree = load_player("uniform", "leduc")
"""
IN_ONE_LINE = {
    "stops": "fails with .*: SystemExit: 3",
    "ends": "ended its process with exit code 4, asked ",
    "own": "fails with .*: Own: mine",
    "interrupts": "fails: KeyboardInterrupt",
    "crashes": "was ended by SIGSEGV, asked ",
    "reads": "fails with .*: EOFError",
}
COMMANDS: dict[str, list[str]] = {
    "a match": ["match", "{bot}", "always-call", "--game", "leduc", "--hands", "20"],
    "a match with AIVAT": ["match", "always-call", "{bot}", "--game", "leduc", "--hands", "20", "--aivat"],
    "a cup": ["match", "uniform", "{bot}", "always-call", "--game", "leduc", "--hands", "20"],
    "exact": ["measure", "{bot}", "--game", "leduc", "--threads", "1"],
    "lbr": ["measure", "{bot}", "--game", "leduc", "--method", "lbr", "--hands", "100", "--threads", "2"],
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bots.py").write_text(BOTS)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("bot", "how"),
    [
        *((bot, "a match") for bot in sorted({*IN_ONE_LINE} - {"ends", "own"})),
        *((bot, how) for bot in ("ends", "own") for how in COMMANDS),
    ],
)
def test_a_bot_that_does_not_answer_is_one_line(bot: str, how: str) -> None:
    done = run(*(word.format(bot=f"bots.py:{bot}") for word in COMMANDS[how]), "--json")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("equipoise: ")]
    assert len(lines) == 1, done.stderr
    assert f"agent 'bots.py:{bot}' " in lines[0]
    assert "Traceback" not in done.stderr
    with pytest.raises(InputError, match=IN_ONE_LINE[bot]):
        equipoise.match(f"bots.py:{bot}", "always-call", game="leduc", hands=20)


@pytest.mark.parametrize("how", sorted(COMMANDS))
def test_what_a_bot_prints_is_not_in_the_result(how: str) -> None:
    printing, silent = (
        run(*(word.format(bot=f"bots.py:{bot}") for word in COMMANDS[how]), "--json") for bot in ("prints", "calls")
    )
    assert printing.returncode == 0, printing.stderr
    assert silent.stderr == ""
    assert "agent 'bots.py:prints' prints:\nhello \\x1b[31m\n" in printing.stderr
    found, wanted = (json.loads(done.stdout.replace("prints", "calls")) for done in (printing, silent))
    varying = ("seconds", "hands_per_second", "cpu_seconds")
    numbers = [{key: value for key, value in each.items() if key not in varying} for each in (found, wanted)]
    if how != "a cup":  # its pairs have seeds made from names
        assert numbers[0] == numbers[1]


def test_a_bot_that_closes_its_output_plays_on() -> None:
    done = run("match", "bots.py:closes", "always-call", "--game", "kuhn", "--hands", "4", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hands"] == 4


@pytest.mark.parametrize("bot", ["spins", "sleeps"])
@pytest.mark.parametrize(
    "command",
    [
        ["match", "{bot}", "always-call", "--game", "leduc", "--minutes", "0.001", "--json"],
        ["match", "uniform", "{bot}", "--game", "leduc", "--minutes", "0.001", "--aivat"],
        ["measure", "{bot}", "--game", "leduc", "--method", "lbr", "--minutes", "0.001", "--threads", "2"],
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_a_bot_that_never_answers_is_ended(bot: str, command: list[str]) -> None:
    done = run(*(word.format(bot=f"bots.py:{bot}") for word in command))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"agent 'bots.py:{bot}' had not answered when the time was up, asked " in done.stderr


def hang_at(question: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock for tests: the time is up while a question is answered."""
    asked, real = [0], Isolated.ask

    def ask(self: Isolated, what: Any, when: Callable[[], str]) -> Any:
        asked[0] += 1
        if asked[0] == question:
            self.deadline = time.monotonic()
        return real(self, what, when)

    monkeypatch.setattr(Isolated, "ask", ask)


@pytest.mark.parametrize("aivat", [False, True])
def test_results_before_the_end_are_kept(aivat: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bot = "bots.py:calls" if aivat else "bots.py:learns"  # AIVAT is for agents that remember nothing
    whole = equipoise.match(bot, "always-raise", game="leduc", hands=200, aivat=aivat)
    assert whole.ended is None
    assert whole.as_json()["ended"] is None
    hang_at(700 if aivat else 100, monkeypatch)
    log = tmp_path / "cut.log"
    cut = equipoise.match(bot, "always-raise", game="leduc", hands=200, aivat=aivat, log=log)
    assert 0 < cut.hands < 200
    assert cut.hands % 2 == 0
    assert cut.ended is not None
    assert f"agent '{bot}' had not answered when the time was up" in cut.ended
    assert cut.as_json()["ended"] == cut.ended
    replayed = equipoise.replay(log, "leduc")
    assert replayed.hands == cut.hands
    again = equipoise.match(bot, "always-raise", game="leduc", hands=cut.hands, aivat=aivat)
    assert (again.mbb_per_hand, again.ci95, again.aivat) == (cut.mbb_per_hand, cut.ci95, cut.aivat)


def test_a_bound_before_the_end_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"game": "leduc", "method": "lbr", "threads": 1}
    hang_at(600, monkeypatch)
    cut = equipoise.measure_agent("bots.py:calls", hands=400, **how).as_json()
    assert 0 < cut["hands"] < 400
    assert "had not answered" in cut["ended"]
    whole = equipoise.measure_agent("always-call", hands=cut["hands"], **how).as_json()
    assert whole["ended"] is None
    assert whole["lbr_mbb"] == pytest.approx(cut["lbr_mbb"])


def test_hands_before_an_error_are_in_the_log(tmp_path: Path) -> None:
    """Also those of a bot that breaks off in the middle of a chunk; the log has no score."""
    log = tmp_path / "cut.log"
    (tmp_path / "late.py").write_text(
        "import os\nseen = []\ndef agent(view):\n    seen.append(0)\n    return os._exit(3) if len(seen) == 80 else 0\n"
    )
    with pytest.raises(InputError, match="exit code 3"):
        equipoise.match("late.py:agent", "always-call", game="leduc", hands=200, log=log)
    found = equipoise.replay(log, "leduc")
    assert found.hands == 2 * (79 // 4)  # four questions in the two hands of a deal, two in each
    assert not found.scored


def test_nothing_before_the_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    hang_at(1, monkeypatch)
    with pytest.raises(TimeUpError):
        equipoise.match("bots.py:calls", "always-call", game="leduc", hands=20)


def test_one_seed_gives_the_same_hands_with_any_number_of_threads() -> None:
    """A bot that learns from hand to hand too."""
    found = [
        equipoise.match("bots.py:learns", "always-raise", game="leduc", hands=100, seed=5, threads=threads)
        for threads in (1, 2, 3)
    ]
    assert len({(each.mbb_per_hand, each.ci95) for each in found}) == 1


def test_a_bot_plays_as_its_function_does() -> None:
    scope: dict[str, Any] = {}
    exec(BOTS, scope)
    inside = equipoise.match("bots.py:learns", "uniform", game="holdem.nolimit", hands=60)
    outside = equipoise.match(scope["learns"], "uniform", game="holdem.nolimit", hands=60)
    assert (inside.mbb_per_hand, inside.ci95) == (outside.mbb_per_hand, outside.ci95)


def test_agents_made_in_a_file() -> None:
    made, tree = equipoise.load_player("bots.py:made"), equipoise.load_player("bots.py:tree")
    assert isinstance(made, UserAgent)
    assert (made.name, made.rules) == ("maker", equipoise.load_game("leduc"))
    assert tree.name == "uniform"


def test_code_that_ends_while_it_is_imported_is_one_line() -> None:
    for code, said in (
        ("import os\nos._exit(5)\n", "agent 'bad.py:agent' ended its process with exit code 5, while it was loaded"),
        ("raise BaseException('no')\n", "bad.py:1: bad.py does not import: BaseException: no"),
        ("print('loading')\nimport sys\nsys.path.clear()\ndef agent(view): return 0\n", ""),
    ):
        Path("bad.py").write_text(code)
        done = run("match", "bad.py:agent", "always-call", "--game", "kuhn", "--hands", "4", "--json")
        if said:
            assert (done.returncode, done.stdout) == (2, "")
            assert said in done.stderr
        else:
            assert json.loads(done.stdout)["hands"] == 4
            assert done.stderr == "agent 'bad.py:agent' prints:\nloading\n"


def test_functions_in_a_program_that_exit_are_one_line() -> None:
    def stops(view: equipoise.View) -> int:
        assert view
        raise SystemExit(3)

    with pytest.raises(InputError, match=r"agent 'stops' fails with .*: SystemExit: 3"):
        equipoise.match(stops, "always-call", game="leduc", hands=20)
