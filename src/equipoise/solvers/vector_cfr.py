"""Counterfactual regret minimisation on the vector engine, with alternating updates.

In iteration t player 0 is walked first, then player 1, who already faces player 0's new strategy. A walk adds to the
walker's regrets, and to the average of the opponent, whose reach it carries: so player 1's average has the strategies
of iterations 1, 2, ... t, and player 0's those of 2, 3, ... t + 1 (its uniform start is left out).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from equipoise.core.errors import InputError
from equipoise.core.jit import F32, F64, I64, kernel, view
from equipoise.solvers.schedule import schedule
from equipoise.tree.boards import Boards
from equipoise.walk.betting_program import Program
from equipoise.walk.engine import Engine
from equipoise.walk.plan import UPDATE, HoleRule, Plan, Tables, WalkBuffers
from equipoise.walk.table_storage import phase
from equipoise.walk.walk import WHOLE, walk_boards

QUIET_ITERATIONS = 1000  # at most, in one call of the compiled loop


class RootRule(Protocol):
    """A decision before the root: it changes the ranges that players bring to the root, walk by walk."""

    def before_walk(self, walker: int, ranges: tuple[F32, F32]) -> None:
        """Change the ranges in place. IN OUT: float[hole of the root's list] of each player."""

    def after_walk(self, walker: int, values: F32, discounts: F64) -> None:
        """See the walker's counterfactual values at the root: float[hole of the root's list]."""


@dataclass(eq=False)
class VectorCFR:
    """A solve in progress: tables of regret and average strategy on an engine."""

    engine: Engine
    variant: str = "practical"
    iteration: int = 0
    regret: Any = None
    average: Any = None
    predicted: Any = None  # the table that the predictive variant plays by
    scale: Any = None  # of 16-bit tables
    on_iteration: Callable[[int], None] | None = field(default=None, repr=False)
    root: RootRule | None = None

    def __post_init__(self) -> None:
        self._discounts = schedule(self.variant)
        if self.variant == "predictive" and self.engine.stored == np.int16:
            raise InputError("the predictive variant has no 16-bit tables", remedy="use float32, or another variant")
        self.scale = self.engine.unit_scales() if self.scale is None else self.scale
        self.regret = self.engine.zeros() if self.regret is None else self.regret
        self.average = self.engine.zeros() if self.average is None else self.average
        if self.variant == "predictive" and self.predicted is None:
            self.predicted = self.engine.zeros()

    @property
    def current(self) -> Any:
        """The table whose positive parts are the current strategy."""
        return self.regret if self.predicted is None else self.predicted

    def run(self, iterations: int) -> None:
        """Run more iterations."""
        engine = self.engine
        tables = engine.tables(self.current, self.regret, self.average, self.scale)
        alone = not engine.in_threads and self.root is None
        plans = engine.plan(0), engine.plan(1)
        done = 0
        while done < iterations:
            count = min(QUIET_ITERATIONS, iterations - done) if alone else 1
            coming = range(self.iteration + 1, self.iteration + count + 1)
            factors = np.array([(*self._discounts(t), phase(t)) for t in coming])
            rule = self._rule(tables, factors[0])
            if alone:
                run_iterations(factors, plans[0], plans[1].root_reach, plans[1].root_value, rule, engine.buffers[0])
            else:
                for plan in plans:
                    self._walk(plan, rule, factors[0])
            self.iteration += count
            done += count
            if self.on_iteration:
                self.on_iteration(self.iteration)

    def _walk(self, plan: Plan, rule: HoleRule, discounts: F64) -> None:
        if self.root:
            self.root.before_walk(plan.walker, self.engine.root_reach)
        self.engine.run_walk(plan, [rule] * max(1, self.engine.threads), 8 * self.engine.threads)
        if self.root:
            self.root.after_walk(plan.walker, plan.root_value, discounts)

    def _rule(self, tables: Tables, factors: F64) -> HoleRule:
        return HoleRule(tables, UPDATE, True, self.predicted is not None, *(np.float32(factor) for factor in factors))

    def fill_gaps(self) -> None:
        """Put the current strategy where the average is zero because the player never gets there by its own play.

        This changes no value of the average strategy, but gives sensible values to the actions that it does not take.
        """
        engine = self.engine
        fill_unreached(engine.program.arrays, engine.cards.arrays, engine.table_first, self.current, self.average)

    def exploitability(self) -> float:
        """The average of both players' best-response values against the average strategy, in chips a hand."""
        return self.engine.exploitability(self.engine.tables(self.average))


@kernel
def run_iterations(
    factors: F64, first: Plan, second_reach: F32, second_value: F32, rule: HoleRule, work: WalkBuffers
) -> None:
    """Iterations of both walkers in one thread. IN: float64[iteration, 4], the last numbers of a rule.

    IN, OUT: of the second walker's plan, the two rows at the root; the rest is the first's.
    """
    for i in range(factors.shape[0]):
        changed = _with_factors(rule, factors[i])
        walk_boards(0, 1, WHOLE, first, changed, work, work)
        second = Plan(
            first.program, first.boards, 1, first.two_cards, first.runouts, first.weights, second_reach, second_value
        )
        walk_boards(0, 1, WHOLE, second, changed, work, work)


@view
def _with_factors(rule: HoleRule, factors: F64) -> HoleRule:
    positive, negative = np.float32(factors[0]), np.float32(factors[1])
    keep, threshold = np.float32(factors[2]), np.float32(factors[3])
    return HoleRule(rule.tables, rule.mode, rule.averaging, rule.predictive, positive, negative, keep, threshold)


@kernel
def fill_unreached(program: Program, boards: Boards, first: I64, current: F32, average: F32) -> None:
    """Copy positive regrets where the average is zero. IN: int64[board, player], flat table; IN OUT: flat table."""
    for board in range(boards.street.size):
        street = boards.street[board]
        start, stop = program.street_groups[street], program.street_groups[street + 1]
        for place in range(program.group_first[start], program.group_first[stop]):
            if program.table_row[place] < 0:
                continue
            player = program.player[place]
            size = np.int64(boards.counts[board, player])
            block = first[board, player] + program.table_row[place] * size
            for hole in range(block, block + size):
                end = hole + program.num_children[place] * size
                total = current.dtype.type(0)
                for slot in range(hole, end, size):
                    total += average[slot]
                if total == 0:
                    for slot in range(hole, end, size):
                        average[slot] = max(current[slot], current.dtype.type(0))
