"""Batches as tensors on a device."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from equipoise.deep.encoding import DeviceEncoding
from equipoise.deep.fitting.batches import Merged
from equipoise.deep.network import Tensor


class BatchTensors(NamedTuple):
    """A batch on a device: different hands and decisions, and pairs of them with targets."""

    multi_hot: Tensor  # [hand, input]
    bucket: Tensor  # [hand] percentile bucket in the table; empty if there is no table
    decision: Tensor  # [decision]
    hand: Tensor  # [pair] position among the hands
    spot: Tensor  # [pair] position among the decisions
    weight: Tensor  # [pair]
    target: Tensor  # [pair, action]

    @classmethod
    def of(cls, batch: Merged, where: DeviceEncoding, table: int = 0) -> BatchTensors:
        """A merged batch. `table` is the number of buckets of the network's table."""
        weight, target = (torch.from_numpy(array).to(where.device) for array in (batch.weight, batch.target))
        decision, hand, spot = (where.index(numbers) for numbers in (batch.decision, batch.hand, batch.spot))
        keys = torch.from_numpy(batch.key.view(np.int64)).to(where.device)
        return cls(where.multi_hot(batch.key), where.buckets_of(keys, table), decision, hand, spot, weight, target)

    def joined(self, other: BatchTensors) -> BatchTensors:
        """The pairs of both."""
        if not len(self.hand):
            return other
        hand = torch.cat([self.hand, other.hand + len(self.multi_hot)])
        spot = torch.cat([self.spot, other.spot + len(self.decision)])
        multi_hot, bucket, decision, weight, target = (
            torch.cat([getattr(self, name), getattr(other, name)])
            for name in ("multi_hot", "bucket", "decision", "weight", "target")
        )
        return BatchTensors(multi_hot, bucket, decision, hand, spot, weight, target)
