"""Bets in the language of desktop-postflop and WASM Postflop, and the betting tree that they give.

Sizes are `60` or `60%` (of the pot after calling), `2.5x` (of the bet that is raised), `100c` (chips), `100c2r` (only
for the first two raises of a street), `e`, `3e`, `2e200` (geometric: equal shares of the pot over the streets left, or
over a number of streets, up to a percentage) and `a` (all-in). A size outside the limits becomes the nearest legal one.
Then three thresholds apply: an all-in is added if it is at most that share of the pot; a bet becomes an all-in if the
stack behind is at most that share of the pot after a call; and of bets of similar size only the largest is kept.

These rules look at the pot and at the stack of each node, which a `BetMenu` does not; the tree is grown here in Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from equipoise.core.errors import InputError, shown
from equipoise.games.bet_menu import round_half_away
from equipoise.games.betting_state import CALL, FOLD
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.tree.betting_tree import DEAL, DECISION, FOLDED, SHOWDOWN, BettingTree, Root

LAST_STREET = 3
MOST_GROWN = 500_000  # nodes of a tree that is grown in Python
MOST_SIZES = 30  # in one list: that program's own limit
_NUMBER = r"(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})"
_SIZES = re.compile(
    rf"(?P<pot>{_NUMBER})%?|(?P<times>{_NUMBER})x|(?P<chips>\d{{1,9}})c(?:(?P<cap>\d{{1,3}})r)?"
    rf"|(?P<streets>\d{{1,3}})?e(?P<most>{_NUMBER})?|(?P<all_in>a)"
)
_EXAMPLE = "sizes are like 60%, 2.5x, 100c, e or a"
_ALMOST = 1 - 1e-12  # sizes exactly at the merging threshold are merged


@dataclass(frozen=True)
class Size:
    """A size: of the pot, of the bet raised, in chips, geometric, or all-in (without any of them)."""

    pot: float | None = None
    times: float | None = None
    chips: int | None = None
    raise_cap: int = 0  # of a size in chips: only this many raises of a street; 0: all
    streets: int | None = None  # of a geometric size; 0: those that are left
    most: float = np.inf  # share of the pot that a geometric size may reach


def read_sizes(text: str, *, raising: bool) -> tuple[Size, ...]:
    """The sizes of a text such as `60%, e, a`; those of a bet cannot refer to a bet before it."""
    parts, sizes = text.replace(",", " ").lower().split(), []
    if len(parts) > MOST_SIZES:
        raise InputError(f"{len(parts):,} bet sizes", remedy=f"use at most {MOST_SIZES}")
    for part in parts:
        found = _SIZES.fullmatch(part)
        if not found:
            raise InputError(f"bet size {shown(part)}", remedy=_EXAMPLE)
        if not raising and (found["times"] or found["cap"]):
            raise InputError(f"bet size {shown(part)}, which is for raises", remedy="write e.g. 60%, 100c, e or a")
        if found["times"] and float(found["times"]) <= 1:
            raise InputError(f"raise {shown(part)}", remedy="a raise is more than 1x the bet")
        sizes.append(_size(found))
    return tuple(sizes)


def _size(found: re.Match[str]) -> Size:
    if found["pot"]:
        return Size(pot=float(found["pot"]) / 100)
    if found["times"]:
        return Size(times=float(found["times"]))
    if found["chips"]:
        return Size(chips=int(found["chips"]), raise_cap=int(found["cap"] or 0))
    if found["all_in"]:
        return Size()
    return Size(streets=int(found["streets"] or 0), most=float(found["most"]) / 100 if found["most"] else np.inf)


@dataclass(frozen=True, slots=True)
class _Node:
    """A place in the betting while the tree grows; chips are in total, as in the tree."""

    kind: int
    player: int
    street: int
    chips: tuple[int, int]
    start: int  # chips of each player when the street began
    bets: int = 0  # on this street
    waiting: int = 2  # players who act before the street ends
    led_into: bool = False  # oop called the last bet of the street before: a bet of its own is a donk bet
    parent: int = -1
    action: int = CALL


@dataclass(frozen=True)
class PostflopBets:
    """Sizes by (street, player): of bets and raises, and oop's own into the last bettor (None: as any bet)."""

    bet: dict[tuple[int, int], tuple[Size, ...]]
    raises: dict[tuple[int, int], tuple[Size, ...]]
    donk: dict[int, tuple[Size, ...]] | None = None
    add_all_in: float = 0.0  # shares of the pot
    force_all_in: float = 0.0
    merge: float = 0.0
    name: str = field(default="", compare=False)

    def tree(self, rules: GameRules, root: Root, most_nodes: int) -> BettingTree:
        """The betting tree from a root on, numbered as by `build_tree`."""
        nodes = [_Node(DECISION, rules.first[root.street], root.street, (root.chips, root.chips), root.chips)]
        level, street_first, most = [0], [0] * (root.street + 1), min(most_nodes, MOST_GROWN)
        for _ in range(root.street, rules.rounds):
            deals: list[int] = []
            while level:
                deals += [i for i in level if nodes[i].kind == DEAL]
                first = len(nodes)
                for i in level:
                    if nodes[i].kind == DECISION:
                        nodes += [_child(i, nodes[i], a, rules) for a in self.actions(nodes[i], rules, root.dead)]
                    if len(nodes) > most:
                        raise InputError(f"a betting tree of over {most:,} nodes", remedy="use fewer sizes")
                level = list(range(first, len(nodes)))
            street_first.append(len(nodes))
            level = list(range(len(nodes), len(nodes) + len(deals)))
            nodes += [_opened(nodes[i], i, rules) for i in deals]
        return _arrays(nodes, rules, street_first)

    def actions(self, node: _Node, rules: GameRules, dead: int) -> list[int]:
        """Fold, call, then raises ascending, as totals."""
        facing = node.chips[0] != node.chips[1]
        found = [FOLD, CALL] if facing else [CALL]
        stack, most = min(rules.stacks), max(node.chips)
        if most >= stack:
            return found
        pot, bet, most_bet = 2 * most + dead, most - node.start, stack - node.start
        least = min(max(bet + most - min(node.chips), 1), most_bet)
        wanted = [self._amount(size, pot, bet, stack - most, node) for size in self._offered(node, facing)]
        if most_bet <= bet + round_half_away(pot * self.add_all_in):
            wanted.append(most_bet)
        legal = set()
        for amount in wanted:
            if amount is not None:
                clamped = min(max(amount, least), most_bet)
                behind = round_half_away((pot + 2 * (clamped - bet)) * self.force_all_in)
                legal.add(most_bet if most_bet <= clamped + behind else clamped)
        return found + [node.start + amount for amount in self._merged(sorted(legal), pot, bet)]

    def _offered(self, node: _Node, facing: bool) -> tuple[Size, ...]:
        if facing:
            return self.raises[node.street, node.player]
        if self.donk is not None and node.led_into and node.waiting == PLAYERS and node.street in self.donk:
            return self.donk[node.street]
        return self.bet[node.street, node.player]

    def _amount(self, size: Size, pot: int, bet: int, behind: int, node: _Node) -> int | None:
        """Chips on this street that a size asks for; None if it is not for this raise."""
        if size.pot is not None:
            return bet + round_half_away(pot * size.pot)
        if size.times is not None:
            return round_half_away(bet * size.times)
        if size.chips is not None:
            return bet + size.chips if not size.raise_cap or node.bets <= size.raise_cap else None
        if size.streets is None:
            return bet + behind
        streets = size.streets or LAST_STREET + 1 - node.street
        if node.bets:
            streets = max(streets - node.bets + 1, 1)
        share = ((2 * behind / pot + 1) ** (1 / streets) - 1) / 2
        return bet + round_half_away(pot * min(share, size.most))

    def _merged(self, amounts: list[int], pot: int, bet: int) -> list[int]:
        """The largest size, and every smaller one that differs enough from the last one kept."""
        kept: list[int] = []
        for amount in reversed(amounts):
            if kept:
                limit = ((kept[-1] - bet) / pot - self.merge) / (1 + self.merge)
                if (amount - bet) / pot >= limit * _ALMOST:
                    continue
            kept.append(amount)
        return kept[::-1]


def _child(parent: int, node: _Node, action: int, rules: GameRules) -> _Node:
    """The node after an action."""
    most = max(node.chips)
    after = replace(node, parent=parent, action=action, waiting=node.waiting - 1)
    if action == FOLD:
        return replace(after, kind=FOLDED)
    total = most if action == CALL else action
    chips = (total, node.chips[1]) if node.player == 0 else (node.chips[0], total)
    if action != CALL:
        return replace(after, chips=chips, player=1 - node.player, bets=node.bets + 1, waiting=1)
    if after.waiting:
        return replace(after, player=1 - node.player)
    last = node.street == rules.rounds - 1 or most >= min(rules.stacks)
    led = node.player == 0 and node.chips[0] < most
    return replace(after, chips=chips, kind=SHOWDOWN if last else DEAL, player=-1, led_into=led)


def _opened(deal: _Node, number: int, rules: GameRules) -> _Node:
    """The first decision of the street after a deal."""
    street = deal.street + 1
    return _Node(
        DECISION, rules.first[street], street, deal.chips, max(deal.chips), led_into=deal.led_into, parent=number
    )


def _arrays(nodes: list[_Node], rules: GameRules, street_first: list[int]) -> BettingTree:
    """The nodes as the arrays of a tree: children are neighbours, in the order in which they were made."""
    parent = np.array([node.parent for node in nodes], np.int32)
    children = np.bincount(parent[1:], minlength=len(nodes))
    first_child = np.full(len(nodes), -1, np.int32)
    first_child[parent[:0:-1]] = np.arange(len(nodes) - 1, 0, -1)  # the last write, the first child, wins
    columns: dict[str, Any] = {"kind": np.uint8, "player": np.int8, "street": np.uint8, "action": np.int32}
    arrays = {name: np.array([getattr(node, name) for node in nodes], kind) for name, kind in columns.items()}
    return BettingTree(
        rules, None, parent=parent, first_child=first_child, num_children=children.astype(np.uint8),
        chips=np.array([node.chips for node in nodes], np.int32), street_first=np.array(street_first, np.int64),
        **arrays,
    )  # fmt: skip
