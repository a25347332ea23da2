"""What the vector solver solves: a postflop spot, or a whole game that is small enough to walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import comb
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from equipoise.cards.deck import check_hole_cards
from equipoise.cards.ranges import hole_text
from equipoise.core.errors import InputError, shown
from equipoise.core.files.shipped import no_such
from equipoise.core.files.text import is_file
from equipoise.core.jit import F64
from equipoise.core.machine import available_memory
from equipoise.core.wording import counted, size_text
from equipoise.games.bet_menu import BetMenu, load_menu_table
from equipoise.games.gamedef import GAMES, load_game, write_gamedef
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.spots.spot import SPOTS, Lock, Spot, load_spot
from equipoise.tree.betting_tree import DECISION, SHOWDOWN, BettingTree, build_tree
from equipoise.tree.boards import PublicCards, deal_boards
from equipoise.tree.game_report import DEFAULT_MENU
from equipoise.tree.infosets import LEAST_REGRET_AND_AVERAGE, boards, table_rows
from equipoise.tree.lines import action_names, find_action, find_line
from equipoise.walk.betting_program import Stakes
from equipoise.walk.engine import Engine
from equipoise.walk.table_storage import as_stored

MOST_NODES = 20_000_000  # a vector solve keeps rows of holes at every node
EVERY_BOARD = -1
GAME_TARGET = 0.1  # percent of the big blind
MOST_PATH = 200  # characters of a path in a message
MOST_ROUNDING = 1e-9  # of frequencies that add up to 1
Menu: TypeAlias = Mapping[str, Any] | str | Path  # a `[betting]` table, a built-in menu's name, or a TOML file


@dataclass(frozen=True, eq=False)
class Problem:
    """A betting tree, its boards and its stakes; made from a spot or a game."""

    tree: BettingTree
    cards: PublicCards
    stakes: Stakes
    spot: Spot | None = None
    menu_table: Mapping[str, Any] | None = None

    @classmethod
    def of_spot(cls, spot: Spot) -> Problem:
        """A spot, whose ranges must leave some pair of hands that share no card."""
        problem = cls(spot.tree(MOST_NODES), spot.boards(), spot.stakes, spot)
        if not problem.cards.meetings(0):
            raise InputError("the two ranges never meet: each hand blocks the other", remedy="add other hands")
        _ = problem.lock_strategies  # refuses locks that cannot be played
        return problem

    @classmethod
    def of_game(cls, rules: GameRules, menu: Menu | None = None) -> Problem:
        """A whole game. A no-limit game uses the standard bet menu unless another is given.

        If its tables alone would not fit into memory, it is refused before its boards are dealt.
        """
        check_hole_cards(rules.hole_cards, "solve")
        if rules.limit:
            if menu is not None:
                raise InputError(f"{rules.name} is a limit game: its bets are fixed", remedy="leave out the menu")
            tree, table = build_tree(rules, most_nodes=MOST_NODES), None
        else:
            where = "" if isinstance(menu, Mapping) else str(menu or DEFAULT_MENU)
            table = menu if isinstance(menu, Mapping) else load_menu_table(where)
            bets = BetMenu.from_table(table, rules.rounds, name=Path(where).stem, where=where)
            tree = build_tree(rules, bets, most_nodes=MOST_NODES)
        check_tables_fit(tree)
        return cls(tree, deal_boards(rules), Stakes(), None, table)

    @property
    def name(self) -> str:
        """The name of the spot's file or of the game, for output files."""
        return self.spot.name if self.spot else self.rules.name

    @property
    def source(self) -> dict[str, Any]:
        """What it is made from, as solution files have it: the text of a spot, or of a gamedef, and a bet menu."""
        if self.spot:
            return {"spot": self.spot.text, "gamedef": None, "menu": None}
        return {"spot": None, "gamedef": write_gamedef(self.rules), "menu": self.menu_table}

    @property
    def target(self) -> float:
        """The exploitability to solve to, in percent, where none is asked for."""
        return self.spot.target if self.spot else GAME_TARGET

    @property
    def rules(self) -> GameRules:
        return self.tree.rules

    @property
    def unit(self) -> float:
        """What exploitability is a fraction of: the pot of a spot, the big blind of a game."""
        return self.spot.pot if self.spot else self.rules.big_blind

    @property
    def lock_weights(self) -> list[F64]:
        """The frequencies of all locks: what a renaming of suits must not change."""
        return [often for lock in (self.spot.locks if self.spot else ()) for _, often in lock.strategy]

    def engine(self, threads: int = 1, precision: type = np.float32, stored: Any = None) -> Engine:
        """An engine for it; `stored` is the type of its tables, if not that of `precision`."""
        return Engine(self.tree, self.cards, self.stakes, self.locked, precision, threads, stored=stored)

    @cached_property
    def locked(self) -> tuple[tuple[int, int], ...]:
        """(node, board) of each lock, EVERY_BOARD for all."""
        found = []
        for lock in self.spot.locks if self.spot else ():
            node = find_line(self.tree, lock.line)
            if self.tree.kind[node] != DECISION:
                raise InputError(
                    f"the lock after {lock.line!r}: nothing to decide there", remedy="end the line earlier"
                )
            found.append((node, self._board_of(lock)))
        if len({node for node, _ in found}) < len(found):
            raise InputError("two locks at one line", remedy="give one lock a line")
        return tuple(found)

    def lock_at(self, node: int, board: int) -> F64 | None:
        """[action, hole] the frequencies of the lock at a decision on a board; None if it has none."""
        for often, (at, only) in zip(self.lock_strategies, self.locked, strict=True):
            if at == node and only in (EVERY_BOARD, board):
                return often
        return None

    @cached_property
    def lock_strategies(self) -> list[F64]:
        """[action, hole] the frequencies of each lock."""
        found = []
        for lock, (node, _) in zip(self.spot.locks if self.spot else (), self.locked, strict=True):
            assert self.spot is not None
            hands = self.spot.ranges[self.tree.player[node]].without((*self.spot.board, *lock.board)).weights > 0
            found.append(locked_frequencies(lock, self.tree, node, hands))
        return found

    def _board_of(self, lock: Lock) -> int:
        if not lock.board:
            return EVERY_BOARD
        root = self.cards.cards[0]
        wanted = lock.board if lock.board[: len(root)] == root else (*root, *lock.board)
        if wanted not in self.cards.cards:
            raise InputError(
                f"the lock's board {self.rules.deck.text(lock.board)}", remedy="give cards that may follow"
            )
        return self.cards.cards.index(wanted)

    def lock_tables(self, engine: Engine, table: Any) -> None:
        """Write the locked strategies into a table of regrets or averages: the solver plays what it finds there."""
        program, boards = engine.program, engine.cards.arrays
        for often, (node, only) in zip(self.lock_strategies, self.locked, strict=True):
            place = int(program.place_of[node])
            player, row = int(self.tree.player[node]), int(program.arrays.table_row[place])
            for board in np.flatnonzero(boards.street == self.tree.street[node]):
                if only in (EVERY_BOARD, board):
                    size = int(boards.counts[board, player])
                    start = int(engine.table_first[board, player]) + row * size
                    rows = often[:, engine.cards.holes(int(board), player)]
                    table[start : start + rows.size] = as_stored(rows.ravel(), table.dtype)

    def memory_bytes(self, threads: int = 1, tables: int = 2, stored: Any = None) -> int:
        """Bytes that a solve allocates: tables and their scales, all-in matrices, and each thread's rows."""
        engine = self.engine(threads, stored=stored)
        boards, item = self.cards.arrays, 4
        early = np.unique(self.tree.street[self.tree.kind == SHOWDOWN])
        early = early[early < self.rules.rounds - 1]
        pairs = boards.counts[np.isin(boards.street, early)].astype(np.int64).prod(axis=1).sum()
        widest = [int(boards.counts[boards.street == s].max(initial=0)) + 16 for s in range(self.rules.rounds)]
        program = engine.program
        rows = sum((r + v) * w for r, v, w in zip(program.reach_rows, program.value_rows, widest, strict=True))
        cards = sum(array.nbytes for array in boards)
        held = tables * engine.slots * np.dtype(stored or np.float32).itemsize + engine.scales * PLAYERS * item
        return int(held + PLAYERS * 2 * pairs + threads * rows * item + cards)


def read_problem(name: str, menu: Menu | None = None) -> Problem:
    """The problem of a spot (shipped, TOML or JSON), or of a game (built-in or a gamedef file) with a bet menu."""
    if not (name.endswith((".toml", ".json")) or SPOTS.shipped(name)):
        if not (GAMES.shipped(name) or is_file(name)):
            raise no_such("spot or game", name, [*SPOTS.names(), *GAMES.names()], "give a TOML or gamedef file")
        return Problem.of_game(load_game(name), menu)
    if menu is not None:
        raise InputError(f"{shown(name, MOST_PATH)} is a spot: it has bets of its own", remedy="change the bets there")
    return Problem.of_spot(load_spot(name))


def check_tables_fit(tree: BettingTree) -> None:
    """Refuse a whole game whose tables exceed the memory: dealing its boards would already take long."""
    rules = tree.rules
    _, rows = table_rows(tree)
    on_boards = boards(rules)
    slots = 0
    for street in range(rules.rounds):
        holes = comb(rules.deck.size - rules.board_size(street), rules.hole_cards)
        slots += int(rows[street].sum()) * on_boards[street] * holes
    needed, free = slots * LEAST_REGRET_AND_AVERAGE, available_memory()
    if needed > free:
        raise InputError(
            f"{counted(len(tree), 'betting node')} on {counted(sum(on_boards), 'board')}: the tables need at least "
            f"{size_text(needed)}, and only {size_text(free)} is free",
            remedy="use fewer bet sizes, a cap, or a smaller game",
        )


def locked_frequencies(lock: Lock, tree: BettingTree, node: int, hands: Any) -> F64:
    """[action, hole] how often a lock takes each action of a node.

    What a hand's listed actions leave of 1 goes to the actions that are not listed, in equal parts. Where all are
    listed, the frequencies of every hand must add up to 1. IN: bool[hole] the hands that the player can have there.
    """
    names = action_names(tree, node)
    often, listed = np.zeros((len(names), len(hands))), dict[int, str]()
    for text, by_hole in lock.strategy:
        action = find_action(tree, node, text)
        if action is None:
            raise _bad_lock(lock, f"no action {shown(text)}", f"there are {', '.join(names)}")
        if action in listed:
            raise _bad_lock(lock, f"{shown(listed[action])} and {shown(text)} are one action", "write it once")
        listed[action] = text
        often[action] = by_hole
    others = [action for action in range(len(names)) if action not in listed]
    total = often.sum(axis=0)
    wrong = np.abs(total - 1) if not others else total - 1
    if (wrong[hands] > MOST_ROUNDING).any():
        hole = int(np.flatnonzero(hands & (wrong > MOST_ROUNDING))[0])
        remedy = "frequencies of a hand add up to 1" + ("" if others else ", where all actions are listed")
        more = "more" if total[hole] > 1 else "less"
        raise _bad_lock(lock, f"{hole_text(hole)} gets {total[hole]:.6g}, {more} than 1", remedy)
    for action in others:
        often[action] = np.maximum(1 - total, 0) / len(others)
    return np.asarray(often / np.maximum(often.sum(axis=0), 1))


def _bad_lock(lock: Lock, what: str, remedy: str) -> InputError:
    after = f" after {shown(lock.line, 80)}" if lock.line else ""
    return InputError(f"the lock{after}: {what}", remedy=remedy)
