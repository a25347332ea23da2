"""Public chance sampling: over a whole cycle it is exact CFR, part of one is unbiased; it can be taken up again."""

from __future__ import annotations

import dataclasses
from functools import cache, partial
from math import comb
from typing import Any

import numpy as np
import pytest

import small_games
from equipoise import GameRules, exploitability, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.card_blind import ByBucket, ProfileStrategy
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.jit import F64, U32
from equipoise.solvers import public_chance
from equipoise.solvers.board_samples import BoardSource
from equipoise.solvers.public_chance import PublicChance
from equipoise.solvers.schedule import SCHEDULES
from equipoise.solvers.solver import Solver
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import DECISION, SHOWDOWN, BettingTree
from equipoise.tree.boards import PublicCards, deal_boards
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.engine import Engine
from equipoise.walk.plan import UPDATE, HoleRule
from small_games import LIMIT, NO_LIMIT, forgetful

GAMES = {"kuhn": load_game("kuhn"), "leduc": load_game("leduc"), "limit": LIMIT, "no-limit": NO_LIMIT}
VARIANTS = [name for name in SCHEDULES if name != "predictive"]


def tree_of(name: str) -> BettingTree:
    return small_games.tree_of(GAMES[name])


def map_of(name: str, recall: str) -> BucketMap:
    """All hands told apart; or hands that forget the order of the deals and share a bucket with unlike ones."""
    return BucketMap.lossless(GAMES[name]) if recall == "lossless" else forgetful(GAMES[name])


def blocks(layout: SlotLayout, table: Any) -> dict[int, Any]:
    """[node] the block [bucket, action] of a flat table."""
    tree = layout.tree
    found = {}
    for node in np.flatnonzero(tree.kind == DECISION).tolist():
        found[node] = layout.at(table, node)
    return found


@cache
def exact_engine(name: str) -> Engine:
    return Engine(tree_of(name), deal_boards(GAMES[name], isomorphism=False), precision=np.float64)


def visit_rows(engine: Engine, buckets: BucketMap, visit: Any) -> None:
    """Call with (node, board, buckets of the list, slice of the engine's table, its shape) for every node and board."""
    tree, boards = engine.tree, engine.cards.arrays
    rows = engine.program.arrays.table_row[engine.program.place_of]
    for board, dealt in enumerate(engine.cards.cards):
        street = int(boards.street[board])
        of_hole = buckets.buckets_of_board(street, dealt)
        for node in np.flatnonzero((tree.kind == DECISION) & (tree.street == street)).tolist():
            player = int(tree.player[node])
            size, actions = int(boards.counts[board, player]), int(tree.num_children[node])
            start = int(engine.table_first[board, player]) + int(rows[node]) * size
            found = of_hole[engine.cards.holes(board, player)]
            visit(node, board, found, slice(start, start + actions * size), (actions, size))


def exact_increments(name: str, buckets: BucketMap, regret: Any, walker: int) -> F64:
    """What the unabstracted engine adds to regrets, summed over the holes of a bucket; times all ways to deal."""
    engine, layout = exact_engine(name), SlotLayout(tree_of(name), buckets.buckets)
    mine, source = blocks(layout, regret), engine.zeros()

    def write(node: int, _board: int, found: Any, where: slice, _shape: Any) -> None:
        source[where] = mine[node][found].T.ravel()

    visit_rows(engine, buckets, write)
    before = source.copy()
    engine.walk(walker, HoleRule(engine.tables(source, source), UPDATE))
    boards, chance = engine.cards.arrays, np.ones(len(engine.cards.cards))
    for board in range(1, len(chance)):
        chance[board] = chance[boards.parent[board]] * boards.weight[board]
    increments, added = np.zeros(layout.slots), source - before
    into = blocks(layout, increments)

    def collect(node: int, board: int, found: Any, where: slice, shape: Any) -> None:
        np.add.at(into[node], found, chance[board] * added[where].reshape(shape).T)

    visit_rows(engine, buckets, collect)
    return increments * ways(GAMES[name])


def ways(rules: GameRules) -> float:
    """How many full boards are left when both holes are known."""
    left, count = rules.deck.size - 2 * rules.hole_cards, 1
    for cards in rules.board_cards:
        count *= comb(left, cards)
        left -= cards
    return float(count)


def random_regrets(layout: SlotLayout, seed: int = 1) -> Any:
    return (np.random.default_rng(seed).normal(size=layout.slots) * 100).astype(np.float32)


def of_player(layout: SlotLayout, player: int) -> Any:
    mask = np.zeros(layout.slots, bool)
    for node, block in blocks(layout, mask).items():
        block[:] = layout.tree.player[node] == player
    return mask


def one_cycle(name: str, recall: str, threads: int = 1) -> tuple[PublicChance, Any, Any]:
    """A solver after one iteration over a whole cycle, from random regrets: it, those, and what was added."""
    buckets = map_of(name, recall)
    size = BoardSource(GAMES[name], 1).size
    solver = PublicChance(tree_of(name), buckets, boards=size, schedule="cfr", threads=threads)
    regret = random_regrets(solver.layout)
    solver.regret[:] = regret
    solver.run(1)
    return solver, regret, solver.regret.astype(np.float64) - regret


def errors(name: str, recall: str, threads: int = 1) -> list[float]:
    """By player, how far increments of a whole cycle are from exact ones, relative to the largest."""
    solver, regret, added = one_cycle(name, recall, threads)
    found = []
    for walker in range(2):
        mine = of_player(solver.layout, walker)
        seen = np.where(of_player(solver.layout, 0) & (walker == 1), solver.regret, regret)  # player 1 moves second
        exact = exact_increments(name, solver.buckets, seen, walker)
        found.append(float(np.abs(added - exact)[mine].max() / np.abs(exact[mine]).max()))
    return found


@pytest.mark.parametrize("recall", ["lossless", "imperfect"])
@pytest.mark.parametrize("name", list(GAMES))
def test_a_whole_cycle_is_exact(name: str, recall: str) -> None:
    assert max(errors(name, recall)) < 1e-5


def test_the_no_limit_game_has_early_all_ins() -> None:
    assert all(count > 0 for count in tree_of("no-limit").count(SHOWDOWN)[:2])


def test_a_dropped_weight_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoardSource, "_class_sizes", lambda _, cards: np.ones(len(cards), np.float32))
    assert min(errors("no-limit", "lossless")) > 1e-2


def test_a_swapped_seat_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_tree = public_chance.compile_tree

    def swapped(*arguments: Any, **options: Any) -> Any:
        program = compile_tree(*arguments, **options)
        meet = np.ascontiguousarray(program.arrays.meet[::-1])
        return dataclasses.replace(program, arrays=program.arrays._replace(meet=meet))

    monkeypatch.setattr(public_chance, "compile_tree", swapped)
    assert min(errors("leduc", "lossless")) > 1e-2


@pytest.mark.parametrize(("boards", "cycle"), [(1, True), (1, False), (4, True), (4, False)])
@pytest.mark.parametrize("name", ["limit", "no-limit"])
def test_increments_are_unbiased(name: str, boards: int, cycle: bool) -> None:
    """Walker 0's, from the same regrets again and again: within five standard errors of the exact ones."""
    solver = PublicChance(tree_of(name), map_of(name, "imperfect"), boards=boards, cycle=cycle, schedule="cfr", seed=5)
    regret, mine, samples = random_regrets(solver.layout), of_player(solver.layout, 0), 1500
    added = np.empty((samples, solver.layout.slots))
    for i in range(samples):
        solver.regret[:] = regret
        solver.run(1)
        added[i] = solver.regret - regret
    visits = solver.source.size if cycle else solver.source.raw_boards
    exact = exact_increments(name, solver.buckets, regret, 0) * boards / visits
    error = added.std(axis=0, ddof=1) / np.sqrt(samples)
    off = np.abs(added.mean(axis=0) - exact)
    assert (off <= 5 * error + 1e-4 * np.abs(exact).max())[mine].all()
    assert (off > 5 * error)[mine].sum() < (np.abs(exact) > 10 * error)[mine].sum()  # errors are small enough to tell


def test_more_boards_have_less_variance() -> None:
    """A board of four is worth as much as a board alone; and in a cycle more, since none comes twice."""
    spread = {}
    for boards, cycle in ((1, False), (4, False), (4, True)):
        solver = PublicChance(tree_of("leduc"), map_of("leduc", "lossless"), boards=boards, cycle=cycle, schedule="cfr")
        regret = random_regrets(solver.layout)
        added = np.empty((1000, solver.layout.slots))
        for i in range(len(added)):
            solver.regret[:] = regret
            solver.run(1)
            added[i] = (solver.regret - regret) / boards
        if cycle:
            added /= solver.source.raw_boards / solver.source.size
        spread[boards, cycle] = added[:, of_player(solver.layout, 0)].var(axis=0).sum()
    assert spread[4, False] == pytest.approx(spread[1, False] / 4, rel=0.15)
    assert spread[4, True] < 0.5 * spread[4, False]


def assert_alike(found: dict[int, Any], theirs: Any, node: int, _board: int, of: Any, where: slice, shape: Any) -> None:
    rows, own = np.maximum(theirs[where], 0).reshape(shape).T, found[node][of]
    total, own_total = rows.sum(axis=1, keepdims=True), own.sum(axis=1, keepdims=True)
    clear = total[:, 0] > 1e-3 * np.abs(theirs[where]).max()
    assert own[clear] / own_total[clear] == pytest.approx(rows[clear] / total[clear], abs=2e-4)


@pytest.mark.parametrize("variant", VARIANTS)
def test_cycles_are_the_iterations_of_vector_cfr(variant: str) -> None:
    """With a whole cycle an iteration: the same current and average strategies, by every schedule."""
    rules, tree, buckets = GAMES["leduc"], tree_of("leduc"), map_of("leduc", "lossless")
    exact = VectorCFR(exact_engine("leduc"), variant)
    exact.run(6)
    solver = PublicChance(tree, buckets, boards=BoardSource(rules, 1).size, schedule=variant)
    solver.run(6)
    for mine, theirs in ((solver.regret, exact.regret), (solver.average, exact.average)):
        found = blocks(solver.layout, np.maximum(mine, 0))

        visit_rows(exact.engine, buckets, partial(assert_alike, found, theirs))


@pytest.mark.parametrize("name", list(GAMES))
def test_every_board_comes_once_a_cycle(name: str) -> None:
    rules = GAMES[name]
    source = BoardSource(rules, 3)
    cards, weights = source.boards(0, source.size)
    again, _ = source.boards(source.size, source.size)
    assert weights.sum() == source.raw_boards
    deals = rules.deals(rules.rounds - 1)[1:]
    if deals:
        indexer = HandIndexer(deals, rules.deck)
        assert sorted(indexer.indices(cards).tolist()) == list(range(source.size))
        assert sorted(indexer.indices(again).tolist()) == list(range(source.size))
        assert source.size < 5 or (cards != again).any()
        across, _ = source.boards(source.size - 1, 2)
        assert (across == [cards[-1], again[0]]).all()


def test_the_boards_of_holdem() -> None:
    source = BoardSource(load_game("holdem.limit"), 1)
    assert source.size == 2_554_656
    _, weights = source.boards(0, source.size)
    assert weights.sum(dtype=np.float64) == source.raw_boards == comb(52, 3) * 49 * 48
    assert weights.min() == 4  # of one suit
    assert weights.max() == 24


def test_independent_boards_are_boards() -> None:
    source = BoardSource(load_game("holdem.limit"), 1, cycle=False)
    cards, weights = source.boards(0, 2000)
    assert (np.diff(np.sort(cards, axis=1).astype(int), axis=1) > 0).all()
    assert (weights == 1).all()
    counts = np.bincount(cards.ravel(), minlength=52)
    assert np.abs(counts - 10_000 / 52).max() < 5 * np.sqrt(10_000 / 52)
    assert (source.boards(2000, 5)[0] != cards[:5]).any()
    assert (source.boards(700, 5)[0] == cards[700:705]).all()  # the n-th follows from the seed and n


@pytest.mark.parametrize(("boards", "variant"), [(1, "cfr+"), (3, "cfr+"), (1, "linear"), (3, "practical")])
def test_threads_do_not_matter(boards: int, variant: str) -> None:
    tables = []
    for threads in (1, 2):
        solver = PublicChance(
            tree_of("no-limit"), map_of("no-limit", "imperfect"), boards=boards, schedule=variant, threads=threads
        )
        solver.run(5)
        tables.append(np.stack([solver.regret, solver.average]))
    assert np.array_equal(tables[0], tables[1])
    assert tables[0].any()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("boards", "cycle"), [(1, True), (2, True), (2, False)])
def test_a_run_taken_up_again_is_the_same_run(variant: str, boards: int, cycle: bool) -> None:
    def solver() -> PublicChance:
        return PublicChance(
            tree_of("leduc"), map_of("leduc", "imperfect"), boards=boards, cycle=cycle, schedule=variant, seed=9
        )

    whole, first, second = solver(), solver(), solver()
    whole.run(9)
    first.run(5)
    second.regret[:], second.average[:] = first.regret, first.average
    second.restore(first.iteration, first.nodes, first.state())
    second.run(4)
    assert np.array_equal(whole.regret, second.regret)
    assert np.array_equal(whole.average, second.average)
    assert (whole.iteration, whole.nodes) == (second.iteration, second.nodes)
    with pytest.raises(Exception, match="samples otherwise"):
        PublicChance(tree_of("leduc"), map_of("leduc", "imperfect"), seed=8).restore(5, 0, first.state())


def average_agent(solver: Solver, buckets: BucketMap) -> ProfileStrategy:
    profile = Profile(solver.layout, solver.average.copy())
    for block in blocks(solver.layout, profile.chances).values():
        total = block.sum(axis=1, keepdims=True)
        block[:] = np.where(total > 0, block / np.where(total > 0, total, 1), 1 / block.shape[1])

    def cells(cards: PublicCards) -> U32:
        found = np.zeros(len(cards.arrays.hole), np.uint32)
        for board, dealt in enumerate(cards.cards):
            here = buckets.buckets_of_board(int(cards.arrays.street[board]), dealt)
            for player in range(2):
                found[cards.slice(board, player)] = here[cards.holes(board, player)]
        return found

    return ProfileStrategy("average", ByBucket(profile, cells))


@pytest.mark.parametrize(("boards", "iterations", "most"), [(1, 6000, 30.0), (3, 400, 5.0)])
def test_leduc_converges(boards: int, iterations: int, most: float) -> None:
    rules, buckets = GAMES["leduc"], map_of("leduc", "lossless")
    solver = PublicChance(tree_of("leduc"), buckets, boards=boards)
    solver.run(iterations)
    assert exploitability(rules, average_agent(solver, buckets), threads=1).exploitability < most


def test_what_cannot_be_walked_is_said() -> None:
    with pytest.raises(Exception, match="at least one"):
        PublicChance(tree_of("leduc"), map_of("leduc", "lossless"), boards=0)
    with pytest.raises(Exception, match="other cards"):
        PublicChance(tree_of("leduc"), map_of("limit", "lossless"))
    with pytest.raises(Exception, match="predictive"):
        PublicChance(tree_of("leduc"), map_of("leduc", "lossless"), schedule="predictive")
