"""`recipes`: the shipped recipes and what each needs and reaches."""

from __future__ import annotations

from equipoise.cli.app import Json, app, examples, print_json
from equipoise.cli.render.train import print_recipes


@app.command(epilog=examples("equipoise recipes"))
def recipes(as_json: Json = False) -> None:
    """List the shipped recipes: what each needs and what it reached."""
    from equipoise.runs.recipe_list import shipped_recipes

    found = shipped_recipes()
    if as_json:
        print_json({"recipes": [recipe.as_json() for recipe in found]})
    else:
        print_recipes(found)
