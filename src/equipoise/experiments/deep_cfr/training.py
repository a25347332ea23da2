"""What these experiments share: networks that train on Leduc hold'em, and their strategies as tables.

Imports torch, so experiments import it when they run. Leduc's big blind is its ante: mbb/g are milli-antes per game.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.table import TableAgent
from equipoise.core.jit import F32
from equipoise.deep.learner import DEEP_CFR, DeepCFR
from equipoise.measure.best_response import exploitability
from equipoise.runs.deep_recipe import DeepRecipe
from equipoise.tree.betting_tree import DECISION, build_tree
from equipoise.tree.infosets import SlotLayout

GAME = "leduc"


@cache
def _layout() -> tuple[SlotLayout, BucketMap]:
    """All hands of Leduc hold'em, in one table."""
    tree = build_tree(GAME)
    buckets = BucketMap.lossless(tree.rules)
    return SlotLayout(tree, buckets.buckets), buckets


def leduc_learner(settings: dict[str, Any], seed: int, algorithms: Sequence[str]) -> DeepCFR:
    """A solver of Leduc hold'em on one thread."""
    recipe = DeepRecipe.model_validate({"algorithm": algorithms[0], **settings})
    return DeepCFR(_layout()[0].tree, recipe, seed=seed, algorithms=algorithms)


def average_agent(learner: DeepCFR, algorithm: str) -> TableAgent:
    """The average strategy of the iterations so far, as a table; uniform before the first."""
    layout, buckets = _layout()
    chances = learner.mixture(algorithm).profile(layout) if learner.iteration else _uniform(layout)
    return TableAgent(f"{algorithm} {learner.iteration}", layout, chances, buckets)


def _uniform(layout: SlotLayout) -> F32:
    """[slot] the same probability for each action."""
    chances = np.zeros(layout.slots, np.float32)
    for node in np.flatnonzero(layout.tree.kind == DECISION).tolist():
        layout.at(chances, node)[:] = 1 / int(layout.tree.num_children[node])
    return chances


def checkpoints(
    settings: dict[str, Any], seed: int, iterations: Sequence[int], algorithm: str = DEEP_CFR
) -> Iterator[tuple[int, TableAgent]]:
    """Train, and yield the average strategy at some iterations."""
    learner = leduc_learner(settings, seed, (algorithm,))
    for iteration in iterations:
        learner.run(iteration - learner.iteration)
        yield iteration, average_agent(learner, algorithm)


def exploitability_mbb(agent: TableAgent) -> float:
    """Exact, in mbb/g: the mean of both seats."""
    return exploitability(agent.rules, agent, threads=1).exploitability
