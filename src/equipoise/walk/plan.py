"""The arguments of a walk, as tuples of arrays for kernels: geometry (`Plan`), the rule by hole, buffers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Float, Int
from equipoise.core.jit import F32, F64, I16, I32, I64, inlined, view
from equipoise.core.simd import LANES
from equipoise.tree.boards import Boards
from equipoise.walk.betting_program import Program

UPDATE, BEST, EVALUATE = 0, 1, 2  # at the walker's decisions: add regrets, take the best action, play the table


class Discounts(NamedTuple):
    """The factors that an iteration applies to its tables before adding: positive regrets, negative ones, averages."""

    positive: float
    negative: float
    average: float


class Tables(NamedTuple):
    """The flat tables. A board's block of a player starts at `first`, and is [row, hole of the board's list]."""

    first: I64  # [board, player]
    source: F32  # the opponent's strategy (with EVALUATE and UPDATE also the walker's); empty: `fixed`
    regret: F32  # the regrets that UPDATE adds to: the same array as `source`, unless the rule is predictive
    average: F32  # the sums that the opponent adds its reach x strategy to, where `averaging`
    scale_first: I64  # [board, player] where the scales of a board's rows start
    scale: F32  # [row, REGRET or AVERAGE] of 16-bit tables, at the first row of each decision; else empty
    fixed: F64  # [place] the probability of the action that leads to a place, the same for all holes
    path: F64  # [walker, place] with `fixed` and unweighted ranges: the opponent's reach, the same for all holes


class HoleRule(NamedTuple):
    """The decision rule of players who act by hole. By default a walk changes no table."""

    tables: Tables
    mode: int  # UPDATE, BEST or EVALUATE, at the walker's decisions
    averaging: bool = False  # the opponent adds to its average
    predictive: bool = False
    positive: Float = np.float32(1)  # factor of positive regrets before adding
    negative: Float = np.float32(1)  # factor of negative regrets
    keep: Float = np.float32(1)  # factor of the average
    phase: Float = np.float32(0.5)  # the rounding threshold of 16-bit tables


class RunoutMatrices(NamedTuple):
    """All-in showdowns before the last street: runouts won minus lost, for each pair of holes."""

    first: I64  # [board, walker] where the matrix [my hole, their hole] starts; -1 if the board has none
    matrix: I16  # flat
    scale: F64  # [board] 1 / runouts


NO_RUNOUTS = RunoutMatrices(np.zeros((0, 2), np.int64), np.zeros(0, np.int16), np.zeros(0))
EMPTY = np.zeros(0, np.float32)


class Plan(NamedTuple):
    """The geometry of a walk: betting, cards and the player who walks. A decision rule is a tuple of its own.

    The later fields are for walks from board to board. A sampled board has no board below it and needs none of them.
    """

    program: Program
    boards: Boards
    walker: int
    two_cards: bool
    runouts: RunoutMatrices = NO_RUNOUTS
    weights: F64 = NO_RUNOUTS.scale  # [board] those of `boards`, or of a sample; a board of weight 0 is skipped
    root_reach: F32 = EMPTY  # [hole] the opponent's
    root_value: F32 = EMPTY  # [hole] OUT: the walker's


class WalkBuffers(NamedTuple):
    """The memory of one thread. Rows of a street start at its base; each is the board's list, padded to whole tiles."""

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
    decoded: F32  # [action, hole] rows of a 16-bit table, decoded
    board: I32  # [street] the board being walked
    cursor: I32  # [street] the next board below it


@inlined
def padded(size: Int) -> Int:
    """The length of a row in the buffers: whole tiles of sixteen."""
    return (size + LANES - 1) // LANES * LANES


@view
def row_of(flat: F32, base: Int, row: Int, length: Int) -> F32:
    """One row of a buffer or table."""
    start = base + row * length
    return flat[start : start + length]


@view
def rows_of(flat: F32, base: Int, row: Int, count: Int, length: Int) -> F32:
    """Neighbouring rows, [row, hole]."""
    start = base + row * length
    return flat[start : start + count * length].reshape((count, length))
