"""The table of local best response: published figures, settings, and which cells are measured."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.experiments.lisy_bowling import table_3
from equipoise.games.bet_menu import ALL_IN
from equipoise.measure.report import write_report

PUBLISHED = tomllib.loads((Path(__file__).parents[1] / "data" / "published.toml").read_text())["lbr"]


def test_published_figures_are_those_of_the_papers() -> None:
    named = {setting.name: setting.published for setting in table_3.SETTINGS if setting.published}
    keys = [peer.lower().replace(" ", "_") for peer in table_3.PEERS]
    published = {name: row for name, row in PUBLISHED.items() if isinstance(row, dict)}
    assert named == {name: tuple(tuple(row[key]) for key in keys) for name, row in published.items()}


def test_every_cell_that_can_be_measured_is_asked_for_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[str, int, Any]] = []

    def measured(agent: Any, *, from_street: int, bets: Any, **_: Any) -> SimpleNamespace:
        asked.append((agent.name, from_street, bets))
        return SimpleNamespace(lbr=100.0 * len(asked), ci95=5.0, hands=40)

    monkeypatch.setattr(table_3, "local_best_response", measured)
    agents: Any = {name: SimpleNamespace(name=name) for name in table_3.AGENTS}
    rows = [table_3.lbr_row(setting, agents, 1.0, tmp_path, lambda _line: None) for setting in table_3.SETTINGS]
    assert len(asked) == 6 + 4 + 4
    assert ("search=turn", 2, [(1.0, ALL_IN)] * 2) in asked and ("blueprint", 0, [()] * 4) in asked
    on_the_flop = [bets for name, street, bets in asked if street == 1 and name == "search=turn"]
    assert [[len(sizes) for sizes in bets] for bets in on_the_flop] == [[56, 0, 0]]
    again = [table_3.lbr_row(setting, agents, 1.0, tmp_path, lambda _line: None) for setting in table_3.SETTINGS]
    assert again == rows and len(asked) == 14  # remembered
    compared = table_3.compared({"table": rows})
    assert len(compared) == 14
    assert compared[2] == {
        "name": "fc, fc, fc, fc: search=turn, DeepStack",
        "published": "-428 ± 87",
        "ours": "300 ± 5",
    }
    write_report(tmp_path / "table", {}, rows, table_3._draw)
    assert (tmp_path / "table.png").stat().st_size > 1000
