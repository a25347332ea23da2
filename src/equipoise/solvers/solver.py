"""What a run drives: a solver that fills tables of regret and average strategy by node and bucket.

Tables are flat, laid out by `tree/infosets.SlotLayout`: [node][bucket, action]. A solver can be stopped after any
iteration and taken up again: its tables and what `state` gives are all it needs, and with one thread the resumed run
does bit for bit what the other would have done.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

from equipoise.core.errors import InputError
from equipoise.core.jit import F32
from equipoise.tree.infosets import SlotLayout

StrategyName = Literal["average", "current"]
AVERAGE: StrategyName = "average"
CURRENT: StrategyName = "current"


class Solver(Protocol):
    """A sampling solver over a betting tree and a BucketMap."""

    layout: SlotLayout
    regret: F32  # [slot] the current strategy is in proportion to what of it is positive
    average: F32  # [slot] what the average strategy is in proportion to; empty where none is kept
    iteration: int  # how many are done
    nodes: int  # how many nodes they have touched

    def run(self, iterations: int) -> None:
        """Do some more iterations."""

    def state(self) -> dict[str, Any]:
        """Beyond the tables: arrays (of random generators, of a cycle of boards) that a resumed run needs."""

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Take up a run whose tables have been put back."""


def table_of(solver: Solver, strategy: StrategyName) -> F32:
    """What one of a solver's strategies is in proportion to; refused if that is not kept."""
    if strategy == AVERAGE and not solver.average.size:
        raise InputError("no average strategy is kept", remedy='ask for the current one, or keep = "both"')
    return solver.regret if strategy == CURRENT else solver.average
