"""Recipes: whole or refused in one line that names the key; overrides; fingerprints; a copy reads back."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from equipoise import InputError, load_game
from equipoise.abstraction.maps.build import build_map
from equipoise.games.gamedef import write_gamedef
from equipoise.runs.abstraction import abstract_game
from equipoise.runs.cost import cost_of
from equipoise.runs.recipe import RECIPES, Recipe, load_recipe, read_recipe, recipe_names
from equipoise.runs.recipe_text import apply_overrides, write_toml
from equipoise.tree.betting_tree import build_tree
from equipoise.tree.infosets import SlotLayout

LEDUC = 'game = "leduc"\n[stop]\niterations = 10\n'
DEEP = 'game = "leduc"\n[solver]\nmethod = "deep"\n[deep]\n'
NO_LIMIT = 'game = "holdem.nolimit"\nbetting = "pot"\n[cards]\nflop = {{ method = "emd", buckets = 20 }}\n{}'


def read(text: str) -> Recipe:
    return read_recipe(tomllib.loads(text), name="test")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no game"),
        ("game = 7", "game is '7'"),
        ('game = "chess"', "chess"),
        ('game = "leduc"\nnothing = 1', "'nothing'"),
        ('game = "leduc"\n[betting]\nbet = [1.0]', "betting: leduc is a limit game"),
        ('game = "leduc"\nstop = 3', "stop"),
        ('game = "leduc"\n[solver]\nmethod = "magic"', "no method 'magic'"),
        ('game = "leduc"\n[solver]\nmethod = "vector"', "equipoise spot solve"),
        ('game = "leduc"\n[solver]\nmethod = "deep"\nboards = 2', "boards is not for method deep"),
        ('game = "leduc"\n[solver]\nmethod = "deep"\nschedule = "linear"', "schedule is not for method deep"),
        ('game = "leduc"\n[deep]\nhidden = 16', "[deep] is not for method external"),
        (DEEP + "depth = 16", "deep.depth: unknown key; known: algorithm"),
        (DEEP + "hidden = 0", "deep.hidden"),
        (DEEP + 'device = "tpu"', "deep.device"),
        (DEEP + 'keep = 3\nalgorithm = "deep-cfr"', "keep is not for deep-cfr"),
        (DEEP + 'whole = 6\nsampling = "public"', "whole is for external sampling"),
        (DEEP + 'sampling = "public"', "set holes to 2 or more"),
        (DEEP + 'sampling = "outcome"', "sampling"),
        (DEEP + '[cards]\nflop = { method = "emd", buckets = 3 }', "flop has emd buckets, but networks see the cards"),
        (DEEP + "[cards]\npublic = { clusters = 2, base = 3 }", "public has clusters, but networks see the cards"),
        ('game = "leduc"\n[solver]\nmethod = "cfr-br"\nboards = 2', "boards is not for method cfr-br"),
        ('game = "leduc"\n[solver]\nstage = 20', "stage is not for method external"),
        ('game = "leduc"\n[solver]\nschedule = "sometimes"', "no schedule 'sometimes'"),
        ('game = "leduc"\n[solver]\nschedule = "predictive"', "does not sample"),
        ('game = "leduc"\n[solver]\nschedule = "cfr+"\nprune = 100', "prune needs negative regrets"),
        ('game = "leduc"\n[solver]\nseed = -1', "solver.seed"),
        ('game = "leduc"\n[solver]\nseed = "7"', "solver.seed"),
        ('game = "leduc"\n[solver]\nseed = true', "solver.seed"),
        ('game = "leduc"\n[solver]\nsede = 1', "solver.sede: unknown key; did you mean seed? known: method"),
        ('game = "leduc"\n[solver]\nboards = 3', "boards is not for method external"),
        ('game = "leduc"\n[solver]\nmethod = "pcs"\nprune = 3.0', "prune is not for method pcs"),
        ('game = "leduc"\n[solver]\nmethod = "pcs"\nboards = 0', "solver.boards"),
        ('game = "leduc"\n[stop]\nminutes = 0', "stop.minutes"),
        ('game = "leduc"\n[stop]\niterations = 1.5', "stop.iterations"),
        ('game = "leduc"\n[stop]\nexploitability = 1', "stop.exploitability without a measure"),
        ('game = "leduc"\n[checkpoint]\nkeep = 0', "checkpoint.keep"),
        ('game = "leduc"\n[measure]\nmethod = "guess"', "measure.method"),
        ('game = "holdem.nolimit"\nbetting = "none"', "no menu 'none'"),
        ('game = "holdem.nolimit"\nbetting = 3', "betting is not a table"),
        ('game = "holdem.nolimit"\n[betting]\nbet = ["huge"]', "size 'huge'"),
        (NO_LIMIT.format('turn = { method = "emd" }'), "turn: emd needs buckets"),
        (NO_LIMIT.format('summer = "lossless"'), "'summer'"),
        ('game = "holdem.nolimit"', "river: lossless"),
    ],
)
def test_a_bad_recipe_is_refused_in_one_line_that_names_the_key(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.remedy


def test_files_that_are_no_recipes(tmp_path: Path) -> None:
    (tmp_path / "torn.toml").write_text("game = [")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("torn.toml", "binary.toml", "none.toml", "", "x" * 5000, "a\0b"):
        with pytest.raises(InputError) as refused:
            load_recipe(tmp_path / name if name[1:4] in ("orn", "ina", "one") else name)
        assert "\n" not in str(refused.value)


def test_overrides_set_any_key() -> None:
    table = {"game": "leduc", "cards": {"flop": {"buckets": 3}}, "stop": {"minutes": 1}}
    given = [
        "solver.seed=7",
        "cards.flop.buckets = 9",
        "stop.minutes=2.5",
        "solver.method=pcs",
        'solver.schedule="cfr+"',
    ]
    found = apply_overrides(table, [*given, "betting.bet=[0.5, 'all-in']"])
    assert found == {
        "game": "leduc",
        "cards": {"flop": {"buckets": 9}},
        "stop": {"minutes": 2.5},
        "solver": {"seed": 7, "method": "pcs", "schedule": "cfr+"},
        "betting": {"bet": [0.5, "all-in"]},
    }
    assert table["cards"] == {"flop": {"buckets": 3}}  # the original stays


@pytest.mark.parametrize("text", ["seed", "=3", "a b=3", "game.name=3", "x=[1", "x=1\ny=2", "x="])
def test_bad_overrides_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="override"):
        apply_overrides({"game": "leduc"}, [text])


def test_a_written_recipe_reads_back() -> None:
    table: dict[str, Any] = {
        "game": 'a "quoted" \\ name',
        "betting": {"bet": [0.5, "all-in"], "river": {"bet": [1.0]}, "cap": 3},
        "solver": {"cycle": True, "seed": 12, "odd key": 1e-9},
    }
    assert tomllib.loads(write_toml(table)) == table


def test_the_fingerprint_knows_what_determines_the_result() -> None:
    base = read(LEDUC)
    for same in (
        LEDUC.replace("10", "20"),
        LEDUC + "[checkpoint]\nminutes = 9\nkeep = 7\n[solver]\nthreads = 2\n",
        LEDUC + '[measure]\nmethod = "exact"\n',
        LEDUC + '[cards]\npreflop = "lossless"\n',
    ):
        assert read(same).fingerprint == base.fingerprint
    assert read(DEEP).fingerprint == read(DEEP + 'device = "cpu"\nhidden = 64').fingerprint
    others = [
        LEDUC.replace("leduc", "kuhn"),
        LEDUC + "[solver]\nseed = 2\n",
        LEDUC + '[solver]\nschedule = "cfr+"\n',
        LEDUC + '[solver]\nmethod = "pcs"\n',
        LEDUC + '[solver]\nmethod = "pcs"\nboards = 2\n',
        LEDUC + '[cards]\nflop = { method = "percentile", buckets = 2 }\n',
        LEDUC + "[cards]\nseed = 3\n",
        DEEP,
        DEEP + "hidden = 16",
        DEEP + 'algorithm = "deep-cfr"',
    ]
    found = [read(text).fingerprint for text in others]
    assert len({base.fingerprint, *found}) == len(others) + 1


def test_a_game_file_is_found_beside_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "my.game").write_text(write_gamedef(load_game("leduc")))
    (tmp_path / "my.toml").write_text(LEDUC.replace("leduc", "my.game"))
    recipe = load_recipe(tmp_path / "my.toml", ["stop.iterations=3"])
    assert recipe.game.rules == load_game("leduc")
    assert recipe.stop.iterations == 3
    assert recipe.name == "my"


def test_paths_in_a_recipe_are_beside_it_and_overrides_are_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside, here = tmp_path / "recipes", tmp_path / "here"
    for folder, size in ((beside, 0.25), (here, 0.75)):
        folder.mkdir()
        (folder / "my.game").write_text(write_gamedef(load_game("holdem.nolimit")))
        (folder / "bets.toml").write_text(f"bet = [{size}]\n")
    (here / "my.game").write_text(write_gamedef(load_game("leduc")))
    cards = '[cards]\nriver = { method = "emd", buckets = 2 }\n'
    (beside / "my.toml").write_text(f'game = "my.game"\nbetting = "bets.toml"\n{cards}')
    monkeypatch.chdir(here)
    for name in (beside / "my.toml", "../recipes/my.toml"):
        recipe = load_recipe(name)
        assert recipe.game.rules == load_game("holdem.nolimit")
        assert recipe.game.betting == {"bet": [0.25]}
        assert abstract_game(name, None).betting == {"bet": [0.25]}
    assert load_recipe(beside / "my.toml", ["betting=bets.toml"]).game.betting == {"bet": [0.75]}
    assert load_recipe("leduc", ["game=my.game"]).game.rules == load_game("leduc")
    (beside / "my.game").unlink()
    with pytest.raises(InputError, match=r"my\.game"):  # not the one that lies here
        load_recipe(beside / "my.toml")


SMALL_CARDS = (
    '[cards]\npreflop = "lossless"\nflop = { method = "percentile", buckets = 2, feature = "ehs" }\n',
    '[cards]\npreflop = { method = "percentile", buckets = 2, feature = "ehs" }\n'
    'flop = { method = "percentile", buckets = 3, feature = "ehs" }\n',
    '[cards]\nflop = { method = "percentile", buckets = 2, feature = "ehs", nested = false }\n',
    '[cards]\nflop = { method = "emd", buckets = 2 }\npublic = { clusters = 2, base = 3 }\n',
    '[cards]\nflop = { method = "emd", buckets = 3 }\n',
)


@pytest.mark.parametrize("cards", SMALL_CARDS)
def test_buckets_are_known_before_they_are_built(cards: str) -> None:
    recipe = read(LEDUC + cards)
    built = build_map(recipe.game.rules, recipe.game.cards, keep=False)
    assert recipe.game.cards.buckets(recipe.game.rules) == built.buckets


def test_the_cost_is_that_of_the_tables() -> None:
    cost = cost_of(read(LEDUC))
    assert (cost.nodes, cost.infosets) == (90, 468)
    assert cost.table_bytes == 8 * cost.slots
    assert cost.disk_bytes == 3 * cost.table_bytes + 5 * cost.slots
    measured = cost_of(read(LEDUC + '[measure]\nmethod = "exact"\n'))
    assert measured.memory_bytes == cost.memory_bytes + 3 * cost.slots


@pytest.mark.parametrize("name", recipe_names())
def test_every_shipped_recipe_is_whole(name: str) -> None:
    recipe = load_recipe(name)
    cost = cost_of(recipe)
    assert cost.infosets == SlotLayout(build_tree(recipe.game.rules, recipe.game.menu), cost.buckets).infosets
    assert recipe.stop.minutes or recipe.stop.iterations
    header = RECIPES.find(name).read_text()
    for number in (f"{cost.nodes:,}", f"{cost.infosets:,}"):
        assert number in header, f"{name}: its header does not say {number}"
