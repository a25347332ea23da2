"""External sampling: unbiased increments, convergence, resuming."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from equipoise import GameRules, InputError, exploitability, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.build import build_map
from equipoise.abstraction.maps.card_recipe import read_card_recipe
from equipoise.agents.card_blind import ByBucket, ProfileStrategy
from equipoise.cards.deck import Deck
from equipoise.core.jit import F32, F64, I64, kernel
from equipoise.games.bet_menu import BetMenu, load_menu
from equipoise.solvers.external_kernel import SKIPPED, ExternalBuffers, ExternalState, deal_hands, walk_deal
from equipoise.solvers.external_sampling import External
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import DECISION, BettingTree, build_tree
from equipoise.tree.boards import PublicCards, deal_boards
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.engine import Engine
from equipoise.walk.plan import UPDATE, HoleRule

SMALL = dataclasses.replace(
    load_game("holdem.limit"),
    deck=Deck(4, 2),
    first=(1, 0),
    max_raises=(2, 2),
    raise_sizes=(10, 20),
    board_cards=(0, 2),
)
SMALL_NO_LIMIT = dataclasses.replace(
    load_game("holdem.nolimit"), deck=Deck(4, 2), stacks=(400, 400), first=(1, 0), max_raises=(2, 2), board_cards=(0, 2)
)


def cells_of(buckets: BucketMap) -> Any:
    def cells(cards: PublicCards) -> Any:
        found = np.zeros(len(cards.arrays.hole), np.uint32)
        for board, dealt in enumerate(cards.cards):
            row = buckets.buckets_of_board(int(cards.arrays.street[board]), dealt)
            for player in range(2):
                here = cards.slice(board, player)
                found[here] = row[cards.arrays.hole[here]]
        return found

    return cells


def exact_increments(tree: BettingTree, buckets: BucketMap) -> F64:
    """[slot] both players' regrets against uniform play, by one walk of vector CFR each, summed over each bucket."""
    rules, layout = tree.rules, SlotLayout(tree, buckets.buckets)
    cards = deal_boards(rules, isomorphism=False)
    engine = Engine(tree, cards, precision=np.float64)
    cells, program, boards = cells_of(buckets)(cards), engine.program.arrays, cards.arrays
    increments = np.zeros(layout.slots)
    for walker in range(2):
        solver = VectorCFR(engine, "cfr")
        tables = engine.tables(solver.regret, solver.regret, solver.average, solver.scale)
        engine.walk(walker, HoleRule(tables, UPDATE))
        for place in np.flatnonzero((program.table_row >= 0) & (program.player == walker)).tolist():
            node, count = int(program.node[place]), int(program.num_children[place])
            for board in np.flatnonzero(boards.street == tree.street[node]).tolist():
                here = cards.slice(board, walker)
                size = here.stop - here.start
                start = int(engine.table_first[board, walker]) + int(program.table_row[place]) * size
                rows = solver.regret[start : start + count * size].reshape(count, size)
                np.add.at(layout.at(increments, node), cells[here], rows.T * _chance(cards, board))
    return increments / engine.meetings


def _chance(cards: PublicCards, board: int) -> float:
    """Tables of a board hold values before its own weight is taken: the chance of its deals."""
    weight, boards = 1.0, cards.arrays
    while boards.parent[board] >= 0:
        weight *= boards.weight[board]
        board = int(boards.parent[board])
    return weight


def maps(rules: GameRules) -> dict[str, BucketMap]:
    imperfect = {"preflop": {"method": "emd", "buckets": 3}, "flop": {"method": "emd", "buckets": 3}}
    if rules.hole_cards == 1:
        return {"lossless": BucketMap.lossless(rules)}
    return {
        "lossless": BucketMap.lossless(rules),
        "imperfect": build_map(rules, read_card_recipe(imperfect, rules), keep=False),
    }


CASES = [("leduc", "lossless"), ("limit", "lossless"), ("limit", "imperfect"), ("no-limit", "imperfect")]


def game(name: str) -> tuple[GameRules, BetMenu | None]:
    rules = {"limit": SMALL, "no-limit": SMALL_NO_LIMIT}.get(name) or load_game(name)
    return rules, None if rules.limit else load_menu("standard", rules)


@kernel
def sample_uniform(
    count: int, walker: int, plan: ExternalState, room: ExternalBuffers, total: F64, squares: F64, visits: I64
) -> None:
    """Walks from zero regrets, that is against uniform play; their increments summed. OUT: by slot."""
    for _ in range(count):
        winner = deal_hands(plan, room)
        walk_deal(walker, winner, False, np.float32(1), plan, room)
        for slot in range(total.size):
            increment = np.float64(plan.regret[slot])
            if increment != 0.0:
                total[slot] += increment
                squares[slot] += increment * increment
                visits[slot] += 1
                plan.regret[slot] = np.float32(0)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_sampled_increments_are_unbiased(name: str, kind: str) -> None:
    rules, menu = game(name)
    tree, buckets = build_tree(rules, menu), maps(rules)[kind]
    exact = exact_increments(tree, buckets)
    solver = External(tree, buckets, schedule="cfr", seed=3)
    count = 200_000
    compared = 0
    for walker in range(2):
        total, squares, visits = np.zeros(len(exact)), np.zeros(len(exact)), np.zeros(len(exact), np.int64)
        sample_uniform(count, walker, solver._kernel_state(), solver._buffers[0], total, squares, visits)
        mean = total / count
        error = np.sqrt((squares / count - mean**2) / count)
        often = visits > 500  # where the error is known well enough
        compared += int(often.sum())
        assert (np.abs(mean - exact)[often] / error[often]).max() < 5
        assert (np.abs(exact[often]) > 10 * error[often]).mean() > 0.2  # there is something to be off by
    assert compared > 30


def profile_of(solver: External) -> Profile:
    chances: F32 = solver.average.copy()
    profile = Profile(solver.layout, chances)
    for node in np.flatnonzero(solver.tree.kind == DECISION).tolist():
        here = profile.at(node)
        total = here.sum(axis=1, keepdims=True)
        here[:] = np.where(total > 0, here / np.where(total > 0, total, 1), 1 / here.shape[1])
    return profile


def measured(solver: External) -> float:
    agent = ProfileStrategy("trained", ByBucket(profile_of(solver), cells_of(solver.buckets)))
    return exploitability(solver.tree.rules, agent, threads=1).exploitability


@pytest.mark.parametrize("schedule", ["cfr", "linear", "discounted", "cfr+"])
def test_leduc_converges(schedule: str) -> None:
    rules = load_game("leduc")
    solver = External(build_tree(rules), BucketMap.lossless(rules), schedule=schedule, period=20_000)
    solver.run(20_000)
    early = measured(solver)
    solver.run(1_000_000)
    assert measured(solver) < min(30, early / 2)  # uniform play: 2374 mbb/g


def test_two_threads_converge_too() -> None:
    rules = load_game("leduc")
    solver = External(build_tree(rules), BucketMap.lossless(rules), period=20_000, threads=2)
    solver.run(1_000_000)
    assert measured(solver) < 30
    assert solver.iteration == 1_000_000


def test_pruning_skips_nodes_and_still_converges() -> None:
    rules = load_game("leduc")
    tree, buckets = build_tree(rules), BucketMap.lossless(rules)
    plain, pruned = (External(tree, buckets, period=20_000, prune=prune) for prune in (0.0, 1_000.0))
    for solver in (plain, pruned):
        solver.run(1_000_000)
    assert pruned.nodes < 0.95 * plain.nodes
    assert measured(pruned) < 40
    assert pruned.regret.min() > -1.06 * 1_000
    assert not (pruned.regret == SKIPPED).any()


@pytest.mark.parametrize("cut", [1, 777, 30_000, 49_999])
def test_a_resumed_run_is_the_same_to_the_bit(cut: int) -> None:
    rules = load_game("leduc")
    tree, buckets = build_tree(rules), BucketMap.lossless(rules)
    whole = External(tree, buckets, period=10_000, seed=5)
    whole.run(50_000)
    first = External(tree, buckets, period=10_000, seed=5)
    first.run(cut)
    second = External(tree, buckets, period=10_000, seed=99)
    second.regret[:], second.average[:] = first.regret, first.average
    second.restore(first.iteration, first.nodes, first.state())
    for step in (1, 10, 50_000):
        second.run(min(step, 50_000 - second.iteration))
    assert np.array_equal(second.regret, whole.regret)
    assert np.array_equal(second.average, whole.average)
    assert second.nodes == whole.nodes


def test_what_makes_no_sense_is_refused() -> None:
    rules = load_game("leduc")
    tree, buckets = build_tree(rules), BucketMap.lossless(rules)
    for options in (
        {"schedule": "predictive"},
        {"prune": 5.0, "schedule": "cfr+"},
        {"prune": -1.0},
        {"threads": 0},
        {"period": 0},
    ):
        with pytest.raises(InputError):
            External(tree, buckets, **options)  # type: ignore[arg-type]
    other = External(tree, buckets, threads=2)
    with pytest.raises(InputError, match="--threads 2"):
        External(tree, buckets).restore(1, 1, other.state())
