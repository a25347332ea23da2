"""The engine of `bucketed_walk.py`: the boards of a whole game, the buckets of both players on them, and threads.

Threads take boards in a fixed order and add to sums of their own, which are added up in the order of threads: results
are the same for the same number of threads. A player whose buckets are each on one board only (the lossless map) has
its tables updated in place instead: nothing else adds to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap, card_fingerprint
from equipoise.core.arrays import aligned_zeros
from equipoise.core.errors import InputError
from equipoise.core.jit import I64
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.board_buckets import buckets_of_places, present_buckets
from equipoise.tree.boards import deal_boards
from equipoise.tree.infosets import SlotLayout, board_blocks, boards
from equipoise.walk.bucket_decisions import Scratch
from equipoise.walk.bucketed_walk import Play, Turn, add_up, walk, walk_boards, walk_down, walk_up
from equipoise.walk.engine import Engine, look
from equipoise.walk.plan import EVALUATE, Plan, Weights, padded

MOST_PLACES = 60_000_000  # holes on all boards


class BucketedEngine:
    """Walks a game whose players play by buckets: `layouts` and `direct` are by player."""

    def __init__(
        self, tree: BettingTree, maps: tuple[BucketMap, BucketMap], *, threads: int = 1, precision: type = np.float32
    ) -> None:
        _check(tree, maps)
        self.tree, self.precision = tree, precision
        self.engine = Engine(tree, deal_boards(tree.rules), precision=precision, threads=threads)
        self.layouts = tuple(SlotLayout(tree, buckets.buckets) for buckets in maps)
        cards = self.engine.cards
        first = buckets_of_places(maps[0])(cards)
        cells = first, first if maps[1] is maps[0] else buckets_of_places(maps[1])(cards)
        self.present = present_buckets(cards, cells)
        self.direct = tuple(self._is_direct(player) for player in range(PLAYERS))
        self._parts: dict[tuple[str, int], Any] = {}

    def _is_direct(self, player: int) -> bool:
        """Whether no bucket is present on two boards."""
        street = self.engine.cards.arrays.street
        for number in range(self.tree.rules.rounds):
            lists = [self._present_on(int(board), player) for board in np.flatnonzero(street == number)]
            found = np.concatenate(lists)
            if len(np.unique(found)) < len(found):
                return False
        return True

    def _present_on(self, board: int, player: int) -> Any:
        first = int(self.present.first[board, player])
        return self.present.bucket[first : first + int(self.present.counts[board, player])]

    def zeros(self, player: int) -> Any:
        """A table of a player's slots; the other player has its own part of the same layout."""
        return np.zeros(self.layouts[player].slots, self.precision)

    @cached_property
    def _choices(self) -> tuple[I64, int, Any]:
        """[board, player] where the block of a responder starts; the length of all; [place] a decision's row."""
        program, arrays = self.engine.program.arrays, self.engine.cards.arrays
        row = np.full(len(program.kind), -1, np.int32)
        rows = np.zeros((self.tree.rules.rounds, PLAYERS), np.int64)
        streets = self.tree.street[program.node]
        for place in np.flatnonzero(program.kind == DECISION):
            at = streets[place], program.player[place]
            row[place] = rows[at]
            rows[at] += 1
        return (*board_blocks(rows[arrays.street], arrays.counts), row)

    def choices(self) -> Any:
        """Room for what responders of both seats do: uint8, flat."""
        return np.zeros(self._choices[1], np.uint8)

    def respond(self, player: int, theirs: Any, *, choice: Any = None, average: Any = None, keep: float = 1.0) -> float:
        """What a player's best response to the other's table wins, in chips a hand.

        It is written to `choice`; and the other's strategy is added to `average`, which keeps so much of what it has.
        """
        one = self.precision(1)
        turn = Turn(0, True, choice is not None, False, average is not None, one, one, self.precision(keep))
        return self._chips(player, self._walk(player, turn, theirs, theirs, None, average, choice))

    def _chips(self, player: int, values: Any) -> float:
        """Counterfactual values at the root as chips a hand."""
        weights = self.engine.cards.root_weights[player]
        return float(values.astype(np.float64) @ weights / self.engine.meetings)

    def update(
        self, player: int, table: Any, weights: Weights, *, theirs: Any = None, choice: Any = None, average: Any = None
    ) -> float:
        """Add a player's regrets to its table; the other plays `choice`, or by `theirs`, and adds to its `average`.

        Returns what the player wins, in chips a hand.
        """
        turn = Turn(
            0, False, False, theirs is None, average is not None,
            self.precision(weights.positive), self.precision(weights.negative), self.precision(weights.average),
        )  # fmt: skip
        values = self._walk(player, turn, table, table if theirs is None else theirs, table, average, choice)
        return self._chips(player, values)

    def _walk(self, walker: int, turn: Turn, mine: Any, theirs: Any, regret: Any, average: Any, choice: Any) -> Any:
        """One walk; returns the walker's counterfactual values at the root, by place of its list."""
        sums = [self._sums("regret", walker, regret), self._sums("average", 1 - walker, average)]
        one = self.precision(1)
        in_walk = turn
        if not self.direct[walker]:
            in_walk = in_walk._replace(positive=one, negative=one)
        if not self.direct[1 - walker]:
            in_walk = in_walk._replace(keep=one)
        first, _, row = self._choices
        nothing = np.zeros(0, np.uint8)
        plays = [
            Play(
                self._offset, self._stride, self.present, self.engine.cards.chances, mine, theirs, mine_sum, their_sum,
                nothing if choice is None else choice, first, row, in_walk,
            )
            for mine_sum, their_sum in zip(*sums, strict=True)
        ]  # fmt: skip
        plan = self.engine.plan(look(walker, EVALUATE), self.engine.tables(None))
        self._walk_plan(plan, plays)
        if regret is not None and not self.direct[walker]:
            self._add_up("regret", walker, turn.positive, turn.negative, regret)
        if average is not None and not self.direct[1 - walker]:
            self._add_up("average", 1 - walker, turn.keep, turn.keep, average)
        return plan.root_value

    def _walk_plan(self, plan: Plan, plays: Sequence[Play]) -> None:
        engine, spaces, scratch = self.engine, self.engine.workspaces, self._scratch
        if not engine.in_threads:
            walk(plan, plays[0], scratch[0], spaces[0])
            return
        main = spaces[0]
        walk_down(plan, plays[0], scratch[0], main)
        first, count = int(plan.boards.first_child[0]), int(plan.boards.num_children[0])
        pieces = min(count, 16 * engine.threads)
        cuts = [first + count * i // pieces for i in range(pieces + 1)]

        def work(thread: int) -> None:
            mine = spaces[thread]
            if thread:
                mine.value[:] = 0
            above = main._replace(value=mine.value)
            for i in range(thread, pieces, engine.threads):
                walk_boards(cuts[i], cuts[i + 1], plan, plays[thread], scratch[thread], above, mine)

        list(self._pool.map(work, range(engine.threads)))
        street = engine.cards.root_street
        base = int(main.value_base[street])
        end = base + engine.program.value_rows[street] * padded(len(plan.root_value))
        for space in spaces[1:]:
            main.value[base:end] += space.value[base:end]
        walk_up(plan, plays[0], scratch[0], main)

    def _sums(self, what: str, player: int, table: Any) -> list[Any]:
        """What each thread adds to: sums of its own, the table itself, or nothing."""
        count = max(1, self.engine.threads)
        if table is None:
            return [np.zeros(0, self.precision)] * count
        if self.direct[player]:
            return [table] * count
        if (what, player) not in self._parts:
            self._parts[what, player] = np.zeros((count, self.layouts[player].slots), self.precision)
        return list(self._parts[what, player])

    def _add_up(self, what: str, player: int, positive: Any, negative: Any, table: Any) -> None:
        layout = self.layouts[player]
        lengths = layout.width * np.array(layout.buckets, np.int64)[:, np.newaxis]
        first, length = layout.first[:, player].copy(), lengths[:, player].copy()
        add_up(first, length, positive, negative, self._parts[what, player], table)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.engine.threads)

    @cached_property
    def _offset(self) -> I64:
        return self._by_place([layout.offset for layout in self.layouts])

    @cached_property
    def _stride(self) -> I64:
        return self._by_place([layout.stride for layout in self.layouts])

    def _by_place(self, by_player: Sequence[I64]) -> I64:
        """[program place] what the player who acts there has."""
        program = self.engine.program.arrays
        return np.where(program.player == 1, by_player[1][program.node], by_player[0][program.node])

    @cached_property
    def _scratch(self) -> list[Scratch]:
        most = int(self.present.counts.max())
        slots = int(self.tree.num_children.max()) * most
        sizes = (slots, slots, most)
        return [
            Scratch(*(aligned_zeros(size, self.precision) for size in sizes))
            for _ in range(max(1, self.engine.threads))
        ]


def _check(tree: BettingTree, maps: Sequence[BucketMap]) -> None:
    if any(card_fingerprint(tree.rules) != card_fingerprint(buckets.rules) for buckets in maps):
        raise InputError("buckets of a game with other cards", remedy="build the abstraction for this game")
    check_boards(tree.rules)


def check_boards(rules: GameRules) -> None:
    """Refuse a game whose boards are too many."""
    if PLAYERS * sum(holes_by_street(rules)) > MOST_PLACES:
        raise InputError(
            f"{rules.name} has too many boards to walk them all in every iteration",
            remedy="use a smaller game, e.g. holdem.two-four, or another method",
        )


def holes_by_street(rules: GameRules) -> list[int]:
    """How many holes all boards of each street have, for one player."""
    holes = [comb(rules.deck.size - rules.board_size(street), rules.hole_cards) for street in range(rules.rounds)]
    return [count * size for count, size in zip(boards(rules), holes, strict=True)]
