"""Deep CFR with its traversals on the workers of a cluster; networks are trained here. Same bits as without a cluster.

A step sends both networks to the workers, a job is a chunk of deals with its random numbers, and the samples come back.
Workers walk on CPUs. Checkpoints are those of a run on one machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import torch

from equipoise.cluster.ray_door import Cluster
from equipoise.cluster.split_recipe import REMEDY
from equipoise.cluster.worker_pool import WorkerPool
from equipoise.core.arrays import F32
from equipoise.core.progress import Say
from equipoise.deep.encoding import Encoding, Evaluator
from equipoise.deep.network import Network
from equipoise.deep.torch_door import find_device
from equipoise.deep.traversals.external import Job, Sampled, Sampling, Traversals
from equipoise.deep.traversals.public import make_traversals
from equipoise.runs.deep_recipe import DeepRecipe
from equipoise.runs.folder import RunFolder
from equipoise.runs.recipe import Recipe
from equipoise.strategy.abstract_game import AbstractGame, GameText
from equipoise.training.deep_trainee import DeepTrainee


class Step(NamedTuple):
    """What all traversals of a walker share."""

    walker: int
    iteration: int
    networks: tuple[F32, F32]  # [1, parameter]


@dataclass(frozen=True, eq=False)
class ClusterTraversals(Traversals):
    """Traversals whose chunks are jobs of workers."""

    pool: WorkerPool | None = None

    @cached_property
    def chunk(self) -> int:
        """Deals of a job: as many as walk together without a cluster."""
        return make_traversals(self.where, self.threads, self.sampling).chunk

    def do_jobs(
        self, walker: int, networks: tuple[Evaluator, Evaluator], iteration: int, jobs: list[Job]
    ) -> list[Sampled]:
        """The samples of some chunks of deals, in order."""
        assert self.pool is not None
        one, two = (each.network.parameters.cpu().numpy() for each in networks)
        return self.pool.map(Step(walker, iteration, (one, two)), jobs)


class TraversalWorker:
    """A worker: the encoding of the game stays, networks come with each step."""

    def __init__(self, text: GameText, deep: DeepRecipe, sampling: Sampling) -> None:
        torch.set_num_threads(1)  # workers run side by side
        encoding = Encoding(AbstractGame.of_text(text, "the head's game", REMEDY).tree, deep.strength)
        self.shape = encoding.shape(deep.hidden, deep.heads, deep.table)
        self.traversals = make_traversals(encoding.on(find_device("cpu")), 1, sampling)

    def prepare(self, message: Step) -> None:
        """Take the networks of a step."""
        where = self.traversals.where
        one, two = (
            Evaluator(where, Network(self.shape, torch.from_numpy(parameters))) for parameters in message.networks
        )
        self.step, self.networks = message, (one, two)

    def work(self, job: Job) -> Sampled:
        """The samples of a chunk of deals."""
        return self.traversals.do_jobs(self.step.walker, self.networks, self.step.iteration, [job])[0]


class ClusterDeepTrainee(DeepTrainee):
    """Networks whose traversals run on a cluster."""

    def __init__(
        self, recipe: Recipe, folder: RunFolder, threads: int, cluster: Cluster, workers: int, log: Say
    ) -> None:
        super().__init__(recipe, folder, threads)
        assert recipe.deep is not None
        before = self.learner.traversals
        make = partial(TraversalWorker, recipe.game.text(), recipe.deep, before.sampling)
        self.pool = WorkerPool(cluster, make, workers, say=log)
        self.learner.traversals = ClusterTraversals(before.where, before.threads, before.sampling, self.pool)
        log(f"traversals on {workers} worker{'s' * (workers > 1)}")

    def figures(self) -> dict[str, Any]:
        """Loss and samples, and the load of the workers."""
        return {**super().figures(), **self.pool.load()._asdict()}
