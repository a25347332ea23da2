"""CSV as we write it: one header, one line a row, and no text that a spreadsheet would run.

A cell that begins with `=`, `+`, `-` or `@` is a formula to a spreadsheet, whoever wrote it: the name of an agent can
send a table elsewhere. Such texts get an apostrophe before them, as spreadsheets mark text; numbers stay numbers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
    """Write rows, whose keys are the header (or `columns`, if there may be none). Missing numbers are empty cells."""
    names = list(columns or (rows[0] if rows else ()))
    with path.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file:  # bytes that are no UTF-8
        writer = csv.writer(file)
        writer.writerow(map(cell, names))
        writer.writerows([cell(row[name]) for name in names] for row in rows)


def cell(value: Any) -> Any:
    """A value as a cell that is never a formula.

    >>> cell("=1+1"), cell("-5"), cell(-5), cell("@me"), cell(float("nan"))
    ("'=1+1", '-5', -5, "'@me", '')
    """
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) and not _NUMBER.fullmatch(value) else value
    return "" if value != value else value
