"""Networks as flat vectors: what they compute, and the strategies of their outputs."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from equipoise import build_tree

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

import torch

from equipoise.deep.encoding import Encoding, Evaluator
from equipoise.deep.network import Network, matched, soft
from naive_deep import cards_of_key, legal_softmax, random_networks, regret_matched, scaled_output


@pytest.mark.parametrize(
    "game",
    [
        "kuhn",
        "leduc",
        "holdem.flop",
        "holdem.limit",
        "leduc with strength",
        "holdem.flop with strength and heads",
        "leduc with heads",
        "leduc with strength and table",
        "holdem.flop with strength, heads and table",
    ],
)
def test_a_stack_of_networks_answers_as_each_does_for_one_hand(game: str) -> None:
    encoding = Encoding(build_tree(game.split(" with ")[0]), "strength" in game)
    rules, shape = encoding.tree.rules, encoding.shape(8, "heads" in game, 7 if "table" in game else 0)
    networks = random_networks(shape, 2, seed=3)
    evaluator = Evaluator(encoding.on(torch.device("cpu")), Network(shape, networks))
    rng = np.random.default_rng(1)
    for street in range(rules.rounds):
        hands = naive.random_hands(street, 3, sum(rules.deals(street)), rules.deck)
        keys = encoding.hands.of_hands(hands, street)
        decisions = rng.choice(np.flatnonzero(encoding.tree.street[encoding.nodes] == street), 2)
        cards = evaluator.hands(keys)
        grid = evaluator.grid(cards, torch.from_numpy(decisions))
        for hand, key in enumerate(keys.tolist()):
            for spot, decision in enumerate(decisions):
                pair = evaluator.rows(cards, torch.tensor([[hand, 0]]), torch.tensor([decision]))[:, 0, 0]
                for at, network in enumerate(networks.double()):
                    expected = scaled_output(encoding, shape, network, cards_of_key(key), decision).numpy()
                    assert grid[at, spot, hand].numpy() == pytest.approx(expected, rel=1e-4, abs=1e-4)
                    assert pair[at].numpy() == pytest.approx(expected, rel=1e-4, abs=1e-4)
        assert np.ptp(grid.numpy(), axis=(0, 1, 2)).min() > 0.1


@pytest.mark.parametrize(("heads", "table"), [(False, 0), (True, 0), (True, 5)])
def test_a_new_network_is_uniform(heads: bool, table: int) -> None:
    encoding = Encoding(build_tree("leduc"), strength=table > 0)
    shape = encoding.shape(8, heads, table)
    start = shape.start(torch.Generator().manual_seed(1))
    assert start.std() > 0.01
    where = encoding.on(torch.device("cpu"))
    evaluator = Evaluator(where, Network(shape, start[None]))
    every = torch.arange(len(encoding.nodes))
    outputs = evaluator.grid(evaluator.hands(encoding.hands.of_board([])), every)[0]
    legal = where.legal.unsqueeze(1).expand_as(outputs)
    assert torch.equal(matched(outputs, legal), legal / legal.sum(dim=-1, keepdim=True))


def random_outputs(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs, some all negative, some with ties and zeros, the largest ones illegal; and the legal actions."""
    generator = torch.Generator().manual_seed(1)
    outputs = torch.randn((count, 4), generator=generator)
    outputs = torch.where(torch.arange(count).unsqueeze(1) % 3 == 0, -outputs.abs(), outputs)
    outputs = torch.where(torch.arange(count).unsqueeze(1) % 5 == 0, outputs.round(), outputs)
    actions = torch.randint(1, 5, (count, 1), generator=generator)
    legal = torch.arange(4) < actions
    return torch.where(legal, outputs, 9.0), legal


def test_strategies_are_those_of_the_definitions() -> None:
    outputs, legal = random_outputs(500)
    for found, output, mask in zip(matched(outputs, legal), outputs, legal, strict=True):
        assert found[mask].numpy() == pytest.approx(regret_matched(output[mask].numpy()), abs=1e-6)
        assert not found[~mask].any()
    for found, output, mask in zip(soft(outputs, legal), outputs, legal, strict=True):
        assert found.numpy() == pytest.approx(legal_softmax(output, int(mask.sum())).numpy(), abs=1e-6)


def test_regret_matching_by_hand() -> None:
    outputs = torch.tensor([[3.0, 1.0, -5.0], [-3.0, -1.0, 7.0], [0.0, 0.0, 0.0], [-2.0, 0.0, -1.0], [1e-20, -1, 5.0]])
    legal = torch.arange(3) < torch.tensor([[3], [2], [2], [3], [2]])
    expected = [[0.75, 0.25, 0], [0, 1, 0], [0.5, 0.5, 0], [0, 1, 0], [1, 0, 0]]
    assert matched(outputs, legal).tolist() == pytest.approx(np.array(expected))
