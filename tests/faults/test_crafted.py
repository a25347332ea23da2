"""Files from strangers, of every kind, under right checksums: refused in one line, or plain numbers."""

from __future__ import annotations

import os
from pathlib import Path

from attempts import REFUSED
from dose import Tally, doses
from strangers import PLAIN, Campaign


@doses(quick=81, long=5000)
def test_a_crafted_file_is_refused_or_gives_plain_numbers(tries: int, tmp_path: Path) -> None:
    tally = Tally("crafted")
    for own in Campaign(tmp_path, os.environ.get("EQUIPOISE_FAULT_SEED", "1")).run(tries).values():
        print(own.summary())
        tally.counts += own.counts
        tally.faults += own.faults
    tally.check(needed=(REFUSED, PLAIN))
