"""A head and the plans of its parts, and the solver that runs them in this process."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.errors import InputError
from equipoise.solvers.blades.head import BladesHead
from equipoise.solvers.blades.part import BladesPart, PartPlan
from equipoise.solvers.blades.table_split import TableSplit
from equipoise.solvers.external_sampling import PERIOD
from equipoise.solvers.schedule import Periods
from equipoise.solvers.split_solver import SplitSolver
from equipoise.tree.betting_tree import BettingTree

BATCH = 10_000  # hands of a step
GROWTH = 1000  # hands done for each hand of a step
MOST_BEGUN = 2  # steps under way


def blades_of(
    tree: BettingTree,
    buckets: BucketMap,
    parts: int,
    *,
    schedule: str = "linear",
    period: int = PERIOD,
    prune: float = 0.0,
    seed: int = 1,
    batch: int = BATCH,
    growth: int = GROWTH,
    most_begun: int = MOST_BEGUN,
    threads: int = 1,
) -> tuple[BladesHead, list[PartPlan]]:
    """A head, and the plan of each of its parts: `plan.build(tree, buckets)` makes the part, on any machine.

    Each part owns about as many clusters as any other, and has `threads` threads. A step has `batch` hands, at first
    1/`growth` of the hands before it. `most_begun` steps may be under way at the same time.
    """
    split = TableSplit(tree, buckets)
    if not 1 <= parts <= split.clusters:
        raise InputError(
            f"{parts} parts for {split.clusters} public clusters", remedy=f"use 1 to {split.clusters} parts"
        )
    periods = Periods(schedule, period)
    head = BladesHead(split, parts, periods=periods, batch=batch, growth=growth, most_begun=most_begun, seed=seed)
    shares = np.array_split(np.arange(split.clusters), parts)
    plans = [PartPlan(tuple(share.tolist()), schedule, period, prune, seed, threads) for share in shares]
    return head, plans


def blades_solver(tree: BettingTree, buckets: BucketMap, parts: int = 1, **settings: Any) -> SplitSolver:
    """A solver (`solver.py`) that runs a head and its parts in this process; settings as of `blades_of`."""
    head, plans = blades_of(tree, buckets, parts, **settings)
    return SplitSolver(head.split, head, [BladesPart(head.split, plan) for plan in plans])
