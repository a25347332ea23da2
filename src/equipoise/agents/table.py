"""An agent that plays a table: a tree, buckets and probabilities, with action translation and post-processing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import xxhash

from equipoise.abstraction.maps.live_map import Buckets
from equipoise.agents.blueprint import profile_agent
from equipoise.agents.card_blind import ProfileStrategy
from equipoise.agents.postprocess import PostProcess, PostRule, process_profile, process_row
from equipoise.agents.translate import PlayTree, translation_number
from equipoise.agents.tree_agent import TreeAgent
from equipoise.core.arrays import Int
from equipoise.core.jit import F64, I32, I64, U8, inlined, kernel
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import UNITS, from_bytes
from equipoise.tree.betting_tree import MOST_ACTIONS, BettingTree, first_decisions
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


@dataclass(frozen=True, eq=False)
class TableAgent(TreeAgent):
    """An agent with a table. `stored` has probabilities by slot: float32, or uint8 in units of 1/255."""

    name: str
    layout: SlotLayout
    stored: Any
    buckets: Buckets
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

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that determines its play."""
        numbers = xxhash.xxh3_64_hexdigest(np.ascontiguousarray(self.stored).view(np.uint8).data)
        plan = f"{self.rules.fingerprint} {self.tree.menu!r} {self.buckets.fingerprint} {self.post} {self.translation}"
        return f"{numbers} {xxhash.xxh3_64_hexdigest(plan.encode())}"

    @cached_property
    def table(self) -> Table:
        """What it plays, for kernels."""
        unit = 1.0 / UNITS if self.stored.dtype == np.uint8 else 1.0
        stored = self.stored.view()
        stored.flags.writeable = False  # one type for kernels, whether it is mapped or not
        return Table(
            self.play_tree, self.layout.offset, self.layout.stride, first_decisions(self.tree), stored, unit,
            self.post.rule, self.reading,
        )  # fmt: skip

    def rows(self, node: int, board: tuple[int, ...], holes: U8) -> F64:
        """[action, hole] from the table, post-processed."""
        cells = self.cells(int(self.tree.street[node]), board, holes)
        rows = np.zeros((int(self.tree.num_children[node]), len(holes)))
        fill_rows(self.table, node, cells, np.empty(MOST_ACTIONS), np.empty(MOST_ACTIONS), rows)
        return rows

    def strategy(self) -> ProfileStrategy:
        """Its profile, post-processed."""
        stored = from_bytes(self.stored) if self.stored.dtype == np.uint8 else self.stored
        profile = process_profile(Profile(self.layout, stored), self.post)
        return profile_agent(f"{self.name} {self.fingerprint}", profile, self.buckets)

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
