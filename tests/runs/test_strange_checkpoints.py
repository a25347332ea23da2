"""Checkpoints whose checksums are right and whose contents are not: refused in one line, before a kernel uses them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from shutil import copytree
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

import equipoise
from containers import container, listed_arrays, read_container
from equipoise import InputError

SOLVERS = {
    "external": "solver={method='external',seed=3}",
    "pcs": "solver={method='pcs',boards=2,seed=3}",
    "full": "solver={method='cfr-br',seed=3}",
    "hybrid": "solver={method='cfr-br',trunk=1,seed=3}",
}
NEWEST = "checkpoints/000000000010.ckpt"
Change = Callable[[Any], Any]


@cache
def trained(solver: str) -> Path:
    out = Path(mkdtemp()) / "run"
    train(solver, out, 10, resume=False)
    return out


def train(solver: str, out: Path, iterations: int, *, resume: bool = True) -> None:
    overrides = [SOLVERS[solver], "measure.method=none"]
    equipoise.train("leduc", out, iterations=iterations, threads=1, resume=resume, overrides=overrides)


def refused(solver: str, folder: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> str:
    """What a resume says to the changed checkpoint."""
    copytree(trained(solver), folder / "run")
    path = folder / "run" / NEWEST
    header, arrays = read_container(path)
    change(header, arrays)
    path.write_bytes(container(header, listed_arrays(arrays), arrays))
    with pytest.raises(InputError) as caught:
        train(solver, folder / "run", 20)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def put(at: Any, value: Any) -> Change:
    def change(array: Any) -> Any:
        array[at] = value
        return array

    return change


@pytest.mark.parametrize(
    ("solver", "name", "change", "said"),
    [
        ("external", "state deck", put((0, 0), 128), "'deck' has 128: it must be from 0 to 5"),
        ("external", "state deck", put((0, slice(2)), 1), "'deck' has a number twice"),
        ("external", "state random", put(0, 0), "a random generator at zero"),
        ("external", "state random", lambda array: array.astype(np.int64), "'random' is int64"),
        ("external", "regret", put(7, np.nan), "'regret' has nan"),
        ("external", "average", put(7, -1), "'average' has -1"),
        ("external", "average", lambda array: array[:-1], "not the average of this recipe"),
        ("pcs", "state sampling", put(-1, 10**12), "1,000,000,000,000 boards after 10 iterations of 2"),
        ("pcs", "state sampling", put(-1, -1), "-1 boards after 10 iterations of 2"),
        ("pcs", "state sampling", lambda array: array[:-1], "'sampling' is int64"),
        ("pcs", "state gains", put(1, 1e30), "'gains' has 1e.30"),
        ("pcs", "state gains", put(0, 0), "'gains' has 0"),
        ("full", "state choice", put(0, 3), "'choice' has an action that its decision does not have"),
        ("full", "state choice", put(-1, 200), "'choice' has an action that its decision does not have"),
        ("hybrid", "state trunk", put(0, np.inf), "'trunk' has inf"),
        ("hybrid", "state trunk", lambda array: array[:, np.newaxis], "'trunk' is float32"),
    ],
)
def test_arrays_that_make_no_sense_are_refused(
    solver: str, name: str, change: Change, said: str, tmp_path: Path
) -> None:
    """A deck with a card 128, for one, ended the process by SIGSEGV."""

    def changed(_header: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = change(arrays[name])

    line = refused(solver, tmp_path, changed)
    assert said.replace("e.30", "e+30") in line and line.startswith(str(tmp_path / "run" / NEWEST))


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_missing_array_is_refused(solver: str, tmp_path: Path) -> None:
    names = list(read_container(trained(solver) / NEWEST)[1])
    assert len(names) > 2
    for number, name in enumerate(names):
        said = refused(solver, tmp_path / str(number), lambda _, arrays, name=name: arrays.pop(name))
        assert name.removeprefix("state ") in said


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("iteration", 11), ("iteration", -1), ("iteration", 10.5), ("iteration", None), ("seconds", "1"),
        ("seconds", -1.0), ("seconds", float("nan")), ("threads", 0), ("threads", 10**9), ("nodes", True),
        ("measured", None), ("measured", {"lbr_mbb": "x"}), ("measured", {"lbr_mbb": 5.0}),
        ("measured", {"exploitability_mbb": -1.0}), ("measured", {"other": 1}),
        ("fingerprint", 5), ("more", 1),
    ],
)  # fmt: skip
def test_a_header_that_makes_no_sense_is_set_aside(key: str, value: Any, tmp_path: Path) -> None:
    """As any damaged checkpoint; here there is none before it."""
    said = refused("external", tmp_path, lambda header, _: header.update({key: value}))
    assert "every checkpoint is damaged" in said
