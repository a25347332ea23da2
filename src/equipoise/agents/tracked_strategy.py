"""An agent's tracks as a strategy for the exact measure: asked at every decision on every board, all holes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.agents.agent import Agent, View, track_to
from equipoise.agents.card_blind import Flags
from equipoise.core.errors import InputError, shown
from equipoise.games.betting_state import action_text
from equipoise.tree.betting_tree import BettingTree
from equipoise.walk.engine import Engine
from equipoise.walk.plan import Tables


@dataclass(frozen=True, eq=False)
class TrackedStrategy:
    """An agent as a strategy that can be measured. Its actions must be in the tree that is walked."""

    agent: Agent
    by_bucket: None = None
    by_board: None = None

    @property
    def name(self) -> str:
        """The agent's."""
        return self.agent.name

    def never(self, tree: BettingTree) -> Flags:
        """Nothing is ruled out for all cards."""
        return np.zeros(len(tree), bool)

    def tables(self, engine: Engine) -> Tables:
        """The answers about every hole on every board."""
        program, cards, tree = engine.program.arrays, engine.cards, engine.tree
        source = engine.zeros()
        decisions = np.flatnonzero(program.table_row >= 0).tolist()
        states = {place: tree.state(int(program.node[place])) for place in decisions}
        for board, dealt in enumerate(cards.cards):
            for place in decisions:
                node, state = int(program.node[place]), states[place]
                if tree.street[node] != cards.arrays.street[board]:
                    continue
                view = View(state, state.player, (), dealt)
                actions, chances = track_to(self.agent.follow(state.player), view).probabilities()
                holes = cards.holes(board, state.player)
                offered = [int(tree.action[child]) for child in tree.children(node)]
                rows = np.zeros((len(offered), len(holes)))
                for action, row in zip(actions, chances, strict=True):
                    if action in offered:
                        rows[offered.index(action)] = row[holes]
                    elif row[holes].any():
                        raise InputError(
                            f"agent {shown(self.name)} may {action_text(action)}: not on the menu",
                            remedy="give it the bets of the tree, or use the method lbr",
                        )
                start = int(engine.table_first[board, state.player]) + int(program.table_row[place]) * len(holes)
                source[start : start + rows.size] = rows.ravel()
        return engine.tables(source)
