"""What experiments with curves share: training in stretches, points at halved totals, stored results and plots."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import field_validator

from equipoise.core.errors import InputError
from equipoise.core.files.array_file import FileHeader, load_header, save_arrays
from equipoise.runs.folder import RunFolder
from equipoise.runs.recipe import Recipe
from equipoise.training.loop import Run, run_training

FORMAT = "equipoise result 1"


class ResultHeader(FileHeader):
    """A result that is kept."""

    found: dict[str, Any]

    @field_validator("found")
    @classmethod
    def _finite(cls, found: dict[str, Any]) -> dict[str, Any]:
        json.dumps(found, allow_nan=False)  # a ValueError otherwise
        return found


def halvings(points: int) -> list[float]:
    """Shares of a run, evenly spaced on a logarithmic axis: ..., 1/4, 1/2, 1."""
    return [0.5**left for left in reversed(range(points))]


def train_to(
    recipe: Recipe, folder: Path, minutes: float | None, iterations: int | None = None, threads: int = 0, **more: Any
) -> Run:
    """Train in a folder, or continue there, up to a total of minutes or iterations. Raises on Ctrl-C."""
    more |= {"resume": RunFolder(folder).is_run, "threads": threads or None}
    run = run_training(recipe, folder, minutes=minutes, iterations=iterations, **more)
    if run.stopped == "interrupted":
        raise KeyboardInterrupt
    return run


def remembered(path: Path, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result stored in a file; if there is no intact file, compute the result and store it."""
    with suppress(InputError):
        return load_header(path, FORMAT, ResultHeader, remedy="").found
    found = find()
    save_arrays(path, FORMAT, {"found": found}, {})
    return found


def by_curve(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each curve, in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["curve"], []).append(row)
    return found


def draw_intervals(axes: Any, rows: Sequence[dict[str, Any]], value: str, width: str, first_colour: int = 0) -> None:
    """Every curve against seconds of training, with error bars."""
    for number, (curve, mine) in enumerate(by_curve(rows).items(), first_colour):
        axes.errorbar(
            [row["seconds"] for row in mine], [row[value] for row in mine], [row[width] or 0.0 for row in mine],
            fmt="o-", capsize=3, color=f"C{number}", label=curve,
        )  # fmt: skip
    axes.legend(fontsize=8)


def side_by_side(ours: Mapping[str, float | None], published: Mapping[str, float | str]) -> list[dict[str, Any]]:
    """A row for each of our values, with the published one where there is one."""
    return [{"name": name, "published": published.get(name), "ours": value} for name, value in ours.items()]
