"""A walk recorded as a CUDA graph: a walk over a tree starts a thousand small operations, a replay one.

Boards and networks are copied to where the recorded walk reads them, and its results are overwritten by the next.
"""

from __future__ import annotations

import torch

from equipoise.deep.encoding import Evaluator
from equipoise.deep.network import Network
from equipoise.deep.torch_door import recorded
from equipoise.deep.traversals.public_walk import DealTensors, PublicWalk


class RecordedWalk:
    """A walk of constant size, on a GPU."""

    @torch.inference_mode()
    def __init__(self, networks: tuple[Evaluator, Evaluator], walk: PublicWalk) -> None:
        self.walk = walk
        self.networks = [Network(one.network.shape, one.network.parameters.clone()) for one in networks]
        walk.deals = DealTensors(*(tensor.clone() for tensor in walk.deals))
        self._replay = recorded(self._do)

    def _do(self) -> None:
        one, two = (Evaluator(self.walk.where, network) for network in self.networks)
        self.walk.done((one, two))

    @torch.inference_mode()
    def replay(self, networks: tuple[Evaluator, Evaluator], deals: DealTensors) -> PublicWalk:
        """The walk with other networks and boards."""
        for network, one in zip(self.networks, networks, strict=True):
            network.parameters.copy_(one.network.parameters)
        for own, new in zip(self.walk.deals, deals, strict=True):
            own.copy_(new)
        self._replay()
        return self.walk
