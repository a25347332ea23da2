"""The memory of a player's samples: exact sums where information sets are few, a reservoir for all others.

Squared errors of samples of one information set have the gradient of one squared error to their weighted mean, with the
sum of their weights (`batches.py`). Where a street has few information sets (all of Leduc, the first street of
hold'em), both are kept for each of them, over all samples of the training. Nothing is forgotten there, and every step
of a training sees everything. A sample of iteration t weighs t to a power.

The table of a network (`network.py`) is the mean of all samples by decision and percentile bucket of the hand. It is as
exact as a solver's table over these buckets, and what a network is trained on is the rest. On a street with a bucket
for every hand, there is none: the table answers alone.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch

from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.array_checks import REMEDY, check_array, check_indices, check_like, check_range
from equipoise.core.errors import MOST_COUNT, InputError
from equipoise.core.jit import F32, F64, I32, I64, U64, kernel
from equipoise.deep.encoding import DeviceEncoding, Encoding
from equipoise.deep.fitting.batches import Merged
from equipoise.deep.fitting.cells import Cells
from equipoise.deep.fitting.heads import HeadSums
from equipoise.deep.fitting.reservoir import Reservoir, Samples
from equipoise.deep.fitting.trust import Trust
from equipoise.deep.network import Tensor
from equipoise.runs.network_size import exact_streets, streets_with_sums
from equipoise.tree.betting_tree import DECISION

FEW = 20.0  # samples that a decision needs for a scale of its own, and a cell of the table for a mean of its own
LEAST_CHANCE = 1e-3  # of an action in the table beside a network of strategies: its logarithm stays learnable
LEAST_ALONE = 1e-6  # where the table plays alone, and nothing is to be learnt
FEW_ALONE = 0.1  # there, a cell with few samples is what they say
SUMMED = ("sums", "cells", "heads", "trust")  # the arrays of a checkpoint that add samples up
NOT_NEGATIVE = ("weight", "total")  # of those
ELSEWHERE = -1  # in the reservoir
EXACT = -2  # in the table, which has a bucket for every hand of the street


class SumRows(NamedTuple):
    """The information sets of streets that have few: a row for each decision of a player and each hand."""

    first: I64  # [decision] its first row, or ELSEWHERE, or EXACT
    keys: U64  # [hand] street by street, sorted
    key_first: I64  # [decision] the first hand of its street
    key_end: I64  # [decision]
    decision: I64  # [row]
    hand: I64  # [row] position in `keys`

    @classmethod
    def of(cls, encoding: Encoding, player: int, most: int, table: int) -> SumRows:
        """The rows of one player."""
        tree = encoding.tree
        first, key_first, key_end = (np.full(len(encoding.nodes), ELSEWHERE, np.int64) for _ in range(3))
        first[np.isin(tree.street[encoding.nodes], exact_streets(tree.rules, table))] = EXACT
        none = np.empty(0, np.int64)
        keys, decisions, hands, held, count = [none.astype(np.uint64)], [none], [none], 0, 0
        for street in streets_with_sums(tree, player, most, table):
            own = np.flatnonzero((tree.street[encoding.nodes] == street) & (tree.player[encoding.nodes] == player))
            keys.append(_street_keys(encoding, street))
            for decision in own.tolist():
                first[decision] = count
                key_first[decision], key_end[decision] = held, held + len(keys[-1])
                hands.append(np.arange(held, held + len(keys[-1])))
                decisions.append(np.full(len(keys[-1]), decision))
                count += len(keys[-1])
            held += len(keys[-1])
        return cls(
            first, np.concatenate(keys), key_first, key_end, np.concatenate(decisions), np.concatenate(hands)
        )  # fmt: skip


def _street_keys(encoding: Encoding, street: int) -> U64:
    """The keys of all hands of a street, sorted."""
    rules = encoding.tree.rules
    indexer = HandIndexer(rules.deals(street), rules.deck)
    return np.unique(encoding.hands.of_hands(indexer.hands(np.arange(indexer.size)), street))


class Sums(NamedTuple):
    """Weighted sums of samples: by row where there are rows, and by decision of all samples ever added."""

    weight: F64  # [row]
    target: F64  # [row, action]
    total: F64  # [decision] weights
    square: F64  # [decision, action] of targets


@kernel
def add_to_sums(
    new: Samples, power: float, decisions: I32, rows: SumRows, sums: Sums, rest: I64
) -> int:  # fmt: skip
    """Add the samples that have a row, and list those for the reservoir. Returns the number of those.

    IN: samples, int32[node] decisions, rows; IN OUT: sums; OUT: int64[sample].
    """
    others = 0
    for sample in range(new.key.size):
        decision = decisions[new.node[sample]]
        weight = np.float64(new.iteration[sample]) ** power
        sums.total[decision] += weight
        for action in range(new.target.shape[1]):
            sums.square[decision, action] += weight * np.float64(new.target[sample, action]) ** 2
        if rows.first[decision] < 0:
            if rows.first[decision] == ELSEWHERE:
                rest[others] = sample
                others += 1
            continue
        low, high, key = rows.key_first[decision], rows.key_end[decision], new.key[sample]
        start = low
        while high - low > 1:  # the key is there: in keys[low:high]
            middle = (low + high) // 2
            if rows.keys[middle] <= key:
                low = middle
            else:
                high = middle
        row = rows.first[decision] + low - start
        sums.weight[row] += weight
        for action in range(new.target.shape[1]):
            sums.target[row, action] += weight * np.float64(new.target[sample, action])
    return others


class Memory:
    """All samples of a player, of advantages or of its strategy.

    `most_sums` is the largest number of information sets of a street for which sums are kept, `table` the number of
    percentile buckets of the table, `hidden` the width of heads that are solved (0: none).
    """

    def __init__(
        self, where: DeviceEncoding, player: int, capacity: int, weight_power: float, most_sums: int, table: int = 0,
        hidden: int = 0,
    ) -> None:  # fmt: skip
        self.where, self.encoding, self.weight_power = where, where.encoding, weight_power
        self.player = player
        encoding = where.encoding
        self.rows = SumRows.of(encoding, player, most_sums, table)
        rows, decisions, actions = len(self.rows.hand), len(encoding.nodes), encoding.actions
        self.sums = Sums(
            np.zeros(rows), np.zeros((rows, actions)), np.zeros(decisions), np.zeros((decisions, actions))
        )  # fmt: skip
        self.cells = Cells.zeros(decisions, table, actions, where.device)
        self.has_rest = where.has_rest(table)
        self.trust = Trust.zeros(decisions if table else 0, actions, where.device)
        own = encoding.tree.player[encoding.nodes] == player
        self.solved = where.index(np.flatnonzero(own & (self.rows.first != EXACT) & (hidden > 0)))
        self.heads = HeadSums.zeros(len(self.solved), table, hidden, actions, where.device)
        self.rest = Reservoir(capacity if (self.rows.first[own] == ELSEWHERE).any() else 1, encoding.actions)
        self.seen = 0  # number of samples ever added
        self.latest = 0  # iteration of a sample

    def __len__(self) -> int:
        """The numbers that are kept: single samples and rows of sums."""
        return len(self.rest) + int(np.count_nonzero(self.sums.weight))

    def add(self, new: Samples, seed: np.random.SeedSequence, cells: Cells | None = None) -> None:
        """Add samples; those of the reservoir replace random ones when it is full.

        `cells` are sums of one iteration that go into the table instead of its samples.
        """
        rest, power, iteration = np.empty(len(new.key), np.int64), self.weight_power, int(new.iteration.max(initial=0))
        rest = rest[: add_to_sums(new, power, self.encoding.decision, self.rows, self.sums, rest)]
        if cells is not None:
            self.cells.add(cells, iteration**power)
        elif self.cells.weight.shape[1]:
            self._add_to_cells(new)
        self.seen += len(new.key)
        self.latest = max(self.latest, iteration)
        self.rest.add(new if len(rest) == len(new.key) else new.take(rest), seed)

    def _add_to_cells(self, new: Samples) -> None:
        """Add single samples to the table."""
        where, buckets = self.where, self.cells.weight.shape[1]
        keys, targets = (torch.from_numpy(array).to(where.device) for array in (new.key.view(np.int64), new.target))
        weights = torch.from_numpy(new.iteration.astype(np.float64) ** self.weight_power).to(where.device)
        decisions = where.index(self.encoding.decision[new.node])
        self.cells.add_samples(decisions, where.buckets_of(keys, buckets), weights, targets.double())

    @property
    def weight(self) -> float:
        """Of all samples ever added."""
        return float(self.sums.total.sum())

    @property
    def iteration_weights(self) -> F32:
        """[iteration] what a sample of the reservoir counts for: the mean over all samples ever added is one."""
        each = np.arange(1 + self.latest, dtype=np.float64) ** self.weight_power
        return (each * self.unit).astype(np.float32)

    @property
    def unit(self) -> float:
        """What a sample of the first iteration counts for."""
        return self.rest.seen / max(self.weight, 1e-30)

    def scales(self, *, by_decision: bool = True) -> F32:
        """[decision, action] the root mean square of the targets, by which they are divided.

        By decision, squared errors count by how much its samples vary: weighted least squares. Otherwise a network
        spends its precision on the few largest pots. A decision with few samples is about as all others.
        """
        encoding, square, total = self.encoding, self.sums.square, self.sums.total
        usual = max(square.sum() / max(total.sum() * encoding.actions, 1e-30), 1e-30)
        few = FEW * self.usual_weight
        mean = (square + few * usual) / (total[:, np.newaxis] + few) if by_decision else np.full_like(square, usual)
        return np.where(encoding.legal, np.sqrt(mean), 1).astype(np.float32)

    def table(self) -> Tensor:
        """[decision, bucket, action] the means of all samples, on the device.

        A cell with few samples is about as its decision, and a decision with few is about zero.
        """
        return self.cells.means(FEW * self.usual_weight)

    @property
    def usual_weight(self) -> float:
        """Of a sample, on average."""
        return self.weight / max(self.seen, 1) + 1e-30

    def log_table(self, *, alone: bool = False) -> Tensor:
        """[decision, bucket, action] logarithms of the mean strategy, for a network of strategies, or to play alone."""
        least, few = (LEAST_ALONE, FEW_ALONE) if alone else (LEAST_CHANCE, FEW)
        return (self.cells.means(few * self.usual_weight) + least).log_()

    @cached_property
    def _spots(self) -> tuple[I64, I64]:
        """The decisions that have rows, and [row] the position of its decision among them."""
        found, spot = np.unique(self.rows.decision, return_inverse=True)
        return found, spot

    def summed(self, scale: F32) -> Merged:
        """The rows of the sums, with targets divided by a scale, [decision, action]; weights are shares of all."""
        weight = self.sums.weight
        target = self.sums.target / np.maximum(weight, 1e-30)[:, np.newaxis] / scale[self.rows.decision]
        decisions, spot = self._spots
        share = (weight / max(self.weight, 1e-30)).astype(np.float32)
        return Merged(self.rows.keys, decisions, self.rows.hand, spot, share, target.astype(np.float32))

    def arrays(self) -> dict[str, Any]:
        """Its content, for a checkpoint."""
        counts = np.array([self.seen, self.latest], np.int64)
        return {
            "counts": counts,
            **{f"sums {name}": a for name, a in self.sums._asdict().items()},
            **{f"cells {name}": a.cpu().numpy() for name, a in self.cells._asdict().items()},
            **{f"heads {name}": a.cpu().numpy() for name, a in self.heads._asdict().items()},
            **{f"trust {name}": a.cpu().numpy() for name, a in self.trust._asdict().items()},
            **self.rest.arrays(),
        }

    def restore(self, iteration: int, arrays: dict[str, Any]) -> None:
        """The content of a checkpoint after an iteration."""
        counts = check_array(arrays.get("counts"), "counts", (2,), np.int64)
        latest = int(check_indices(counts[1:], iteration + 1, "counts")[0])
        seen = int(check_range(counts[:1], "counts", 0, MOST_COUNT)[0])
        own = {name: array for name, array in self.arrays().items() if name.partition(" ")[0] in SUMMED}
        found = check_like(arrays, own)
        for name in (name for name in own if name.rpartition(" ")[2] in NOT_NEGATIVE):
            check_range(found[name], name, 0)
        self.rest.restore(arrays, partial(self._check_samples, latest))
        self.seen, self.latest = seen, latest
        for name, array in self.sums._asdict().items():
            array[:] = found[f"sums {name}"]
        for what, tensors in (("cells", self.cells), ("heads", self.heads), ("trust", self.trust)):
            for name, tensor in tensors._asdict().items():
                tensor.copy_(torch.from_numpy(np.array(found[f"{what} {name}"])))

    def _check_samples(self, latest: int, samples: Samples) -> None:
        """Refuse samples of a file that are not of this player's decisions, or whose hands are none."""
        tree = self.encoding.tree
        nodes = check_indices(samples.node, len(tree), "node")
        check_indices(samples.iteration, latest + 1, "iteration", 1)
        if (tree.player[nodes] != self.player).any() or (tree.kind[nodes] != DECISION).any():
            raise InputError("the array 'node' has nodes where the player does not act", remedy=REMEDY)
        if not self.encoding.hands.are_keys(samples.key, tree.street[nodes]):
            raise InputError("the array 'key' has hands that the deck does not have", remedy=REMEDY)
