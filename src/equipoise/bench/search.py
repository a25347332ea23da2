"""Benchmarks of search: decisions on the river and on the turn of no-limit hold'em, 200 big blinds, one core.

The blueprint is `uniform`, whose ranges are the widest. Aims: a river decision in 50 ms, a turn decision in 2 s. Beside
each is the exploitability that unsafe search reaches there, in percent of the pot. The peer of a solve is `spot solve`
with the same number of iterations; two cores, each with its own process, are compared with one.
"""

from __future__ import annotations

import time
from itertools import cycle

import numpy as np

from equipoise.agents.agent import View
from equipoise.agents.named import load_player
from equipoise.agents.search.agent import SearchAgent
from equipoise.agents.search.subgame import VARIANT, SubgameRoot, solve_subgame
from equipoise.bench.measure import Benchmark, Work, compare
from equipoise.core.workers import workers
from equipoise.games.betting_state import CALL, BettingState
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.spots.problem import Problem
from equipoise.spots.solve import solve
from equipoise.tree.betting_tree import Root, build_tree
from equipoise.tree.boards import deal_boards
from equipoise.walk.betting_program import Stakes
from equipoise.walk.engine import Engine

GAME = "holdem.nolimit"
AIMS = {"river": 0.05, "turn": 2.0}  # seconds
SOLVES = {"river": 120, "turn": 8}  # on one core, and on two
BOARDS = ("As Kd 7h 2c 9s", "Jc Th 9h 3d 2s", "6s 6d 2s Qs Kh")
OPENINGS = ((CALL, CALL), (300, CALL), (300, 900, CALL))  # before the flop; later streets are checked


def run() -> list[Benchmark]:
    """All benchmarks of the group."""
    kinds = (_decisions, _reached, _solves, _solves_on_two_cores)
    return [kind(street) for street in AIMS for kind in kinds]


def _views(agent: SearchAgent) -> list[View]:
    """The first decision of each spot."""
    rules, views = agent.rules, []
    for opening in OPENINGS:
        for text in BOARDS:
            state = BettingState.start(rules)
            for action in opening:
                state = state.apply(action)
            while state.round < agent.options.street:
                state = state.apply(CALL)
            board = rules.deck.read_cards(text)[: rules.board_size(state.round)]
            views.append(View(state, state.player, rules.deck.read_cards("Ah Qh"), board))
    return views


def _agent(street: str, more: str = "") -> SearchAgent:
    agent = load_player(f"uniform?search={street}{more}", GAME)
    assert isinstance(agent, SearchAgent)
    agent.most_bytes = 0  # each decision is a solve
    return agent


def _decisions(street: str) -> Benchmark:
    """Decisions a second, over all spots, by the time of this process: other work on the machine does not count."""
    agent = _agent(street)
    views = _views(agent)
    agent.probabilities(views[0])  # compiled
    start = time.process_time()
    for view in views:
        agent.probabilities(view)
    rate = len(views) / (time.process_time() - start)
    return Benchmark(f"decisions on the {street}, 200 big blinds", "decisions/s", rate, "the aim", 1 / AIMS[street])


def _problem(agent: SearchAgent, view: View) -> Problem:
    root = _root(agent, view)
    tree = build_tree(agent.rules, agent.options.menu(root.street), Root(root.street, root.chips))
    return Problem(tree, deal_boards(agent.rules, root.weights(), root.board), Stakes())


def _root(agent: SearchAgent, view: View) -> SubgameRoot:
    ranges = np.stack([agent.blueprint.range(View(view.state, player, (), view.board)) for player in (0, 1)])
    return SubgameRoot(agent.rules, view.state.round, view.board, max(view.state.spent), ranges)


def _reached(street: str) -> Benchmark:
    """The mean exploitability of the solutions, unsafe."""
    agent = _agent(street)
    left = []
    for view in _views(agent):
        problem = _problem(agent, view)
        solver = VectorCFR(Engine(problem.tree, problem.cards), VARIANT)
        solver.run(agent.options.iterations_on(view.state.round))
        left.append(100 * solver.exploitability() / view.state.pot)
    return Benchmark(f"exploitability left on the {street}", "% of the pot", float(np.mean(left)), "none", 0.0)


def _solves(street: str) -> Benchmark:
    """Solves of the spots in turn, ours and as spots."""
    agent = _agent(street)
    views = _views(agent)[:3]
    ours, theirs = cycle([_root(agent, view) for view in views]), cycle([_problem(agent, view) for view in views])
    number = views[0].state.round
    menu, iterations = agent.options.menu(number), agent.options.iterations_on(number)

    def as_spot() -> None:
        solve(next(theirs), target=0.0, iterations=iterations, variant=VARIANT, threads=1)

    return compare(
        f"solves on the {street}", "solves/s", Work(lambda: solve_subgame(next(ours), menu, iterations=iterations), 1),
        "spot solve", Work(as_spot, 1), rounds=3,
    )  # fmt: skip


def _solves_on_two_cores(street: str) -> Benchmark:
    """Solves a second of two processes, as in a measurement by local best response, and of one."""
    agent = _agent(street)
    views = _views(agent)
    roots, number = [_root(agent, view) for view in views], views[0].state.round
    menu, iterations = agent.options.menu(number), agent.options.iterations_on(number)

    def solve_one(at: int) -> None:
        solve_subgame(roots[at % len(roots)], menu, iterations=iterations)

    def rate(processes: int) -> float:
        with workers(solve_one, processes) as begin:
            for started in [begin(at) for at in range(processes)]:
                started.result()  # compiled
            start = time.perf_counter()
            for solved in [begin(at) for at in range(SOLVES[street])]:
                solved.result()
            return SOLVES[street] / (time.perf_counter() - start)

    return Benchmark(f"solves on the {street}, two cores", "solves/s", rate(2), "one core", rate(1))
