"""Bots that misbehave in every way: a result, or one line that names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from attempts import DONE, REFUSED
from bots import harm_many
from dose import Tally, doses, seeded
from equipoise.core.isolated import can_isolate

pytestmark = pytest.mark.skipif(not can_isolate(), reason="processes are not forked here")


@doses(quick=20, long=600)
def test_bots_end_in_a_result_or_in_one_line(tries: int, tmp_path: Path) -> None:
    tally = Tally("bots")
    harm_many(tmp_path, tries, seeded("bots"), tally)
    tally.check([DONE, REFUSED])
