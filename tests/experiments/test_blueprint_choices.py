"""The choices of a blueprint: every cell is trained, measured and played once, in any number of processes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from equipoise.experiments.blueprints import choices

RECIPE = """
game = "{game}"
betting = {{ bet = [1.0], cap = 1 }}
cards = {{ preflop = {{ method = "percentile", buckets = 3 }} }}
solver = {{ method = "external", period = 100 }}
"""
DOSE = choices.Dose(minutes=0.002, hands=2000, lbr_hands=40, flops=2)
GAME = """
GAMEDEF
nolimit
numPlayers = 2
numRounds = 1
stack = 400 400
blind = 100 50
firstPlayer = 2
numSuits = 4
numRanks = 3
numHoleCards = 1
numBoardCards = 0
END GAMEDEF
"""


@pytest.mark.parametrize("count", [1, 3])
def test_every_choice_is_found_once(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "thread_count", lambda _threads: count)
    monkeypatch.setattr(choices, "FIRST", 500)
    (tmp_path / "small.game").write_text(GAME)
    (tmp_path / "small.toml").write_text(RECIPE.format(game=tmp_path / "small.game"))
    base = choices.Base(
        str(tmp_path / "small.toml"), {"schedule cfr": ("solver.schedule=cfr",), "pot": ("betting=pot",)}
    )
    lines: list[str] = []
    summary = choices.compare_choices({"no-limit": base}, tmp_path / "out", DOSE, lines.append)
    rows: list[dict[str, Any]] = summary["found"]
    assert [row["choice"] for row in rows] == ["base", "schedule cfr", "pot"]
    assert all(row["core_seconds"] >= 0.97 * 60 * DOSE.minutes and row["± lbr"] > 0 for row in rows)
    assert [row["wins"] is None for row in rows] == [True, False, False]
    with (tmp_path / "out" / "blueprint-choices.csv").open() as file:
        assert [row["choice"] for row in csv.DictReader(file)] == [row["choice"] for row in rows]
    assert f"3 choices, {count} at once" in lines
    again = choices.compare_choices({"no-limit": base}, tmp_path / "out", DOSE, lines.append)
    assert again["found"] == rows  # remembered: core seconds are never the same twice
