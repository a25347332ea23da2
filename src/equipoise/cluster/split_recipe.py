"""A recipe as a solver in parts: which methods have parts, how many, and how their tables make a strategy.

external   solvers/blades: the public clusters of the abstraction
pcs        solvers/disk_tasks: betting sequences of the first street x groups of public clusters; tables on disk
deep       traversals (deep_traversals.py)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.cluster.part_actor import MakePart
from equipoise.core.checked_model import CheckedModel, check_table
from equipoise.core.errors import InputError
from equipoise.core.jit import F32
from equipoise.core.machine import MOST_THREADS
from equipoise.runs.recipe import ClusterRecipe, Recipe
from equipoise.solvers.blades.build import blades_of
from equipoise.solvers.blades.part import BladesPart, PartPlan
from equipoise.solvers.disk_tasks.cards import Sampling
from equipoise.solvers.disk_tasks.cut import GameCut, deal_tasks
from equipoise.solvers.disk_tasks.head import DiskHead
from equipoise.solvers.disk_tasks.part import DiskPart, PartSpec
from equipoise.solvers.solver import AVERAGE, CURRENT, StrategyName
from equipoise.solvers.split import Head, Part
from equipoise.strategy.abstract_game import AbstractGame, GameText
from equipoise.tree.subtrees import first_deals

_TABLES: dict[StrategyName, str] = {AVERAGE: "average", CURRENT: "regret"}
TASKS = 4  # for each part, if the abstraction has enough public clusters: parts with few cannot share the work well
CUT_REMEDY = "train it again: its checkpoint was cut otherwise"
REMEDY = "install the same version of equipoise on all machines"


Ask: TypeAlias = Callable[[int, Callable[[Part], Any]], Any]  # a part's number and a question: its answer


class SplitRecipe(Protocol):
    """A recipe's head, and what makes its parts elsewhere."""

    makers: list[MakePart]
    plan: dict[str, Any]  # how the game is cut, beyond the number of parts

    @property
    def head(self) -> Head:
        """The top of the game."""

    def assemble(self, name: StrategyName, ask: Ask, whole: F32) -> None:
        """The table of a strategy, collected from the parts piece by piece. OUT: float32[slot]."""


def most_parts(recipe: Recipe) -> int:
    """The largest number of parts of a recipe; refused if its method has none."""
    if recipe.deep:
        return MOST_THREADS
    method, clusters = recipe.solver.method, public_clusters(recipe)
    if method not in ("external", "pcs"):
        raise InputError(f"method {method} has no parts", remedy="leave out --cluster, or use external, pcs or deep")
    if method == "external" and not clusters:
        raise InputError(
            "method external has a part for each public cluster, and the cards have none",
            remedy="write e.g. public = { clusters = 8 } in [cards], or use pcs",
        )
    deals = len(first_deals(recipe.game.tree))
    if not deals:
        raise InputError(f"{recipe.game.rules.name} has one street and no parts", remedy="leave out --cluster")
    return clusters if method == "external" else deals * max(1, clusters)


def check_parts(recipe: Recipe, parts: int | None) -> int:
    """Refuse more parts than there are; returns the largest number."""
    most = most_parts(recipe)
    if parts is not None and not 1 <= parts <= most:
        raise InputError(f"{parts} parts of {recipe.name}", remedy=f"use 1 to {most}")
    return most


def split_recipe(
    recipe: Recipe, buckets: BucketMap, *, parts: int, threads: int, folder: Path, plan: Mapping[str, Any] | None
) -> SplitRecipe:
    """Cut a recipe into parts; `plan` is that of the run to resume."""
    if recipe.solver.method == "external":
        return BladesSplit(recipe, buckets, parts, threads, plan)
    return DiskSplit(recipe, buckets, parts, threads, folder, plan)


def public_clusters(recipe: Recipe) -> int:
    """Clusters of the boards of the second street; others cut no tables."""
    cards, rules = recipe.game.cards, recipe.game.rules
    return cards.public.clusters if cards.public and cards.public_street(rules) == 1 else 0


class BladesSplit:
    """External sampling on blades."""

    def __init__(
        self, recipe: Recipe, buckets: BucketMap, parts: int, threads: int, plan: Mapping[str, Any] | None
    ) -> None:
        known = check_table(ClusterRecipe, plan, "", CUT_REMEDY) if plan else recipe.cluster
        self.plan: dict[str, Any] = known.model_dump()
        settings = {**recipe.solver.settings(), **self.plan}
        self.head, plans = blades_of(recipe.game.tree, buckets, parts, threads=threads, **settings)
        text = recipe.game.text()
        self.makers: list[MakePart] = [partial(make_blade, text, plan) for plan in plans]

    def assemble(self, name: StrategyName, ask: Ask, whole: F32) -> None:
        """The table of a strategy. OUT: float32[slot]."""
        question = partial(blade_tables, _TABLES[name])
        answers = (ask(part, question) for part in range(len(self.makers)))
        whole[:] = self.head.split.gather(_TABLES[name], self.head.arrays(), answers)


def make_blade(text: GameText, plan: PartPlan) -> BladesPart:
    """A blade, where it runs; its buckets are built there, or come from the cache there."""
    game = AbstractGame.of_text(text, "the head's game", REMEDY)
    return plan.build(game.tree, game.buckets())


def blade_tables(name: str, part: Part) -> dict[str, F32]:
    """The tables of a name of each cluster of a part."""
    return {key: table for key, table in part.arrays().items() if key.startswith(name)}


class _DiskPlan(CheckedModel):
    groups: int


class DiskSplit:
    """Public chance sampling in tasks."""

    def __init__(
        self, recipe: Recipe, buckets: BucketMap, parts: int, threads: int, folder: Path,
        plan: Mapping[str, Any] | None,
    ) -> None:  # fmt: skip
        tree = recipe.game.tree
        groups = check_table(_DiskPlan, plan, "", CUT_REMEDY).groups if plan else _groups(recipe, parts)
        self.plan: dict[str, Any] = {"groups": groups}
        self.cut = GameCut(tree, buckets, groups)
        dealt, sampling = deal_tasks(self.cut, parts), Sampling(**recipe.solver.settings())
        self.head = DiskHead(self.cut, dealt, sampling)
        text = recipe.game.text()
        specs = [PartSpec(tasks, sampling, groups, str(folder), threads) for tasks in dealt]
        self.makers: list[MakePart] = [partial(make_disk_part, text, spec) for spec in specs]

    def assemble(self, name: StrategyName, ask: Ask, whole: F32) -> None:
        """The table of a strategy. OUT: float32[slot]."""
        which = int(name == AVERAGE)
        tables = (
            (task, ask(part, partial(disk_table, which, index)))
            for part, tasks in enumerate(self.head.parts)
            for index, task in enumerate(tasks)
        )
        self.cut.assemble(self.head.average if which else self.head.regret, tables, whole)


def _groups(recipe: Recipe, parts: int) -> int:
    """Groups of public clusters, so that every part has some tasks."""
    wanted = -(-TASKS * parts // len(first_deals(recipe.game.tree)))
    return max(1, min(wanted, public_clusters(recipe)))


def make_disk_part(text: GameText, spec: PartSpec) -> DiskPart:
    """A part of the disk tasks, where it runs; its buckets are built there, or come from the cache there."""
    game = AbstractGame.of_text(text, "the head's game", REMEDY)
    return DiskPart(game.tree, game.buckets(), spec)


def disk_table(which: int, index: int, part: Part) -> F32:
    """The regrets (0) or averages (1) of one task of a part."""
    assert isinstance(part, DiskPart)
    return part.read_table(index, which)
