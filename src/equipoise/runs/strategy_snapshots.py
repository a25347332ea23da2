"""Current strategies of a run at iterations drawn at random (`draws.py`), kept in its folder.

    checkpoints/NNNNNNNNNNNN.u8     what iteration N played by: those that the run or one of its checkpoints holds
    strategy.current-1.u8           what the first reservoir holds when the run stops; -2, and so on

Each is a strategy file of bytes, written when its iteration is about to be done. In memory it would take a quarter of
a table of regrets for the whole run, and as much again of every checkpoint; a file takes a byte a probability for a
moment, and is written about ln(T) times in T iterations. Files are named by iteration, so that a run which is taken up
at an older checkpoint finds what that one held.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from equipoise.core.errors import InputError
from equipoise.runs.folder import RunFolder, Say
from equipoise.runs.iteration_reservoir import Draws
from equipoise.solvers.solver import CURRENT, Solver
from equipoise.strategy.abstract_game import AbstractGame
from equipoise.strategy.file import load_strategy, save_stored
from equipoise.strategy.tables import to_bytes


@dataclass(frozen=True)
class Currents:
    """The reservoirs of a run, and their files."""

    folder: RunFolder
    game: AbstractGame
    draws: Draws

    def path(self, iteration: int) -> Path:
        return self.folder.checkpoints / f"{iteration:012d}.u8"

    def written(self, number: int) -> Path:
        """What a reservoir leaves when the run stops."""
        return self.folder.path / f"strategy.current-{number + 1}.u8"

    def before_next(self, solver: Solver) -> int | None:
        """Keep what the next iteration plays by, if it is drawn; says until which one the solver may then go on."""
        coming = solver.iteration + 1
        if self.draws.after(solver.iteration) == coming:
            about = {"strategy": CURRENT, "iteration": coming}
            save_stored(self.path(coming), self.game, to_bytes(solver.layout, solver.regret), about)
        following = self.draws.after(coming)
        return None if following is None else following - 1

    def forget(self) -> None:
        """Remove those that no checkpoint holds."""
        held = {self.path(n) for path in self.folder.listed() for n in self.draws.held(max(1, int(path.stem)))}
        for path in set(self.folder.checkpoints.glob("*.u8")) - held:
            with contextlib.suppress(OSError):
                path.unlink()

    def finish(self, iterations: int, tell: Say) -> None:
        """Write what the reservoirs hold as strategies of the run; one whose file is lost is said, and left out."""
        for number, iteration in enumerate(self.draws.held(iterations) if iterations else ()):
            path = self.written(number)
            path.unlink(missing_ok=True)
            try:
                kept = load_strategy(self.path(iteration))
            except InputError as error:
                tell(f"no current strategy {number + 1}: {error}")
                continue
            save_stored(path, self.game, kept.stored, {**kept.about, "iterations": iterations})
