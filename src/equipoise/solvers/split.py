"""A solver in parts: a head that owns the top of the game, and parts that own the tables below it.

    loop
        messages = head.begin()                    one for each part: what it needs to know of the top
        replies = [part.work(m) for part, m]       on this machine or on others, at the same time
        head.finish(replies)                       the values that the parts found go up

A part keeps its tables where it is: only messages and replies travel. `SplitSolver` runs all parts in this process; the
cluster runs them in actors (`cluster/`). Both give the same tables.
"""

from __future__ import annotations

from typing import Any, Protocol


class Head(Protocol):
    """The top of the game, and the order of the work."""

    iteration: int  # number of iterations done
    nodes: int  # number of nodes visited, by the head and in the replies of the parts

    def begin(self) -> list[Any]:
        """Start a step: the message to each part. Some steps may be under way at the same time (`most_begun`)."""

    def finish(self, replies: list[Any]) -> None:
        """Finish the oldest step that was begun, with the replies of the parts in order."""

    @property
    def begun(self) -> int:
        """The number of iterations that are done or under way."""

    @property
    def most_begun(self) -> int:
        """How many steps may have begun and not finished. Results depend on this number, not on timing."""

    def arrays(self) -> dict[str, Any]:
        """The tables and the state of the head, between steps: with those of the parts, a checkpoint."""

    def restore(self, iteration: int, nodes: int, arrays: dict[str, Any]) -> None:
        """Continue from a checkpoint."""


class Part(Protocol):
    """A part of the tables below the top."""

    def work(self, message: Any) -> Any:
        """One step. Messages come in the order in which the head began them."""

    def arrays(self) -> dict[str, Any]:
        """The tables and the state of the part."""

    def restore(self, arrays: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
