"""External-sampling traversals in lockstep: thousands of deals walk the betting tree together, level by level.

(Brown and others 2019, Algorithm 2.) At the walker's decisions a traversal takes every action, at the opponent's one
that is drawn from its strategy. All traversals are at the same depth, so one network call a level answers for all of
them; kernels do the rest. On the way back, the walker's decisions give samples of advantages (value of an action minus
value of the decision, in big blinds), the opponent's decisions samples of its strategy. Most decisions of a walker that
takes every action are late ones; late samples may be thinned out (`thin`), so that memories keep more of the early
ones, which every hand comes to. How often a decision is sampled does not change what its network is to learn.

A traversal may deal several holes to each player (`deals.py`). The opponent then has a range, weights r_j of its holes
with a mean of one. It draws one action for all of them, with the probability that its range takes it,

    p(a) = mean_j r_j sigma_j(a),   and then   r_j <- r_j sigma_j(a) / p(a)

so every hole of the walker meets the whole range at once: the values are unbiased, and the luck of one opposing hole
averages out. A hole of the walker counts with the share of the range that does not block it; it is kept as a sample
with that probability. With one hole this is external sampling. Where few nodes follow, the opponent may take every
action, too: its weights are then multiplied by sigma_j(a), and the values of its actions are added.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import NamedTuple, TypeAlias

import numpy as np
import torch

from equipoise.core.arrays import Int
from equipoise.core.jit import F32, F64, I8, I32, I64, U8, U64, inlined, kernel
from equipoise.deep.encoding import DeviceEncoding, Evaluator, Hands
from equipoise.deep.fitting.cells import Cells, total
from equipoise.deep.fitting.heads import HeadSums
from equipoise.deep.fitting.reservoir import Samples
from equipoise.deep.network import Tensor, matched
from equipoise.deep.traversals.deals import Dealer, Deals
from equipoise.games.rules import PLAYERS
from equipoise.solvers.external_kernel import draw_share
from equipoise.tree.betting_tree import DEAL, DECISION, FOLDED, SHOWDOWN, BettingTree

ROWS = 1 << 18  # about as many rows, each with every hole, as the deals of one chunk visit
RUNOUTS = 32  # boards for a pot that both players are all-in for before the last street


class Sampling(NamedTuple):
    """What a traversal samples, and how it counts."""

    holes: int = 1  # holes of each player on one board
    whole: int = 0  # the opponent takes every action where at most this many nodes follow
    thin: float = 0.0  # samples are kept as often as a walker that draws its actions uniformly comes, to this power
    strategies: bool = True  # the opponent's strategy is sampled, too
    public: bool = False  # ranges walk every line of a board (`public.py`)
    share: float = 1.0  # of all samples that are kept
    table: int = 0  # such walks also sum everything by decision and this many percentile buckets
    solve: int = 0  # after this iteration they also sum what heads are solved from; 0: never

    def solves(self, iteration: int) -> bool:
        """Whether heads are solved in an iteration."""
        return 0 < self.solve < iteration


EXTERNAL = Sampling()  # external sampling


class WalkTree(NamedTuple):
    """The arrays of a betting tree that a traversal reads, by node."""

    kind: U8
    player: I8
    street: U8
    first_child: I32
    num_children: U8
    chips: I32  # what the loser of a terminal node loses
    whole: U8  # 1 where the opponent takes every action, too
    keep: F32  # the share of the walker's samples that is kept, at its decisions
    big_blind: np.float32

    @classmethod
    def of(cls, tree: BettingTree, sampling: Sampling) -> WalkTree:
        """The arrays of a tree."""
        below = np.zeros(len(tree), np.int64)
        count_below(tree.parent, below)
        whole = (below <= sampling.whole).astype(np.uint8)
        keep = np.ones(len(tree), np.float32)
        for walker in range(PLAYERS):
            mine = (tree.kind == DECISION) & (tree.player == walker)
            keep[mine] = sampling.share * uniform_reach(tree, walker)[mine] ** sampling.thin
        arrays = (tree.kind, tree.player, tree.street, tree.first_child, tree.num_children, tree.chips.min(axis=1))
        return cls(*arrays, whole, keep, np.float32(tree.rules.big_blind))


@kernel
def count_below(parent: I32, below: I64) -> None:
    """The number of nodes below each node. IN: int32[node], parents first; OUT: int64[node], zero before."""
    for node in range(parent.size - 1, 0, -1):
        below[parent[node]] += below[node] + 1


class Rows(NamedTuple):
    """Visits of a traversal, level by level. The children of a row are neighbours."""

    node: I32  # [row]
    deal: I32  # [row]
    child: I32  # [row] the row of its first child
    reach: F32  # [row, hole of the opponent] weights of its range: one on average, less below a `whole` decision
    value: F32  # [row, hole of the walker] mean over the range, in chips; holes that block each other count nothing
    met: F32  # [hole of the walker] share of a range that it does not block; for one row at a time

    @classmethod
    def space(cls, size: int, holes: int) -> Rows:
        """Space for some rows."""
        node, deal, child = (np.zeros(size, np.int32) for _ in range(3))
        reach, value = (np.empty((size, holes), np.float32) for _ in range(2))
        return cls(node, deal, child, reach, value, np.empty(holes, np.float32))

    def grown(self, size: int) -> Rows:
        """The same rows with space for more."""
        more = Rows.space(size, self.reach.shape[1])
        for new, old in zip(more, self, strict=True):
            new[: len(old)] = old
        return more


class Level(NamedTuple):
    """The decisions of one level of a chunk: rows of each kind, and their strategies."""

    mine: I32
    theirs: I32
    my_chance: F32  # [row, hole, action]
    their_chance: F32


@inlined
def over_range(reach: F32, pairs: F32, scale: np.float32, out: F32) -> None:
    """The mean of a table over a range, times a number. IN: float32[j], float32[j, i]; OUT: float32[i]."""
    out[:] = 0
    scale /= np.float32(reach.size)
    for j in range(reach.size):
        weight = scale * reach[j]
        if weight != 0:
            for i in range(out.size):
                out[i] += weight * pairs[j, i]


@inlined
def taken_by(reach: F32, chance: F32, action: Int) -> np.float32:
    """How often a range takes an action. IN: float32[hole], float32[hole, action]."""
    total = np.float32(0)
    for j in range(reach.size):
        total += reach[j] * chance[j, action]
    return np.float32(total / np.float32(reach.size))


@kernel
def sort_level(
    first: int, end: int, walker: int, tree: WalkTree, deals: Deals, rows: Rows, mine: I32, theirs: I32, counts: I64
) -> None:
    """Value the terminal rows of a level and list its decisions. IN: rows first to end; IN OUT: rows, whose DEAL nodes
    become those they lead to; OUT: int32[row] twice, the walker's decisions and the opponent's; int64[2] their counts.
    """
    counts[:] = 0
    for row in range(first, end):
        node = rows.node[row]
        if tree.kind[node] == DEAL:
            node = tree.first_child[node]
            rows.node[row] = node
        kind = tree.kind[node]
        if kind == DECISION:
            if tree.player[node] == walker:
                mine[counts[0]] = row
                counts[0] += 1
            else:
                theirs[counts[1]] = row
                counts[1] += 1
            continue
        deal, chips = rows.deal[row], np.float32(tree.chips[node])
        if kind == FOLDED:
            won = -chips if tree.player[node] == walker else chips
            over_range(rows.reach[row], deals.meet[deal], won, rows.value[row])
        else:
            street = min(np.int64(tree.street[node]), deals.won.shape[1] - 1)
            over_range(rows.reach[row], deals.won[deal, street], chips, rows.value[row])


@kernel
def expand_level(mine: I32, theirs: I32, chance: F32, random: U64, tree: WalkTree, start: int, rows: Rows) -> int:
    """Add the next level: all children of the walker's rows, one drawn child of the opponent's. Returns its end.

    IN: int32[row] twice, float32[opponent's row, hole, action], first free row; IN OUT: uint64[1] generator, rows.
    """
    at, holes = start, rows.reach.shape[1]
    for row in mine:
        node = rows.node[row]
        rows.child[row] = at
        for action in range(tree.num_children[node]):
            rows.node[at] = tree.first_child[node] + action
            rows.deal[at] = rows.deal[row]
            for j in range(holes):
                rows.reach[at, j] = rows.reach[row, j]
            at += 1
    for k in range(theirs.size):
        row = theirs[k]
        node, reach = rows.node[row], rows.reach[row]
        rows.child[row] = at
        if tree.whole[node]:
            for action in range(tree.num_children[node]):
                rows.node[at] = tree.first_child[node] + action
                rows.deal[at] = rows.deal[row]
                for j in range(holes):
                    rows.reach[at, j] = reach[j] * chance[k, j, action]
                at += 1
            continue
        total = np.float32(0)
        for j in range(holes):
            total += reach[j] / np.float32(holes)
        left, action = total * draw_share(random), 0
        share = taken_by(reach, chance[k], action)
        while action < np.int64(tree.num_children[node]) - 1 and left >= share:
            left -= share
            action += 1
            share = taken_by(reach, chance[k], action)
        while share <= 0 and action > 0:  # rounding left a remainder beyond the last action
            action -= 1
            share = taken_by(reach, chance[k], action)
        rows.node[at] = tree.first_child[node] + action
        rows.deal[at] = rows.deal[row]
        for j in range(holes):
            rows.reach[at, j] = reach[j] * chance[k, j, action] * total / share
        at += 1
    return at


@kernel
def back_up(
    level: Level, walker: int, tree: WalkTree, deals: Deals, random: U64, rows: Rows, advantages: Samples
) -> int:
    """The values of a level whose children have theirs, and the walker's samples. Returns their number.

    IN: a level; IN OUT: uint64[1] generator, rows; OUT: samples, space for one of each row and hole.
    """
    holes, kept, met = rows.value.shape[1], 0, rows.met
    for row in level.theirs:
        node, child = rows.node[row], np.int64(rows.child[row])
        count = np.int64(tree.num_children[node]) if tree.whole[node] else 1
        for i in range(holes):
            rows.value[row, i] = rows.value[child, i]
            for other in range(1, count):
                rows.value[row, i] += rows.value[child + other, i]
    for k in range(level.mine.size):
        row = level.mine[k]
        node, deal = rows.node[row], rows.deal[row]
        child, count = np.int64(rows.child[row]), np.int64(tree.num_children[node])
        over_range(rows.reach[row], deals.meet[deal], np.float32(1), met)
        for i in range(holes):
            mean = np.float32(0)
            for action in range(count):
                mean += level.my_chance[k, i, action] * rows.value[child + action, i]
            rows.value[row, i] = mean
            if draw_share(random) >= met[i] * tree.keep[node]:
                continue
            for action in range(count):
                gain = rows.value[child + action, i] - mean
                advantages.target[kept, action] = gain / (met[i] * tree.big_blind)
            for action in range(count, advantages.target.shape[1]):
                advantages.target[kept, action] = 0
            advantages.key[kept] = deals.keys[deal, walker, i, tree.street[node]]
            advantages.node[kept] = node
            kept += 1
    return kept


@kernel
def sample_strategies(
    level: Level, player: int, tree: WalkTree, deals: Deals, random: U64, rows: Rows, strategies: Samples
) -> int:
    """Samples of the opponent's strategy, each hole as often as it weighs on average. Returns their number.

    IN: a level, rows; IN OUT: uint64[1] generator; OUT: samples, space for two of each row and hole.
    """
    kept = 0
    for k in range(level.theirs.size):
        row = level.theirs[k]
        node, deal = rows.node[row], rows.deal[row]
        next_one, total = draw_share(random), np.float32(0)
        for j in range(rows.reach.shape[1]):
            total += rows.reach[row, j]
            while next_one < total and kept < strategies.key.size:
                next_one += np.float32(1)
                for action in range(strategies.target.shape[1]):
                    strategies.target[kept, action] = level.their_chance[k, j, action]
                strategies.key[kept] = deals.keys[deal, player, j, tree.street[node]]
                strategies.node[kept] = node
                kept += 1
    return kept


class Sampled(NamedTuple):
    """The samples of traversals, and the number of rows visited, each by every hole."""

    advantages: Samples
    strategies: Samples
    rows: int
    advantage_cells: Cells | None = None  # if a walk sums more than it samples
    strategy_cells: Cells | None = None
    head_sums: HeadSums | None = None


Job: TypeAlias = tuple[int, np.random.SeedSequence]  # number of deals that walk together, and their random numbers


@dataclass(frozen=True, eq=False)
class Traversals:
    """Traversals of a tree by a stack of one network for each player."""

    where: DeviceEncoding
    threads: int = 1
    sampling: Sampling = EXTERNAL

    @cached_property
    def tree(self) -> WalkTree:
        return WalkTree.of(self.where.encoding.tree, self.sampling)

    @cached_property
    def dealer(self) -> Dealer:
        """With boards for pots that both players are all-in for before the last street, if there are any."""
        tree = self.where.encoding.tree
        early = (tree.kind == SHOWDOWN) & (tree.street < tree.rules.rounds - 1)
        return Dealer(self.where.encoding.hands, self.sampling.holes, RUNOUTS if early.any() else 0)

    @cached_property
    def chunk(self) -> int:
        """Deals that walk together."""
        tree = self.where.encoding.tree
        most = max(rows_per_deal(tree, self.tree.whole, walker) for walker in range(PLAYERS))
        return max(1, int(ROWS / (most * self.sampling.holes)))

    def run(
        self, walker: int, count: int, networks: tuple[Evaluator, Evaluator], iteration: int,
        seed: np.random.SeedSequence,
    ) -> Sampled:  # fmt: skip
        """Some traversals of one walker. The result does not depend on the number of threads."""
        parts = self.do_jobs(walker, networks, iteration, self.jobs(count, seed))
        return Sampled(
            joined([part.advantages for part in parts]),
            joined([part.strategies for part in parts]),
            sum(part.rows for part in parts),
            total([part.advantage_cells for part in parts]),
            total([part.strategy_cells for part in parts]),
            total([part.head_sums for part in parts]),
        )

    def jobs(self, count: int, seed: np.random.SeedSequence) -> list[Job]:
        """Traversals in chunks of about the same size."""
        size = ceil(count / ceil(count / self.chunk))
        sizes = [min(size, count - first) for first in range(0, count, size)]
        return list(zip(sizes, seed.spawn(len(sizes)), strict=True))

    def deal_ahead(self, count: int, seed: np.random.SeedSequence) -> None:
        """Told that these traversals come next: begin to deal their cards, where that saves time."""

    def do_jobs(
        self, walker: int, networks: tuple[Evaluator, Evaluator], iteration: int, jobs: list[Job]
    ) -> list[Sampled]:
        """The samples of some chunks of deals, in order."""
        if self.threads == 1 or len(jobs) == 1:
            return [_Chunk(self, walker, networks, iteration).run(*job) for job in jobs]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(lambda job: _Chunk(self, walker, networks, iteration).run(*job), jobs))


class _Chunk:
    """Deals that walk together."""

    def __init__(
        self, traversals: Traversals, walker: int, networks: tuple[Evaluator, Evaluator], iteration: int
    ) -> None:
        self.where, self.tree, self.walker = traversals.where, traversals.tree, walker
        self.encoding, self.dealer = self.where.encoding, traversals.dealer
        self.networks, self.iteration = networks, iteration
        self.samples_strategies = traversals.sampling.strategies

    def run(self, count: int, seed: np.random.SeedSequence) -> Sampled:
        """Deal, walk down, walk up."""
        deal_seed, action_seed = seed.spawn(2)
        self.deals = self.dealer.deal(deal_seed, count, self.walker)
        self.random = action_seed.generate_state(1, np.uint64) | np.uint64(1)
        self.hands = [self._hands(player) for player in range(PLAYERS)]
        self.rows = Rows.space(2 * count, self.dealer.holes)
        self.rows.deal[:count] = np.arange(count)
        self.rows.reach[:count] = 1
        levels, end = self._walk_down(count)
        advantages = [self._advantages(level) for level in reversed(levels)]
        none = Samples.empty(0, self.encoding.actions)
        strategies = [self._strategies(level) for level in levels] if self.samples_strategies else [none]
        return Sampled(joined(advantages), joined(strategies), end * self.dealer.holes)

    def _hands(self, player: int) -> tuple[Hands, Tensor]:
        """The card part of a player's hands, each once, and [deal, street, hole] where a hand is."""
        keys, place = np.unique(self.deals.keys[:, player], return_inverse=True)
        place = place.reshape(self.deals.keys[:, player].shape).swapaxes(1, 2)
        return self.networks[player].hands(keys), self.where.index(place)

    def _walk_down(self, count: int) -> tuple[list[Level], int]:
        levels: list[Level] = []
        first, end, counts = 0, count, np.zeros(2, np.int64)
        while end > first:
            mine, theirs = np.empty(end - first, np.int32), np.empty(end - first, np.int32)
            sort_level(first, end, self.walker, self.tree, self.deals, self.rows, mine, theirs, counts)
            mine, theirs = mine[: counts[0]], theirs[: counts[1]]
            my_chance, their_chance = self._chances(self.walker, mine), self._chances(1 - self.walker, theirs)
            most = self.tree.num_children[self.rows.node[theirs]]
            below = int(self.tree.num_children[self.rows.node[mine]].sum()) + int(most.sum())
            if end + below > len(self.rows.node):
                self.rows = self.rows.grown(2 * (end + below))
            levels.append(Level(mine, theirs, my_chance, their_chance))
            first, end = end, expand_level(mine, theirs, their_chance, self.random, self.tree, end, self.rows)
        return levels, end

    def _chances(self, player: int, rows: I32) -> F32:
        """[row, hole, action] the strategy of a player at some rows."""
        if not len(rows):
            return np.zeros((0, self.dealer.holes, self.encoding.actions), np.float32)
        nodes = self.rows.node[rows]
        hands, place = self.hands[player]
        deal, street = self.where.index(self.rows.deal[rows]), self.where.index(self.encoding.tree.street[nodes])
        decision = self.where.index(self.encoding.decision[nodes])
        with torch.inference_mode():
            outputs = self.networks[player].rows(hands, place[deal, street], decision)[0]
            found: F32 = matched(outputs, self.where.legal[decision].unsqueeze(1)).cpu().numpy()
        return found

    def _advantages(self, level: Level) -> Samples:
        """The walker's samples of a level, and its values."""
        space = Samples.empty(level.mine.size * self.dealer.holes, self.encoding.actions)
        kept = back_up(level, self.walker, self.tree, self.deals, self.random, self.rows, space)
        space.iteration[:] = self.iteration
        return space.take(slice(kept))

    def _strategies(self, level: Level) -> Samples:
        """The opponent's samples of a level."""
        space = Samples.empty(2 * level.theirs.size * self.dealer.holes, self.encoding.actions)
        player = 1 - self.walker
        kept = sample_strategies(level, player, self.tree, self.deals, self.random, self.rows, space)
        space.iteration[:] = self.iteration
        return space.take(slice(kept))


def joined(parts: list[Samples]) -> Samples:
    """The samples of all parts, in order."""
    return Samples(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def rows_per_deal(tree: BettingTree, whole: U8, walker: int) -> float:
    """The expected number of rows of a traversal against a uniform opponent. IN: uint8[node], as in `WalkTree`."""
    return float(uniform_reach(tree, 1 - walker, whole).sum())


def uniform_reach(tree: BettingTree, player: int, whole: U8 | None = None) -> F64:
    """[node] the reach of a player that draws its actions uniformly, or takes every one where `whole` is 1."""
    reach = np.ones(len(tree))
    every = np.zeros(len(tree), np.uint8) if whole is None else whole
    share_reach(player, every, tree.parent, tree.kind, tree.player, tree.num_children, reach)
    return reach


@kernel
def share_reach(drawer: int, every: U8, parent: I32, kind: U8, player: I8, num_children: U8, reach: F64) -> None:
    """`uniform_reach`. IN: by node, parents first; IN OUT: float64[node], the root's set."""
    for node in range(1, parent.size):
        above = parent[node]
        drawn = kind[above] == DECISION and player[above] == drawer and not every[above]
        reach[node] = reach[above] / (np.float64(num_children[above]) if drawn else 1.0)
