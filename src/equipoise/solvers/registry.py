"""The one place where a recipe's method becomes a solver."""

from __future__ import annotations

from importlib import import_module

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.errors import InputError
from equipoise.runs.recipe import Recipe
from equipoise.solvers.solver import Solver
from equipoise.tree.betting_tree import PublicTree

HOMES = {
    "external": ("external_sampling", "External"),
    "pcs": ("public_chance", "PublicChance"),
    "cfr-br": ("cfr_br.full", "CFRBR"),
    "cfr-br with a trunk": ("cfr_br.hybrid", "HybridCFRBR"),
}


def make_solver(recipe: Recipe, tree: PublicTree, buckets: BucketMap, threads: int) -> Solver:
    """The solver of a recipe, its tables zero."""
    trunk = " with a trunk" if recipe.solver.trunk else ""
    module, name = HOMES[recipe.solver.method + trunk]
    try:
        made = getattr(import_module(f"equipoise.solvers.{module}"), name)
    except ModuleNotFoundError:
        raise InputError(f"method {recipe.solver.method} is not built in here", remedy="use another method") from None
    solver: Solver = made(tree, buckets, threads=threads, **recipe.solver.settings())
    return solver
