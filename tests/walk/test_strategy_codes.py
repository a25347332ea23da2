"""Strategies in bytes and 16 bits: the same codes as a naive twin, whole probabilities, pure play that stays pure."""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import pytest

from equipoise import read_spot
from equipoise.spots.problem import Problem
from equipoise.walk.engine import Engine
from equipoise.walk.regret_matching import strategy_rows
from equipoise.walk.strategy_codes import CODES, code_strategy, code_weights

SPOT = """
board = "Qs Jh 2h 8d"
pot = 100
stack = 250
ranges = { oop = "QQ,JJ,AQs,T9s,76s", ip = "AQ,KQs,JTs" }
betting = { bet = [0.5, 1.0, "all-in"] }
"""
KINDS = list(CODES)


@cache
def engine() -> Engine:
    return Problem.of_spot(read_spot(SPOT)).engine()


def decisions() -> list[tuple[int, int, int]]:
    """(start, actions, holes) of each decision's rows in a flat table."""
    program, boards, found = engine().program.arrays, engine().cards.arrays, []
    for board, street in enumerate(boards.street):
        for place in np.flatnonzero(program.table_row >= 0):
            if program.street_groups[street] <= _group(place) < program.street_groups[street + 1]:
                player, size = program.player[place], int(boards.counts[board, program.player[place]])
                start = int(engine().table_first[board, player]) + int(program.table_row[place]) * size
                found.append((start, int(program.num_children[place]), size))
    assert sum(actions * size for _, actions, size in found) == engine().slots
    return found


def _group(place: int) -> int:
    return int(np.searchsorted(engine().program.arrays.group_first, place, "right")) - 1


def random_table(seed: int) -> Any:
    """Frequencies of all kinds: pure, equal, rare, none, negative, and sums other than 1."""
    rng = np.random.default_rng(seed)
    table = rng.random(engine().slots) ** 6
    table[rng.random(len(table)) < 0.3] = 0
    table[rng.random(len(table)) < 0.1] *= -1
    return (table * 10 ** rng.uniform(-6, 6)).astype(np.float32)


def twin(rows: Any, kind: type) -> Any:
    """The codes of a decision's rows, hole by hole, as the module's docstring says."""
    units, roots = CODES[kind]
    coded, error = np.zeros(rows.shape, kind), [0.0] * len(rows)
    for hole in range(rows.shape[1]):
        shares = np.maximum(rows[:, hole].astype(np.float64), 0)
        for action, share in enumerate(shares / shares.max() if shares.max() > 0 else []):
            exact = units * (sqrt(share) if roots else share)
            choices = {int(np.floor(exact)), int(np.ceil(exact))}
            off = {code: error[action] + (code / units) ** (2 if roots else 1) - share for code in choices}
            coded[action, hole] = min(sorted(choices), key=lambda code: abs(off[code]))
            error[action] = off[coded[action, hole]] if len(choices) > 1 else error[action]
    return coded


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_those_of_the_twin(kind: type) -> None:
    table = random_table(1)
    coded = code_strategy(engine(), table, kind)
    for start, actions, size in decisions()[::17]:
        rows, found = (each[start : start + actions * size].reshape(actions, size) for each in (table, coded))
        np.testing.assert_array_equal(found, twin(rows, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_add_up_and_are_near_for_every_hand(kind: type) -> None:
    table = random_table(2)
    coded = code_strategy(engine(), table, kind)
    step = 0.006 if kind is np.uint8 else 1e-4
    for start, actions, size in decisions():
        rows, codes = (each[start : start + actions * size].reshape(actions, size) for each in (table, coded))
        exact, found = strategy_rows(rows.astype(np.float64)), strategy_rows(code_weights(codes))
        np.testing.assert_allclose(found.sum(axis=0), 1, atol=1e-12)
        assert np.abs(found - exact).max() < step
        pure = (rows > 0).sum(axis=0) <= 1  # one action, or none: then uniform
        np.testing.assert_array_equal(found[:, pure], exact[:, pure])


def test_pure_and_equal_play_stay_exact() -> None:
    for kind in KINDS:
        for often in ([1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4, [0, 1, 1, 1], [0] * 4):
            table = np.zeros(engine().slots, np.float32)
            start, actions, size = next(found for found in decisions() if found[1] == 4)
            table[start : start + actions * size] = np.repeat(np.float32(often), size)
            coded = code_strategy(engine(), table, kind)[start : start + actions * size].reshape(actions, size)
            wanted = np.array(often) / sum(often) if sum(often) else np.full(4, 0.25)
            np.testing.assert_array_equal(strategy_rows(code_weights(coded)), np.repeat(wanted, size).reshape(4, size))


def test_errors_of_hands_that_play_alike_cancel() -> None:
    """To nearest, all hands would err alike: the range's frequency would be off by as much as one hand's."""
    start, actions, size = next(found for found in decisions() if found[1] == 4 and found[2] > 9)
    for often in (0.013, 0.21, 0.637):
        table = np.zeros(engine().slots, np.float32)
        table[start : start + size], table[start + size : start + 2 * size] = 1, often
        coded = code_strategy(engine(), table, np.uint8)[start : start + actions * size].reshape(actions, size)
        shares = (code_weights(coded) / 255**2)[1]
        assert abs(shares.mean() - np.float32(often)) < 2 / 255 / size
        assert len(set(shares)) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_walks_read_codes_as_their_weights(kind: type) -> None:
    coded = code_strategy(engine(), random_table(3), kind)
    plain = code_weights(coded).astype(np.float32)
    for player in (0, 1):
        values = [engine().evaluate(player, engine().tables(table)) for table in (coded, plain)]
        assert values[0] == pytest.approx(values[1], abs=1e-4)
    best = [engine().best_responses(engine().tables(table)) for table in (coded, plain)]
    assert best[0] == pytest.approx(best[1], abs=1e-4)
