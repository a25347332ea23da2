"""Disk tasks give the tables of public chance sampling bit for bit, for any groups, parts, threads and places."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import build_tree, load_game
from equipoise.abstraction.maps.bucket_map import PUBLIC, BucketMap, PublicBuckets, StreetBuckets
from equipoise.cards.isomorphism import HandIndexer
from equipoise.games.rules import GameRules
from equipoise.solvers.disk_tasks.cards import Sampling
from equipoise.solvers.disk_tasks.cut import GameCut, deal_tasks
from equipoise.solvers.disk_tasks.head import DiskHead
from equipoise.solvers.disk_tasks.part import DiskPart, PartSpec
from equipoise.solvers.public_chance import PublicChance
from equipoise.tree.betting_tree import BettingTree
from small_games import LEDUC, LIMIT, MENU, NO_LIMIT

TWO_FOUR = load_game("holdem.two-four")
GAMES = {"leduc": LEDUC, "two-four": TWO_FOUR, "limit": LIMIT, "no-limit": NO_LIMIT}
CLUSTERS, PRIVATE = 3, 4


@cache
def tree_of(name: str) -> BettingTree:
    rules = GAMES[name]
    return build_tree(rules, None if rules.limit else MENU)


@cache
def hierarchical(name: str) -> BucketMap:
    """Clusters of the boards of the second street, and in each some buckets that mix hands without sense."""
    rules = GAMES[name]
    flop = rules.board_size(1)
    boards = HandIndexer((flop,), rules.deck)
    label = (np.arange(boards.size) * 7 % 5 % CLUSTERS).astype(np.uint16)
    first = rules.unordered_deals(0)
    hands = np.arange(HandIndexer(first, rules.deck).size)
    streets = [StreetBuckets(first, 3, (hands * 5 % 7 % 3).astype(np.uint16)), _flop_street(rules, label)]
    for street in range(2, rules.rounds):
        deals = rules.unordered_deals(street)
        hands = np.arange(HandIndexer(deals, rules.deck).size)
        join = np.arange(CLUSTERS * PRIVATE, dtype=np.uint32).reshape(PRIVATE, CLUSTERS).T.copy()  # clusters interleave
        cell = (hands * 11 % 13 % PRIVATE).astype(np.uint16)
        streets.append(StreetBuckets(deals, CLUSTERS * PRIVATE, cell, join, PUBLIC))
    return BucketMap(rules, tuple(streets), PublicBuckets(1, label, CLUSTERS), recipe="hierarchical")


def _flop_street(rules: GameRules, label: Any) -> StreetBuckets:
    indexer = HandIndexer(rules.unordered_deals(1), rules.deck)
    hands = np.arange(indexer.size)
    flops = np.ascontiguousarray(indexer.hands(hands)[:, rules.hole_cards :])
    cluster = label[HandIndexer((rules.board_size(1),), rules.deck).indices(flops)]
    cell = (hands * 7 % 11 % PRIVATE * CLUSTERS + cluster).astype(np.uint16)
    return StreetBuckets(rules.unordered_deals(1), CLUSTERS * PRIVATE, cell)


class Split:
    """A head and parts in this process."""

    def __init__(
        self, name: str, sampling: Sampling, *, groups: int = 1, parts: int = 1, folder: Path | None = None, **more: Any
    ) -> None:
        tree, buckets = tree_of(name), hierarchical(name)
        self.cut = GameCut(tree, buckets, groups)
        dealt = deal_tasks(self.cut, parts)
        self.head = DiskHead(self.cut, dealt, sampling)
        where = str(folder) if folder else None
        specs = [PartSpec(tasks, sampling, groups, where, **more) for tasks in dealt]
        self.parts = [DiskPart(tree, buckets, pickle.loads(pickle.dumps(spec))) for spec in specs]

    def step(self) -> None:
        messages = self.head.begin()
        self.head.finish([part.work(message) for part, message in zip(self.parts, messages, strict=True)])

    def run(self, iterations: int) -> None:
        for _ in range(2 * iterations):
            self.step()

    def tables(self) -> Any:
        """float32[regret or average, slot] of the whole game."""
        whole = np.full((2, self.cut.whole.slots), np.nan, np.float32)
        for i, top in enumerate((self.head.regret, self.head.average)):
            tasks = ((task, tables[i]) for part in self.parts for task, tables in part.task_tables())
            self.cut.assemble(top, tasks, whole[i])
        return whole


@cache
def in_memory(name: str, sampling: Sampling, iterations: int) -> tuple[Any, int]:
    solver = PublicChance(tree_of(name), hierarchical(name), **vars(sampling))
    solver.run(iterations)
    tables = np.stack([solver.regret, solver.average])
    assert tables.any(axis=1).all()
    return tables, solver.nodes


def same(found: Any, wanted: Any) -> bool:
    return found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("schedule", ["cfr+", "practical"])
@pytest.mark.parametrize(("groups", "parts", "threads"), [(1, 1, 1), (1, 2, 1), (2, 3, 1), (3, 2, 2)])
@pytest.mark.parametrize("boards", [1, 5])
@pytest.mark.parametrize("name", list(GAMES))
def test_tasks_give_the_tables_of_public_chance_sampling(
    name: str, boards: int, groups: int, parts: int, threads: int, schedule: str
) -> None:
    sampling = Sampling(boards=boards, schedule=schedule, seed=3)
    wanted, nodes = in_memory(name, sampling, 5)
    split = Split(name, sampling, groups=groups, parts=parts, threads=threads)
    split.run(5)
    assert same(split.tables(), wanted)
    assert (split.head.iteration, split.head.nodes) == (5, nodes)
