"""The loss of a batch and its gradient, layer by layer.

The gradient is written by hand: for batches of some hundred pairs, torch's automatic one spends three times as long on
bookkeeping as on arithmetic. The tests compare the two. Names: `x` are inputs, `c` card layers, `b` betting layers, `j`
combined layers, `z` the normalised input of the output layer, as in `Network`; `d_` is the gradient of the loss with
respect to what follows it. Networks are stacks of one.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from equipoise.deep.encoding import DeviceEncoding
from equipoise.deep.fitting.batch_tensors import BatchTensors
from equipoise.deep.network import LEAST_SPREAD, Network, Tensor, soft, split_rows

Parts = dict[str, Tensor]  # of one network, by name


class Layers(NamedTuple):
    """What the layers of a network give for a batch, from the inputs to the outputs."""

    x: Tensor  # [hand, input] embeddings of hole and board, strength
    c: tuple[Tensor, Tensor, Tensor]  # [hand, 3 hidden]
    features: Tensor  # [decision, feature]
    b: tuple[Tensor, Tensor]  # [decision, hidden]
    j: tuple[Tensor, Tensor, Tensor]  # [pair, hidden]
    z: Tensor  # [pair, hidden] the last of them, normalised
    spread: Tensor  # [pair, 1] what it was divided by
    own: Tensor  # [pair, hidden, action] the head of each pair's decision; empty without heads
    of_pair: Tensor  # [pair] decisions
    out: Tensor  # [pair, action]


def backward(
    network: Network, slopes: Network, batch: BatchTensors, where: DeviceEncoding, is_strategy: bool
) -> Tensor:  # fmt: skip
    """The loss of a batch, weight * squared error summed over legal actions and pairs. OUT: its gradient, `slopes`."""
    w = {name: part[0] for name, part in network.part.items()}
    d = {name: part[0] for name, part in slopes.part.items()}
    at = _forward(network, w, batch, where)
    legal = where.legal.index_select(0, at.of_pair)
    out = soft(at.out, legal) if is_strategy else at.out
    weight = batch.weight.unsqueeze(1)
    error = torch.where(legal, out - batch.target, 0.0)
    d_out = 2 * weight * error
    if is_strategy:
        d_out = out * (d_out - (d_out * out).sum(dim=1, keepdim=True))
    d_j1 = _back_to_cards_and_betting(w, d, at, d_out)
    _back_through_cards_and_betting(network, w, d, at, batch, d_j1)
    return (weight * error * error).sum()


def _forward(network: Network, w: Parts, batch: BatchTensors, where: DeviceEncoding) -> Layers:
    multi_hot, bucket, decision, hand, spot, _, _ = batch
    marks, on_hole, on_board, cards = _card_inputs(network, multi_hot)
    parts = [on_hole @ (marks @ w["hole"])]
    if "board" in w:
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
    of_pair, own = decision.index_select(0, spot), z[:0]
    if "head" in w:
        own = w["head"].index_select(0, of_pair)
        out += (z.unsqueeze(2) * own).sum(dim=1).add_(w["head_bias"].index_select(0, of_pair))
    if buckets := network.shape.table:
        out += w["table"].flatten(0, 1).index_select(0, of_pair * buckets + bucket.index_select(0, hand))
    return Layers(x, (c1, c2, c3), features, (b1, b2), (j1, j2, j3), z, spread, own, of_pair, out)


def _back_to_cards_and_betting(w: Parts, d: Parts, at: Layers, d_out: Tensor) -> Tensor:
    """From the outputs to the first combined layer, [pair, hidden]. OUT: slopes of the layers between."""
    z, (j1, j2, j3) = at.z, at.j
    _through(z, d_out, d["out"], d["out_bias"])
    d_z = d_out @ w["out"].T
    if "head" in w:
        d_z += (at.own * d_out.unsqueeze(1)).sum(dim=2)
        d["head"].zero_().index_add_(0, at.of_pair, z.unsqueeze(2) * d_out.unsqueeze(1))
        d["head_bias"].zero_().index_add_(0, at.of_pair, d_out)
    d_j = d_z - d_z.mean(dim=1, keepdim=True) - z * (d_z * z).mean(dim=1, keepdim=True)
    d_j /= at.spread
    for name, above, below in (("joint3", j3, j2), ("joint2", j2, j1)):
        d_j *= above > 0
        _through(below, d_j, d[name], d[f"{name}_bias"])
        d_j = torch.addmm(d_j, d_j, w[name].T)
    d_j *= j1 > 0
    return d_j


def _back_through_cards_and_betting(
    network: Network, w: Parts, d: Parts, at: Layers, batch: BatchTensors, d_j: Tensor
) -> None:  # fmt: skip
    """From the first combined layer to the inputs. OUT: slopes of the layers between."""
    (c1, c2, c3), (b1, b2) = at.c, at.b
    d_card = d_j.new_zeros(len(c3), d_j.shape[1]).index_add_(0, batch.hand, d_j)
    d_bet = d_j.new_zeros(len(b2), d_j.shape[1]).index_add_(0, batch.spot, d_j)
    torch.mm(b2.T, d_bet, out=d["joint1_bet"])
    d_b = d_bet @ w["joint1_bet"].T
    d_b *= b2 > 0
    _through(b1, d_b, d["bet2"], d["bet2_bias"])
    d_b = torch.addmm(d_b, d_b, w["bet2"].T)
    d_b *= b1 > 0
    _through(at.features, d_b, d["bet1"], d["bet1_bias"])
    _through(c3, d_card, d["joint1_card"], d["joint1_card_bias"])
    d_c = d_card @ w["joint1_card"].T
    for name, above, below in (("card3", c3, c2), ("card2", c2, c1)):
        d_c *= above > 0
        _through(below, d_c, d[name], d[f"{name}_bias"])
        d_c = torch.addmm(d_c, d_c, w[name].T)
    d_c *= c1 > 0
    _through(at.x, d_c, d["card1"], d["card1_bias"])
    d_x = d_c @ w["card1"].T
    marks, on_hole, on_board, cards = _card_inputs(network, batch.multi_hot)
    width = w["hole"].shape[1]
    torch.mm(marks.T, on_hole.T @ d_x[:, :width], out=d["hole"])
    if "board" in w:
        by_card = split_rows(on_board.T @ d_x[:, width : 2 * width], cards // on_hole.shape[1] - 1)  # by deal
        d["board"].copy_((marks.T @ by_card).flatten(0, 1))


def _card_inputs(network: Network, multi_hot: Tensor) -> tuple[Tensor, Tensor, Tensor, int]:
    """[card, mark] marks; [hand, card] the hole and, deal by deal, the board; where the inputs of cards end."""
    deck, cards = network.shape.rules.deck.size, network.shape.rules.deck.size * network.shape.hands.deals
    return network.marks, multi_hot[:, :deck], multi_hot[:, deck:cards], cards


def _through(below: Tensor, d_above: Tensor, d_weight: Tensor, d_bias: Tensor) -> None:
    """The gradient of a layer's weights and biases. OUT: the last two."""
    torch.mm(below.T, d_above, out=d_weight)
    torch.sum(d_above, dim=0, out=d_bias)
