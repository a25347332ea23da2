"""What `reproduce` prints for people."""

from __future__ import annotations

from typing import Any

from equipoise.cli.render.tables import Table, print_table, say


def print_rows(name: str, rows: list[dict[str, Any]], files: list[str]) -> None:
    """Published values beside ours, and where the details are."""
    table = Table(name, ["", "published", "ours"])
    for row in rows:
        table.add_row(row["name"], _number(row["published"]), _number(row["ours"]))
    print_table(table)
    say("written: " + ", ".join(files))


def _number(value: float | str | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.6g}" if isinstance(value, int | float) else value
