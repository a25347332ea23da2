"""What one agent wins from another on random full boards: all pairs of holes, all betting lines, both seats.

Both agents play the same betting tree, so no action needs translation and no hand needs dealing. On a board, the value
of the first agent in a seat is

    sum over terminals z of chips(z) r1[z] W(z) r2[z] / (pairs of disjoint holes)

where r1[z] and r2[z] are the probabilities, by hole, that each agent plays to z, and W(z) says who wins for each pair
of holes: by who folded, or by the showdown on this board; 0 for holes that share a card. Values are exact given the
board; an interval over boards is over nothing else. A pot that is all-in before the last street is valued on the drawn
board, which is unbiased over boards. Every board has its own random stream: more boards extend the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import NamedTuple

import numpy as np

from equipoise.agents.agent import Agent
from equipoise.agents.tree_agent import TreeAgent, live_holes
from equipoise.cards.deck import check_hole_cards
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.errors import InputError
from equipoise.core.jit import F64, I64
from equipoise.core.machine import check_fits
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.tree.betting_tree import DECISION, FOLDED, SHOWDOWN, BettingTree

LEAST_BOARDS = 4  # so that there is an interval
ARRAYS = 5  # float64[node, hole] in use at a time: two agents' reach in both seats, and probabilities
BLOCK = 1 << 10  # terminals of one matrix product


class Meetings(NamedTuple):
    """The pairs of live holes of a board: float64[hole, hole]."""

    meet: F64  # 1 where they share no card
    wins: F64  # where they share none: 1 if the first hole wins the showdown, -1 if the second does; else 0


@dataclass(frozen=True, eq=False)
class BoardMatch:
    """Two agents that play the same betting tree."""

    one: TreeAgent
    two: TreeAgent
    seed: int = 1

    @classmethod
    def of(cls, one: Agent, two: Agent, seed: int = 1) -> BoardMatch:
        """Checked: agents of a match on boards."""
        for agent in (one, two):
            if not isinstance(agent, TreeAgent):
                raise InputError(
                    f"{agent.name} on boards, which are for agents that play a betting tree without search",
                    remedy="play hands",
                )
        assert isinstance(one, TreeAgent) and isinstance(two, TreeAgent)
        rules = one.rules
        if not sum(rules.board_cards):
            raise InputError(f"{rules.name or 'this game'} has no board", remedy="play hands")
        check_hole_cards(rules.hole_cards, "a match on boards")
        if not same_tree(one.tree, two.tree):
            raise InputError(
                f"{one.name} and {two.name} play different betting trees",
                remedy="play hands, or take agents of the same game and bet menu",
            )
        holes = rules.deck.holes(rules.hole_cards)
        check_fits(
            8 * holes * (ARRAYS * len(one.tree) + 4 * holes), "the ranges of a match on boards", "play hands instead"
        )
        return cls(one, two, seed)

    @property
    def tree(self) -> BettingTree:
        return self.one.tree

    @cached_property
    def pairs(self) -> int:
        """Ordered pairs of disjoint holes on a board."""
        rules = self.one.rules
        left = rules.deck.size - sum(rules.board_cards)
        return comb(left, rules.hole_cards) * comb(left - rules.hole_cards, rules.hole_cards)

    def board(self, number: int) -> tuple[int, ...]:
        """A board of the list that the seed gives."""
        rules = self.one.rules
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
        return tuple(rng.permutation(rules.deck.size)[: sum(rules.board_cards)].tolist())

    def values(self, board: tuple[int, ...]) -> F64:
        """[seat] the chips per hand that the first agent wins as player 0 and as player 1."""
        meetings = meetings_on(self.one.rules, board)
        mine, theirs = (reaches(agent.tree, agent.board_rows(board)) for agent in (self.one, self.two))
        return np.array([self._value(seat, mine[seat], theirs[1 - seat], meetings) for seat in range(PLAYERS)])

    def _value(self, seat: int, mine: F64, theirs: F64, meetings: Meetings) -> float:
        """The first agent's value in a seat. IN: float64[node, hole] the reach of both."""
        tree = self.tree
        chips = tree.chips.min(axis=1).astype(np.float64)
        total = 0.0
        for kind, won in ((FOLDED, meetings.meet), (SHOWDOWN, meetings.wins)):
            nodes = np.flatnonzero(tree.kind == kind)
            weight = chips[nodes]
            if kind == FOLDED:
                weight = np.where(tree.player[nodes] == seat, -weight, weight)
            for first in range(0, len(nodes), BLOCK):
                block = nodes[first : first + BLOCK]
                by_hole = np.einsum("zh,zh->z", mine[block] @ won, theirs[block])
                total += float(weight[first : first + BLOCK] @ by_hole)
        return total / self.pairs


def same_tree(one: BettingTree, two: BettingTree) -> bool:
    """Whether two betting trees of one game have the same lines."""
    arrays = ("kind", "player", "street", "parent", "action", "chips")
    return len(one) == len(two) and all(np.array_equal(getattr(one, name), getattr(two, name)) for name in arrays)


def reaches(tree: BettingTree, chances: F64) -> tuple[F64, F64]:
    """By player: float64[node, hole] the probability of its own actions on the way. IN: as of `board_rows`."""
    found = np.ones_like(chances), np.ones_like(chances)
    for node in range(1, len(tree)):
        above = int(tree.parent[node])
        for player, reach in enumerate(found):
            if tree.kind[above] == DECISION and tree.player[above] == player:
                np.multiply(reach[above], chances[node], out=reach[node])
            else:
                reach[node] = reach[above]
    return found


def meetings_on(rules: GameRules, board: tuple[int, ...]) -> Meetings:
    """The pairs of live holes on a full board."""
    live = live_holes(rules, board)
    cards = hole_card_table(rules.deck, rules.hole_cards)[live]
    holds = np.zeros((len(live), rules.deck.size))
    np.put_along_axis(holds, cards.astype(np.int64), 1.0, axis=1)
    meet = (holds @ holds.T == 0).astype(np.float64)
    ranks: I64 = rules.ranker.ranks_on_board(board)[live].astype(np.int64)
    return Meetings(meet, np.sign(ranks[:, np.newaxis] - ranks) * meet)
