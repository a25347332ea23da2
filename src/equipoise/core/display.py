"""Results as notebooks show them: small HTML tables. Every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import isfinite
from typing import Any, Protocol

MOST_ROWS = 60
TEXT = "font:13px sans-serif;margin:4px 0"  # of captions and legends
_CELL = "padding:2px 8px;border-bottom:1px solid #ddd"


class Rows(Protocol):
    """A result with a table."""

    def to_rows(self) -> list[dict[str, Any]]:
        """Flat dictionaries with the same keys, ready for `pandas.DataFrame`."""


def table_html(result: Rows) -> str:
    """A result's short text above its table: `_repr_html_ = table_html` in a class."""
    return rows_html(result.to_rows(), repr(result))


def rows_html(rows: Sequence[Mapping[str, Any]], caption: str = "", most: int = MOST_ROWS) -> str:
    """A table of rows; beyond `most`, their number."""
    columns = {key: [row[key] for row in rows[:most]] for key in (rows[0] if rows else ())}
    sides = [_side(values[0]) for values in columns.values()]
    lines = [_row("th", map(str, columns), sides)]
    lines += [_row("td", texts, sides) for texts in zip(*map(_texts, columns.values()), strict=True)]
    if len(rows) > most:
        lines.append(f'<tr><td colspan="{len(columns)}">and {len(rows) - most:,} more rows</td></tr>')
    table = f'<table style="border-collapse:collapse;font:13px sans-serif">{"".join(lines)}</table>'
    return caption_html(caption) + table


def caption_html(text: str) -> str:
    """A line above a table."""
    return f'<div style="{TEXT}">{escape(text)}</div>'


def _row(kind: str, texts: Iterable[str], sides: Sequence[str]) -> str:
    cells = (
        f'<{kind} style="{_CELL};text-align:{side}">{escape(text)}</{kind}>'
        for text, side in zip(texts, sides, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _side(value: Any) -> str:
    return "right" if isinstance(value, int | float) and not isinstance(value, bool) else "left"


def _texts(values: Sequence[Any]) -> list[str]:
    """The cells of a column: its numbers with as many decimals as the largest needs."""
    largest = max((abs(value) for value in values if isinstance(value, float) and isfinite(value)), default=0.0)
    decimals = 4 if largest < 1.5 else 2 if largest < 1000 else 1
    return [_text(value, decimals) for value in values]


def _text(value: Any, decimals: int) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "-"
    if isinstance(value, float):
        return f"{value:z,.{decimals}f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
