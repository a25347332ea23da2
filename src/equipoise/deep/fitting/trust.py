"""How far to trust a network beside its table: as far as samples bear it out that it was not trained on.

A table of means has the noise of its samples, which shrinks as they add up. A network also has an error of its own,
which need not shrink, while the advantages that it learns do: the average regret of every action of a good strategy
falls towards zero. In the end such a network would play its own errors. So its answers o are multiplied by what least
squares says of held-out targets y less the table: by decision and action,

    trust = sum of o y / sum of o^2        between 0 and 1

Sums decay over iterations, because networks change. A decision with few samples is about as its street. Where a table
has a bucket for every hand, there is no trust.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch

from equipoise.deep.encoding import DeviceEncoding
from equipoise.deep.fitting.batch_tensors import BatchTensors
from equipoise.deep.network import Network, Tensor

KEPT = 0.98  # of the sums, from iteration to iteration
PRIOR = 25.0  # of o^2, in samples: targets vary by about one, so trust has then a standard error of 0.2
HELD_BATCHES = 2  # of an iteration


class Trust(NamedTuple):
    """The sums of a player's held-out samples."""

    product: Tensor  # float64[decision, action] of o y
    square: Tensor  # float64[decision, action] of o^2

    @classmethod
    def zeros(cls, decisions: int, actions: int, device: torch.device) -> Trust:
        """Before any sample."""
        one, two = (torch.zeros((decisions, actions), dtype=torch.float64, device=device) for _ in range(2))
        return cls(one, two)

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
            sums.index_add_(0, decision, (weight * part).double())

    @torch.inference_mode()
    def shares(self, where: DeviceEncoding) -> Tensor:
        """[decision, action] the trust in a network."""
        streets = where.street_of_decision
        product, square = (torch.zeros_like(sums).index_add_(0, streets, sums)[streets] for sums in self)
        usual = ((product + PRIOR) / (square + PRIOR)).clamp_(0, 1)
        return ((self.product + PRIOR * usual) / (self.square + PRIOR)).clamp_(0, 1).float()


def judge(
    trust: Trust, network: Network, batches: Iterable[BatchTensors], where: DeviceEncoding, samples: int,
    has_rest: Tensor,
) -> None:  # fmt: skip
    """Compare a trained network, a stack of one, with what was held out, and with sums; then set the trust in it."""
    trust.decay()
    for batch in batches:
        if len(batch.hand):
            trust.add(network, batch, where, samples)
    network.part["trust"][0].copy_(trust.shares(where) * has_rest)


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
