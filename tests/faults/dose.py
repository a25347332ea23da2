"""How much of each fault is tried, with which seed, and how the counts are reported.

`make test` gives a quick dose, `make test-all` also the long one (tests marked `slow`). `EQUIPOISE_FAULT_DOSE=0.1`
scales both, `EQUIPOISE_FAULT_SEED=7` draws other faults, and `EQUIPOISE_FAULT_LOG=FILE` collects the summary line of
every test, which pytest otherwise shows with `-rP` only.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

MOST_SHOWN, MOST_CHARACTERS = 40, 400  # faults that a failing test lists, and of each


def doses(quick: int, long: int) -> pytest.MarkDecorator:
    """A test's argument `tries`: the quick dose, and the long one for `make test-all`."""
    scale = float(os.environ.get("EQUIPOISE_FAULT_DOSE", "1"))
    sizes = [max(1, round(scale * size)) for size in (quick, long)]
    return pytest.mark.parametrize(
        "tries", [pytest.param(sizes[0], id="quick"), pytest.param(sizes[1], id="long", marks=pytest.mark.slow)]
    )


def seeded(*what: object) -> Random:
    """A generator of its own for each kind of fault: a run with the same seed draws the same faults."""
    return Random(f"{os.environ.get('EQUIPOISE_FAULT_SEED', '1')} {what}")


class Tally:
    """The counts of one test: how each try ended, and the faults among them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    def add(self, outcome: str, *, fault: str = "") -> None:
        """Count a try; `fault` says what was tried and what happened, where that must not happen."""
        self.counts[outcome] += 1
        if fault:
            self.faults.append(f"{outcome}: {fault}")

    @property
    def tries(self) -> int:
        return sum(self.counts.values())

    def summary(self) -> str:
        """One line: `flips solution: 200 tries, 200 refused, 0 faults`."""
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(self.counts.items()))
        return f"{self.name}: {self.tries:,} tries, {counts}, {len(self.faults)} faults"

    def distinct(self) -> list[str]:
        """The first fault of each sort, with how many there are; names and numbers make no other sort."""
        sorts: dict[str, list[str]] = {}
        for fault in self.faults:
            sorts.setdefault(re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "#", fault)[:64], []).append(fault)
        return [f"{len(alike)}x {alike[0]}" for alike in sorts.values()]

    def check(self, needed: Sequence[str] = ()) -> None:
        """Report the counts; fail if there was a fault, or if an outcome that was needed never came."""
        line = self.summary()
        print(line)
        if log := os.environ.get("EQUIPOISE_FAULT_LOG"):
            with Path(log).open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        shown = "\n  ".join(fault[:MOST_CHARACTERS] for fault in self.distinct()[:MOST_SHOWN])
        assert not self.faults, f"{line}\n  {shown}"
        assert all(self.counts[outcome] for outcome in needed), f"{line}: not one was {' or '.join(needed)}"
