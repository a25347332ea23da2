"""All commands, as one application."""

from __future__ import annotations

from equipoise.cli import cards, match, records, solving, table
from equipoise.cli.app import app

__all__ = ["app", "cards", "match", "records", "solving", "table"]
