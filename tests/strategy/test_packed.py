"""Packed strategies: the law of units, round trips, what a file refuses; and play without tables of hands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from containers import read_container
from equipoise import (
    InputError,
    exploitability,
    load_game,
    load_player,
    match,
    pack_strategy,
    run_strategy,
    show_strategy,
)
from equipoise.abstraction.maps.live_map import FEW_DEALS, LiveMap
from equipoise.agents.agent import View
from equipoise.agents.blueprint import blueprint
from equipoise.agents.shipped import DEFAULT
from equipoise.agents.table import TableAgent
from equipoise.core.files.array_file import save_arrays
from equipoise.core.files.shipped import Shelf
from equipoise.games.betting_state import CALL, BettingState
from equipoise.measure.lbr import local_best_response
from equipoise.strategy import abstract_game, shipped
from equipoise.strategy.abstract_game import AbstractGame, read_abstract_game
from equipoise.strategy.file import load_strategy, save_strategy
from equipoise.strategy.packed import FORMAT, LEVELS
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import to_bytes
from naive_abstraction import GAMES
from standin import run

SIZES = (255, 85, 51, 15, 5, 1)
CARDS = {"flop": {"method": "emd", "buckets": 7}, "turn": {"method": "ochs", "buckets": 6, "clusters": 3}}


def small_game() -> AbstractGame:
    """Three streets and 16 cards, its buckets by k-means."""
    return read_abstract_game({"cards": CARDS}, game=GAMES["three"])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    run(out, 300)
    return out


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random strategy of the small game, as a float32 file and packed."""
    folder = tmp_path_factory.mktemp("packed")
    game = small_game()
    chances = Profile.random(game.layout, np.random.default_rng(1)).chances
    save_strategy(folder / "strategy.float32", game, chances, "float32", {"iterations": 7})
    pack_strategy(str(folder / "strategy.float32"), folder / "small.packed", note="two words")
    return folder / "small.packed"


@pytest.mark.parametrize("units", SIZES)
def test_a_packed_file_holds_the_nearest_multiples(trained: Path, tmp_path: Path, units: int) -> None:
    made = pack_strategy(str(trained), tmp_path / "x.packed", units=units)
    exact, found = load_strategy(trained), load_strategy(tmp_path / "x.packed")
    assert made.bytes == (tmp_path / "x.packed").stat().st_size
    assert np.array_equal(found.stored, to_bytes(exact.game.layout, exact.stored, units))
    assert not (found.stored % (255 // units)).any()
    assert not found.stored[exact.stored == 0].any()
    assert np.abs(found.stored / 255 - exact.stored).max() < 1 / units
    for node in range(len(exact.tree)):
        if exact.tree.num_children[node] and exact.tree.kind[node] == 0:
            rows = exact.game.layout.at(found.stored, node)
            assert (rows.sum(axis=1, dtype=np.int64) == 255).all()
    if units == 255:
        assert np.array_equal(found.stored, load_strategy(trained / "strategy.u8").stored)


def test_fewer_units_are_smaller_and_err_more(packed: Path, tmp_path: Path) -> None:
    exact = load_strategy(packed.parent / "strategy.float32")
    errors, bytes_ = [], []
    for units in SIZES:
        made = pack_strategy(str(packed.parent / "strategy.float32"), tmp_path / "x.packed", units=units)
        bytes_.append(made.levels_bytes)
        errors.append(float(np.abs(load_strategy(made.path).stored / 255 - exact.stored).mean()))
    assert errors == sorted(errors)
    assert errors[0] < 0.002 < 0.1 < errors[-1]
    assert bytes_ == sorted(bytes_, reverse=True)


def test_a_file_knows_how_it_was_made(trained: Path, packed: Path, tmp_path: Path) -> None:
    about = load_strategy(packed).about
    assert (about["note"], about["iterations"]) == ("two words", 7)
    pack_strategy(str(trained), tmp_path / "x.packed")
    about = load_strategy(tmp_path / "x.packed").about
    assert 'game = "leduc"' in about["recipe"]
    assert about["thread_hours"] >= about["seconds"] / 3600
    pack_strategy(f"{trained}?strategy=average", tmp_path / "y.packed")
    assert np.array_equal(load_strategy(tmp_path / "y.packed").stored, load_strategy(tmp_path / "x.packed").stored)
    pack_strategy(str(tmp_path / "x.packed"), tmp_path / "z.packed", units=15)  # a packed file can be packed again
    assert load_strategy(tmp_path / "z.packed").about["recipe"] == about["recipe"]


def test_every_flipped_bit_is_refused_in_one_line(packed: Path, tmp_path: Path) -> None:
    data = packed.read_bytes()
    rng = np.random.default_rng(1)
    cut = [data[:-1], data[: len(data) // 2], data + b"\0", b"", b"hello\n"]
    for at in rng.integers(len(data), size=60).tolist():
        cut += [data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]]
    path = tmp_path / "x.packed"
    for content in cut:
        path.write_bytes(content)
        with pytest.raises(InputError) as refused:
            load_player(str(path))
        assert "x.packed" in str(refused.value)
        assert "\n" not in str(refused.value)


def test_contents_that_make_no_sense_are_refused(packed: Path, tmp_path: Path) -> None:
    """Whole checksums, wrong contents: as from a faulty program."""
    header, arrays = read_container(packed)
    del header["format"]
    centroids = arrays["centroids 1"]
    wrong: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"units": 5}, {}),  # probabilities of more than one
        ({"units": 0}, {}),
        ({"units": "many"}, {}),
        ({"pieces": [3]}, {}),
        ({"pieces": [10**9]}, {}),
        ({}, {LEVELS: arrays[LEVELS][:-9]}),
        ({}, {LEVELS: np.zeros_like(arrays[LEVELS])}),
        ({}, {"centroids 1": centroids[:-1]}),
        ({}, {"opponents 2": np.full_like(arrays["opponents 2"], 99)}),
    ]
    for at, (more, other) in enumerate(wrong):
        save_arrays(tmp_path / f"{at}.packed", FORMAT, {**header, **more}, {**arrays, **other})
        with pytest.raises(InputError) as refused:
            load_player(str(tmp_path / f"{at}.packed")).buckets.buckets_of_board(2, (0, 1, 2))  # type: ignore[attr-defined]
        assert "\n" not in str(refused.value)


def test_bad_requests_are_refused(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="divisor of 255"):
        pack_strategy(str(trained), tmp_path / "x.packed", units=16)
    with pytest.raises(InputError, match=r"ends in \.packed"):
        pack_strategy(str(trained), tmp_path / "x.u8")
    for what in ("always-call", f"{trained}?post=purify", f"{trained}?search=flop"):
        with pytest.raises(InputError, match="name a run folder"):
            pack_strategy(what, tmp_path / "x.packed")
    assert not list(tmp_path.iterdir())


def test_a_packed_agent_plays_as_the_table_it_was_made_from(packed: Path) -> None:
    """The same answers with all cards, and the same exploitability, as the bytes with the map of all hands."""
    file = load_strategy(packed)
    mine = load_player(str(packed))
    whole = TableAgent("whole", file.game.layout, file.stored, file.game.buckets())
    state = BettingState.start(mine.rules).apply(CALL).apply(CALL)
    for board in ((0, 5), (3, 2), (14, 15), (1, 11)):
        for player in range(2):
            view = View(state, player, (), board)
            assert np.array_equal(mine.range(view), whole.range(view))
        cards = tuple(card for card in range(16) if card not in board)[:2]
        view = View(state, state.player, cards, board)
        assert mine.probabilities(view) == whole.probabilities(view)
    packed_loses = exploitability(file.rules, blueprint(file), threads=1).exploitability
    assert packed_loses == exploitability(file.rules, whole.strategy(), threads=1).exploitability


def test_only_long_matches_of_tables_need_tables_of_hands(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = LiveMap.assign

    def assign(self: LiveMap) -> Any:
        made.append(1)
        return real(self)

    monkeypatch.setattr(LiveMap, "_full", None)
    monkeypatch.setattr(LiveMap, "assign", assign)
    monkeypatch.setattr(abstract_game, "build_map", lambda *_: pytest.fail("no map is needed"))
    what = str(packed)
    match(what, "always-call", hands=FEW_DEALS // 4, threads=1)
    match(f"{what}?search=turn&iterations=2", what, hands=4)
    local_best_response(load_player(what), hands=4, threads=1)
    assert not made
    match(what, what, hands=8 * FEW_DEALS, threads=2)
    assert made == [1, 1]  # one for each of the agents


def test_a_shipped_agent_goes_by_its_name(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf("shipped agent", (str(packed.parent),), (".packed",), "name a run")
    monkeypatch.setattr(shipped, "AGENTS", shelf)
    assert load_player("small").name == "small"
    assert load_player("small?search=turn").rules == GAMES["three"]
    assert match("small", "always-call", hands=8, threads=1).hands == 8
    with pytest.raises(InputError, match="made for"):
        load_player("small", "leduc")
    for load in (load_player, load_strategy, show_strategy):
        with pytest.raises(InputError, match="near: small"):
            load("smal")
    opened = load_strategy("small")
    assert opened.path == packed
    assert run_strategy("small", "average").path == opened.path
    with pytest.raises(InputError, match="this is the average strategy"):
        run_strategy("small", "current")
    assert show_strategy("small").to_rows() == show_strategy(opened).to_rows()
    assert pack_strategy("small", tmp_path / "again.packed").bytes > 0
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small").mkdir()
    assert load_player("small").name == "small"
    with pytest.raises(InputError, match="no strategy in"):
        load_player("./small")
    with pytest.raises(InputError, match="no strategy in"):
        load_strategy(Path("small"))


def test_the_shipped_agent_is_small_whole_and_plays() -> None:
    path = shipped.AGENTS.shipped(DEFAULT.partition("?")[0])
    if path is None:
        pytest.skip("no agent is shipped yet")
    assert path.stat().st_size <= 10_000_000
    agent = load_player(path.stem)  # checks every checksum
    assert match(agent, "always-call", hands=4, threads=1).hands == 4
    with pytest.raises(InputError, match="made for"):
        load_player(path.stem, load_game("holdem.limit"))
    assert load_strategy(path).about["thread_hours"] > 1
