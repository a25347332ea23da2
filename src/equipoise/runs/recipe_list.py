"""The shipped recipes as a list: what each trains and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.runs.cost import Cost, cost_of
from equipoise.runs.recipe import load_recipe, recipe_names


@dataclass(frozen=True)
class ShippedRecipe:
    """A shipped recipe. `minutes` are those of training, without building the buckets."""

    name: str
    game: str
    method: str
    minutes: float | None
    cost: Cost

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        costs = {f"cost_{key}": value for key, value in self.cost.as_json().items()}
        return {"name": self.name, "game": self.game, "method": self.method, "minutes": self.minutes, **costs}


def shipped_recipes() -> list[ShippedRecipe]:
    """All shipped recipes. Their betting trees are built to know the cost; nothing is trained."""
    found = []
    for name in recipe_names():
        recipe = load_recipe(name)
        cost = cost_of(recipe, recipe.game.tree)
        found.append(ShippedRecipe(name, recipe.game.rules.name, recipe.solver.method, recipe.stop.minutes, cost))
    return found
