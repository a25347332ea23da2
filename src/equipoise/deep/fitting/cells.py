"""Cells: sums of samples by decision and percentile bucket of the hand, from which a network's table is made.

A walk that values every hole at every decision (`traversals/public_walk.py`) sums all of them, each with the weight it
would be drawn with as a sample. Their means are those of the samples, with far less noise. Cells stay on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import torch

from equipoise.deep.network import Tensor


class Cells(NamedTuple):
    """Weighted sums. Without a table, there are no buckets."""

    weight: Tensor  # [decision, bucket]
    target: Tensor  # [decision, bucket, action]

    @classmethod
    def zeros(
        cls, decisions: int, buckets: int, actions: int, device: torch.device, kind: torch.dtype = torch.float64
    ) -> Cells:
        """Of no samples."""
        weight, target = (
            torch.zeros(shape, dtype=kind, device=device)
            for shape in ((decisions, buckets), (decisions, buckets, actions))
        )
        return cls(weight, target)

    def add(self, other: Cells, times: float) -> None:
        """Add other sums, some times."""
        for own, new in zip(self, other, strict=True):
            own.add_(new.to(own.device), alpha=times)

    def add_samples(self, decision: Tensor, bucket: Tensor, weight: Tensor, target: Tensor) -> None:
        """Add single samples. IN: [sample] decisions, buckets and weights, [sample, action]."""
        place = decision * self.weight.shape[1] + bucket
        self.weight.view(-1).index_add_(0, place, weight)
        self.target.flatten(0, 1).index_add_(0, place, weight.unsqueeze(1) * target)

    def means(self, few: float) -> Tensor:
        """[decision, bucket, action] means. With a weight of `few` or less, a cell is about as its decision, and a
        decision about zero.
        """
        usual = self.target.sum(dim=1) / (self.weight.sum(dim=1, keepdim=True) + few)
        return (self.target + few * usual.unsqueeze(1)).div_((self.weight + few).unsqueeze(2))


Sums = TypeVar("Sums", bound=tuple[Tensor, ...])


def total(parts: Sequence[Sums | None]) -> Sums | None:
    """The sum of parts, tensor by tensor, or nothing if they have none."""
    kept = [part for part in parts if part is not None]
    return type(kept[0])(*(sum(tensors[1:], tensors[0]) for tensors in zip(*kept, strict=True))) if kept else None
