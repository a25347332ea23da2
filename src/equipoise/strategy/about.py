"""How a strategy was made, as the headers of strategy files say it."""

from __future__ import annotations

from typing import Any, Literal

from equipoise.core.checked_model import CheckedModel, Count, Seconds
from equipoise.strategy.abstract_game import GameHeader


class StrategyAbout(CheckedModel):
    """How a strategy was made. What is not known is left out."""

    strategy: Literal["average", "current"] | None = None
    iterations: Count | None = None  # of the run
    iteration: Count | None = None  # of a snapshot
    seconds: Seconds | None = None
    nodes: Count | None = None
    recipe: str | None = None
    thread_hours: Seconds | None = None
    note: str | None = None


class StrategyHeader(GameHeader):
    """The header of a file with a strategy."""

    about: StrategyAbout = StrategyAbout()


def kept_about(about: StrategyAbout) -> dict[str, Any]:
    """What is known of how a strategy was made."""
    return about.model_dump(exclude_none=True)
