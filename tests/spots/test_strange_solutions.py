"""Solutions whose checksums are right and whose contents are not are refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

import equipoise
from containers import container, listed_arrays, read_container
from equipoise import InputError, Solution

SPOT = """board = "Qs Jh 2h 8d 5c"
pot = 100
stack = 200
ranges = { oop = "QQ,T9s", ip = "AQ,T9s" }
betting = { bet = [0.5] }
"""


@cache
def solved(storage: str) -> Path:
    path = Path(mkdtemp()) / "x.solution"
    equipoise.solve(equipoise.read_spot(SPOT), iterations=5, threads=1, storage=storage, resumable=True).save(path)
    return path


@pytest.mark.parametrize("storage", ["float32", "int16"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda h, _: h.update(spot=None), "it needs a spot or a game"),
        (lambda h, _: h.update(gamedef="GAMEDEF"), "it needs a spot or a game"),
        (lambda h, _: h.update(spot="pot = 1"), "x.solution"),
        (lambda h, _: h.update(variant="fast"), "'variant'"),
        (lambda h, _: h.update(variant="predictive"), "'predicted' is missing"),
        (lambda h, _: h.update(storage="int8"), "'storage'"),
        (lambda h, _: h.update(history=[[1, 2]]), "no 'history.0.2'"),
        (lambda h, _: h.update(history=[[1, 2, "x"]]), "'history.0.2'"),
        (lambda h, _: h.update(iterations=-5), "'iterations'"),
        (lambda h, _: h.pop("seconds"), "no 'seconds'"),
        (lambda _, a: a.pop("average"), "the array 'average' is"),
        (lambda _, a: a.pop("regret"), "the array 'regret' is missing"),
        (lambda _, a: a.update(average=a["average"][:-1]), "the array 'average' is"),
        (lambda _, a: a.update(average=a["average"].astype(np.float64)), "the array 'average' is"),
        (lambda _, a: a["average"].__setitem__(3, -7), "'average' has -7"),
    ],
)
def test_contents_that_make_no_sense_are_refused(
    storage: str, change: Callable[[dict[str, Any], dict[str, Any]], object], said: str, tmp_path: Path
) -> None:
    header, arrays = read_container(solved(storage))
    change(header, arrays)
    path = tmp_path / "x.solution"
    path.write_bytes(container(header, listed_arrays(arrays), arrays))
    with pytest.raises(InputError) as caught:
        Solution.load(path)
    assert said in str(caught.value) and str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_scales_and_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    for storage, name, number in (("int16", "scale", np.nan), ("int16", "scale", -1), ("float32", "regret", np.inf)):
        header, arrays = read_container(solved(storage))
        arrays[name].reshape(-1)[-1] = number
        path = tmp_path / "x.solution"
        path.write_bytes(container(header, listed_arrays(arrays), arrays))
        with pytest.raises(InputError, match=f"the array '{name}' has"):
            Solution.load(path)
