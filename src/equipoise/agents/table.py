"""An agent that plays a table: a tree, buckets and probabilities, with action translation and post-processing.

While the opponent's bets are in the tree, the agent is at one node. A bet outside the tree is read as one of two
(`translate.py`), and the agent is then at either node with some probability: a *place* is a node with its weight for
every hole, and the agent plays the mixture over its places. To an observer, this equals an agent that draws once and
remembers, but it needs no memory. If the tree is on a later street than the hand, the agent calls until the hand gets
there; if the tree has ended and the hand has not, it checks and calls to the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import xxhash

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.agent import Tracked
from equipoise.agents.postprocess import PostProcess, PostRule, process_row
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
from equipoise.core.arrays import Int
from equipoise.core.jit import F64, I32, I64, U8, inlined, kernel
from equipoise.games.betting_state import CALL, BettingState
from equipoise.games.rules import GameRules
from equipoise.strategy.tables import UNITS
from equipoise.tree.betting_tree import DEAL, MOST_ACTIONS, BettingTree, first_decisions
from equipoise.tree.infosets import SlotLayout

MOST_KEPT = 64  # boards whose buckets an agent remembers


class Table(NamedTuple):
    """What an agent plays, for kernels."""

    tree: PlayTree
    offset: I64  # [node]
    stride: I64  # [node]
    first: U8  # [node] whether it is the first decision of its player
    stored: Any  # float32[slot] or uint8[slot]
    unit: float  # what a stored number of one is
    post: PostRule
    reading: int  # of bets that are not in the tree


@inlined
def read_row(table: Table, node: Int, bucket: Int, chances: F64, scratch: F64) -> Int:
    """The probabilities of an information set, post-processed. OUT: float64[action]; returns how many."""
    tree = table.tree
    count = np.int64(tree.num_children[node])
    slot = table.offset[node] + np.int64(bucket) * table.stride[node]
    for action in range(count):
        chances[action] = np.float64(table.stored[slot + action]) * table.unit
    child = np.int64(tree.first_child[node])
    opposing = max(tree.chips[node, 0], tree.chips[node, 1])
    first = table.first[node] != 0
    process_row(table.post, tree.action[child : child + count], opposing, first, chances[:count], scratch[:count])
    return count


@kernel
def fill_rows(table: Table, node: int, cells: I32, row: F64, scratch: F64, rows: F64) -> None:
    """A node's probabilities for many holes. IN: int32[hole] buckets, negative where there is none; scratch:

    float64[action] twice; OUT: float64[action, hole].
    """
    for hole in range(cells.size):
        if cells[hole] >= 0:
            count = read_row(table, node, cells[hole], row, scratch)
            for action in range(count):
                rows[action, hole] = row[action]


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


@dataclass(frozen=True, eq=False)
class TableAgent(Tracked):
    """An agent with a table. `stored` has probabilities by slot: float32, or uint8 in units of 1/255."""

    name: str
    layout: SlotLayout
    stored: Any
    buckets: BucketMap
    post: PostProcess = field(default_factory=PostProcess)
    translation: str = "pseudo-harmonic"
    _kept: dict[tuple[int, ...], I32] = field(default_factory=dict)  # by board

    def __post_init__(self) -> None:
        translation_number(self.translation)

    def __repr__(self) -> str:
        return f"TableAgent({self.name}: {self.rules.name or 'unnamed'}, {self.post})"

    @property
    def tree(self) -> BettingTree:
        return self.layout.tree

    @property
    def rules(self) -> GameRules:  # type: ignore[override]
        return self.layout.tree.rules

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that determines its play."""
        numbers = xxhash.xxh3_64_hexdigest(np.ascontiguousarray(self.stored).view(np.uint8).data)
        plan = f"{self.rules.fingerprint} {self.tree.menu!r} {self.buckets.fingerprint} {self.post} {self.translation}"
        return f"{numbers} {xxhash.xxh3_64_hexdigest(plan.encode())}"

    @cached_property
    def table(self) -> Table:
        """What it plays, for kernels."""
        tree = PlayTree.of(self.tree)
        unit = 1.0 / UNITS if self.stored.dtype == np.uint8 else 1.0
        stored = self.stored.view()
        stored.flags.writeable = False  # one type for kernels, whether it is mapped or not
        return Table(
            tree, self.layout.offset, self.layout.stride, first_decisions(self.tree), stored, unit, self.post.rule,
            translation_number(self.translation),
        )  # fmt: skip

    def follow(self, player: int, hole: int | None = None) -> TableTrack:
        """A track of all holes, or of one."""
        holes = hole_card_table(self.rules.deck, self.rules.hole_cards)
        chosen = holes if hole is None else holes[hole : hole + 1]
        start = Place(0, 1.0, np.ones(len(chosen)))
        return TableTrack(self, player, chosen, BettingState.start(self.rules), (), (start,))

    def buckets_of(self, hands: U8) -> I64:
        """[..., street] the buckets of whole hands. IN: uint8[..., card], hole cards first."""
        return self.buckets.buckets_of_deals(hands.reshape(-1, hands.shape[-1])).reshape(*hands.shape[:-1], -1)

    def cells(self, street: int, board: tuple[int, ...], holes: U8) -> I32:
        """[hole] buckets on a board, -1 where blocked."""
        if len(holes) == 1:
            hole = tuple(holes[0].tolist())
            blocked = not set(hole).isdisjoint(board)
            return np.array([-1 if blocked else self.buckets.bucket(hole, board)], np.int32)
        found = self._kept.get(board)
        if found is None:
            found = self.buckets.buckets_of_board(street, board)
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[board] = found
        return found


@dataclass(frozen=True, eq=False)
class Place:
    """A possible position in the tree: a node, the probability of the readings of bets, and the reach by hole."""

    node: int
    odds: float
    reach: F64


@dataclass(frozen=True, eq=False)
class TableTrack:
    """A table agent followed through a hand."""

    agent: TableAgent
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
        return stand(self.agent.table.tree, place.node, self.state.round, self.state.player)

    @cached_property
    def _plays(self) -> list[Any]:
        """By place: what it may do (action in the hand, node it leads to, float64[hole])."""
        agent, state, legal = self.agent, self.state, self.state.legal()
        cells = None
        plays = []
        for place in self.places:
            if self._standing(place) != LIVE:
                plays.append([(CALL, place.node, np.ones(len(self.holes)))])
                continue
            if cells is None:
                cells = agent.cells(state.round, self.board, self.holes)
            count = int(agent.tree.num_children[place.node])
            rows, said = np.zeros((count, len(self.holes))), np.empty((count, 2), np.int64)
            fill_rows(agent.table, place.node, cells, np.empty(MOST_ACTIONS), np.empty(MOST_ACTIONS), rows)
            most = max(state.spent)
            say_all(agent.table.tree, place.node, most, legal.raise_min, legal.raise_max, legal.fold, said)
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

    def after(self, action: int) -> TableTrack:
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
        tree, reach = self.agent.table.tree, place.reach * 0 if lost else place.reach
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
            reading = self.agent.table.reading
            chance = read_one(tree, place.node, action, max(self.state.spent), reading, found)
            for node, share in zip(found.tolist(), (chance, 1 - chance), strict=True):
                if share > 0:
                    yield Place(node, place.odds * share, reach * share)

    def dealt(self, board: tuple[int, ...]) -> TableTrack:
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
