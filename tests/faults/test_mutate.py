"""Mutated inputs of every kind: read, or refused in one line, and never without end."""

from __future__ import annotations

import pytest

from dose import Tally, doses, seeded
from mutate import Readers, mutate_many


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Readers:
    return Readers(tmp_path_factory.mktemp("inputs"))


@doses(quick=800, long=20_000)
def test_mutated_input_is_read_or_refused_in_one_line(tries: int, readers: Readers) -> None:
    tally = Tally("mutated inputs")
    mutate_many(readers, tries, seeded("mutate"), tally)
    tally.check(["read", "refused"])
