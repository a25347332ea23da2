"""Strategies measured beside a reference: differences from few flops, and levels where the reference is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import equipoise
from commands import invoke
from equipoise import InputError, load_game
from equipoise.agents.card_blind import CardBlindStrategy
from equipoise.measure.best_response import measurement_of
from equipoise.measure.reference import Referenced, measure_by_reference


@pytest.fixture
def game(tmp_path: Path) -> str:
    """[2-4] hold'em with a deck of five ranks, as a gamedef."""
    path = tmp_path / "small.game"
    path.write_text(
        "GAMEDEF\nlimit\nnumPlayers = 2\nnumRounds = 2\nblind = 10 5\nraiseSize = 10 10\nfirstPlayer = 2 1\n"
        "maxRaises = 2 2\nnumSuits = 4\nnumRanks = 5\nnumHoleCards = 2\nnumBoardCards = 0 3\nEND GAMEDEF\n"
    )
    return str(path)


def test_a_known_reference_gives_the_level(game: str, tmp_path: Path) -> None:
    """Intervals cover the exact value, and are no wider than those of the sample alone."""
    flops, rules = tmp_path / "uniform.flops", load_game(game)
    exact = {
        name: equipoise.exploitability(rules, name, threads=1).exploitability for name in ("always-raise", "uniform")
    }
    part = measure_by_reference("always-raise", "uniform", game=game, sample_flops=20, reference_flops=flops, threads=1)
    assert part.exact is None and part.level is None
    measurement = measurement_of(rules, CardBlindStrategy("uniform"), None, 1)
    assert measurement.file(flops).values and not measurement.has_all_flops(flops)
    equipoise.exploitability(rules, "uniform", threads=1, out=flops)
    assert measurement.has_all_flops(flops)
    covered = []
    for seed in range(30):
        found = measure_by_reference(
            "always-raise", "uniform", game=game, sample_flops=20, reference_flops=flops, seed=seed, threads=1
        )
        assert found.exact == pytest.approx(exact["uniform"], rel=1e-9)
        assert found.level is not None
        covered.append(abs(found.level[0] - exact["always-raise"]) <= found.level[1])
    assert sum(covered) >= 26
    same = measure_by_reference("uniform", "uniform", game=game, sample_flops=20, reference_flops=flops, threads=1)
    assert same.difference == (0, 0)
    assert same.level == (same.exact, 0)


def test_the_command_says_difference_and_level(game: str, tmp_path: Path) -> None:
    flops = str(tmp_path / "call.flops")

    def run(*arguments: str) -> str:
        done = invoke("measure", *arguments, "--game", game)
        assert done.exit_code == 0
        return str(done.stdout)

    run("always-call", "--out", flops)
    beside = ("always-raise", "--flops", "9", "--reference", "always-call", "--reference-out", flops)
    answer = json.loads(run(*beside, "--json"))["reference"]
    assert answer.keys() == {"what", "less_mbb", "ci95_mbb", "exact_mbb", "level_mbb"}
    assert answer["level_mbb"] == pytest.approx(answer["exact_mbb"] + answer["less_mbb"])
    said = run(*beside)
    assert "less always-call on the same flops" in said
    assert f"so this agent has {answer['level_mbb']:.2f} ± " in said


def test_what_does_not_fit_is_refused(game: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a reference without a sample"):
        equipoise.measure_agent("uniform", game=game, reference="always-call")
    with pytest.raises(InputError, match="no reference"):
        equipoise.measure_agent("uniform", game=game, sample_flops=9, reference_flops=tmp_path / "x")
    with pytest.raises(InputError, match="for lbr"):
        equipoise.measure_agent("uniform", game=game, method="lbr", reference="always-call")
    equipoise.exploitability(load_game(game), "uniform", sample_flops=9, out=tmp_path / "of.flops", threads=1)
    with pytest.raises(InputError, match="another game, agent or version"):
        equipoise.measure_agent(
            "uniform", game=game, sample_flops=9, reference="always-call", reference_flops=tmp_path / "of.flops"
        )
    found = equipoise.measure_agent("uniform", game=game, sample_flops=9, reference="always-call", threads=1)
    assert isinstance(found, Referenced) and found.difference[1] > 0
