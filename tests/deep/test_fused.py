"""The kernel for a GPU gives what the layers give; where there is no GPU, a twin of it reads the same weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from equipoise import build_tree

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

import torch

from equipoise.deep.encoding import Encoding, Evaluator, Hands
from equipoise.deep.fused import FusedPlay, can_fuse
from equipoise.deep.network import LEAST_SPREAD, Network, matched, soft
from naive_deep import random_networks

Play = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
SHAPES = [(16, False, 0), (16, True, 0), (32, True, 7), (16, False, 255)]
NETWORKS = 2


def evaluator_of(hidden: int, heads: bool, table: int, device: str) -> Evaluator:
    encoding = Encoding(build_tree("leduc"), strength=table > 0)
    shape = encoding.shape(hidden, heads, table)
    network = random_networks(shape, NETWORKS, seed=7, size=0.5)
    if table:
        Network(shape, network).part["trust"].abs_().clamp_max_(1)
    return Evaluator(encoding.on(torch.device(device)), Network(shape, network.to(device)))


def hands_of(evaluator: Evaluator) -> Hands:
    hands = evaluator.where.encoding.hands
    return evaluator.hands(np.concatenate([hands.of_board([]), hands.of_board([1])[2:]]))


def twin(fused: FusedPlay, hands: Hands, decisions: torch.Tensor, found: torch.Tensor) -> None:
    """What the kernel does, decision by decision, in float32."""
    actions = fused.shape.actions
    for decision in decisions.tolist():
        x = torch.relu(hands.cards[fused.number] + fused.betting[decision])
        for layer, bias in zip(fused.layers, fused.biases, strict=True):
            x = torch.relu(x @ layer.float() + bias)
        spread = (x.square().mean(dim=1) - x.mean(dim=1).square() + LEAST_SPREAD).sqrt()
        value = (x @ fused.out[decision].float() / spread[:, None] + fused.out_bias[decision])[:, :actions]
        if fused.shape.table:
            value = value + fused.table[decision][hands.bucket]
        value = value * fused.scale[decision, :actions]
        legal = (fused.legal[decision, :actions] > 0).expand_as(value)
        found[decision] = (soft if fused.is_strategy else matched)(value, legal).T


@pytest.mark.parametrize("number", range(NETWORKS))
@pytest.mark.parametrize("play", [matched, soft])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(("hidden", "heads", "table"), SHAPES)
def test_the_kernel_gives_what_the_layers_give(
    hidden: int, heads: bool, table: int, device: str, play: Play, number: int
) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    evaluator = evaluator_of(hidden, heads, table, device)
    assert can_fuse(evaluator) == (device == "cuda")
    hands, where = hands_of(evaluator), evaluator.where
    decisions = torch.arange(1, len(where.encoding.nodes), 2, device=device)
    expected = play(evaluator.grid(hands, decisions)[number], where.legal[decisions].unsqueeze(1)).transpose(1, 2)
    shape = (len(where.encoding.nodes), where.encoding.actions, hands.cards.shape[1])
    found = torch.full(shape, -1.0, device=device)
    fused = FusedPlay(evaluator, is_strategy=play is soft, number=number)
    if device == "cuda":
        fused.fill(hands, decisions, found)
        assert torch.equal(fused.answers(hands, decisions), found[decisions].transpose(1, 2))
    else:
        twin(fused, hands, decisions, found)
    assert (found[decisions] - expected).abs().mean() < 2e-3  # 11 bits of mantissa: some highest actions may swap
    assert ((found[decisions] - expected).abs() > 0.02).float().mean() < 0.01
    assert (found[0] == -1).all()
    assert (expected - expected.mean(dim=2, keepdim=True)).abs().mean() > (0.05 if play is matched else 0.01)


def test_wide_networks_have_no_kernel() -> None:
    assert not can_fuse(evaluator_of(48, False, 0, "cpu"))
