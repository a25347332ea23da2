"""A run whose tables exceed the address space of its process completes, with the bits of one that has enough."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from waiting import GUARD

ROOM = 300_000_000  # for the map, buffers and one task


def child(how: str, private: int, room: int, folder: Path) -> tuple[int, str, str]:
    here = Path(__file__).parent
    paths = [str(here), str(here.parents[1] / "helpers"), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, str(here / "capped_run.py"), how, str(private), str(room), str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=GUARD, check=False)
    return done.returncode, done.stdout, done.stderr


def test_tables_larger_than_the_address_space(tmp_path: Path) -> None:
    status, output, errors = child("disk", 0, ROOM, tmp_path)
    assert status == 0, errors
    private, limit, size, found = output.split()
    assert int(limit) < int(size)
    status, output, errors = child("memory", int(private), 0, tmp_path)
    assert status == 0, errors
    assert output.split()[-1] == found
    status, _, errors = child("memory", int(private), ROOM, tmp_path)
    assert status != 0
    assert "MemoryError" in errors
