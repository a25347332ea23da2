"""Whole small games solved by the vector engine, as agents: blueprints that are as good, or as bad, as a test wants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from equipoise.agents.agent import Tracked
from equipoise.agents.search.subgame import Position, Subgame, free_holes
from equipoise.core.jit import F64
from equipoise.games.betting_state import BettingState
from equipoise.games.rules import GameRules
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.tree.boards import deal_boards
from equipoise.walk.engine import Engine
from small_games import tree_of


@cache
def solved(rules: GameRules, iterations: int = 1000) -> Subgame:
    """The whole game, solved."""
    tree, cards = tree_of(rules), deal_boards(rules)
    engine = Engine(tree, cards, precision=np.float64)
    solver = VectorCFR(engine, "steep")
    solver.run(iterations)
    solver.fill_gaps()
    table_row = np.full(len(tree), -1, np.int32)
    table_row[engine.program.arrays.node] = engine.program.arrays.table_row
    return Subgame(tree, cards, engine.table_first, table_row, solver.average, iterations)


@dataclass(eq=False)
class SolvedAgent(Tracked):
    """Plays a solved game; after the first street, in part at random."""

    rules: GameRules
    noise: float = 0.0
    name: str = "solved"

    def follow(self, player: int, hole: int | None = None) -> SolvedTrack:
        position = Position.at_root(solved(self.rules))
        reach = position.ranges[0] if hole is None else np.ones(1)
        return SolvedTrack(self, player, hole, BettingState.start(self.rules), (), reach, position)


@dataclass(frozen=True, eq=False)
class SolvedTrack:
    """A solved game followed through a hand."""

    agent: SolvedAgent
    player: int
    hole: int | None
    state: BettingState
    board: tuple[int, ...]
    reach: F64
    position: Position

    def probabilities(self) -> tuple[tuple[int, ...], F64]:
        actions, rows = self.position.probabilities()
        if self.state.round > 0:
            noise = self.agent.noise
            rows = (1 - noise) * rows + noise * (rows.sum(axis=0) > 0) / len(actions)
        return actions, rows if self.hole is None else rows[:, self.hole : self.hole + 1]

    def after(self, action: int) -> SolvedTrack:
        reach, position = self.reach, self.position.after(action)
        assert position is not None
        if self.state.player == self.player:
            actions, rows = self.probabilities()
            reach = reach * rows[actions.index(action)]
        return replace(self, state=self.state.apply(action), reach=reach, position=position)

    def dealt(self, board: tuple[int, ...]) -> SolvedTrack:
        free = free_holes(self.agent.rules, board)
        reach = self.reach * (free if self.hole is None else free[self.hole])
        return replace(self, board=board, reach=reach, position=self.position.dealt(board))
