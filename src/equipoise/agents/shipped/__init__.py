"""Agents that come with the package, as packed files in this folder (`strategy/packed.py`)."""

from __future__ import annotations

from equipoise.core.files.shipped import Shelf
from equipoise.strategy.packed import SUFFIX

AGENTS = Shelf("shipped agent", ("agents/shipped",), (SUFFIX,), "name a run folder or a strategy file")
DEFAULT = "nolimit-strong?search=turn"  # who plays where no agent is named


def stored_file(name: str) -> str:
    """The file of a shipped agent, or else the name itself, a path."""
    return str(AGENTS.shipped(name) or name)
