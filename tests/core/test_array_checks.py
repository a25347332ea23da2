"""Checks of arrays from files: what kernels take as indices and numbers is what they can take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.core.array_checks import (
    LARGEST,
    check_array,
    check_indices,
    check_like,
    check_permutations,
    check_range,
)
from equipoise.core.errors import InputError

KINDS = (np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, 65_535, 65_536, 65_537, 200_000])
def test_every_index_out_of_range_is_found(kind: type, size: int) -> None:
    array = np.random.default_rng(size).integers(2, 9, size).astype(kind)
    assert check_indices(array, 9, "x", 2) is array
    for at in {0, size // 2, size - 1}:
        for wrong in (1, 9, *((-1,) if np.dtype(kind).kind == "i" else ()), np.iinfo(kind).max):
            bad = array.copy()
            bad[at] = wrong
            with pytest.raises(InputError, match=rf"the array 'x' has {int(wrong):,}: it must be from 2 to 8"):
                check_indices(bad, 9, "x", 2)


def test_indices_are_integers_and_none_is_fine() -> None:
    check_indices(np.zeros(0, np.int32), 0, "x")
    for array in (np.zeros(3), np.zeros(3, bool)):
        with pytest.raises(InputError, match="not integers"):
            check_indices(array, 5, "x")
    with pytest.raises(InputError, match="from 0 to -1"):
        check_indices(np.zeros(1, np.uint8), 0, "x")


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, -0.1, 1.1])
def test_every_number_out_of_range_is_found(kind: type, wrong: float) -> None:
    array = np.random.default_rng(1).random((300, 400)).astype(kind)
    check_range(array, "x", 0, 1)
    for at in ((0, 0), (150, 7), (299, 399)):
        bad = array.copy()
        bad[at] = wrong
        with pytest.raises(InputError, match=r"the array 'x' has .* it must be from 0 to 1"):
            check_range(bad, "x", 0, 1)
    if not np.isfinite(wrong):
        with pytest.raises(InputError, match="which is no number"):
            check_range(np.full(3, wrong, kind), "x")


def test_arrays_are_those_of_the_layout() -> None:
    like = {"a": np.zeros((2, 3), np.float32), "b": np.zeros(0, np.int64)}
    whole: dict[str, Any] = {**like, "c": np.zeros(9)}
    assert check_like(whole, like).keys() == like.keys()
    nan, large = np.full((2, 3), np.nan, np.float32), np.full((2, 3), 2 * LARGEST, np.float32)
    for name, array, said in (
        ("a", None, "is missing"),
        ("a", np.zeros((2, 3)), "is float64"),
        ("a", np.zeros((3, 2), np.float32), r"\[3, 2\]"),
        ("b", np.zeros((), np.int64), r"int64\[\]"),
        ("a", nan, "no number"),
        ("a", large, "must be from"),
    ):
        with pytest.raises(InputError, match=said):
            check_like({**whole, name: array} if array is not None else {}, {name: like[name]})
    with pytest.raises(InputError, match="the array 'x' is missing"):
        check_array(None, "x", (3,), np.uint8)


def test_permutations_have_every_number_once() -> None:
    rows = np.array([[0, 2, 1], [1, 0, 2]], np.uint8)
    assert check_permutations(rows, "deck") is rows
    for bad, said in (([0, 2, 2], "twice"), ([0, 1, 3], "has 3"), ([0, 1, 128], "has 128")):
        with pytest.raises(InputError, match=said):
            check_permutations(np.array([[0, 1, 2], bad], np.uint8), "deck")
