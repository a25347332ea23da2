"""Strategy files: the law of bytes, what a file knows and refuses; a strategy from a file measures as it should."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers import read_container
from equipoise import InputError, exploitability, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.build import build_map
from equipoise.abstraction.maps.card_recipe import read_card_recipe
from equipoise.agents.blueprint import blueprint, buckets_of_places, profile_agent
from equipoise.agents.card_blind import CardBlindStrategy
from equipoise.games.rules import GameRules
from equipoise.runs.recipe import read_recipe
from equipoise.strategy.abstract_game import AbstractGame
from equipoise.strategy.file import KINDS, load_strategy, save_stored, save_strategy
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import Blocks, from_bytes, normalise, quantise
from equipoise.tree.betting_tree import DECISION, build_tree
from equipoise.tree.boards import deal_boards
from equipoise.tree.infosets import SlotLayout
from standin import run


def one_infoset(actions: int) -> Blocks:
    return Blocks(np.ones(1, np.int64), np.array([0, 1]), np.array([actions]))


@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1.0)), min_size=1, max_size=20))
def test_bytes_sum_to_255_keep_zeros_and_err_little(weights: list[float]) -> None:
    average = np.array(weights, np.float32)
    blocks = one_infoset(len(weights))
    chances = np.empty_like(average)
    normalise(blocks, average, chances)
    assert chances.sum() == pytest.approx(1, abs=1e-5)
    levels = np.empty(len(average), np.uint8)
    quantise(blocks, chances, 255, np.empty(66), levels)
    assert int(levels.sum()) == 255
    assert not levels[chances == 0].any()
    worst = (len(weights) - 1) / len(weights) / 255
    assert np.abs(from_bytes(levels) - chances).max() <= worst + 1e-6
    # no other bytes of this sum are nearer: no unit is better moved from one action to another
    error = levels - 255 * chances.astype(np.float64)
    assert error.max() - error.min() <= 1 + 1e-4


def test_zero_averages_become_uniform_and_certainty_stays() -> None:
    blocks = one_infoset(4)
    chances, levels = np.empty(4, np.float32), np.empty(4, np.uint8)
    normalise(blocks, np.zeros(4, np.float32), chances)
    assert chances.tolist() == [0.25] * 4
    quantise(blocks, np.array([0, 1, 0, 0], np.float32), 255, np.empty(66), levels)
    assert levels.tolist() == [0, 255, 0, 0]
    quantise(blocks, chances, 255, np.empty(66), levels)
    assert levels.tolist() == [64, 64, 64, 63]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    run(out, 300)
    return out


def test_a_run_is_read_as_the_average_of_its_last_checkpoint(trained: Path) -> None:
    strategy = load_strategy(trained)
    assert strategy.kind == "float32"
    assert strategy.about["iterations"] == 300
    _, arrays = read_container(trained / "checkpoints" / "000000000300.ckpt")
    coarse = load_strategy(trained / "strategy.u8")
    layout = strategy.game.layout
    for node in np.flatnonzero(strategy.tree.kind == DECISION).tolist():
        average = layout.at(arrays["average"], node).astype(np.float64)
        exact = average / average.sum(axis=1, keepdims=True)
        assert strategy.at(node) == pytest.approx(exact, abs=1e-6)
        assert coarse.at(node) == pytest.approx(exact, abs=1 / 255)
        assert strategy.profile.at(node) == pytest.approx(strategy.at(node))
        assert coarse.profile.at(node) == pytest.approx(coarse.at(node))
    assert (trained / "strategy.u8").stat().st_size < (trained / "strategy.float32").stat().st_size
    with pytest.raises(InputError, match="not a decision"):
        strategy.at(int(np.flatnonzero(strategy.tree.kind != DECISION)[0]))


def test_a_file_is_all_it_takes(trained: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.write_bytes((trained / "strategy.u8").read_bytes())
    strategy = load_strategy(alone)
    assert strategy.rules == load_game("leduc")
    assert strategy.buckets.buckets == strategy.game.layout.buckets
    strategy.require(load_game("leduc"))
    with pytest.raises(InputError, match="made for leduc"):
        strategy.require(load_game("kuhn"))


def test_damage_and_strangers_are_refused(trained: Path, tmp_path: Path) -> None:
    data = (trained / "strategy.u8").read_bytes()
    cases = {
        "truncated": data[:-1],
        "flipped": data[:-2] + bytes([data[-2] ^ 1]) + data[-1:],
        "header": data.replace(b"maxRaises = 2 2", b"maxRaises = 2 3", 1),
        "other": (trained / "checkpoints" / "000000000300.ckpt").read_bytes(),
        "text": b"hello\n",
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError) as refused:
            load_strategy(tmp_path / name)
        assert name in str(refused.value)
        assert "\n" not in str(refused.value)
    for missing in ("none", "a\0b"):
        with pytest.raises(InputError, match="cannot read"):
            load_strategy(tmp_path / missing)
    with pytest.raises(InputError, match="no strategy in"):
        load_strategy(tmp_path)


def test_a_file_of_another_tree_is_refused(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a later version grows other trees: fingerprints differ, though header and checksums are whole."""
    strategy = load_strategy(trained)
    real = strategy.game.fingerprints()
    for mark in type(real).model_fields:
        with monkeypatch.context() as patch:
            patch.setattr(AbstractGame, "fingerprints", lambda _, mark=mark: real.model_copy(update={mark: "0"}))
            save_strategy(tmp_path / mark, strategy.game, strategy.stored, "u8", {})
        with pytest.raises(InputError, match=f"made for another {mark}"):
            load_strategy(tmp_path / mark)


def small(cards: str | dict[str, Any], game: str = "leduc") -> tuple[GameRules, BucketMap]:
    rules = load_game(game)
    return rules, build_map(rules, read_card_recipe(cards, rules), keep=False)


PERCENTILE = {"method": "percentile", "feature": "ehs"}
COARSE = {"preflop": {**PERCENTILE, "buckets": 2}, "flop": {**PERCENTILE, "buckets": 3}}


@pytest.mark.parametrize("cards", ["lossless", COARSE], ids=["lossless", "nested"])
def test_buckets_of_places_are_those_of_the_map(cards: Any) -> None:
    rules, buckets = small(cards)
    boards = deal_boards(rules)
    found = buckets_of_places(buckets)(boards)
    for board, dealt in enumerate(boards.cards):
        for player in range(2):
            here = boards.slice(board, player)
            wanted = [buckets.bucket([int(hole)], list(dealt)) for hole in boards.holes(board, player)]
            assert found[here].tolist() == wanted


def test_a_uniform_file_is_as_exploitable_as_the_uniform_agent(tmp_path: Path) -> None:
    rules = load_game("leduc")
    recipe = read_recipe({"game": "leduc", "cards": COARSE})
    game = AbstractGame(rules, None, recipe.game.cards)
    chances = np.zeros(game.layout.slots, np.float32)
    for node in np.flatnonzero(game.tree.kind == DECISION).tolist():
        game.layout.at(chances, node)[:] = 1 / int(game.tree.num_children[node])
    wanted = exploitability(rules, CardBlindStrategy("uniform"), threads=1).exploitability
    for kind, near in zip(KINDS, (1e-3, 10.0), strict=True):
        save_strategy(tmp_path / kind, game, chances, kind, {})
        agent = blueprint(load_strategy(tmp_path / kind))
        assert exploitability(rules, agent, threads=1).exploitability == pytest.approx(wanted, abs=near)


def test_the_lossless_map_plays_a_known_equilibrium() -> None:
    """Kuhn's: exploitability zero only if every probability reaches its own card."""
    rules, buckets = small("lossless", "kuhn")
    tree = build_tree(rules)
    layout = SlotLayout(tree, buckets.buckets)
    profile = Profile(layout, np.zeros(layout.slots, np.float32))
    order = [buckets.bucket([card], []) for card in range(3)]  # jack, queen, king
    raises = {0: [1 / 3, 0, 1], 1: [1 / 3, 0, 1]}  # an opening bet, player 0 and player 1 after a check
    calls = {0: [0, 2 / 3, 1], 1: [0, 1 / 3, 1]}
    for node in np.flatnonzero(tree.kind == DECISION).tolist():
        player, facing = int(tree.player[node]), tree.chips[node, 0] != tree.chips[node, 1]
        for card, bucket in enumerate(order):
            often = (calls if facing else raises)[player][card]
            profile.at(node)[bucket] = [1 - often, often]
    found = exploitability(rules, profile_agent("kuhn", profile, buckets), threads=1)
    assert found.exploitability == pytest.approx(0, abs=1e-3)
    assert found.player_values[0] == pytest.approx(-1 / 18, abs=1e-6)


def test_a_header_is_readable(trained: Path) -> None:
    with (trained / "strategy.u8").open("rb") as file:
        header = json.loads(file.readline())
    assert header["format"] == "equipoise strategy 2"
    assert header["name"] == "leduc"
    assert set(header["fingerprints"]) == {"game", "tree", "buckets"}


SERVED = """
import sys
from pathlib import Path
import equipoise
path = Path(sys.argv[1])
agent = equipoise.load_player(str(path), copied=sys.argv[2] == "copied")
path.write_bytes(b"")  # as somebody does who copies another file over it
print(float(agent.stored.sum()))
"""


def test_a_server_plays_on_when_its_file_is_truncated(trained: Path, tmp_path: Path) -> None:
    """A mapped file would end the process with SIGBUS: that is what commands which end soon may risk."""
    path = tmp_path / "strategy.u8"
    shutil.copy(trained / "strategy.u8", path)
    command = [sys.executable, "-c", SERVED, str(path)]
    mapped = subprocess.run([*command, "mapped"], capture_output=True, text=True, check=False)
    assert mapped.returncode == -signal.SIGBUS
    shutil.copy(trained / "strategy.u8", path)
    copied = subprocess.run([*command, "copied"], capture_output=True, text=True, check=False)
    assert copied.returncode == 0, copied.stderr
    assert float(copied.stdout) > 0


@pytest.mark.parametrize("kind", ["float32", "u8"])
@pytest.mark.parametrize("wrong", ["more", "less", "nothing", "negative", "not a number"])
def test_probabilities_that_do_not_sum_to_one_are_refused(trained: Path, tmp_path: Path, kind: str, wrong: str) -> None:
    """Whatever its checksums say: a responder would win less against such rows than against any strategy."""
    whole = load_strategy(trained / f"strategy.{kind}")
    one = 1 if kind == "float32" else 255
    for node in np.flatnonzero(whole.tree.kind == DECISION)[[0, -1]].tolist():
        stored = whole.stored.copy()
        row = whole.game.layout.at(stored, node)[-1]
        if wrong in ("more", "less", "nothing"):
            row[:] = 0
            row[0] = {"more": one * 0.5, "less": one * 0.9, "nothing": 0}[wrong]
            row[1] = {"more": one * 0.6, "less": 0, "nothing": 0}[wrong]
        elif kind == "u8":
            continue
        else:
            row[:2] = (1.5, -0.5) if wrong == "negative" else np.nan
        save_stored(tmp_path / "wrong", whole.game, stored, {})
        with pytest.raises(InputError, match="damaged: its probabilities do not sum to one"):
            load_strategy(tmp_path / "wrong")
    save_stored(tmp_path / "right", whole.game, whole.stored, {})
    assert np.array_equal(load_strategy(tmp_path / "right").stored, whole.stored)
