"""A node of a solved strategy: its actions by hand if the board is known, else by bucket."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.cards.deck import Deck, hole_cards
from equipoise.cards.grid_html import decision_html, decision_text
from equipoise.cards.ranges import GRID
from equipoise.core.errors import InputError, shown
from equipoise.core.jit import F32, F64, I32
from equipoise.core.wording import counted
from equipoise.games.rules import GameRules
from equipoise.strategy.file import StrategyFile, load_strategy
from equipoise.tree.betting_tree import DECISION
from equipoise.tree.lines import action_names, find_line, line_of, path_to


@dataclass(frozen=True, eq=False)
class StrategyView:
    """A decision: `table` by bucket, and the arrays after it by hole if the board is known, else empty."""

    line: str
    street: str
    player: int
    actions: list[str]
    table: F32  # [bucket, action]
    board: tuple[int, ...]
    holes: I32  # those that can be held
    bucket: I32  # [hole]
    weight: F64  # [hole] the player's reach probability
    strategy: F64  # [action, hole]
    deck: Deck
    hole_cards: int
    seat: str  # of the player: the button, the big blind; `player 0` where both post the same

    @property
    def by_hole(self) -> bool:
        return len(self.holes) > 0

    @property
    def has_grid(self) -> bool:
        return self.by_hole and self.hole_cards == 2 and self.deck.size == 52

    @property
    def frequency(self) -> F64:
        """[action] its overall frequency: over holes by reach, or uniformly over buckets if the board is unknown."""
        if not self.by_hole:
            return np.asarray(self.table.mean(axis=0, dtype=np.float64))
        total = self.weight.sum()
        return np.asarray(self.strategy @ self.weight / total if total else self.strategy.mean(axis=1))

    def __repr__(self) -> str:
        return decision_text(self)

    _repr_html_ = decision_html

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each hole, or for each bucket if the board is unknown: the frequency of each action."""
        if not self.by_hole:
            listed = enumerate(self.table.tolist())
            return [{"bucket": bucket, **dict(zip(self.actions, row, strict=True))} for bucket, row in listed]
        return [
            {"hand": self.hole_text(i), "weight": float(self.weight[i]), "bucket": int(self.bucket[i]),
             **dict(zip(self.actions, self.strategy[:, i].tolist(), strict=True))}
            for i in range(len(self.holes))
        ]  # fmt: skip

    def hole_text(self, place: int) -> str:
        """The hole at a place of the arrays, high card first."""
        return self.deck.text(sorted(hole_cards(int(self.holes[place]), self.hole_cards), reverse=True))

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`: the buckets' table, or each hand (before the flop the 169 of the grid)."""
        found: dict[str, Any] = {
            "line": self.line,
            "street": self.street,
            "board": self.deck.text(self.board),
            "player": self.player,
            "actions": self.actions,
            "frequency": self.frequency.tolist(),
        }
        if not self.by_hole:
            return {**found, "buckets": self.table.tolist()}
        names = {self.hole_text(i): i for i in range(len(self.holes))}
        if self.has_grid and not self.board:
            place = {int(hole): i for i, hole in enumerate(self.holes)}
            names = {cell.name: place[cell.holes[0]] for cell in GRID}
        hands = {
            name: {
                "weight": float(self.weight[i]),
                "bucket": int(self.bucket[i]),
                "strategy": self.strategy[:, i].tolist(),
            }
            for name, i in names.items()
        }
        return {**found, "hands": hands}


def show_strategy(strategy: StrategyFile | str | Path, line: str = "", board: str = "") -> StrategyView:
    """A decision of a strategy (a value, or what `load_strategy` takes) after a line such as `raise 300, call`.

    With a board, by hand.
    """
    if not isinstance(strategy, StrategyFile):
        strategy = load_strategy(strategy)
    tree, rules = strategy.tree, strategy.rules
    node = find_line(tree, line)
    if tree.kind[node] != DECISION:
        raise InputError(f"nothing to decide after {shown(line, 80)}", remedy="end the line earlier")
    street, cards = int(tree.street[node]), rules.deck.read_cards(board)
    size = rules.board_size(street)
    if cards and len(cards) != size:
        raise InputError(f"a board of {counted(len(cards), 'card')}", remedy=f"{rules.street_name(street)} has {size}")
    player = int(tree.player[node])
    holes, bucket, weight, chances = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros((0, 0))
    if len(cards) == size:
        holes, bucket, weight, chances = _by_hole(strategy, node, cards)
    return StrategyView(
        line_of(tree, node), rules.street_name(street), player, action_names(tree, node), strategy.at(node),
        cards, holes, bucket, weight, chances, rules.deck, rules.hole_cards,
        _seat(rules, player),
    )  # fmt: skip


def _seat(rules: GameRules, player: int) -> str:
    if rules.blinds[0] == rules.blinds[1]:
        return f"player {player}"
    return "the button" if rules.blinds[player] == min(rules.blinds) else "the big blind"


def _by_hole(strategy: StrategyFile, node: int, board: tuple[int, ...]) -> tuple[I32, I32, F64, F64]:
    """Holes, their buckets, the reach of each by its own player, and the strategy [action, hole] of a node."""
    tree, rules = strategy.tree, strategy.rules
    street, player = int(tree.street[node]), int(tree.player[node])
    streets = range(street + 1)
    lossless = all(strategy.game.cards.streets[s].method == "lossless" for s in streets)
    buckets = BucketMap.lossless(rules) if lossless else strategy.buckets  # the first needs no building
    by_street = [buckets.buckets_of_board(s, board[: rules.board_size(s)]) for s in streets]
    holes = np.flatnonzero(by_street[street] >= 0).astype(np.int32)
    weight = np.ones(len(holes))
    for step in path_to(tree, node):
        above = int(tree.parent[step])
        if tree.player[above] == player:
            action = step - int(tree.first_child[above])
            weight *= strategy.at(above)[by_street[tree.street[above]][holes], action]
    bucket = by_street[street][holes]
    return holes, bucket, weight, strategy.at(node)[bucket].T.astype(np.float64)
