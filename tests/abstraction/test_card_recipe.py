"""Card recipes: every documented form is read, and what is wrong is said in one line that names the street and key."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import load_game
from equipoise.abstraction.maps import card_recipe
from equipoise.abstraction.maps.card_recipe import CardRecipe, StreetRecipe, load_card_recipe, read_card_recipe
from equipoise.core.errors import InputError
from naive_abstraction import GAMES, HOLDEM, RECIPES, small, small_map

THREE = GAMES["three"]
EMD: dict[str, Any] = {"method": "emd", "buckets": 7}
BOTH = {"flop": EMD, "turn": EMD}
NINE = {"clusters": 3, "base": 9}
PERCENTILE = {"method": "percentile", "buckets": 3}
HOLDEM_STREETS = {
    "flop": {"method": "emd", "buckets": 200},
    "turn": {"method": "emd", "buckets": 200},
    "river": {"method": "ochs", "buckets": 200},
}


# What is read


def test_the_documented_example_is_read() -> None:
    text = (card_recipe.__doc__ or "").split("\n\n")[1]
    recipe = read_card_recipe(tomllib.loads(text)["cards"], HOLDEM)
    assert [street.method for street in recipe.streets] == ["lossless", "emd", "emd", "ochs"]
    assert [street.buckets for street in recipe.streets] == [None, 200, 200, 200]
    assert recipe.public is not None
    assert (recipe.public.clusters, recipe.public_street(HOLDEM)) == (8, 1)
    assert recipe.buckets(HOLDEM) == (169, 1600, 1600, 1600)
    within = {**HOLDEM_STREETS, "turn": {"method": "percentile", "buckets": 14}}
    assert read_card_recipe(within, HOLDEM).buckets(HOLDEM) == (169, 200, 2800, 200)


def test_streets_left_out_are_lossless_and_words_are_methods() -> None:
    whole = read_card_recipe("lossless", THREE)
    assert (
        whole
        == read_card_recipe({}, THREE)
        == read_card_recipe(dict.fromkeys(("preflop", "flop", "turn"), "lossless"), THREE)
    )
    assert whole == read_card_recipe({"flop": {"method": "lossless"}, "turn": {}}, THREE)
    assert [street.method for street in whole.streets] == ["lossless"] * 3 and whole.public is None and whole.seed == 1
    assert read_card_recipe({"turn": EMD}, THREE).streets == (StreetRecipe(), StreetRecipe(), StreetRecipe(**EMD))


def test_every_key_is_read() -> None:
    table: dict[str, Any] = {
        "preflop": {"method": "percentile", "buckets": 4, "feature": "both", "second": 2, "nested": False},
        "flop": {"method": "l2", "buckets": 7, "bins": 20, "sample": 0, "iterations": 5, "restarts": 3},
        "turn": {"method": "ochs", "buckets": 6, "clusters": 5, "cells": 40, "sample": 1000},
        "public": {"clusters": 3, "street": "flop", "base": "a/file.buckets", "objective": "mean"},
        "seed": 9,
    }
    written = json.loads(read_card_recipe(table, THREE).text())
    for number, name in enumerate(("preflop", "flop", "turn")):
        assert table[name].items() <= written["streets"][number].items()
    assert (written["public"], written["seed"]) == (table["public"], 9)


@pytest.mark.parametrize(("game", "kind"), RECIPES)
def test_a_recipe_says_how_many_buckets_its_map_has_and_can_be_read_from_its_text(game: str, kind: str) -> None:
    recipe = read_card_recipe(RECIPES[game, kind], GAMES[game])
    assert recipe.buckets(GAMES[game]) == small_map(game, kind).buckets
    assert CardRecipe.model_validate_json(recipe.text()) == recipe
    assert "\n" not in recipe.text()


def test_other_texts_for_the_same_recipe_and_the_same_text_for_others() -> None:
    plain = read_card_recipe({"flop": EMD}, THREE).text()
    assert (
        read_card_recipe(
            {"seed": 1, "flop": {"buckets": 7, "bins": 50, "method": "emd"}, "turn": "lossless"}, THREE
        ).text()
        == plain
    )
    changed: list[dict[str, Any]] = [
        {"buckets": 8},
        {"bins": 49},
        {"sample": 5},
        {"iterations": 2},
        {"restarts": 2},
        {"method": "l2"},
    ]
    texts = {read_card_recipe({"flop": {**EMD, **change}}, THREE).text() for change in changed}
    texts |= {read_card_recipe({"flop": EMD, "seed": 2}, THREE).text(), read_card_recipe({"turn": EMD}, THREE).text()}
    assert len(texts) == len(changed) + 2 and plain not in texts


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text('game = "x"\n[cards]\nflop = { method = "emd", buckets = 7 }\n')
    assert load_card_recipe(path, THREE) == read_card_recipe({"flop": EMD}, THREE)
    path.write_text('cards = "lossless"\n')
    assert load_card_recipe(path, THREE) == read_card_recipe("lossless", THREE)
    path.write_text('game = "x"\n')
    assert load_card_recipe(path, THREE) == read_card_recipe("lossless", THREE)


# What is refused: the table, and what the line must say

BAD: list[tuple[Any, str]] = [
    ({"flopp": EMD}, "unknown key 'flopp' in cards; did you mean flop? known: preflop, flop, turn, public, seed"),
    ({"river": EMD}, "unknown key 'river' in cards"),
    ({1: EMD}, "unknown key '1' in cards"),
    ({"flop": {**EMD, "bucket": 5}}, "flop.bucket: unknown key; did you mean buckets? known: method, buckets, feature"),
    ({"flop": {"method": "magic", "buckets": 5}}, "flop.method: must be 'lossless', 'percentile', 'emd'"),
    ({"flop": "magic"}, "flop.method: must be 'lossless', 'percentile', 'emd'"),
    ("magic", "preflop.method: must be 'lossless', 'percentile', 'emd'"),
    ({"flop": {"method": 3, "buckets": 5}}, "flop.method: "),
    (7, "cards is not a table"),
    ([EMD], "cards is not a table"),
    (None, "cards is not a table"),
    ({"flop": 200}, "flop: neither a method nor a table (got '200')"),
    ({"flop": True}, "flop: neither a method nor a table (got 'True')"),
    ({"turn": [EMD]}, "turn: neither a method nor a table"),
    # buckets
    ({"flop": {"method": "lossless", "buckets": 5}}, "flop: lossless takes no buckets"),
    ({"flop": {"buckets": 5}}, "flop: lossless takes no buckets"),
    ({"flop": "emd"}, "flop: emd needs buckets"),
    ("ochs", "preflop: ochs needs buckets"),
    ({"turn": {"method": "percentile"}}, "turn: percentile needs buckets"),
    ({"turn": {"method": "percentile", "feature": "both", "second": 2}}, "turn: percentile needs buckets"),
    ({"flop": {"method": "emd", "buckets": -3}}, "flop.buckets: must be at least 1 (got '-3')"),
    ({"flop": {"method": "emd", "buckets": 0}}, "flop.buckets: must be at least 1"),
    ({"flop": {"method": "emd", "buckets": 1 << 25}}, "flop.buckets: must be at most 16,777,216"),
    ({"flop": {"method": "emd", "buckets": True}}, "flop.buckets: must be a whole number (got 'True')"),
    ({"flop": {"method": "emd", "buckets": "7"}}, "flop.buckets: must be a whole number (got '7')"),
    ({"flop": {"method": "emd", "buckets": 7.0}}, "flop.buckets: must be a whole number (got '7.0')"),
    ({"flop": {"method": "emd", "buckets": [7]}}, "flop.buckets: must be a whole number"),
    ({"flop": {"method": "emd", "buckets": 629}}, "flop: 629 buckets for 628 hands; ask for fewer"),
    ({"preflop": {"method": "emd", "buckets": 17}}, "preflop: 17 buckets for 16 hands"),
    ({"turn": {"method": "percentile", "buckets": 3000}}, "turn: 3,000 buckets for 2,216 hands"),
    (
        {"preflop": {"method": "percentile", "buckets": 6, "feature": "both", "second": 3}},
        "preflop: 18 buckets for 16 hands",
    ),
    # keys of other methods
    ({"flop": {**EMD, "feature": "ehs"}}, "flop: emd takes no feature"),
    ({"flop": {**EMD, "nested": False}}, "flop: emd takes no nested"),
    ({"flop": {**EMD, "clusters": 5}}, "flop: emd takes no clusters"),
    ({"flop": {**PERCENTILE, "bins": 10}}, "flop: percentile takes no bins"),
    ({"flop": {**PERCENTILE, "sample": 10}}, "flop: percentile takes no sample"),
    ({"flop": {"method": "ochs", "buckets": 3, "bins": 10}}, "flop: ochs takes no bins"),
    ({"flop": {"method": "lossless", "iterations": 3}}, "flop: lossless takes no iterations"),
    ({"flop": {"method": "potential", "buckets": 3, "restarts": 3}, "turn": EMD}, "flop: potential takes no restarts"),
    # percentile
    ({"flop": {**PERCENTILE, "feature": "both"}}, "flop: second goes with feature = 'both'"),
    ({"flop": {**PERCENTILE, "second": 2}}, "flop: second goes with feature = 'both'"),
    ({"flop": {**PERCENTILE, "feature": "ehs3"}}, "flop.feature: must be 'ehs', 'ehs2' or 'both' (got 'ehs3')"),
    ({"flop": {**PERCENTILE, "nested": 1}}, "flop.nested: must be true or false (got '1')"),
    ({"flop": {**PERCENTILE, "nested": "no"}}, "flop.nested: must be true or false (got 'no')"),
    # k-means
    ({"flop": {**EMD, "bins": 1}}, "flop.bins: must be at least 2"),
    ({"flop": {**EMD, "sample": -1}}, "flop.sample: must be at least 0"),
    ({"flop": {**EMD, "iterations": 0}}, "flop.iterations: must be at least 1"),
    ({"flop": {**EMD, "restarts": 0}}, "flop.restarts: must be at least 1"),
    (
        {"flop": {"method": "ochs", "buckets": 3, "clusters": 17}},
        "flop.clusters: must be at most 16",
    ),
    ({"seed": -1}, "seed: must be at least 0"),
    ({"seed": True}, "seed: must be a whole number (got 'True')"),
    ({"seed": "one"}, "seed: must be a whole number (got 'one')"),
    # potential
    ({"turn": {"method": "potential", "buckets": 3}}, "turn: potential needs clusters of the next street; make"),
    ({"flop": {"method": "potential", "buckets": 3}}, "flop: potential needs clusters of the next street"),
    (
        {"flop": {"method": "potential", "buckets": 3}, "turn": PERCENTILE},
        "flop: potential needs clusters of the next street",
    ),
    # public clusters
    ({**BOTH, "public": 8}, "public: not a table (got '8'); write e.g. public = { clusters = 8 }"),
    ({**BOTH, "public": {}}, "public.clusters: must be given"),
    ({**BOTH, "public": {"cluster": 3}}, "public."),
    ({**BOTH, "public": {"clusters": 3, "bas": 3}}, "public.bas: unknown key; did you mean base? known: clusters"),
    ({**BOTH, "public": {"clusters": 0}}, "public.clusters: must be at least 1"),
    ({**BOTH, "public": {"clusters": True}}, "public.clusters: must be a whole number"),
    ({**BOTH, "public": {"clusters": 21, "base": 9}}, "public: 21 clusters of 16 boards; ask for fewer"),
    ({**BOTH, "public": {"clusters": 3, "base": 629}}, "public: a base of 629 buckets for 628 hands"),
    ({**BOTH, "public": {"clusters": 3}}, "public: a base of 1,000 buckets for 628 hands"),
    ({**BOTH, "public": {"clusters": 3, "base": 0}}, "public.base: must be at least 1"),
    ({**BOTH, "public": {"clusters": 3, "base": True}}, "public.base: "),
    ({**BOTH, "public": {"clusters": 3, "base": 1.5}}, "public.base: "),
    ({**BOTH, "public": {"clusters": 3, "objective": "median"}}, "public.objective: must be 'sum', 'mean'"),
    ({**BOTH, "public": {"clusters": 3, "street": "preflop"}}, "public.street 'preflop'; use one of flop, turn"),
    ({**BOTH, "public": {"clusters": 3, "street": "river"}}, "public.street 'river'; use one of flop, turn"),
    ({**BOTH, "public": {"clusters": 3, "street": 1}}, "public.street: must be a text"),
    ({"flop": PERCENTILE, "turn": EMD, "public": NINE}, "flop: percentile with public clusters; use emd"),
    ({"flop": EMD, "turn": PERCENTILE, "public": NINE}, "turn: percentile with public clusters"),
    (
        {"flop": {"method": "potential", "buckets": 3}, "turn": EMD, "public": NINE},
        "flop: potential with public clusters",
    ),
    (
        {"preflop": {"method": "potential", "buckets": 3}, "flop": EMD, "public": NINE},
        "preflop: potential needs clusters of the next street",
    ),
    ({"turn": {**EMD, "cells": 20}}, "turn: cells; cells need boards, or public clusters of an earlier street"),
    ({"flop": {**EMD, "cells": 20}, "turn": EMD, "public": NINE}, "flop: cells; cells need"),
    ({"flop": EMD, "turn": {**EMD, "cells": 2217}, "public": NINE}, "turn: 2,217 cells for 2,216 hands"),
    ({"flop": EMD, "turn": {**EMD, "cells": 5}, "public": NINE}, "turn: 7 buckets of 5 cells"),
]


@pytest.mark.parametrize(("table", "said"), BAD)
def test_what_is_wrong_is_said_in_one_line(table: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_card_recipe(table, THREE, "r.toml")
    line = str(caught.value)
    assert line.startswith(f"r.toml: {said}") and caught.value.remedy and "\n" not in line and len(line) < 300


HOLDEM_BAD: list[tuple[Any, str]] = [
    ("lossless", "river: lossless has 2,428,287,420 hands, too many for a table; give it buckets"),
    ({"flop": EMD, "turn": EMD}, "river: lossless has 2,428,287,420 hands"),
    ({**BOTH, "public": {"clusters": 8}}, "river: lossless has 2,428,287,420 hands"),
    ({**HOLDEM_STREETS, "public": {"clusters": 1756}}, "public: 1,756 clusters of 1,755 boards"),
    ({**HOLDEM_STREETS, "preflop": {"method": "potential", "buckets": 9}}, "preflop: potential of 19,600 next deals"),
    (
        {**HOLDEM_STREETS, "flop": PERCENTILE, "turn": {"method": "percentile", "buckets": 40_000}},
        "turn: 20,280,000 buckets in all; ask for fewer",
    ),
    ({**HOLDEM_STREETS, "turn": {"method": "percentile", "buckets": 70_000}}, "turn: 70,000 buckets by percentile"),
    (
        {**HOLDEM_STREETS, "turn": {"method": "emd", "buckets": 100_000}, "public": {"clusters": 200}},
        "turn: 20,000,000 buckets in all",
    ),
    (
        {**HOLDEM_STREETS, "flop": {"method": "potential", "buckets": 9}, "turn": {"method": "emd", "buckets": 70_000}},
        "flop: potential needs clusters of the next street; make the next street emd, l2, ochs",
    ),
]


@pytest.mark.parametrize(("table", "said"), HOLDEM_BAD)
def test_what_cannot_be_done_in_hold_em_is_refused_at_once(table: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_card_recipe(table, HOLDEM)
    assert str(caught.value).startswith(said)


def test_what_cannot_be_done_in_other_games() -> None:
    with pytest.raises(InputError, match=r"^flop: 8 clusters of 4 holes; ask for fewer$"):
        read_card_recipe({"flop": {"method": "ochs", "buckets": 3}}, small(2, 4, (0, 1)))
    with pytest.raises(InputError, match=r"^public.street 'None'; use one of a game with boards$"):
        read_card_recipe({"public": {"clusters": 1}}, load_game("kuhn"))
    with pytest.raises(InputError, match=r"^public: 9 clusters of 3 boards; ask for fewer$"):
        read_card_recipe({"public": {"clusters": 9}}, load_game("leduc"))
    assert len(read_card_recipe({"round_5": EMD}, small(5, 3, (0, 1, 1, 1, 1))).streets) == 5


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[cards\n", "not TOML: "),
        (b"flop = \xff", "not a text file"),
        (b"\x00", "not TOML: "),
        (b"a = " + b"[" * 100_000, "TOML values nested more than"),
        (b"cards = 5", "cards is not a table"),
        (b'[cards]\nflop = { method = "emd" }', "flop: emd needs buckets"),
        (b"[cards]\npublic = 1\n", "public: not a table"),
    ],
)
def test_files_that_are_no_recipes(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a recipe with a name that is longer than most.toml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_card_recipe(path, THREE)
    assert str(caught.value).startswith(f"{path}: {said}") and "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "a recipe with a name that is longer than most.toml", tmp_path):
        with pytest.raises(InputError) as caught:
            load_card_recipe(path, THREE)
        assert str(caught.value).startswith(f"{path}: no recipe (")
    with pytest.raises(InputError):
        load_card_recipe("a\0b", THREE)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 20)
    | st.floats(allow_nan=False)
    | st.sampled_from(["emd", "lossless", "ochs", "flop", ""]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["method", "buckets", "feature", "second", "nested", "bins", "clusters", "street", "base", "cells"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["preflop", "flop", "turn", "public", "seed", "x"]), values, max_size=4))
def test_any_table_is_read_or_refused_in_one_line(table: dict[str, Any]) -> None:
    try:
        recipe = read_card_recipe(table, THREE, "r.toml")
    except InputError as error:
        assert str(error).startswith("r.toml: ") and "\n" not in str(error) and error.remedy
    else:
        assert len(recipe.streets) == 3
