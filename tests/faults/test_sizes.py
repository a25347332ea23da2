"""Absurd sizes under a limit on memory, and full disks: one line, or a long job that can be interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from dose import Tally, seeded
from sizes import all_cases, full_log, full_output, full_solve, full_train, small_cases, small_disk, try_case

ALL = all_cases()
PARTS = 8  # of the long dose, so that several workers share it


@pytest.mark.parametrize("part", range(2))
def test_absurd_sizes_end_in_one_line(part: int, tmp_path: Path) -> None:
    tally = Tally(f"sizes, quick part {part + 1}")
    for number, case in enumerate(small_cases()[part::2]):
        try_case(case, tmp_path / str(number), tally)
    tally.check()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_all_absurd_sizes_end_in_one_line(part: int, tmp_path: Path) -> None:
    tally = Tally(f"sizes, part {part + 1} of {PARTS}")
    cases = list(ALL)
    seeded("sizes").shuffle(cases)
    for number, case in enumerate(cases[part::PARTS]):
        try_case(case, tmp_path / str(number), tally)
    tally.check()


def test_a_full_disk_is_one_line_and_costs_nothing_that_was_written(tmp_path: Path) -> None:
    tally = Tally("full disk")
    with small_disk(tmp_path / "disk", 600) as disk:
        if disk is None:
            pytest.skip("a small disk can only be mounted by root")
        full_train(disk, tmp_path, tally)
        full_solve(disk, tally)
        full_log(disk, tally)
    tally.check()


def test_output_to_a_full_device_is_one_line() -> None:
    tally = Tally("full output")
    full_output(tally)
    tally.check()
