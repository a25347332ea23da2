"""Benchmarks of play: matches between tables, decisions, local best response, AIVAT, opening a strategy.

Peers: PokerKit playing hands of the same game with random legal actions; the same work done on one core; and, where
the aim is a bound, that bound.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.agents.agent import View
from equipoise.agents.postprocess import PostProcess
from equipoise.agents.table import TableAgent
from equipoise.bench.measure import Benchmark, Work, compare
from equipoise.bench.solvers import random_buckets
from equipoise.games.bet_menu import load_menu
from equipoise.games.betting_state import CALL, BettingState
from equipoise.games.gamedef import load_game
from equipoise.measure.aivat import Aivat
from equipoise.measure.lbr import local_best_response
from equipoise.play.match import Match
from equipoise.runs.recipe import load_recipe
from equipoise.strategy.file import BYTES, load_strategy, save_strategy
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import build_tree
from equipoise.tree.infosets import SlotLayout

BUCKETS = 200
DEALS = 4096
LBR_HANDS = 200
MILLISECOND = 1000.0  # decisions a second, if each takes one


def run() -> list[Benchmark]:
    """All benchmarks of the group."""
    one, two = (_agent(seed) for seed in (1, 2))
    return [*_matches(one, two), _decisions(one), *_bounds(one), _aivat(one, two), _opening()]


def _agent(seed: int, post: str = "none") -> TableAgent:
    """Random probabilities in the tree of the menu `standard`, with maps of the size of real ones."""
    rules = load_game("holdem.nolimit")
    buckets = random_buckets(rules, BUCKETS)
    layout = SlotLayout(build_tree(rules, load_menu("standard", rules)), buckets.buckets)
    profile = Profile.random(layout, np.random.default_rng(seed))
    return TableAgent(f"random {seed}", layout, profile.chances, buckets, PostProcess.read(post))


def _matches(one: TableAgent, two: TableAgent) -> list[Benchmark]:
    def play(first: TableAgent, second: TableAgent, threads: int, deals: int) -> Work:
        game = Match(first, second)
        return Work(lambda: list(game.play(deals, threads)), 2 * deals)

    purified = _agent(1, "tartanian7:0.2")
    return [
        compare("match of two tables, no-limit, one core", "hands/s", play(one, two, 1, DEALS), "PokerKit", _kit()),
        compare(
            "the same, one post-processed", "hands/s", play(purified, two, 1, DEALS),
            "neither post-processed", play(one, two, 1, DEALS),
        ),
        compare(
            "the same, two threads", "hands/s", play(one, two, 2, 4 * DEALS), "one thread", play(one, two, 1, 4 * DEALS)
        ),
    ]  # fmt: skip


def _kit() -> Work | None:
    """Hands in which both players check or call, fold or min-raise at random."""
    try:
        import pokerkit
    except ImportError:
        return None
    kit: Any = pokerkit
    rng = random.Random(1)

    def play() -> None:
        for _ in range(20):
            automations = tuple(kit.Automation)
            state = kit.NoLimitTexasHoldem.create_state(automations, True, 0, (50, 100), 100, (20_000, 20_000), 2)
            while state.status:
                choice = rng.random()
                if choice < 0.2 and state.can_complete_bet_or_raise_to():
                    state.complete_bet_or_raise_to()
                elif choice < 0.3 and state.can_fold():
                    state.fold()
                else:
                    state.check_or_call()

    return Work(play, 20)


def _decisions(agent: TableAgent) -> Benchmark:
    """A decision on the river after a bet that is not in the tree: two places, their probabilities, a draw."""
    state = BettingState.start(agent.rules).apply(230).apply(CALL)
    for _ in range(4):
        state = state.apply(CALL)
    view = View(state.apply(777), 1, (50, 51), (1, 6, 11, 16, 21))
    rng = np.random.default_rng(1)
    ours = Work(lambda: agent.act(view, rng), 1)
    result = compare("decisions of an agent on the river", "decisions/s", ours, "one a millisecond", None)
    return Benchmark(result.name, result.unit, result.ours, result.peer_name, MILLISECOND)


def _bounds(agent: TableAgent) -> list[Benchmark]:
    """Local best response; the equities before the flop are there already."""
    rates = [0.0, 0.0]
    for _ in range(2):
        for at, threads in enumerate((1, 2)):
            found = local_best_response(agent, hands=LBR_HANDS, threads=threads)
            rates[at] = max(rates[at], found.hands_per_second)
    return [
        Benchmark("local best response, no-limit, two processes", "hands/s", rates[1], "one", rates[0]),
    ]


def _aivat(one: TableAgent, two: TableAgent) -> Benchmark:
    game = Match(one, two, keep_hands=True)
    hands = [hand for chunk in game.play(20, 1) for hand in chunk.hands(game.rules) if hand.seat == 0]
    correct = Aivat(game.rules, (one, two))
    ours = Work(lambda: [correct.value(hand.state, hand.deal) for hand in hands], len(hands))
    return compare("AIVAT, both agents known, one core", "hands/s", ours, "none", None, rounds=2, seconds=1.0)


def _opening() -> Benchmark:
    """A strategy of `nolimit-small` as bytes, read and checked, against reading its file alone."""
    recipe = load_recipe("nolimit-small")
    slots = recipe.game.layout.slots
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "strategy.u8"
        save_strategy(path, recipe.game, np.full(slots, 0.5, np.float32), BYTES, {})
        return compare(
            "opening a strategy of nolimit-small", "files/s", Work(lambda: load_strategy(path), 1),
            "reading the file", Work(path.read_bytes, 1),
        )  # fmt: skip
