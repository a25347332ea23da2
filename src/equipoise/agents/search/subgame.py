"""A subgame: the rest of a hand from the start of a street, solved with all holes kept apart.

Its root is public: the board, the chips that each player has put in, and both players' ranges. The vector engine
(`walk/engine.py`) solves it to the end of the hand. The betting has the menu's bets, and the bets of the hand that the
menu lacks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from math import ceil, inf
from typing import Any, TypeAlias

import numpy as np

from equipoise.cards.symmetry import hole_card_table, renamed_cards, renamed_holes, renamings_that_keep
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, F64, I32, I64
from equipoise.core.machine import available_memory
from equipoise.core.wording import size_text
from equipoise.games.bet_menu import BetMenu
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.solvers.vector_cfr import RootRule, VectorCFR
from equipoise.tree.betting_tree import BettingTree, Root, build_tree
from equipoise.tree.boards import PublicCards, deal_boards
from equipoise.walk.engine import Engine
from equipoise.walk.regret_matching import strategy_rows

VARIANT = "steep"
FLOOR = 1e-3  # the least weight of a hole in a range whose largest weight is 1
LEAST_ITERATIONS = 8  # a solve that is stopped before has failed
MOST_NODES = 20_000
LARGE = 100_000_000  # bytes of tables that are compared with the free memory


@dataclass(frozen=True, eq=False)
class SubgameRoot:
    """Where a subgame starts: a board, the chips of each player, and the ranges of both."""

    rules: GameRules
    street: int
    board: tuple[int, ...]
    chips: int
    ranges: F64  # [player, hole] up to a factor a player

    def weights(self) -> tuple[F64, F64]:
        """The ranges that the solver uses: every hole that the board allows has some weight.

        Nobody knows that an opponent plays as expected. A range that is impossible (all zero) becomes uniform.
        """
        live = free_holes(self.rules, self.board)
        first, second = (_with_floor(weights * live) * live for weights in self.ranges)
        return first, second


def _with_floor(weights: F64) -> F64:
    most = weights.max()
    return FLOOR + (1 - FLOOR) * weights / most if most > 0 else np.ones_like(weights)


def free_holes(rules: GameRules, board: tuple[int, ...]) -> Any:
    """[hole] whether the board leaves it possible."""
    return ~np.isin(hole_card_table(rules.deck, rules.hole_cards), board).any(axis=1)


@lru_cache(64)
def subgame_tree(rules: GameRules, menu: BetMenu | None, root: Root, line: tuple[int, ...] = ()) -> BettingTree:
    """The betting from a root; actions of `line` are added where the menu lacks them."""
    return build_tree(rules, menu, root, MOST_NODES, line)


class OutOfTimeError(Exception):
    """A solve had too little time for any sensible strategy."""


@dataclass(frozen=True, eq=False)
class Subgame:
    """A solved subgame: the average strategy of both players at every decision."""

    tree: BettingTree
    cards: PublicCards
    table_first: I64  # [board, player]
    table_row: I32  # [node]
    average: F32
    iterations: int

    @cached_property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return int(self.average.nbytes + sum(part.nbytes for part in self.cards.arrays))

    @cached_property
    def _board_numbers(self) -> dict[tuple[int, ...], int]:
        return {self._by_deal(board): number for number, board in enumerate(self.cards.cards)}

    def _by_deal(self, board: tuple[int, ...]) -> tuple[int, ...]:
        """A board with the cards of each deal in order."""
        rules = self.cards.rules
        ends = [0, *(rules.board_size(street) for street in range(rules.rounds))]
        return tuple(card for start, end in pairwise(ends) for card in sorted(board[start:end]))

    def rows(self, node: int, board: tuple[int, ...]) -> F64:
        """[action, hole] the probabilities at a decision; 0 where the board blocks the hole."""
        rules, number, renaming = self.cards.rules, self._board_numbers.get(self._by_deal(board)), None
        if number is None:
            number, renaming = self._mirror_image(board)
        player, actions = int(self.tree.player[node]), int(self.tree.num_children[node])
        holes: Any = self.cards.holes(number, player)
        start = int(self.table_first[number, player]) + int(self.table_row[node]) * len(holes)
        stored = self.average[start : start + actions * len(holes)].reshape(actions, len(holes))
        rows = np.zeros((actions, rules.deck.holes(rules.hole_cards)))
        if renaming is not None:
            holes = np.argsort(renamed_holes(rules.deck, rules.hole_cards, renaming))[holes]
        rows[:, holes] = strategy_rows(stored)
        return np.asarray(rows / np.maximum(rows.sum(axis=0), 1e-30))

    def _mirror_image(self, board: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The board that was solved in place of an isomorphic one, and the renaming of suits that leads there."""
        rules, root = self.cards.rules, self.cards.cards[0]
        for renaming in renamings_that_keep(rules.deck, rules.hole_cards, self.cards.weights, root):
            become = renamed_cards(rules.deck, renaming)
            image = (*root, *(become[card] for card in board[len(root) :]))
            if (number := self._board_numbers.get(self._by_deal(image))) is not None:
                return number, renaming
        raise KeyError(board)


MakeRule: TypeAlias = Callable[[PublicCards], RootRule | None]
MakeRegrets: TypeAlias = Callable[[Engine], F32 | None]


def solve_subgame(
    root: SubgameRoot,
    menu: BetMenu | None,
    line: tuple[int, ...] = (),
    *,
    iterations: int,
    seconds: float = inf,
    root_rule: MakeRule | None = None,
    first_regrets: MakeRegrets | None = None,
) -> Subgame:
    """Solve a subgame. Actions of `line`, which starts at the root, are added where the menu lacks them.

    `root_rule` makes a decision before the root (`safety.py`). `first_regrets` makes regrets to start with
    (`warm_start.py`), which count as one iteration. The solve stops after some iterations or
    seconds, and raises `OutOfTimeError` where these do not suffice for a few.
    """
    _warm_up()
    end = time.perf_counter() + seconds
    tree = subgame_tree(root.rules, menu, Root(root.street, root.chips), line)
    cards = deal_boards(root.rules, root.weights(), root.board)
    if cards.root_street != root.street:
        raise InputError(f"{root.rules.street_name(root.street)} deals no card", remedy="search from another street")
    engine = Engine(tree, cards)
    needed = 2 * engine.slots * np.dtype(engine.precision).itemsize
    if needed > LARGE and needed > (free := available_memory()) / 2:
        raise InputError(
            f"its tables need {size_text(needed)}, and only {size_text(free)} is free", remedy="search a later street"
        )
    regrets = first_regrets(engine) if first_regrets else None
    solver = VectorCFR(
        engine, VARIANT, int(regrets is not None), regret=regrets, root=root_rule(cards) if root_rule else None
    )
    run_until(solver, iterations, end)
    solver.fill_gaps()
    table_row = np.full(len(tree), -1, np.int32)
    table_row[engine.program.arrays.node] = engine.program.arrays.table_row
    return Subgame(tree, cards, engine.table_first, table_row, solver.average, solver.iteration)


def run_until(solver: VectorCFR, iterations: int, end: float) -> None:
    """Run iterations until they are done or the time, of `time.perf_counter`, is over."""
    if end == inf:
        solver.run(iterations)
        return
    start, first = time.perf_counter(), solver.iteration
    while solver.iteration < iterations:
        now, done = time.perf_counter(), solver.iteration - first
        if now >= end:
            break
        fitting = ceil((end - now) / 2 * done / (now - start)) if done else 1
        solver.run(min(fitting, iterations - solver.iteration))
    if solver.iteration < min(iterations, LEAST_ITERATIONS):
        raise OutOfTimeError


@cache
def _warm_up() -> None:
    """Compile or load the kernels before any clock runs."""
    rules = load_game("leduc")
    solver = VectorCFR(Engine(build_tree(rules), deal_boards(rules)), VARIANT)
    solver.run(1)
    solver.fill_gaps()
    solver.exploitability()


@dataclass(frozen=True, eq=False)
class Position:
    """A place in a solved subgame, known to an observer: a decision, the board, and both players' ranges there."""

    subgame: Subgame
    node: int
    board: tuple[int, ...]
    ranges: F64  # [player, hole]

    @classmethod
    def at_root(cls, subgame: Subgame) -> Position:
        """The start of a subgame."""
        return cls(subgame, 0, subgame.cards.cards[0], np.stack(subgame.cards.weights))

    def probabilities(self) -> tuple[tuple[int, ...], F64]:
        """The actions of the player to act, and float64[action, hole]."""
        tree = self.subgame.tree
        actions = tuple(int(tree.action[child]) for child in tree.children(self.node))
        return actions, self.subgame.rows(self.node, self.board)

    def along(self, line: tuple[int, ...]) -> Position | None:
        """The position after some actions; None if the subgame's tree does not have them."""
        tree, node, ranges = self.subgame.tree, self.node, self.ranges.copy()
        for action in line:
            child = tree.child(node, action)
            if child is None:
                return None
            at = [int(tree.action[below]) for below in tree.children(node)].index(action)
            ranges[tree.player[node]] *= self.subgame.rows(node, self.board)[at]
            node = child
        return replace(self, node=node, ranges=ranges)

    def dealt(self, board: tuple[int, ...]) -> Position:
        """The position after a deal; `board` is the whole board so far."""
        free = free_holes(self.subgame.cards.rules, board)
        return replace(self, board=board, ranges=self.ranges * free)
