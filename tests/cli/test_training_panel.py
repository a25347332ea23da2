"""What a training shows: a panel on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import re
import sys

import pytest
from rich.console import Console

from equipoise.cli.render import progress
from equipoise.cli.render.tables import duration
from equipoise.cli.render.training_panel import TrainingPanel
from equipoise.runs.progress import TrainingProgress

PROGRESS = TrainingProgress(12_345_678, 75.0, 10**9, 1_234_567.0, 23_456_789.0, 0.012345, 0.5, 17.25, 3725.0, 42.0)


def terminal() -> Console:
    return Console(force_terminal=True, file=io.StringIO(), width=100, height=40, color_system=None)


def shown(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.file.getvalue())


def figures(panel: TrainingPanel) -> dict[str, str]:
    with (screen := terminal()).capture() as captured:
        screen.print(panel.render())
    rows = [line.strip("│ \n") for line in captured.get().splitlines()[1:-1]]
    pairs = [re.split(r"  +", row, maxsplit=1) for row in rows]
    return {pair[0]: pair[1] for pair in pairs}


def test_the_panel_shows_stages_then_figures() -> None:
    screen = terminal()
    with TrainingPanel(screen) as panel:
        panel.say("leduc: 90 betting nodes [until] 1 minute")
        assert "starting" in str(panel_text(panel))
        panel.stage("flop: features", 0.5)
        panel.stage("flop: k-means", 0.25)
        assert [row.split()[-1] for row in panel_text(panel).splitlines()[1:-1]] == ["│", "│"]
        assert re.search(r"flop: features .*100%", panel_text(panel))
        assert re.search(r"flop: k-means .*25%", panel_text(panel))
        panel.progress(PROGRESS)
        panel.say("a checkpoint")
        found = figures(panel)
    assert found == {
        "iterations": "12,345,678",
        "iterations/s": "1,234,567",
        "nodes/s": "23,456,789",
        "average positive regret": "0.01235",
        "last measured": "exploitability 17.25 mbb/g",
        "time trained": "1:15",
        "time left": "1:02:05",
        "last checkpoint": "0:42 ago",
    }
    assert "leduc: 90 betting nodes [until] 1 minute" in shown(screen)  # brackets are text, not markup
    assert "a checkpoint" in shown(screen)
    assert "average positive regret" in shown(screen)


def panel_text(panel: TrainingPanel) -> str:
    with (screen := terminal()).capture() as captured:
        screen.print(panel.render())
    return captured.get()


def test_time_goes_on_between_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("equipoise.cli.render.training_panel.time.monotonic", lambda: now)
    panel = TrainingPanel(terminal())
    panel.progress(PROGRESS)
    now += 25
    found = figures(panel)
    assert (found["time left"], found["last checkpoint"]) == ("1:01:40", "1:07 ago")
    now += 10_000
    assert figures(panel)["time left"] == "0:00"
    panel.progress(TrainingProgress(1, 0.1, 1, 0.0, 0.0, 0.0, 0.0))
    found = figures(panel)
    assert (found["time left"], found["last checkpoint"]) == ("unknown", "none yet")
    assert found["last measured"] == "nothing yet"


def test_elsewhere_there_are_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert not sys.stderr.isatty()
    now = 1000.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with progress.training() as show:
        show.say("started")
        for _ in range(41):  # ten seconds of reports, four a second
            show.progress(PROGRESS)
            now += 0.25
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "started"
    assert len(lines) == 2
    assert lines[1].endswith("17.25 mbb/g  1:02:05 left")
    assert "\x1b" not in "".join(lines)


def test_a_line_after_ten_seconds_and_then_every_thirty_with_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with progress.stage_bar() as show:
        for second in range(1, 41):  # a stage of forty seconds, then one of eighty
            now += 1
            show("first", second / 40)
        for second in range(1, 21):
            now += 1
            show("second", second / 80)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == ["first: 25%, 0:30 left", "first: 100%, 0:00 left"]


def test_durations() -> None:
    assert [duration(seconds) for seconds in (0, 59.6, 3599, 3600)] == ["0:00", "1:00", "59:59", "1:00:00"]


def test_networks_show_their_loss(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    deep = TrainingProgress(120, 75.0, 10**6, 1.7, 23_456.0, loss=0.0678, samples=34_567)
    panel = TrainingPanel(terminal())
    panel.progress(deep)
    found = figures(panel)
    assert (found["loss"], found["samples in memory"], found["iterations/s"]) == ("0.0678", "34,567", "1.7")
    assert "average positive regret" not in found
    now = 1000.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with progress.training() as show:
        now += 11
        show.progress(deep)
    assert capsys.readouterr().err.startswith("iteration 120  1.7/s  23.5 k nodes/s  loss 0.0678")


def test_a_run_in_parts_shows_their_load() -> None:
    parts = {"part_loads": [0.75, 0.25], "message_share": 0.031, "bytes_per_second": 2.5e6}
    now = TrainingProgress(100, 10.0, 1000, 10.0, 100.0, **parts)
    panel = TrainingPanel(terminal())
    panel.progress(now)
    found = figures(panel)
    assert found["load of parts"] == "75%  25%"
    assert found["mean idle share"] == "50%"
    assert found["share of messages"] == "3.1%"
    assert found["messages"] == "2.5 MB/s"
    assert "average positive regret" not in found
    assert TrainingProgress(**now.as_json()).checked() == now
    with pytest.raises(ValueError, match="part_loads"):
        TrainingProgress(**{**now.as_json(), "part_loads": [0.5, float("nan")]}).checked()
