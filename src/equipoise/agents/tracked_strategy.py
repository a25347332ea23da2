"""An agent's tracks as a strategy for the exact measure: followed through every line of betting on every board."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from equipoise.agents.agent import Agent, Track
from equipoise.agents.card_blind import Flags, tables_of_boards
from equipoise.core.errors import InputError, shown
from equipoise.core.jit import F64
from equipoise.games.betting_state import action_text
from equipoise.tree.betting_tree import DEAL, DECISION, BettingTree
from equipoise.walk.engine import Engine
from equipoise.walk.plan import Tables


@dataclass(frozen=True, eq=False)
class TrackedStrategy:
    """An agent as a strategy that can be measured. Its actions must be in the tree that is walked."""

    agent: Agent
    by_bucket: None = None
    _lock: Lock = field(default_factory=Lock, repr=False)  # agents need not be thread-safe

    @property
    def name(self) -> str:
        """The agent's."""
        return self.agent.name

    def never(self, tree: BettingTree) -> Flags:
        """Nothing is ruled out for all cards."""
        return np.zeros(len(tree), bool)

    def tables(self, engine: Engine) -> Tables:
        """The answers about every hole on every board."""
        return tables_of_boards(engine, self.by_board)

    def by_board(self, engine: Engine, player: int) -> TrackedRows:
        """The rows of one player, to be asked for board by board, a board after its parent."""
        return TrackedRows(self.agent, engine, player, self._lock)


class TrackedRows:
    """One player's rows on the boards of an engine. Remembers the tracks at the end of each street's latest board."""

    def __init__(self, agent: Agent, engine: Engine, player: int, lock: Lock) -> None:
        self.agent, self.engine, self.player, self.lock = agent, engine, player, lock
        program = engine.program.arrays
        self.table_row = np.full(len(engine.tree), -1, np.int64)
        self.table_row[program.node] = program.table_row
        self.ends: dict[int, Track] = {}  # by node of a deal

    def expand(self, board: int, tables: Tables) -> None:
        """Write the probabilities of a board's holes into its block of the tables."""
        cards, tree, player = self.engine.cards, self.engine.tree, self.player
        dealt, holes = cards.cards[board], cards.holes(board, player)
        street = int(cards.arrays.street[board])
        tracks: dict[int, Track] = {}
        with self.lock:
            for node in range(tree.street_first[street], tree.street_first[street + 1]):
                if tree.kind[node] not in (DECISION, DEAL):
                    continue
                track = self._arrive(node, tracks, dealt)
                if tree.kind[node] == DEAL:
                    self.ends[node] = track
                    continue
                tracks[node] = track
                if tree.player[node] == player:
                    rows = self._rows(node, track)[:, holes]
                    start = int(tables.first[board, player]) + int(self.table_row[node]) * len(holes)
                    tables.source[start : start + rows.size] = rows.ravel()

    def _arrive(self, node: int, tracks: dict[int, Track], dealt: tuple[int, ...]) -> Track:
        """The track at a node, one step from its parent's."""
        tree, parent = self.engine.tree, int(self.engine.tree.parent[node])
        if node == 0:
            return self.agent.follow(self.player)
        if tree.kind[parent] != DEAL:
            return tracks[parent].after(int(tree.action[node]))
        track = self.ends[parent]
        return track.dealt(dealt) if len(dealt) > len(track.board) else track

    def _rows(self, node: int, track: Track) -> F64:
        """[action of the tree, hole]."""
        tree = self.engine.tree
        offered = [int(tree.action[child]) for child in tree.children(node)]
        actions, chances = track.probabilities()
        rows = np.zeros((len(offered), chances.shape[1]))
        for action, row in zip(actions, chances, strict=True):
            if action in offered:
                rows[offered.index(action)] = row
            elif row.any():
                raise InputError(
                    f"agent {shown(self.agent.name)} may {action_text(action)}: not on the menu",
                    remedy="give it the bets of the tree, or use the method lbr",
                )
        return rows
