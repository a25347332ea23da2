"""Links and files of the user where ours should be, and caches of other users: nothing is changed, nothing trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attempts import DONE, REFUSED
from dose import Tally, doses, seeded
from flips import CACHE_USES
from links import ForeignCache, Runs, harm_outputs


@doses(quick=12, long=300)
def test_what_a_resumed_run_finds_in_its_folder_stays(tries: int, tmp_path: Path) -> None:
    tally = Tally("links runs")
    Runs(tmp_path).harm_many(tries, seeded("links", "runs"), tally)
    tally.check([DONE, REFUSED])


@doses(quick=12, long=300)
def test_what_commands_find_in_the_place_of_their_files_stays(tries: int, tmp_path: Path) -> None:
    tally = Tally("links outputs")
    harm_outputs(tmp_path, tries, seeded("links", "outputs"), tally)
    tally.check([DONE, REFUSED])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
@doses(quick=3, long=30)
def test_a_cache_that_others_can_reach_is_not_trusted(tries: int, tmp_path: Path) -> None:
    tally = Tally("foreign kernels")
    ForeignCache(tmp_path, CACHE_USES["kernels"]).harm_many(tries, seeded("foreign", "kernels"), tally)
    tally.check([REFUSED])
