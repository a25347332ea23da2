"""The betting tree as the walk runs it: nodes street by street, cut into groups of entries that fit the cache.

A street is walked once per board for all of its betting entries. Before the last street all entries form one group,
whose rows stay while the boards below are walked; on the last, groups are walked one after the other in the same
memory. A node's number in this order is its *place*; parents come before children. The opponent's reach is kept in
rows. A node below the walker's own decision shares its parent's row, so each walker has a numbering of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.jit import F64, I8, I32, I64, U8
from equipoise.games.rules import PLAYERS
from equipoise.tree.betting_tree import DEAL, FOLDED, SHOWDOWN, BettingTree
from equipoise.tree.infosets import table_rows

CACHE_BYTES = 1_400_000  # for the rows of a group of the last street


class Program(NamedTuple):
    """Arrays for kernels. Nodes are numbered as the walk meets them; `node` maps back to the tree."""

    node: I32  # [place]
    kind: U8  # [place]
    player: I8  # [place]
    first_child: I32  # [place] place of the first child; at a DEAL, of the entry on the next street
    num_children: U8  # [place]
    table_row: I32  # [place] a decision's first row in its player's table of the street
    locked: I32  # [place] where its strategy is fixed: 0 nowhere, -1 on all boards, n on board n - 1
    reach_row: I32  # [walker, place] within the group
    win: F64  # [walker, place] what win minus lose is multiplied by, at a showdown
    meet: F64  # [walker, place] what the reach met is multiplied by, at a terminal
    group_first: I32  # [group + 1] places
    street_groups: I32  # [street + 1] groups
    entries: I32  # [entry] places, group by group
    entry_deal: I32  # [entry] the place of the DEAL node it opens from; -1 at the root
    group_entries: I32  # [group + 1]
    showdowns: I32  # [terminal] places, group by group
    group_showdowns: I32  # [group + 1]
    folds: I32
    group_folds: I32
    deals: I32  # [deal] places, group by group
    group_deals: I32
    table_rows: I64  # [street, player]


@dataclass(frozen=True, eq=False)
class BettingProgram:
    """A program, and the sizes of its buffers."""

    tree: BettingTree
    arrays: Program
    reach_rows: tuple[int, ...]  # [street] the most of any group and walker
    value_rows: tuple[int, ...]  # [street]

    @property
    def place_of(self) -> I32:
        """[node of the tree] its place; -1 before the root street."""
        places = np.full(len(self.tree), -1, np.int32)
        places[self.arrays.node] = np.arange(len(self.arrays.node), dtype=np.int32)
        return places


@dataclass(frozen=True)
class Stakes:
    """Dead chips in the pot, and the rake."""

    dead: float = 0.0  # chips in the pot before the root, half counted as each player's
    rake: float = 0.0  # fraction of the pot
    rake_cap: float = np.inf

    def raked(self, pot: F64) -> F64:
        """The rake of a pot."""
        return np.minimum(pot * self.rake, self.rake_cap)


def compile_tree(
    tree: BettingTree, stakes: Stakes | None = None, locked: tuple[tuple[int, int], ...] = (), cache_rows: int = 10**9
) -> BettingProgram:
    """The program of a betting tree. A group of the last street has at most `cache_rows` rows, or one entry."""
    stakes = stakes or Stakes()
    order, groups, street_groups = _order(tree, cache_rows)
    place = np.full(len(tree), -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    kind, parent = tree.kind[order], tree.parent[order]
    entry = (parent < 0) | (tree.kind[np.maximum(parent, 0)] == DEAL)
    reach_row = _reach_rows(tree, order, place, groups, entry)
    row, rows = table_rows(tree)
    win, meet = _terminal_values(tree, order, stakes)
    group_of = np.repeat(np.arange(len(groups) - 1), np.diff(groups))
    listed: dict[str, Any] = {}
    for name, chosen in (
        ("entries", entry),
        ("showdowns", kind == SHOWDOWN),
        ("folds", kind == FOLDED),
        ("deals", kind == DEAL),
    ):
        listed[name] = np.flatnonzero(chosen).astype(np.int32)
        counts = np.bincount(group_of[chosen], minlength=len(groups) - 1)
        listed[f"group_{name}"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    entry_parents = parent[entry]
    arrays = Program(
        node=order.astype(np.int32),
        kind=kind,
        player=tree.player[order],
        first_child=np.where(tree.first_child[order] >= 0, place[tree.first_child[order]], -1).astype(np.int32),
        num_children=tree.num_children[order],
        table_row=row[order],
        locked=_locks(place, locked),
        reach_row=reach_row,
        win=win,
        meet=meet,
        group_first=groups.astype(np.int32),
        street_groups=street_groups.astype(np.int32),
        entry_deal=np.where(entry_parents >= 0, place[np.maximum(entry_parents, 0)], -1).astype(np.int32),
        table_rows=rows,
        **listed,
    )
    reach_rows, value_rows = [], []
    for street in range(tree.rules.rounds):
        here = range(int(street_groups[street]), int(street_groups[street + 1]))
        value_rows.append(max((int(groups[g + 1] - groups[g]) for g in here), default=0))
        reach_rows.append(max((int(reach_row[:, groups[g] : groups[g + 1]].max()) + 1 for g in here), default=0))
    return BettingProgram(tree, arrays, tuple(reach_rows), tuple(value_rows))


def _locks(place: I32, locked: tuple[tuple[int, int], ...]) -> I32:
    found = np.zeros(int(place.max()) + 1, np.int32)
    for node, board in locked:
        found[place[node]] = board + 1 if board >= 0 else -1
    return found


def _order(tree: BettingTree, cache_rows: int) -> tuple[I64, I64, I64]:
    """The nodes in walking order, where groups start, and where streets start among the groups."""
    order: list[Any] = []
    groups, street_groups = [0], [0]
    last = tree.rules.rounds - 1
    for street in range(tree.rules.rounds):
        first, end = int(tree.street_first[street]), int(tree.street_first[street + 1])
        if end > first:
            nodes = np.arange(first, end)
            if street < last:
                order.append(nodes)
                groups.append(groups[-1] + len(nodes))
            else:
                for chosen in _cut(tree, nodes, cache_rows):
                    order.append(nodes[chosen])
                    groups.append(groups[-1] + int(chosen.sum()))
        street_groups.append(len(groups) - 1)
    return np.concatenate(order), np.array(groups), np.array(street_groups)


def _cut(tree: BettingTree, nodes: I64, cache_rows: int) -> list[Any]:
    """Which nodes of the last street belong to each group: whole entries, as many as the cache holds."""
    first = nodes[0]
    entry = np.zeros(len(nodes), np.int64)  # of each node, which entry it is below
    opens = (tree.parent[nodes] < 0) | (tree.kind[np.maximum(tree.parent[nodes], 0)] == DEAL)
    entry[opens] = np.arange(opens.sum())
    for i in np.flatnonzero(~opens):
        entry[i] = entry[tree.parent[nodes[i]] - first]
    sizes = np.bincount(entry) * 1.5  # values, and reach for about half
    group, filled = np.zeros(len(sizes), np.int64), 0.0
    for e in range(1, len(sizes)):
        filled += sizes[e - 1]
        group[e] = group[e - 1]
        if filled + sizes[e] > cache_rows:
            group[e] += 1
            filled = 0.0
    return [group[entry] == g for g in range(int(group[-1]) + 1)]


def _reach_rows(tree: BettingTree, order: I64, place: I32, groups: I64, entry: Any) -> I32:
    rows = np.zeros((PLAYERS, len(order)), np.int32)
    for walker in range(PLAYERS):
        for group in range(len(groups) - 1):
            fresh = 0
            for i in range(int(groups[group]), int(groups[group + 1])):
                above = int(tree.parent[order[i]])
                if entry[i] or tree.player[above] != walker:
                    rows[walker, i] = fresh
                    fresh += 1
                else:
                    rows[walker, i] = rows[walker, place[above]]
    return rows


def _terminal_values(tree: BettingTree, order: I64, stakes: Stakes) -> tuple[F64, F64]:
    """By walker: the factors of win minus lose and of the reach met."""
    chips = tree.chips[order].min(axis=1) + stakes.dead / 2
    raked = stakes.raked(2 * chips)
    win = np.zeros((PLAYERS, len(order)))
    meet = np.zeros((PLAYERS, len(order)))
    showdown, folded = tree.kind[order] == SHOWDOWN, tree.kind[order] == FOLDED
    for walker in range(PLAYERS):
        # win chips - rake, tie -rake / 2, lose chips: (chips - rake / 2) x (win - lose) - rake / 2 x (all)
        win[walker, showdown] = (chips - raked / 2)[showdown]
        meet[walker, showdown] = (-raked / 2)[showdown]
        meet[walker, folded] = np.where(tree.player[order] == walker, -chips, chips - raked)[folded]
    return win, meet
