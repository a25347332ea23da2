"""The solver registry: the class of each method, imported when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.errors import InputError, shown
from equipoise.solvers.solver import Solver
from equipoise.tree.betting_tree import BettingTree

SOLVERS = {
    "external": ("external_sampling", "External"),
    "pcs": ("public_chance", "PublicChance"),
    "cfr-br": ("cfr_br.full", "CFRBR"),
    "cfr-br with a trunk": ("cfr_br.hybrid", "HybridCFRBR"),
}


def make_solver(method: str, tree: BettingTree, buckets: BucketMap, *, threads: int, **settings: Any) -> Solver:
    """A new solver of a method (`external`, `pcs`, `cfr-br`), its tables zero; `settings` are those of a recipe.

    >>> from equipoise import build_abstraction, build_tree
    >>> solver = make_solver("cfr-br", build_tree("leduc"), build_abstraction({"game": "leduc"}), threads=1)
    >>> solver.run(10)
    >>> solver.iteration
    10
    """
    if method not in SOLVERS:
        methods = ", ".join(name for name in SOLVERS if " " not in name)
        raise InputError(f"no method {shown(method)}", remedy=f"there are {methods}")
    module, name = SOLVERS[f"{method} with a trunk" if settings.get("trunk") else method]
    found = getattr(import_module(f"equipoise.solvers.{module}"), name)
    solver: Solver = found(tree, buckets, threads=threads, **settings)
    return solver
