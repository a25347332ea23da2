"""kill -9 at random moments: every solver ends with the bits of the run that nobody touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from dose import Tally, doses, seeded
from kill import QUICK, TRAININGS, Killing, kill_map, kill_solve


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in TRAININGS])
@doses(quick=1, long=14)
def test_a_killed_training_ends_with_the_same_bits(name: str, tries: int, tmp_path: Path) -> None:
    tally = Tally(f"kill {name}")
    Killing(TRAININGS[name], tmp_path, seeded("kill", name), tally).kill(tries)
    tally.check(["killed", "ended with the same bits"])


@doses(quick=2, long=20)
def test_a_killed_solve_leaves_a_whole_file_or_none(tries: int, tmp_path: Path) -> None:
    tally = Tally("kill solve")
    kill_solve(tmp_path / "leduc.solution", tries, seeded("kill", "solve"), tally)
    tally.check()


@pytest.mark.slow
def test_a_killed_build_leaves_a_cache_that_works(tmp_path: Path) -> None:
    tally = Tally("kill cache")
    kill_map(tmp_path, 10, seeded("kill", "cache"), tally)
    tally.check()
