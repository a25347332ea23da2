"""Networks that play: the agent of a deep run, and its strategy for the exact measure, board by board.

Imports torch, so it is imported only where a run of networks is opened (`agents/named.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from equipoise.agents.card_blind import Flags, tables_of_boards
from equipoise.agents.postprocess import PostProcess, process_rows
from equipoise.agents.tree_agent import TreeAgent, live_holes
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.errors import InputError
from equipoise.core.jit import F64, U8
from equipoise.deep.mixture import Mixture
from equipoise.deep.network import Tensor
from equipoise.games.rules import PLAYERS
from equipoise.tree.betting_tree import BettingTree, first_decisions
from equipoise.walk.engine import Engine
from equipoise.walk.plan import Tables

MOST_KEPT = 256  # answers that an agent remembers


@dataclass(frozen=True, eq=False)
class NetworkAgent(TreeAgent):
    """An agent that asks networks. It answers for all holes of a board in one call."""

    name: str
    mixture: Mixture
    fingerprint: str = ""  # of its networks
    post: PostProcess = field(default_factory=PostProcess)
    translation: str = "pseudo-harmonic"
    _kept: dict[tuple[Any, ...], F64] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"NetworkAgent({self.name}: {self.rules.name or 'unnamed'}, {self.mixture.count} networks, {self.post})"

    @property
    def tree(self) -> BettingTree:
        return self.mixture.where.encoding.tree

    @property
    def forkable(self) -> bool:
        """Whether forked processes can use its networks (`can_fork`)."""
        return self.mixture.where.device.type == "cpu"

    def rows(self, node: int, board: tuple[int, ...], holes: U8) -> F64:
        """[action, hole] from the networks, post-processed."""
        key = (node, board, holes.tobytes())
        found = self._kept.get(key)
        if found is None:
            found = self._asked(node, board, holes)
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found

    def board_rows(self, board: tuple[int, ...]) -> F64:
        """[node, live hole] as in `TreeAgent`, by one walk over the decisions of each player and street."""
        tree, rules, mixture = self.tree, self.rules, self.mixture
        live = live_holes(rules, board)
        cards = hole_card_table(rules.deck, rules.hole_cards)[live]
        found = np.ones((len(tree), len(live)))
        for player in range(PLAYERS):
            reach: Tensor | None = None
            for street in range(rules.rounds):
                keys = mixture.where.encoding.hands.of_board(board[: rules.board_size(street)], cards)
                walk = mixture.street(player, street, keys, reach)
                for answer in walk:
                    nodes = walk.plan.nodes[answer.decisions].tolist()
                    for node, chances in zip(nodes, answer.chances.cpu().numpy(), strict=True):
                        children = tree.children(node)
                        rows = chances[:, : len(children)].T.astype(np.float64)
                        self._process(node, rows)
                        found[children.start : children.stop] = rows
                reach = walk.exits
        return found

    def strategy(self) -> NetworkStrategy:
        """Its networks."""
        if self.post.method != "none":
            raise InputError("networks with a post-processor in an exact measurement", remedy="use the method lbr")
        return NetworkStrategy(self.fingerprint or self.name, self.mixture)

    def _asked(self, node: int, board: tuple[int, ...], holes: U8) -> F64:
        rows = self.mixture.rows(node, board, holes).T.astype(np.float64)
        self._process(node, rows)
        rows[:, np.isin(holes, board).any(axis=1)] = 0
        return rows

    def _process(self, node: int, rows: F64) -> None:
        """Post-process the probabilities of a node. IN OUT: float64[action, hole]."""
        tree, children = self.tree, self.tree.children(node)
        actions, opposing = tree.action[children.start : children.stop], int(tree.chips[node].max())
        first = bool(self._first[node]) if self.post.keep_first else False
        process_rows(self.post.rule, actions, opposing, first, np.empty((2, len(rows))), rows)

    @cached_property
    def _first(self) -> U8:
        """[node] whether it is the first decision of its player."""
        return first_decisions(self.tree)


@dataclass(frozen=True, eq=False)
class NetworkStrategy:
    """Networks for the exact measure: the rows of a board are asked for when the walk comes to it."""

    name: str
    mixture: Mixture
    by_bucket: None = None

    def never(self, tree: BettingTree) -> Flags:
        """Nothing is ruled out for all cards."""
        return np.zeros(len(tree), bool)

    def tables(self, engine: Engine) -> Tables:
        """The probabilities of every hole on every board, for small games."""
        return tables_of_boards(engine, self.by_board)

    def by_board(self, engine: Engine, player: int) -> BoardRows:
        """The rows of one player, to be asked for board by board, a board after its parent."""
        return BoardRows(self.mixture, engine, player)


class BoardRows:
    """One player's rows on the boards of an engine. Remembers the reach of the latest board of each street."""

    def __init__(self, mixture: Mixture, engine: Engine, player: int) -> None:
        self.mixture, self.engine, self.player = mixture, engine, player
        self.hole_cards = hole_card_table(engine.tree.rules.deck, engine.tree.rules.hole_cards)
        self.exits: dict[int, Tensor | None] = {}  # by street: [network, entry of the next street, hole of the board]

    def expand(self, board: int, tables: Tables) -> None:
        """Write the probabilities of a board's holes into its block of the tables."""
        mixture, boards, player = self.mixture, self.engine.cards.arrays, self.player
        where, street = mixture.where, int(boards.street[board])
        places = self.engine.cards.slice(board, player)
        cards = self.hole_cards[boards.hole[places]]
        every = where.encoding.hands.of_board(self.engine.cards.cards[board], cards)
        reach, keys, place = None, every, np.arange(len(every))
        if mixture.count == 1:
            keys, place = np.unique(every, return_inverse=True)  # isomorphic holes have one answer
        elif street > 0:
            above = self.exits[street - 1]
            assert above is not None
            reach = above.index_select(2, where.index(boards.before[places]))
        walk = mixture.street(player, street, keys, reach)
        walk.write(place, tables.source[int(tables.first[board, player]) :])
        self.exits[street] = walk.exits
