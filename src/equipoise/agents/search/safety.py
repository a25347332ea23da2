"""Safe search: the opponent may leave a subgame at its root for what it would get without the search.

In the gadget game (Burch, Johanson and Bowling 2014) the opponent holds any hole at the root, and chooses between
entering the subgame and leaving with an alternative value. A solution that lets no hole gain by entering is not more
exploitable than what gave the alternatives: here a best response to the play that the search replaces. `combined` mixes
the range that leads to the root with the holes that enter.

The choice is no node of the tree: a root rule (`solvers/vector_cfr.py`) keeps its regrets and scales the opponent's
range between walks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from equipoise.agents.agent import View, track_to
from equipoise.agents.tree_agent import TreeAgent
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.jit import F32, F64
from equipoise.games.betting_state import BettingState
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.boards import PublicCards
from equipoise.tree.subtrees import nodes_below, subtree
from equipoise.walk.engine import Engine
from equipoise.walk.plan import BEST, HoleRule

SHARES = {"gadget": 1.0, "combined": 0.5}  # of the holes that enter; the rest is the range
ENTER, LEAVE = 0, 1


@dataclass(eq=False)
class Gadget:
    """The opponent's choice at the root. Arrays are by hole of its list at the root."""

    opponent: int
    alternatives: F64  # counterfactual values
    range: F64
    share: float
    regret: F64 = field(init=False)  # [ENTER or LEAVE, hole]
    entering: F64 = field(init=False)  # the probability that a hole enters

    def __post_init__(self) -> None:
        self.regret = np.zeros((2, len(self.range)))
        self.entering = np.full(len(self.range), 0.5)

    def before_walk(self, walker: int, ranges: tuple[F32, F32]) -> None:
        """Give the opponent the range that enters."""
        if walker == self.opponent:
            return
        share = self.share * self.range.mean()
        ranges[self.opponent][:] = share * self.entering + (1 - self.share) * self.range

    def after_walk(self, walker: int, values: F32, discounts: F64) -> None:
        """Regret matching between entering and leaving."""
        if walker != self.opponent:
            return
        gain = values - self.alternatives
        self.regret *= np.where(self.regret > 0, discounts[0], discounts[1])
        self.regret[ENTER] += (1 - self.entering) * gain
        self.regret[LEAVE] -= self.entering * gain
        positive = np.maximum(self.regret, 0)
        total = positive[ENTER] + positive[LEAVE]
        self.entering = np.divide(positive[ENTER], total, out=np.full_like(total, 0.5), where=total > 0)


@dataclass(frozen=True, eq=False)
class Continuation:
    """How a hand would go on without a new solve: a node of a betting tree and the probabilities below it."""

    tree: BettingTree
    node: int
    rows: Callable[[int, tuple[int, ...]], F64]  # node, board -> [action, hole]

    @classmethod
    def of_blueprint(cls, blueprint: object, state: BettingState, board: tuple[int, ...]) -> Continuation | None:
        """Where a blueprint that plays a tree is at the start of a street; None if its tree has no such place.

        Of several places, as after a bet that it translates, this takes the likeliest.
        """
        if not isinstance(blueprint, TreeAgent):
            return None
        track = track_to(blueprint.follow(0), View(state, 0, (), board))
        node = max(track.places, key=lambda place: place.odds).node  # type: ignore[attr-defined]
        tree, holes = blueprint.tree, hole_card_table(blueprint.rules.deck, blueprint.rules.hole_cards)
        if tree.kind[node] != DECISION or tree.street[node] != state.round:
            return None
        return cls(tree, node, lambda below, dealt: blueprint.rows(below, dealt, holes))

    def alternatives(self, cards: PublicCards, chips: int, opponent: int) -> F64:
        """[hole of the root's list] the opponent's values of a best response to this play.

        `chips` are those of each player at the root; where the tree has others, values are scaled.
        """
        nodes = nodes_below(self.tree, self.node)
        tree = subtree(self.tree, nodes)
        engine = Engine(tree, cards)
        program = engine.program.arrays
        source = engine.zeros()
        for place in np.flatnonzero((program.table_row >= 0) & (program.player == 1 - opponent)).tolist():
            node = int(program.node[place])
            for board in np.flatnonzero(cards.arrays.street == tree.street[node]).tolist():
                rows = cards.gather(board, 1 - opponent, self.rows(int(nodes[node]), cards.cards[board]))
                start = int(engine.table_first[board, 1 - opponent]) + int(program.table_row[place]) * rows.shape[1]
                source[start : start + rows.size] = rows.ravel()
        values = engine.walk(opponent, HoleRule(engine.tables(source), BEST))
        return np.asarray(values.astype(np.float64) * chips / int(tree.chips[0].max()))


def gadget_of(continuation: Continuation, cards: PublicCards, chips: int, player: int, safety: str) -> Gadget:
    """The opponent's choice at the root of a player's search."""
    opponent = 1 - player
    alternatives = continuation.alternatives(cards, chips, opponent)
    return Gadget(opponent, alternatives, cards.root_weights[opponent], SHARES[safety])
