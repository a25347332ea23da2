"""Shipped files: a name finds the file in the package, a path the user's, an unknown name those near it."""

import tomllib
from pathlib import Path

import pytest

from equipoise import InputError
from equipoise.core.files.shipped import PACKAGE, Shelf
from equipoise.games.bet_menu import MENUS
from equipoise.games.gamedef import GAMES, preset_names
from equipoise.runs.recipe import RECIPES
from equipoise.spots.problem import read_problem
from equipoise.spots.spot import SPOTS, load_spot

SHELVES = (GAMES, MENUS, RECIPES, SPOTS)
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("shelf", SHELVES, ids=lambda shelf: shelf.what)
def test_a_name_is_shipped_and_a_path_is_the_users(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = shelf.names()
    assert names and len(set(names)) == len(names)
    for name in names:
        assert shelf.find(name).is_relative_to(PACKAGE)
        Path(name).write_text("mine")
        assert shelf.find(name).is_relative_to(PACKAGE)
        assert shelf.find(f"./{name}").read_text() == "mine"
        assert shelf.beside(name, Path("else")) == name
        assert shelf.beside(f"./{name}", Path("else")) == f"else/{name}"


@pytest.mark.parametrize("shelf", SHELVES, ids=lambda shelf: shelf.what)
def test_an_unknown_name_is_answered_with_those_near_it(shelf: Shelf) -> None:
    for name in shelf.names():
        with pytest.raises(InputError) as caught:
            shelf.find(f"{name}x")
        assert caught.value.what == f"no {shelf.what} '{name}x'"
        assert caught.value.remedy.startswith(f"near: {name}")
    with pytest.raises(InputError) as caught:
        shelf.find("/nowhere/zzz")
    assert all(name in caught.value.remedy for name in shelf.names())


def test_a_part_of_a_name_is_near_it() -> None:
    with pytest.raises(InputError, match=r"near: .*holdem\.limit"):
        GAMES.find("limit")


def test_games_are_listed_once() -> None:
    assert sorted(preset_names()) == sorted(GAMES.names())


def test_every_shipped_file_goes_into_the_wheel() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["equipoise"]
    packed = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    others = {path for path in PACKAGE.rglob("*.*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert others == packed


def test_a_shipped_spot_is_called_by_its_name() -> None:
    assert load_spot("turn").name == read_problem("turn").name == "turn"
    with pytest.raises(InputError, match="no spot or game 'trun'; near: turn"):
        read_problem("trun")
