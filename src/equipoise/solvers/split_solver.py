"""A solver whose head and parts (`split.py`) run in this process, one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from equipoise.core.jit import F32
from equipoise.solvers.split import Head, Part
from equipoise.tree.infosets import SlotLayout

TABLES = ("regret", "average")


class WholeTables(Protocol):
    """How whole tables are made of the arrays of a head and its parts, and cut into them."""

    layout: SlotLayout

    def gather(self, name: str, head: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> F32:
        """The whole table of a name."""

    def scatter(self, name: str, table: F32, head: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> None:
        """Copy a whole table into the arrays."""


class SplitSolver:
    """A solver (`solver.py`). Its whole tables are gathered from the parts when they are asked for.

    It does whole steps, so `run` may do more iterations than it was asked for.
    """

    def __init__(self, tables: WholeTables, head: Head, parts: Sequence[Part]) -> None:
        self.tables, self.head, self.parts = tables, head, parts
        self.layout = tables.layout
        self._whole: dict[str, F32] = {}  # the tables gathered since the last step

    @property
    def iteration(self) -> int:
        return self.head.iteration

    @property
    def nodes(self) -> int:
        return self.head.nodes

    @property
    def regret(self) -> F32:
        """[slot] a copy; `restore` copies it back into the parts."""
        return self._gathered("regret")

    @property
    def average(self) -> F32:
        """[slot] a copy; `restore` copies it back into the parts."""
        return self._gathered("average")

    def _gathered(self, name: str) -> F32:
        if name not in self._whole:
            self._whole[name] = self.tables.gather(name, self.head.arrays(), [part.arrays() for part in self.parts])
        return self._whole[name]

    def run(self, iterations: int) -> None:
        """Do steps until at least as many more iterations are done."""
        self._whole.clear()
        until = self.iteration + iterations
        while self.iteration < until:
            messages = self.head.begin()
            self.head.finish([part.work(message) for part, message in zip(self.parts, messages, strict=True)])

    def state(self) -> dict[str, Any]:
        """The arrays of the head beyond its tables."""
        return {name: array for name, array in self.head.arrays().items() if name not in TABLES}

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Resume a run whose tables have been restored."""
        head, parts = self.head.arrays(), [part.arrays() for part in self.parts]
        for name in TABLES:
            self.tables.scatter(name, self._gathered(name), head, parts)
        self.head.restore(iteration, nodes, {**head, **state})
