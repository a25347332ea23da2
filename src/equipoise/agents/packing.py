"""Pack the strategy of a run into a small file that plays without tables of hands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equipoise.abstraction.maps.live_map import live_map
from equipoise.agents.named import What
from equipoise.core.errors import InputError, shown
from equipoise.core.files.array_file import load_header
from equipoise.core.files.text import is_file
from equipoise.core.jit import F32
from equipoise.core.progress import Progress
from equipoise.runs.folder import FORMAT as CHECKPOINT
from equipoise.runs.folder import CheckpointHeader, RunFolder
from equipoise.runs.recipe import RECIPE_FILE
from equipoise.strategy.file import FLOAT32, StrategyFile
from equipoise.strategy.packed import Packed, save_packed
from equipoise.strategy.tables import UNITS, from_bytes


def pack_strategy(
    what: str, out: str | Path, *, units: int = UNITS, note: str = "", progress: Progress | None = None
) -> Packed:
    """Pack a run folder or a strategy file, e.g. `runs/strong` or `runs/strong?strategy=average`.

    Probabilities are rounded to multiples of 1 / `units`, a divisor of 255. `note` is kept in the file: what was
    measured, say. The centroids of the cards come from the cache; if they are not there, they are fitted again.
    """
    asked = What.read(what)
    if not asked.is_stored or asked.networks or asked.search or asked.post.method != "none":
        raise InputError(f"packing {shown(what)}", remedy="name a run folder or a strategy file with a table")
    strategy = asked.open("")
    game = strategy.game
    live = strategy.live or live_map(game.rules, game.cards, progress)
    stored: F32 = strategy.stored if strategy.kind == FLOAT32 else from_bytes(strategy.stored)
    return save_packed(out, game, stored, live, units, _about(asked.path, strategy, note))


def _about(path: Path, strategy: StrategyFile, note: str) -> dict[str, Any]:
    """How a strategy was made: iterations, seconds, nodes; of a run also its recipe and thread-hours."""
    about = dict(strategy.about)
    if is_file(path / RECIPE_FILE):
        about["recipe"] = (path / RECIPE_FILE).read_text()
        for checkpoint in RunFolder(path).listed()[-1:]:
            threads = load_header(checkpoint, CHECKPOINT, CheckpointHeader, remedy="").threads
            about["thread_hours"] = about["seconds"] * threads / 3600
    return {**about, "note": note} if note else about
