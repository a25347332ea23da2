"""Experiments that compare solvers, on games that take a second."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clocks import Clock
from equipoise import load_game
from equipoise.experiments.slumbot_nl import pcs_variance, time_to_20_mbb
from equipoise.experiments.tartanian7 import blades
from equipoise.solvers.external_sampling import External
from equipoise.solvers.public_chance import PublicChance
from equipoise.solvers.vector_cfr import VectorCFR


def test_several_boards_have_less_variance_than_single_ones(tmp_path: Path) -> None:
    summary = pcs_variance.compare_variance(load_game("leduc"), (1, 2), 60, tmp_path, lambda _line: None)
    written = json.loads((tmp_path / "pcs-variance.json").read_text())
    cycle = summary["cycle"]
    assert cycle == 3
    for start in pcs_variance.STARTS:
        mine = [row for row in written["rows"] if row["start"] == start]
        rows = {(row["boards"], row["at_once"], row["drawn"]): row for row in mine}
        assert rows[cycle, cycle, "cycle"]["variance"] < pcs_variance.NOTHING  # a whole cycle is exact
        assert rows[cycle, cycle, "cycle"]["squared_bias"] < pcs_variance.NOTHING
        for drawn in ("cycle", "independent"):
            assert rows[2, 2, drawn]["variance"] < rows[1, 1, drawn]["variance"]
            assert rows[2, 2, drawn]["squared_bias"] < 5 * rows[2, 2, drawn]["variance"] / 60  # unbiased
        assert rows[2, 2, "cycle"]["variance"] < rows[2, 2, "independent"]["variance"]
        assert rows[cycle, 1, "cycle"]["variance"] > 1e-6  # single boards change the strategy on the way
    ratios = summary["single_boards_over_one_iteration"]["start 0"]
    assert ratios["2"] > 1
    assert ratios["3"] is None
    assert {"name": "start 0, 2 boards", "published": None, "ours": ratios["2"]} in pcs_variance.compared(summary)
    assert len((tmp_path / "pcs-variance.csv").read_text().splitlines()) == 1 + len(written["rows"])
    assert (tmp_path / "pcs-variance.png").stat().st_size > 5_000


def test_three_solvers_on_one_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, "equipoise.training.loop", "equipoise.spots.solve")
    for solver, seconds in ((External, 2e-6), (PublicChance, 5e-4), (VectorCFR, 1e-3)):
        clock.charge(solver, seconds)
    summary = time_to_20_mbb.compare_solvers({"leduc": "leduc"}, 0.02, 15.0, tmp_path, lambda _line: None)
    written = json.loads((tmp_path / "time-to-20-mbb.json").read_text())
    reached = summary["reached"]["leduc"]["vector CFR+"]
    assert reached["exploitability_mbb"] <= 20
    row = {"name": "leduc, vector CFR+, s", "published": None, "ours": reached["seconds"]}
    assert row in time_to_20_mbb.compared(summary)
    assert reached["nodes"] == reached["iteration"] * 2 * (15 + 3 * 75)  # the first street, and three boards
    for solver in (*time_to_20_mbb.SOLVERS, time_to_20_mbb.VECTOR):
        mine = [row for row in written["rows"] if row["solver"] == solver]
        assert mine and mine[-1]["exploitability_mbb"] < 2374 / 2  # far below uniform play
        for key in ("seconds", "nodes", "iteration"):
            values = [row[key] for row in mine]
            assert values == sorted(values) and values[-1] > 0
    assert (tmp_path / "time-to-20-mbb.png").stat().st_size > 5_000
    assert len((tmp_path / "time-to-20-mbb.csv").read_text().splitlines()) == 1 + len(written["rows"])


def test_blades_reach_what_one_piece_reaches(tmp_path: Path) -> None:
    marks, cards = [1e5, 1e7], {"public": {"clusters": 2, "base": 3}}
    summary = blades.compare_blades(load_game("leduc"), cards, marks, tmp_path, lambda _line: None)
    written = json.loads((tmp_path / "tartanian7-blades.json").read_text())
    assert len(written["rows"]) == 2 * len(blades.SEEDS) * len(marks)
    assert all(row["mark"] <= row["nodes"] < 1.2 * row["mark"] for row in written["rows"])
    early, late = (summary["exploitability_mbb"][blades.IN_PARTS][mark] for mark in ("1e+05", "1e+07"))
    assert late < min(early / 2, 2 * summary["exploitability_mbb"][blades.PIECE]["1e+07"] + 10)
    assert {"name": "in parts, 1e+07 nodes, mbb/g", "published": None, "ours": late} in blades.compared(summary)
    assert (tmp_path / "tartanian7-blades.png").stat().st_size > 5_000


def test_the_small_game_is_read(tmp_path: Path) -> None:
    path = tmp_path / "small.game"
    path.write_text(time_to_20_mbb.SMALL)
    rules = load_game(path)
    assert (rules.deck.ranks, rules.deck.suits, rules.rounds) == (4, 3, 2)
    assert pytest.approx(20.0) == time_to_20_mbb.TARGET
