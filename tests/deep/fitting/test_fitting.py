"""The gradient written by hand is the true one; training finds what the memory holds."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from equipoise import build_tree

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

import torch

from equipoise.deep.encoding import DeviceEncoding, Encoding
from equipoise.deep.fitting.adam import Adam
from equipoise.deep.fitting.batch_tensors import BatchTensors
from equipoise.deep.fitting.batches import Batches, Merged
from equipoise.deep.fitting.gradient import backward
from equipoise.deep.fitting.memory import Memory
from equipoise.deep.fitting.on_cpu import FitSettings, rate_share, train_network
from equipoise.deep.fitting.on_gpu import GraphTrainer
from equipoise.deep.network import CONSTANTS, Network, NetworkShape
from naive_deep import cards_of_key, legal_softmax, network_output, on_cpu, random_networks, random_samples

HIDDEN, TABLE = 6, 9
CUTS = (
    "card2 skip",
    "card3 skip",
    "bet2 skip",
    "cards",
    "betting",
    "joint2 skip",
    "joint3 skip",
    "mean",
    "spread",
    "head",
)


class Double(DeviceEncoding):
    """An encoding in float64."""

    def multi_hot(self, keys: np.ndarray) -> torch.Tensor:
        return super().multi_hot(keys).double()


@cache
def encoded(game: str) -> Encoding:
    return Encoding(build_tree(game.split(" with ")[0]), "strength" in game)


def shape_of(game: str) -> NetworkShape:
    return encoded(game).shape(HIDDEN, "heads" in game, TABLE if "table" in game else 0)


def memory_of(encoding: Encoding, count: int, most_sums: int = 0, table: int = 0) -> Memory:
    """The samples of player 0 in a memory."""
    memory = Memory(on_cpu(encoding), 0, count, 1.0, most_sums, table)
    memory.add(random_samples(encoding, count, player=0), np.random.SeedSequence(6))
    return memory


def drawn(game: str) -> Merged:
    encoding = encoded(game)
    weights = np.array([0, 0.5, 1, 1.5], np.float32)
    batches = Batches(60, encoding.decision, encoding.actions)
    scale = np.full((len(encoding.nodes), encoding.actions), 2.0, np.float32)
    batch = batches.draw(memory_of(encoding, 300).rest, weights, scale, np.array([5], np.uint64))
    return batch._replace(weight=batch.weight.astype(np.float64), target=batch.target.astype(np.float64))


def by_hand(game: str, batch: Merged, network: torch.Tensor, is_strategy: bool) -> tuple[float, torch.Tensor]:
    encoding = encoded(game)
    where = Double(encoding, torch.from_numpy(encoding.features).double(), torch.from_numpy(encoding.legal))
    shape, gradient = shape_of(game), torch.full_like(network, torch.nan)
    stacks = [Network(shape, vector[None]) for vector in (network, gradient)]
    for stack in stacks:
        stack.marks = stack.marks.double()
    with torch.inference_mode():
        loss = backward(stacks[0], stacks[1], BatchTensors.of(batch, where, shape.table), where, is_strategy)
    return float(loss), gradient


def automatic(
    game: str, batch: Merged, network: torch.Tensor, is_strategy: bool, cut: str = ""
) -> tuple[float, torch.Tensor]:
    """The loss and its gradient, pair by pair."""
    encoding = encoded(game)
    parameters = network.clone().requires_grad_()
    loss = torch.zeros((), dtype=torch.float64)
    for hand, spot, weight, target in zip(batch.hand, batch.spot, batch.weight, batch.target, strict=True):
        decision = int(batch.decision[spot])
        cards = cards_of_key(int(batch.key[hand]))
        output = network_output(encoding, shape_of(game), parameters, cards, decision, cut)
        actions = int(encoding.legal[decision].sum())
        output = legal_softmax(output, actions) if is_strategy else output
        loss = loss + weight * (output - torch.from_numpy(target))[:actions].square().sum()
    loss.backward()
    assert parameters.grad is not None
    return float(loss.detach()), parameters.grad


@pytest.mark.parametrize("is_strategy", [False, True])
@pytest.mark.parametrize(
    "game",
    [
        "kuhn", "leduc", "leduc with strength", "leduc with heads", "holdem.flop with strength and heads",
        "leduc with strength and table",
    ],
)  # fmt: skip
def test_the_gradient_is_that_of_the_loss(game: str, is_strategy: bool) -> None:
    shape, batch = shape_of(game), drawn(game)
    network = random_networks(shape, 1, seed=2)[0].double()
    loss, gradient = by_hand(game, batch, network, is_strategy)
    expected_loss, expected = automatic(game, batch, network, is_strategy)
    assert loss == pytest.approx(expected_loss, rel=1e-12)
    parts = zip(shape.parts, torch.split(gradient, shape.sizes), torch.split(expected, shape.sizes), strict=True)
    for name, found, true in parts:
        if name in CONSTANTS:  # not learnt
            assert name == "table" or not true.any()
            continue
        assert float(true.abs().max()) > 1e-6, name
        assert torch.allclose(found, true, rtol=1e-9, atol=1e-13), name


@pytest.mark.parametrize("cut", CUTS)
def test_a_gradient_that_forgets_a_term_differs(cut: str) -> None:
    game = "leduc with heads" if cut == "head" else "leduc"
    network, batch = random_networks(shape_of(game), 1, seed=2)[0].double(), drawn(game)
    loss, gradient = by_hand(game, batch, network, False)
    wrong_loss, wrong = automatic(game, batch, network, False, cut)
    assert loss == pytest.approx(wrong_loss, rel=1e-12)
    learnt = slice(shape_of(game).parameters)
    assert not torch.allclose(gradient[learnt], wrong[learnt], rtol=1e-3, atol=1e-6)


def test_the_learning_rate_rises_and_falls_to_zero() -> None:
    shares = [rate_share(step, 100) for step in range(101)]
    assert shares[0] == 0.05 and max(shares) < 1 and shares[-1] == 0
    assert shares[: (top := shares.index(max(shares))) + 1] == sorted(shares[: top + 1]) and 10 < top < 25
    assert shares[top:] == sorted(shares[top:], reverse=True)
    assert rate_share(0, 1) == 1


@pytest.mark.parametrize(
    ("most_sums", "table"), [(0, 0), (100, 0), (0, 2), (100, 2)], ids=["single samples", "sums", "table", "both"]
)
@pytest.mark.parametrize("trainer", ["on a CPU", "on a GPU"])
def test_training_finds_the_mean_of_each_information_set(trainer: str, most_sums: int, table: int) -> None:
    """The steps for a GPU also run on a CPU, without being recorded. Two of Kuhn's three cards share a bucket."""
    encoding = encoded("kuhn with strength" if table else "kuhn")
    shape = encoding.shape(16, table=table)
    memory, where = memory_of(encoding, 2000, most_sums, table), encoding.on(torch.device("cpu"))
    assert len(memory.rest) == (0 if most_sums else 2000)
    torch.set_num_threads(1)
    start = shape.start(torch.Generator().manual_seed(1))
    settings = FitSettings(steps=800, batch=256, learning_rate=0.01)

    def fit(seed: int) -> tuple[torch.Tensor, float]:
        fresh, adam = memory_of(encoding, 2000, most_sums, table), Adam(shape.parameters, where.device)
        if trainer == "on a GPU":
            return GraphTrainer(shape, adam, fresh, where, settings).fit(start, np.random.SeedSequence(seed))
        return train_network(shape, start, adam, fresh, where, settings, np.random.SeedSequence(seed))

    parameters, loss = fit(1)
    again, _ = fit(1)
    other, _ = fit(2)
    assert torch.equal(parameters, again)
    assert torch.equal(parameters, other) == (most_sums > 0)  # with sums, nothing is drawn
    if trainer == "on a CPU":  # merged batches do not show how far targets of one information set are apart
        assert loss < 0.2
    samples, errors, untrained = random_samples(encoding, 2000, player=0), [], []
    scales = memory.scales()
    trust = parameters[shape.parameters + scales.size :][: scales.size if table else 0].numpy()
    constants = np.concatenate([scales.ravel(), trust, (memory.table() / torch.from_numpy(scales)[:, None]).ravel()])
    assert parameters[shape.parameters :].numpy() == pytest.approx(constants, rel=1e-6)
    for node, key in set(zip(samples.node.tolist(), samples.key.tolist(), strict=True)):
        here = (samples.node == node) & (samples.key == key)
        decision = int(encoding.decision[node])
        mean = np.average(samples.target[here], axis=0, weights=samples.iteration[here]) / scales[decision]
        output = network_output(encoding, shape, parameters.double(), cards_of_key(key), decision).numpy()
        errors.append(np.abs(output - mean)[encoding.legal[encoding.decision[node]]].max())
        untrained.append(np.abs(mean).max())
    assert max(errors) < 0.15
    assert max(untrained) > 0.5
