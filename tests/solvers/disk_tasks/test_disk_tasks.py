"""Disk tasks give the tables of public chance sampling bit for bit, for any groups, parts, threads and places."""

from __future__ import annotations

import dataclasses
import errno
import os
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import build_tree, load_game
from equipoise.abstraction.maps.bucket_map import PUBLIC, BucketMap, PublicBuckets, StreetBuckets
from equipoise.bench.solvers import random_buckets
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.errors import InputError
from equipoise.games.rules import GameRules
from equipoise.solvers.board_samples import BoardSource
from equipoise.solvers.disk_tasks.cards import GroupedBoards, Sampling
from equipoise.solvers.disk_tasks.cut import GameCut, Task, deal_tasks
from equipoise.solvers.disk_tasks.head import DiskHead
from equipoise.solvers.disk_tasks.part import DiskPart, PartSpec
from equipoise.solvers.public_chance import PublicChance
from equipoise.tree.betting_tree import BettingTree
from small_games import LEDUC, LIMIT, MENU, NO_LIMIT, forgetful

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


def test_the_games_are_cut_both_ways() -> None:
    """Every group has buckets of its own on every later street, and boards that fall to it."""
    for name, rules in GAMES.items():
        cut = GameCut(tree_of(name), hierarchical(name), CLUSTERS)
        assert len(cut.deals) > 1
        assert sum(cut.slots(task) for task in cut.tasks) == sum(cut.whole.slots_by_street[1:])
        for street in range(1, rules.rounds):
            own = np.concatenate([cut.cards.by_group[group][street] for group in range(CLUSTERS)])
            assert sorted(own) == list(range(hierarchical(name).buckets[street]))
        boards = GroupedBoards(cut.cards, Sampling(boards=40))
        boards.fill(0)
        assert all(len(rows) for rows in boards.rows)


SAMPLING = Sampling(boards=5, seed=3)


def wrong(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, replacement: Any) -> bool:
    """Whether a wrong twin of something is noticed."""
    wanted, _ = in_memory("no-limit", SAMPLING, 5)
    monkeypatch.setattr(owner, name, replacement)
    split = Split("no-limit", SAMPLING, groups=2, parts=2)
    split.run(5)
    return not same(split.tables(), wanted)


def test_the_reach_of_the_wrong_walker_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    descend = DiskHead._descend

    def swapped(self: DiskHead) -> Any:
        right = descend(self)
        self.walker, average = 1 - self.walker, self.average.copy()
        reach = descend(self)
        self.walker, self.average[:] = 1 - self.walker, average
        assert right.shape == reach.shape
        return reach

    assert wrong(monkeypatch, DiskHead, "_descend", swapped)


def test_a_dropped_group_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    work = DiskPart._walk

    def dropping(self: DiskPart, index: int, *rest: Any) -> None:
        if self.spec.tasks[index].group == 0:
            work(self, index, *rest)
        else:
            rest[1].value[:] = 0

    assert wrong(monkeypatch, DiskPart, "_walk", dropping)


def test_a_missing_weight_of_boards_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory("no-limit", SAMPLING, 5)
    assert wrong(monkeypatch, BoardSource, "_class_sizes", lambda _, cards: np.ones(len(cards), np.float32))


@pytest.mark.parametrize(("threads", "direct"), [(1, False), (2, False), (1, True), (2, True)])
@pytest.mark.parametrize("boards", [1, 5])
def test_on_disk_as_in_memory(tmp_path: Path, boards: int, threads: int, direct: bool) -> None:
    sampling = Sampling(boards=boards, schedule="practical", seed=3)
    split = Split("limit", sampling, groups=2, parts=2, folder=tmp_path, threads=threads, direct=direct)
    split.run(5)
    assert same(split.tables(), in_memory("limit", sampling, 5)[0])
    assert not list(tmp_path.iterdir())  # the files of a process that dies vanish with it


def test_a_task_is_mapped_only_while_it_is_walked(tmp_path: Path) -> None:
    split = Split("limit", SAMPLING, groups=2, folder=tmp_path)
    split.run(2)
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()
    tables = split.parts[0].tables.open(0)
    assert str(tmp_path) in Path("/proc/self/maps").read_text()
    del tables


def test_tables_of_the_game_and_of_tasks_are_the_same() -> None:
    wanted, _ = in_memory("limit", SAMPLING, 5)
    split = Split("limit", SAMPLING, groups=2, parts=2)
    split.run(5)
    for part in split.parts:
        for task, tables in part.task_tables():
            for own, whole in zip(tables, wanted, strict=True):
                assert same(split.cut.take_task(task, whole), own)


@pytest.mark.parametrize("steps", [4, 5])
@pytest.mark.parametrize("schedule", ["cfr+", "practical", "linear"])
def test_a_run_taken_up_by_other_parts_is_the_same_run(tmp_path: Path, schedule: str, steps: int) -> None:
    """After any step, from files or from arrays, on another number of parts."""
    sampling = Sampling(boards=2, schedule=schedule, seed=3)
    first = Split("no-limit", sampling, groups=2, parts=2, folder=tmp_path, direct=steps == 5)
    for _ in range(steps):
        first.step()
    for part in first.parts:
        part.save(str(tmp_path), "cut")
    arrays = {name: array.copy() for name, array in first.head.arrays().items()}
    small = {name: array for part in first.parts for name, array in part.arrays().items()}
    state = first.head.iteration, first.head.nodes, arrays
    first.run(1)  # changes nothing that was saved
    wanted, nodes = in_memory("no-limit", sampling, 5)
    for from_files in (True, False):
        where = tmp_path if from_files else None
        second = Split("no-limit", sampling, groups=2, parts=3, folder=where, direct=steps == 4)
        second.head.restore(*state)
        for part in second.parts:
            part.load(str(tmp_path), "cut") if from_files else part.restore(small)
        for _ in range(10 - steps):
            second.step()
        assert same(second.tables(), wanted)
        assert second.head.nodes == nodes


def test_a_checkpoint_that_finds_the_disk_full_leaves_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = Split("leduc", SAMPLING, groups=2, folder=tmp_path)
    split.run(2)
    part = split.parts[0]
    part.save(str(tmp_path), "older")
    before = {path.name: path.read_bytes() for path in (tmp_path / "older").iterdir()}
    split.run(1)
    left = [3]

    def full(_: int) -> None:
        left[0] -= 1
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        part.save(str(tmp_path), "newer")
    monkeypatch.undo()
    assert not list((tmp_path / "newer").iterdir())
    assert {path.name: path.read_bytes() for path in (tmp_path / "older").iterdir()} == before
    part.load(str(tmp_path), "older")
    part.save(str(tmp_path), "again")
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == before


def test_tables_that_find_the_disk_full_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(InputError, match="No space left"):
        Split("leduc", SAMPLING, folder=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        Split("leduc", SAMPLING).parts[0].save(str(tmp_path / "file"), "cut")


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    split = Split("leduc", SAMPLING, groups=2)
    split.parts[0].save(str(tmp_path), "cut")
    with pytest.raises(InputError, match="another game"):
        Split("leduc", SAMPLING, groups=3).parts[0].load(str(tmp_path), "cut")
    path = tmp_path / "cut" / "1-1.tables"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="checksum"):
        split.parts[0].load(str(tmp_path), "cut")
    path.unlink()
    with pytest.raises(InputError, match="No such file"):
        split.parts[0].load(str(tmp_path), "cut")


def test_what_cannot_be_cut_is_said() -> None:
    buckets = hierarchical("limit")
    with pytest.raises(InputError, match="one street"):
        GameCut(build_tree("kuhn"), BucketMap.lossless(load_game("kuhn")))
    with pytest.raises(InputError, match="4 groups"):
        GameCut(tree_of("limit"), buckets, 4).slots(Task(0, 0))
    with pytest.raises(InputError, match="no clusters"):
        GameCut(tree_of("limit"), forgetful(LIMIT), 2).slots(Task(0, 0))
    shared = dataclasses.replace(buckets, streets=(*buckets.streets[:3], forgetful(LIMIT).streets[3]))
    with pytest.raises(InputError, match="share buckets"):
        GameCut(tree_of("limit"), shared, 2).slots(Task(0, 0))
    with pytest.raises(InputError, match="100 parts"):
        deal_tasks(GameCut(tree_of("limit"), buckets), 100)
    split, other = Split("leduc", SAMPLING, groups=2, parts=2), Split("leduc", Sampling(boards=9), groups=2, parts=2)
    with pytest.raises(InputError, match="same tasks and settings"):
        split.parts[0].work(other.head.begin()[0])
    with pytest.raises(InputError, match="samples otherwise"):
        split.head.restore(0, 0, other.head.arrays())


def test_tasks_are_dealt_evenly() -> None:
    cut = GameCut(build_tree("holdem.limit"), random_buckets(load_game("holdem.limit"), 20))
    for parts in (1, 2, 3):
        dealt = deal_tasks(cut, parts)
        assert sorted(task for tasks in dealt for task in tasks) == list(cut.tasks)
        sizes = [sum(cut.slots(task) for task in tasks) for tasks in dealt]
        assert max(sizes) - min(sizes) <= max(cut.slots(task) for task in cut.tasks)
