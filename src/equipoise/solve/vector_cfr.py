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

from equipoise._jit import F64, kernel, view
from equipoise.solve.engine import Engine
from equipoise.solve.schedule import schedule
from equipoise.solve.walk import UPDATE, Plan, Step, Tables, Workspace, walk

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
    on_iteration: Callable[[int], None] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._weights = schedule(self.variant)
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
        tables = engine.tables(self.current, self.regret, self.average)
        alone = not engine.in_threads
        done = 0
        while done < iterations:
            count = min(QUIET_ITERATIONS, iterations - done) if alone else 1
            weights = np.array([self._weights(self.iteration + i + 1) for i in range(count)])
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
        positive, negative, keep = (np.float32(weight) for weight in weights)
        return Step(walker, UPDATE, True, self.predicted is not None, positive, negative, keep)

    def exploitability(self) -> float:
        """The average of both players' best-response values against the average strategy, in chips a hand."""
        first, second = self.engine.best_responses(self.engine.tables(self.average))
        return (first + second) / 2


@kernel
def run_iterations(weights: F64, first: Plan, second: Plan, work: Workspace) -> None:
    """Iterations of both walkers in one thread. IN: float64[iteration, 3]."""
    for i in range(weights.shape[0]):
        walk(_with_weights(first, weights[i]), work)
        walk(_with_weights(second, weights[i]), work)


@view
def _with_weights(plan: Plan, weights: F64) -> Plan:
    old = plan.step
    positive, negative, keep = np.float32(weights[0]), np.float32(weights[1]), np.float32(weights[2])
    step = Step(old.walker, old.mode, old.averaging, old.predictive, positive, negative, keep)
    return Plan(
        plan.program, plan.boards, plan.runouts, plan.tables, step, plan.weights, plan.two_cards, plan.root_reach,
        plan.root_value,
    )  # fmt: skip
