"""What `recipes` and `train` print for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.render.tables import Table, print_table, say
from equipoise.core.visible_text import shell_word, visible
from equipoise.core.wording import counted, size_text

if TYPE_CHECKING:
    from equipoise.runs.recipe_list import ShippedRecipe
    from equipoise.training.loop import Run


MOST_DIGITS = 10**10  # numbers beyond this are rounded


def print_recipes(recipes: list[ShippedRecipe]) -> None:
    """The shipped recipes: what each makes, what it needs, and what it reached."""
    table = Table("", ["recipe", "game", "method", "minutes", "information sets", "memory"], left=3)
    for found in recipes:
        minutes = "-" if found.minutes is None else f"{found.minutes:,g}"
        count = found.cost.infosets
        needs = (f"{count:,}" if count < MOST_DIGITS else f"{count:.1e}", size_text(found.cost.memory_bytes))
        table.add_row(found.name, found.game, found.method, minutes, *needs)
    print_table(table)
    reached = Table("", ["recipe", "reached, as measured"], words=True)
    for found in recipes:
        reached.add_row(found.name, found.reaches or "not measured")
    print_table(reached)
    say("minutes are those of training; buckets are built once before it")
    say("train one with: equipoise train RECIPE --out RUN")


def print_run(run: Run) -> None:
    """How a training ended, and what to do next."""
    now = run.progress
    done = f"{counted(now.iteration, 'iteration')}, {counted(now.nodes, 'node')}"
    say(f"{done} in {now.seconds:.1f} s of training: {run.stopped}")
    if now.measured_text:
        say(now.measured_text)
    folder = shell_word(str(run.folder))
    print(f"saved in {visible(str(run.folder))}")
    if run.has_table:
        print(f"  show it:      equipoise strategy show {folder}")
    else:
        print(f"  play it:      equipoise play {folder}")
    where = " --cluster local" if now.part_loads and not run.recipe.deep else ""  # networks resume anywhere
    print(f"  train it on:  equipoise train --resume {folder}{where}{_more(run)}")


def _more(run: Run) -> str:
    """The option that lets a finished run continue: twice what it had."""
    if run.stopped == "iterations":
        return f" --iterations {2 * run.progress.iteration}"
    return "" if run.stopped == "interrupted" else f" --minutes {max(run.progress.seconds / 30, 0.1):.2g}"
