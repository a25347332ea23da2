"""Warm start: a solve begins with the play that it replaces, on its first street only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.agents.agent import View
from equipoise.agents.search import agent as search_agent
from equipoise.agents.search.agent import SearchAgent
from equipoise.agents.search.options import SearchOptions
from equipoise.agents.search.safety import Continuation
from equipoise.agents.search.subgame import SubgameRoot, free_holes
from equipoise.agents.search.warm_start import first_regrets, same_nodes
from equipoise.agents.table import TableAgent
from equipoise.cards.symmetry import hole_card_table
from equipoise.games.betting_state import CALL, BettingState
from equipoise.solvers.external_sampling import External
from equipoise.strategy.tables import probabilities
from equipoise.tree.betting_tree import DECISION, Root, build_tree
from equipoise.tree.boards import deal_boards
from equipoise.walk.engine import Engine
from equipoise.walk.regret_matching import strategy_rows
from small_games import MENU, NO_LIMIT, forgetful, tree_of


def blueprint() -> TableAgent:
    solver = External(tree_of(NO_LIMIT), forgetful(NO_LIMIT), seed=1)
    solver.run(2000)
    return TableAgent("blueprint", solver.layout, probabilities(solver.layout, solver.average), forgetful(NO_LIMIT))


def test_a_solve_starts_with_the_play_that_it_replaces() -> None:
    agent, board, state = blueprint(), (3,), BettingState.start(NO_LIMIT).apply(CALL).apply(CALL)
    ranges = np.stack([agent.range(View(state, player, (), board)) for player in (0, 1)])
    root = SubgameRoot(NO_LIMIT, 1, board, max(state.spent), ranges)
    tree = build_tree(NO_LIMIT, MENU, Root(1, root.chips))
    engine = Engine(tree, deal_boards(NO_LIMIT, root.weights(), board))
    play = Continuation.of_blueprint(agent, state, board)
    assert play is not None
    regrets, program = first_regrets(engine, play), engine.program.arrays
    holes, free, shared = hole_card_table(NO_LIMIT.deck, 2), free_holes(NO_LIMIT, board), 0
    known = dict(same_nodes(tree, 0, play.tree, play.node))
    assert len(known) == np.count_nonzero((tree.kind == DECISION) & (tree.street == 1))  # the same menu
    for place in np.flatnonzero(program.table_row >= 0).tolist():
        node, player = int(program.node[place]), int(program.player[place])
        if node in known:
            expected = agent.rows(known[node], board, holes)[:, free]
            start = int(engine.table_first[0, player]) + int(program.table_row[place]) * expected.shape[1]
            found = regrets[start : start + expected.size].reshape(expected.shape)
            np.testing.assert_allclose(strategy_rows(found), expected, atol=1e-5)
            assert len({tuple(row) for row in np.round(expected.T, 3)}) > 1  # not the same for all holes
            shared += expected.size
    assert np.count_nonzero(regrets) <= shared  # nothing on later streets


@pytest.mark.parametrize(("street", "starts"), [(1, 2), (2, 1), (3, 0)])
def test_the_last_street_starts_cold(street: int, starts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(search_agent, "first_regrets", lambda engine, play: made.append(first_regrets(engine, play)))
    options = SearchOptions(street, NO_LIMIT, 4, bets=MENU, later_bets=MENU, safety="none")
    agent, state = SearchAgent("search", blueprint(), options), BettingState.start(NO_LIMIT)
    while state.round < 3:
        state = state.apply(CALL)
    agent.probabilities(View(state, state.player, (0, 1), (3, 5, 7)))
    assert len(made) == starts
