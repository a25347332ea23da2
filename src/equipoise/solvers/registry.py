"""The one place where the name of a method becomes a solver."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.solvers.solver import Solver
from equipoise.tree.betting_tree import BettingTree

HOMES = {
    "external": ("external_sampling", "External"),
    "pcs": ("public_chance", "PublicChance"),
    "cfr-br": ("cfr_br.full", "CFRBR"),
    "cfr-br with a trunk": ("cfr_br.hybrid", "HybridCFRBR"),
}


def make_solver(method: str, tree: BettingTree, buckets: BucketMap, *, threads: int, **settings: Any) -> Solver:
    """The solver of a method, its tables zero; `settings` are keywords of its class."""
    module, name = HOMES[f"{method} with a trunk" if settings.get("trunk") else method]
    found = getattr(import_module(f"equipoise.solvers.{module}"), name)
    solver: Solver = found(tree, buckets, threads=threads, **settings)
    return solver
