"""Search and its exact measure with a trained blueprint: safe under the default, and not with mistakes in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.agents.search import safety as gadgets
from equipoise.agents.search.agent import Rounds, SearchAgent
from equipoise.agents.search.options import SAFETY
from equipoise.agents.search.safety import Gadget
from equipoise.agents.search.subgame import Position
from equipoise.agents.tracked_strategy import TrackedStrategy
from equipoise.core.jit import F64
from equipoise.experiments.search import safety
from equipoise.measure.best_response import exploitability

EIGHT_CARDS = safety.flop_holdem(4, 2)
CASE = replace(EIGHT_CARDS, rules=replace(EIGHT_CARDS.rules, max_raises=(2, 2)))


class SwappedRanges(SearchAgent):
    """A wrong twin: each player's range is taken for the other's."""

    def _ranges(self, before: Rounds, board: tuple[int, ...], earlier: Position | None) -> F64:
        return super()._ranges(before, board, earlier)[::-1].copy()


class SwappedAlternatives(Gadget):
    """A wrong twin: the opponent leaves for the negative of what it would get."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.alternatives = -self.alternatives


def test_search_is_less_exploitable_than_its_blueprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safety, "ITERATIONS", 30)
    summary = safety.compare_searches([CASE], tmp_path, lambda _line: None)
    found = summary["exploitability_mbb"][CASE.name]
    default = found[f"flop, {SAFETY[0]}"]
    assert default < found["blueprint"] / 1.5
    assert default < min(found["flop, none"], found["flop, gadget"])
    assert found["flop, gadget"] < found["blueprint"]
    assert found["flop, none"] > found["blueprint"]  # what unsafe search may do
    written = json.loads((tmp_path / "search-safety.json").read_text())
    assert [row["search"] for row in written["rows"]] == list(found)
    options, blueprint = next(safety.kinds_of_search(CASE)), CASE.blueprint()
    assert _exact(SwappedRanges("twin", blueprint, options)) > found["blueprint"]
    monkeypatch.setattr(gadgets, "Gadget", SwappedAlternatives)
    assert _exact(SearchAgent("twin", blueprint, options)) > found["blueprint"]


def _exact(agent: SearchAgent) -> float:
    return exploitability(CASE.rules, TrackedStrategy(agent), threads=1).exploitability


def test_every_kind_of_search_is_measured() -> None:
    kinds = [(options.street, options.safety, options.later) for options in safety.kinds_of_search(safety.no_limit(3))]
    assert len(set(kinds)) == len(kinds) == 9
    assert {street for street, _, _ in kinds} == {2, 3}
