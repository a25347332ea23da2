"""Snapshots of a run's current strategy at randomly drawn iterations (see `iteration_reservoir.py`).

    checkpoints/NNNNNNNNNNNN.u8     the current strategy of iteration N, while the run or a checkpoint holds it
    strategy.current-1.u8           what the first reservoir holds when the run stops; -2 for the second, and so on

Snapshots are strategy files of bytes, written just before their iteration. Held in memory and in every checkpoint, each
would take a quarter of a regret table; a file is written only about ln(T) times in T iterations. Files are named by
iteration, so a run that resumes from an older checkpoint finds the snapshots of that checkpoint. They are on the run's
list of its own files (`folder.py`), as checkpoints are: only what is on it is removed.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.core.errors import InputError
from equipoise.core.progress import Say
from equipoise.runs.folder import RunFolder
from equipoise.runs.iteration_reservoir import IterationReservoirs
from equipoise.solvers.solver import CURRENT, Solver
from equipoise.strategy.abstract_game import AbstractGame
from equipoise.strategy.file import load_strategy, read_about, save_stored
from equipoise.strategy.tables import to_bytes


@dataclass(frozen=True)
class StrategySnapshots:
    """The reservoirs of a run and their files."""

    folder: RunFolder
    game: AbstractGame
    reservoirs: IterationReservoirs

    def path(self, iteration: int) -> Path:
        return self.folder.checkpoints / f"{iteration:012d}.u8"

    def written(self, number: int) -> Path:
        """The file that a reservoir writes when the run stops."""
        return self.folder.path / f"strategy.current-{number + 1}.u8"

    def before_next(self, solver: Solver) -> int | None:
        """Save a snapshot if the next iteration is drawn; returns the last iteration before the one after it."""
        coming = solver.iteration + 1
        if self.reservoirs.after(solver.iteration) == coming:
            about = {"strategy": CURRENT, "iteration": coming}
            self.folder.own.claim([f"{coming:012d}.u8"], lambda path: _is_about(path, about))
            save_stored(self.path(coming), self.game, to_bytes(solver.layout, solver.regret), about)
        following = self.reservoirs.after(coming)
        return None if following is None else following - 1

    def forget(self) -> None:
        """Remove the snapshots that no checkpoint holds."""
        iterations = [max(1, int(path.stem)) for path in self.folder.listed()]
        held = {self.path(n).name for iteration in iterations for n in self.reservoirs.held(iteration)}
        self.folder.own.remove(n for n in self.folder.own.names() if n.endswith(".u8") and n not in held)

    def finish(self, iterations: int, say: Say) -> None:
        """Write the strategies that the reservoirs hold; a lost file is reported and skipped."""
        for number, iteration in enumerate(self.reservoirs.held(iterations) if iterations else ()):
            path = self.written(number)
            with contextlib.suppress(OSError):
                path.unlink()
            try:
                kept = load_strategy(self.path(iteration))
            except InputError as error:
                say(f"no current strategy {number + 1}: {error}")
                continue
            save_stored(path, self.game, kept.stored, {**kept.about, "iterations": iterations})


def _is_about(path: Path, about: dict[str, Any]) -> bool:
    """Whether a file is a strategy whose header says this."""
    try:
        return dict(read_about(path)) == about
    except (InputError, KeyError):
        return False
