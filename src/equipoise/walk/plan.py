"""What a walk reads and works in: tables, steps, plans and workspaces, as tuples of arrays for kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Float, Int
from equipoise.core.jit import F32, F64, I16, I32, I64, inlined, view
from equipoise.core.simd import LANES
from equipoise.tree.boards import Boards
from equipoise.walk.betting_program import Program

UPDATE, BEST, EVALUATE = 0, 1, 2  # what the walker does at its decisions


class Weights(NamedTuple):
    """What an iteration multiplies a table by before it adds: positive regrets, negative ones, the average."""

    positive: float
    negative: float
    average: float


class Tables(NamedTuple):
    """The flat tables. A board's block of a player starts at `first`, and is [row, hole of the board's list]."""

    first: I64  # [board, player]
    source: F32  # what the opponent plays by (and the walker, with EVALUATE and UPDATE); empty: `fixed`
    regret: F32  # what UPDATE adds to: the same array as `source`, unless the step is predictive
    average: F32  # what the opponent adds its reach x strategy to, where `averaging`
    scale_first: I64  # [board, player] where the scales of a board's rows start
    scale: F32  # [row, REGRET or AVERAGE] of 16-bit tables, at the first row of each decision; else empty
    fixed: F64  # [place] the probability of the action that leads to a place, the same for all holes
    path: F64  # [walker, place] with `fixed` and plain ranges: the one number that the opponent reaches a place with


class Step(NamedTuple):
    """What one walk does."""

    walker: int
    mode: int
    averaging: bool
    predictive: bool
    positive: Float  # regrets are multiplied by this before adding, where positive
    negative: Float  # and by this where negative
    keep: Float  # the average is multiplied by this before adding
    phase: Float = np.float32(0.5)  # what decides how 16-bit tables are rounded


class Runouts(NamedTuple):
    """All-in showdowns before the last street: runouts won minus lost, for each pair of holes."""

    first: I64  # [board, walker] where the matrix [my hole, their hole] starts; -1 if the board has none
    matrix: I16  # flat
    scale: F64  # [board] 1 / runouts


class Plan(NamedTuple):
    """All that a walk reads, and where it leaves the walker's values at the root."""

    program: Program
    boards: Boards
    runouts: Runouts
    tables: Tables
    step: Step
    weights: F64  # [board] those of `boards`, or of a sample; a board of weight 0 is not walked
    two_cards: bool
    root_reach: F32  # [hole] the opponent's
    root_value: F32  # [hole] the walker's


class Workspace(NamedTuple):
    """One thread's memory. Rows of a street start at its base, each as long as the board's list, in whole tiles."""

    reach: F32
    value: F32
    reach_base: I64  # [street]
    value_base: I64  # [street]
    lanes_in: F32  # [hole + 1, lane]
    lanes_out: F32  # [hole, lane]
    lanes_met: F32  # [hole, lane] where the house takes a share
    run: F32  # [card, lane]
    run_share: F32  # [lane]
    reach_at: I64  # [lane] where the rows of the lanes are
    value_at: I64  # [lane]
    factor: F32  # [lane]
    spare: F32  # [hole]
    decoded: F32  # [action, hole] rows of a 16-bit table, while they are worked on
    board: I32  # [street] the board being walked
    cursor: I32  # [street] the next board below it


@inlined
def padded(size: Int) -> Int:
    """The length of a row in a workspace: whole tiles of sixteen."""
    return (size + LANES - 1) // LANES * LANES


@view
def row_of(flat: F32, base: Int, row: Int, length: Int) -> F32:
    """One row of a workspace or table."""
    start = base + row * length
    return flat[start : start + length]


@view
def rows_of(flat: F32, base: Int, row: Int, count: Int, length: Int) -> F32:
    """Neighbouring rows, [row, hole]."""
    start = base + row * length
    return flat[start : start + count * length].reshape((count, length))
