"""What prompts and notebooks show: one short line, flat rows, and HTML that is whole and escaped."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise import Range, load_game
from equipoise.core.display import rows_html

EVIL = "<script>&\"'"


class Page(HTMLParser):
    """Counts tags, and refuses those that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.titles: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.append(tag)
        self.titles += [value or "" for key, value in attrs if key == "title"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One of each, from small games."""
    out = tmp_path_factory.mktemp("runs") / "leduc"
    run = equipoise.train("leduc", out, iterations=200, threads=1)
    agents = ["always-call", "always-fold", "uniform"]
    turn = equipoise.solve("turn", iterations=2, target=0, threads=1)
    return {
        "range": Range.read("QQ+,AKs:0.5"),
        "long range": Range.read("22+,A2s+,K2s+,Q2s+,J7s+,T7s+,97s+,87s,76s,A2o+,K9o+,QTo+,JTo,T9o:0.3"),
        "rules": load_game("leduc"),
        "tree": equipoise.build_tree("leduc"),
        "no-limit tree": equipoise.build_tree("holdem.nolimit", "pot"),
        "report": equipoise.game_report("leduc"),
        "equity": equipoise.equity("AA", "KK", "2c 7d Jh 8s", threads=1),
        "spot": equipoise.load_spot("turn"),
        "solution": equipoise.solve("leduc", iterations=20, threads=1),
        "node": equipoise.solve("river", iterations=5, target=0, threads=1).strategy(),
        "spot report": equipoise.runout_report(turn, "check, check"),
        "small node": equipoise.solve("kuhn", iterations=5, threads=1).strategy(),
        "exploitability": equipoise.exploitability("leduc", "uniform", threads=1),
        "bound": equipoise.local_best_response("uniform", game="leduc", hands=200, threads=1),
        "match": equipoise.match("always-call", "uniform", game="leduc", hands=100, threads=1),
        "tournament": equipoise.round_robin(agents, game="leduc", hands=100, threads=1),
        "run": run,
        "recipe": equipoise.load_recipe("nolimit-demo"),
        "buckets": equipoise.build_abstraction({"game": "leduc"}),
        "strategy": equipoise.load_strategy(out),
        "decision": equipoise.show_strategy(str(out)),
        "agent": equipoise.load_player(str(out)),
    }


def test_reprs_are_one_short_line(results: dict[str, Any]) -> None:
    for name, result in results.items():
        text = repr(result).replace(str(Path(results["strategy"].path).parent), "runs/leduc")
        assert len(text) < 140, f"{name}: {text}"
        assert "\n" not in text and "array(" not in text and "object at" not in text, text
        assert text.startswith((f"{type(result).__name__}(", "Range.read(")), text


def test_reprs_tell_what_matters(results: dict[str, Any]) -> None:
    assert repr(results["range"]) == "Range.read('QQ+,AKs:0.5')"
    assert repr(results["tree"]) == "BettingTree(leduc: 90 nodes)"
    assert "2373.61 mbb/g, exact" in repr(results["exploitability"])
    assert repr(results["match"]).startswith("MatchResult(always-call against uniform: ")
    assert "200 iterations" in repr(results["run"])


def test_rows_are_flat_and_alike(results: dict[str, Any]) -> None:
    tables = {name: result for name, result in results.items() if hasattr(result, "to_rows")}
    assert len(tables) >= 11
    for name, result in tables.items():
        rows = result.to_rows()
        assert rows, name
        assert len({tuple(row) for row in rows}) == 1, name
        for row in rows:
            assert not any(isinstance(value, list | dict | tuple) for value in row.values()), name
        json.dumps(rows)


def test_rows_agree_with_the_results(results: dict[str, Any]) -> None:
    found = results["exploitability"]
    rows = {row["ends"]: row for row in found.to_rows()}
    whole = rows.pop("all")
    for player in ("player 0", "player 1"):
        assert sum(row[player] for row in rows.values()) == pytest.approx(whole[player])
    assert (whole["player 0"] + whole["player 1"]) / 2 == pytest.approx(found.exploitability)
    hands = {row["hand"]: row for row in results["range"].to_rows()}
    assert list(hands) == ["AA", "AKs", "KK", "QQ"]
    assert sum(row["holes"] for row in hands.values()) == results["range"].combos == 20


def test_html_is_whole(results: dict[str, Any]) -> None:
    shown = {name: result for name, result in results.items() if hasattr(result, "_repr_html_")}
    assert {"range", "solution", "node", "small node", "decision", "match", "run"} <= set(shown)
    for result in shown.values():
        assert "table" in Page(result._repr_html_()).seen


def test_the_grid_has_every_hand_and_its_mix(results: dict[str, Any]) -> None:
    page = Page(results["range"]._repr_html_())
    assert page.seen.count("td") == 169
    assert sorted(page.titles) == ["AA: weight 1.00", "AKs: weight 0.50", "KK: weight 1.00", "QQ: weight 1.00"]
    node = results["node"]
    page = Page(node._repr_html_())
    assert page.seen.count("td") == 169
    assert all(action in page.text for action in node.actions)
    assert len(page.titles) > 20


def test_a_column_has_one_number_of_decimals() -> None:
    page = Page(rows_html([{"often": 1.0, "ev": -0.001, "hands": 7}, {"often": 2.5e-7, "ev": 145.5, "hands": 12000}]))
    assert page.text == "oftenevhands1.00000.0070.0000145.5012,000"


def test_texts_are_escaped() -> None:
    page = Page(rows_html([{EVIL: EVIL, "n": 1234, "none": None}] * 100, EVIL))
    assert "script" not in page.seen
    assert page.text.count(EVIL) == 62  # the caption, the column, sixty rows
    assert "1,234" in page.text and "and 40 more rows" in page.text
    result = equipoise.match(equipoise.FunctionAgent(EVIL, load_game("kuhn"), lambda _: 0), "uniform", hands=20)
    assert "script" not in Page(result._repr_html_()).seen
