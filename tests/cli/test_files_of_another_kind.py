"""A text can name any file of the machine: of a file of another kind, no message shows a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.helpers.commands import refusal

from equipoise.core.errors import InputError
from equipoise.core.files.array_file import FileHeader, load_header
from equipoise.spots.report import read_flops

SECRET = "hunter2"
STRANGERS = {  # files that are none of ours, by format; each has a secret in its first line
    "colons": f"{SECRET}:x:0:0:/root\n",
    "ini": f"[{SECRET}]\na = 1\n[{SECRET}]\nb = 2\n",
    "toml": f'{SECRET} = "{SECRET}"\n',
    "inline": f"a = {{ {SECRET} = 1, {SECRET} = 2 }}\n",
    "integer": f"{SECRET} = {10**25}\n",
    "json": json.dumps({SECRET: 1, "format": SECRET}) + "\n",
}
RECIPES = {
    "a game": 'game = "stranger"',
    "a menu": 'game = "holdem.nolimit"\nbetting = "stranger"',
    "a base": 'game = "leduc"\n[cards]\npublic = { clusters = 2, base = "stranger" }',
}


@pytest.fixture(params=sorted(STRANGERS))
def stranger(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file called `stranger`, with and without the suffixes that some commands ask for."""
    monkeypatch.chdir(tmp_path)
    for suffix in ("", ".log", ".phh"):
        Path(f"stranger{suffix}").write_text(STRANGERS[request.param])
    return str(request.param)


@pytest.mark.parametrize("names", sorted(RECIPES))
def test_what_a_recipe_names_is_not_shown(names: str, stranger: str) -> None:
    Path("recipe.toml").write_text(RECIPES[names] + "\n")
    assert SECRET not in refusal("train", "recipe.toml", "--out", "run"), stranger


@pytest.mark.parametrize(
    "command",
    [
        ["train", "./stranger", "--out", "run"],
        ["games", "./stranger"],
        ["games", "holdem.nolimit", "--menu", "./stranger"],
        ["spot", "solve", "./stranger", "--out", "x.solution"],
        ["spot", "show", "./stranger"],
        ["strategy", "show", "./stranger"],
        ["measure", "./stranger"],
        ["log", "replay", "stranger.log", "--game", "holdem.limit"],
        ["log", "replay", "stranger.phh", "--game", "holdem.limit"],
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_what_a_user_names_is_not_shown_either(command: list[str], stranger: str) -> None:
    assert SECRET not in refusal(*command), stranger


def test_nor_are_flops_nor_headers(stranger: str) -> None:
    for read in (
        lambda: read_flops("stranger"),
        lambda: load_header("stranger", "equipoise part 1", FileHeader, remedy="again"),
    ):
        with pytest.raises(InputError) as refused:
            read()
        assert SECRET not in str(refused.value), stranger


def test_a_file_of_the_right_kind_is_quoted(tmp_path: Path) -> None:
    game, menu, flops = tmp_path / "my.game", tmp_path / "my.toml", tmp_path / "flops.txt"
    game.write_text("GAMEDEF\nlimit\nnumRanx = 3\nEND GAMEDEF\n")
    menu.write_text("[betting]\nbets = [1.0]\n")
    flops.write_text("QsJh2h\nQsJx2h\n")
    assert "numranx" in refusal("games", str(game))
    assert "'bets'" in refusal("games", "holdem.nolimit", "--menu", str(menu))
    with pytest.raises(InputError, match="Jx"):
        read_flops(str(flops))
