"""Tables of a strategy by information set: from averages or regrets to probabilities, and to bytes.

A probability takes one byte, and those of an information set sum to 255: each is rounded down, and the missing units go
to the largest remainders (the first of equal ones). So zero stays zero, one stays one, and with n actions the error is
at most (n - 1) / n / 255, less than 0.004. A coarser table has fewer units, a divisor of 255: its bytes are multiples.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from equipoise.core.errors import InputError
from equipoise.core.jit import F32, F64, I64, U8, inlined, kernel
from equipoise.games.rules import PLAYERS
from equipoise.tree.betting_tree import DECISION, MOST_ACTIONS
from equipoise.tree.infosets import SlotLayout

UNITS = 255
SLACK = 1e-3  # by which probabilities of float32 may miss one
PIECE = 1 << 18  # slots that are checked at once
MOST_ALONE = 16  # pieces that one thread checks: more would wait for it
CHECKERS = 4  # threads


class Blocks(NamedTuple):
    """The information sets of a table in slot order: groups of decisions, repeated for each bucket."""

    buckets: I64  # [group] of its street and player
    first: I64  # [group + 1] its first decision
    actions: I64  # [decision]

    @classmethod
    def of(cls, layout: SlotLayout) -> Blocks:
        tree = layout.tree
        nodes = np.flatnonzero(tree.kind == DECISION)
        nodes = nodes[np.argsort(layout.offset[nodes])]
        group = tree.street[nodes].astype(np.int64) * PLAYERS + tree.player[nodes]
        groups = len(layout.buckets) * PLAYERS
        return cls(
            np.repeat(np.array(layout.buckets, np.int64), PLAYERS),
            np.searchsorted(group, np.arange(groups + 1)),
            tree.num_children[nodes].astype(np.int64),
        )


def probabilities(layout: SlotLayout, table: F32, out: F32 | None = None) -> F32:
    """Probabilities proportional to the positive part of a table, uniform if it is zero; `out` may be the table."""
    chances = np.empty_like(table) if out is None else out
    normalise(Blocks.of(layout), table, chances)
    return chances


def to_bytes(layout: SlotLayout, table: F32, units: int = UNITS) -> U8:
    """The probabilities of a table as bytes, in some number of units; a table of probabilities gives itself."""
    if units < 1 or UNITS % units:
        divisors = [str(number) for number in range(1, UNITS + 1) if UNITS % number == 0]
        raise InputError(f"{units} units of probability", remedy=f"use a divisor of {UNITS}: {', '.join(divisors)}")
    levels = np.empty(len(table), np.uint8)
    quantise(Blocks.of(layout), table, units, np.empty(MOST_ACTIONS), levels)
    return levels


def from_bytes(levels: U8) -> F32:
    """Bytes as probabilities."""
    return levels.astype(np.float32) / np.float32(UNITS)


def are_chances(layout: SlotLayout, table: F32 | U8) -> bool:
    """Is every information set of a table, of float32 or bytes, a distribution?"""
    blocks, first, parts = Blocks.of(layout), 0, []
    one, margin = (UNITS, 0) if table.dtype == np.uint8 else (1, SLACK)
    for buckets, *ends in zip(
        blocks.buckets.tolist(), blocks.first[:-1].tolist(), blocks.first[1:].tolist(), strict=True
    ):
        actions = blocks.actions[slice(*ends)]
        row = int(actions.sum())
        at_once = max(1, PIECE // max(1, row))
        for bucket in range(0, buckets if row else 0, at_once):
            rows = min(at_once, buckets - bucket)
            parts.append((table[first + bucket * row : first + (bucket + rows) * row], actions))
        first += buckets * row
    if len(parts) < MOST_ALONE:
        return all(sum_to(part, actions, one, margin) for part, actions in parts)
    with ThreadPoolExecutor(min(CHECKERS, os.cpu_count() or 1)) as pool:
        return all(pool.map(lambda part: sum_to(part[0], part[1], one, margin), parts))


@kernel
def sum_to(table: F32 | U8, actions: I64, one: float, margin: float) -> bool:
    """IN: float32 or uint8[slot] of whole rows of decisions. Returns whether every information set sums to `one`, give
    or take a margin, and has nothing negative.
    """
    at, good = 0, True
    while at < table.size:
        for count in actions:
            total, least = np.float32(table[at]), np.float32(table[at])
            for action in range(1, count):
                chance = np.float32(table[at + action])
                total += chance
                least = min(least, chance)
            if not (abs(total - np.float32(one)) <= np.float32(margin) and least >= np.float32(0)):
                good = False
            at += count
    return good


@kernel
def normalise(blocks: Blocks, average: F32, chances: F32) -> None:
    """IN: float32[slot]; OUT: float32[slot], may be the same."""
    at = 0
    for group in range(blocks.buckets.size):
        for _ in range(blocks.buckets[group]):
            for actions in blocks.actions[blocks.first[group] : blocks.first[group + 1]]:
                _normalise_one(average[at : at + actions], chances[at : at + actions])
                at += actions


@inlined
def _normalise_one(average: F32, chances: F32) -> None:
    total = 0.0
    for action in range(average.size):
        total += max(np.float64(average[action]), 0.0)
    for action in range(average.size):
        if total > 0.0:
            chances[action] = max(np.float64(average[action]), 0.0) / total
        else:
            chances[action] = 1.0 / np.float64(average.size)


@kernel
def quantise(blocks: Blocks, table: F32, units: int, lost: F64, levels: U8) -> None:
    """IN: float32[slot]; scratch: float64[action]; OUT: uint8[slot]."""
    at = 0
    for group in range(blocks.buckets.size):
        for _ in range(blocks.buckets[group]):
            for actions in blocks.actions[blocks.first[group] : blocks.first[group + 1]]:
                _quantise_one(table[at : at + actions], units, lost, levels[at : at + actions])
                at += actions


@inlined
def _quantise_one(table: F32, units: int, lost: F64, levels: U8) -> None:
    total = 0.0
    for action in range(table.size):
        total += max(np.float64(table[action]), 0.0)
    missing = units
    worth = np.uint8(UNITS // units)
    for action in range(table.size):
        chance = max(np.float64(table[action]), 0.0) / total if total > 0.0 else 1.0 / np.float64(table.size)
        exact = units * chance
        whole = int(exact)
        levels[action] = np.uint8(whole) * worth
        lost[action] = exact - whole if chance > 0.0 else -1.0
        missing -= whole
    for _ in range(missing):
        most = 0
        for action in range(1, table.size):
            if lost[action] > lost[most]:
                most = action
        levels[most] += worth
        lost[most] -= 1.0
