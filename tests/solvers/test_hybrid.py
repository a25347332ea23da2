"""CFR-BR with the hybrid agent: what a cycle of samples gathers is what exact walks say, for every trunk."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest

from equipoise import GameRules, InputError, exploitability, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.blueprint import profile_agent
from equipoise.core.jit import F32
from equipoise.experiments.cfr_br.leduc_pathology import PUBLISHED, VALUE, class_map
from equipoise.runs.recipe import read_recipe
from equipoise.solvers.board_samples import BoardSource
from equipoise.solvers.cfr_br import subgame_prefetch
from equipoise.solvers.cfr_br.hybrid import HybridCFRBR
from equipoise.solvers.schedule import Discounts
from equipoise.tree.betting_tree import DECISION
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.bucketed_engine import BucketedEngine
from small_games import LEDUC, LIMIT, NO_LIMIT, TWO_STREETS, forgetful, tree_of

GAMES = {rules.name: rules for rules in (LEDUC, TWO_STREETS, LIMIT, NO_LIMIT)}
CASES = [(name, trunk) for name, rules in GAMES.items() for trunk in range(rules.rounds + 1)]
PLAIN = Discounts(1, 1, 1)


def solver_of(rules: GameRules, trunk: int, **options: Any) -> HybridCFRBR:
    return HybridCFRBR(tree_of(rules), forgetful(rules), trunk=trunk, **options)


def random_table(size: int, least: float, rng: np.random.Generator) -> F32:
    """Regrets; an abstracted player's are positive: where it never comes, all responses are equally good."""
    return rng.uniform(least, 1.0, size).astype(np.float32)


def with_best_responses(engine: BucketedEngine, player: int, table: Any, theirs: Any, trunk: int) -> Any:
    """A lossless player's table: as it is in the trunk, and below it only the best action of each hand."""
    choice = engine.choices()
    engine.respond(player, theirs, choice=choice)
    found, layout = table.copy(), engine.layouts[player]
    first, _, row = engine._choices
    program, cards = engine.engine.program.arrays, engine.engine.cards
    streets = engine.tree.street[program.node]
    for place in np.flatnonzero((program.kind == DECISION) & (program.player == player) & (streets >= trunk)).tolist():
        rows = layout.at(found, int(program.node[place]))
        for board in np.flatnonzero(cards.arrays.street == streets[place]).tolist():
            start, size = int(first[board, player]), int(cards.arrays.counts[board, player])
            chosen = choice[start + int(row[place]) * size :][:size]
            present = engine._present_on(board, player)
            buckets = present[engine.present.number[cards.slice(board, player)]]
            rows[buckets] = 0
            rows[buckets, chosen] = 1
    return found


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(("name", "trunk"), CASES)
def test_a_cycle_gathers_what_exact_walks_say(name: str, trunk: int, seat: int) -> None:
    """Regrets of both players and the average, on all streets; a trunk of all rounds is CFR with one unabstracted."""
    rules, rng = GAMES[name], np.random.default_rng(trunk)
    cycle = BoardSource(rules, 1, street=min(trunk, rules.rounds - 1)).size
    solver = solver_of(rules, trunk, schedule="cfr", boards=cycle)
    solver.regret[:] = random_table(solver.regret.size, 0.05, rng)
    solver.trunk_regret[:] = random_table(solver.trunk_regret.size, -0.5, rng)
    mine, theirs = solver.regret.astype(np.float64), solver.trunk_regret.astype(np.float64)
    solver.run(1)

    opponent, lossless = 1 - seat, BucketMap.lossless(rules)
    maps = (solver.buckets, lossless) if seat == 0 else (lossless, solver.buckets)
    engine = BucketedEngine(solver.tree, maps, precision=np.float64)
    whole = np.zeros(SlotLayout(solver.tree, lossless.buckets).slots)
    whole[: theirs.size] = theirs
    response = with_best_responses(engine, opponent, whole, mine, trunk)
    exact, exact_trunk, average = mine.copy(), response.copy(), np.zeros_like(mine)
    engine.update(seat, exact, PLAIN, theirs=response)
    engine.update(opponent, exact_trunk, PLAIN, theirs=mine, average=average)

    assert all(table.any() for table in (exact - mine, average))
    assert trunk == 0 or (exact_trunk - response)[: theirs.size].any()
    sampled, layout = min(trunk, rules.rounds - 1), solver.layout
    scale = alive(rules, 2, sampled)
    for node in np.flatnonzero((solver.tree.kind == DECISION) & (solver.tree.player == seat)).tolist():
        street = min(int(solver.tree.street[node]), sampled)
        # A reach is that of one hole, but deals below the sample have their probabilities given two.
        reached = alive(rules, 1, sampled) * alive(rules, 2, street) / alive(rules, 1, street)
        for found, expected in ((solver.regret - mine, scale * (exact - mine)), (solver.average, reached * average)):
            _alike(layout.at(found, node), layout.at(expected, node), np.abs(expected).max())
    part = SlotLayout(solver.tree, lossless.buckets)
    more, exact_more = np.zeros_like(whole), exact_trunk - response
    more[: theirs.size] = solver.trunk_regret - theirs
    acts = (solver.tree.kind == DECISION) & (solver.tree.player == opponent) & (solver.tree.street < trunk)
    for node in np.flatnonzero(acts).tolist():
        _alike(part.at(more, node), scale * part.at(exact_more, node), scale * np.abs(exact_more).max())


def _alike(found: Any, expected: Any, most: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=3e-6 * most)


def alive(rules: GameRules, holes: int, street: int) -> float:
    """How many boards of a street, deals told apart, block none of some holes."""
    left, boards = rules.deck.size - holes * rules.hole_cards, 1
    for cards in rules.board_cards[: street + 1]:
        boards *= comb(left, cards)
        left -= cards
    return boards


@pytest.mark.parametrize("trunk", [1, 2])
def test_it_finds_the_least_loss_of_an_abstraction(trunk: int) -> None:
    buckets = class_map(LEDUC, "J.Q.K")
    solver = HybridCFRBR(tree_of(LEDUC), buckets, trunk=trunk, boards=3)
    solver.run(1500)
    second, first = exploitability(LEDUC, profile_agent("it", solver.profile(), buckets)).player_values
    best = PUBLISHED["J.Q.K vs real"] / 500 - VALUE
    assert best - 1e-6 < first < best + 0.035
    assert 0.0192 - 1e-4 < second < 0.0192 + 0.035  # 52.4 thousandths of the small bet beyond the value


@pytest.mark.parametrize(
    ("name", "trunk", "boards", "grow"),
    [("leduc", 1, 3, 0), ("limit", 1, 1, 0), ("no-limit", 2, 3, 0), ("no-limit", 2, 2, 4), ("leduc", 1, 1, 0)],
)
def test_threads_and_interruptions_do_not_matter(
    name: str, trunk: int, boards: int, grow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads take a seat each; more take subgames, or share the last street. Blocks of samples do not matter."""
    rules = GAMES[name]
    for schedule in ("cfr+", "linear", "practical"):
        once, two, three, seven, first, rest = (
            solver_of(rules, trunk, boards=boards, grow=grow, threads=threads, schedule=schedule, seed=5)
            for threads in (1, 2, 3, 7, 1, 2)
        )
        monkeypatch.setattr(subgame_prefetch, "BLOCK", 3 * boards)
        blocks = solver_of(rules, trunk, boards=boards, grow=grow, threads=2, schedule=schedule, seed=5)
        monkeypatch.undo()
        for solver in (once, two, three, seven, blocks):
            solver.run(8)
        assert blocks.subgames.block < once.subgames.block or name == "limit"
        first.run(3)
        rest.regret[:], rest.average[:] = first.regret, first.average
        rest.restore(first.iteration, first.nodes, first.state())
        rest.run(5)
        assert once.regret.any() and once.average.any() and once.trunk_regret.any()
        for other in (two, three, seven, blocks, rest):
            assert np.array_equal(once.regret, other.regret)
            assert np.array_equal(once.average, other.average)
            assert np.array_equal(once.trunk_regret, other.trunk_regret)
            assert (once.iteration, once.nodes) == (other.iteration, other.nodes)


def test_bad_input() -> None:
    for trunk in (-1, 3):
        with pytest.raises(InputError, match=f"a trunk of {trunk} rounds"):
            solver_of(LEDUC, trunk)
    with pytest.raises(InputError, match="a trunk of 1 rounds"):
        kuhn = load_game("kuhn")
        HybridCFRBR(tree_of(kuhn), BucketMap.lossless(kuhn), trunk=1)
    with pytest.raises(InputError, match="0 subgames"):
        solver_of(LEDUC, 1, boards=0)
    for trunk, grow in ((1, -1), (0, 8)):
        with pytest.raises(InputError, match="boards that grow"):
            solver_of(LEDUC, trunk, grow=grow)
    with pytest.raises(InputError, match="other cards"):
        HybridCFRBR(tree_of(LEDUC), forgetful(LIMIT), trunk=1)
    with pytest.raises(InputError, match="does not sample"):
        solver_of(LEDUC, 1, schedule="predictive")
    first, other = solver_of(LEDUC, 1, seed=1), solver_of(LEDUC, 1, seed=2)
    with pytest.raises(InputError, match="samples otherwise"):
        other.restore(1, 1, first.state())
    with pytest.raises(InputError, match="samples otherwise"):
        solver_of(LEDUC, 1, seed=1, grow=8).restore(1, 1, first.state())
    with pytest.raises(InputError, match="the array 'trunk'"):
        solver_of(LEDUC, 2, seed=1).restore(0, 0, first.state())


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        ({"method": "pcs", "trunk": 1}, "trunk is not for method pcs"),
        ({"method": "cfr-br", "boards": 4}, "boards is not for method cfr-br without a trunk"),
        ({"method": "cfr-br", "trunk": 1, "stage": 4}, "stage is not for method cfr-br with a trunk"),
        ({"method": "cfr-br", "grow": 4}, "grow is not for method cfr-br without a trunk"),
        ({"method": "cfr-br", "trunk": 1, "grow": 4, "cycle": True}, "in a cycle or grow"),
        ({"method": "pcs", "grow": 4}, "grow is not for method pcs"),
        ({"method": "cfr-br", "trunk": 0}, "must be at least 1"),
    ],
)
def test_recipes_that_do_not_fit(solver: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_recipe({"game": "leduc", "solver": solver})
