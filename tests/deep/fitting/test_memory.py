"""A memory holds every sample: in exact sums where information sets are few, in a reservoir elsewhere."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from equipoise import build_tree

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

import torch

from equipoise.deep.encoding import Encoding
from equipoise.deep.fitting.memory import FEW, Memory
from equipoise.deep.fitting.reservoir import Samples
from equipoise.runs.deep_recipe import DeepRecipe
from equipoise.runs.network_size import needs_reservoir, streets_with_sums
from naive_deep import on_cpu, random_samples

COUNT = 6000
MOST_SUMS = DeepRecipe().sums
CASES = [("kuhn", MOST_SUMS), ("leduc", MOST_SUMS), ("leduc", 60), ("leduc", 0), ("holdem.flop", MOST_SUMS)]


@cache
def encoded(game: str) -> Encoding:
    return Encoding(build_tree(game), strength=game == "holdem.flop")


def filled(game: str, most: int, player: int, power: float = 1.0) -> tuple[Memory, Samples]:
    samples = random_samples(encoded(game), COUNT, player)
    memory = Memory(on_cpu(encoded(game)), player, COUNT, power, most)
    for part in range(3):
        memory.add(samples.take(slice(part, None, 3)), np.random.SeedSequence(part))
    return memory, samples


def naive_sums(samples: Samples, power: float) -> dict[tuple[int, int], tuple[float, np.ndarray]]:
    """By node and key: the share of its weight, and the weighted mean."""
    weights = samples.iteration.astype(np.float64) ** power
    found = {}
    for node, key in set(zip(samples.node.tolist(), samples.key.tolist(), strict=True)):
        here = (samples.node == node) & (samples.key == key)
        mean = np.average(samples.target[here].astype(np.float64), axis=0, weights=weights[here])
        found[node, key] = float(weights[here].sum() / weights.sum()), mean
    return found


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("game", "most"), CASES)
def test_nothing_is_lost(game: str, most: int, player: int) -> None:
    encoding = encoded(game)
    memory, samples = filled(game, most, player, power=1.5)
    exact = naive_sums(samples, 1.5)
    tree = encoding.tree
    streets = streets_with_sums(tree, player, most)
    summed = [row for row in exact if tree.street[row[0]] in streets]
    assert bool(summed) == bool(most)
    scale = np.full((len(encoding.nodes), encoding.actions), 2.0, np.float32)
    rows = memory.summed(scale)
    seen = 0
    for hand, spot, weight, target in zip(rows.hand, rows.spot, rows.weight, rows.target, strict=True):
        infoset = int(encoding.nodes[rows.decision[spot]]), int(rows.key[hand])
        assert tree.player[infoset[0]] == player
        if infoset not in exact:
            assert weight == 0 and not target.any()
            continue
        seen += 1
        assert weight == pytest.approx(exact[infoset][0], rel=1e-5)
        assert 2 * target == pytest.approx(exact[infoset][1], rel=1e-4, abs=1e-6)
    assert seen == len(summed)
    kept = memory.rest.samples.take(slice(len(memory.rest)))
    assert len(kept.key) == sum(tree.street[node] not in streets for node in samples.node)
    share = float(memory.iteration_weights[kept.iteration].sum()) / max(len(kept.key), 1)
    assert share + rows.weight.sum() == pytest.approx(1, rel=1e-5)
    if summed:  # means without weights are others
        plain = naive_sums(samples, 0.0)
        assert max(np.abs(plain[row][1] - exact[row][1]).max() for row in summed) > 0.001


@pytest.mark.parametrize(("game", "most"), CASES)
def test_the_scale_of_a_decision_is_the_size_of_its_targets(game: str, most: int) -> None:
    """By action, weighted by iteration; with few samples, about as all others; and the same with sums or without."""
    encoding = encoded(game)
    samples = random_samples(encoding, COUNT, 0)
    samples.target[:] *= 1 + encoding.decision[samples.node][:, np.newaxis]
    samples.target[:, 1] *= 3
    memory = Memory(on_cpu(encoding), 0, COUNT, 1.0, most)
    memory.add(samples, np.random.SeedSequence(1))
    found, one_for_all = memory.scales(), memory.scales(by_decision=False)
    weight = samples.iteration / samples.iteration.mean()
    squares = samples.target.astype(np.float64) ** 2
    usual = np.average(squares.mean(axis=1), weights=weight)
    for decision, node in enumerate(encoding.nodes):
        here, legal = samples.node == node, encoding.legal[decision]
        sums = (weight[here, np.newaxis] * squares[here]).sum(axis=0)
        expected = np.sqrt((sums + FEW * usual) / (weight[here].sum() + FEW))
        assert found[decision][legal] == pytest.approx(expected[legal], rel=1e-5)
        assert (found[decision][~legal] == 1).all()
        assert one_for_all[decision][legal] == pytest.approx(np.sqrt(usual), rel=1e-5)
    own = np.flatnonzero(encoding.tree.player[encoding.nodes] == 0)
    assert found[own[-1], 1] > 1.5 * found[own[-1], 0] > 1.5 * found[own[0], 0]


@pytest.mark.parametrize(("game", "most"), CASES)
def test_it_comes_back_from_its_arrays(game: str, most: int) -> None:
    one, samples = filled(game, most, 1)
    two = Memory(on_cpu(encoded(game)), 1, COUNT, 1.0, most)
    two.restore(one.latest, {name: np.array(array) for name, array in one.arrays().items()})
    for memory in (one, two):
        memory.add(samples.take(slice(0, 500)), np.random.SeedSequence(9))
    assert len(one) == len(two) and one.seen == two.seen == COUNT + 500 and one.weight == two.weight
    for a, b in zip((*one.sums, *one.rest.samples), (*two.sums, *two.rest.samples), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("buckets", [1, 4, 255])
def test_the_table_has_the_means_of_percentile_buckets(buckets: int) -> None:
    """Of all samples, in sums or not; a cell with few samples is about as its decision."""
    encoding = Encoding(build_tree("leduc"), strength=True)
    samples = random_samples(encoding, COUNT, 0)
    samples.target[:] += (samples.key >> np.uint64(56)).astype(np.float32)[:, np.newaxis] / 64
    memory = Memory(on_cpu(encoding), 0, COUNT, 1.0, 60, buckets)
    for part in range(3):
        memory.add(samples.take(slice(part, None, 3)), np.random.SeedSequence(part))
    scale = np.full((len(encoding.nodes), encoding.actions), 2.0, np.float32)
    found = (memory.table() / torch.from_numpy(scale)[:, None]).numpy()
    weight = samples.iteration / samples.iteration.mean()
    bucket = ((samples.key >> np.uint64(56)).astype(np.int64) - 1) * buckets // 255
    filled_cells = 0
    for decision, node in enumerate(encoding.nodes):
        at = samples.node == node
        usual = (weight[at, None] * samples.target[at]).sum(axis=0) / (weight[at].sum() + FEW)
        for cell in range(buckets):
            here = at & (bucket == cell)
            filled_cells += bool(here.any())
            total = (weight[here, None] * samples.target[here].astype(np.float64)).sum(axis=0)
            expected = (total + FEW * usual) / (weight[here].sum() + FEW)
            assert 2 * found[decision, cell] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    spread = np.ptp(found[encoding.tree.player[encoding.nodes] == 0], axis=1).max()
    assert filled_cells > 10 * min(buckets, 3) and (spread > 0.5 or buckets == 1)


def test_a_strategy_network_that_answers_nothing_plays_the_mean_of_its_table() -> None:
    encoding, buckets = Encoding(build_tree("leduc"), strength=True), 3
    samples = random_samples(encoding, 10 * COUNT, 1)
    legal = encoding.legal[encoding.decision[samples.node]]
    samples.target[:] = np.where(legal, np.abs(samples.target) + 0.01, 0)
    samples.target[:, 0] *= 1 + (samples.key >> np.uint64(56)) / 64  # the strong play the first action more
    samples.target[:] /= samples.target.sum(axis=1, keepdims=True)
    memory = Memory(on_cpu(encoding), 1, COUNT, 1.0, 0, buckets)
    memory.add(samples, np.random.SeedSequence(1))
    played = np.exp(memory.log_table().numpy())
    played /= played.sum(axis=2, keepdims=True)
    bucket = ((samples.key >> np.uint64(56)).astype(np.int64) - 1) * buckets // 255
    gaps, uniform = [], []
    for decision, node in enumerate(encoding.nodes):
        for cell in range(buckets):
            here = (samples.node == node) & (bucket == cell)
            if here.sum() > 200:
                mean = np.average(samples.target[here], axis=0, weights=samples.iteration[here])
                gaps.append(np.abs(played[decision, cell] - mean).max())
                uniform.append(np.abs(mean - encoding.legal[decision] / encoding.legal[decision].sum()).max())
    assert len(gaps) > 5 and max(gaps) < 0.05 and max(uniform) > 0.2


def test_only_large_games_need_a_reservoir() -> None:
    for game, needs in (("kuhn", False), ("leduc", False), ("holdem.flop", True)):
        assert needs_reservoir(build_tree(game), MOST_SUMS) == needs
        assert needs_reservoir(build_tree(game), 0)
    assert [streets_with_sums(build_tree("holdem.limit"), player, MOST_SUMS) for player in range(2)] == [[0], [0]]
