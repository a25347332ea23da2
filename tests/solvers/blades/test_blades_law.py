"""The law of the blades: with fixed strategies, expected updates are those of plain external sampling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.jit import F32, F64, I64, U8, U64, kernel
from equipoise.solvers.blades.build import blades_of
from equipoise.solvers.blades.part import Batch, BladesPart, ClusterCards, draw_board
from equipoise.solvers.blades.table_split import TableSplit
from equipoise.solvers.external_sampling import External
from equipoise.solvers.solver import Solver
from equipoise.solvers.split_solver import SplitSolver
from equipoise.tree.betting_tree import BettingTree
from hierarchies import hierarchy

LARGE = 1e6  # regrets so large that the updates of a step do not change the strategy
HANDS = 10  # of a step


class Moments(NamedTuple):
    """Means of the updates of a step by slot, regrets and then averages, with their variances."""

    mean: F64
    variance: F64  # of the mean
    often: Any  # bool[slot] where the variance is known well


def moments(solver: Solver, fix: Callable[[], None], steps: int) -> Moments:
    slots = solver.layout.slots
    total, squares, visits = np.zeros(2 * slots), np.zeros(2 * slots), np.zeros(2 * slots)
    for _ in range(steps):
        fix()
        before = solver.regret.astype(np.float64)
        solver.run(HANDS)
        update = np.concatenate([solver.regret - before, solver.average])
        total, squares, visits = total + update, squares + update**2, visits + (update != 0)
    mean = total / steps
    return Moments(mean, (squares / steps - mean**2) / steps, visits > 60)


def fixed_regrets(solver: Solver) -> F32:
    return (LARGE * np.random.default_rng(5).uniform(0.1, 1, solver.layout.slots)).astype(np.float32)


def plain(tree: BettingTree, buckets: BucketMap, steps: int) -> Moments:
    solver = External(tree, buckets, schedule="cfr", period=10**9, seed=3)
    regret = fixed_regrets(solver)

    def fix() -> None:
        solver.regret[:], solver.average[:] = regret, 0

    return moments(solver, fix, steps)


def in_parts(tree: BettingTree, buckets: BucketMap, steps: int, part: type[BladesPart] = BladesPart) -> Moments:
    head, plans = blades_of(tree, buckets, 2, schedule="cfr", period=10**9, batch=HANDS)
    solver = SplitSolver(head.split, head, [part(head.split, plan) for plan in plans])
    regret = fixed_regrets(solver)

    def fix() -> None:
        solver.regret[:], solver.average[:] = regret, 0
        solver.restore(solver.iteration, solver.nodes, solver.state())
        played = np.stack([head.regret] * head.most_begun)
        head.restore(head.iteration, head.nodes, {**head.arrays(), "played": played})

    return moments(solver, fix, steps)


def standard_errors(mine: Moments, theirs: Moments) -> F64:
    """How far the means are apart, where they are known well."""
    often = mine.often & theirs.often
    assert often.sum() > 60
    distance: F64 = np.abs(mine.mean - theirs.mean)[often] / np.sqrt(mine.variance + theirs.variance)[often]
    return distance


STEPS = 1500


@pytest.mark.parametrize("name", ["leduc", "limit", "no-limit"])
def test_expected_updates_are_those_of_plain_external_sampling(name: str) -> None:
    tree, buckets = hierarchy(name)
    distance = standard_errors(in_parts(tree, buckets, STEPS), plain(tree, buckets, 2 * STEPS))
    assert distance.max() < 5
    assert 0.5 < np.mean(distance**2) < 1.5  # the errors are of the size that they claim to be


class UnweightedUpdates(BladesPart):
    def weights(self, possible: I64) -> F32:
        return np.ones(len(possible), np.float32)


class UnweightedValues(BladesPart):
    def _batch(self, message: Any, cluster: int, deals: slice) -> Batch:
        batch = super()._batch(message, cluster, deals)
        equal = self.split.boards_left / self.split.clusters
        return batch._replace(possible=np.where(batch.possible > 0, equal, 0.0))


class UnblockedBoards(BladesPart):
    def possible(self, hands: U8, cluster: int) -> I64:
        return np.where(super().possible(hands, cluster) > 0, len(self.split.boards(cluster)), 0)


@pytest.mark.parametrize("twin", [UnweightedUpdates, UnweightedValues, UnblockedBoards])
def test_the_law_has_power(twin: type[BladesPart]) -> None:
    tree, buckets = hierarchy("leduc")
    assert standard_errors(in_parts(tree, buckets, STEPS // 2, twin), plain(tree, buckets, STEPS)).max() > 8


@kernel
def draw_many(hands: U8, cards: ClusterCards, random: U64, deck: int, drawn: U8) -> None:
    for i in range(drawn.shape[0]):
        draw_board(hands, cards, random, deck, drawn[i])


def test_boards_are_uniform_among_those_possible() -> None:
    split = TableSplit(*hierarchy("limit"))
    hands, count = np.array([0, 5, 3, 6], np.uint8), 40_000
    for cluster in range(split.clusters):
        drawn = np.zeros((count, split.rules.hand_cards), np.uint8)
        boards = split.boards(cluster)
        cards = ClusterCards(cluster, boards, split.street, *split.local)
        draw_many(hands, cards, np.ones(1, np.uint64), split.rules.deck.size, drawn)
        expected = sorted(_runouts(boards, hands, split.rules.deck.size))
        found, times = np.unique(drawn[:, 2:], axis=0, return_counts=True)
        assert [tuple(row) for row in found.tolist()] == expected
        assert np.isin(boards, hands).any()  # otherwise nothing is blocked
        share = 1 / len(expected)
        assert np.abs(times / count - share).max() < 5 * np.sqrt(share * (1 - share) / count)


def _runouts(boards: U8, hands: U8, deck: int) -> Iterator[tuple[int, ...]]:
    for board in boards.tolist():
        if not set(board) & set(hands.tolist()):
            for card in set(range(deck)) - set(board) - set(hands.tolist()):
                yield (*board, card)
