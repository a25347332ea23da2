"""A table on a pseudo-terminal, and on terminals that can do less: what is typed ahead, what is left on the screen."""

from __future__ import annotations

import io
import os
import re
import select
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from rich.cells import cell_len

import equipoise
from equipoise.agents.agent import View
from equipoise.cards.deck import FULL_DECK
from equipoise.core.visible_text import visible_stream
from equipoise.games.betting_state import CALL
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.play import screen as screen_module
from equipoise.play.screen import MOST_LINE, MOST_TYPED, Keyboard, Screen
from equipoise.play.terminal import play_terminal, table_name
from equipoise.play.winnings import Winnings

NOLIMIT = load_game("holdem.nolimit")
PATIENCE = 60.0  # seconds until a test that waits for nothing fails


class Slow:
    """An agent that thinks until it is told to answer, and always checks or calls."""

    def __init__(self, name: str = "slow", rules: GameRules = NOLIMIT) -> None:
        self.name, self.rules, self.go = name, rules, threading.Semaphore(0)

    def act(self, view: View, rng: np.random.Generator) -> int:
        del view, rng
        assert self.go.acquire(timeout=PATIENCE)
        return CALL


class AtTerminal:
    """A person's game on a pseudo-terminal, played by a thread."""

    def __init__(self, agent: Slow, **options: object) -> None:
        self.master, slave = os.openpty()
        self.agent, self.options, self.seen, self.won = agent, options, "", list[Winnings]()
        self.files = os.fdopen(slave, encoding="utf-8"), os.fdopen(os.dup(slave), "w", encoding="utf-8")
        self.thread = threading.Thread(target=self._play, daemon=True)
        self.thread.start()

    def _play(self) -> None:
        self.won.append(play_terminal(self.agent, *self.files, **self.options))  # type: ignore[arg-type]

    def until(self, text: str) -> str:
        """What is shown next, up to a text."""
        found, end = "", time.monotonic() + PATIENCE
        while not found.endswith(text):
            ready, _, _ = select.select([self.master], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} never comes; there is {found!r}"
            found += os.read(self.master, 1).decode("latin-1")
        self.seen += found
        return found

    def type(self, text: str) -> None:
        """Type, and wait until the terminal has it, as its echo shows."""
        os.write(self.master, text.encode())
        self.until(text.replace("\n", "\r\n"))

    def type_ahead(self, lines: str) -> None:
        """Type while nothing is asked and shown, and wait until the terminal has it."""
        os.write(self.master, lines.encode())
        ready, _, _ = select.select([self.files[0]], [], [], PATIENCE)
        assert ready

    def end(self) -> Winnings:
        """How the game ended, after its last question was answered."""
        self.thread.join(PATIENCE)
        self.rest(0.0)
        return self.won[0]

    def rest(self, seconds: float) -> None:
        """What is shown within some time."""
        if select.select([self.master], [], [], seconds)[0]:
            self.seen += os.read(self.master, 1 << 16).decode("latin-1")

    def __enter__(self) -> AtTerminal:
        return self

    def __exit__(self, *_: object) -> None:
        """Let a game end that a failed test left."""
        self.agent.go.release(100)
        while self.thread.is_alive():
            os.write(self.master, b"quit\n")
            self.rest(0.1)
            self.thread.join(0.1)
        for file in self.files:
            file.close()
        os.close(self.master)


def on_screen(text: str) -> list[str]:
    """The lines that a terminal is left with: carriage returns overwrite, colours are dropped."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    lines, row, column = [""], 0, 0
    for letter in text:
        if letter == "\n":
            row += 1
            lines.append("")
        elif letter == "\r":
            column = 0
        else:
            lines[row] = lines[row][:column].ljust(column) + letter + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_module, "PAUSE", 0.0)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.usefixtures("no_pause")
def test_what_is_typed_ahead_answers_nothing() -> None:
    agent = Slow()
    with AtTerminal(agent, seat="button", seed=4) as table:
        table.until("> ")
        table.type("raise 3x\n")
        table.until("thinking ...")
        table.type_ahead("shove\nfold\n")  # before the flop is seen
        agent.go.release()
        table.until("thinking ...")
        agent.go.release()
        table.until("> ")
        table.type("quit\n")
        assert table.end().hands == 0
        assert "No: " not in table.seen and "You go all-in" not in table.seen


@pytest.mark.usefixtures("no_pause")
def test_lines_after_an_answer_do_not_answer_the_next_question() -> None:
    with AtTerminal(Slow(), seat="button", seed=4) as table:
        table.until("> ")
        os.write(table.master, b"fold\nfold\nquit\n")
        table.until("Hand 2: ")
        table.until("> ")
        table.type("quit\n")
        assert table.end().hands == 1


@pytest.mark.usefixtures("no_pause")
def test_thinking_is_shown_and_nothing_of_it_is_left() -> None:
    agent = Slow("it")  # what it says is shorter than what is erased
    with AtTerminal(agent, hands=1, seat="button", seed=4) as table:
        table.until("> ")
        table.type("call\n")
        for _ in range(2):
            table.until("thinking ...")
            table.type_ahead("what is typed\n")
            agent.go.release()
        table.until("> ")
        table.type("quit\n")  # shown again
        table.end()
    lines = on_screen(table.seen)
    assert not [line for line in lines if "thinking" in line or "typed" in line]
    assert lines.count("it checks.") == 2


def test_nothing_is_shown_or_waited_for_elsewhere() -> None:
    agent = Slow()
    agent.go.release()
    text = io.StringIO()
    play_terminal(agent, io.StringIO("shove\n"), text, hands=1, seat="button", seed=4)
    assert "thinking" not in text.getvalue()
    assert "\r" not in text.getvalue() and "\x1b" not in text.getvalue()


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def shown_on(encoding: str, text: str = "", cards: tuple[int, ...] = (51, 38)) -> str:
    """What a terminal of an encoding gets of a text and cards."""
    raw = io.BytesIO()
    screen = Screen(Terminal(raw, encoding=encoding), FULL_DECK)
    screen.say(text, screen.cards(cards))
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize(
    ("environment", "encoding", "symbols", "colours"),
    [
        ({}, "utf-8", True, True),
        ({"NO_COLOR": "1"}, "utf-8", True, False),
        ({"TERM": "dumb"}, "utf-8", False, False),
        ({}, "ascii", False, True),
        ({}, "latin-1", False, True),
        ({"LC_ALL": "C"}, "utf-8", False, True),
    ],
)
def test_terminals_that_can_do_less(
    environment: dict[str, str], encoding: str, symbols: bool, colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "LC_ALL", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm-256color"} | environment).items():
        monkeypatch.setenv(name, value)
    text = shown_on(encoding, "± ")
    assert ("♠" in text) == symbols
    assert ("As" in re.sub(r"\x1b\[[0-9;]*m", "", text)) == (not symbols)
    assert bool(re.search(r"\x1b\[[0-9;]*3[1-9]m", text)) == colours
    assert ("\x1b" in text) == (environment.get("TERM") != "dumb")
    assert text.startswith("+- " if encoding == "ascii" else "± ")


def test_colours_pass_a_stream_that_shows_what_a_terminal_would_obey(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    raw = io.BytesIO()
    screen = Screen(visible_stream(Terminal(raw, encoding="utf-8")), FULL_DECK)
    with screen.thinking():
        screen.say(screen.cards([51]), "\x1b[2J")
    assert re.search(r"\x1b\[[0-9;]*mA.*\\x1b\[2J", raw.getvalue().decode())
    assert raw.getvalue().count(b"\r") == 2


def test_what_a_terminal_would_obey_is_shown() -> None:
    assert shown_on("utf-8", "a\x1b[2Jb\rc\u202ed ", ()).startswith("a\\x1b[2Jb\\rc\\u202ed")
    assert shown_on("ascii", "béta 東 ", ()).startswith("b?ta ? ")
    agent = equipoise.FunctionAgent("\x1b[31mred\x07\n", NOLIMIT, lambda _view: CALL)
    text = io.StringIO()
    play_terminal(agent, io.StringIO("c\n"), text, hands=1, seed=1)
    assert "\x1b" not in text.getvalue() and "\x07" not in text.getvalue()


def lines_of(text: str) -> Iterator[str | None]:
    keyboard = Keyboard(io.StringIO(text))
    while (line := keyboard.line()) is not None:
        yield line


def test_lines_are_read_one_by_one() -> None:
    assert list(lines_of("a\n  b c \n\nd")) == ["a", "b c", "", "d"]
    assert list(lines_of("")) == []
    long = "c" + " " * MOST_TYPED * 3 + "fold"
    first, *others = lines_of(f"{long}\ncall\n")
    assert (first or "").endswith("...") and others == ["call"]
    exact = "x" * (MOST_TYPED - 1)
    assert list(lines_of(f"{exact}\ncall\n")) == [exact, "call"]
    assert list(lines_of("c\n" + "0" * 2 * MOST_LINE)) == ["c"]  # a line without an end


def test_bytes_that_are_no_text_end_a_script() -> None:
    source = io.TextIOWrapper(io.BytesIO(b"\xff\xfe\nfold\n"), encoding="utf-8")
    assert Keyboard(source).line() is None


def test_names_are_short() -> None:
    for what, name in {
        "nolimit-strong?search=turn": "nolimit-strong",
        "runs/v1.2": "v1.2",
        "/a/b/mine.packed?post=purify": "mine",
        "runs/mine/strategy.current?translate=nearest": "mine",
        "my_bot.py:agent": "my_bot",
        "bots.agents:agent": "bots.agents",
        "": "agent",
        "東" * 30: "東" * 8 + " ...",
    }.items():
        assert table_name(what) == name
        assert cell_len(table_name(what)) <= 20
