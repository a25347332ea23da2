"""Deep CFR and SD-CFR learn, a resumed run is the same run, and OpenSpiel agrees on what was learnt."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyspiel
import pytest

from engines import information_states
from equipoise import build_tree, exploitability
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.blueprint import profile_agent
from equipoise.runs.deep_recipe import DeepRecipe
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import BettingTree
from equipoise.tree.infosets import SlotLayout

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

import torch

from equipoise.deep.learner import DeepCFR
from equipoise.deep.mixture import Mixture
from equipoise.deep.network import Network

KUHN_BOUND, LEDUC_BOUND = 20, 300  # milli-antes per game
KUHN_ITERATIONS, LEDUC_ITERATIONS = 40, 45
ALGORITHMS = ("sd-cfr", "deep-cfr")
KUHN = {"hidden": 32, "traversals": 3000, "steps": 100, "batch": 4096, "learning_rate": 0.002, "warm_start": True}
LEDUC = {"hidden": 32, "traversals": 1000, "steps": 50, "batch": 8192, "learning_rate": 0.005, "warm_start": True}
PUBLIC = {"sampling": "public", "holes": 5, "traversals": 60}
BESIDE = {"strength": True, "table": 8, "heads": True, "sums": 0}  # a table, and samples that are held out
TINY = {"hidden": 4, "traversals": 20, "steps": 3, "batch": 32, "memory": 100}


@cache
def tree_of(game: str) -> BettingTree:
    return build_tree(game)


@cache
def trained(game: str, algorithm: str, iterations: int, seed: int = 1, **more: Any) -> Mixture:
    settings = {"average_steps": 1000, **{"kuhn": KUHN, "leduc": LEDUC}[game], **more}
    recipe = DeepRecipe(algorithm=algorithm, memory=200_000, device="cpu", **settings)
    solver = DeepCFR(tree_of(game), recipe, seed=seed)
    if algorithm == "deep-cfr" and iterations == 0:
        return Mixture(solver.where, solver.shape, _untrained(solver), np.ones(1, np.float32), is_strategy=True)
    solver.run(iterations)
    return solver.mixture()


def _untrained(solver: DeepCFR) -> tuple[torch.Tensor, torch.Tensor]:
    one, two = (network[None] for network in solver.networks)
    return one, two


def exploited(mixture: Mixture) -> float:
    """Exploitability in mbb/g."""
    tree = mixture.where.encoding.tree
    buckets = BucketMap.lossless(tree.rules)
    layout = SlotLayout(tree, buckets.buckets)
    agent = profile_agent("networks", Profile(layout, mixture.profile(layout)), buckets)
    return exploitability(tree.rules, agent, threads=1).exploitability


def exploited_by_open_spiel(mixture: Mixture, game: str) -> float:
    """Half of OpenSpiel's NashConv, in thousandths, for the probabilities that the networks play at the table."""
    tree = tree_of(game)
    holes = np.arange(tree.rules.deck.size, dtype=np.uint8)[:, np.newaxis]
    policy, rows = {}, {}
    for text, (node, hole, board, legal) in information_states(tree, game).items():
        if (node, board) not in rows:
            rows[node, board] = mixture.rows(node, list(board), holes).astype(np.float64)
        row = rows[node, board][hole]
        policy[text] = list(zip(legal, (row / row.sum()).tolist(), strict=True))
    return 500 * float(pyspiel.nash_conv(pyspiel.load_game(f"{game}_poker"), pyspiel.TabularPolicy(policy)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_kuhn_is_learnt(algorithm: str) -> None:
    assert exploited(trained("kuhn", algorithm, KUHN_ITERATIONS)) < KUHN_BOUND
    assert exploited(trained("kuhn", algorithm, 0)) > 10 * KUHN_BOUND


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [
        ("sd-cfr", {}),
        ("sd-cfr", PUBLIC),
        ("sd-cfr", {**PUBLIC, **BESIDE}),
        ("deep-cfr", {**PUBLIC, **BESIDE}),
        ("deep-cfr", {**PUBLIC, **BESIDE, "average_steps": 0}),
    ],
    ids=["external", "public", "public, table", "public, table, average", "public, average table"],
)
def test_leduc_is_learnt(algorithm: str, more: dict[str, Any]) -> None:
    assert exploited(trained("leduc", algorithm, LEDUC_ITERATIONS, **more)) < LEDUC_BOUND
    assert exploited(trained("leduc", "sd-cfr", 0)) > 5 * LEDUC_BOUND


@pytest.mark.parametrize(
    ("game", "algorithm", "iterations"),
    [*(("kuhn", name, KUHN_ITERATIONS) for name in ALGORITHMS), ("leduc", "sd-cfr", LEDUC_ITERATIONS)],
)
def test_open_spiel_finds_the_same_exploitability(game: str, algorithm: str, iterations: int) -> None:
    mixture = trained(game, algorithm, iterations)
    assert exploited(mixture) == pytest.approx(exploited_by_open_spiel(mixture, game), abs=0.02)
    untrained = trained(game, algorithm, 0)
    assert exploited(untrained) == pytest.approx({"kuhn": 11 / 24, "leduc": 4.747222222222222 / 2}[game] * 1000)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_resumed_run_has_the_same_bits(algorithm: str) -> None:
    recipe = DeepRecipe(algorithm=algorithm, average_steps=3, device="cpu", **TINY)
    whole, first, second, other = (DeepCFR(tree_of("leduc"), recipe, seed=seed) for seed in (1, 1, 1, 2))
    whole.run(4)
    other.run(4)
    first.run(2)
    second.restore(first.iteration, first.nodes, first.state())
    second.run(2)
    assert (whole.nodes, whole.loss) == (second.nodes, second.loss)
    state, resumed, different = whole.state(), second.state(), other.state()
    assert state.keys() == resumed.keys()
    assert all(np.array_equal(state[name], resumed[name]) for name in state)
    assert not np.array_equal(state["networks"], different["networks"])
    one, two = (solver.mixture().parameters for solver in (whole, second))
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def test_an_average_table_plays_the_mean_strategy_of_each_bucket() -> None:
    more = {**TINY, **PUBLIC, **BESIDE, "hidden": 8, "warm_start": True}
    recipe = DeepRecipe(algorithm="deep-cfr", average_steps=0, device="cpu", **more)
    solver, trains = (
        DeepCFR(tree_of("leduc"), chosen) for chosen in (recipe, recipe.model_copy(update={"average_steps": 9}))
    )
    for one in (solver, trains):
        one.run(12)
    mixture, alone = solver.mixture(), trains.mixture(table_alone=True)
    assert all(torch.equal(a, b) for a, b in zip(mixture.parameters, alone.parameters, strict=True))
    assert not torch.equal(trains.mixture().parameters[0], alone.parameters[0])
    encoding, spread = solver.encoding, 0.0
    for player, memory in enumerate(solver.strategies):
        assert memory.rest.capacity == 1
        for decision in np.flatnonzero(encoding.tree.player[encoding.nodes] == player):
            legal, node = encoding.legal[decision], int(encoding.nodes[decision])
            mean = memory.cells.means(0.1 * memory.usual_weight)[decision].numpy()[:, legal] + 1e-6
            mean /= mean.sum(axis=1, keepdims=True)
            board = [0] if encoding.tree.street[node] else []
            holes = np.arange(len(board), 6, dtype=np.uint8)[:, np.newaxis]
            keys = torch.from_numpy(encoding.hands.of_board(board, holes).view(np.int64))
            played = mixture.rows(node, board, holes)
            assert np.allclose(played, mean[solver.where.buckets_of(keys, recipe.table).numpy()], atol=1e-4)
            spread = max(spread, float(np.ptp(played, axis=0).max()))
    assert spread > 0.3  # buckets differ


@pytest.mark.parametrize("keep", [1, 2, 5])
def test_kept_snapshots_are_evenly_spaced_networks_of_the_whole_run(keep: int) -> None:
    whole = DeepCFR(tree_of("kuhn"), DeepRecipe(device="cpu", **TINY), seed=1)
    some = DeepCFR(tree_of("kuhn"), DeepRecipe(device="cpu", keep=keep, **TINY), seed=1)
    for iteration in range(1, 20):
        whole.run(1)
        some.run(1)
        kept = some.snapshot_iterations
        assert whole.snapshot_iterations == list(range(1, iteration + 2))
        assert 1 <= len(kept) <= keep
        assert len(kept) >= min((keep + 1) // 2, iteration)
        assert len(set(np.diff(kept).tolist())) <= 1
        assert iteration + 1 - kept[-1] < some.stride
        for player in range(2):
            for at, network in zip(kept, some.snapshots[player], strict=True):
                assert np.array_equal(network, whole.snapshots[player][at - 1])
    assert some.mixture().weights.tolist() == kept


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_table_with_every_hand_answers_alone(algorithm: str) -> None:
    """With public chance sampling it is then CFR over sampled boards, and no network is trained."""
    settings = {**LEDUC, **PUBLIC, "strength": True, "table": 20, "traversals": 100, "steps": 2}
    solver = DeepCFR(tree_of("leduc"), DeepRecipe(algorithm=algorithm, average_steps=2, device="cpu", **settings))
    solver.run(100)
    assert all(len(memory) == 0 and memory.seen > 0 for memory in solver.memories)
    mixture = solver.mixture()
    assert exploited(mixture) < 100
    for parameters in mixture.parameters:
        network = Network(solver.shape, parameters)
        assert not network.part["trust"][-1].any() and network.part["table"][-1].any()


def test_the_learning_rate_falls_to_half_and_then_as_the_number_of_iterations_grows() -> None:
    constant, falling = DeepRecipe(learning_rate=0.01), DeepRecipe(learning_rate=0.01, rate_half=50)
    assert constant.rate_of(1) == constant.rate_of(1000) == falling.rate_of(1) == 0.01
    assert falling.rate_of(51) == pytest.approx(0.005)
    assert falling.rate_of(5001) == pytest.approx(0.01 / 101)
    learnt = []
    for half in (0, 1):
        settings = {**TINY, "growth": 1, "warm_start": True, "rate_half": half}
        solver = DeepCFR(tree_of("leduc"), DeepRecipe(device="cpu", **settings))
        solver.run(20)
        before = solver.networks[0].clone()
        solver.run(1)
        learnt.append(float((solver.networks[0] - before)[: solver.shape.parameters].norm()))
    assert learnt[1] < 0.2 * learnt[0]
