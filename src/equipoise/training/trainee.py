"""What a run trains: the tables of a solver, or networks (`deep_trainee.py`). The loop knows this interface only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.array_checks import LARGEST
from equipoise.core.progress import Say
from equipoise.runs.folder import Checkpoint, RunFolder
from equipoise.runs.progress import average_regret
from equipoise.runs.recipe import Recipe
from equipoise.runs.strategy_snapshots import StrategySnapshots
from equipoise.solvers.solver import Solver, StrategyName, table_of
from equipoise.strategy.file import KINDS, save_strategy
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import Blocks, probabilities

if TYPE_CHECKING:
    from equipoise.deep.mixture import Mixture

STATE = "state "  # prefix of a solver's own arrays in a checkpoint


class TableStrategy(NamedTuple):
    """A strategy as a table: probabilities by node and bucket."""

    profile: Profile
    buckets: BucketMap


Trained: TypeAlias = "TableStrategy | Mixture"  # what can be measured; networks if their table would be too large


class Trainee(Protocol):
    """Something that learns by iterations, can be saved and resumed, and has a strategy."""

    @property
    def iteration(self) -> int:
        """The number of iterations done."""

    @property
    def nodes(self) -> int:
        """The number of nodes visited."""

    def run(self, iterations: int) -> None:
        """Do some more iterations."""

    def before_next(self) -> int | None:
        """Prepare the next iteration; returns the last one that needs no new preparation, None if none does."""

    def arrays(self) -> dict[str, Any]:
        """All arrays that a checkpoint holds."""

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint."""

    def after_checkpoint(self) -> None:
        """Clean up after a checkpoint was written."""

    def figures(self) -> dict[str, Any]:
        """Its own numbers in a progress report."""

    def strategy(self, name: StrategyName) -> Trained:
        """One of its strategies, for a measurement."""

    def write(self, about: dict[str, Any], log: Say) -> None:
        """Write the final files of a run. Nothing else may be asked afterwards."""


class TableTrainee:
    """The tables of a solver."""

    def __init__(self, recipe: Recipe, folder: RunFolder, buckets: BucketMap, solver: Solver) -> None:
        self.recipe, self.folder, self.buckets, self.solver = recipe, folder, buckets, solver
        self.blocks = Blocks.of(solver.layout)
        self.snapshots = StrategySnapshots(folder, recipe.game, recipe.solver.reservoirs)

    @property
    def iteration(self) -> int:
        return self.solver.iteration

    @property
    def nodes(self) -> int:
        return self.solver.nodes

    def run(self, iterations: int) -> None:
        """Do some more iterations."""
        self.solver.run(iterations)

    def before_next(self) -> int | None:
        """Save a snapshot of the current strategy if the next iteration is drawn."""
        return self.snapshots.before_next(self.solver)

    def arrays(self) -> dict[str, Any]:
        """The two tables, and the solver's own state."""
        state = {STATE + name: array for name, array in self.solver.state().items()}
        return {"regret": self.solver.regret, "average": self.solver.average, **state}

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint."""
        for name, table, least in (("regret", self.solver.regret, -LARGEST), ("average", self.solver.average, 0.0)):
            table[:] = checkpoint.check(name, table, least)
        state = {name.removeprefix(STATE): a for name, a in checkpoint.arrays.items() if name.startswith(STATE)}
        self.solver.restore(checkpoint.iteration, checkpoint.nodes, state)

    def after_checkpoint(self) -> None:
        """Remove the snapshots that no checkpoint holds."""
        self.snapshots.forget()

    def figures(self) -> dict[str, Any]:
        """Average positive regret, and the share of information sets visited."""
        regret, visited = average_regret(self.solver, self.blocks)
        return {"regret": regret, "visited": visited}

    def strategy(self, name: StrategyName) -> Trained:
        """The average or the current strategy."""
        layout = self.solver.layout
        return TableStrategy(Profile(layout, probabilities(layout, table_of(self.solver, name))), self.buckets)

    def write(self, about: dict[str, Any], log: Say) -> None:
        """Write the strategy and the snapshots. Tables become probabilities in place: the checkpoint has them."""
        name = self.recipe.solver.strategies[0]
        table = table_of(self.solver, name)
        chances = probabilities(self.solver.layout, table, out=table)
        for kind in KINDS:
            path = self.folder.path / f"strategy.{kind}"
            save_strategy(path, self.recipe.game, chances, kind, {"strategy": name, **about})
        self.snapshots.finish(self.iteration, log)
