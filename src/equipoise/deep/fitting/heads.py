"""Heads by least squares: the output layer of every decision, exact for all samples of the walks since layers stay.

The advantages that CFR plays by are means over all iterations, and the better the strategies, the smaller they are. A
network that follows them by gradient steps is late or noisy, and play by late regrets is the likely reason why such
networks lost to their own tables (BENCHMARKS.md). So after some iterations the layers of a network stay as they are,
and its heads w are solved, decision by decision, for what the table leaves within its cells: with z what a head reads,
z_b its mean in bucket b,

    S w = c        S = sum of (z - z_b)(z - z_b)' + ridge,   c = sum of (z - z_b) y

over all holes of all walks since then, weighted as in the table (`cells.py`). The sums only grow, so nothing is late or
forgotten. The network then says T(b) + (z - z_b) w: the mean of every cell stays that of its samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from equipoise.deep.network import Network, Tensor
from equipoise.deep.torch_door import full_precision

if TYPE_CHECKING:
    from equipoise.deep.fitting.memory import Memory

RIDGE = 300.0  # samples: the prior of a weight is about 0 +- 0.06, where targets vary by about one
ROUNDING = 1e-5  # added to the ridge, as a share of the sums: they are of float32
FEW = 2.0  # samples that a cell needs for a mean of its own


class HeadSums(NamedTuple):
    """Weighted sums over the holes of walks, for the decisions of one player that have something to learn."""

    square: Tensor  # [decision, hidden, hidden] of z z'
    product: Tensor  # [decision, hidden, action] of z y
    feature: Tensor  # [decision, bucket, hidden] of z
    weight: Tensor  # [decision, bucket]
    target: Tensor  # [decision, bucket, action] of y

    @classmethod
    def zeros(cls, decisions: int, buckets: int, hidden: int, actions: int, device: torch.device) -> HeadSums:
        """Of no walks."""
        shapes = ((hidden, hidden), (hidden, actions), (buckets, hidden), (buckets,), (buckets, actions))
        found = (torch.zeros((decisions, *shape), dtype=torch.float64, device=device) for shape in shapes)
        return cls(*found)

    @classmethod
    def of(cls, feature: Tensor, weight: Tensor, target: Tensor, member: Tensor) -> HeadSums:
        """Of one walk. IN: [decision, hole, hidden] z, [decision, hole] weights, [decision, action, hole] weighted
        targets, [hole, bucket] 1 where a hole is in a bucket.
        """
        weighted = (feature * weight.unsqueeze(2)).transpose(1, 2)  # [decision, hidden, hole]
        with full_precision():
            return cls(
                weighted @ feature, (target @ feature).transpose(1, 2), (weighted @ member).transpose(1, 2),
                weight @ member, (target @ member).transpose(1, 2),
            )  # fmt: skip

    def add(self, other: HeadSums, times: float) -> None:
        """Add other sums, some times."""
        for own, new in zip(self, other, strict=True):
            own.add_(new.to(own), alpha=times)

    def solve(self, scale: Tensor, unit: float) -> tuple[Tensor, Tensor]:
        """[decision, hidden, action] heads, and [decision, bucket, action] what they say on average in a cell.

        IN: [decision, action] what targets are divided by, and the weight of a sample. A head that rounding leaves
        without a solution says nothing.
        """
        mean = self.feature / (self.weight + FEW * unit).unsqueeze(2)
        square = self.square - mean.transpose(1, 2) @ self.feature
        product = (self.product - mean.transpose(1, 2) @ self.target) / scale.unsqueeze(1)
        usual = self.square.diagonal(dim1=1, dim2=2).mean(dim=1, keepdim=True)
        square.diagonal(dim1=1, dim2=2).add_(RIDGE * unit + ROUNDING * usual)
        root, failed = torch.linalg.cholesky_ex(square)
        heads = torch.where((failed == 0)[:, None, None], torch.cholesky_solve(product, root), 0.0)
        return heads, mean @ heads


@torch.inference_mode()
def put_heads(network: Network, memory: Memory) -> None:
    """Solve the heads of a network, a stack of one that has the scales and the table of its memory."""
    part, own = network.part, memory.solved
    heads, said = memory.heads.solve(part["scale"][0][own].double(), memory.usual_weight)
    for name in ("out", "out_bias", "head", "head_bias"):
        part[name].zero_()
    part["head"][0][own] = heads.float()
    part["table"][0][own] -= said.float()
    part["trust"][0].copy_(memory.has_rest.expand(part["trust"][0].shape))
