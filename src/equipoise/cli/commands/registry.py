"""All commands, as one application."""

from __future__ import annotations

from equipoise.cli.app import app
from equipoise.cli.commands import (
    abstraction,
    acpc,
    bench,
    cluster,
    equity,
    games,
    log,
    match,
    measure,
    play,
    recipes,
    reproduce,
    slumbot,
    spot,
    strategy,
    train,
    warm_up,
)

__all__ = [
    "abstraction", "acpc", "app", "bench", "cluster", "equity", "games", "log", "match", "measure", "play", "recipes",
    "reproduce", "slumbot", "spot", "strategy", "train", "warm_up",
]  # fmt: skip
