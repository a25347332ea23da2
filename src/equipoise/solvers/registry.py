"""The solver registry: the class of each method, imported when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.solvers.solver import Solver
from equipoise.tree.betting_tree import BettingTree

SOLVERS = {
    "external": ("external_sampling", "External"),
    "pcs": ("public_chance", "PublicChance"),
    "cfr-br": ("cfr_br.full", "CFRBR"),
    "cfr-br with a trunk": ("cfr_br.hybrid", "HybridCFRBR"),
}


def make_solver(method: str, tree: BettingTree, buckets: BucketMap, *, threads: int, **settings: Any) -> Solver:
    """A new solver of a method, its tables zero; `settings` are keyword arguments of its class."""
    module, name = SOLVERS[f"{method} with a trunk" if settings.get("trunk") else method]
    found = getattr(import_module(f"equipoise.solvers.{module}"), name)
    solver: Solver = found(tree, buckets, threads=threads, **settings)
    return solver
