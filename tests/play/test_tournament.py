"""Round robins: antisymmetry, both rankings, what is kept, and what is played again."""

from __future__ import annotations

import csv
import json
import math
import random
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import equipoise
from equipoise import InputError, Tournament
from equipoise.cli.render.match import print_tournament
from equipoise.play.tournament import seed_of, short_name, tournament


@dataclass(frozen=True)
class Stub:
    name: str
    strength: float = 0.0


@dataclass(frozen=True)
class Result:
    mbb_per_hand: float
    ci95: float


@dataclass
class Table:
    """Plays by a table of results, else by strength and the seed; remembers what it was asked."""

    results: dict[tuple[str, str], float] = field(default_factory=dict)
    asked: list[tuple[str, str, int, int]] = field(default_factory=list)

    def __call__(self, one: Stub, two: Stub, hands: int, seed: int) -> Result:
        self.asked.append((one.name, two.name, hands, seed))
        if (one.name, two.name) in self.results:
            return Result(self.results[one.name, two.name], 3.0)
        if (two.name, one.name) in self.results:
            return Result(-self.results[two.name, one.name], 3.0)
        return Result(one.strength - two.strength + random.Random(seed).gauss(0, 1), 2.0)


AGENTS = [
    Stub("delta", 4),
    Stub("alpha", 90),
    Stub("runs/small?post=tartanian7:0.2,edges=0.75/1.5", 40),
    Stub("béta", -7),
]
ROCK = {("rock", "scissors"): 10.0, ("scissors", "paper"): 10.0, ("paper", "rock"): 10.0}


def test_the_matrix_is_antisymmetric_and_right() -> None:
    found = tournament(AGENTS, Table(), hands=500, seed=7)
    assert np.array_equal(np.nan_to_num(found.mbb), -np.nan_to_num(found.mbb).T)
    assert np.array_equal(found.ci95, found.ci95.T, equal_nan=True)
    assert np.array_equal(np.isnan(found.mbb), np.eye(4, dtype=bool))
    for i, j in permutations(range(4), 2):
        assert abs(found.mbb[i, j] - (AGENTS[i].strength - AGENTS[j].strength)) < 6
    assert [found.names[agent] for agent in found.by_bankroll] == ["alpha", AGENTS[2].name, "delta", "béta"]
    assert found.bankrolls()[1] == pytest.approx(np.nanmean(found.mbb[1]))
    assert found.bankroll_ci95 == pytest.approx([2 * math.sqrt(3) / 3] * 4)


def test_the_order_of_entry_changes_nothing() -> None:
    first = tournament(AGENTS, Table(), seed=7)
    for order in permutations(range(4)):
        again = tournament([AGENTS[i] for i in order], Table(), seed=7)
        assert np.array_equal(again.mbb, first.mbb[np.ix_(order, order)], equal_nan=True)
        assert [again.names[i] for i in again.by_run_off] == [first.names[i] for i in first.by_run_off]


def test_every_pair_has_a_seed_of_its_own() -> None:
    table = Table()
    tournament(AGENTS, table, hands=9, seed=3)
    seeds = [seed for *_, seed in table.asked]
    assert len(table.asked) == len(set(seeds)) == 6
    assert {hands for _, _, hands, _ in table.asked} == {9}
    assert seed_of(3, "a", "b") != seed_of(4, "a", "b")
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_run_off_does_not_reward_taking_from_the_weak() -> None:
    """The shark takes most from the fish; without the fish the solid agent, which beats it, is best."""
    results = {("shark", "fish"): 1000.0, ("solid", "fish"): 100.0, ("solid", "shark"): 50.0}
    found = tournament([Stub("fish"), Stub("shark"), Stub("solid")], Table(results))
    assert [found.names[i] for i in found.by_bankroll] == ["shark", "solid", "fish"]
    assert [found.names[i] for i in found.by_run_off] == ["solid", "shark", "fish"]
    assert [(found.names[i], value) for i, value in found.removed[:-1]] == [("fish", -550.0), ("shark", -50.0)]
    assert found.bankrolls().tolist() == [-550, 475, 75]


def test_the_run_off_is_recomputed_among_those_left() -> None:
    """One pass over the totals would rank differently: c is third in total, and first to lose to what is left."""
    results = {
        ("a", "b"): 5.0, ("a", "c"): -20.0, ("a", "d"): 100.0, ("b", "c"): 30.0, ("b", "d"): 0.0, ("c", "d"): 1.0,
    }  # fmt: skip
    found = tournament([Stub(name) for name in "abcd"], Table(results))
    naive_left, naive = set(range(4)), []
    while naive_left:
        mean = {i: np.mean([found.mbb[i, j] for j in naive_left - {i}] or [0]) for i in naive_left}
        naive.append(min(naive_left, key=lambda i: mean[i]))
        naive_left.remove(naive[-1])
    assert [i for i, _ in found.removed] == naive
    assert found.by_run_off != found.by_bankroll


def test_a_circle_is_a_tie() -> None:
    found = tournament([Stub(name) for name in ("rock", "paper", "scissors")], Table(ROCK))
    assert found.bankrolls().tolist() == [0, 0, 0]
    assert found.by_bankroll == (0, 1, 2)
    assert found.removed[0] == (2, 0.0)
    assert found.by_run_off == (1, 0, 2)  # paper beats rock once the scissors are gone


# --- files -----------------------------------------------------------------------------------------------------------


def test_finished_pairs_are_not_played_again(tmp_path: Path) -> None:
    def broken(one: Stub, two: Stub, hands: int, seed: int) -> Result:
        if len(table.asked) == 4:
            raise KeyboardInterrupt
        return table(one, two, hands, seed)

    table, told = Table(), list[float]()
    folder = tmp_path / "pairs"
    with pytest.raises(KeyboardInterrupt):
        tournament(AGENTS, broken, hands=50, folder=folder)
    assert len(list(folder.iterdir())) == 4
    rest = Table()
    found = tournament(AGENTS, rest, hands=50, folder=folder, progress=told.append)
    assert len(rest.asked) == 2
    assert not {pair[:2] for pair in rest.asked} & {pair[:2] for pair in table.asked}
    assert told == [pytest.approx(n / 6) for n in range(1, 7)]
    fresh = tournament(AGENTS, Table(), hands=50)
    assert np.array_equal(found.mbb, fresh.mbb, equal_nan=True)
    more = Table()
    tournament([*AGENTS[::-1], Stub("new")], more, hands=50, folder=folder)  # one agent more: its own pairs only
    assert {name for one, two, *_ in more.asked for name in (one, two)} == {"new", *(agent.name for agent in AGENTS)}
    assert len(more.asked) == 4


@pytest.mark.parametrize("change", [{"hands": 51}, {"seed": 2}, {"settings": {"game": "leduc"}}])
def test_pairs_of_other_settings_are_played_again(change: dict[str, object], tmp_path: Path) -> None:
    settings: dict[str, object] = {"hands": 50, "seed": 1, "settings": {"game": "holdem.limit", "stacks": (1, 2)}}
    tournament(AGENTS, Table(), folder=tmp_path, **settings)  # type: ignore[arg-type]
    table = Table()
    tournament(AGENTS, table, folder=tmp_path, **settings)  # type: ignore[arg-type]
    assert not table.asked
    tournament(AGENTS, table, folder=tmp_path, **{**settings, **change})  # type: ignore[arg-type]
    assert len(table.asked) == 6


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b'{"format": "equipoise pair 1"}', b"null"])
def test_a_damaged_pair_is_played_again(damage: bytes, tmp_path: Path) -> None:
    first = tournament(AGENTS, Table(), folder=tmp_path)
    sorted(tmp_path.iterdir())[2].write_bytes(damage)
    table = Table()
    again = tournament(AGENTS, table, folder=tmp_path)
    assert len(table.asked) == 1
    assert np.array_equal(again.mbb, first.mbb, equal_nan=True)


def test_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = tournament(AGENTS, Table(), hands=500)
    found.write(tmp_path / "result")
    stored = json.loads((tmp_path / "result.json").read_text())
    assert stored["by_bankroll"][0] == stored["by_run_off"][0] == "alpha"
    assert stored["mbb_per_hand"][0][0] is None
    assert stored["mbb_per_hand"][0][1] == -stored["mbb_per_hand"][1][0]
    with (tmp_path / "result.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["agent"] for row in rows] == stored["by_bankroll"]
    assert float(rows[0]["béta"]) == -float(rows[3]["alpha"]) > 80
    assert rows[0]["alpha"] == ""
    assert (tmp_path / "result.png").read_bytes()[:4] == b"\x89PNG"
    print_tournament(found)
    text = capsys.readouterr().out
    assert "alpha" in text
    assert f"{found.mbb[1, 3]:+,.1f} ± 2.0" in text


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two or more"):
        tournament(AGENTS[:1], Table())
    with pytest.raises(InputError, match="different names"):
        tournament([AGENTS[0], AGENTS[0]], Table())
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        tournament(AGENTS, Table(), folder=tmp_path / "file")
    with pytest.raises(InputError, match="cannot write"):
        tournament(AGENTS, Table()).write(tmp_path / "no folder" / "result")


def test_long_names_keep_both_ends() -> None:
    name = "runs/nolimit-demo?post=tartanian7:0.2,edges=0.75/1.5"
    assert len(short_name(name)) == 32
    assert short_name(name).startswith("runs/nolimit")
    assert short_name(name).endswith("0.75/1.5")
    assert short_name("alpha") == "alpha"


def test_it_is_public() -> None:
    assert equipoise.Tournament is Tournament
