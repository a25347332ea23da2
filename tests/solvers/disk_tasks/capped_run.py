"""A run for `test_memory_cap.py`, in a process of its own: capped_run.py HOW BUCKETS ROOM FOLDER.

HOW is "memory" (one table in memory) or "disk". The address space may grow by ROOM bytes once everything is compiled
(0: without limit); BUCKETS is the number of buckets in each cluster, 0 to have tables a third larger than the limit.
Prints the buckets, the limit, the size of the tables, and a checksum of the tables of all tasks.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from equipoise.abstraction.maps.bucket_map import PUBLIC, BucketMap, PublicBuckets, StreetBuckets
from equipoise.cards.isomorphism import HandIndexer
from equipoise.solvers.disk_tasks.cards import Sampling
from equipoise.solvers.disk_tasks.cut import GameCut
from equipoise.solvers.disk_tasks.head import DiskHead
from equipoise.solvers.disk_tasks.part import DiskPart, PartSpec
from equipoise.solvers.public_chance import PublicChance
from small_games import LIMIT, tree_of

CLUSTERS, ITERATIONS, SAMPLING = 3, 3, Sampling(seed=2)
REGRET_AND_AVERAGE = 8


def scattered(private: int) -> BucketMap:
    """Few hands on `private` buckets in each of three clusters, at random."""
    rng = np.random.default_rng(1)
    label = (np.arange(HandIndexer((2,), LIMIT.deck).size) % CLUSTERS).astype(np.uint16)
    streets = [StreetBuckets(LIMIT.unordered_deals(0), HandIndexer(LIMIT.unordered_deals(0), LIMIT.deck).size)]
    for street in range(1, LIMIT.rounds):
        deals = LIMIT.unordered_deals(street)
        cell = np.arange(HandIndexer(deals, LIMIT.deck).size, dtype=np.uint32)
        within = rng.integers(0, private, (CLUSTERS, len(cell)))
        join = (within + private * np.arange(CLUSTERS)[:, np.newaxis]).astype(np.uint32)
        streets.append(StreetBuckets(deals, CLUSTERS * private, cell, join, PUBLIC))
    return BucketMap(LIMIT, tuple(streets), PublicBuckets(1, label, CLUSTERS), recipe="scattered")


def cut_of(private: int) -> GameCut:
    return GameCut(tree_of(LIMIT), scattered(private), CLUSTERS)


def in_memory(cut: GameCut) -> str:
    solver = PublicChance(cut.tree, cut.buckets, **vars(SAMPLING))
    solver.run(ITERATIONS)
    digest = xxhash.xxh3_64()
    for table in (solver.regret, solver.average):
        digest.update(table[: sum(cut.whole.slots_by_street[:1])].tobytes())
    for task in cut.tasks:
        for table in (solver.regret, solver.average):
            digest.update(cut.take_task(task, table).data)
    return digest.hexdigest()


def on_disk(cut: GameCut, folder: str) -> str:
    head = DiskHead(cut, [cut.tasks], SAMPLING)
    part = DiskPart(cut.tree, cut.buckets, PartSpec(cut.tasks, SAMPLING, CLUSTERS, folder))
    for _ in range(2 * ITERATIONS):
        head.finish([part.work(message) for message in head.begin()])
    digest = xxhash.xxh3_64()
    for table in (head.regret, head.average):
        digest.update(table.tobytes())
    for _, tables in part.task_tables():
        for own in tables:
            digest.update(own.data)
        del own, tables  # before the next task is mapped
    return digest.hexdigest()


def address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main(how: str, private: int, room: int, folder: str) -> Any:
    run = in_memory if how == "memory" else lambda cut: on_disk(cut, folder)
    run(cut_of(10))  # compiles
    limit = address_space() + room if room else 0
    if not private:
        private = int(limit * 4 / 3 / (cut_of(1000).whole.bytes(REGRET_AND_AVERAGE) / 1000))
    cut = cut_of(private)
    if room:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return private, limit, cut.whole.bytes(REGRET_AND_AVERAGE), run(cut)


if __name__ == "__main__":
    print(*main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
