"""Numbers and texts that nobody means: refused in one line and at once, or a long job in little memory."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import equipoise
from equipoise import InputError, load_game, load_player
from equipoise.abstraction.maps.card_recipe import load_card_recipe
from equipoise.core import machine as _machine
from equipoise.core.errors import check_count, shown
from equipoise.core.files.text import MOST_TEXT, load_toml, read_text, read_toml
from equipoise.core.machine import MOST_THREADS, available_memory, thread_count
from equipoise.games.bet_menu import load_menu_table
from equipoise.games.notation.phh import read_phh
from equipoise.games.rules import MOST_CHIPS
from equipoise.play.match import CHUNK, Match
from equipoise.runs.recipe import load_recipe, read_recipe
from equipoise.runs.recipe_text import apply_overrides
from equipoise.spots.spot import load_spot

HUGE = 16**6000 - 1
VALUES = {
    "a hexadecimal integer": f"0x{'f' * 6000}",
    "a decimal integer": "9" * 6000,
    "twenty digits": "9" * 20,
    "nested lists": "[" * 50_000,
    "nested tables": "{a=" * 50_000,
    "lists that end": f"{'[' * 100}1{']' * 100}",
    "an inline key of many parts": f"{{{'.'.join(['a'] * 50_000)} = 1}}",
}
TEXTS = {
    **{name: f"x = {value}\n" for name, value in VALUES.items()},
    "a key of many parts": ".".join(["a"] * 50_000) + " = 1",
    "a table of many parts": f"[{'.'.join(['a'] * 50_000)}]",
    "quoted parts": ' . '.join(['"a b"'] * 20_000) + " = 1",
    "a long text": "x = 1\n" + "# " + "-" * (1 << 20),
}  # fmt: skip
READERS: dict[str, Callable[[Path], object]] = {
    "spot": load_spot,
    "menu": lambda path: load_menu_table(str(path)),
    "cards": lambda path: load_card_recipe(path, load_game("leduc")),
    "abstraction": lambda path: equipoise.build_abstraction(path),
    "recipe": load_recipe,
    "hand history": lambda path: read_phh(load_game("holdem.nolimit"), path.read_text()),
}


def refused(call: Callable[[], object]) -> str:
    """The one line that a call ends in, well before the guard, in CPU time."""
    started = time.process_time()
    with pytest.raises(InputError) as caught:
        call()
    assert time.process_time() - started < 30
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1000
    return str(caught.value)


@pytest.mark.parametrize("text", TEXTS)
def test_toml_is_bounded(text: str) -> None:
    assert refused(lambda: read_toml(TEXTS[text], "here")).startswith("here: ")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", TEXTS)
def test_every_reader_of_toml_is_bounded(reader: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(TEXTS[text])
    refused(lambda: READERS[reader](path))


@pytest.mark.parametrize("value", VALUES)
def test_overrides_are_bounded(value: str) -> None:
    assert "override" in refused(lambda: apply_overrides({}, [f"solver.seed={VALUES[value]}"]))


def test_toml_that_people_write_is_read() -> None:
    text = f'a.b."c d" = [1, 0xff, 1e9, "{".".join("abc")}"]\n[x.y]\nz = {{ deep = [[[1]]] }}\nmost = {2**63 - 1}\n'
    assert read_toml(text)["x"]["y"]["most"] == 2**63 - 1
    assert read_toml("\n".join(f"key{i} = 0.5" for i in range(1000)))["key999"] == 0.5


def test_files_without_an_end_are_not_read() -> None:
    assert f"more than {MOST_TEXT:,} bytes" in refused(lambda: read_text("/dev/zero"))
    assert "no menu" in refused(lambda: load_toml("/nowhere/x.toml", "menu", "give one", ("bet",)))
    assert "/dev/zero" in refused(lambda: load_game("/dev/zero"))


def test_huge_integers_can_be_shown() -> None:
    assert shown(HUGE) == "'an integer of 24,000 bits'"
    assert shown([HUGE]) == "'too large to be shown'"
    assert shown("x" * 100, 10) == "'xxxxxxx...'" and shown(17) == "'17'"
    assert refused(lambda: check_count(HUGE, "hands")).startswith(
        "the number of hands is an integer of 24,000 bits; use 1 to 1,000"
    )
    assert check_count(10**18, "hands") == 10**18


@pytest.mark.parametrize("key", ["seed", "threads", "boards", "period", "stage", "grow", "trunk"])
@pytest.mark.parametrize("value", [HUGE, -HUGE, -1, 2.5, float("inf")], ids=["huge", "-huge", "-1", "2.5", "inf"])
def test_recipes_refuse_numbers_that_nobody_means(key: str, value: float) -> None:
    table = {"game": "leduc", "solver": {"method": "pcs" if key == "boards" else "external", key: value}}
    if key == "seed" and value == HUGE:
        return  # any seed is a seed
    assert f"solver.{key}" in refused(lambda: read_recipe(table))


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [("stop", "iterations", 10**19), ("stop", "minutes", float("inf")), ("measure", "hands", 10**19),
     ("checkpoint", "minutes", 1e300), ("solver", "threads", MOST_THREADS + 1)],
)  # fmt: skip
def test_recipes_have_largest_numbers(section: str, key: str, value: float) -> None:
    assert f"{section}.{key}" in refused(lambda: read_recipe({"game": "leduc", section: {key: value}}))


def test_buckets_and_sizes_have_largest_numbers() -> None:
    for cards in ({"method": "percentile", "buckets": 10**15}, {"method": "percentile", "buckets": HUGE}):
        assert "buckets" in refused(lambda cards=cards: read_recipe({"game": "leduc", "cards": {"preflop": cards}}))
    for bet in (HUGE, 10**20):
        table = {"game": "holdem.nolimit", "betting": {"bet": [bet]}}
        assert "size" in refused(lambda table=table: read_recipe(table))
    assert "cap" in refused(lambda: read_recipe({"game": "holdem.nolimit", "betting": {"bet": [1], "cap": HUGE}}))


CALLS: dict[str, Callable[[int], object]] = {
    "match": lambda number: equipoise.match(agent("always-call"), agent("uniform"), hands=number),
    "round robin": lambda number: equipoise.round_robin([agent("always-call"), agent("uniform")], hands=number),
    "lbr": lambda number: equipoise.local_best_response(agent("uniform"), hands=number),
    "flops": lambda number: equipoise.exploitability(load_game("leduc"), "uniform", sample_flops=number),
    "solve": lambda number: equipoise.solve("leduc", iterations=number),
    "samples": lambda number: equipoise.abstraction_report({"game": "leduc"}, samples=number),
    "points": lambda number: equipoise.compare_abstractions(["leduc", "leduc"], points=number),
    "compared": lambda number: equipoise.compare_abstractions(["leduc", "leduc"], hands=number),
    "deal": lambda number: equipoise.deal_match(load_game("leduc"), number, seed=1),
    "slumbot": lambda number: equipoise.play_slumbot(agent("uniform", "holdem.nolimit"), "http://x", hands=number),
    "threads of a solve": lambda number: equipoise.solve("leduc", threads=number),
    "threads of a match": lambda number: equipoise.match(agent("uniform"), agent("always-call"), threads=number),
    "threads of equity": lambda number: equipoise.equity("AA", "KK", "2c 3c 4c", threads=number),
    "threads of a best response": lambda number: equipoise.exploitability(
        load_game("leduc"), "uniform", threads=number
    ),
    "threads of lbr": lambda number: equipoise.local_best_response(agent("uniform"), threads=number),
}  # fmt: skip


def agent(name: str, game: str = "leduc") -> equipoise.agents.agent.Agent:  # type: ignore[name-defined]
    return load_player(name, game)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("number", [10**20, HUGE, -1], ids=["20 digits", "6,000 digits", "negative"])
def test_absurd_counts_are_refused(call: str, number: int) -> None:
    assert "; use " in refused(lambda: CALLS[call](number))


def test_threads_are_bounded(tmp_path: Path) -> None:
    assert 1 <= thread_count(0) == thread_count(None) <= MOST_THREADS
    assert thread_count(7) == 7
    assert "the number of threads is 100000" in refused(
        lambda: equipoise.train("leduc", tmp_path / "run", threads=100_000)
    )
    assert not (tmp_path / "run").exists()


class Enough(Exception):
    """Told to a long job."""


def test_a_match_without_an_end_is_a_long_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.play.match.CHUNK", 16)
    told: list[float] = []

    def progress(done: float) -> None:
        told.append(done)
        if len(told) >= 3:
            raise Enough

    for options in ({}, {"duplicate": False}, {"aivat": True}):
        told.clear()
        with pytest.raises(Enough):
            equipoise.match(
                agent("always-call"), agent("uniform"), hands=10**18, threads=1, progress=progress, **options
            )
        assert 0 < told[-1] < 1e-12
    with pytest.raises(Enough):
        equipoise.local_best_response(
            agent("uniform"), hands=10**18, threads=1,
            progress=lambda name, done: progress(done) if name == "local best response" else None,
        )  # fmt: skip


def test_a_match_is_what_its_streams_say() -> None:
    """Chunks draw from the streams that a seed spawns; the result is that of all hands at once."""
    game = Match(agent("always-call"), agent("uniform"), seed=3)
    chunks = list(game.play(2 * CHUNK + 100, threads=2))
    streams = np.random.SeedSequence(3).spawn(3)
    for chunk, stream in zip(chunks, streams, strict=True):
        np.testing.assert_array_equal(chunk.values, game._play_tables(len(chunk.values), stream).values)
    values = np.concatenate([chunk.values for chunk in chunks]).mean(axis=1)
    result = equipoise.match(game.one, game.two, hands=2 * len(values), seed=3)
    unit = 1000 / game.rules.big_blind
    assert result.mbb_per_hand == pytest.approx(unit * values.mean())
    assert result.ci95 == pytest.approx(1.96 * unit * values.std(ddof=1) / len(values) ** 0.5, rel=1e-3)


def test_chips_have_a_largest_number() -> None:
    rules = load_game("holdem.nolimit")
    most = dataclasses.replace(rules, stacks=(MOST_CHIPS,) * 2, blinds=(MOST_CHIPS // 7, MOST_CHIPS // 9))
    tree = equipoise.build_tree(most, equipoise.BetMenu.from_table({"bet": [0.5, 1.0, "min", "all-in"]}, 4))
    assert tree.chips.min() > 0 and tree.chips.max() == MOST_CHIPS
    for stack in (MOST_CHIPS + 1, 2**30 + 1, 2**31 - 1, HUGE):
        said = refused(lambda stack=stack: dataclasses.replace(rules, stacks=(stack, stack)))
        assert said.startswith("stack lets a player put in") and f"{MOST_CHIPS:,}" in said
    limit = load_game("holdem.limit")
    assert limit.most_chips == 10 + 3 * 10 + 4 * (10 + 20 + 20)
    many = {"raise_sizes": (10, 10, 20, 10**6), "max_raises": (255,) * 4}
    for more in ({"raise_sizes": (10, 10, 20, 2 * 10**8)}, {**many, "raise_sizes": (10**7,) * 4}):
        assert "raiseSize" in refused(lambda more=more: dataclasses.replace(limit, **more))
    assert dataclasses.replace(limit, **many).most_chips == 10 + 255 * (40 + 10**6)


def test_memory_is_the_least_of_all_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    groups, inner = tmp_path / "cgroup", tmp_path / "cgroup" / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "memory.max").write_text("max\n")
    (inner.parent / "memory.max").write_text("1000000\n")
    (inner.parent / "memory.current").write_text("700000\n")
    (inner.parent / "memory.stat").write_text("anon 5\ninactive_file 50000\n")
    lines = _machine._lines
    own = {Path("/proc/self/cgroup"): ["0::/outer/inner"]}
    monkeypatch.setattr(_machine, "_lines", lambda path: own[path] if path in own else lines(path))
    monkeypatch.setattr(_machine, "_GROUPS", groups)
    assert available_memory() == 350_000
    own[Path("/proc/self/cgroup")] = ["5:cpu,memory:/a", "0::/"]
    version_1 = groups / "memory" / "a"
    version_1.mkdir(parents=True)
    (version_1 / "memory.limit_in_bytes").write_text("500\n")
    (version_1 / "memory.usage_in_bytes").write_text("501\n")
    assert available_memory() == 0
    own[Path("/proc/self/cgroup")] = []
    assert available_memory() > 350_000


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
def test_a_limit_of_the_address_space_is_memory() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30));"
        "from equipoise.core.machine import available_memory; print(available_memory())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(found.stdout) < 2**30
