"""The table of post-processors: who meets whom, and what stands in it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.agents.named import What
from equipoise.agents.postprocess import PostProcess
from equipoise.experiments.tartanian7 import table_2 as table_2
from equipoise.measure.report import write_report
from equipoise.runs.recipe import load_recipe

PUBLISHED = tomllib.loads((Path(__file__).parents[1] / "data" / "published.toml").read_text())["tartanian7"]


@dataclass(frozen=True)
class Result:
    mbb_per_hand: float
    ci95: float = 5.0


def test_every_post_processor_meets_the_same_deals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[str, str, int, int]] = []
    wins = {"half-pot": 40.0, "coarse": -10.0, "always-call": 3000.0}

    def play(one: Any, two: Any, hands: int, seed: int) -> Result:
        asked.append((one.name, two.name, hands, seed))
        return Result(wins[Path(two.name).name] + len(str(What.read(one.name).post)))

    for name in table_2.RUNS:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(table_2, "load_player", lambda what, _game="": SimpleNamespace(name=what))
    summary, rows = table_2.table({name: tmp_path / name for name in table_2.RUNS}, play, 100, lambda _line: None)
    assert len(asked) == len(set(asked)) == 12
    assert {(hands, seed) for *_, hands, seed in asked} == {(100, table_2.SEED)}
    assert all(Path(What.read(one).name).name == "hero" for one, *_ in asked)
    posts = [What.read(one).post for one, *_ in asked][::3]
    assert posts == [
        PostProcess(),
        PostProcess("purify", keep_first=True),
        PostProcess("threshold", 0.15),
        PostProcess("tartanian7", 0.2),
    ]
    for row, post in zip(rows, posts, strict=True):
        assert row["average"] == 15 + len(str(post))  # always-call is no part of it
        assert row["minimum"] == row["coarse"] == -10 + len(str(post))
    assert [row["published average"] for row in rows] == pytest.approx(
        list(PUBLISHED["post_processing"].values()), abs=0.5
    )
    assert summary["best"] == {"average": "Purification", "minimum": "Purification"}
    ours = {row["name"]: (row["published"], row["ours"]) for row in table_2.compared(summary)}
    assert ours["New-0.2, minimum"] == (39, rows[-1]["minimum"])
    write_report(tmp_path / "table", summary, rows, table_2._draw)
    assert (tmp_path / "table.png").stat().st_size > 1000


def test_the_recipes_of_the_blueprints_are_read() -> None:
    recipes = {name: load_recipe(table_2.RECIPE, overrides) for name, overrides in table_2.RUNS.items()}
    assert len({recipe.fingerprint for recipe in recipes.values()}) == 3
