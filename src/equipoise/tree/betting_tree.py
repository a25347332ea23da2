"""The flat betting tree of any rules and any bet menu.

A struct of arrays, without cards. Nodes are numbered street by street, and level by level within a street: a street is
one slice, parents come before children, and the children of a node are contiguous. A call that ends a street leads to a
DEAL node, whose one child opens the next street. A call of an all-in leads directly to a SHOWDOWN, on any street, whose
board is still to be completed. `BettingState` is the slow twin in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.arrays import Int
from equipoise.core.errors import InputError
from equipoise.core.jit import F64, I8, I32, I64, U8, inlined, kernel
from equipoise.core.machine import available_memory
from equipoise.core.wording import size_text
from equipoise.games.bet_menu import ALL_IN, LEVELS, MIN, BetMenu, load_menu
from equipoise.games.betting_state import CALL, FOLD, BettingState
from equipoise.games.gamedef import as_game
from equipoise.games.rules import PLAYERS, GameRules

DECISION, FOLDED, SHOWDOWN, DEAL = 0, 1, 2, 3
MOST_NODES = 2**31 - 1
MOST_ACTIONS = 2 + 64
SMALL = 1 << 16  # nodes of a tree that is built without counting them first
BYTES_A_NODE = 64  # of the tree while it is built; later of the tree, its offsets and a solver's records

# columns of a betting state in kernels, for building the tree and for playing a hand
KIND, PLAYER, SPENT, RAISES, WAITING, MIN_RAISE = 0, 1, 2, 4, 5, 6  # spent: one column a player
COLUMNS = 7
_LAST_LEVEL = len(LEVELS) - 1


class BettingPlan(NamedTuple):
    """Rules and menu as arrays, for the kernels."""

    limit: bool
    stack: int
    big_blind: int
    last_street: int
    first: I32  # [street]
    raise_size: I32  # [street]
    max_raises: I32  # [street] the smaller of the rules' and the menu's cap
    size_first: I32  # [street, player, level]
    size_count: I32  # [street, player, level]
    fraction: F64  # [size] of the pot; 0 for min, infinite for all-in
    dead: int  # chips in the pot beyond the players'
    threshold: float  # a raise to a total of at least this is all-in


@dataclass(frozen=True, eq=False)
class BettingTree:
    """A betting tree. All arrays are by node."""

    rules: GameRules
    menu: BetMenu | None
    kind: U8  # DECISION, FOLDED, SHOWDOWN or DEAL
    player: I8  # who acts; at FOLDED who folded; else -1
    street: U8
    parent: I32  # -1 at the root
    first_child: I32
    num_children: U8
    action: I32  # the action that led here: FOLD, CALL or the total raised to; at a street's first node CALL
    chips: I32  # [node, player] put in so far
    street_first: I64  # [street + 1] the first node of each street

    def __len__(self) -> int:
        return len(self.kind)

    def __repr__(self) -> str:
        menu = f", menu {self.menu.name or 'unnamed'}" if self.menu else ""
        return f"BettingTree({self.rules.name or 'unnamed'}{menu}: {len(self):,} nodes)"

    @cached_property
    def entries(self) -> list[I32]:
        """The nodes at which each street opens, by street."""
        opens = np.concatenate([[0], self.first_child[self.kind == DEAL]]).astype(np.int32)
        return [opens[self.street[opens] == street] for street in range(self.rules.rounds)]

    def count(self, kind: int) -> list[int]:
        """The number of nodes of a kind on each street."""
        return [
            int((self.kind[self.street_first[s] : self.street_first[s + 1]] == kind).sum())
            for s in range(self.rules.rounds)
        ]

    def actions_by_street(self) -> list[int]:
        """The total number of actions of all decision nodes of each street."""
        decisions = np.where(self.kind == DECISION, self.num_children, 0)
        return [int(decisions[self.street_first[s] : self.street_first[s + 1]].sum()) for s in range(self.rules.rounds)]

    def children(self, node: int) -> range:
        """The nodes that a node's actions lead to, DEAL nodes included."""
        first = int(self.first_child[node])
        return range(first, first + int(self.num_children[node]))

    def state(self, node: int) -> BettingState:
        """The betting state of a decision or terminal node (at a DEAL node, that of the street it opens)."""
        actions = []
        while node > 0:
            if self.kind[self.parent[node]] != DEAL:
                actions.append(int(self.action[node]))
            node = int(self.parent[node])
        state = BettingState.start(self.rules)
        for action in reversed(actions):
            state = state.apply(action)
        return state

    def find(self, state: BettingState) -> int:
        """The node of a betting state; all its actions must be in the tree."""
        node = 0
        for actions in state.rounds:
            for action in actions:
                node = self._step(node, action)
        return node

    def child(self, node: int, action: int) -> int | None:
        """The node that an action leads to, through a deal; None if the tree does not have it."""
        for child in self.children(node):
            if self.action[child] == action:
                return int(self.first_child[child]) if self.kind[child] == DEAL else child
        return None

    def _step(self, node: int, action: int) -> int:
        child = self.child(node, action)
        if child is not None:
            return child
        offered = ", ".join(str(int(self.action[child])) for child in self.children(node))
        raise InputError(f"action {action} is not in the tree", remedy=f"offered here: {offered}")


def first_decisions(tree: BettingTree) -> U8:
    """[node] 1 where its player has not acted before in the hand, else 0."""
    first = np.zeros(len(tree), np.uint8)
    find_first_decisions(tree.parent, tree.kind, tree.player, np.zeros(len(tree), np.uint8), first)
    return first


@kernel
def find_first_decisions(parent: I32, kind: U8, player: I8, acted: U8, first: U8) -> None:
    """IN: by node, parents before children; scratch: uint8[node] who has acted, a bit each; OUT: uint8[node]."""
    for node in range(parent.size):
        above = parent[node]
        if above >= 0:
            by = np.uint8(1) << np.uint8(player[above]) if kind[above] == DECISION else np.uint8(0)
            acted[node] = acted[above] | by
        if kind[node] == DECISION:
            first[node] = 1 - ((acted[node] >> np.uint8(player[node])) & np.uint8(1))


@dataclass(frozen=True)
class Root:
    """The start of a tree in the middle of a hand: a street, the chips of each player, and dead chips in the pot."""

    street: int
    chips: int
    dead: int = 0


def build_tree(
    game: GameRules | str,
    menu: BetMenu | str | None = None,
    root: Root | None = None,
    most_nodes: int = MOST_NODES,
    line: Sequence[int] = (),
) -> BettingTree:
    """The betting tree of a game; a no-limit game needs a menu. Both may be names or files.

    A tree that has more than `most_nodes` nodes or does not fit into memory is refused before memory is taken for it.
    `line` is a line of actions on the root's street: those that the menu lacks are added, there and nowhere else. Such
    a tree is a small one.
    """
    rules = as_game(game)
    menu = load_menu(menu, rules) if isinstance(menu, str) else menu
    if menu is None and not rules.limit:
        raise InputError("a no-limit tree needs a bet menu", remedy="give one, e.g. standard")
    plan = betting_plan(rules, menu.for_rules(rules) if menu and not rules.limit else None, root)
    growth = _Growth(rules, root, min(SMALL, most_nodes), line)
    if not growth.finish(plan):
        if line:
            raise InputError(f"a betting tree of over {min(SMALL, most_nodes):,} nodes", remedy="use fewer sizes")
        growth = _Growth(rules, root, _check_size(rules, plan, root, most_nodes))
        growth.finish(plan)
    return growth.tree(rules, None if rules.limit else menu)


def _check_size(rules: GameRules, plan: BettingPlan, root: Root | None, most_nodes: int) -> int:
    """The number of nodes of the tree, checked against the limit and the free memory."""
    free = available_memory()
    fitting = free // BYTES_A_NODE
    nodes = count_nodes(rules, plan, root, min(most_nodes, fitting))
    if nodes > most_nodes:
        raise InputError(f"a betting tree of over {most_nodes:,} nodes", remedy="use fewer sizes or a cap")
    if nodes > fitting:
        raise InputError(
            f"a betting tree of over {fitting:,} nodes does not fit into the {size_text(free)} that is free",
            remedy="use fewer sizes or a cap",
        )
    return nodes


def count_nodes(rules: GameRules, plan: BettingPlan, root: Root | None = None, enough: int = MOST_NODES) -> int:
    """The number of nodes of a tree, without building it; counting stops above `enough`.

    States with the same continuations are counted together: a level of a tree of billions of nodes has some 100,000
    different ones. Counts are floats, exact up to 2^53.
    """
    street, level = _first_level(rules, root)
    times, nodes = np.ones(1), 1.0
    while len(level) and nodes <= enough:
        entered: list[tuple[I32, F64]] = []  # the states that end the street, and how often
        depth = 0
        while len(level):
            merge_alike(level, street, plan, np.empty(MOST_ACTIONS, np.int32))
            level, times, depth = *_merged(level, times, depth), depth + 1
            counts = np.zeros(len(level), np.int64)
            count_children(level, street, plan, np.empty(MOST_ACTIONS, np.int32), counts)
            nodes += float(counts @ times)
            if nodes > enough:
                break
            below, _, parent = _children(level, street, 0, plan, int(counts.sum()))
            times = times[parent]
            ended, more = below[:, KIND] == DEAL, below[:, KIND] == DECISION
            entered.append((below[ended], times[ended]))
            level, times = below[more], times[more]
        street += 1
        level = _opened(np.concatenate([states for states, _ in entered]), street, plan) if entered else level[:0]
        times = np.concatenate([times for _, times in entered]) if entered else times[:0]
        nodes += float(times.sum())
    return int(min(nodes, 2**62))


def prune(tree: BettingTree, gone: Any) -> BettingTree:
    """A tree without some nodes (bool[node]) and everything below them; every decision must keep an action."""
    above = np.maximum(tree.parent, 0)
    gone = gone & (tree.parent >= 0)
    while (more := gone | gone[above]).sum() > gone.sum():
        gone = more
    kept = np.flatnonzero(~gone)
    number = np.cumsum(~gone) - 1
    parent = np.where(tree.parent[kept] >= 0, number[above[kept]], -1).astype(np.int32)
    children = np.bincount(parent[1:], minlength=len(kept))
    first_child = np.full(len(kept), -1, np.int32)
    first_child[parent[:0:-1]] = np.arange(len(kept) - 1, 0, -1)  # the last write, the first child, wins
    arrays = {name: getattr(tree, name)[kept] for name in ("kind", "player", "street", "action", "chips")}
    street_first = np.searchsorted(kept, tree.street_first).astype(np.int64)
    return replace(
        tree, parent=parent, first_child=first_child, num_children=children.astype(np.uint8),
        street_first=street_first, **arrays,
    )  # fmt: skip


def betting_plan(rules: GameRules, menu: BetMenu | None = None, root: Root | None = None) -> BettingPlan:
    """Rules and menu as arrays; without a menu there are no sizes to choose from in a no-limit game."""
    fractions: list[float] = []
    first = np.zeros((rules.rounds, PLAYERS, len(LEVELS)), np.int32)
    count = np.zeros((rules.rounds, PLAYERS, len(LEVELS)), np.int32)
    for street, players in enumerate(menu.sizes if menu else ()):
        for player, levels in enumerate(players):
            for level, sizes in enumerate(levels):
                first[street, player, level], count[street, player, level] = len(fractions), len(sizes)
                fractions.extend({ALL_IN: np.inf, MIN: 0.0}[size] if isinstance(size, str) else size for size in sizes)
    stack, chips = min(rules.stacks), root.chips if root else 0
    return BettingPlan(
        limit=rules.limit,
        stack=stack,
        big_blind=rules.big_blind,
        last_street=rules.rounds - 1,
        first=np.array(rules.first, np.int32),
        raise_size=np.array(rules.raise_sizes or (0,) * rules.rounds, np.int32),
        max_raises=np.minimum(rules.max_raises, menu.caps if menu else rules.max_raises).astype(np.int32),
        size_first=first,
        size_count=count,
        fraction=np.array([*fractions, 0.0]),
        dead=root.dead if root else 0,
        threshold=chips + (menu.all_in_threshold if menu else 1.0) * (stack - chips),
    )


def _first_level(rules: GameRules, root: Root | None) -> tuple[int, I32]:
    """The street and the betting state, one row, that a tree starts with."""
    street = root.street if root else 0
    spent = (root.chips, root.chips) if root else rules.blinds
    least = root.chips + rules.big_blind if root else 2 * rules.big_blind
    return street, np.array([[DECISION, rules.first[street], *spent, 0, 2, least]], np.int32)


def _opened(ended: I32, street: int, plan: BettingPlan) -> I32:
    """The states that open a street, from those that ended the one before."""
    states = ended.copy()
    states[:, KIND] = DECISION
    states[:, PLAYER] = plan.first[min(street, plan.last_street)]
    states[:, RAISES] = 0
    states[:, WAITING] = 2
    states[:, MIN_RAISE] = states[:, SPENT : SPENT + 2].max(axis=1) + plan.big_blind
    return states


def _children(level: I32, street: int, first_node: int, plan: BettingPlan, count: int) -> tuple[I32, I32, I32]:
    """The states below those of a level, the actions that lead there, and the numbers of their parents."""
    below, action, parent = np.empty((count, COLUMNS), np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    write_children(level, street, first_node, plan, np.empty(MOST_ACTIONS, np.int32), below, action, parent)
    return below, action, parent


def _merged(level: I32, times: F64, depth: int) -> tuple[I32, F64]:
    """Each state of a level once, and how often it comes.

    A state's key has 29 bits for the most that is in and 29 for the smallest raise (see `rules.MOST_CHIPS`). At one
    depth of a street all states have the same number of raises, or one less after a check.
    """
    most = level[:, SPENT : SPENT + 2].max(axis=1).astype(np.int64)
    facing = level[:, SPENT] != level[:, SPENT + 1]
    key = (most << 29) | level[:, MIN_RAISE]
    for bit in (facing, level[:, PLAYER], level[:, WAITING] - 1, depth - level[:, RAISES]):
        key = (key << 1) | bit
    _, first, same = np.unique(key, return_index=True, return_inverse=True)
    return level[first], np.asarray(np.bincount(same.ravel(), times), np.float64)


class _Growth:
    """A tree of at most `most` nodes under construction: the finished nodes, and the level to expand next."""

    def __init__(self, rules: GameRules, root: Root | None, most: int, line: Sequence[int] = ()) -> None:
        self.street, self.level = _first_level(rules, root)
        self.rules = rules
        self.line, self.line_row = list(line), 0  # the actions to come, from this row of the level
        self.level_action = np.zeros(1, np.int32)
        self.level_parent = np.full(1, -1, np.int32)
        self.nodes = 0
        self.street_first = [0] * (self.street + 1)
        types = {"kind": np.uint8, "player": np.int8, "street": np.uint8, "num_children": np.uint8}
        by_node = ("kind", "player", "street", "parent", "first_child", "num_children", "action")
        self.arrays: dict[str, Any] = {name: np.empty(most, types.get(name, np.int32)) for name in by_node}
        self.arrays["chips"] = np.empty((most, PLAYERS), np.int32)
        self.deals: list[tuple[I32, I32]] = []  # of this street: node numbers and their states

    def finish(self, plan: BettingPlan) -> bool:
        """Grow the whole tree; False as soon as it turns out to have too many nodes."""
        while len(self.level):
            if not self._grow(plan):
                return False
        return True

    def _grow(self, plan: BettingPlan) -> bool:
        """Finish the current level and make the next one, of this street or, when it is complete, of the next."""
        level, size = self.level, len(self.level)
        counts = np.zeros(size, np.int64)
        count_children(level, self.street, plan, np.empty(MOST_ACTIONS, np.int32), counts)
        added = self._missing_of_line(plan) if self.line else None
        if added:
            counts[self.line_row] += 1
        ends = np.cumsum(counts)
        below = self.nodes + size
        if below + int(ends[-1]) > len(self.arrays["kind"]):
            return False
        finished = {
            "kind": level[:, KIND],
            "player": level[:, PLAYER],
            "street": self.street,
            "parent": self.level_parent,
            "first_child": np.where(counts > 0, below + ends - counts, -1),
            "num_children": counts,
            "action": self.level_action,
            "chips": level[:, SPENT : SPENT + PLAYERS],
        }
        for name, values in finished.items():
            self.arrays[name][self.nodes : below] = values
        deals = np.flatnonzero(level[:, KIND] == DEAL)
        self.deals.append(((self.nodes + deals).astype(np.int32), level[deals]))
        count = int(ends[-1]) - (added is not None)
        children = _children(level, self.street, self.nodes, plan, count)
        if self.line:
            row = self.line_row
            first, last = int(ends[row] - counts[row]), int(ends[row]) - (added is not None)
            at = first + int(np.searchsorted(children[1][first:last], self.line[0]))
            if added:
                states, actions, parents = children
                children = (
                    np.insert(states, at, added[0], axis=0),
                    np.insert(actions, at, added[1]),
                    np.insert(parents, at, added[2]),
                )
            goes_on = children[0][at, KIND] == DECISION
            self.line, self.line_row = self.line[1:] if goes_on else [], at
        self.level, self.level_action, self.level_parent = children
        self.nodes = below
        if not len(self.level):
            self._open_next_street(plan)
        return True

    def _missing_of_line(self, plan: BettingPlan) -> tuple[I32, I32, I32] | None:
        """The child that the line leads to, as one row, where the menu lacks it."""
        level, action = self.level[self.line_row : self.line_row + 1], self.line[0]
        count = np.zeros(1, np.int64)
        count_children(level, self.street, plan, np.empty(MOST_ACTIONS, np.int32), count)
        if action in _children(level, self.street, 0, plan, int(count[0]))[1]:
            return None
        most = int(level[0, SPENT : SPENT + PLAYERS].max())
        plan = plan._replace(
            max_raises=np.array(self.rules.max_raises, np.int32),
            size_first=np.zeros_like(plan.size_first),
            size_count=np.ones_like(plan.size_count),
            fraction=np.array([(action - most) / (2.0 * most + plan.dead), 0.0]),
            threshold=float(plan.stack),
        )
        count_children(level, self.street, plan, np.empty(MOST_ACTIONS, np.int32), count)
        below, actions, parent = _children(level, self.street, self.nodes + self.line_row, plan, int(count[0]))
        if actions[-1] != action:
            raise InputError(f"a line with {action}, which is illegal", remedy="give actions of a hand")
        return below[-1:], actions[-1:], parent[-1:]

    def _open_next_street(self, plan: BettingPlan) -> None:
        self.street += 1
        self.street_first.append(self.nodes)
        self.level = _opened(np.concatenate([states for _, states in self.deals]), self.street, plan)
        self.level_parent = np.concatenate([nodes for nodes, _ in self.deals])
        self.level_action = np.full(len(self.level), CALL, np.int32)
        opened = np.arange(self.nodes, self.nodes + len(self.level))
        self.arrays["first_child"][self.level_parent] = opened
        self.arrays["num_children"][self.level_parent] = 1
        self.deals = []

    def tree(self, rules: GameRules, menu: BetMenu | None) -> BettingTree:
        first = self.street_first + [self.nodes] * (rules.rounds + 1 - len(self.street_first))
        arrays = self.arrays
        if self.nodes < len(arrays["kind"]):
            arrays = {name: values[: self.nodes].copy() for name, values in arrays.items()}
        return BettingTree(rules, menu, street_first=np.array(first, np.int64), **arrays)


@inlined
def _list_actions(node: I32, street: int, plan: BettingPlan, actions: I32) -> int:
    """The actions of a decision node, fold, call, then raises ascending. OUT: int32[action]; returns how many."""
    player = node[PLAYER]
    spent, opposing = node[SPENT + player], node[SPENT + 1 - player]
    most = max(spent, opposing)
    count = 0
    if spent < most:
        actions[0] = FOLD
        count = 1
    actions[count] = CALL
    count += 1
    if node[RAISES] >= plan.max_raises[street] or most >= plan.stack:
        return count
    if plan.limit:
        actions[count] = min(most + plan.raise_size[street], plan.stack)
        return count + 1
    level = min(node[RAISES], _LAST_LEVEL)
    least = min(node[MIN_RAISE], plan.stack)
    raises = count
    for i in range(plan.size_count[street, player, level]):
        fraction = plan.fraction[plan.size_first[street, player, level] + i]
        wanted = most + np.floor(
            fraction * (2.0 * most + plan.dead) + 0.5
        )  # a float: a huge fraction must not wrap around
        if fraction == 0.0:
            total = least
        elif wanted >= plan.threshold:
            total = plan.stack
        else:
            total = np.int32(wanted)
        if total >= least:
            count = _insert(total, raises, count, actions)
    return count


@inlined
def _insert(total: int, start: int, count: int, actions: I32) -> int:
    """Insert a raise in order among those from `start`, unless it is already there; returns the new count."""
    place = count
    while place > start and actions[place - 1] >= total:
        place -= 1
    if place < count and actions[place] == total:
        return count
    for i in range(count, place, -1):
        actions[i] = actions[i - 1]
    actions[place] = total
    return count + 1


@kernel
def merge_alike(level: I32, street: int, plan: BettingPlan, actions: I32) -> None:
    """Give decisions with the same continuations the same state.

    What the player to act has put in does not matter once there is something to call. Nor does the minimum raise,
    but for which raises it allows, where a call ends the street: after a raise, the next minimum comes from that raise.
    IN OUT: int32[node, column], decisions only; scratch: int32[action].
    """
    for i in range(level.shape[0]):
        node = level[i]
        player = node[PLAYER]
        node[MIN_RAISE] = min(node[MIN_RAISE], plan.stack)
        if node[SPENT + player] < node[SPENT + 1 - player]:
            if node[WAITING] == 1:
                count = _list_actions(node, street, plan, actions)
                node[MIN_RAISE] = actions[2] if count > 2 else 0
            node[SPENT + player] = 0


@kernel
def count_children(level: I32, street: int, plan: BettingPlan, actions: I32, counts: I64) -> None:
    """IN: int32[node, column]; scratch: int32[action]; OUT: int64[node], 0 where the node is no decision."""
    for i in range(level.shape[0]):
        if level[i, KIND] == DECISION:
            counts[i] = _list_actions(level[i], street, plan, actions)


@kernel
def write_children(
    level: I32,
    street: int,
    first_node: int,
    plan: BettingPlan,
    actions: I32,
    below: I32,
    below_action: I32,
    below_parent: I32,
) -> None:
    """IN: int32[node, column]; scratch: int32[action]; OUT: int32[child, column], int32[child], int32[child]."""
    at = 0
    for i in range(level.shape[0]):
        if level[i, KIND] != DECISION:
            continue
        for action in actions[: _list_actions(level[i], street, plan, actions)]:
            child = below[at]
            for column in range(child.size):
                child[column] = level[i, column]
            take(action, street, plan, child)
            below_action[at] = action
            below_parent[at] = first_node + i
            at += 1


@inlined
def take(action: Int, street: Int, plan: BettingPlan, node: I32) -> None:
    """Turn a betting state into that after an action. IN OUT: int32[column]."""
    player = node[PLAYER]
    most = max(node[SPENT], node[SPENT + 1])
    if action == FOLD:
        node[KIND] = FOLDED
    elif action == CALL:
        node[SPENT + player] = most
        node[PLAYER] = 1 - player
        node[WAITING] -= 1
        if node[WAITING] == 0:
            node[KIND] = SHOWDOWN if street == plan.last_street or most >= plan.stack else DEAL
            node[PLAYER] = -1
    else:
        node[MIN_RAISE] = max(node[MIN_RAISE], 2 * action - most)
        node[SPENT + player] = action
        node[PLAYER] = 1 - player
        node[WAITING] = 1
        node[RAISES] += 1
