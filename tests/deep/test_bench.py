"""The benchmarks of networks count their arithmetic as torch does."""

import pytest

torch = pytest.importorskip("torch")

import numpy as np
from torch.utils.flop_counter import FlopCounterMode

from equipoise.bench.deep import step_flops
from equipoise.deep.fitting.batch_tensors import BatchTensors
from equipoise.deep.fitting.gradient import backward
from equipoise.deep.learner import DeepCFR
from equipoise.deep.network import Network
from equipoise.runs.deep_recipe import DeepRecipe
from equipoise.tree.betting_tree import build_tree


@pytest.mark.parametrize("game", ["kuhn", "leduc"])
def test_the_arithmetic_of_a_step(game: str) -> None:
    settings = DeepRecipe(hidden=64, traversals=50, growth=1, steps=2, device="cpu")
    learner = DeepCFR(build_tree(game), settings)
    learner.run(1)
    memory, shape = learner.memories[0], learner.shape
    batch = BatchTensors.of(memory.summed(memory.scales()), learner.where)
    network, slopes = Network(shape, learner.networks[0][None]), Network(shape, torch.zeros(1, shape.length))
    with FlopCounterMode(display=False) as counter:
        backward(network, slopes, batch, learner.where, is_strategy=False)
    ours = step_flops(shape, len(batch.multi_hot), len(batch.decision), len(batch.hand))
    assert len(np.unique(batch.hand.numpy())) > 1
    # torch also counts the tables of embedded cards; ours has a gradient that the first betting layer does not need
    assert ours == pytest.approx(counter.get_total_flops(), rel=0.02)
