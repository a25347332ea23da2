"""Progress on standard error, by a clock that the test turns: no silence, few lines, and a bar that comes by itself."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from equipoise.cli.render import progress
from equipoise.cli.render.progress import Lines, progress_bar, stage_bar, status_line


class Clock:
    """A clock and the beats of the thread that looks at it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.beat: Any = None

    @contextmanager
    def ticking(self, beat: Any) -> Iterator[None]:
        self.beat = beat
        yield

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += 1
            self.beat()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Turns instead of the real clock; `wait` lets the thread look at it once a second."""
    found = Clock()
    monkeypatch.setattr(progress.time, "monotonic", lambda: found.now)
    monkeypatch.setattr(progress, "ticking", found.ticking)
    return found


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_work_that_reports_nothing_is_not_silent(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with stage_bar("local best response"):
        clock.wait(9)
        assert capsys.readouterr().err == ""
        clock.wait(3)
        assert capsys.readouterr().err == "local best response: 0:10 so far\n"
        clock.wait(300)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10  # one every thirty seconds
    assert lines[0] == "local best response: 0:40 so far"


def test_a_line_counts_down_while_nothing_is_reported(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("match") as report:
        for percent in range(1, 51):
            clock.now += 1
            report(percent / 100)
        clock.wait(80)
    lines = capsys.readouterr().err.splitlines()
    counted = ["match: 10%, 1:30 left", "match: 40%, 1:00 left", "match: 50%, 0:30 left", "match: 50%, 0:00 left"]
    assert lines[:4] == counted
    assert set(lines[4:]) <= {counted[3]}


def test_a_limit_of_time_is_the_time_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Work that ends after 200 seconds, whatever it does, reports the share of the time: the rest is told exactly."""
    with progress_bar("match") as report:
        for second in range(1, 101):
            clock.now += 1
            report(second / 200)
    assert [line.split(", ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "3:10 left", "2:40 left", "2:10 left", "1:40 left"
    ]  # fmt: skip


def test_a_bar_appears_though_nothing_was_reported(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with stage_bar("tables of buckets") as report:
        clock.wait(2)
        assert "buckets" not in screen.getvalue()
        clock.wait(1)
        assert clock.beat.__self__.shown
        report("matches", 0.5)
    assert "tables of buckets" in screen.getvalue()
    short = Terminal()
    monkeypatch.setattr(sys, "stderr", short)
    with stage_bar("quick"):
        clock.wait(1)
    assert short.getvalue() == ""


def test_a_drawn_line_is_drawn_again_and_kept_short(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with status_line("solving") as lines:
        lines.show(lambda: "iteration 1  " + "x" * 100)
        clock.wait(5)
    drawn = screen.getvalue().split("\r")
    assert len(drawn) >= 4
    assert {len(line.rstrip("\n")) for line in drawn[1:]} == {progress.WIDTH}


def test_the_thread_ends_with_the_work_and_survives_a_closed_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "TICK", 0.001)
    monkeypatch.setattr(progress, "FIRST", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    before = set(threading.enumerate())
    closed = io.StringIO()
    closed.close()
    beats = threading.Event()

    class Heard(Lines):
        def beat(self) -> None:
            beats.set()
            raise ValueError("I/O operation on closed file")

    heard = Heard("x")
    with progress.ticking(heard.beat):
        assert beats.wait(60)
        beats.clear()
        assert beats.wait(60)  # it goes on
    assert set(threading.enumerate()) <= before
