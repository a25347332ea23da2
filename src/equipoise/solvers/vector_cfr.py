"""Counterfactual regret minimisation on the vector engine, with alternating updates.

In iteration t player 0 is walked first, then player 1, who already faces player 0's new strategy. A walk adds to the
walker's regrets, and to the average of the opponent, whose reach it carries: so player 1's average has the strategies
of iterations 1, 2, ... t, and player 0's those of 2, 3, ... t + 1 (its uniform start is left out).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.core.errors import InputError
from equipoise.core.jit import F32, F64, I64, kernel, view
from equipoise.solvers.schedule import schedule
from equipoise.tree.boards import Boards
from equipoise.walk.betting_program import Program
from equipoise.walk.engine import Engine
from equipoise.walk.plan import UPDATE, Plan, Step, Tables, Workspace
from equipoise.walk.table_storage import phase
from equipoise.walk.walk import walk

QUIET_ITERATIONS = 1000  # at most, in one call of the compiled loop


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

    def __post_init__(self) -> None:
        self._weights = schedule(self.variant)
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
        """Do some more iterations."""
        engine = self.engine
        tables = engine.tables(self.current, self.regret, self.average, self.scale)
        alone = not engine.in_threads
        done = 0
        while done < iterations:
            count = min(QUIET_ITERATIONS, iterations - done) if alone else 1
            coming = range(self.iteration + 1, self.iteration + count + 1)
            weights = np.array([(*self._weights(t), phase(t)) for t in coming])
            if alone:
                self._run_alone(tables, weights)
            else:
                for walker in range(2):
                    engine.walk(self._step(walker, weights[0]), tables)
            self.iteration += count
            done += count
            if self.on_iteration:
                self.on_iteration(self.iteration)

    def _run_alone(self, tables: Tables, weights: F64) -> None:
        plans = [self.engine.plan(self._step(walker, weights[0]), tables) for walker in range(2)]
        run_iterations(weights, plans[0], plans[1], self.engine.workspaces[0])

    def _step(self, walker: int, weights: F64) -> Step:
        return Step(walker, UPDATE, True, self.predicted is not None, *(np.float32(weight) for weight in weights))

    def fill_gaps(self) -> None:
        """Where a player never comes by its own play, the average says nothing: put the current strategy there.

        It changes no value of the average strategy; but what a hand could have got by another action is then worth what
        sensible play makes of it.
        """
        engine = self.engine
        fill_unreached(engine.program.arrays, engine.cards.arrays, engine.table_first, self.current, self.average)

    def exploitability(self) -> float:
        """The average of both players' best-response values against the average strategy, in chips a hand."""
        return self.engine.exploitability(self.engine.tables(self.average))


@kernel
def run_iterations(weights: F64, first: Plan, second: Plan, work: Workspace) -> None:
    """Iterations of both walkers in one thread. IN: float64[iteration, 4], the last numbers of a step."""
    for i in range(weights.shape[0]):
        walk(_with_weights(first, weights[i]), work)
        walk(_with_weights(second, weights[i]), work)


@view
def _with_weights(plan: Plan, weights: F64) -> Plan:
    old = plan.step
    positive, negative = np.float32(weights[0]), np.float32(weights[1])
    keep, threshold = np.float32(weights[2]), np.float32(weights[3])
    step = Step(old.walker, old.mode, old.averaging, old.predictive, positive, negative, keep, threshold)
    return Plan(
        plan.program, plan.boards, plan.runouts, plan.tables, step, plan.weights, plan.two_cards, plan.root_reach,
        plan.root_value,
    )  # fmt: skip


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
