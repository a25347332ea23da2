"""The shipped recipes as a list: what each trains, what it costs and what it reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.runs.cost import Cost, cost_of
from equipoise.runs.recipe import load_table, read_recipe, recipe_names


@dataclass(frozen=True)
class ShippedRecipe:
    """A shipped recipe. `minutes` are those of training, without building the buckets."""

    name: str
    game: str
    method: str
    minutes: float | None
    cost: Cost
    reaches: str  # as measured, in words; empty where nothing was

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        costs = {f"cost_{key}": value for key, value in self.cost.as_json().items()}
        about = {"name": self.name, "game": self.game, "method": self.method, "minutes": self.minutes}
        return {**about, "reaches": self.reaches or None, **costs}


def shipped_recipes() -> list[ShippedRecipe]:
    """All shipped recipes. Their betting trees are built to know the cost; nothing is trained."""
    found = []
    for name in recipe_names():
        _, where, table = load_table(name)
        recipe = read_recipe(table, name=name, where=where)
        cost = cost_of(recipe, recipe.game.tree)
        about = (name, recipe.game.rules.name, recipe.solver.method, recipe.stop.minutes)
        found.append(ShippedRecipe(*about, cost, table.get("reaches", "")))
    return found
