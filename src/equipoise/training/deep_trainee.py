"""Networks that a run trains by Deep CFR. Imported for method "deep" only, because it imports torch."""

from __future__ import annotations

from math import isfinite
from typing import Any

from equipoise.core.errors import InputError
from equipoise.core.progress import Say
from equipoise.deep.file import save_networks
from equipoise.deep.learner import DeepCFR
from equipoise.deep.mixture import Mixture
from equipoise.runs.cost import MOST_SLOTS
from equipoise.runs.folder import Checkpoint, RunFolder
from equipoise.runs.recipe import Recipe
from equipoise.solvers.solver import AVERAGE, StrategyName
from equipoise.strategy.file import KINDS, NETWORKS, save_strategy
from equipoise.strategy.profile import Profile
from equipoise.training.trainee import TableStrategy, Trained


class DeepTrainee:
    """The networks of Deep CFR or SD-CFR."""

    def __init__(self, recipe: Recipe, folder: RunFolder, threads: int) -> None:
        assert recipe.deep is not None
        self.game, self.folder = recipe.game, folder
        self.learner = DeepCFR(recipe.game.tree, recipe.deep, seed=recipe.solver.seed, threads=threads)
        self._mixture: Mixture | None = None  # of this iteration: with deep-cfr it takes training of its own

    @property
    def iteration(self) -> int:
        return self.learner.iteration

    @property
    def nodes(self) -> int:
        return self.learner.nodes

    def run(self, iterations: int) -> None:
        """Do some more iterations. Networks that diverge are refused before they reach a checkpoint."""
        self._mixture = None
        self.learner.run(iterations)
        if not isfinite(self.learner.loss):
            raise InputError(
                f"the networks diverged before iteration {self.iteration + 1:,}",
                where=str(self.folder.path),
                remedy="use a smaller deep.learning_rate in a new run",
            )

    def before_next(self) -> int | None:
        """Iterations need no preparation."""
        return None

    def arrays(self) -> dict[str, Any]:
        """Networks, snapshots and memories."""
        return self.learner.state()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint."""
        self.learner.restore(checkpoint.iteration, checkpoint.nodes, checkpoint.arrays)

    def after_checkpoint(self) -> None:
        """There is nothing to clean up."""

    def figures(self) -> dict[str, Any]:
        """The loss of the last iteration, and the samples in the advantage memories."""
        return {"loss": self.learner.loss, "samples": sum(map(len, self.learner.memories))}

    @property
    def mixture(self) -> Mixture:
        """The average strategy of the iterations so far."""
        if self._mixture is None:
            self._mixture = self.learner.mixture()
        return self._mixture

    @property
    def _table(self) -> Profile | None:
        """The average strategy as a table, if it is small."""
        layout = self.game.layout
        return Profile(layout, self.mixture.profile(layout)) if layout.slots <= MOST_SLOTS else None

    def strategy(self, name: StrategyName) -> Trained:
        """The average strategy, as a table if it is small."""
        assert name == AVERAGE
        table = self._table
        return self.mixture if table is None else TableStrategy(table, self.game.buckets())

    def write(self, about: dict[str, Any], log: Say) -> None:
        """Write the networks and, if it is small, the table of their strategy, which needs no torch to play."""
        del log
        about = {"strategy": AVERAGE, **about}
        save_networks(self.folder.path / NETWORKS, self.game, self.mixture, about)
        if (table := self._table) is not None:
            for kind in KINDS:
                save_strategy(self.folder.path / f"strategy.{kind}", self.game, table.chances, kind, about)
