"""Figures 4 and 5 of the CFR-BR paper, on games that take seconds; and what the published numbers say of the game."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clocks import Clock
from equipoise import Deck, InputError, build_tree, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.build import build_map
from equipoise.abstraction.maps.card_recipe import StreetRecipe, read_card_recipe
from equipoise.experiments.cfr_br import figure_4 as cfr_br_figure_4
from equipoise.experiments.cfr_br import figure_5 as cfr_br_figure_5
from equipoise.experiments.cfr_br import two_four
from equipoise.experiments.cfr_br.two_four import (
    AVERAGE,
    BOTH,
    CURRENT,
    FULL,
    ONE,
    Contest,
    buckets_by,
    contests,
    solve_rows,
)
from equipoise.solvers.cfr_br import full as cfr_br
from equipoise.solvers.cfr_br.full import CFRBR, AbstractCFR, table_bytes
from equipoise.solvers.cfr_br.hybrid import HybridCFRBR
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.bucketed_engine import BucketedEngine

TWO_FOUR, LIMIT = load_game("holdem.two-four"), load_game("holdem.limit")
SMALL = dataclasses.replace(TWO_FOUR, deck=Deck(4, 3), max_raises=(1, 2), name="small")
LONGER = dataclasses.replace(LIMIT, deck=Deck(4, 3), name="longer")
CUT = StreetRecipe(method="percentile", buckets=2, feature="ehs2")
STEPS = {BOTH: 200, AVERAGE: 100, FULL: 2000, ONE: 1000}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps that tests make are not left among those of a user."""
    monkeypatch.setattr(two_four, "cache_folder", lambda _: tmp_path)


@cache
def solved() -> dict[str, tuple[float, float]]:
    """What every curve comes to on the small game: losses in big blinds."""
    found: dict[str, tuple[float, float]] = {}
    for contest in contests(build_tree(SMALL), _halves(), 1):
        for _ in range(STEPS[contest.name]):
            contest.advance()
        found |= contest.losses()
    return {curve: (first / SMALL.big_blind, second / SMALL.big_blind) for curve, (first, second) in found.items()}


def _halves() -> BucketMap:
    return buckets_by(SMALL, LONGER, (CUT, CUT))


def test_cfr_br_comes_to_what_cfr_against_the_unabstracted_comes_to() -> None:
    """Each seat by itself, so that seats exchanged would show; and both abstracted lose clearly more."""
    found = solved()
    assert abs(found[ONE][0] - found[ONE][1]) > 0.06  # three times what is allowed below
    assert found[FULL] == pytest.approx(found[ONE], abs=0.001)  # 1 mbb/g
    assert found[AVERAGE] == pytest.approx(found[ONE], abs=0.02)  # sampled, and few iterations
    assert found[CURRENT] == pytest.approx(found[ONE], abs=0.02)
    assert sum(found[BOTH]) > sum(found[ONE]) + 0.15
    assert min(sum(losses) for losses in found.values()) > sum(found[ONE]) - 0.002  # nothing is below the least


def test_a_figure_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    clock = Clock(monkeypatch, two_four.__name__)
    for solver, seconds in ((AbstractCFR, 0.25e-3), (HybridCFRBR, 0.02e-3), (CFRBR, 0.05e-3)):
        clock.charge(solver, seconds)
    figure = two_four.Figure("figure", "a title", {BOTH: 144.0, ONE: 81.0})
    summary = two_four.reproduce_figure(figure, _halves(), 0.5, tmp_path, told.append, 1)
    written = json.loads((tmp_path / "figure.json").read_text())
    assert set(summary["ours_mbb"]) == {BOTH, ONE, AVERAGE, CURRENT, FULL}
    assert written["published_mbb"] == figure.published
    assert two_four.compared(summary)[0] == {"name": BOTH, "published": 144.0, "ours": summary["ours_mbb"][BOTH]}
    twice = summary["ours_with_flop_bets_doubled_mbb"]
    assert set(twice) == {BOTH, AVERAGE, CURRENT} and twice[BOTH] > 1.1 * summary["ours_mbb"][BOTH]
    assert summary["infosets"] == SlotLayout(build_tree(SMALL), (2, 4)).infosets
    for curve, ours in summary["ours_mbb"].items():
        mine = [row for row in written["rows"] if row["curve"] == curve and not row["game"]]
        assert mine[-1]["exploitability_mbb"] == ours
        for key in ("seconds", "iteration"):
            assert [row[key] for row in mine] == sorted({row[key] for row in mine})
        for row in mine:
            both = row["first_loses_mbb"] + row["second_loses_mbb"]
            assert row["exploitability_mbb"] == pytest.approx(both / 2)
    assert len((tmp_path / "figure.csv").read_text().splitlines()) == 1 + len(written["rows"])
    assert (tmp_path / "figure.png").stat().st_size > 5_000
    assert "GB" in told[0] and len(told) == 1 + len(written["rows"])


def test_looks_become_rarer_and_the_last_is_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(two_four.time, "perf_counter", lambda: clock[0])
    done = [0]

    def advance() -> None:
        clock[0] += 100.0 if done[0] == 0 else 1.0  # the first compiles
        done[0] += 1

    def losses() -> dict[str, tuple[float, float]]:
        clock[0] += 50.0  # looking is not solving
        return {"it": (1.0, 3.0)}

    rows = list(solve_rows(Contest("it", advance, lambda: done[0], losses), 100.0, 10.0))
    seconds = [row["seconds"] for row in rows]
    assert seconds[0] == 1 and seconds[-1] == 100
    assert all(later >= min(100, 1.5 * sooner) for sooner, later in pairwise(seconds))
    assert {row["exploitability_mbb"] for row in rows} == {200.0}


def test_buckets_by_the_own_game_are_those_of_a_recipe() -> None:
    text = {street: {"method": "percentile", "buckets": 2, "feature": "ehs2"} for street in ("preflop", "flop")}
    twin = build_map(SMALL, read_card_recipe(text, SMALL), keep=False)
    ours = buckets_by(SMALL, SMALL, (CUT, CUT))
    for mine, theirs in zip(ours.streets, twin.streets, strict=True):
        assert mine.deals == theirs.deals
        assert np.array_equal(mine.cell, theirs.cell)
    assert ours.perfect_recall and twin.perfect_recall


def test_buckets_by_a_longer_game_look_ahead(tmp_path: Path) -> None:
    ahead, own = _halves(), buckets_by(SMALL, SMALL, (CUT, CUT))
    assert ahead.buckets == own.buckets == (2, 4)
    assert not np.array_equal(ahead.streets[1].cell, own.streets[1].cell)
    again = _halves()  # kept
    assert len(list(tmp_path.iterdir())) == 2
    assert np.array_equal(again.streets[1].cell, ahead.streets[1].cell)
    hand = [11, 10]
    for board in ([0, 1, 2], [4, 7, 9]):
        assert ahead.bucket(hand, board) // 2 == ahead.bucket(hand, [])  # perfect recall
    forgets = buckets_by(SMALL, LONGER, (None, StreetRecipe(method="emd", buckets=6, bins=10)))
    assert forgets.buckets[1] == 6 and not forgets.perfect_recall
    with pytest.raises(InputError, match="other cards"):
        buckets_by(SMALL, LIMIT, (CUT, CUT))


def test_what_was_published() -> None:
    published: dict[str, Any] = tomllib.loads((Path(__file__).parents[1] / "data" / "published.toml").read_text())
    game, tree = published["two_four_holdem"], build_tree(TWO_FOUR)
    assert SlotLayout(tree, (5, 25)).infosets == game["infosets_5_bucket_perfect_recall"]
    assert SlotLayout(tree, (169, cfr_br_figure_5.BUCKETS)).infosets == game["infosets_570_bucket_imperfect_recall"]
    keys = {BOTH: "cfr_abstract_vs_abstract", ONE: "cfr_abstract_vs_full", AVERAGE: "cfr_br", CURRENT: "cfr_br"}
    for module, name in (
        (cfr_br_figure_4, "5_bucket_perfect_recall"),
        (cfr_br_figure_5, "570_bucket_imperfect_recall"),
    ):
        assert module.FIGURE.published == {curve: game[name][key] for curve, key in keys.items()}


def test_the_unabstracted_player_is_weighed_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, lossless, halves = build_tree(SMALL), BucketMap.lossless(SMALL), _halves()
    solver = AbstractCFR(tree, (halves, lossless))
    solver.run(3)
    whole = 0
    for tables in (solver.regret, solver.average):
        for player, table in enumerate(tables):
            layout = solver.engine.layouts[player]
            for street, count in enumerate(layout.buckets):
                whole += count * int(layout.width[street, player]) * table.itemsize
                other = int(layout.first[street, 1 - player])
                assert not table[other : other + count * int(layout.width[street, 1 - player])].any()  # never touched
    assert table_bytes(tree, (halves, lossless)) == whole
    assert 1.8e9 > table_bytes(build_tree(TWO_FOUR), (BucketMap.lossless(TWO_FOUR),) * 2) / 1.05 > 1.7e9
    monkeypatch.setattr(cfr_br, "available_memory", lambda: whole - 1)
    with pytest.raises(InputError, match="B is free"):
        AbstractCFR(tree, (halves, lossless))


def test_a_table_of_next_to_nothing_is_a_strategy() -> None:
    """Averages of what is hardly ever reached end up as subnormal numbers, whose inverse is infinite."""
    tree, halves = build_tree(SMALL), _halves()
    engine = BucketedEngine(tree, (halves, halves))
    table = np.full(engine.layouts[0].slots, 1e-41, np.float32)
    for player in range(2):
        assert engine.respond(player, table) == pytest.approx(engine.respond(player, np.ones_like(table)), rel=1e-4)
