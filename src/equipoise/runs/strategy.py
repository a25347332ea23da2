"""The average or current strategy of a run, from its newest checkpoint; the run may still be training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from equipoise.core.array_checks import LARGEST, check_array, check_range
from equipoise.core.errors import InputError, shown
from equipoise.core.files.text import is_folder
from equipoise.core.jit import F32
from equipoise.core.visible_text import shell_word
from equipoise.runs.folder import CUT, RunFolder, load_checkpoint
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


def _checked(table: Any, strategy: str, slots: int, where: str) -> F32:
    """A table of a checkpoint, of finite numbers; averages are not negative."""
    try:
        check_array(table, TABLES[strategy], (slots,), np.float32)
        found: F32 = check_range(table, TABLES[strategy], 0 if strategy == AVERAGE else -LARGEST)
    except InputError as error:
        raise error.at(where) from None
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
            header, arrays = load_checkpoint(path, remedy="")
        except InputError:
            continue
        if CUT in arrays:
            raise InputError(
                "a run in parts has its tables elsewhere",
                where=str(folder.path),
                remedy="name the run without ?strategy; it writes its strategy when it stops",
            )
        if header.fingerprint != recipe.fingerprint:
            raise InputError("a checkpoint of another recipe", where=str(path), remedy="train again")
        if AVERAGE not in recipe.solver.strategies and strategy == AVERAGE:
            raise InputError("the run keeps no average strategy", where=str(folder.path), remedy="ask for the current")
        table = _checked(arrays.get(TABLES[strategy]), strategy, game.layout.slots, str(path))
        about = {
            "strategy": strategy, "iterations": header.iteration, "seconds": header.seconds, "nodes": header.nodes,
        }  # fmt: skip
        return StrategyFile(game, probabilities(game.layout, table, out=table), path, about)
    raise InputError(
        f"no whole checkpoint in {shown(str(folder.path))}",
        remedy=f"wait for the first, or continue it: equipoise train --resume {shell_word(str(folder.path))}",
    )
