"""External-sampling traversals in lockstep: thousands of deals walk the betting tree together, level by level.

(Brown and others 2019, Algorithm 2.) At the walker's decisions a traversal takes every action, at the opponent's one
that is drawn from its strategy. All traversals are at the same depth, so one network call a level answers for all of
them; kernels do the rest. On the way back, the walker's decisions give samples of advantages (value of an action minus
value of the decision, in big blinds), the opponent's decisions samples of its strategy. All samples of an information
set may be divided by a power of its pot: regret matching does not depend on it, but squared errors do. A pot that both
players are all-in for before the last street is worth its mean over some boards: unbiased, and far less noisy.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch

from equipoise.core.jit import F32, F64, I8, I32, I64, U8, U64, kernel
from equipoise.deep.encoding import DeviceEncoding, Evaluator
from equipoise.deep.network import matched
from equipoise.deep.reservoir import Samples
from equipoise.games.rules import PLAYERS
from equipoise.solvers.external_kernel import draw_share
from equipoise.tree.betting_tree import DEAL, DECISION, FOLDED, SHOWDOWN, BettingTree

ROWS = 1 << 18  # about as many rows as the deals of one chunk visit
RUNOUTS = 32


class WalkTree(NamedTuple):
    """The arrays of a betting tree that a traversal reads, by node."""

    kind: U8
    player: I8
    street: U8
    first_child: I32
    num_children: U8
    chips: I32  # what the loser of a terminal node loses
    unit: F32  # chips in one unit of an advantage

    @classmethod
    def of(cls, tree: BettingTree, pot_power: float) -> WalkTree:
        """The arrays of a tree. The unit is the big blind, times the pot in big blinds to the power `pot_power`."""
        blind = tree.rules.big_blind
        unit = blind * (tree.chips.sum(axis=1) / blind) ** pot_power
        arrays = (tree.kind, tree.player, tree.street, tree.first_child, tree.num_children, tree.chips.min(axis=1))
        return cls(*arrays, unit.astype(np.float32))


class Rows(NamedTuple):
    """Visits of a traversal, level by level. The children of a row are neighbours."""

    node: I32
    deal: I32
    child: I32  # the row of its first child
    value: F32  # to the walker, in chips

    @classmethod
    def space(cls, size: int) -> Rows:
        """Space for some rows."""
        node, deal, child = (np.zeros(size, np.int32) for _ in range(3))
        return cls(node, deal, child, np.zeros(size, np.float32))

    def grown(self, size: int) -> Rows:
        """The same rows with space for more."""
        more = Rows.space(size)
        for new, old in zip(more, self, strict=True):
            new[: len(old)] = old
        return more


@kernel
def sort_level(
    first: int, end: int, walker: int, tree: WalkTree, share: F32, rows: Rows, mine: I32, theirs: I32, counts: I64
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
        won = share[rows.deal[row], tree.street[node]] * np.float32(1 - 2 * walker)
        if kind == FOLDED:
            won = np.float32(-1 if tree.player[node] == walker else 1)
        rows.value[row] = won * np.float32(tree.chips[node])


@kernel
def expand_level(mine: I32, theirs: I32, chance: F32, random: U64, tree: WalkTree, start: int, rows: Rows) -> int:
    """Add the next level: all children of the walker's rows, one drawn child of the opponent's. Returns its end.

    IN: int32[row] twice, float32[opponent's row, action], first free row; IN OUT: uint64[1] generator, rows.
    """
    at = start
    for row in mine:
        node = rows.node[row]
        rows.child[row] = at
        for action in range(tree.num_children[node]):
            rows.node[at] = tree.first_child[node] + action
            rows.deal[at] = rows.deal[row]
            at += 1
    for i in range(theirs.size):
        row = theirs[i]
        node = rows.node[row]
        left, action = draw_share(random), 0
        while action < np.int64(tree.num_children[node]) - 1 and left >= chance[i, action]:
            left -= chance[i, action]
            action += 1
        while chance[i, action] <= 0 and action > 0:  # rounding left a remainder beyond the last action
            action -= 1
        rows.child[row] = at
        rows.node[at] = tree.first_child[node] + action
        rows.deal[at] = rows.deal[row]
        at += 1
    return at


@kernel
def back_up(mine: I32, theirs: I32, chance: F32, tree: WalkTree, rows: Rows, target: F32) -> None:
    """The values of a level whose children have theirs. IN: int32[row] twice, float32[walker's row, action]; IN OUT:
    rows; OUT: float32[walker's row, action] advantages.
    """
    for row in theirs:
        rows.value[row] = rows.value[rows.child[row]]
    for i in range(mine.size):
        row = mine[i]
        child, count = np.int64(rows.child[row]), np.int64(tree.num_children[rows.node[row]])
        mean = np.float32(0)
        for action in range(count):
            mean += chance[i, action] * rows.value[child + action]
        rows.value[row] = mean
        for action in range(count):
            target[i, action] = (rows.value[child + action] - mean) / tree.unit[rows.node[row]]


class Level(NamedTuple):
    """The decisions of one level of a chunk: rows of each kind, and their strategies."""

    mine: I32
    theirs: I32
    my_chance: F32  # [row, action]
    their_chance: F32


class Sampled(NamedTuple):
    """The samples of traversals, and the number of rows visited."""

    advantages: Samples
    strategies: Samples
    rows: int


Job: TypeAlias = tuple[int, np.random.SeedSequence]  # number of deals that walk together, and their random numbers


@dataclass(frozen=True, eq=False)
class Traversals:
    """Traversals of a tree by a stack of one network for each player."""

    where: DeviceEncoding
    threads: int = 1
    pot_power: float = 0.0  # advantages are divided by the pot, in big blinds, to this power

    @cached_property
    def tree(self) -> WalkTree:
        return WalkTree.of(self.where.encoding.tree, self.pot_power)

    @cached_property
    def runouts(self) -> int:
        """Boards on which a hand is shown down if both players are all-in before the last street."""
        tree = self.where.encoding.tree
        early = (tree.kind == SHOWDOWN) & (tree.street < tree.rules.rounds - 1)
        return RUNOUTS if early.any() else 0

    @cached_property
    def chunk(self) -> int:
        """Deals that walk together."""
        tree = self.where.encoding.tree
        most = max(rows_per_deal(tree, walker) for walker in range(PLAYERS))
        return max(16, int(ROWS / most))

    def run(
        self, walker: int, count: int, networks: tuple[Evaluator, Evaluator], iteration: int,
        seed: np.random.SeedSequence,
    ) -> Sampled:  # fmt: skip
        """Some traversals of one walker. The result does not depend on the number of threads."""
        sizes = [min(self.chunk, count - first) for first in range(0, count, self.chunk)]
        parts = self.do_jobs(walker, networks, iteration, list(zip(sizes, seed.spawn(len(sizes)), strict=True)))
        return Sampled(
            _joined([part.advantages for part in parts]),
            _joined([part.strategies for part in parts]),
            sum(part.rows for part in parts),
        )

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
        self.encoding = self.where.encoding
        self.networks, self.iteration, self.runouts = networks, iteration, traversals.runouts

    def run(self, count: int, seed: np.random.SeedSequence) -> Sampled:
        """Deal, walk down, walk up."""
        deal_seed, action_seed = seed.spawn(2)
        self.keys, self.share = self.encoding.hands.deal(deal_seed, count, self.runouts)
        self.hands = [self._hands(player) for player in range(PLAYERS)]
        self.rows = Rows.space(2 * count)
        self.rows.deal[:count] = np.arange(count)
        levels, end = self._walk_down(count, action_seed.generate_state(1, np.uint64) | np.uint64(1))
        targets = self._walk_up(levels)
        mine, theirs = self.walker, 1 - self.walker
        return Sampled(
            _joined([self._samples(mine, level.mine, target) for level, target in zip(levels, targets, strict=True)]),
            _joined([self._samples(theirs, level.theirs, level.their_chance) for level in levels]),
            end,
        )

    def _hands(self, player: int) -> tuple[Any, Any]:
        """The card part of a player's hands, each once, and [deal, street] where a deal's hands are."""
        keys, place = np.unique(self.keys[:, player], return_inverse=True)
        return self.networks[player].hands(keys), place.reshape(len(self.keys), -1)

    def _walk_down(self, count: int, random: U64) -> tuple[list[Level], int]:
        levels: list[Level] = []
        first, end, counts = 0, count, np.zeros(2, np.int64)
        while end > first:
            mine, theirs = np.empty(end - first, np.int32), np.empty(end - first, np.int32)
            sort_level(first, end, self.walker, self.tree, self.share, self.rows, mine, theirs, counts)
            mine, theirs = mine[: counts[0]], theirs[: counts[1]]
            my_chance, their_chance = self._chances(self.walker, mine), self._chances(1 - self.walker, theirs)
            below = int(self.tree.num_children[self.rows.node[mine]].sum()) + len(theirs)
            if end + below > len(self.rows.node):
                self.rows = self.rows.grown(2 * (end + below))
            levels.append(Level(mine, theirs, my_chance, their_chance))
            first, end = end, expand_level(mine, theirs, their_chance, random, self.tree, end, self.rows)
        return levels, end

    def _chances(self, player: int, rows: I32) -> F32:
        """[row, action] the strategy of a player at some rows."""
        if not len(rows):
            return np.zeros((0, self.encoding.actions), np.float32)
        nodes = self.rows.node[rows]
        hands, place = self.hands[player]
        hand = place[self.rows.deal[rows], self.encoding.tree.street[nodes]]
        decision = self.where.index(self.encoding.decision[nodes])
        with torch.inference_mode():
            outputs = self.networks[player].pairs(hands, self.where.index(hand), decision)[0]
            found: F32 = matched(outputs, self.where.legal[decision]).cpu().numpy()
        return found

    def _walk_up(self, levels: list[Level]) -> list[F32]:
        """The advantages of each level."""
        targets = [np.zeros_like(level.my_chance) for level in levels]
        for level, target in zip(reversed(levels), reversed(targets), strict=True):
            back_up(level.mine, level.theirs, level.my_chance, self.tree, self.rows, target)
        return targets

    def _samples(self, player: int, rows: I32, numbers: F32) -> Samples:
        nodes = self.rows.node[rows]
        keys = self.keys[self.rows.deal[rows], player, self.encoding.tree.street[nodes]]
        return Samples(keys, nodes, np.full(len(rows), self.iteration, np.uint32), numbers)


def _joined(parts: list[Samples]) -> Samples:
    return Samples(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def rows_per_deal(tree: BettingTree, walker: int) -> float:
    """The expected number of rows of a traversal against a uniform opponent."""
    share = np.ones(len(tree))
    share_rows(walker, tree.parent, tree.kind, tree.player, tree.num_children, share)
    return float(share.sum())


@kernel
def share_rows(walker: int, parent: I32, kind: U8, player: I8, num_children: U8, share: F64) -> None:
    """The expected visits of a traversal. IN: by node, parents first; IN OUT: float64[node], the root's set."""
    for node in range(1, parent.size):
        above = parent[node]
        theirs = kind[above] == DECISION and player[above] != walker
        share[node] = share[above] / (np.float64(num_children[above]) if theirs else 1.0)
