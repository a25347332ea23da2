"""Benchmarks of CFR-BR's hybrid agent: sampled subgames by the length of the trunk, sixteen random buckets a street.

Ours is everything: subgames dealt, four walks of each (two for each seat), sums added to the tables. The peer is the
showdown bound: all showdowns of the last street in those walks, at the rate that the showdown kernel reaches alone in
the same run; folds, decisions and earlier streets are not in it. A flop of limit hold'em (a trunk of one round) has
up to 2,352 last boards: those below its first two turn cards are walked, and the total is extrapolated from them.
Two threads are compared with one in the same run, in turns.
"""

from __future__ import annotations

import time

import numpy as np

from equipoise.bench.engine import showdown_work
from equipoise.bench.measure import Benchmark, Work, rate
from equipoise.bench.solvers import random_buckets
from equipoise.games.gamedef import load_game
from equipoise.games.rules import PLAYERS
from equipoise.solvers.cfr_br.hybrid import HybridCFRBR
from equipoise.tree.betting_tree import SHOWDOWN, BettingTree, build_tree

BUCKETS = 16
TURNS = 5
MANY = 10_000
SECONDS = 0.2  # of showdowns, a turn
FLOP, TURN = (3, 17, 28), (3, 17, 28, 41)
RIVER = (*TURN, 50)
UNIT = "last boards/s, walked four times"
BOUND = "their showdowns alone"


def run() -> list[Benchmark]:
    """All benchmarks of the group."""
    small, limit = (build_tree(load_game(name)) for name in ("holdem.two-four", "holdem.limit"))
    return [
        *_sampled("[2-4] hold'em, trunk of 1 round", small, 1, showdown_work(small.rules, FLOP), 1024),
        *_sampled("limit hold'em, trunk of 2 rounds", limit, 2, showdown_work(limit.rules, RIVER), 4),
        _flop_of_limit(limit, showdown_work(limit.rules, RIVER)),
    ]


def _solver(tree: BettingTree, trunk: int, threads: int = 1) -> HybridCFRBR:
    return HybridCFRBR(tree, random_buckets(tree.rules, BUCKETS), trunk=trunk, threads=threads)


def _boards_of(tree: BettingTree, showdowns: float) -> float:
    """Last boards a second, were there only showdowns: in two walks for each seat."""
    return showdowns / (PLAYERS * 2 * tree.count(SHOWDOWN)[-1])


def _sampled(name: str, tree: BettingTree, trunk: int, showdowns: Work, subgames: int) -> list[Benchmark]:
    """Sampled subgames against their showdowns, and two threads against one: the best of some turns each."""
    solvers = [_solver(tree, trunk, threads) for threads in (1, 2)]
    best, bound, walked = np.zeros(len(solvers)), 0.0, []
    for solver in solvers:  # compiled; and where a cycle is short, its subgames are then kept
        again = solver.source.comes_again
        solver.run(int(again) if again < MANY else 1)
    for _ in range(TURNS):
        for i, solver in enumerate(solvers):
            start, before = time.perf_counter(), solver.nodes
            solver.run(subgames)
            seconds = time.perf_counter() - start
            walked.append(_last_boards(solver, subgames, solver.nodes - before))
            best[i] = max(best[i], walked[-1] / seconds)
        bound = max(bound, rate(showdowns, SECONDS))
    boards = np.mean(walked) / subgames
    about = f"{name}: {1e3 * boards / best[0]:.3g} ms a subgame of {boards:.3g} last boards"
    return [
        Benchmark(about, UNIT, best[0], BOUND, _boards_of(tree, bound)),
        Benchmark(f"{name}, two threads", UNIT, best[1], "one thread", best[0]),
    ]


def _last_boards(solver: HybridCFRBR, subgames: int, nodes: int) -> float:
    """How many boards of the last street were walked: all but one for each street before, in each subgame."""
    last = solver.tree.rules.rounds - 1
    return nodes / (PLAYERS * PLAYERS * len(solver.tree)) - subgames * min(last, solver.trunk + 1)


def _flop_of_limit(tree: BettingTree, showdowns: Work) -> Benchmark:
    """A subgame of a trunk of one round: two of its turn cards, one thread."""
    solver = _solver(tree, 1)
    every = solver.dealer.deal(FLOP, 1.0).cards
    of_turn = every.street_first[3] - every.street_first[2]
    engine, bound, best = solver.engine, 0.0, 0.0
    buffers = engine.buffers()
    for _ in range(3):
        start = time.perf_counter()
        subgame = solver.dealer.deal(FLOP, 1.0, first_deals=(0, 1))
        prepared = engine.prepare(subgame)
        for seat in range(PLAYERS):
            engine.walk(prepared, seat, buffers)
        last = len(subgame.cards.cards) - subgame.cards.street_first[-2]
        best = max(best, last / (time.perf_counter() - start))
        bound = max(bound, rate(showdowns, SECONDS))
    boards = len(every.cards) - every.street_first[-2]
    about = (
        f"limit hold'em, trunk of 1 round, 2 of {of_turn} turn cards: {boards / best:.3g} s for all {boards:,} boards"
    )
    return Benchmark(about, UNIT, best, BOUND, _boards_of(tree, bound))
