"""Results as notebooks show them: small HTML tables. Every text is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Protocol

MOST_ROWS = 60
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
    keys = list(rows[0]) if rows else []
    lines = [_row("th", keys), *(_row("td", [row[key] for key in keys]) for row in rows[:most])]
    if len(rows) > most:
        lines.append(f'<tr><td colspan="{len(keys)}">and {len(rows) - most:,} more rows</td></tr>')
    return f'<div>{escape(caption)}</div><table style="border-collapse:collapse">{"".join(lines)}</table>'


def _row(kind: str, values: Sequence[Any]) -> str:
    cells = (f'<{kind} style="{_CELL};text-align:{_side(value)}">{_text(value)}</{kind}>' for value in values)
    return f"<tr>{''.join(cells)}</tr>"


def _side(value: Any) -> str:
    return "right" if isinstance(value, int | float) else "left"


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "-"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else escape(str(value))
