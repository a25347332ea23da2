"""One walk of ranges over the whole betting tree, on some boards.

Networks answer for every hole at every decision, and reaches and values follow by products of matrices, node by node:

    down    r(child) = r(node) sigma(action)             at decisions of the walker's opponent; else r(node)
    ends    v = r W chips                                W[j, i]: what hole i of the walker wins from hole j
    up      v(node) = sum of v(child)                    at the opponent's decisions
            v(node) = sum of sigma(action) v(child)      at the walker's

A hole is kept as a sample with the probability that a hole drawn from the opponent's range comes there and does not
block it, as in external sampling with several holes (`external.py`), which draws a line of the opponent. Layout:
[node, board, hole]. Everything until samples are drawn has constant shapes and stays on the device, so that a GPU can
replay it (`recorded.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from equipoise.deep.encoding import DeviceEncoding, Evaluator
from equipoise.deep.fitting.cells import Cells
from equipoise.deep.fitting.heads import HeadSums
from equipoise.deep.fitting.reservoir import Samples
from equipoise.deep.fused import FusedPlay, can_fuse
from equipoise.deep.network import Tensor, matched
from equipoise.deep.torch_door import full_precision
from equipoise.deep.traversals.board_deals import BoardDealer, BoardDeals
from equipoise.deep.traversals.deals import BLOCKED
from equipoise.deep.traversals.external import Sampled, Sampling
from equipoise.deep.traversals.public_plan import PublicPlan
from equipoise.runs.network_size import exact_streets

CPU_ROWS, CUDA_ROWS = 1 << 16, 1 << 22  # pairs of hole and decision in one network call


SOLVED_SHARE = 1 / 16  # of the samples that are kept when heads are solved: they only say how much targets vary


class DealTensors(NamedTuple):
    """`BoardDeals` on a device."""

    holes: Tensor  # [board, hole, card]
    keys: Tensor  # int64[board, hole, street]
    ranks: Tensor  # [board, runout, hole]

    @classmethod
    def of(cls, deals: BoardDeals, device: torch.device) -> DealTensors:
        """On a device."""
        arrays = (deals.holes, deals.keys.view(np.int64), deals.ranks)
        holes, keys, ranks = (torch.from_numpy(array).to(device) for array in arrays)
        return cls(holes, keys, ranks)


class PublicWalk:
    """A walk over a chunk of boards."""

    def __init__(
        self, where: DeviceEncoding, plan: PublicPlan, sampling: Sampling, dealer: BoardDealer, walker: int,
        deals: DealTensors, solves: bool = False,
    ) -> None:  # fmt: skip
        self.where, self.plan, self.sampling, self.walker, self.deals = where, plan, sampling, walker, deals
        self.encoding, self.solves = where.encoding, solves
        self.runouts, self.early = dealer.runouts, sorted(dealer.early, reverse=True)
        self.boards, self.holes = deals.holes.shape[:2]
        self.rows = CPU_ROWS if where.device.type == "cpu" else CUDA_ROWS

    @torch.inference_mode()
    def done(self, networks: tuple[Evaluator, Evaluator]) -> PublicWalk:
        """Answer, walk down, walk up, and sum all samples by percentile bucket."""
        plan, walker = self.plan, self.walker
        mine, theirs = (torch.cat([by_player[p] for by_player in plan.decisions]) for p in (walker, 1 - walker))
        self.mine, self.theirs = plan.node[mine], plan.node[theirs]
        self._read_deals()
        self.chance = self._chances(networks)
        self.reach = self._reaches()
        with full_precision():  # advantages are small differences of large sums: 10 bits of mantissa are few
            self.value = self._values()
            self.met = summed(self.reach[self.mine], self.meet)  # [own decision, board, hole]
            self.cells = self._cells(walker, self._gains) if self.sampling.table else None
            strategies = self.sampling.table and self.sampling.strategies
            self.strategy_cells = self._cells(1 - walker, self._plays) if strategies else None
        self.head_sums = self._head_sums(networks[walker]) if self.solves else None
        return self

    def _read_deals(self) -> None:
        self.keys = self.deals.keys.permute(2, 0, 1).contiguous()  # [street, board, hole]
        self.meet = meeting(self.deals.holes)
        self.ranks = torch.where(self.deals.ranks == int(BLOCKED), torch.nan, self.deals.ranks.float())

    @torch.inference_mode()
    def sampled(self, iteration: int, seed: int) -> Sampled:
        """Draw samples."""
        random = torch.Generator(self.where.device).manual_seed(seed)
        advantages = self._advantages(random)
        strategies = Samples.empty(0, self.encoding.actions)
        if self.sampling.strategies:
            strategies = self._strategies(random)
            strategies.iteration[:] = iteration
        advantages.iteration[:] = iteration
        rows = len(self.encoding.nodes) * self.boards * self.holes
        cells, strategy_cells, head_sums = map(_copied, (self.cells, self.strategy_cells, self.head_sums))
        return Sampled(advantages, strategies, rows, cells, strategy_cells, head_sums)

    def _chances(self, networks: tuple[Evaluator, Evaluator]) -> Tensor:
        """[row, board, hole] the strategies of both players."""
        actions, count = self.encoding.actions, self.boards * self.holes
        found = torch.empty((len(self.encoding.nodes), actions, count), device=self.where.device)
        fused = [FusedPlay(network) if can_fuse(network) else None for network in networks]
        for street, by_player in enumerate(self.plan.decisions):
            keys = self.keys[street].flatten()
            inputs = self.where.multi_hot_of(keys)
            for network, kernel, decisions in zip(networks, fused, by_player, strict=True):
                hands = network.hands_of(keys, inputs)
                if kernel is not None:
                    kernel.fill(hands, decisions, found)
                    continue
                if self.where.device.type != "cpu":
                    hands = hands._replace(cards=hands.cards.half())  # 11 bits of mantissa, as in TF32
                for chosen in torch.split(decisions, max(1, self.rows // count)):
                    outputs = network.grid(hands, chosen)[0]
                    found[chosen] = matched(outputs, self.where.legal[chosen].unsqueeze(1)).transpose(1, 2)
        return found.reshape(-1, self.boards, self.holes)

    def _reaches(self) -> Tensor:
        """[node, board, hole] the reach of the opponent's holes."""
        reach = torch.ones((len(self.encoding.tree), self.boards, self.holes), device=self.where.device)
        other = 1 - self.walker
        for level in self.plan.levels[1:]:
            here = reach.index_select(0, level.parent)
            if len(level.drawn[other]):
                taken = self.chance.index_select(0, level.drawn_row[other])
                here.index_copy_(0, level.drawn[other], here.index_select(0, level.drawn[other]).mul_(taken))
            reach[level.first : level.end] = here
        return reach

    def _values(self) -> Tensor:
        """[node, board, hole] the values of the walker's holes, summed over the opponent's reach; zeros last."""
        plan, reach = self.plan, self.reach
        value = torch.empty((len(reach) + 1, self.boards, self.holes), device=self.where.device)
        value[-1].zero_()
        sign = 1 - 2 * (plan.folder == self.walker).float()[:, None, None]
        value[plan.folded] = summed(reach[plan.folded], self.meet).mul_(sign * plan.chips[plan.folded])
        for street, nodes in enumerate(plan.showdowns):
            if len(nodes):
                value[nodes] = summed(reach[nodes], self._won(street)).mul_(plan.chips[nodes])
        for level in reversed(plan.levels):
            value[level.deals] = value[plan.child[level.deals, 0]]
            theirs, mine = level.decided[1 - self.walker], level.decided[self.walker]
            value[theirs] = value[plan.child[theirs]].sum(dim=1)
            value[mine] = (value[plan.child[mine]] * self._rows(mine)).sum(dim=1)
        return value

    def _rows(self, nodes: Tensor) -> Tensor:
        """[node, action, board, hole] strategies."""
        by_decision = self.chance.reshape(-1, self.encoding.actions, self.boards, self.holes)
        return by_decision[self.plan.decision[nodes]]

    def _won(self, street: int) -> Tensor:
        """[board, hole of the opponent, hole of the walker] what the walker wins at a showdown for one chip."""
        ranks = self.ranks[:, :1]
        if street in self.early:
            first = 1 + self.early.index(street) * self.runouts
            ranks = torch.cat([ranks, self.ranks[:, first : first + self.runouts]], dim=1)
        wins = torch.zeros(self.meet.shape, dtype=torch.int8, device=self.meet.device)
        for one in ranks.unbind(1):
            wins += one[:, None, :] > one[:, :, None]  # false where one of them is blocked
            wins -= (one[:, None, :] < one[:, :, None]).view(torch.int8)
        free = (~ranks.isnan()).float()
        return wins * self.meet / torch.bmm(free.transpose(1, 2), free)

    def _advantages(self, random: torch.Generator) -> Samples:
        """Samples of the walker's decisions: each hole as often as the opponent's range comes there and meets it."""
        share = SOLVED_SHARE if self.solves else 1.0
        often = self.met * (share * self.plan.keep[self.mine] / self.holes)[:, None, None]
        at, board, hole = _drawn(often, random)
        node = self.mine[at]
        after = self.value[self.plan.child[node], board[:, None], hole[:, None]]
        gain = after - self.value[node, board, hole][:, None]
        target = gain / (self.met[at, board, hole] * self.big_blind)[:, None]
        return self._samples(node, board, hole, target)

    def _strategies(self, random: torch.Generator) -> Samples:
        """Samples of the opponent's strategy: each hole as often as it comes there."""
        at, board, hole = _drawn(self.reach[self.theirs], random)
        node = self.theirs[at]
        first = self.plan.decision[node] * self.encoding.actions
        rows = first[:, None] + torch.arange(self.encoding.actions, device=first.device)
        return self._samples(node, board, hole, self.chance[rows, board[:, None], hole[:, None]])

    @property
    def big_blind(self) -> float:
        return float(self.encoding.tree.rules.big_blind)

    def _cells(self, player: int, numbers: Callable[[Tensor, slice], tuple[Tensor, Tensor]]) -> Cells:
        """Sums over all boards and holes by decision of a player and percentile bucket.

        IN: a function of some nodes and their positions among the player's decisions, to [node, board, hole] weights
        and [node, action, board, hole] weighted targets.
        """
        buckets, count, device = self.sampling.table, self.boards * self.holes, self.where.device
        found = Cells.zeros(len(self.encoding.nodes), buckets, self.encoding.actions, device, torch.float32)
        each, first = torch.arange(buckets, device=device), 0
        for street, by_player in enumerate(self.plan.decisions):
            bucket = self.where.buckets_of(self.keys[street].flatten(), buckets)
            member = (bucket[:, None] == each).float()  # [hole of a board, bucket]
            for decision in torch.split(by_player[player], max(1, self.rows // count)):
                weight, target = numbers(self.plan.node[decision], slice(first, first + len(decision)))
                first += len(decision)
                target = torch.where(self.where.legal[decision][:, :, None, None], target, 0.0)
                found.weight[decision] = weight.flatten(1) @ member
                found.target[decision] = (target.flatten(2) @ member).transpose(1, 2)
        return found

    def _head_sums(self, network: Evaluator) -> HeadSums:
        """Sums over all boards and holes at the walker's decisions that have something to learn, street by street."""
        buckets, count, parts, first = self.sampling.table, self.boards * self.holes, [], 0
        exact = exact_streets(self.encoding.tree.rules, buckets)
        each = torch.arange(buckets, device=self.where.device)
        for street, by_player in enumerate(self.plan.decisions):
            own = by_player[self.walker]
            if street in exact:
                first += len(own)
                continue
            keys = self.keys[street].flatten()
            hands = network.hands_of(keys, self.where.multi_hot_of(keys))
            member = (self.where.buckets_of(keys, buckets)[:, None] == each).float()
            for decision in torch.split(own, max(1, self.rows // count)):
                weight, target = self._gains(self.plan.node[decision], slice(first, first + len(decision)))
                first += len(decision)
                target = torch.where(self.where.legal[decision][:, :, None, None], target, 0.0)
                feature = network.features(hands, decision)
                parts.append(HeadSums.of(feature, weight.flatten(1), target.flatten(2), member))
        return HeadSums(*(torch.cat(tensors) for tensors in zip(*parts, strict=True)))

    def _gains(self, nodes: Tensor, at: slice) -> tuple[Tensor, Tensor]:
        """The advantages of the walker's holes; weights as in `_advantages`, of all samples and not only a share."""
        keep = (self.plan.keep[nodes] / (self.sampling.share * self.holes))[:, None, None]
        gain = self.value[self.plan.child[nodes]] - self.value[nodes].unsqueeze(1)
        return self.met[at] * keep, gain * (keep / self.big_blind).unsqueeze(1)

    def _plays(self, nodes: Tensor, _: slice) -> tuple[Tensor, Tensor]:
        """The strategies of the opponent's holes; weights as in `_strategies`."""
        reach = self.reach[nodes]
        return reach, self._rows(nodes) * reach.unsqueeze(1)

    def _samples(self, node: Tensor, board: Tensor, hole: Tensor, target: Tensor) -> Samples:
        """Samples of no iteration yet."""
        key = self.keys[self.plan.street[node], board, hole]
        legal = self.where.legal[self.plan.decision[node]]
        arrays = (tensor.cpu().numpy() for tensor in (key, node.int(), torch.where(legal, target, 0.0)))
        keys, nodes, targets = arrays
        return Samples(keys.view(np.uint64), nodes, np.zeros(len(nodes), np.uint32), targets)


def _copied(sums: Any) -> Any:
    """A copy of some sums: a recorded walk overwrites its results."""
    return None if sums is None else type(sums)(*(tensor.clone() for tensor in sums))


def _drawn(often: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Position, board and hole of information sets that are drawn with given probabilities."""
    draw = torch.rand(often.shape, generator=random, device=often.device)
    at, board, hole = torch.nonzero(draw < often, as_tuple=True)
    return at, board, hole


def meeting(holes: Tensor) -> Tensor:
    """[board, hole, hole] 1 where holes share no card. IN: [board, hole, card]."""
    shared = torch.zeros((), dtype=torch.bool, device=holes.device)
    for one in holes.unbind(2):
        for two in holes.unbind(2):
            shared = shared | (one[:, :, None] == two[:, None, :])
    return (~shared).float()


def summed(reach: Tensor, pairs: Tensor) -> Tensor:
    """[node, board, i] sums over holes j of reach times a number for the pair. IN: [node, board, j], [board, j, i]."""
    return torch.bmm(reach.transpose(0, 1), pairs).transpose(0, 1)
