"""Training progress: speed, average positive regret or the loss of networks, and measurements.

The average positive regret is the sum of all positive regrets, divided by the number of information sets with any
regret and by the number of iterations, in the units of the solver's table. It indicates progress; it is not a bound.
The loss is the weighted squared error of the advantage networks, whose targets are scaled to a mean square of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any, NamedTuple

from equipoise.core.jit import F32, kernel
from equipoise.solvers.solver import AVERAGE, CURRENT, Solver, StrategyName
from equipoise.strategy.tables import Blocks

# Those of tables, of networks, or of parts
OWN = ("regret", "visited", "loss", "samples", "part_loads", "message_share", "bytes_per_second")


class Measured(NamedTuple):
    """A measurement during a run, in mbb/g: exploitability, or a lower bound on it with half its 95% interval.

    The first three fields are for the average strategy, the others for the current one.
    """

    exploitability_mbb: float | None = None
    lbr_mbb: float | None = None
    lbr_ci95_mbb: float | None = None
    current_exploitability_mbb: float | None = None
    current_lbr_mbb: float | None = None
    current_lbr_ci95_mbb: float | None = None

    @classmethod
    def of(cls, found: Mapping[StrategyName, Measured]) -> Measured:
        """Combine the measurements of several strategies."""
        return cls(*found.get(AVERAGE, cls())[:3], *found.get(CURRENT, cls())[:3])

    @property
    def exploitability(self) -> float | None:
        """The value that can stop a run: of the average strategy, or of the current one if no average is kept."""
        return self.current_exploitability_mbb if self.exploitability_mbb is None else self.exploitability_mbb

    @property
    def text(self) -> str:
        """In words; empty if nothing was measured."""
        average, current = _text(*self[:3]), _text(*self[3:])
        if average and current:
            return f"{average}, current {_text(*self[3:], short=True)}"
        return average or (f"current strategy: {current}" if current else "")


def _text(exploitability: float | None, bound: float | None, ci95: float | None, *, short: bool = False) -> str:
    if exploitability is not None:
        return f"{exploitability:.2f}" if short else f"exploitability {exploitability:.2f} mbb/g"
    if bound is not None:
        return f"{bound:.0f} ± {ci95:.0f}" if short else f"LBR lower bound {bound:.0f} ± {ci95:.0f} mbb/hand"
    return ""


@dataclass(frozen=True)
class TrainingProgress:
    """A run at one moment. Seconds count training only; rates are since the previous report."""

    iteration: int
    seconds: float
    nodes: int
    iterations_per_second: float
    nodes_per_second: float
    regret: float | None = None
    visited: float | None = None  # share of information sets with a nonzero regret
    exploitability_mbb: float | None = None
    seconds_left: float | None = None  # until the limit on minutes or iterations
    checkpoint_age: float | None = None  # seconds since this process wrote or loaded a checkpoint
    lbr_mbb: float | None = None
    lbr_ci95_mbb: float | None = None
    current_exploitability_mbb: float | None = None
    current_lbr_mbb: float | None = None
    current_lbr_ci95_mbb: float | None = None
    loss: float | None = None  # of the networks, in the last iteration
    samples: int | None = None  # in the memories that they are trained on
    part_loads: list[float] | None = None  # of a run on a cluster: the share of the time that each part worked
    message_share: float | None = None  # of the time
    bytes_per_second: float | None = None  # of messages, both ways

    def checked(self) -> TrainingProgress:
        """Itself, if every value is a finite number (or None where that is allowed); else a ValueError."""
        for about in fields(self):
            value = getattr(self, about.name)
            if value is None and about.default is None:
                continue
            for number in value if about.name == "part_loads" else (value,):
                if isinstance(number, bool) or not isinstance(number, int | float) or not isfinite(number):
                    raise ValueError(about.name)
        return self

    @property
    def measured(self) -> Measured:
        """The latest measurement."""
        return Measured(*(getattr(self, key) for key in Measured._fields))

    @property
    def measured_text(self) -> str:
        """The latest measurement in words; empty if there is none."""
        return self.measured.text

    def as_json(self) -> dict[str, Any]:
        """Plain values, for a line of metrics: either those of tables, or those of networks."""
        return {key: value for key, value in asdict(self).items() if value is not None or key not in OWN}


def average_regret(solver: Solver, blocks: Blocks) -> tuple[float, float]:
    """Average positive regret, and the share of information sets visited."""
    total, visited = positive_regret(blocks, solver.regret)
    average = total / max(visited, 1) / max(solver.iteration, 1)
    return float(average), visited / max(solver.layout.infosets, 1)


@kernel
def positive_regret(blocks: Blocks, regret: F32) -> tuple[float, int]:
    """Sum of positive regrets, and number of information sets with a nonzero regret. IN: float32[slot]."""
    total = 0.0
    visited = 0
    at = 0
    for group in range(blocks.buckets.size):
        for _ in range(blocks.buckets[group]):
            for actions in blocks.actions[blocks.first[group] : blocks.first[group + 1]]:
                some = False
                for value in regret[at : at + actions]:
                    some |= value != 0
                    total += max(value, 0.0)
                visited += some
                at += actions
    return total, visited
