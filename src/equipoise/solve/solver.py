"""What a run drives: a solver that fills tables of regret and average strategy by node and bucket.

Tables are flat, laid out by `tree/infosets.SlotLayout`: [node][bucket, action]. A solver can be stopped after any
iteration and taken up again: its tables and what `state` gives are all it needs, and with one thread the resumed run
does bit for bit what the other would have done.
"""

from __future__ import annotations

from typing import Any, Protocol

from equipoise._jit import F32
from equipoise.tree.infosets import SlotLayout


class Solver(Protocol):
    """A sampling solver over a betting tree and a BucketMap."""

    layout: SlotLayout
    regret: F32  # [slot]
    average: F32  # [slot] what the average strategy is in proportion to
    iteration: int  # how many are done
    nodes: int  # how many nodes they have touched

    def run(self, iterations: int) -> None:
        """Do some more iterations."""

    def state(self) -> dict[str, Any]:
        """Beyond the tables: arrays (of random generators, of a cycle of boards) that a resumed run needs."""

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Take up a run whose tables have been put back."""
