"""Benchmarks of the vector engine: showdowns, small and large games, spots, memory.

Peers: the O(n^2) showdown and one vector at a time, compiled the same way; OpenSpiel's C++ CFR+ on Leduc. For spots and
the two-street game, figures measured elsewhere on this kind of machine (the fastest open solver, in Rust; the best C++
peer), given as constants and named so: they are orientation, not measured in this run.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np

from equipoise.bench import best_response
from equipoise.bench.measure import Benchmark, Work, compare
from equipoise.cards.showdown import Cards, showdown_lanes
from equipoise.core.arrays import aligned_zeros
from equipoise.core.jit import F32, U8, U16, kernel
from equipoise.core.simd import LANES
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.spots.problem import Problem
from equipoise.spots.solve import solve
from equipoise.spots.spot import read_spot
from equipoise.tree.betting_tree import DECISION
from equipoise.tree.boards import deal_boards
from equipoise.walk.table_storage import STORAGES

VECTORS = 1600
RUST = "the fastest open solver (Rust), measured elsewhere"

RIVER = """
board = "Qs Jh 2h 8d 5c"
pot = 100
stack = 1000
ranges = { oop = "any", ip = "any" }
[betting]
bet = [0.5, 1.0, "all-in"]
raise = [1.0, "all-in"]
"""
_OOP = (
    "QQ:0.5,JJ:0.75,TT-22,AKo:0.25,AQs,AQo:0.75,AJs,AJo:0.75,ATs,ATo:0.75,A9s-A2s,KQ,KJ,KTs,KTo:0.5,"
    "K9s-K5s,K4s:0.5,K3s:0.5,K2s:0.5,QJ,QTs-Q7s,JTs,JTo:0.5,J9s,J8s,T9s-T7s,98s,97s,96s,87s,86s,76s,75s,"
    "65s,64s,54s,53s,43s"
)
_IP = (
    "AA,KK,QQ,JJ,TT,99:0.75,88:0.75,77:0.5,66:0.25,55:0.25,AK,AQs,AQo:0.75,AJs,AJo:0.5,ATs:0.75,A6s:0.25,"
    "A5s:0.75,A4s:0.75,A3s:0.5,A2s:0.5,KQs,KQo:0.5,KJs,KTs:0.75,K5s:0.25,K4s:0.25,QJs:0.75,QTs:0.75,"
    "Q9s:0.5,JTs:0.75,J9s:0.75,J8s:0.75,T9s:0.75,T8s:0.75,T7s:0.75,98s:0.75,97s:0.75,96s:0.5,87s:0.75,"
    "86s:0.5,85s:0.5,76s:0.75,75s:0.5,65s:0.75,64s:0.5,54s:0.75,53s:0.5,43s:0.5"
)
TURN = f"""
board = "Qs Jh 2h 8d"
pot = 200
stack = 800
ranges = {{ oop = "{_OOP}", ip = "{_IP}" }}
[betting]
bet = [0.5, "all-in"]
raise = [0.6, "all-in"]
"""
FLOP = f"""
board = "Qs Jh 2h"
pot = 200
stack = 900
ranges = {{ oop = "{_OOP}", ip = "{_IP}" }}
betting = {{ bet = [0.75] }}
"""
# CPU seconds of the Rust solver on one core of this kind of machine, to 0.5% and 0.1% of the pot; the best of a range.
SPOTS = {
    "river, all hands": (RIVER, 0.061, 0.245),
    "turn, two sizes": (TURN, 1.3, 3.2),
    "flop, one size": (FLOP, 45, 90),
}


def run() -> list[Benchmark]:
    """All benchmarks of the group."""
    showdowns = _showdowns()
    limit = best_response.limit_holdem(showdowns[0].ours)
    return [*showdowns, _leduc(), _two_streets(), limit, *_spots(), *_memory()]


def _holes(rules: GameRules, board: tuple[int, ...]) -> tuple[Cards, U16]:
    """The holes of a board of the last street, and their groups of equal strength."""
    cards = deal_boards(rules, board=board)
    boards, here = cards.arrays, cards.slice(0, 0)
    mine = Cards(np.ascontiguousarray(boards.card1[here]), np.ascontiguousarray(boards.card2[here]))
    return mine, boards.groups[: int(boards.num_groups[0]) + 1]


def showdown_work(rules: GameRules, board: tuple[int, ...]) -> Work:
    """Showdowns of all holes on a board of the last street, sixteen at a time."""
    mine, groups = _holes(rules, board)
    lanes, out = (aligned_zeros((mine.card1.size + 1) * LANES, np.float32) for _ in range(2))
    lanes[:] = np.random.default_rng(1).random(len(lanes), np.float32)
    run = aligned_zeros(52 * LANES, np.float32)
    return Work(lambda: many_showdowns(VECTORS // LANES, lanes, out, run, mine, groups), VECTORS)


def _showdowns() -> list[Benchmark]:
    rules, board = load_game("holdem.limit"), (3, 17, 28, 41, 50)
    mine, groups = _holes(rules, board)
    size, rng = mine.card1.size, np.random.default_rng(1)
    row, row_out, row_run = rng.random(size, np.float32), np.zeros(size, np.float32), np.zeros(52, np.float32)
    strength = np.repeat(np.arange(len(groups) - 1, dtype=np.uint16), np.diff(groups[:, 0]))
    ours = showdown_work(rules, board)
    name = f"showdown of {size} holes, batches of 16"
    one = Work(lambda: many_single(100, row, row_out, row_run, mine, groups), 100)
    every = Work(lambda: every_pair(row, row_out, mine.card1, mine.card2, strength), 1)
    return [
        compare(name, "vectors/s", ours, "one vector at a time", one),
        compare(name, "vectors/s", ours, "every pair of holes", every),
    ]


@kernel
def many_showdowns(times: int, reach: F32, out: F32, run: F32, mine: Cards, groups: U16) -> None:
    """Batches of sixteen."""
    for _ in range(times):
        showdown_lanes(reach, out, run, mine, mine, groups, 0, True)


@kernel
def many_single(times: int, reach: F32, out: F32, run: F32, mine: Cards, groups: U16) -> None:
    """The same pass for one vector."""
    card1, card2 = mine.card1, mine.card2
    for _ in range(times):
        run[:] = np.float32(0)
        total = np.float32(0)
        for group in range(groups.shape[0] - 1):
            first, last = groups[group, 0], groups[group + 1, 0]
            for i in range(first, last):
                out[i] = total - run[card1[i]] - run[card2[i]]
            for i in range(first, last):
                total += reach[i]
                run[card1[i]] += reach[i]
                run[card2[i]] += reach[i]
            for i in range(first, last):
                out[i] += total - run[card1[i]] - run[card2[i]]
        for i in range(out.size):
            out[i] -= total - run[card1[i]] - run[card2[i]]


@kernel
def every_pair(reach: F32, out: F32, card1: U8, card2: U8, strength: U16) -> None:
    """The O(n^2) twin."""
    for i in range(out.size):
        total = np.float32(0)
        for j in range(out.size):
            a, b, c, d = card1[i], card2[i], card1[j], card2[j]
            if a not in (c, d) and b not in (c, d):
                total += reach[j] if strength[i] > strength[j] else -reach[j] if strength[i] < strength[j] else 0
        out[i] = total


def _leduc() -> Benchmark:
    solver = VectorCFR(Problem.of_game(load_game("leduc")).engine(), "cfr+")
    ours = Work(lambda: solver.run(1000), 1000)
    return compare("Leduc, CFR+", "iterations/s", ours, "OpenSpiel's C++ CFRPlusSolver", _openspiel())


def _openspiel() -> Work | None:
    try:
        import pyspiel
    except ImportError:
        return None
    peer: Any = pyspiel.CFRPlusSolver(pyspiel.load_game("leduc_poker"))
    return Work(peer.evaluate_and_update_policy, 1)


def _two_streets() -> Benchmark:
    """Two hole cards, a flop, pot-size bets, one bet a street, nothing abstracted: 24.8 million information sets."""
    rules = load_game("holdem.nolimit")
    rules = dataclasses.replace(
        rules, board_cards=(0, 3), first=(1, 0), max_raises=(255, 255), stacks=(100_000, 100_000), name="two streets"
    )
    problem = Problem.of_game(rules, {"bet": [1.0], "cap": 1})
    engine = problem.engine(1)
    solver = VectorCFR(engine, "cfr+")
    solver.run(1)
    start = time.process_time()
    solver.run(4)
    rate = 4 * engine.infosets / (time.process_time() - start)
    return Benchmark(
        f"two-street hold'em, {engine.infosets / 1e6:.1f} M information sets", "updates/s and core", rate,
        "the best C++ peer, measured elsewhere", 32e6,
    )  # fmt: skip


def _spots() -> list[Benchmark]:
    results = []
    for name, (text, half, tenth) in SPOTS.items():
        for target, theirs in ((0.5, half), (0.1, tenth)):
            spot = read_spot(text)
            turns = 1 if theirs > 10 else 3
            best = min(solve(spot, target=target, threads=1).cpu_seconds for _ in range(turns))
            results.append(Benchmark(f"{name}, to {target}% of the pot", "solves/s of CPU", 1 / best, RUST, 1 / theirs))
    return results


def _memory() -> list[Benchmark]:
    """What the tables of a real solve take; the peer is the least that regret and average can take."""
    problem = Problem.of_spot(read_spot(TURN))
    tree, counts = problem.tree, problem.cards.arrays.counts
    pairs = 0  # of an information set and an action
    for node in np.flatnonzero(tree.kind == DECISION):
        live = counts[problem.cards.arrays.street == tree.street[node], tree.player[node]]
        pairs += int(tree.num_children[node]) * int(live.sum())
    results = []
    for name, stored in STORAGES.items():
        solver = VectorCFR(problem.engine(stored=stored), "practical")
        size = (solver.regret.nbytes + solver.average.nbytes + solver.scale.nbytes) / pairs
        name = f"turn, tables of {name}: {size:.3f} bytes an infoset-action"
        least = 2 * np.dtype(stored).itemsize
        results.append(Benchmark(name, "infoset-actions/kB", 1000 / size, "the least: two numbers", 1000 / least))
    return results
