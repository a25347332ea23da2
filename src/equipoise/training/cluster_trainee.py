"""Tables that a run trains in parts on a cluster. Imported for runs on a cluster only, because it needs Ray."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cluster.engine import Engine, Patience, cut_info
from equipoise.cluster.ray_door import Cluster
from equipoise.cluster.split_recipe import check_parts, split_recipe
from equipoise.core.disk import disk_remedy
from equipoise.core.errors import InputError, shown
from equipoise.core.files.writing import check_folder
from equipoise.core.jit import F32
from equipoise.core.progress import Progress, Say
from equipoise.runs.folder import PARTS, Checkpoint, RunFolder
from equipoise.runs.recipe import Recipe
from equipoise.solvers.solver import StrategyName
from equipoise.strategy.file import KINDS, save_strategy
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import probabilities
from equipoise.training.trainee import TableStrategy, Trained, Trainee


@dataclass(frozen=True)
class ClusterOptions:
    """Where to train in parts: `local` or an address; in how many; where parts keep files, if not in the run's folder.

    A folder of their own is for machines that do not share the run's: each part then needs the machine that has its
    files.
    """

    where: str
    parts: int | None = None
    folder: Path | None = None
    patience: Patience | None = None


def cluster_trainee(
    cluster: Cluster, options: ClusterOptions, recipe: Recipe, folder: RunFolder, threads: int,
    checkpoint: Checkpoint | None, stack: ExitStack, on_stage: Progress | None, log: Say,
) -> Trainee:  # fmt: skip
    """What a recipe trains on a cluster; `stack` ends its parts."""
    if recipe.deep:
        from equipoise.training.cluster_deep import ClusterDeepTrainee  # here: it imports torch

        trainee = ClusterDeepTrainee(recipe, folder, threads, cluster, options.parts or cluster.cores, log)
        stack.callback(trainee.pool.close)
        return trainee
    found = ClusterTrainee(cluster, options, recipe, folder, threads, checkpoint, on_stage=on_stage, log=log)
    stack.callback(found.engine.close)
    return found


class ClusterTrainee:
    """The tables of a solver in parts."""

    def __init__(
        self, cluster: Cluster, options: ClusterOptions, recipe: Recipe, folder: RunFolder, threads: int,
        checkpoint: Checkpoint | None, *, on_stage: Progress | None, log: Say,
    ) -> None:  # fmt: skip
        self.recipe, self.folder = recipe, folder
        self.buckets = recipe.game.buckets(on_stage)
        info = cut_info(checkpoint) if checkpoint else None
        most = check_parts(recipe, options.parts)
        if info:
            check_parts(recipe, info.parts)
        parts = options.parts or (info.parts if info else max(1, min(most, cluster.cores // threads)))
        where = options.folder or (info.folder if info else "")  # a resumed run remembers it
        files = Path(where) / f"{folder.path.absolute().name}-{recipe.fingerprint}" if where else folder.path / PARTS
        try:
            check_folder(files)
        except OSError as error:
            raise InputError(
                f"cannot write in {shown(str(files))}: {error.strerror}", remedy="move it elsewhere"
            ) from None
        self.split = split_recipe(
            recipe, self.buckets, parts=parts, threads=threads, folder=files, plan=info.plan if info else None
        )
        self.engine = Engine(
            cluster, self.split.head, self.split.makers, folder=files, fingerprint=recipe.fingerprint, threads=threads,
            plan=self.split.plan, about={"folder": str(where)}, patience=options.patience, say=log,
        )  # fmt: skip
        machines = len({about.machine for about in self.engine.abouts()})
        log(f"{parts} part{'s' * (parts > 1)} on {machines} machine{'s' * (machines > 1)}")

    @property
    def iteration(self) -> int:
        return self.split.head.iteration

    @property
    def nodes(self) -> int:
        return self.split.head.nodes

    def run(self, iterations: int) -> None:
        """Do some more iterations."""
        self.engine.run(iterations)

    def before_next(self) -> int | None:
        """Iterations need no preparation."""
        return None

    def arrays(self) -> dict[str, Any]:
        """Let all parts write their tables; the head's arrays."""
        return self.engine.save()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a cut; `LostPartError` if a part has no intact file of it."""
        self.engine.restore(checkpoint)

    def after_checkpoint(self) -> None:
        """Remove the parts' files of older cuts."""
        self.engine.confirm([int(path.stem) for path in self.folder.listed()])

    def figures(self) -> dict[str, Any]:
        """Load of the parts, share of messages, bytes a second."""
        return self.engine.load()._asdict()

    def _table(self, name: StrategyName) -> F32:
        """A table of the whole game as probabilities, collected piece by piece into a file without a name: memory need
        not hold it.
        """
        layout = self.recipe.game.layout
        whole = _table_on_disk(self.folder, layout.slots)
        self.split.assemble(name, self.engine.ask, whole)
        return probabilities(layout, whole, out=whole)

    def strategy(self, name: StrategyName) -> Trained:
        """The average or the current strategy."""
        return TableStrategy(Profile(self.recipe.game.layout, self._table(name)), self.buckets)

    def write(self, about: dict[str, Any], log: Say) -> None:
        """Write the strategy."""
        del log
        name = self.recipe.solver.strategies[0]
        chances = self._table(name)
        for kind in KINDS:
            path = self.folder.path / f"strategy.{kind}"
            save_strategy(path, self.recipe.game, chances, kind, {"strategy": name, **about})


def _table_on_disk(folder: RunFolder, slots: int) -> F32:
    """Zeros in a file without a name. Its blocks are reserved: a mapped page without one would kill the process."""
    try:
        with tempfile.TemporaryFile(dir=folder.path) as file:
            os.posix_fallocate(file.fileno(), 0, 4 * slots)
            return np.asarray(np.memmap(file, np.float32, "r+", shape=(slots,)))
    except OSError as error:
        raise InputError(
            f"cannot write the strategy: {error.strerror}", where=str(folder.path),
            remedy=f"{disk_remedy(error)}, then resume the run",
        ) from None  # fmt: skip
