"""A merged batch is the same batch."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from equipoise import build_tree

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

from equipoise.deep.encoding import Encoding
from equipoise.deep.fitting.batches import Batches
from equipoise.deep.fitting.reservoir import Reservoir, Samples
from equipoise.deep.traversals.deals import Dealer
from naive_deep import random_words

WEIGHTS = np.array([9, 0.5, 1.0, 1.5], np.float32)


def scale_of(decision: int, actions: int) -> list[float]:
    """What the targets of a decision are divided by, another number for each action."""
    return [1.5 + decision % 7 + 0.25 * action for action in range(actions)]


def filled(encoding: Encoding, count: int) -> Reservoir:
    """A memory of few different hands and nodes, with targets of its own for every sample."""
    rng = np.random.default_rng(1)
    dealt = Dealer(encoding.hands).deal(np.random.SeedSequence(2), 20).keys[:, :, 0]
    memory = Reservoir(2 * count, encoding.actions)
    nodes = rng.choice(encoding.nodes, count)
    keys = dealt[rng.integers(20, size=count), 0, encoding.tree.street[nodes]]
    targets = rng.normal(size=(count, encoding.actions)).astype(np.float32)
    iterations = rng.integers(1, 4, count).astype(np.uint32)
    memory.add(Samples(keys, nodes.astype(np.int32), iterations, targets), np.random.SeedSequence(3))
    return memory


def unmerged(memory: Reservoir, count: int, state: int, decision: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """By hand and decision: the sum of the weights of a batch drawn with the same numbers, and of weight * target."""
    words, size, samples = random_words(state), len(memory), memory.samples
    found: dict[tuple[int, int], np.ndarray] = defaultdict(lambda: np.zeros(1 + samples.target.shape[1]))
    for _ in range(count):
        at = (next(words) >> 32) * size >> 32
        weight = float(WEIGHTS[samples.iteration[at]]) / count
        sums = found[int(samples.key[at]), int(decision[samples.node[at]])]
        sums += weight * np.array([1, *samples.target[at] / scale_of(int(decision[samples.node[at]]), sums.size - 1)])
    return found


@pytest.mark.parametrize("game", ["kuhn", "leduc", "holdem.flop"])
def test_the_sums_are_those_of_the_samples(game: str) -> None:
    encoding = Encoding(build_tree(game))
    memory, random = filled(encoding, 700), np.array([5], np.uint64)
    batches = Batches(400, encoding.decision, encoding.actions)
    scales = np.array([scale_of(decision, encoding.actions) for decision in range(len(encoding.nodes))], np.float32)
    for _ in range(3):  # the tables are used again
        expected = unmerged(memory, 400, int(random[0]), encoding.decision)
        batch = batches.draw(memory, WEIGHTS, scales, random)
        pairs = list(zip(batch.key[batch.hand].tolist(), batch.decision[batch.spot].tolist(), strict=True))
        assert len(set(pairs)) == len(pairs) < 400
        assert set(pairs) == expected.keys()
        assert len(np.unique(batch.key)) == len(batch.key)
        assert len(np.unique(batch.decision)) == len(batch.decision)
        for pair, weight, target in zip(pairs, batch.weight, batch.target, strict=True):
            assert weight == pytest.approx(expected[pair][0], rel=1e-5)
            assert weight * target == pytest.approx(expected[pair][1:], abs=1e-5)
