"""Strategies that come with the package, by name: the packed files of agents/shipped/."""

from __future__ import annotations

from pathlib import Path

from equipoise.core.files.shipped import Shelf, no_such
from equipoise.core.files.text import is_file, is_folder
from equipoise.strategy.packed import SUFFIX

OTHERWISE = "name a run folder or a strategy file"
AGENTS = Shelf("shipped agent", ("agents/shipped",), (SUFFIX,), OTHERWISE)


def stored_file(name: str | Path) -> Path:
    """The file of a shipped agent, if the name is a text, or else the name itself, a path."""
    return (AGENTS.shipped(name) if isinstance(name, str) else None) or Path(name)


def find_stored(name_or_path: str | Path) -> Path:
    """The file of a shipped agent, or a path where there is something; a word that is neither is refused."""
    path = stored_file(name_or_path)
    if path.name == str(name_or_path) and not path.suffix and not (is_file(path) or is_folder(path)):
        raise no_such("run, strategy file or shipped agent", str(name_or_path), AGENTS.names(), OTHERWISE)
    return path
