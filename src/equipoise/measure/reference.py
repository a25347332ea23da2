"""A strategy measured against a reference on the same flops: the difference is much more certain than the levels.

All 1,755 flops of limit hold'em take hours per strategy. On the same small sample, the interval of a difference is
several times narrower than that of either level (`flop_sample.py`). If a file has all flops of the reference, its
exact exploitability plus the difference gives the level, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from equipoise.agents.named import load_agent
from equipoise.core.errors import InputError
from equipoise.core.progress import Progress
from equipoise.games.rules import GameRules
from equipoise.measure.best_response import Exploitability, measurement_of


@dataclass(frozen=True)
class Referenced:
    """An estimate, and how much more exploitable that is than the reference; mbb/g, half 95% intervals."""

    found: Exploitability
    reference: str
    difference: tuple[float, float]
    exact: float | None  # exploitability of the reference, where all flops are known

    @property
    def level(self) -> tuple[float, float] | None:
        """Exploitability by way of the reference, and half its interval; None if only the difference is known."""
        return None if self.exact is None else (self.exact + self.difference[0], self.difference[1])

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`: the estimate, and the reference."""
        less, width = self.difference
        beside: dict[str, Any] = {"what": self.reference, "less_mbb": less, "ci95_mbb": width}
        if self.level:
            beside |= {"exact_mbb": self.exact, "level_mbb": self.level[0]}
        return {**self.found.as_json(), "reference": beside}


def measure_by_reference(
    what: str,
    reference: str,
    *,
    game: str | GameRules = "",
    menu: str | None = None,
    sample_flops: int,
    out: str | Path | None = None,
    reference_flops: str | Path | None = None,
    seed: int = 1,
    threads: int = 0,
    progress: Progress | None = None,
) -> Referenced:
    """Measure a run, a strategy file or a named agent and a reference on the same sample of flops.

    `reference_flops` is the file that a measurement of the reference kept (`out` of `exploitability`): flops that are
    in it are not walked again; others are added.
    """
    pairs = [(what, out), (reference, reference_flops)]
    agents = [load_agent(name, game, menu) for name, _ in pairs]
    (_, rules, own_menu), (_, other_rules, other_menu) = agents
    if (rules, own_menu) != (other_rules, other_menu):
        raise InputError(
            f"{reference} plays another game or other bets than {what}", remedy="name a reference of the same"
        )
    found = []
    for (name, file), (agent, *_) in zip(pairs, agents, strict=True):
        report = partial(progress, f"best response to {name}") if progress else None
        measurement = measurement_of(rules, agent, own_menu, threads)
        found.append(measurement.found(sample_flops, seed, out=file, progress=report))
    first, second = (each.sample for each in found)
    assert first and second
    exact = None
    if reference_flops is not None and measurement.has_all_flops(reference_flops):
        exact = measurement.found(out=reference_flops).exploitability
    return Referenced(found[0], reference, first.less(second), exact)
