"""The interface of solvers: iterations that fill tables of regrets and average strategies by node and bucket.

Tables are flat, laid out by `tree/infosets.SlotLayout`: [node][bucket, action]. A solver can stop after any iteration
and resume from its tables and its `state`. With one thread, the resumed run is bit-identical to an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from equipoise.core.array_checks import check_like, check_range
from equipoise.core.errors import InputError
from equipoise.core.jit import F32
from equipoise.tree.infosets import SlotLayout

StrategyName = Literal["average", "current"]
AVERAGE: StrategyName = "average"
CURRENT: StrategyName = "current"


class Solver(Protocol):
    """A sampling solver over a betting tree and a BucketMap."""

    layout: SlotLayout

    @property
    def regret(self) -> F32:
        """[slot] the current strategy is in proportion to its positive part."""

    @property
    def average(self) -> F32:
        """[slot] the average strategy is in proportion to it; empty if none is kept."""

    @property
    def iteration(self) -> int:
        """The number of iterations done."""

    @property
    def nodes(self) -> int:
        """The number of nodes visited."""

    def run(self, iterations: int) -> None:
        """Do some more iterations."""

    def state(self) -> dict[str, Any]:
        """The arrays beyond the tables that a resumed run needs: random generators, positions in board cycles."""

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Resume a run whose tables have been restored."""


def check_tables(arrays: Mapping[str, Any], like: Mapping[str, F32]) -> dict[str, F32]:
    """The tables of some names from a file, as these are: finite, and averages not negative."""
    found: dict[str, F32] = check_like(arrays, like)
    for name, table in found.items():
        if name.startswith(AVERAGE):
            check_range(table, name, 0)
    return found


def table_of(solver: Solver, strategy: StrategyName) -> F32:
    """The table of one of a solver's strategies; an error if it is not kept."""
    if strategy == AVERAGE and not solver.average.size:
        raise InputError("no average strategy is kept", remedy='ask for the current one, or keep = "both"')
    return solver.regret if strategy == CURRENT else solver.average
