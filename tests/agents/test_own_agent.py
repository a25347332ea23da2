"""Agents in users' files: the page as printed, every door, and errors that name the file, the line and the hand."""

from __future__ import annotations

import io
import json
import re
import shlex
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import equipoise
from equipoise import InputError, load_player
from equipoise.cli.commands.registry import app

PAGE = (Path(__file__).parents[2] / "docs" / "own-agent.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)
BOT = BLOCKS[0][1]
KEEPS_RULES = """
class Bot:
    name = "bot"
    def __init__(self, game): self.rules = equipoise.load_game(game)
    def probabilities(self, view): return {equipoise.CALL: 1.0}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, with the bot of the page."""
    (tmp_path / "my_bot.py").write_text(BOT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(line: str) -> Any:
    return CliRunner().invoke(app, shlex.split(line.removeprefix("$ equipoise ")))


def refusal(what: str, game: str = "leduc", hands: int = 20) -> str:
    with pytest.raises(InputError) as caught:
        equipoise.match(what, "always-call", game=game, hands=hands)
    text = str(caught.value)
    assert "\n" not in text
    return text


def write(folder: Path, code: str, file: str = "bot.py") -> None:
    (folder / file).write_text("import equipoise\n" + code)


def test_the_page_as_printed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(BOT.strip().splitlines()) <= 25
    lines = [line for _, block in BLOCKS for line in block.splitlines() if line.startswith("$ equipoise ")]
    assert [line.split()[2] for line in lines] == ["match", "measure"]
    found = [command(f"{line} --json") for line in lines]
    assert [done.exit_code for done in found] == [0, 0]
    played, measured = (json.loads(done.stdout) for done in found)
    assert played["agents"][0] == "my_bot.py:agent"
    assert measured["method"] == "exact"
    assert f"{played['mbb_per_hand']:+,.1f} ± {played['ci95']:.1f} mbb/hand" in PAGE
    assert f"{measured['exploitability_mbb']:.2f} mbb/g" in PAGE
    monkeypatch.syspath_prepend(folder)
    scope: dict[str, Any] = {}
    exec(next(block for kind, block in BLOCKS[1:] if kind == "python"), scope)
    direct = equipoise.exploitability("leduc", scope["agent"], threads=1).exploitability
    assert measured["exploitability_mbb"] == pytest.approx(direct)
    assert direct > 100  # and far from an equilibrium
    again = equipoise.match(scope["agent"], "always-call", game="leduc", hands=2000)
    assert played["mbb_per_hand"] == again.mbb_per_hand


def test_the_bot_plays_every_game_legally(folder: Path) -> None:
    assert folder
    for game in ("kuhn", "holdem.limit", "holdem.nolimit"):
        assert equipoise.match("my_bot.py:agent", "always-raise", game=game, hands=40, threads=1).hands == 40


def test_a_module_and_an_object_are_agents(folder: Path) -> None:
    (folder / "package_of_mine").mkdir()
    write(folder, KEEPS_RULES + "agent = Bot('leduc')\n", "package_of_mine/bots.py")
    write(folder, KEEPS_RULES + "agent = Bot('leduc')\nmade = equipoise.load_player('uniform', 'leduc')\n")
    for what in ("package_of_mine.bots:agent", "bot.py:agent"):
        assert equipoise.match(what, "always-call", hands=20).mbb_per_hand == 0
        assert equipoise.match("always-call", what, hands=20).game == "leduc"
        direct = equipoise.exploitability("leduc", "always-call", threads=1).exploitability
        assert equipoise.measure_agent(what, threads=1).exploitability == pytest.approx(direct)  # type: ignore[union-attr]
    assert load_player("bot.py:made").name == "uniform"
    assert "leave out the game" in refusal("bot.py:agent", game="kuhn")


def test_neighbours_can_be_imported_and_edits_are_seen(folder: Path) -> None:
    write(folder, "ACTION = equipoise.CALL\n", "neighbour_of_mine.py")
    write(folder, "from neighbour_of_mine import ACTION\ndef agent(view): return ACTION\n")
    assert equipoise.match("bot.py:agent", "always-call", game="leduc", hands=20).mbb_per_hand == 0
    write(folder, "def agent(view): return equipoise.FOLD if view.state.legal().fold else equipoise.CALL\n#\n")
    assert equipoise.match("bot.py:agent", "always-raise", game="leduc", hands=20).mbb_per_hand < 0


def test_every_measure_takes_it(folder: Path) -> None:
    assert folder
    bound = equipoise.measure_agent("my_bot.py:agent", game="leduc", method="lbr", hands=200, threads=1)
    assert bound.as_json()["method"] == "lbr"
    from my_bot_functions import calls  # type: ignore[import-not-found]

    assert equipoise.measure_agent(calls, game="leduc", threads=1).exploitability > 0  # type: ignore[union-attr]


def test_every_table_takes_it(folder: Path) -> None:
    assert folder
    bot, game = "my_bot.py:agent", "holdem.nolimit"
    assert "token" in equipoise.SlumbotTable(bot, game=game, seed=1).new_hand({})
    typed = io.StringIO("call\ncheck\n" * 20)
    assert equipoise.play_terminal(bot, typed, io.StringIO(), game="leduc", hands=2, seed=1).hands == 2
    found: list[Any] = []

    def sit_down(ports: tuple[int, int]) -> None:
        for port in ports:
            threading.Thread(
                target=lambda port=port: found.append(equipoise.play_at(bot, "127.0.0.1", port, game="leduc"))
            ).start()

    dealt = equipoise.deal_match("leduc", 20, seed=1, on_ports=sit_down)
    assert (dealt.hands, dealt.corrected) == (20, (0, 0))


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "def calls(view): return equipoise.CALL\n", "my_bot_functions.py")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def agent(view:\n", "bot.py:2: bot.py does not import: SyntaxError"),
        ("\nimport nothing_like_it\n", "bot.py:3: bot.py does not import: ModuleNotFoundError: No module named"),
        ("\n\nagent = 1 / 0\n", "bot.py:4: bot.py does not import: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)\n", "bot.py:2: bot.py does not import: SystemExit: 3"),
        ("def other(view): return 0\n", "no agent in bot.py; it has other"),
        ("agent = [1, 2]\n", "neither a function of a view nor an agent, but of type list"),
        ("class agent: pass\n", "bot.py:agent is a class; name a function of a view, or an object"),
    ],
)
def test_what_is_no_agent_is_refused(folder: Path, code: str, said: str) -> None:
    write(folder, code)
    assert said in refusal("bot.py:agent")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nowhere.py:agent", "no file 'nowhere.py'"),
        ("no_such_module:agent", "no_such_module does not import: ModuleNotFoundError"),
        ("my_bot.py", "name the agent in it, e.g. my_bot.py:agent"),
        ("my_bot.py:agnt", "no agnt in my_bot.py; it has strength, agent"),
        ("my_bot.py:agent?post=purify", "leave them out"),
        ("always-cal", "near: always-call"),
    ],
)
def test_names_that_lead_nowhere_are_refused(folder: Path, what: str, said: str) -> None:
    assert folder
    assert said in refusal(what)


def test_an_error_in_the_agent_names_file_line_and_hand(folder: Path) -> None:
    write(folder, "def agent(view):\n    return view.board[0] and 0\n")
    for call in (
        lambda: equipoise.match("bot.py:agent", "always-call", game="leduc", hands=20),
        lambda: equipoise.measure_agent("bot.py:agent", game="leduc", threads=1),
        lambda: equipoise.measure_agent("bot.py:agent", game="leduc", method="lbr", hands=100, threads=2),
    ):
        with pytest.raises(InputError) as caught:
            call()
        said = r"bot\.py:3: agent 'bot\.py:agent' fails with .. (first|after raise to 3).*: IndexError: tuple index"
        assert re.match(said, str(caught.value))


def test_wrong_answers_name_the_agent_and_the_hand(folder: Path) -> None:
    for answer, said in (("99", "raise to 99 is illegal"), ("{0: 0.7}", "sum to 0.7, not to 1"), ("None", "neither")):
        write(folder, f"def agent(view):\n    return {answer}\n")
        text = refusal("bot.py:agent")
        assert said in text
        assert re.search(r"agent 'bot\.py:agent' answers .* with .. first to act", text)


def test_commands_end_in_one_line(folder: Path) -> None:
    write(folder, "def agent(view):\n    return 1 / 0\n")
    done = command("match bot.py:agent always-call --game leduc --hands 20")
    assert isinstance(done.exception, InputError)
    assert "bot.py:3" in str(done.exception)
