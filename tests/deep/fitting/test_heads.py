"""Heads by least squares: against NumPy's, and in a training."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise import build_tree

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

import torch

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.blueprint import profile_agent
from equipoise.deep.fitting.heads import RIDGE, HeadSums
from equipoise.deep.learner import DeepCFR
from equipoise.deep.mixture import Mixture
from equipoise.deep.network import Network
from equipoise.measure.best_response import exploitability
from equipoise.runs.deep_recipe import DeepRecipe
from equipoise.strategy.profile import Profile
from equipoise.tree.infosets import SlotLayout

DECISIONS, HOLES, HIDDEN, BUCKETS, ACTIONS, WALKS = 3, 400, 4, 5, 2, 3
LEDUC = {
    "hidden": 16, "heads": True, "strength": True, "table": 2, "sampling": "public", "holes": 4, "traversals": 150,
    "growth": 1, "steps": 20, "batch": 512, "learning_rate": 0.005, "warm_start": True, "sums": 0, "memory": 100_000,
    "solve_heads": 20, "device": "cpu",
}  # fmt: skip


def walks(seed: int) -> list[tuple[torch.Tensor, ...]]:
    """Features, weights, weighted targets and buckets; targets follow features within buckets, and buckets."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(WALKS):
        bucket = rng.integers(BUCKETS, size=HOLES)
        feature = rng.normal(size=(DECISIONS, HOLES, HIDDEN)) + bucket[:, np.newaxis]
        weight = rng.random((DECISIONS, HOLES))
        target = np.moveaxis(feature[..., :ACTIONS], 2, 1) * 0.3 - bucket + rng.normal(size=(DECISIONS, ACTIONS, HOLES))
        arrays = (feature, weight, target * weight[:, np.newaxis], np.eye(BUCKETS)[bucket])
        found.append(tuple(torch.from_numpy(array.astype(np.float32)) for array in arrays))
    return found


def summed(parts: list[tuple[torch.Tensor, ...]], times: list[float]) -> HeadSums:
    sums = HeadSums.zeros(DECISIONS, BUCKETS, HIDDEN, ACTIONS, torch.device("cpu"))
    for part, each in zip(parts, times, strict=True):
        sums.add(HeadSums.of(*part), each)
    return sums


def test_heads_are_the_least_squares_within_buckets() -> None:
    """A regression on features and on one constant for each bucket, weighted by walk and hole."""
    parts, times = walks(1), [1.0, 2.0, 3.0]
    scale = torch.tensor([[2.0, 0.5]]).expand(DECISIONS, -1).double()
    heads, said = summed(parts, times).solve(scale, unit=1e-9)
    for decision in range(DECISIONS):
        inputs, targets, weights, buckets = [], [], [], []
        for (feature, weight, target, member), each in zip(parts, times, strict=True):
            inputs.append(np.concatenate([feature[decision].numpy(), member.numpy()], axis=1))
            targets.append((target[decision] / weight[decision]).T.numpy())
            weights.append(each * weight[decision].numpy())
            buckets.append(member.numpy())
        root = np.sqrt(np.concatenate(weights))[:, np.newaxis]
        found = np.linalg.lstsq(root * np.concatenate(inputs), root * np.concatenate(targets), rcond=None)[0]
        wanted = found[:HIDDEN] / scale[decision].numpy()
        assert heads[decision].numpy() == pytest.approx(wanted, abs=2e-3)
        assert np.abs(wanted).max() > 0.1
        share = np.concatenate(weights)[:, np.newaxis] * np.concatenate(buckets)
        mean = (share.T @ np.concatenate(inputs)[:, :HIDDEN]) / share.sum(axis=0)[:, np.newaxis]
        assert said[decision].numpy() == pytest.approx(mean @ wanted, abs=0.02)
    between = np.abs(np.linalg.lstsq(np.concatenate(inputs)[:, :HIDDEN], np.concatenate(targets), rcond=None)[0])
    assert np.abs(between - np.abs(found[:HIDDEN])).max() > 0.1  # without the buckets, something else would come out


def test_few_samples_say_little() -> None:
    sums, scale = summed(walks(1), [1.0] * WALKS), torch.ones((DECISIONS, ACTIONS), dtype=torch.float64)
    plain, ridged = (sums.solve(scale, unit)[0].abs().sum() for unit in (1e-9, 1.0))
    assert ridged < plain / (1 + RIDGE / (4 * WALKS * HOLES))
    assert sums.solve(scale, 1e6)[0].abs().max() < 1e-3


def test_a_head_without_a_solution_says_nothing() -> None:
    sums = summed(walks(1), [1.0] * WALKS)
    sums.square[1] -= 1e6 * torch.eye(HIDDEN)
    heads, said = sums.solve(torch.ones((DECISIONS, ACTIONS), dtype=torch.float64), 1e-9)
    assert not heads[1].any() and not said[1].any()
    assert heads[0].any() and heads[2].any() and torch.isfinite(heads).all()


def learner() -> DeepCFR:
    return DeepCFR(build_tree("leduc"), DeepRecipe.model_validate(LEDUC), seed=3)


def parts_of(solver: DeepCFR, player: int) -> dict[str, torch.Tensor]:
    return {name: part.clone() for name, part in Network(solver.shape, solver.networks[player][None]).part.items()}


def test_layers_stay_heads_follow_and_a_resumed_run_has_the_same_bits() -> None:
    solver, resumed = learner(), learner()
    solver.run(20)
    before = parts_of(solver, 1)
    solver.run(3)
    middle = parts_of(solver, 1)
    resumed.restore(solver.iteration, solver.nodes, solver.state())
    solver.run(2)
    resumed.run(2)
    after = parts_of(solver, 1)
    for name, part in before.items():
        stays = not name.startswith(("out", "head", "scale", "trust", "table"))
        assert torch.equal(part, after[name]) == stays, name
    assert not torch.equal(middle["head"], after["head"]) and not after["out"].any() and not after["head_bias"].any()
    for one, two in zip(solver.networks, resumed.networks, strict=True):
        assert torch.equal(one, two)


def test_solved_heads_tell_hands_of_a_bucket_apart() -> None:
    """Two buckets are far too few for Leduc: what is left of its exploitability is what heads know."""
    torch.set_num_threads(1)
    solver = learner()
    solver.run(200)
    layout = SlotLayout(solver.encoding.tree, (lossless := BucketMap.lossless(solver.encoding.tree.rules)).buckets)

    def measured(mixture: Mixture) -> float:
        agent = profile_agent("networks", Profile(layout, mixture.profile(layout)), lossless)
        return exploitability("leduc", agent, threads=1).exploitability

    mixture = solver.mixture()
    without = [parameters.clone() for parameters in mixture.parameters]
    for parameters in without:
        Network(mixture.shape, parameters).part["trust"].zero_()
    alone = Mixture(mixture.where, mixture.shape, (without[0], without[1]), mixture.weights)
    assert measured(mixture) < 150 < 600 < measured(alone)
