"""Agents that play a betting tree, with action translation: the base of tables and of networks.

While the opponent's bets are in the tree, the agent is at one node. A bet outside the tree is read as one of two
(`translate.py`), and the agent is then at either node with some probability: a *place* is a node with its weight for
every hole, and the agent plays the mixture over its places. To an observer, this equals an agent that draws once and
remembers, but it needs no memory. If the tree is on a later street than the hand, the agent calls until the hand gets
there; if the tree has ended and the hand has not, it checks and calls to the end.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from equipoise.agents.agent import Tracked
from equipoise.agents.card_blind import Strategy
from equipoise.agents.translate import (
    LIVE,
    PlayTree,
    landing,
    read_bet,
    said_action,
    standing,
    translation_number,
)
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.jit import F64, I64, U8, kernel
from equipoise.games.betting_state import CALL, BettingState
from equipoise.games.rules import GameRules
from equipoise.tree.betting_tree import DEAL, DECISION, BettingTree


@kernel
def read_one(tree: PlayTree, node: int, total: int, most: int, reading: int, found: I64) -> float:
    """`read_bet` for one bet."""
    return float(read_bet(tree, node, total, most, reading, found))


@kernel
def say_all(tree: PlayTree, node: int, most: int, least: int, largest: int, may_fold: bool, said: I64) -> None:
    """What a node's actions are in the hand, and where they lead. OUT: int64[action, 2]."""
    for i in range(tree.num_children[node]):
        child = np.int64(tree.first_child[node]) + i
        said[i, 0] = said_action(tree, node, child, most, least, largest, may_fold)
        said[i, 1] = landing(tree, child)


@kernel
def stand(tree: PlayTree, node: int, street: int, player: int) -> int:
    """`standing` for one place."""
    return standing(tree, node, street, player)


class TreeAgent(Tracked):
    """An agent that plays a betting tree. Subclasses give the probabilities of holes at a node."""

    name: str
    translation: str

    @property
    @abstractmethod
    def tree(self) -> BettingTree:
        """The tree it plays."""

    @abstractmethod
    def rows(self, node: int, board: tuple[int, ...], holes: U8) -> F64:
        """[action, hole] its probabilities at a node; 0 where the board blocks the hole. IN: uint8[hole, card]."""

    @abstractmethod
    def strategy(self) -> Strategy:
        """The same for the exact measure, in its own tree."""

    def board_rows(self, board: tuple[int, ...]) -> F64:
        """[node, live hole] the probability of the action that leads to a node, on the streets of a full board.

        It is 1 where no decision leads to the node. Holes are those of `live_holes`.
        """
        tree, rules = self.tree, self.rules
        holes, live = hole_card_table(rules.deck, rules.hole_cards), live_holes(rules, board)
        found = np.ones((len(tree), len(live)))
        for node in np.flatnonzero(tree.kind == DECISION).tolist():
            seen, children = rules.board_size(int(tree.street[node])), tree.children(node)
            found[children.start : children.stop] = self.rows(node, board[:seen], holes)[:, live]
        return found

    @property
    def rules(self) -> GameRules:  # type: ignore[override]
        return self.tree.rules

    @cached_property
    def play_tree(self) -> PlayTree:
        """Its tree, for kernels."""
        return PlayTree.of(self.tree)

    @cached_property
    def reading(self) -> int:
        """How it reads bets that are not in its tree, for kernels."""
        return translation_number(self.translation)

    def follow(self, player: int, hole: int | None = None) -> TreeTrack:
        """A track of all holes, or of one."""
        holes = hole_card_table(self.rules.deck, self.rules.hole_cards)
        chosen = holes if hole is None else holes[hole : hole + 1]
        start = Place(0, 1.0, np.ones(len(chosen)))
        return TreeTrack(self, player, chosen, BettingState.start(self.rules), (), (start,))


def live_holes(rules: GameRules, board: tuple[int, ...]) -> I64:
    """The indices of the holes that share no card with a board, ascending."""
    holes = hole_card_table(rules.deck, rules.hole_cards)
    return np.flatnonzero(~np.isin(holes, board).any(axis=1))


@dataclass(frozen=True, eq=False)
class Place:
    """A possible position in the tree: a node, the probability of the readings of bets, and the reach by hole."""

    node: int
    odds: float
    reach: F64


@dataclass(frozen=True, eq=False)
class TreeTrack:
    """An agent of a tree followed through a hand."""

    agent: TreeAgent
    player: int
    holes: U8  # [hole, card]
    state: BettingState
    board: tuple[int, ...]
    places: tuple[Place, ...]

    @cached_property
    def reach(self) -> F64:
        """[hole] over all places."""
        return np.asarray(sum((place.reach for place in self.places), np.zeros(len(self.holes))))

    def _standing(self, place: Place) -> int:
        return stand(self.agent.play_tree, place.node, self.state.round, self.state.player)

    @cached_property
    def _plays(self) -> list[Any]:
        """By place: what it may do (action in the hand, node it leads to, float64[hole])."""
        agent, state, legal = self.agent, self.state, self.state.legal()
        plays = []
        for place in self.places:
            if self._standing(place) != LIVE:
                plays.append([(CALL, place.node, np.ones(len(self.holes)))])
                continue
            rows = agent.rows(place.node, self.board, self.holes)
            said = np.empty((len(rows), 2), np.int64)
            most = max(state.spent)
            say_all(agent.play_tree, place.node, most, legal.raise_min, legal.raise_max, legal.fold, said)
            plays.append([(int(action), int(node), row) for (action, node), row in zip(said, rows, strict=True)])
        return plays

    def probabilities(self) -> tuple[tuple[int, ...], F64]:
        """The mixture over its places, by their reach; by their odds where the hole cannot have come here."""
        reach = self.reach
        stray = reach <= 0
        total = np.where(stray, sum(place.odds for place in self.places), reach)
        found: dict[int, F64] = {}
        for place, plays in zip(self.places, self._plays, strict=True):
            weight = np.where(stray, place.odds, place.reach) / total
            for action, _, row in plays:
                mixed = found.setdefault(action, np.zeros(len(self.holes)))
                mixed += weight * row
        actions = tuple(sorted(found))
        return actions, np.array([found[action] for action in actions])

    def after(self, action: int) -> TreeTrack:
        """Either player's action."""
        mine = self.state.player == self.player
        places = list(self._after_mine(action)) if mine else []
        if not places:  # the opponent's action, or one that this agent never takes
            places = [new for place in self.places for new in self._read(place, action, lost=mine)]
        return replace(self, state=self.state.apply(action), places=_merged(places))

    def _after_mine(self, action: int) -> Iterator[Place]:
        for place, plays in zip(self.places, self._plays, strict=True):
            for said, node, row in plays:
                if said == action:
                    yield Place(node, place.odds, place.reach * row)

    def _read(self, place: Place, action: int, *, lost: bool) -> Iterator[Place]:
        """The places after an action of the opponent; `lost`: of the agent itself, which never takes it."""
        tree, reach = self.agent.play_tree, place.reach * 0 if lost else place.reach
        if self._standing(place) != LIVE:
            yield replace(place, reach=reach)
        elif action <= CALL:
            for child in self.agent.tree.children(place.node):
                if tree.action[child] == action:
                    yield Place(int(tree.first_child[child]) if tree.kind[child] == DEAL else child, place.odds, reach)
                    return
            yield replace(place, reach=reach)  # a fold where the tree has none: the hand is over
        else:
            found = np.zeros(2, np.int64)
            reading = self.agent.reading
            chance = read_one(tree, place.node, action, max(self.state.spent), reading, found)
            for node, share in zip(found.tolist(), (chance, 1 - chance), strict=True):
                if share > 0:
                    yield Place(node, place.odds * share, reach * share)

    def dealt(self, board: tuple[int, ...]) -> TreeTrack:
        """More of the board."""
        free = ~np.isin(self.holes, board).any(axis=1)
        places = tuple(replace(place, reach=place.reach * free) for place in self.places)
        return replace(self, board=tuple(board), places=places)


def _merged(places: list[Place]) -> tuple[Place, ...]:
    """One place a node."""
    found: dict[int, Place] = {}
    for place in places:
        at = found.get(place.node)
        found[place.node] = place if at is None else Place(place.node, at.odds + place.odds, at.reach + place.reach)
    return tuple(found.values())
