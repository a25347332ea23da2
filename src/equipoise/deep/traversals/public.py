"""Public chance sampling with networks: on some random boards, ranges walk the whole betting tree.

(Johanson and others 2012, with networks instead of tables.) A board is drawn, and holes that both players may have, or
all that the board leaves; no action is drawn. Networks answer for every hole at every decision, and reaches and values
follow by products of matrices, node by node:

    down    r(child) = r(node) sigma(action)             at decisions of the walker's opponent; else r(node)
    ends    v = r W chips                                W[j, i]: what hole i of the walker wins from hole j
    up      v(node) = sum of v(child)                    at the opponent's decisions
            v(node) = sum of sigma(action) v(child)      at the walker's

A hole is kept as a sample with the probability that a hole drawn from the opponent's range comes there and does not
block it, as in external sampling with several holes (`external.py`), which draws a line of the opponent. A GPU is made
for this work: in no-limit hold'em it answers for a billion pairs of hole and decision in some seconds. With all holes
the samples of the last street are exact; with fewer, more boards are seen in the same time. Layout: [node, board,
hole].
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch

from equipoise.core.jit import I64
from equipoise.deep.encoding import DeviceEncoding, Evaluator
from equipoise.deep.fitting.cells import Cells
from equipoise.deep.fitting.reservoir import Samples
from equipoise.deep.network import Tensor, matched
from equipoise.deep.traversals.board_deals import BoardDealer, BoardDeals
from equipoise.deep.traversals.deals import BLOCKED
from equipoise.deep.traversals.external import Job, Sampled, Sampling, Traversals, joined
from equipoise.deep.traversals.fused import FusedPlay, can_fuse
from equipoise.games.rules import PLAYERS
from equipoise.tree.betting_tree import DEAL, DECISION, FOLDED, SHOWDOWN, BettingTree

RUNOUTS = 8  # more boards for a pot that both players are all-in for before the last street
PARTS = 4  # into which decisions are split to draw samples: probabilities of all of them would take much memory
CPU_ROWS, CUDA_ROWS = 1 << 16, 1 << 22  # pairs of hole and decision in one network call
CPU_VALUES, CUDA_VALUES = 1 << 24, 1 << 26  # numbers of a chunk of boards: nodes times boards times holes


Dealt: TypeAlias = tuple[BoardDeals, int]  # boards, and the seed of what is drawn from them


class Level(NamedTuple):
    """Nodes at one depth of a street, a slice of all nodes, as indices on a device."""

    first: int
    end: int
    parent: Tensor  # [node]
    drawn: tuple[Tensor, Tensor]  # [player] nodes below its decisions, as positions in the level
    drawn_row: tuple[Tensor, Tensor]  # [player] the rows of their actions
    decided: tuple[Tensor, Tensor]  # [player] its decision nodes
    deals: Tensor  # DEAL nodes

    @classmethod
    def of(cls, where: DeviceEncoding, first: int, end: int) -> Level:
        """The nodes from `first` to `end`."""
        tree, encoding, index = where.encoding.tree, where.encoding, where.index
        nodes = np.arange(first, end)
        above = np.maximum(tree.parent[first:end], 0)
        row = encoding.decision[above].astype(np.int64) * encoding.actions + nodes - tree.first_child[above]
        below_decision = (tree.kind[above] == DECISION) & (nodes > 0)
        drawn = [np.flatnonzero(below_decision & (tree.player[above] == player)) for player in range(PLAYERS)]
        decides = tree.kind[first:end] == DECISION
        decided = [nodes[decides & (tree.player[first:end] == player)] for player in range(PLAYERS)]
        return cls(
            first, end, index(above), (index(drawn[0]), index(drawn[1])),
            (index(row[drawn[0]]), index(row[drawn[1]])), (index(decided[0]), index(decided[1])),
            index(nodes[tree.kind[first:end] == DEAL]),
        )  # fmt: skip


class PublicPlan(NamedTuple):
    """A betting tree as indices on a device. A *row* is an action of a decision: decision * actions + action."""

    levels: list[Level]
    child: Tensor  # [node, action] the node it leads to; beyond the last action, a node of value zero
    decision: Tensor  # [node]
    decisions: list[list[Tensor]]  # [street][player] decisions
    folded: Tensor  # nodes
    folder: Tensor  # [folded node] who folded
    showdowns: list[Tensor]  # [street] nodes
    chips: Tensor  # [node, 1, 1] what the loser of a terminal node loses

    @classmethod
    def of(cls, where: DeviceEncoding) -> PublicPlan:
        """The plan of the tree of an encoding."""
        tree, encoding, index = where.encoding.tree, where.encoding, where.index
        number, streets, players = np.arange(encoding.actions), range(tree.rules.rounds), range(PLAYERS)
        decided = [(tree.kind == DECISION) & (tree.player == player) for player in players]
        has = number < tree.num_children[:, np.newaxis]
        folded = np.flatnonzero(tree.kind == FOLDED)
        chips = torch.from_numpy(tree.chips.min(axis=1).astype(np.float32)).to(where.device)
        return cls(
            [Level.of(where, first, end) for first, end in level_bounds(tree)],
            index(np.where(has, tree.first_child[:, np.newaxis] + number, len(tree))),
            index(encoding.decision),
            [[index(encoding.decision[decided[p] & (tree.street == street)]) for p in players] for street in streets],
            index(folded),
            index(tree.player[folded]),
            [index(np.flatnonzero((tree.kind == SHOWDOWN) & (tree.street == street))) for street in streets],
            chips[:, None, None],
        )


def level_bounds(tree: BettingTree) -> list[tuple[int, int]]:
    """The slices of nodes whose parents all come before the slice: the levels of the streets."""
    bounds, first = [], 0
    for node in range(1, len(tree) + 1):
        if node == len(tree) or tree.parent[node] >= first:
            bounds.append((first, node))
            first = node
    return bounds


@dataclass(frozen=True, eq=False)
class PublicTraversals(Traversals):
    """Walks of ranges over sampled boards. A range has `sampling.holes` holes, or all that a board leaves."""

    @cached_property
    def plan(self) -> PublicPlan:
        """The tree on the device."""
        return PublicPlan.of(self.where)

    @cached_property
    def boards(self) -> BoardDealer:
        """Deals boards, with runouts for streets that have showdowns before the last."""
        tree, hands = self.where.encoding.tree, self.where.encoding.hands
        streets = np.unique(tree.street[tree.kind == SHOWDOWN]).tolist()
        early = tuple(street for street in streets if street < tree.rules.rounds - 1)
        return BoardDealer(hands, self.sampling.holes, early, RUNOUTS if early else 0)

    @cached_property
    def chunk(self) -> int:
        """Boards that are walked together."""
        most = CPU_VALUES if self.where.device.type == "cpu" else CUDA_VALUES
        return max(1, most // (len(self.where.encoding.tree) * self.boards.holes))

    def do_jobs(
        self, walker: int, networks: tuple[Evaluator, Evaluator], iteration: int, jobs: list[Job]
    ) -> list[Sampled]:
        """The samples of some chunks of boards, in order. On a GPU, threads deal ahead while it walks."""
        fused = [FusedPlay(network) for network in networks] if all(map(can_fuse, networks)) else None

        def walk(dealt: Dealt) -> Sampled:
            return _Walk(self, walker, networks, iteration, *dealt, fused).run()

        if self.where.device.type == "cpu":
            with ThreadPoolExecutor(self.threads) as pool:
                return list(pool.map(lambda job: walk(self._deal(job)), jobs))
        waiting = [self._ahead.get(_name(job)) or self._dealers.submit(self._deal, job) for job in jobs]
        self._ahead.clear()
        return [walk(dealt.result()) for dealt in waiting]

    def deal_ahead(self, count: int, seed: np.random.SeedSequence) -> None:
        """On a GPU, threads deal while it trains."""
        if self.where.device.type != "cpu":
            self._ahead.clear()
            self._ahead.update({_name(job): self._dealers.submit(self._deal, job) for job in self.jobs(count, seed)})

    def _deal(self, job: Job) -> Dealt:
        deals, draws = job[1].spawn(2)
        return self.boards.deal(deals, job[0]), int(draws.generate_state(1)[0])

    @cached_property
    def _dealers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads)

    @cached_property
    def _ahead(self) -> dict[Any, Future[Dealt]]:
        """What is dealt for the next traversals, by the name of the job."""
        return {}


def _name(job: Job) -> Any:
    return job[0], job[1].entropy, job[1].spawn_key


def make_traversals(where: DeviceEncoding, threads: int, sampling: Sampling) -> Traversals:
    """The traversals that `sampling` asks for."""
    return (PublicTraversals if sampling.public else Traversals)(where, threads, sampling)


class _Walk:
    """One walk over a chunk of boards."""

    def __init__(
        self, traversals: PublicTraversals, walker: int, networks: tuple[Evaluator, Evaluator], iteration: int,
        deals: BoardDeals, seed: int, fused: list[FusedPlay] | None = None,
    ) -> None:  # fmt: skip
        self.where, self.plan, self.sampling = traversals.where, traversals.plan, traversals.sampling
        self.encoding, self.tree = self.where.encoding, traversals.tree
        self.walker, self.networks, self.iteration, self.fused = walker, networks, iteration, fused
        self.boards, self.holes = deals.holes.shape[:2]
        device = self.where.device
        self.random = torch.Generator(device).manual_seed(seed)
        self.keys = torch.from_numpy(deals.keys.view(np.int64)).to(device).permute(2, 0, 1).contiguous()
        self.meet = meeting(torch.from_numpy(deals.holes).to(device))
        ranks = torch.from_numpy(deals.ranks).to(device)
        self.ranks = torch.where(ranks == int(BLOCKED), torch.nan, ranks.float())
        self.runouts = traversals.boards.runouts
        self.early = sorted(traversals.boards.early, reverse=True)
        self.keep = torch.from_numpy(self.tree.keep).to(device)

    @torch.inference_mode()
    def run(self) -> Sampled:
        """Answer, walk down, walk up, draw samples."""
        self.chance = self._chances()
        self.reach = self._reaches()
        self.value = self._values()
        decisions = self.encoding.nodes
        mine = self.encoding.tree.player[decisions] == self.walker
        advantages = self._advantages(self.where.index(decisions[mine]))
        strategies = Samples.empty(0, self.encoding.actions)
        if self.sampling.strategies:
            strategies = self._strategies(self.where.index(decisions[~mine]))
        found = Sampled(advantages, strategies, len(decisions) * self.boards * self.holes)
        if not self.sampling.table:
            return found
        found = found._replace(advantage_cells=self._cells(decisions[mine], self._gains))
        if not self.sampling.strategies:
            return found
        return found._replace(strategy_cells=self._cells(decisions[~mine], self._plays))

    def _chances(self) -> Tensor:
        """[row, board, hole] the strategies of both players."""
        actions, count = self.encoding.actions, self.boards * self.holes
        found = torch.empty((len(self.encoding.nodes), actions, count), device=self.where.device)
        rows = CPU_ROWS if self.where.device.type == "cpu" else CUDA_ROWS
        for street, by_player in enumerate(self.plan.decisions):
            keys = self.keys[street].flatten()
            inputs = self.where.multi_hot_of(keys)
            for player, decisions in enumerate(by_player):
                hands = self.networks[player].hands_of(keys, inputs)
                if self.fused is not None:
                    self.fused[player].fill(hands, decisions, found)
                    continue
                if self.where.device.type != "cpu":
                    hands = hands._replace(cards=hands.cards.half())  # 11 bits of mantissa, as in TF32
                for chosen in torch.split(decisions, max(1, rows // count)):
                    outputs = self.networks[player].grid(hands, chosen)[0]
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
        value[-1] = 0
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
        first = 1 + self.early.index(street) * self.runouts if street in self.early else 1
        runouts = [0, *range(first, first + self.runouts)] if street in self.early else [0]
        wins = torch.zeros(self.meet.shape, dtype=torch.int8, device=self.meet.device)
        for ranks in self.ranks[:, runouts].unbind(1):
            wins += ranks[:, None, :] > ranks[:, :, None]  # false where one of them is blocked
            wins -= (ranks[:, None, :] < ranks[:, :, None]).view(torch.int8)
        free = (~self.ranks[:, runouts].isnan()).float()
        return wins * self.meet / torch.bmm(free.transpose(1, 2), free)

    def _advantages(self, nodes: Tensor) -> Samples:
        """Samples of the walker's decisions: each hole as often as the opponent's range comes there and meets it."""
        parts = []
        for chosen in torch.split(nodes, ceil(len(nodes) / PARTS)):
            met = summed(self.reach[chosen], self.meet)
            at, board, hole = self._drawn(met * (self.keep[chosen] / self.holes)[:, None, None])
            node = chosen[at]
            after = self.value[self.plan.child[node], board[:, None], hole[:, None]]
            gain = after - self.value[node, board, hole][:, None]
            target = gain / (met[at, board, hole] * float(self.tree.big_blind))[:, None]
            parts.append(self._samples(node, board, hole, target))
        return joined(parts)

    def _strategies(self, nodes: Tensor) -> Samples:
        """Samples of the opponent's strategy: each hole as often as it comes there."""
        parts = []
        for chosen in torch.split(nodes, ceil(len(nodes) / PARTS)):
            at, board, hole = self._drawn(self.reach[chosen])
            node = chosen[at]
            first = self.plan.decision[node] * self.encoding.actions
            rows = first[:, None] + torch.arange(self.encoding.actions, device=first.device)
            parts.append(self._samples(node, board, hole, self.chance[rows, board[:, None], hole[:, None]]))
        return joined(parts)

    def _cells(self, nodes: I64, numbers: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Cells:
        """Sums over all boards and holes by decision and percentile bucket.

        IN: nodes; a function of some nodes, to [node, board, hole] weights and [node, action, board, hole] weighted
        targets.
        """
        buckets, count, streets = self.sampling.table, self.boards * self.holes, self.encoding.tree.street[nodes]
        found = Cells.zeros(len(self.encoding.nodes), buckets, self.encoding.actions)
        rows = CPU_ROWS if self.where.device.type == "cpu" else CUDA_ROWS
        for street in np.unique(streets).tolist():
            bucket = self.where.buckets_of(self.keys[street].flatten(), buckets)
            member = torch.nn.functional.one_hot(bucket, buckets).float()  # [hole of a board, bucket]
            for chosen in torch.split(self.where.index(nodes[streets == street]), max(1, rows // count)):
                decision = self.plan.decision[chosen]
                weight, target = numbers(chosen)
                target = torch.where(self.where.legal[decision][:, :, None, None], target, 0.0)
                at = decision.cpu().numpy()
                found.weight[at] = (weight.flatten(1) @ member).cpu().numpy()
                found.target[at] = (target.flatten(2) @ member).transpose(1, 2).cpu().numpy()
        return found

    def _gains(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """The advantages of the walker's holes; weights as in `_advantages`."""
        keep = (self.keep[nodes] / self.holes)[:, None, None]
        gain = self.value[self.plan.child[nodes]] - self.value[nodes].unsqueeze(1)
        return summed(self.reach[nodes], self.meet) * keep, gain * (keep / float(self.tree.big_blind)).unsqueeze(1)

    def _plays(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """The strategies of the opponent's holes; weights as in `_strategies`."""
        reach = self.reach[nodes]
        return reach, self._rows(nodes) * reach.unsqueeze(1)

    def _drawn(self, often: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Node, board and hole of information sets that are drawn with given probabilities."""
        draw = torch.rand(often.shape, generator=self.random, device=often.device)
        at, board, hole = torch.nonzero(draw < often, as_tuple=True)
        return at, board, hole

    def _samples(self, node: Tensor, board: Tensor, hole: Tensor, target: Tensor) -> Samples:
        legal = self.where.legal[self.plan.decision[node]]
        nodes = node.cpu().numpy().astype(np.int32)
        street = self.where.index(self.encoding.tree.street[nodes])
        key = self.keys[street, board, hole].cpu().numpy().view(np.uint64)
        targets = torch.where(legal, target, 0.0).cpu().numpy()
        return Samples(key, nodes, np.full(len(nodes), self.iteration, np.uint32), targets)


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
