"""Files of others under names like ours in the temporary folder."""

from __future__ import annotations

from pathlib import Path

from dose import Tally, doses, seeded
from names import try_names


@doses(quick=200, long=5_000)
def test_what_is_called_like_ours_in_the_temporary_folder_stays(tries: int, tmp_path: Path) -> None:
    tally = Tally("names in the temporary folder")
    try_names(tmp_path, tries, seeded("names"), tally)
    tally.check(["kept", "removed"])
