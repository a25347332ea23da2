"""Rows of at most sixteen holes as single vectors, against the same rules as loops over holes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.core.jit import kernel
from equipoise.walk.regret_matching import add_average, add_regret, mean_value, pass_reach, sum_rows
from equipoise.walk.short_ranges import add_average_short, is_short, pass_reach_short, sum_short, update_short

START = 3  # where a decision's rows start in a table: anywhere


@kernel
def by_vectors(reach: Any, value: Any, regret: Any, average: Any, size: Any, count: Any, down: bool) -> None:
    if down:
        pass_reach_short(reach, 0, 1, regret, START, size, count)
        add_average_short(reach, 1, 0.75, average, START, size, count)
    else:
        sum_short(value, count + 1, 1, count)
        update_short(value, 0, 1, 0.9, 0.25, regret, START, size, count)


@kernel
def by_loops(reach: Any, value: Any, regret: Any, average: Any, size: Any, spare: Any, down: bool) -> None:
    if down:
        pass_reach(reach[0, :size], regret, reach[1:])
        add_average(reach[1:], 0.75, average)
    else:
        sum_rows(value[1 : regret.shape[0] + 1], value[regret.shape[0] + 1, :size])
        mean_value(regret, value[1:], value[0, :size], spare)
        add_regret(value[1 : regret.shape[0] + 1], value[0, :size], 0.9, 0.25, regret)


@kernel
def ask_narrow(table: Any, size: Any, answer: Any) -> None:
    answer[0] = is_short(table, size)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [1, 5, 6, 15, 16])
def test_vectors_do_what_loops_do(size: int, count: int, precision: Any) -> None:
    rng = np.random.default_rng(size * 10 + count)
    whole = {name: rng.normal(size=START + count * size + 20).astype(precision) for name in ("regret", "average")}
    whole["regret"][START : START + count * size].reshape(count, size)[:, 0] *= -1 + 2 * (rng.random() < 0.5)
    whole["regret"][START : START + count * size].reshape(count, size)[:, -1] = -1  # nothing is positive: all alike
    rows = {name: table[START : START + count * size].reshape(count, size).copy() for name, table in whole.items()}
    before = {name: table.copy() for name, table in whole.items()}
    reach, value = rng.random((count + 1, 16)).astype(precision), rng.normal(size=(count + 2, 16)).astype(precision)
    theirs = [reach.copy(), value.copy()]
    for down in (True, False):
        by_vectors(reach.ravel(), value.ravel(), whole["regret"], whole["average"], size, count, down)
        by_loops(*theirs, rows["regret"], rows["average"], size, np.zeros(16, precision), down)
    close = 1e-5 if precision is np.float32 else 1e-12
    np.testing.assert_allclose(reach[:, :size], theirs[0][:, :size], rtol=close, atol=close)
    np.testing.assert_allclose(value[:, :size], theirs[1][:, :size], rtol=close, atol=close)
    for name, table in whole.items():
        here = np.arange(START, START + count * size)
        np.testing.assert_allclose(table[here].reshape(count, size), rows[name], rtol=close, atol=close)
        assert (np.delete(table, here) == np.delete(before[name], here)).all()


def test_long_lists_and_whole_numbers_are_not_narrow() -> None:
    answer = np.zeros(1, bool)
    for table, size, narrow in ((np.float32, 16, True), (np.float32, 17, False), (np.int16, 6, False)):
        ask_narrow(np.zeros(1, table), size, answer)
        assert answer[0] == narrow == is_short(np.zeros(1, table), size)
