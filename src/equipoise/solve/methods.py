"""The one place where a recipe's method becomes a solver."""

from __future__ import annotations

from importlib import import_module

from equipoise._errors import InputError
from equipoise.abstraction.buckets import BucketMap
from equipoise.solve.recipe import Recipe
from equipoise.solve.solver import Solver
from equipoise.tree.public_tree import PublicTree

HOMES = {
    "external": ("external", "External"),
    "pcs": ("public_chance", "PublicChance"),
    "cfr-br": ("cfr_br", "CFRBR"),
    "cfr-br with a trunk": ("hybrid", "HybridCFRBR"),
}


def make_solver(recipe: Recipe, tree: PublicTree, buckets: BucketMap, threads: int) -> Solver:
    """The solver of a recipe, its tables zero."""
    trunk = " with a trunk" if recipe.solver.trunk else ""
    module, name = HOMES[recipe.solver.method + trunk]
    try:
        made = getattr(import_module(f"equipoise.solve.{module}"), name)
    except ModuleNotFoundError:
        raise InputError(f"method {recipe.solver.method} is not built in here", remedy="use another method") from None
    solver: Solver = made(tree, buckets, threads=threads, **recipe.solver.settings())
    return solver
