"""The CFR family: known equilibria, OpenSpiel's iterates, and what the schedules promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel
import pytest

from engines import information_states
from equipoise import InputError, build_tree, load_game
from equipoise.solvers.schedule import SCHEDULES, schedule
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.spots.spot import read_spot
from equipoise.tree.betting_tree import DECISION
from equipoise.tree.boards import deal_boards
from equipoise.walk.engine import Engine
from equipoise.walk.regret_matching import strategy_rows

Rows = npt.NDArray[np.float64]
KUHN_VALUE, LEDUC_VALUE = -1 / 18, -0.0856064
SPOT = """
board = "Ah 9h 4c 9d"
pot = 100
stack = 150
ranges = { oop = "AhKh, QQ, 98s, 44", ip = "JJ, AcQc, T8o:0.5" }
betting = { bet = [0.5, "all-in"] }
"""


def engine_of(name: str, *, isomorphism: bool = True, precision: type = np.float64) -> Engine:
    rules = load_game(name)
    return Engine(build_tree(rules), deal_boards(rules, isomorphism=isomorphism), precision=precision)


@pytest.fixture(scope="module")
def kuhn() -> Iterator[Engine]:
    yield engine_of("kuhn")


@pytest.fixture(scope="module")
def leduc() -> Iterator[Engine]:
    yield engine_of("leduc")


@pytest.fixture(scope="module")
def turn() -> Iterator[Engine]:
    spot = read_spot(SPOT)
    yield Engine(spot.tree(), spot.boards(), spot.stakes, precision=np.float64)


def rows_of(engine: Engine, table: Any, node: int, board: int = 0) -> Rows:
    """A view of a decision's rows on a board: [action, hole of the list]."""
    place, player = engine.program.place_of[node], int(engine.tree.player[node])
    size, count = int(engine.cards.arrays.counts[board, player]), int(engine.tree.num_children[node])
    start = int(engine.table_first[board, player]) + int(engine.program.arrays.table_row[place]) * size
    rows: Rows = table[start : start + count * size].reshape(count, size)
    return rows


def played(engine: Engine, table: Any, node: int, hole: int, board: int = 0) -> Rows:
    """[action] how often each is taken."""
    holes = engine.cards.holes(board, int(engine.tree.player[node])).tolist()
    return strategy_rows(rows_of(engine, table, node, board))[:, holes.index(hole)]


def value(solver: VectorCFR, player: int = 0) -> float:
    return solver.engine.evaluate(player, solver.engine.tables(solver.average))


# --- known equilibria ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", SCHEDULES)
def test_kuhn_is_one_of_the_known_equilibria(kuhn: Engine, variant: str) -> None:
    """Kuhn 1950: player 0 bluffs J with alpha, bets K three times as often, calls with Q alpha + 1/3; player 1 has
    one strategy.
    """
    solver = VectorCFR(kuhn, variant)
    solver.run(4**7 - 1)  # just before the practical variant starts anew
    assert solver.exploitability() < (1e-3 if variant == "cfr" else 2e-4)
    assert value(solver) == pytest.approx(KUHN_VALUE, abs=1e-3 if variant == "cfr" else 2e-4)
    tree = kuhn.tree
    checked, bet = tree.children(0)
    (check_bet,) = (child for child in tree.children(checked) if tree.kind[child] == DECISION)
    often = {
        name: float(played(kuhn, solver.average, node, hole)[1])
        for name, node, hole in (
            ("bluff", 0, 0), ("bet Q", 0, 1), ("bet K", 0, 2),
            ("call J", check_bet, 0), ("call Q", check_bet, 1), ("call K", check_bet, 2),
            ("1 bluffs", checked, 0), ("1 bets Q", checked, 1), ("1 bets K", checked, 2),
            ("1 calls J", bet, 0), ("1 calls Q", bet, 1), ("1 calls K", bet, 2),
        )
    }  # fmt: skip
    alpha = often["bluff"]
    near = 0.03
    assert -near < alpha < 1 / 3 + near
    expected = {
        "bluff": alpha, "bet Q": 0, "bet K": 3 * alpha, "call J": 0, "call Q": alpha + 1 / 3, "call K": 1,
        "1 bluffs": 1 / 3, "1 bets Q": 0, "1 bets K": 1, "1 calls J": 0, "1 calls Q": 1 / 3, "1 calls K": 1,
    }  # fmt: skip
    assert often == pytest.approx(expected, abs=near)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("variant", SCHEDULES)
def test_every_variant_solves_leduc(variant: str, precision: type) -> None:
    solver = VectorCFR(engine_of("leduc", precision=precision), variant)
    solver.run(4**7 - 1 if variant != "cfr" else 60_000)
    assert solver.exploitability() < (1e-3 if variant in ("cfr", "linear", "discounted") else 1e-4)
    assert value(solver) == pytest.approx(LEDUC_VALUE, abs=5e-4)


def test_leduc_is_worth_what_is_known(leduc: Engine) -> None:
    solver = VectorCFR(leduc, "predictive")
    solver.run(60_000)
    assert solver.exploitability() < 1e-6
    assert value(solver) == pytest.approx(LEDUC_VALUE, abs=1e-6)
    assert value(solver, 1) == pytest.approx(-LEDUC_VALUE, abs=1e-6)
    for player in range(2):
        best = leduc.best_responses(leduc.tables(solver.average))[player]
        assert best >= value(solver, player) - 1e-12


# --- OpenSpiel's iterates ------------------------------------------------------------------------------------------


Policies = dict[str, Rows]


def current_policies(solver: Any, states: dict[str, Any]) -> Policies:
    policy = solver.current_policy()
    return {text: np.array([chance for _, chance in policy.get_state_policy(s)]) for text, s in states.items()}


def states_by_name(game: Any) -> dict[str, Any]:
    """One state of every information set."""
    found, stack = {}, [game.new_initial_state()]
    while stack:
        state = stack.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            found.setdefault(state.information_state_string(), state)
        stack += [state.child(action) for action in state.legal_actions()]
    return found


def own_reach(tree: Any, node: int, hole: int, board: tuple[int, ...], choice: Callable[..., Rows]) -> float:
    """The probability that a player's own actions lead to a node: `choice(node, hole, board)` is what it plays."""
    reach, player, child = 1.0, tree.player[node], node
    while child > 0:
        above = int(tree.parent[child])
        if tree.player[above] == player:
            seen = board[: tree.rules.board_size(int(tree.street[above]))]
            reach *= choice(above, hole, seen)[child - int(tree.first_child[above])]
        child = above
    return reach


@pytest.mark.parametrize("isomorphism", [True, False], ids=["folded", "plain"])
@pytest.mark.parametrize("variant", ["cfr", "cfr+"])
def test_iterates_equal_open_spiels(variant: str, isomorphism: bool) -> None:
    """Current policies of both players after each iteration; averages from those, as the docstring says they are."""
    game, engine = pyspiel.load_game("leduc_poker"), engine_of("leduc", isomorphism=isomorphism)
    states, tree = states_by_name(game), engine.tree
    boards = {cards: board for board, cards in enumerate(engine.cards.cards)}
    infosets = {text: found[:3] for text, found in information_states(tree, "leduc").items() if found[2] in boards}
    assert len(infosets) == 6 * 6 + (3 if isomorphism else 6) * 150
    theirs = pyspiel.CFRPlusSolver(game) if variant == "cfr+" else pyspiel.CFRSolver(game)
    ours = VectorCFR(engine, variant)
    before = current_policies(theirs, states)
    sums = {text: np.zeros(len(before[text])) for text in infosets}
    name_of = {place: text for text, place in infosets.items()}
    for t in range(1, 21):
        theirs.evaluate_and_update_policy()
        ours.run(1)
        after = current_policies(theirs, states)
        for text, (node, hole, board) in infosets.items():
            mine = played(engine, ours.current, node, hole, boards[board])
            np.testing.assert_allclose(mine, after[text], rtol=0, atol=1e-9, err_msg=f"{text} at {t}")
            used = after if tree.player[node] == 0 else before
            reach = own_reach(tree, node, hole, board, lambda *place, used=used: used[name_of[place]])
            sums[text] += (t if variant == "cfr+" else 1) * reach * used[text]
            if sums[text].sum() > 0:
                average = played(engine, ours.average, node, hole, boards[board])
                np.testing.assert_allclose(average, sums[text] / sums[text].sum(), rtol=0, atol=1e-6)
        before = after
    assert max(abs(policy - 1 / len(policy)).max() for policy in after.values()) > 0.4


# --- schedules -----------------------------------------------------------------------------------------------------


def shares(variant: str, last: int) -> Rows:
    """How much each iteration counts in the average after the last one, by multiplying out; the last counts 1."""
    counted = np.zeros(last)
    for t in range(1, last + 1):
        counted *= SCHEDULES[variant](t).average
        counted[t - 1] = 1
    return counted


def test_averages_weigh_iterations_as_they_say() -> None:
    t = np.arange(1, 101)
    for variant, power in (("cfr", 0), ("cfr+", 1), ("linear", 1), ("discounted", 2), ("predictive", 2)):
        np.testing.assert_allclose(shares(variant, 100), (t / 100.0) ** power)
    assert [t for t in range(1, 1000) if SCHEDULES["practical"](t).average == 0] == [1, 4, 16, 64, 256]
    np.testing.assert_allclose(shares("practical", 100), np.where(t < 64, 0, ((t - 63) / 37) ** 3))


def test_regrets_are_discounted_as_they_say() -> None:
    for t in range(1, 50):
        assert SCHEDULES["cfr"](t)[:2] == (1, 1)
        assert SCHEDULES["cfr+"](t)[:2] == SCHEDULES["predictive"](t)[:2] == (1, 0)
        assert SCHEDULES["linear"](t)[:2] == pytest.approx(((t - 1) / t,) * 2)
        power = (t - 1) ** 1.5
        for variant in ("discounted", "practical"):
            assert SCHEDULES[variant](t)[:2] == pytest.approx((power / (power + 1), 0.5))
    with pytest.raises(InputError, match="no schedule"):
        schedule("cfr++")


@pytest.mark.parametrize("variant", ["cfr", "linear", "discounted"])
def test_weights_reach_the_tables(kuhn: Engine, variant: str) -> None:
    """Regrets are the discounted sum of what plain CFR would add against the same strategies."""
    solver = VectorCFR(kuhn, variant)
    expected = kuhn.zeros()
    for t in range(1, 9):
        old, weights = solver.regret.copy(), SCHEDULES[variant](t)
        plain = VectorCFR(kuhn, "cfr", regret=old.copy())
        solver.run(1)
        first = kuhn.table_first[0, 1]  # player 0's part: player 1 has not moved yet when it is walked
        plain.run(1)
        added = plain.regret - old
        expected = np.where(old > 0, weights.positive, weights.negative) * old + added
        np.testing.assert_allclose(solver.regret[:first], expected[:first], rtol=1e-6, atol=1e-9)


# --- promises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", SCHEDULES)
def test_a_run_in_parts_is_the_same_run(turn: Engine, variant: str) -> None:
    whole, parts = VectorCFR(turn, variant), VectorCFR(turn, variant)
    whole.run(10)
    parts.run(5)
    resumed = VectorCFR(turn, variant, parts.iteration, parts.regret, parts.average, parts.predicted)
    resumed.run(5)
    assert resumed.iteration == whole.iteration == 10
    for name in ("regret", "average", "predicted"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(resumed, name))


@pytest.mark.parametrize("variant", SCHEDULES)
def test_locked_decisions_keep_their_strategy(kuhn: Engine, variant: str) -> None:
    """Player 1 always folds to a bet: player 0 bets everything, and wins the ante."""
    bet = kuhn.tree.children(0)[1]
    engine = Engine(kuhn.tree, kuhn.cards, locked=((bet, -1),), precision=np.float64)
    solver = VectorCFR(engine, variant)
    for table in {id(t): t for t in (solver.regret, solver.current, solver.average)}.values():
        rows_of(engine, table, bet)[:] = [[1.0], [0.0]]
    solver.run(1000)
    assert rows_of(engine, solver.regret, bet).tolist() == [[1.0] * 3, [0.0] * 3]
    assert rows_of(engine, solver.current, bet).tolist() == [[1.0] * 3, [0.0] * 3]
    assert strategy_rows(rows_of(engine, solver.average, bet)).tolist() == [[1.0] * 3, [0.0] * 3]
    for hole in range(2):
        assert played(engine, solver.average, 0, hole)[1] > 0.98
    assert value(solver) == pytest.approx(1, abs=0.01)
    free = VectorCFR(kuhn, variant)
    free.run(1000)
    assert value(free) < 0


def test_a_lock_on_one_board_leaves_the_others_alone(leduc: Engine) -> None:
    """Player 1's first decision after a check and a 3 on the board, never folding whatever it holds."""
    tree, board = leduc.tree, leduc.cards.cards.index((2,))
    opens = int(tree.entries[1][0])
    node = tree.children(opens)[1]  # a raise: fold, call, raise
    assert (tree.player[node], tree.num_children[node]) == (1, 3)
    solver = VectorCFR(Engine(tree, leduc.cards, locked=((node, board),), precision=np.float64), "cfr+")
    rows_of(solver.engine, solver.regret, node, board)[:] = [[0.0], [1.0], [0.0]]
    solver.run(100)
    assert (rows_of(solver.engine, solver.regret, node, board) == [[0.0], [1.0], [0.0]]).all()
    for other in range(1, len(leduc.cards.cards)):
        folds = strategy_rows(rows_of(solver.engine, solver.average, node, other))[0]
        assert (folds.max() > 0.5) == (other != board)


def test_filling_gaps_changes_no_value(leduc: Engine) -> None:
    solver = VectorCFR(leduc, "practical")
    solver.run(70)  # averages started anew at 64
    before, values = solver.average.copy(), [value(solver, player) for player in range(2)]
    solver.fill_gaps()
    changed = before != solver.average
    assert changed.any()
    assert (before[changed] == 0).all()
    assert [value(solver, player) for player in range(2)] == pytest.approx(values, abs=1e-12)


def test_callers_hear_of_iterations(kuhn: Engine) -> None:
    heard: list[int] = []
    solver = VectorCFR(kuhn, "cfr+", on_iteration=heard.append)
    solver.run(2500)
    assert heard == [1000, 2000, 2500]
    assert solver.iteration == 2500
