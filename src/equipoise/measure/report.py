"""Reports as three files with one stem: .json (summary and rows), .csv (rows), .png (plot)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from equipoise.core.files.csv_file import write_csv
from equipoise.core.files.strict_json import json_text
from equipoise.core.files.writing import write_whole


def write_report(
    stem: Path, summary: dict[str, Any], rows: list[dict[str, Any]], draw: Callable[[Any, list[dict[str, Any]]], None]
) -> None:
    """Write the three files; `draw` fills the axes of the plot."""
    write_whole(_named(stem, ".json"), lambda path: _write_json(path, {**summary, "rows": rows}))
    write_whole(_named(stem, ".csv"), lambda path: write_csv(path, rows))
    write_whole(_named(stem, ".png"), lambda path: _write_png(path, rows, draw))


def plain_log(axes: Any, which: str) -> None:
    """Make the x or y axis logarithmic, with plain numbers at 1, 2, 3, 5, 7, 10, ..."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set(**{f"{which}scale": "log"})
    axis = getattr(axes, f"{which}axis")
    axis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
    axis.set_major_formatter(lambda value, _place: f"{value:,.6g}")
    axis.set_minor_formatter(NullFormatter())


def _named(stem: Path, suffix: str) -> Path:
    return stem.parent / (stem.name + suffix)


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json_text(value, indent=1) + "\n")


def _write_png(path: Path, rows: list[dict[str, Any]], draw: Callable[[Any, list[dict[str, Any]]], None]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from equipoise.core.pictures import plain_texts, save_figure

    with plain_texts():
        figure, axes = plt.subplots(figsize=(7, 4.5), dpi=110)
        draw(axes, rows)
        figure.tight_layout()
        save_figure(figure, path)
