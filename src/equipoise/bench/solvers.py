"""Benchmarks of the sampling solvers.

Peers: OpenSpiel's C++ external sampling on Leduc, iteration by iteration (each walks the game once for each player;
ours touches 36.6 nodes, after a thousand iterations as after a million; OpenSpiel's are not counted);
for trees of hold'em, the memory bound: reads of a table of the same size at random places, each waiting for the one
before. Two threads are compared with one in the same run, and a solver in parts with the same solver in one piece.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import PUBLIC, BucketMap, PublicBuckets, StreetBuckets
from equipoise.bench.measure import Benchmark, Work, compare
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.jit import I64, U32, kernel
from equipoise.games.bet_menu import load_menu
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.solvers.blades.build import blades_solver
from equipoise.solvers.external_sampling import External
from equipoise.solvers.public_chance import PublicChance
from equipoise.solvers.solver import Solver
from equipoise.tree.betting_tree import BettingTree, build_tree

BUCKETS = 1000
FEW_BUCKETS = 200
CLUSTERS = 8
TURNS = 5


def run() -> list[Benchmark]:
    """All benchmarks of the group."""
    limit, no_limit = load_game("holdem.limit"), load_game("holdem.nolimit")
    trees = {
        "limit hold'em": build_tree(limit),
        "no-limit hold'em, menu standard": build_tree(no_limit, load_menu("standard", no_limit)),
    }
    lines = [line for name, tree in trees.items() for line in _holdem(name, tree)]
    blades = _blades("no-limit hold'em", trees["no-limit hold'em, menu standard"])
    return [_leduc(), *lines, blades, _public_chance(trees["limit hold'em"])]


def _leduc() -> Benchmark:
    rules = load_game("leduc")
    solver = External(build_tree(rules), BucketMap.lossless(rules), period=10**9)
    return compare(
        "Leduc, external sampling", "iterations/s", Work(lambda: solver.run(1000), 1000),
        "OpenSpiel's C++ ExternalSamplingMCCFRSolver", _openspiel(),
    )  # fmt: skip


def _openspiel() -> Work | None:
    try:
        import pyspiel
    except ImportError:
        return None
    peer: Any = pyspiel.ExternalSamplingMCCFRSolver(pyspiel.load_game("leduc_poker"), 1)
    return Work(peer.run_iteration, 1)


def random_buckets(rules: GameRules, buckets: int) -> BucketMap:
    """A map of the size of a real one, with buckets drawn at random: its look-ups and rows cost as much."""
    rng = np.random.default_rng(1)
    streets = []
    for street in range(rules.rounds):
        deals = rules.unordered_deals(street)
        hands = HandIndexer(deals, rules.deck).size
        cell = np.arange(hands) if hands < buckets else rng.integers(0, buckets, hands, np.uint16)
        streets.append(StreetBuckets(deals, min(hands, buckets), cell.astype(np.uint16), method="random"))
    return BucketMap(rules, tuple(streets), recipe=f"random {buckets}")


def _holdem(name: str, tree: BettingTree) -> list[Benchmark]:
    buckets = random_buckets(tree.rules, BUCKETS)
    one, two = (External(tree, buckets, period=10**9, threads=threads) for threads in (1, 2))
    rates = [_nodes_a_second(solver) for solver in (one, two)]
    reads = _reads_a_second(one.regret.nbytes // 4)
    about = f"{name}, {BUCKETS:,} buckets a street, {2 * one.regret.nbytes / 1e9:.2f} GB of tables"
    return [
        Benchmark(about, "nodes/s", rates[0], "reads/s of such a table, one after the other", reads),
        Benchmark(f"{name}, two threads", "nodes/s", rates[1], "one thread", rates[0]),
    ]


def _blades(name: str, tree: BettingTree) -> Benchmark:
    """Head and parts on one thread."""
    buckets = clustered_buckets(random_buckets(tree.rules, FEW_BUCKETS), CLUSTERS)
    in_parts = blades_solver(tree, buckets, 1, period=10**9, growth=1)
    in_one_piece = External(tree, buckets, period=10**9)
    about = f"{name}, in parts: {CLUSTERS} public clusters, {FEW_BUCKETS} buckets a street in each"
    return Benchmark(about, "nodes/s", _nodes_a_second(in_parts), "in one piece", _nodes_a_second(in_one_piece))


def clustered_buckets(buckets: BucketMap, clusters: int) -> BucketMap:
    """A map of hold'em with random clusters of flops, and its own buckets after the flop in each of them."""
    join = np.arange(clusters * max(buckets.buckets), dtype=np.uint32).reshape(clusters, -1)
    label = np.random.default_rng(1).integers(0, clusters, HandIndexer((3,), buckets.rules.deck).size, np.uint16)
    after = (replace(street, buckets=join.size, join=join, context=PUBLIC) for street in buckets.streets[1:])
    return replace(buckets, streets=(buckets.streets[0], *after), public=PublicBuckets(1, label, clusters))


def _nodes_a_second(solver: Solver) -> float:
    """The best of some turns of about a second, after a warm-up: tables are then no longer all zeros."""
    solver.run(20_000)
    best = 0.0
    for _ in range(TURNS):
        start, before = time.perf_counter(), solver.nodes
        solver.run(20_000)
        best = max(best, (solver.nodes - before) / (time.perf_counter() - start))
    return best


def _public_chance(tree: BettingTree) -> Benchmark:
    """One board an iteration, all holes of both players at every node."""
    buckets = random_buckets(tree.rules, FEW_BUCKETS)
    rates = []
    for threads in (1, 2):
        solver = PublicChance(tree, buckets, threads=threads)
        solver.run(2)
        best = 0.0
        for _ in range(TURNS):
            start = time.perf_counter()
            solver.run(10)
            best = max(best, 10 / (time.perf_counter() - start))
        rates.append(best)
    name = f"limit hold'em, public chance sampling, {FEW_BUCKETS} buckets a street, two threads"
    return Benchmark(name, "boards/s", rates[1], "one thread", rates[0])


def _reads_a_second(length: int) -> float:
    """Reads at random places, each place given by the one before."""
    chain = np.random.default_rng(1).permutation(length).astype(np.uint32)
    found = np.zeros(1, np.int64)
    follow_chain(chain, 1000, found)
    start = time.perf_counter()
    follow_chain(chain, 2_000_000, found)
    return 2_000_000 / (time.perf_counter() - start)


@kernel
def follow_chain(chain: U32, steps: int, found: I64) -> None:
    """IN: uint32[place] the next place; IN OUT: int64[1] where it stands."""
    place = found[0]
    for _ in range(steps):
        place = np.int64(chain[place])
    found[0] = place
