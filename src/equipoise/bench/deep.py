"""Benchmarks of Deep CFR.

Peer: OpenSpiel's PyTorch Deep CFR with the settings of its own example (`examples/deep_cfr_pytorch.py`: 375 traversals
and 375 training steps a player and iteration, batches of 256, one hidden layer of 64), one thread each. To reach a
NashConv, both are measured every few iterations until they are below it. CPU time counts, without that of measuring;
the average-strategy network is trained once, after the last iteration. Limit hold'em has no peer: OpenSpiel's walks
take too long. There, public chance sampling is compared with external sampling; its samples are fewer and less noisy.
On a GPU, training steps are also compared with the most that it does: a large product of matrices.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.blueprint import profile_agent
from equipoise.bench.measure import Benchmark, Work, compare, rate
from equipoise.core.machine import thread_count
from equipoise.deep.encoding import Evaluator, Hands
from equipoise.deep.fitting.on_cpu import FitSettings, train_network
from equipoise.deep.fitting.on_gpu import GraphTrainer
from equipoise.deep.learner import DeepCFR
from equipoise.deep.mixture import Mixture
from equipoise.deep.network import CONSTANTS, Network, NetworkShape, Tensor
from equipoise.deep.torch_door import find_device, matrix_product
from equipoise.deep.traversals.external import Sampling
from equipoise.deep.traversals.public import make_traversals
from equipoise.games.rules import PLAYERS
from equipoise.measure.best_response import exploitability
from equipoise.runs.deep_recipe import DeepRecipe
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import BettingTree, build_tree
from equipoise.tree.infosets import SlotLayout

PEER_NAME = "OpenSpiel's PyTorch Deep CFR, its example's settings"
PEER: dict[str, Any] = {
    "policy_network_layers": (64,),
    "advantage_network_layers": (64,),
    "num_traversals": 375,
    "reinitialize_advantage_networks": True,
    "learning_rate": 1e-3,
    "batch_size_advantage": 256,
    "batch_size_strategy": 256,
    "memory_capacity": 100_000,
    "policy_network_train_steps": 2500,
    "advantage_network_train_steps": 375,
}
OURS: dict[str, Any] = {
    "hidden": 32, "traversals": 1000, "growth": 1, "steps": 50, "batch": 8192, "learning_rate": 0.005,
    "warm_start": True, "memory": 300_000, "average_steps": 150, "device": "cpu",
}  # fmt: skip
GOAL = 0.81  # NashConv in antes
EVERY = 5  # iterations between two measures
MOST_SECONDS = 600
SEEDS = (1, 2, 3)
HOUR = 3600


def run() -> list[Benchmark]:
    """All benchmarks of the group. `DeepCFR` with one thread leaves torch with one, so the peer has one, too."""
    leduc = build_tree("leduc")
    ours, peer = _solver(leduc, "deep-cfr", 1), _peer()
    ours.run(EVERY)
    devices = dict.fromkeys(("cpu", find_device().type))
    rows = [*_to_goal(leduc, peer), *_rates(ours, peer)]
    return rows + [row for device in devices for row in _holdem(device)]


def _solver(tree: BettingTree, algorithm: str, seed: int, threads: int = 1, **more: Any) -> DeepCFR:
    recipe = DeepRecipe.model_validate({"algorithm": algorithm, **OURS, **more})
    return DeepCFR(tree, recipe, seed=seed, threads=threads)


def _peer() -> Any:
    """OpenSpiel's solver, None if it is not installed (it needs dm-tree)."""
    try:
        import pyspiel
        from open_spiel.python.pytorch import deep_cfr
    except ImportError:
        return None
    return deep_cfr.DeepCFRSolver(pyspiel.load_game("leduc_poker"), **PEER)


# --- CPU time to a NashConv ----------------------------------------------------------------------------------------


def _to_goal(tree: BettingTree, peer: Any) -> list[Benchmark]:
    """Ours runs before the peer and after it; the better time of each seed counts, as the machine may be shared."""
    algorithms = ("sd-cfr", "deep-cfr")
    first = [_our_seconds(tree, algorithm) for algorithm in algorithms]
    theirs = _seconds_to_goal(lambda: _peer_iterations(peer), lambda: _peer_average(peer)) if peer else 0.0
    second = [_our_seconds(tree, algorithm) for algorithm in algorithms]
    found = []
    for algorithm, one, two in zip(algorithms, first, second, strict=True):
        ours = float(np.mean(np.minimum(one, two)))
        times = f"{ours:.2f} CPU s" + (f" against {theirs:.1f}" if theirs else "")
        name = f"Leduc to a NashConv of {GOAL}, {algorithm}: {times}"
        found.append(Benchmark(name, "solves per CPU hour", HOUR / ours, PEER_NAME, HOUR / theirs if theirs else 0.0))
    return found


def _our_seconds(tree: BettingTree, algorithm: str) -> list[float]:
    """CPU seconds to the goal, by seed."""

    def seconds(solver: DeepCFR) -> float:
        return _seconds_to_goal(lambda: solver.run(EVERY), lambda: _our_average(solver))

    return [seconds(_solver(tree, algorithm, seed)) for seed in SEEDS]


def _seconds_to_goal(iterate: Callable[[], None], average: Callable[[], Callable[[], float]]) -> float:
    """CPU seconds of iterations and of the last average strategy. `average` makes one and returns its measure."""
    spent = 0.0
    while spent < MOST_SECONDS:
        start = time.process_time()
        iterate()
        iterated = time.process_time()
        nash_conv = average()
        spent += iterated - start
        last = time.process_time() - iterated
        if nash_conv() <= GOAL:
            return spent + last
    return float("inf")


def _our_average(solver: DeepCFR) -> Callable[[], float]:
    mixture = solver.mixture()
    return lambda: _nash_conv(mixture)


def _nash_conv(mixture: Mixture) -> float:
    """The sum of both players' best-response values, in antes."""
    tree = mixture.where.encoding.tree
    buckets = BucketMap.lossless(tree.rules)
    layout = SlotLayout(tree, buckets.buckets)
    agent = profile_agent("networks", Profile(layout, mixture.profile(layout)), buckets)
    return 2 * exploitability(tree.rules, agent, threads=1).exploitability / 1000


def _peer_iterations(peer: Any) -> None:
    """A few of the iterations of its `solve`, which cannot be interrupted."""
    for _ in range(EVERY):
        for player in range(2):
            for _ in range(peer._num_traversals):
                peer._traverse_game_tree(peer._root_node, player)
            peer._reinitialize_advantage_network(player)
            peer._learn_advantage_network(player)
        peer._iteration += 1


def _peer_average(peer: Any) -> Callable[[], float]:
    peer._reinitialize_policy_network()
    peer._learn_strategy_network()
    return lambda: _peer_nash_conv(peer)


def _peer_nash_conv(peer: Any) -> float:
    import pyspiel
    from open_spiel.python import policy

    table = policy.tabular_policy_from_callable(peer._game, peer.action_probabilities)
    return float(pyspiel.nash_conv(peer._game, policy.python_policy_to_pyspiel_policy(table)))


# --- rates ---------------------------------------------------------------------------------------------------------


def _rates(solver: DeepCFR, peer: Any) -> list[Benchmark]:
    """Traversals and training steps a second, with the memories that an iteration fills."""
    count, steps, batch = 3000, 100, PEER["batch_size_advantage"]
    walks = Work(lambda: peer._traverse_game_tree(peer._root_node, 0), 1) if peer else None
    fits = Work(lambda: peer._learn_advantage_network(0), PEER["advantage_network_train_steps"]) if peer else None
    size = f"networks of {solver.shape.parameters:,} parameters"
    return [
        compare("Leduc traversals", "traversals/s", Work(lambda: _traverse(solver, count), count), PEER_NAME, walks),
        compare(
            f"Leduc, batches of {batch}, {size}", "training steps/s", Work(lambda: _fit(solver, steps, batch), steps),
            PEER_NAME, fits, rounds=3,
        ),
        _network_share("Leduc", solver, count),
    ]  # fmt: skip


def _holdem(device: str) -> list[Benchmark]:
    """Limit hold'em: on one core, or on a GPU with all of them."""
    on_gpu = device != "cpu"
    count, threads = (20_000, thread_count(0)) if on_gpu else (200, 1)
    more: dict[str, Any] = {"hidden": 64} if on_gpu else {}
    tree = build_tree("holdem.limit")
    solver = _solver(tree, "deep-cfr", 1, threads, device=device, traversals=count, memory=1_000_000, **more)
    solver.run(1)  # fills the memories
    solver.networks = [solver._fresh(player) for player in range(PLAYERS)]  # play uniformly: whole trees are walked
    name = f"limit hold'em, {device}"
    walks = Work(lambda: _traverse(solver, count), count)
    found = [
        compare(f"{name}, traversals", "traversals/s", walks, "", None),
        _network_share(name, solver, count),
        _public_samples(name, solver, 1024 if on_gpu else 4),
    ]
    if on_gpu:
        return found + [row for batch in (8192, 32_768) for row in _gpu_steps(name, solver, batch)]
    steps, batch = 20, 10_000
    fits = Work(lambda: _fit(solver, steps, batch), steps)
    return [*found, compare(f"{name}, batches of {batch:,}", "training steps/s", fits, "", None, rounds=3)]


def _public_samples(name: str, solver: DeepCFR, boards: int) -> Benchmark:
    """Samples a second of public chance sampling, and of external sampling with as many holes on a board."""
    holes = 16

    def work(public: bool, count: int) -> Work:
        sampling = Sampling(holes, strategies=False, public=public)
        walks = make_traversals(solver.where, solver.threads, sampling)

        def run() -> int:
            return len(walks.run(0, count, _evaluators(solver), 1, np.random.SeedSequence(3)).advantages.key)

        return Work(run, run())

    about = f"{name}, samples of public chance sampling, {holes} holes"
    theirs = work(False, 20 * boards)
    return compare(about, "samples/s", work(True, boards), "external sampling with as many holes", theirs, rounds=3)


def _gpu_steps(name: str, solver: DeepCFR, batch: int) -> list[Benchmark]:
    """Recorded training steps a second, and their arithmetic beside that of a large product of matrices."""
    steps, size = 300, 8192
    memory = solver.memories[0]
    trainer = GraphTrainer(solver.shape, solver.optimisers[0], memory, solver.where, FitSettings(steps, batch, 1e-3))
    product = matrix_product(size, solver.where.device)
    fits = Work(lambda: trainer.fit(solver.networks[0], np.random.SeedSequence(1)), steps)
    about = f"{name}, batches of {batch:,}, networks of {solver.shape.parameters:,} parameters"
    made = compare(about, "training steps/s", fits, "", None, rounds=3)
    rows = len(memory.rows.hand) + batch
    flops = step_flops(solver.shape, rows, len(solver.encoding.nodes), rows)
    best = max(rate(Work(product, 2.0 * size**3), 0.3) for _ in range(3))
    return [made, Benchmark(f"{about}, arithmetic", "TFLOP/s", made.ours * flops / 1e12,
                            f"a product of {size:,} x {size:,} in TF32", best / 1e12)]  # fmt: skip


def step_flops(shape: NetworkShape, hands: int, decisions: int, pairs: int) -> float:
    """Arithmetic of a training step: each weight is a product and a sum in the forward pass, in the gradient of the
    weights and in that of the layer below, which embeddings do not have.
    """
    found = 0.0
    for name, size in zip(shape.parts, shape.sizes, strict=True):
        if name.endswith("_bias") or name in CONSTANTS:
            continue
        if name == "head":
            size //= decisions  # a pair reads that of its decision
        if name in ("hole", "board"):
            inputs = shape.rules.deck.size * (1 if name == "hole" else shape.hands.deals - 1)
            found += 2 * 2 * hands * inputs * shape.hidden
        else:
            rows = hands if "card" in name else decisions if "bet" in name else pairs
            found += 3 * 2 * rows * size
    return found


def _evaluators(solver: DeepCFR, kind: type[Evaluator] = Evaluator) -> tuple[Evaluator, Evaluator]:
    one, two = (kind(solver.where, Network(solver.shape, network[None])) for network in solver.networks)
    return one, two


def _traverse(solver: DeepCFR, count: int) -> None:
    seed = np.random.SeedSequence(solver.memories[0].seen)  # other deals each time
    found = solver.traversals.run(0, count, _evaluators(solver), 1, seed)
    solver.memories[0].add(found.advantages, seed)
    solver.strategies[1].add(found.strategies, seed)


def _fit(solver: DeepCFR, steps: int, batch: int) -> None:
    how = FitSettings(steps, batch, solver.settings.learning_rate)
    train_network(
        solver.shape, solver.networks[0], solver.optimisers[0], solver.memories[0], solver.where, how,
        np.random.SeedSequence(1),
    )  # fmt: skip


class _Timed(Evaluator):
    """Counts the seconds of its answers."""

    seconds = 0.0

    def hands_of(self, keys: Tensor, multi_hot: Tensor) -> Hands:
        start = time.perf_counter()
        found = super().hands_of(keys, multi_hot)
        self._stop(start, found.cards)
        return found

    def rows(self, hands: Hands, hand: Tensor, decision: Tensor) -> Tensor:
        start = time.perf_counter()
        return self._stop(start, super().rows(hands, hand, decision))

    def grid(self, hands: Hands, decision: Tensor) -> Tensor:
        start = time.perf_counter()
        return self._stop(start, super().grid(hands, decision))

    def _stop(self, start: float, found: Tensor) -> Tensor:
        found.flatten()[0].item()  # waits for a GPU
        self.seconds += time.perf_counter() - start
        return found


def _network_share(name: str, solver: DeepCFR, count: int) -> Benchmark:
    """The share of a traversal's time that networks take; the rest deals, walks and matches regrets."""
    timed = _evaluators(solver, _Timed)
    start = time.perf_counter()
    solver.traversals.run(0, count, timed, 1, np.random.SeedSequence(2))
    total = time.perf_counter() - start
    inside = sum(evaluator.seconds for evaluator in timed if isinstance(evaluator, _Timed))
    share = inside / (total * solver.threads)
    return Benchmark(f"{name}, share of traversals in the network", "of the time", share, "", 0)
