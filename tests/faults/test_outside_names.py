"""Names of every kind: used and kept, or refused in one line before anything is sent or written."""

from __future__ import annotations

from pathlib import Path

from dose import Tally, doses, seeded
from outside_names import KINDS, try_names


@doses(quick=300, long=10_000)
def test_names_of_every_kind_are_used_or_refused_in_one_line(tries: int, tmp_path: Path) -> None:
    tally = Tally("names from outside")
    try_names(tmp_path, tries, seeded("outside names"), tally)
    good = {"host": "read", "address": "read", "url": "read", "agent": "logged", "cell": "written", "text": "shown"}
    tally.check([f"{kind} {good.get(kind, 'used')}" for kind in KINDS])
