"""The average or current strategy of a run, from its newest checkpoint; the run may still be training."""

from __future__ import annotations

from pathlib import Path

from equipoise.core.errors import InputError, shown
from equipoise.core.files.array_file import load_arrays
from equipoise.core.files.text import is_folder
from equipoise.core.visible_text import shell_word
from equipoise.runs.folder import CUT, FORMAT, RunFolder
from equipoise.runs.recipe import RECIPE_FILE, load_recipe
from equipoise.solvers.solver import AVERAGE, CURRENT
from equipoise.strategy.file import StrategyFile, load_strategy
from equipoise.strategy.shipped import find_stored
from equipoise.strategy.tables import probabilities

TABLES: dict[str, str] = {AVERAGE: "average", CURRENT: "regret"}  # arrays of a checkpoint


def run_strategy(path: str | Path, strategy: str, *, copied: bool = False) -> StrategyFile:
    """The average or current strategy of a run folder, or a file of that strategy, or a shipped agent's by its name.

    `copied` is as in `load_strategy`; a strategy from a checkpoint is always in memory.
    """
    if strategy not in TABLES:
        raise InputError(f"no strategy {shown(strategy)}", remedy=f"use {' or '.join(TABLES)}")
    path = find_stored(path)
    if is_folder(path):
        return _of_checkpoint(RunFolder(path), strategy)
    found = load_strategy(path, copied=copied)
    if found.strategy != strategy:
        raise InputError(f"this is the {found.strategy} strategy", where=str(path), remedy="name the run's folder")
    return found


def _of_checkpoint(folder: RunFolder, strategy: str) -> StrategyFile:
    """From the newest intact checkpoint. Damaged ones are not renamed: the run may be training."""
    if not folder.is_run:
        raise InputError(f"{shown(str(folder.path))} is no run", remedy="name the folder of a training")
    recipe = load_recipe(folder.path / RECIPE_FILE)
    if recipe.deep:
        raise InputError(
            "a run of networks writes its strategy when it stops",
            where=str(folder.path),
            remedy="name the run without ?strategy",
        )
    game = recipe.game
    for path in reversed(folder.listed()):
        try:
            header, arrays = load_arrays(path, FORMAT, remedy="")
        except InputError:
            continue
        if CUT in arrays:
            raise InputError(
                "a run in parts has its tables elsewhere",
                where=str(folder.path),
                remedy="name the run without ?strategy; it writes its strategy when it stops",
            )
        table = arrays[TABLES[strategy]]
        if header["fingerprint"] != recipe.fingerprint or len(table) not in (0, game.layout.slots):
            raise InputError("a checkpoint of another recipe", where=str(path), remedy="train again")
        if not len(table):
            raise InputError("the run keeps no average strategy", where=str(folder.path), remedy="ask for the current")
        about = {
            "strategy": strategy, "iterations": header["iteration"], "seconds": header["seconds"],
            "nodes": header["nodes"],
        }  # fmt: skip
        return StrategyFile(game, probabilities(game.layout, table, out=table), path, about)
    raise InputError(
        f"no whole checkpoint in {shown(str(folder.path))}",
        remedy=f"wait for the first, or continue it: equipoise train --resume {shell_word(str(folder.path))}",
    )
