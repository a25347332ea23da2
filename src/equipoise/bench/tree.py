"""Benchmarks of `tree/`: growing a betting tree against walking it with the plain betting state."""

from __future__ import annotations

from equipoise.bench.measure import Benchmark, Work, compare
from equipoise.games.bet_menu import load_menu
from equipoise.games.betting_state import BettingState
from equipoise.games.gamedef import load_game
from equipoise.tree.betting_tree import build_tree


def run() -> list[Benchmark]:
    """All benchmarks of the group."""
    nolimit, limit = load_game("holdem.nolimit"), load_game("holdem.limit")
    menu = load_menu("slumbot-nl", nolimit)
    slumbot = Work(lambda: build_tree(nolimit, menu), len(build_tree(nolimit, menu)))
    plain = Work(lambda: build_tree(limit), len(build_tree(limit)))
    peer, peer_name = Work(lambda: _walk(BettingState.start(limit)), plain.amount), "betting state, limit"
    return [
        compare("tree of Slumbot NL's menu", "nodes/s", slumbot, peer_name, peer, rounds=3, seconds=0.0),
        compare("tree of limit hold'em", "nodes/s", plain, peer_name, peer, rounds=3),
    ]


def _walk(state: BettingState) -> int:
    """How many states follow, itself included."""
    if state.is_over:
        return 1
    legal = state.legal()
    actions = [-1] * legal.fold + [0] + [legal.raise_max] * legal.can_raise
    return 1 + sum(_walk(state.apply(action)) for action in actions)
