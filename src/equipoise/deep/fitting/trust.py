"""How far to trust a network beside its table: as far as samples bear it out that it was not trained on.

A table of means has the noise of its samples, which shrinks as they add up. A network also has an error of its own,
which need not shrink, while the advantages that it learns do: the average regret of every action of a good strategy
falls towards zero. In the end such a network would play its own errors. So its answers o are multiplied by what least
squares says of held-out targets y less the table: by decision and action,

    trust = sum of o y / sum of o^2        between 0 and 1

Sums decay over iterations, because networks change. A decision with few samples is about as its street.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch

from equipoise.core.jit import F32, F64
from equipoise.deep.encoding import DeviceEncoding, Encoding
from equipoise.deep.fitting.batch_tensors import BatchTensors
from equipoise.deep.network import Network, Tensor

KEPT = 0.98  # of the sums, from iteration to iteration
PRIOR = 25.0  # of o^2, in samples: targets vary by about one, so trust has then a standard error of 0.2
HELD_BATCHES = 2  # of an iteration


class Trust(NamedTuple):
    """The sums of a player's held-out samples."""

    product: F64  # [decision, action] of o y
    square: F64  # [decision, action] of o^2

    @classmethod
    def zeros(cls, decisions: int, actions: int) -> Trust:
        """Before any sample."""
        return cls(np.zeros((decisions, actions)), np.zeros((decisions, actions)))

    def decay(self) -> None:
        """A new iteration begins."""
        for sums in self:
            sums *= KEPT

    @torch.inference_mode()
    def add(self, network: Network, batch: BatchTensors, where: DeviceEncoding, samples: float) -> None:
        """Compare a network, a stack of one, with targets. `samples` is what all weights of a batch stand for."""
        out, rest, decision = answers(network, batch, where)
        weight = samples * batch.weight.unsqueeze(1)
        for sums, part in ((self.product, out * rest), (self.square, out * out)):
            found = torch.zeros(sums.shape, device=out.device).index_add_(0, decision, weight * part)
            sums += found.double().cpu().numpy()

    def shares(self, encoding: Encoding) -> F32:
        """[decision, action] the trust in a network."""
        found, streets = np.ones_like(self.product), encoding.tree.street[encoding.nodes]
        for street in np.unique(streets):
            here = streets == street
            product, square = self.product[here].sum(axis=0), self.square[here].sum(axis=0)
            usual = np.clip((product + PRIOR) / (square + PRIOR), 0, 1)
            found[here] = (self.product[here] + PRIOR * usual) / (self.square[here] + PRIOR)
        return np.clip(found, 0, 1).astype(np.float32)


def judge(
    trust: Trust, network: Network, batches: Iterable[BatchTensors], where: DeviceEncoding, samples: int
) -> None:  # fmt: skip
    """Compare a trained network, a stack of one, with what was held out, and with sums; then set the trust in it."""
    trust.decay()
    for batch in batches:
        if len(batch.hand):
            trust.add(network, batch, where, samples)
    network.part["trust"][0].copy_(torch.from_numpy(trust.shares(where.encoding)))


def answers(network: Network, batch: BatchTensors, where: DeviceEncoding) -> tuple[Tensor, Tensor, Tensor]:
    """[pair, action] what a network answers without its table, targets less the table, and [pair] decisions; zero where
    an action is not legal.
    """
    decision = batch.decision.index_select(0, batch.spot)
    cards = network.cards(batch.multi_hot).index_select(1, batch.hand)
    betting = network.betting(where.features.index_select(0, batch.decision)).index_select(1, batch.spot)
    out = network.joint((cards + betting).unsqueeze(2), decision)[0, :, 0]
    bucket = batch.bucket.index_select(0, batch.hand)
    rest = batch.target - network.part["table"][0].flatten(0, 1).index_select(
        0, decision * network.shape.table + bucket
    )
    legal = where.legal.index_select(0, decision)
    return torch.where(legal, out, 0.0), torch.where(legal, rest, 0.0), decision
