"""Whole small games solved by the vector engine, as agents: blueprints that are as good, or as bad, as a test wants."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.search.subgame import Subgame
from equipoise.agents.table import TableAgent
from equipoise.games.rules import GameRules
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.tree.betting_tree import DECISION
from equipoise.tree.boards import deal_boards
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.engine import Engine
from small_games import tree_of


@cache
def solved_agent(rules: GameRules, noise: float = 0.0, iterations: int = 1000) -> TableAgent:
    """Plays a solved game; after the first street, in part (`noise`) at random."""
    tree, cards = tree_of(rules), deal_boards(rules)
    engine = Engine(tree, cards, precision=np.float64)
    solver = VectorCFR(engine, "steep")
    solver.run(iterations)
    solver.fill_gaps()
    table_row = np.full(len(tree), -1, np.int32)
    table_row[engine.program.arrays.node] = engine.program.arrays.table_row
    play = Subgame(tree, cards, engine.table_first, table_row, solver.average, iterations)
    buckets = BucketMap.lossless(rules)
    layout = SlotLayout(tree, buckets.buckets)
    stored = np.zeros(layout.slots, np.float32)
    for street in range(rules.rounds):
        for board in permutations(range(rules.deck.size), rules.board_size(street)):
            cells = buckets.buckets_of_board(street, board)
            for node in np.flatnonzero((tree.kind == DECISION) & (tree.street == street)).tolist():
                rows, share = play.rows(node, board), noise if street else 0.0
                rows = (1 - share) * rows + share / len(rows)
                layout.at(stored, node)[cells[cells >= 0]] = rows[:, cells >= 0].T
    return TableAgent(f"solved, noise {noise}", layout, stored, buckets)
