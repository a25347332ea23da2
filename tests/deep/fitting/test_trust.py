"""Trust in a network is what samples bear out that it was not trained on."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise import build_tree

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

import torch

from equipoise.deep.encoding import Encoding
from equipoise.deep.fitting.adam import Adam
from equipoise.deep.fitting.batch_tensors import BatchTensors
from equipoise.deep.fitting.batches import Batches, Merged, Which
from equipoise.deep.fitting.memory import Memory
from equipoise.deep.fitting.on_cpu import FitSettings, train_network
from equipoise.deep.fitting.on_gpu import GraphTrainer
from equipoise.deep.fitting.reservoir import HELD
from equipoise.deep.fitting.trust import PRIOR, Trust, answers, judge
from equipoise.deep.network import Network
from naive_deep import cards_of_key, network_output, random_networks, random_samples

TABLE, COUNT = 2, 4000  # fewer buckets than hands on every street
LEDUC = Encoding(build_tree("leduc"), strength=True)
SHAPE = LEDUC.shape(8, True, TABLE)
WHERE = LEDUC.on(torch.device("cpu"))


def memory_of(count: int, most_sums: int = 0) -> Memory:
    memory = Memory(WHERE, 0, COUNT, 1.0, most_sums, TABLE)
    memory.add(random_samples(LEDUC, count, 0), np.random.SeedSequence(1))
    return memory


def batch_of(memory: Memory, size: int) -> Merged:
    scale = np.ones((len(LEDUC.nodes), LEDUC.actions), np.float32)
    batches = Batches(size, LEDUC.decision, LEDUC.actions)
    return batches.draw(memory.rest, memory.iteration_weights, scale, np.array([3], np.uint64))


@pytest.mark.parametrize("count", [1, HELD - 1, HELD, HELD + 1, 100, 16 * 20 + 1])
def test_every_place_is_learnt_or_held_out(count: int) -> None:
    memory = memory_of(count)
    learnt, held = Which.learnt(memory.rest), Which.held_out(memory.rest)

    def places(which: Which) -> list[int]:
        return [at * which.stride if which.stride else at + at // which.skip + which.first for at in range(which.size)]

    assert sorted(places(learnt) + (places(held) if memory.rest.held else [])) == list(range(count))
    assert memory.rest.held == (-(-count // HELD) if count >= HELD else 0)


def test_answers_are_those_of_the_network_and_what_its_table_leaves() -> None:
    network = random_networks(SHAPE, 1, seed=4)
    batch = batch_of(memory_of(300), 40)
    out, rest, decisions = answers(Network(SHAPE, network), BatchTensors.of(batch, WHERE, TABLE), WHERE)
    plain = Network(SHAPE, network.clone())
    plain.part["table"].zero_()
    for pair, (hand, spot) in enumerate(zip(batch.hand, batch.spot, strict=True)):
        decision, cards = int(batch.decision[spot]), cards_of_key(int(batch.key[hand]))
        whole = network_output(LEDUC, SHAPE, network[0].double(), cards, decision).numpy()
        alone = network_output(LEDUC, SHAPE, plain.parameters[0].double(), cards, decision).numpy()
        legal = LEDUC.legal[decision]
        assert decisions[pair] == decision
        assert out[pair].numpy() == pytest.approx(np.where(legal, alone, 0), rel=1e-4, abs=1e-4)
        assert rest[pair].numpy() == pytest.approx(np.where(legal, batch.target[pair] - whole + alone, 0), abs=1e-4)


@pytest.mark.parametrize(("share", "noise"), [(1.0, 0.0), (0.5, 0.2), (0.0, 0.2), (-1.0, 0.2)])
def test_trust_is_the_share_that_targets_bear_out(share: float, noise: float) -> None:
    """Answers that targets repeat, repeat by half, ignore or contradict."""
    network = Network(SHAPE, random_networks(SHAPE, 1, seed=4))
    batch, trust = batch_of(memory_of(COUNT), COUNT), Trust.zeros(len(LEDUC.nodes), LEDUC.actions, WHERE.device)
    tensors = BatchTensors.of(batch, WHERE, TABLE)
    out, rest, _ = answers(network, tensors, WHERE)
    generator = torch.Generator().manual_seed(1)
    for _ in range(40):
        target = tensors.target - rest + share * out + noise * torch.randn(out.shape, generator=generator)
        judge(trust, network, [tensors._replace(target=target)], WHERE, 100 * COUNT, torch.ones(1))
    enough = trust.square.numpy().min(axis=1, where=LEDUC.legal, initial=1e9) > 20 * PRIOR
    own = np.flatnonzero((LEDUC.tree.player[LEDUC.nodes] == 0) & enough)
    assert len(own) > 5
    found = network.part["trust"][0].numpy()
    assert np.abs(found - max(share, 0))[own][LEDUC.legal[own]].max() < 0.15
    other = LEDUC.tree.player[LEDUC.nodes] == 1  # nothing is known of them: about as their street
    assert (np.abs(found[other][LEDUC.legal[other]] - max(share, 0)) < 0.2).all()


def test_trust_begins_at_one_and_forgets() -> None:
    trust = Trust.zeros(len(LEDUC.nodes), LEDUC.actions, WHERE.device)
    assert (trust.shares(WHERE) == 1).all()
    trust.square[:], trust.product[:] = 1e6, -1e6
    assert (trust.shares(WHERE) == 0).all()
    for _ in range(2000):
        trust.decay()
    assert (trust.shares(WHERE) > 0.99).all()


@pytest.mark.parametrize("trainer", ["on a CPU", "on a GPU"])
def test_networks_are_not_trained_on_what_is_held_out(trainer: str) -> None:
    torch.set_num_threads(1)
    start = SHAPE.start(torch.Generator().manual_seed(1))
    settings = FitSettings(steps=30, batch=64, learning_rate=0.01)

    def fit(changed: slice) -> torch.Tensor:
        memory, adam = memory_of(COUNT), Adam(SHAPE.parameters, WHERE.device)
        memory.rest.samples.target[changed] += 100
        if trainer == "on a GPU":
            return GraphTrainer(SHAPE, adam, memory, WHERE, settings).fit(start, np.random.SeedSequence(5))[0]
        return train_network(SHAPE, start, adam, memory, WHERE, settings, np.random.SeedSequence(5))[0]

    learnt = slice(SHAPE.parameters)
    same, held, other = fit(slice(0)), fit(slice(None, None, HELD)), fit(slice(1, None, HELD))
    assert torch.equal(same[learnt], held[learnt])
    assert not torch.equal(same[learnt], other[learnt])
    assert not torch.equal(same, held)  # trust differs
