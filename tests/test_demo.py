"""`make demo`: its published values, its training, and its table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import equipoise
from equipoise import demo


def test_published_values_are_met(capsys: pytest.CaptureFixture[str]) -> None:
    demo._solve()
    printed = capsys.readouterr().out
    assert "as published" in printed and "DIFFERENT" not in printed


def test_a_training_is_measured_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "MINUTES", 0.01)
    demo._train()
    last = capsys.readouterr().out.splitlines()[-3].split()
    found = equipoise.measure_agent(str(demo.FOLDER))
    assert isinstance(found, equipoise.Exploitability)
    assert float(last[-1]) == pytest.approx(found.exploitability, abs=0.006)
    demo._train()
    assert "already trained" in capsys.readouterr().out


def test_the_shipped_agent_is_asked_without_and_with_search(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def bound(name: str, **_: object) -> SimpleNamespace:
        asked.append(name)
        return SimpleNamespace(lbr=3000.0 if name == demo.AGENT else -200.0, ci95=100.0, hands=40)

    monkeypatch.setattr(demo, "_bound", bound)
    monkeypatch.setattr(demo, "_matches", lambda _agent: [])
    demo._shipped_agent()
    printed = capsys.readouterr().out
    assert asked == [demo.AGENT, demo.SEARCH]
    assert printed.index("3,000.0 ± 100.0") < printed.index("-200.0 ± 100.0")
    assert "nothing to win" in printed
    assert equipoise.load_player(demo.SEARCH).name == demo.SEARCH


def test_nothing_to_win_is_said_of_an_interval_below_zero_only() -> None:
    for lbr, ci95, said in ((-200.0, 100.0, True), (-50.0, 100.0, False), (0.0, 0.0, False), (300.0, 10.0, False)):
        assert ("nothing to win" in demo.nothing_to_win(lbr, ci95)) == said
