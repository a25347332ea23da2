"""Progress callbacks: the types that long computations take, and callbacks for parts of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, float], None]  # (name of the stage, fraction of it that is done)
Fraction: TypeAlias = Callable[[float], None]  # (fraction that is done): work of a single stage
Say: TypeAlias = Callable[[str], None]  # (a line of text for the user)


def stage(progress: Progress | None, name: str) -> Fraction | None:
    """The callback for one stage of a longer computation."""
    return (lambda fraction: progress(name, fraction)) if progress else None


def part(progress: Fraction | None, first: float, last: float) -> Fraction | None:
    """The callback for a part of a stage, which takes it from `first` to `last`."""
    return (lambda fraction: progress(first + fraction * (last - first))) if progress else None
