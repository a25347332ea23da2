"""Training a network on a memory: weighted squared errors, Adam (`adam.py`), a rate that rises and falls.

(Brown and others 2019, section 5.1.) The gradient is written by hand: for batches of some hundred pairs, torch's
automatic one spends three times as long on bookkeeping as on arithmetic. The tests compare the two. On a GPU, steps are
recorded instead (`on_gpu.py`).
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np
import torch

from equipoise.core.jit import F32
from equipoise.deep.encoding import DeviceEncoding
from equipoise.deep.fitting.adam import Adam
from equipoise.deep.fitting.batch_tensors import BatchTensors
from equipoise.deep.fitting.batches import Batches, Which
from equipoise.deep.fitting.memory import Memory
from equipoise.deep.fitting.trust import HELD_BATCHES, judge
from equipoise.deep.network import LEAST_SPREAD, Network, NetworkShape, Tensor, soft, split_rows

RISE = 0.2  # of the steps


class FitSettings(NamedTuple):
    """How a network is trained."""

    steps: int
    batch: int
    learning_rate: float  # the largest: see `rate_share`
    scales: bool = True  # a scale for each decision and action
    is_strategy: bool = False  # targets are probabilities, and outputs pass a softmax


@torch.inference_mode()
def train_network(
    shape: NetworkShape, start: Tensor, adam: Adam, memory: Memory, where: DeviceEncoding, settings: FitSettings,
    seed: np.random.SeedSequence,
) -> tuple[Tensor, float]:  # fmt: skip
    """Train a network from `start`, [parameter]. Returns its parameters and the mean loss of the second half."""
    whole = start.to(where.device).clone()
    network, slopes = Network(shape, whole[None]), Network(shape, torch.empty_like(whole[None]))
    scale = set_constants(network, memory, settings)
    learnt = shape.parameters
    parameters, gradient = whole[:learnt], slopes.parameters[0, :learnt]
    batches = Batches(settings.batch, where.encoding.decision, where.encoding.actions)
    weights, summed = memory.iteration_weights, BatchTensors.of(memory.summed(scale), where, shape.table)
    random = seed.generate_state(1, np.uint64) | np.uint64(1)
    losses = torch.zeros((), device=where.device)
    which = (Which.learnt if shape.table else Which.all_of)(memory.rest)
    for step in range(settings.steps):
        batch = summed
        if len(memory.rest):
            one = batches.draw(memory.rest, weights, scale, random, which)
            batch = summed.joined(BatchTensors.of(one, where, shape.table))
        loss = backward(network, slopes, batch, where, settings.is_strategy)
        adam.step(parameters, gradient, settings.learning_rate * rate_share(step, settings.steps))
        if 2 * step >= settings.steps:
            losses += loss
    if shape.table and not settings.is_strategy:
        drawn = (
            batches.draw(memory.rest, weights, scale, random, Which.held_out(memory.rest)) for _ in range(HELD_BATCHES)
        )
        held = (BatchTensors.of(batch, where, shape.table) for batch in drawn) if memory.rest.held else ()
        judge(memory.trust, network, chain([summed], held), where, settings.batch, memory.has_rest)
    return whole, float(losses) / max(settings.steps // 2, 1)


def set_constants(network: Network, memory: Memory, settings: FitSettings) -> F32:
    """Put the scales and the table of a memory into a network. Returns the scales, [decision, action]."""
    if not settings.is_strategy:
        network.part["scale"][0].copy_(torch.from_numpy(memory.scales(by_decision=settings.scales)))
    scale = network.part["scale"][0]
    if network.shape.table:
        table = memory.log_table() if settings.is_strategy else memory.table().div_(scale.unsqueeze(1))
        network.part["table"][0].copy_(table)
        if settings.is_strategy:
            network.part["trust"][0].copy_(memory.has_rest.expand(scale.shape))
    found: F32 = scale.cpu().numpy()
    return found


def rate_share(step: int, steps: int) -> float:
    """The learning rate of a step as a share of the largest: it rises over the first steps, and falls to zero.

    The first steps of Adam are as large as the rate allows, whatever the gradient: without the rise, they now and then
    ruin a network that continues the last iteration's.
    """
    return min((step + 1) / (RISE * steps), 1 - step / steps)


def backward(
    network: Network, slopes: Network, batch: BatchTensors, where: DeviceEncoding, is_strategy: bool
) -> Tensor:  # fmt: skip
    """The loss of a batch and, in `slopes`, its gradient: weight * squared error, summed over legal actions and pairs.

    Both networks are stacks of one. Names: `x` are inputs, `c` card layers, `b` betting layers, `j` combined layers, as
    in `Network`; `d_` is the gradient with respect to what follows it.
    """
    w = {name: part[0] for name, part in network.part.items()}
    d = {name: part[0] for name, part in slopes.part.items()}
    deck, marks = network.shape.rules.deck.size, network.marks
    multi_hot, bucket, decision, hand, spot, weight, target = batch
    has_board, cards = "board" in w, deck * network.shape.hands.deals
    on_board = multi_hot[:, deck:cards]

    # forward
    parts = [multi_hot[:, :deck] @ (marks @ w["hole"])]
    if has_board:
        by_deal = split_rows(w["board"], w["board"].shape[0] // marks.shape[1])  # [deal, mark, hidden]
        parts.append(on_board @ (marks @ by_deal).flatten(0, 1))
    x = torch.cat([*parts, multi_hot[:, cards:]], dim=1)
    c1 = torch.addmm(w["card1_bias"], x, w["card1"]).relu_()
    c2 = torch.addmm(w["card2_bias"], c1, w["card2"]).add_(c1).relu_()
    c3 = torch.addmm(w["card3_bias"], c2, w["card3"]).add_(c2).relu_()
    features = where.features.index_select(0, decision)
    b1 = torch.addmm(w["bet1_bias"], features, w["bet1"]).relu_()
    b2 = torch.addmm(w["bet2_bias"], b1, w["bet2"]).add_(b1).relu_()
    card_part = torch.addmm(w["joint1_card_bias"], c3, w["joint1_card"])
    j1 = card_part.index_select(0, hand).add_((b2 @ w["joint1_bet"]).index_select(0, spot)).relu_()
    j2 = torch.addmm(w["joint2_bias"], j1, w["joint2"]).add_(j1).relu_()
    j3 = torch.addmm(w["joint3_bias"], j2, w["joint3"]).add_(j2).relu_()
    z = j3 - j3.mean(dim=1, keepdim=True)
    spread = z.square().mean(dim=1, keepdim=True).add_(LEAST_SPREAD).sqrt_()
    z /= spread
    out = torch.addmm(w["out_bias"], z, w["out"])
    of_pair = decision.index_select(0, spot)
    if heads := "head" in w:
        own = w["head"].index_select(0, of_pair)  # [pair, hidden, action]
        out += (z.unsqueeze(2) * own).sum(dim=1).add_(w["head_bias"].index_select(0, of_pair))
    if buckets := network.shape.table:
        out += w["table"].flatten(0, 1).index_select(0, of_pair * buckets + bucket.index_select(0, hand))
    legal = where.legal.index_select(0, of_pair)
    if is_strategy:
        out = soft(out, legal)
    weight = weight.unsqueeze(1)
    error = torch.where(legal, out - target, 0.0)
    loss = (weight * error * error).sum()

    # backward
    d_out = 2 * weight * error
    if is_strategy:
        d_out = out * (d_out - (d_out * out).sum(dim=1, keepdim=True))
    _through(z, d_out, d["out"], d["out_bias"])
    d_z = d_out @ w["out"].T
    if heads:
        d_z += (own * d_out.unsqueeze(1)).sum(dim=2)
        d["head"].zero_().index_add_(0, of_pair, z.unsqueeze(2) * d_out.unsqueeze(1))
        d["head_bias"].zero_().index_add_(0, of_pair, d_out)
    d_j = d_z - d_z.mean(dim=1, keepdim=True) - z * (d_z * z).mean(dim=1, keepdim=True)
    d_j /= spread
    for name, above, below in (("joint3", j3, j2), ("joint2", j2, j1)):
        d_j *= above > 0
        _through(below, d_j, d[name], d[f"{name}_bias"])
        d_j = torch.addmm(d_j, d_j, w[name].T)
    d_j *= j1 > 0
    d_card = torch.zeros_like(card_part).index_add_(0, hand, d_j)
    d_bet = d_j.new_zeros(len(decision), d_j.shape[1]).index_add_(0, spot, d_j)
    torch.mm(b2.T, d_bet, out=d["joint1_bet"])
    d_b = d_bet @ w["joint1_bet"].T
    d_b *= b2 > 0
    _through(b1, d_b, d["bet2"], d["bet2_bias"])
    d_b = torch.addmm(d_b, d_b, w["bet2"].T)
    d_b *= b1 > 0
    _through(features, d_b, d["bet1"], d["bet1_bias"])
    _through(c3, d_card, d["joint1_card"], d["joint1_card_bias"])
    d_c = d_card @ w["joint1_card"].T
    for name, above, below in (("card3", c3, c2), ("card2", c2, c1)):
        d_c *= above > 0
        _through(below, d_c, d[name], d[f"{name}_bias"])
        d_c = torch.addmm(d_c, d_c, w[name].T)
    d_c *= c1 > 0
    _through(x, d_c, d["card1"], d["card1_bias"])
    d_x = d_c @ w["card1"].T
    width = w["hole"].shape[1]
    torch.mm(marks.T, multi_hot[:, :deck].T @ d_x[:, :width], out=d["hole"])
    if has_board:
        by_card = split_rows(on_board.T @ d_x[:, width : 2 * width], cards // deck - 1)  # [deal, card, hidden]
        d["board"].copy_((marks.T @ by_card).flatten(0, 1))
    return loss


def _through(below: Tensor, d_above: Tensor, d_weight: Tensor, d_bias: Tensor) -> None:
    """The gradient of a layer's weights and biases. OUT: the last two."""
    torch.mm(below.T, d_above, out=d_weight)
    torch.sum(d_above, dim=0, out=d_bias)
