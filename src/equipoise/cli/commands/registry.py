"""All commands, as one application."""

from __future__ import annotations

from equipoise.cli.app import app
from equipoise.cli.commands import cards, match, records, solving, spot, table

__all__ = ["app", "cards", "match", "records", "solving", "spot", "table"]
