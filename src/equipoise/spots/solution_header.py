"""The header of a solution file, and what its tables must be: they may come from a stranger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import model_validator

from equipoise.core.array_checks import check_array, check_range
from equipoise.core.checked_model import Count, Seconds
from equipoise.core.errors import InputError
from equipoise.core.files.array_file import FileHeader
from equipoise.games.gamedef import read_gamedef
from equipoise.spots.problem import Problem
from equipoise.spots.spot import read_spot
from equipoise.walk.engine import Engine
from equipoise.walk.strategy_codes import CODES
from equipoise.walk.table_storage import STORAGES

Variant = Literal["cfr", "cfr+", "linear", "discounted", "practical", "steep", "predictive"]


class SolutionHeader(FileHeader):
    """A problem, and how far it was solved."""

    spot: str | None
    gamedef: str | None
    menu: dict[str, Any] | None
    iterations: Count
    seconds: Seconds
    cpu_seconds: Seconds
    history: tuple[tuple[Count, Seconds, float], ...]
    variant: Variant | None  # of a file that another solve can continue from
    storage: Literal["float32", "int16"]  # of the solve's tables

    @model_validator(mode="after")
    def _whole(self) -> SolutionHeader:
        if (self.spot is None) == (self.gamedef is None):
            raise ValueError("it needs a spot or a game")
        return self

    def problem(self, path: Path) -> Problem:
        """What was solved."""
        try:
            if self.spot is not None:
                return Problem.of_spot(replace(read_spot(self.spot, str(path)), name=path.stem))
            return Problem.of_game(read_gamedef(self.gamedef or ""), self.menu)
        except InputError as error:
            raise (error if error.where else error.at(str(path))) from None


def check_solution(header: SolutionHeader, arrays: Mapping[str, Any], engine: Engine) -> dict[str, Any]:
    """The tables of a file for an engine: the average and, to continue from, those of the solver."""
    average, solved = arrays.get("average", np.zeros(0)), np.dtype(STORAGES[header.storage])
    codes = [np.dtype(kind) for kind in CODES] if header.variant is None else []
    kind = average.dtype if average.dtype in codes else solved
    check_range(check_array(average, "average", (engine.slots,), kind), "average", 0)
    if header.variant is None:
        return {"average": average}
    tables = {"average": average, "regret": arrays.get("regret")}
    if header.variant == "predictive":
        tables["predicted"] = arrays.get("predicted")
    for name in list(tables)[1:]:
        check_range(check_array(tables[name], name, (engine.slots,), kind), name)
    if kind == np.int16:
        tables["scale"] = check_array(arrays.get("scale"), "scale", (engine.rows, 2), np.float32)
        check_range(tables["scale"], "scale", 0)
    return tables
