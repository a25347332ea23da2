"""Deep CFR and SD-CFR: external-sampling traversals fill memories, and networks learn the advantages in them.

    for iteration t = 1, 2, ...
        for each player p
            traverse K deals; p takes every action, its opponent one or every one (traversals/)
            add p's sampled advantages to p's memory, with iteration t
            (deep-cfr) add the opponent's strategies to its strategy memory
            train p's network on its memory; errors of iteration t count t (fitting/)
            or, after some iterations, solve only its output layers, exactly (fitting/heads.py)
    the strategy of a network is regret matching on its outputs

(Brown and others 2019; Steinberger 2019.) The average strategy is either a network trained on the strategy memories
(deep-cfr) or the table of their means, or the networks of all iterations, each weighted by its iteration (sd-cfr;
`mixture.py`). Random numbers are those of (seed, iteration, player): a resumed run needs no generator state.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import torch

from equipoise.core.array_checks import check_array, check_indices, check_like, check_range
from equipoise.core.arrays import F32
from equipoise.core.errors import MOST_COUNT, InputError
from equipoise.deep.encoding import Encoding, Evaluator
from equipoise.deep.fitting.adam import Adam
from equipoise.deep.fitting.heads import HeadSums, put_heads
from equipoise.deep.fitting.memory import Memory
from equipoise.deep.fitting.on_cpu import FitSettings, set_constants, train_network
from equipoise.deep.fitting.on_gpu import GraphTrainer
from equipoise.deep.mixture import Mixture
from equipoise.deep.network import MOST_PARAMETER, Network, Tensor
from equipoise.deep.torch_door import find_device
from equipoise.deep.traversals.external import Sampling
from equipoise.deep.traversals.public import make_traversals
from equipoise.games.rules import PLAYERS
from equipoise.runs.deep_recipe import DeepRecipe
from equipoise.tree.betting_tree import BettingTree

DEEP_CFR, SD_CFR = "deep-cfr", "sd-cfr"
TRAVERSE, REPLACE, START, BATCHES, AVERAGE = range(5)  # what random numbers are for


class DeepCFR:
    """A solver whose regrets are networks. With one thread and one seed, a run is reproducible to the bit.

    `algorithms` are the average strategies that it keeps; Deep CFR and SD-CFR share traversals and advantage networks.
    """

    def __init__(
        self, tree: BettingTree, settings: DeepRecipe, *, seed: int = 1, threads: int = 1,
        algorithms: Collection[str] = (),
    ) -> None:  # fmt: skip
        self.settings, self.seed, self.threads = settings, seed, threads
        self.algorithms = algorithms or (settings.algorithm,)
        self.encoding = Encoding(tree, settings.strength)
        self.shape = self.encoding.shape(settings.hidden, settings.heads, settings.table)
        self.where = self.encoding.on(find_device(settings.device))
        public, strategies = settings.sampling == "public", DEEP_CFR in self.algorithms
        sampling = Sampling(
            settings.holes, settings.whole, settings.thin, strategies, public, settings.share, settings.table,
            settings.solve_heads,
        )  # fmt: skip
        self.traversals = make_traversals(self.where, threads, sampling)
        self._trainers: dict[int, GraphTrainer] = {}  # by memory
        self.iteration = 0
        self.nodes = 0
        self.loss = 0.0  # of the last iteration, both players
        self.networks = [self._fresh(player) for player in range(PLAYERS)]
        self.optimisers = [Adam(self.shape.parameters, self.where.device) for _ in range(PLAYERS)]
        solved = settings.hidden if settings.solve_heads else 0
        self.memories = [self._memory(player, settings.memory, solved) for player in range(PLAYERS)]
        self.snapshots: list[list[F32]] = [[self._array(network)] for network in self.networks]
        self.snapshot_iterations = [1]  # the strategy of iteration 1 is uniform
        self.stride = 1  # iterations between snapshots
        if DEEP_CFR in self.algorithms:
            self.average_optimisers = [Adam(self.shape.parameters, self.where.device) for _ in range(PLAYERS)]
            capacity = settings.memory if settings.average_steps else 1
            self.strategies = [self._memory(player, capacity) for player in range(PLAYERS)]

    def _memory(self, player: int, capacity: int, hidden: int = 0) -> Memory:
        settings = self.settings
        return Memory(
            self.where, player, capacity, settings.weight_power, settings.sums, settings.table, hidden
        )  # fmt: skip

    @staticmethod
    def _array(network: Tensor) -> F32:
        found: F32 = network.cpu().numpy().copy()
        return found

    def _seed(self, purpose: int, player: int, iteration: int | None = None) -> np.random.SeedSequence:
        at = self.iteration if iteration is None else iteration
        return np.random.SeedSequence(self.seed, spawn_key=(at, player, purpose))

    def _fresh(self, player: int) -> Tensor:
        """A new network."""
        number = int(self._seed(START, player).generate_state(1)[0])
        return self.shape.start(torch.Generator().manual_seed(number)).to(self.where.device)

    def run(self, iterations: int) -> None:
        """Do some more iterations."""
        for _ in range(iterations):
            self.iteration += 1
            self.loss = sum(self._learn(player) for player in range(PLAYERS)) / PLAYERS
            self._keep_snapshot()

    def _learn(self, player: int) -> float:
        """One player's traversals and training. Returns the loss."""
        settings = self.settings
        torch.set_num_threads(1)  # chunks of traversals run side by side
        one, two = (Evaluator(self.where, Network(self.shape, network[None])) for network in self.networks)
        found = self.traversals.run(
            player, settings.traversals_of(self.iteration), (one, two), self.iteration, self._seed(TRAVERSE, player)
        )
        self._deal_ahead(player)
        self.nodes += found.rows
        self.memories[player].add(found.advantages, self._seed(REPLACE, player), found.advantage_cells)
        if DEEP_CFR in self.algorithms:
            seed = self._seed(REPLACE, PLAYERS + player)
            self.strategies[1 - player].add(found.strategies, seed, found.strategy_cells)
        torch.set_num_threads(self.threads)
        if found.head_sums is not None:
            self.networks[player] = self._solved(player, found.head_sums)
            return self.loss
        start = self.networks[player] if settings.warm_start else self._fresh(player)
        how = FitSettings(settings.steps, settings.batch, settings.rate_of(self.iteration), settings.scales)
        adam = self.optimisers[player]
        if not settings.warm_start:
            adam.reset()
        self.networks[player], loss = self._fit(start, adam, self.memories[player], how, self._seed(BATCHES, player))
        return loss

    def _solved(self, player: int, sums: HeadSums) -> Tensor:
        """A player's network with heads solved for everything since its layers stay as they are, and an iteration."""
        memory, settings = self.memories[player], self.settings
        memory.heads.add(sums, self.iteration**settings.weight_power)
        network = Network(self.shape, self.networks[player].clone()[None])
        set_constants(network, memory, FitSettings(0, 0, 0.0, settings.scales))
        put_heads(network, memory)
        return network.parameters[0]

    def _deal_ahead(self, player: int) -> None:
        """The traversals after this player's."""
        after, iteration = 1 - player, self.iteration + player
        count = self.settings.traversals_of(iteration)
        self.traversals.deal_ahead(count, self._seed(TRAVERSE, after, iteration))

    def _fit(
        self, start: Tensor, adam: Adam, memory: Memory, how: FitSettings, seed: np.random.SeedSequence
    ) -> tuple[Tensor, float]:
        """Train a network on a memory; on a GPU with a recorded step, which is kept."""
        if self.where.device.type == "cpu":
            return train_network(self.shape, start, adam, memory, self.where, how, seed)
        if id(memory) not in self._trainers:
            self._trainers[id(memory)] = GraphTrainer(self.shape, adam, memory, self.where, how)
        return self._trainers[id(memory)].fit(start, seed, how.learning_rate)

    def _keep_snapshot(self) -> None:
        """Keep the networks, which play iteration t + 1; if there are more than `keep`, every other one goes."""
        keep = self.settings.keep
        if SD_CFR not in self.algorithms or (self.iteration + 1) % self.stride:
            return
        for kept, network in zip(self.snapshots, self.networks, strict=True):
            kept.append(self._array(network))
        self.snapshot_iterations.append(self.iteration + 1)
        if keep and len(self.snapshot_iterations) > keep:
            self.stride *= 2
            stay = [at for at, iteration in enumerate(self.snapshot_iterations) if iteration % self.stride == 0]
            self.snapshots = [[kept[at] for at in stay] for kept in self.snapshots]
            self.snapshot_iterations = [self.snapshot_iterations[at] for at in stay]

    def state(self) -> dict[str, Any]:
        """Everything that a resumed run needs, as arrays: networks, snapshots, memories."""
        found: dict[str, Any] = {
            "networks": np.stack([self._array(network) for network in self.networks]),
            "snapshot_iterations": np.array(self.snapshot_iterations, np.int64),
            "stride": np.array([self.stride], np.int64),
            "loss": np.array([self.loss]),
        }
        for player in range(PLAYERS):
            for number, part in enumerate(self.optimisers[player].state):
                found[f"optimiser {player} {number}"] = part.cpu().numpy().copy()
            if SD_CFR in self.algorithms:
                found[f"snapshots {player}"] = np.stack(self.snapshots[player])
            for what, memories in self._memories():
                found |= {f"{what} {player} {name}": array for name, array in memories[player].arrays().items()}
        return found

    def _memories(self) -> list[tuple[str, list[Memory]]]:
        named = [("advantages", self.memories)]
        return [*named, ("strategies", self.strategies)] if DEEP_CFR in self.algorithms else named

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Resume a run from its state."""
        loss = check_range(check_array(state.get("loss"), "loss", (1,), np.float64), "loss")
        networks = self._networks_of(state, "networks", PLAYERS)
        stride = check_indices(check_array(state.get("stride"), "stride", (1,), np.int64), MOST_COUNT, "stride", 1)
        times = state.get("snapshot_iterations", np.zeros(0, np.int64))
        check_array(times, "snapshot_iterations", (max(1, times.size),), np.int64)
        check_indices(times, iteration + 2, "snapshot_iterations", 1)
        self.iteration, self.nodes, self.loss = iteration, nodes, float(loss[0])
        self.networks = [torch.from_numpy(network.copy()).to(self.where.device) for network in networks]
        self.snapshot_iterations, self.stride = times.tolist(), int(stride[0])
        for player, adam in enumerate(self.optimisers):
            own = {f"optimiser {player} {number}": part.cpu().numpy() for number, part in enumerate(adam.state)}
            found = check_like(state, own)
            for name in list(own)[1:]:
                check_range(found[name], name, 0)
            adam.restore(tuple(torch.from_numpy(np.array(part)) for part in found.values()))
            if SD_CFR in self.algorithms:
                self.snapshots[player] = list(self._networks_of(state, f"snapshots {player}", len(times)).copy())
            for what, memories in self._memories():
                head = f"{what} {player} "
                kept = {name.removeprefix(head): array for name, array in state.items() if name.startswith(head)}
                try:
                    memories[player].restore(iteration, kept)
                except InputError as error:
                    raise InputError(f"{what} of player {player}: {error.what}", remedy=error.remedy) from None

    def _networks_of(self, state: dict[str, Any], name: str, count: int) -> F32:
        """Some networks of a state, their parameters finite."""
        found: F32 = check_array(state.get(name), name, (count, self.shape.length), np.float32)
        check_range(found, name, -MOST_PARAMETER, MOST_PARAMETER)
        return found

    def mixture(self, algorithm: str = "", *, table_alone: bool = False) -> Mixture:
        """The average strategy: the networks of all iterations, or a network trained on the strategy memories, or
        (`table_alone`) their table.
        """
        if (algorithm or self.settings.algorithm) == DEEP_CFR:
            make = self._mean_tables if table_alone or not self.settings.average_steps else self._average_networks
            return Mixture(self.where, self.shape, make(), np.ones(1, np.float32), is_strategy=True)
        one, two = (torch.from_numpy(np.stack(kept)).to(self.where.device) for kept in self.snapshots)
        weights = np.array(self.snapshot_iterations, np.float32) ** np.float32(self.settings.weight_power)
        return Mixture(self.where, self.shape, (one, two), weights)

    def _average_networks(self) -> tuple[Tensor, Tensor]:
        """A network for each player's strategy memory."""
        settings = self.settings
        how = FitSettings(settings.average_steps, settings.batch, settings.learning_rate, is_strategy=True)
        torch.set_num_threads(self.threads)
        found = []
        for player, memory in enumerate(self.strategies):
            adam = self.average_optimisers[player]
            adam.reset()
            found.append(self._fit(self._fresh(player), adam, memory, how, self._seed(AVERAGE, player))[0][None])
        return found[0], found[1]

    def _mean_tables(self) -> tuple[Tensor, Tensor]:
        """The mean strategy by decision and percentile bucket, as a network that says nothing beside its table."""
        found = []
        for player, memory in enumerate(self.strategies):
            network = Network(self.shape, self._fresh(player)[None])
            set_constants(network, memory, FitSettings(0, 0, 0.0, is_strategy=True))
            found.append(network.parameters)
        return found[0], found[1]
