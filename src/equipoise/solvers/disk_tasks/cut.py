"""A game in tasks: the first street for the head, and for each of its betting sequences and card groups a subtree.

A task owns the tables of its nodes and its group's buckets, laid out as those of a game of its own. In the tables of
the whole game they are a stretch of columns (the nodes of a subtree are neighbours) of the rows of some buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.arrays import F32, I64
from equipoise.core.errors import InputError
from equipoise.games.rules import PLAYERS
from equipoise.solvers.disk_tasks.cards import CardGroups
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.infosets import SlotLayout
from equipoise.tree.subtrees import deal_above, first_deals, subtree


class Task(NamedTuple):
    """A part of the game that is worked on as a whole."""

    sequence: int  # betting on the first street: the number of the deal that ends it
    group: int  # of public clusters


@dataclass(frozen=True, eq=False)
class GameCut:
    """The tasks of a game, with the public clusters in `groups` groups."""

    tree: BettingTree
    buckets: BucketMap
    groups: int = 1

    def __post_init__(self) -> None:
        if not len(self.deals):
            raise InputError("a game of one street cannot be cut into tasks", remedy="train it on one machine")

    @cached_property
    def cards(self) -> CardGroups:
        return CardGroups(self.buckets, self.groups)

    @cached_property
    def deals(self) -> I64:
        """[sequence] the DEAL node that ends it."""
        return first_deals(self.tree)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(Task(sequence, group) for sequence in range(len(self.deals)) for group in range(self.groups))

    @cached_property
    def top(self) -> BettingTree:
        """The first street."""
        return subtree(self.tree, np.arange(int(self.tree.street_first[1])))

    @cached_property
    def whole(self) -> SlotLayout:
        """The tables of the whole game."""
        return SlotLayout(self.tree, self.buckets.buckets)

    @cached_property
    def _nodes(self) -> list[I64]:
        """[sequence] its nodes, ascending."""
        above = deal_above(self.tree)
        order = np.argsort(above, kind="stable")
        return np.split(order, np.searchsorted(above[order], np.arange(len(self.deals))))[1:]

    def subtree(self, sequence: int) -> BettingTree:
        """A betting sequence's deal, and everything below."""
        return subtree(self.tree, self._nodes[sequence])

    def layout(self, task: Task, tree: BettingTree | None = None) -> SlotLayout:
        """The tables of a task; `tree` is its subtree, if that is at hand."""
        return SlotLayout(tree or self.subtree(task.sequence), self.cards.counts(task.group))

    @cached_property
    def _width(self) -> I64:
        """[sequence, street] the number of actions of all its decisions."""
        tree, width = self.tree, np.zeros((len(self.deals), self.tree.rules.rounds), np.int64)
        nodes = np.flatnonzero((tree.kind == DECISION) & (tree.street > 0))
        np.add.at(width, (deal_above(tree)[nodes], tree.street[nodes]), tree.num_children[nodes])
        return width

    def slots(self, task: Task) -> int:
        """The length of each of a task's tables."""
        return int(self._width[task.sequence] @ np.array(self.cards.counts(task.group)))

    def put_task(self, task: Task, own: F32, whole: F32) -> None:
        """Copy a task's table into that of the game. IN: float32[slot of the task]; IN OUT: float32[slot]."""
        for mine, rows, place in self._blocks(task, whole):
            rows[place] = own[mine].reshape(len(rows[place]), -1)

    def take_task(self, task: Task, whole: F32) -> F32:
        """A task's table, from that of the game: float32[slot of the task]."""
        own = np.zeros(self.slots(task), np.float32)
        for mine, rows, place in self._blocks(task, whole):
            own[mine] = rows[place].ravel()
        return own

    def _blocks(self, task: Task, whole: F32) -> Iterator[tuple[slice, F32, tuple[Any, slice]]]:
        """By street and player: a task's slots, all rows of the game's table, and the task's buckets and columns."""
        tree, nodes, layout = self.tree, self._nodes[task.sequence], self.layout(task)
        for street in range(1, tree.rules.rounds):
            for player in range(PLAYERS):
                width, here = int(layout.width[street, player]), self.whole.parts(player)[street]
                deciding = (tree.kind[nodes] == DECISION) & (tree.player[nodes] == player)
                chosen = nodes[deciding & (tree.street[nodes] == street)]
                if width:
                    first = int(self.whole.offset[chosen].min()) - here.start
                    place = self.cards.by_group[task.group][street], slice(first, first + width)
                    yield layout.parts(player)[street], whole[here].reshape(self.whole.buckets[street], -1), place

    def assemble(self, top: F32, tasks: Iterable[tuple[Task, Any]], whole: F32) -> None:
        """Fill a table of the game from the head's and those of all tasks, one after the other. OUT: float32[slot]."""
        whole[: len(top)] = top  # the first street comes first
        for task, own in tasks:
            self.put_task(task, own, whole)


def deal_tasks(cut: GameCut, parts: int) -> list[tuple[Task, ...]]:
    """The tasks of each part, by size: the largest task goes first, to the part with the fewest slots."""
    if not 1 <= parts <= len(cut.tasks):
        raise InputError(f"{parts} parts", remedy=f"use 1 to {len(cut.tasks)}: the game has that many tasks")
    sizes = {task: cut.slots(task) for task in cut.tasks}
    dealt: list[list[Task]] = [[] for _ in range(parts)]
    filled = np.zeros(parts, np.int64)
    for task in sorted(cut.tasks, key=sizes.__getitem__, reverse=True):
        part = int(np.argmin(filled))
        dealt[part].append(task)
        filled[part] += max(sizes[task], 1)
    return [tuple(sorted(tasks)) for tasks in dealt]
