"""Walks of whole games with bucketed players: all boards, the buckets of both players on them, and threads.

Each thread takes fixed boards and adds to sums of its own, which are added up in the order of threads. So results are
the same for the same number of threads. Where every bucket of a player lies on one board only (the lossless map), its
tables are updated in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap, card_fingerprint
from equipoise.core.array_checks import REMEDY
from equipoise.core.errors import InputError
from equipoise.core.jit import I64
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.board_buckets import buckets_of_places, present_buckets
from equipoise.tree.boards import deal_boards
from equipoise.tree.infosets import SlotLayout, board_blocks, boards
from equipoise.walk.bucket_decisions import BucketBuffers, bucket_buffers
from equipoise.walk.bucketed_walk import BoardRule, BucketRule, RecordedActions, WalkFlags, add_thread_sums
from equipoise.walk.engine import Engine
from equipoise.walk.plan import Discounts

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
        self._sums: dict[tuple[str, int], Any] = {}

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
        """A table with a player's layout."""
        return np.zeros(self.layouts[player].slots, self.precision)

    @cached_property
    def _choices(self) -> tuple[I64, int, Any]:
        """[board, player] where a responder's block starts; the length of all blocks; [place] a decision's row."""
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
        """Memory for the actions of responders in both seats: uint8, flat."""
        return np.zeros(self._choices[1], np.uint8)

    def check_choices(self, choice: Any) -> None:
        """Refuse actions from a file that a decision does not have."""
        first, _, row = self._choices
        program, arrays = self.engine.program.arrays, self.engine.cards.arrays
        decisions = np.flatnonzero(program.kind == DECISION)
        at = self.tree.street[program.node[decisions]] * PLAYERS + program.player[decisions]
        for board, street in enumerate(arrays.street.tolist()):
            for player in range(PLAYERS):
                own = decisions[at == street * PLAYERS + player]
                size = int(arrays.counts[board, player])
                block = choice[first[board, player] :][: len(own) * size].reshape(len(own), size)
                if (block >= program.num_children[own[np.argsort(row[own])], np.newaxis]).any():
                    raise InputError("the array 'choice' has an action that its decision does not have", remedy=REMEDY)

    def respond(self, player: int, theirs: Any, *, choice: Any = None, average: Any = None, keep: float = 1.0) -> float:
        """The value of a player's best response to the other's table, in chips a hand.

        The response is recorded in `choice`. The other's strategy is added to `average`, after a discount by `keep`.
        """
        flags = WalkFlags(
            responds=True, writes=choice is not None, averaging=average is not None, keep=self.precision(keep),
            positive=self.precision(1), negative=self.precision(1),
        )  # fmt: skip
        return self._walk(player, flags, theirs, theirs, None, average, choice)

    def update(
        self, player: int, table: Any, discounts: Discounts, *, theirs: Any = None, choice: Any = None,
        average: Any = None,
    ) -> float:  # fmt: skip
        """Add a player's regrets to its table. The other plays `choice`, or by `theirs`, and adds to its `average`.

        Returns the player's value, in chips a hand.
        """
        positive, negative, keep = (self.precision(factor) for factor in discounts)
        flags = WalkFlags(
            answers=theirs is None, averaging=average is not None, positive=positive, negative=negative, keep=keep
        )
        return self._walk(player, flags, table, table if theirs is None else theirs, table, average, choice)

    def _walk(
        self, walker: int, flags: WalkFlags, mine: Any, theirs: Any, regret: Any, average: Any, choice: Any
    ) -> float:
        """One walk; returns the walker's value in chips a hand."""
        one = self.precision(1)
        in_walk = flags
        if not self.direct[walker]:
            in_walk = in_walk._replace(positive=one, negative=one)
        if not self.direct[1 - walker]:
            in_walk = in_walk._replace(keep=one)
        first, _, row = self._choices
        recorded = RecordedActions(np.zeros(0, np.uint8) if choice is None else choice, first, row)
        sums = zip(self._targets("regret", walker, regret), self._targets("average", 1 - walker, average), strict=True)
        rules = [
            BoardRule(
                self.present, self.engine.cards.chances,
                BucketRule(self._offset, self._stride, mine, theirs, *targets, buffers, in_walk, recorded),
            )
            for targets, buffers in zip(sums, self._buffers, strict=True)
        ]  # fmt: skip
        plan = self.engine.plan(walker)
        self.engine.run_walk(plan, rules, 16 * self.engine.threads, in_order=True)
        if regret is not None and not self.direct[walker]:
            self._add_sums("regret", walker, flags.positive, flags.negative, regret)
        if average is not None and not self.direct[1 - walker]:
            self._add_sums("average", 1 - walker, flags.keep, flags.keep, average)
        return self.engine.chips(walker, plan.root_value)

    def _targets(self, what: str, player: int, table: Any) -> list[Any]:
        """By thread, the array to add to: sums of its own, the table itself, or nothing."""
        count = max(1, self.engine.threads)
        if table is None:
            return [np.zeros(0, self.precision)] * count
        if self.direct[player]:
            return [table] * count
        if (what, player) not in self._sums:
            self._sums[what, player] = np.zeros((count, self.layouts[player].slots), self.precision)
        return list(self._sums[what, player])

    def _add_sums(self, what: str, player: int, positive: Any, negative: Any, table: Any) -> None:
        for part in self.layouts[player].parts(player):
            add_thread_sums(part.start, part.stop, positive, negative, self._sums[what, player], table)

    @cached_property
    def _offset(self) -> I64:
        return self._by_place([layout.offset for layout in self.layouts])

    @cached_property
    def _stride(self) -> I64:
        return self._by_place([layout.stride for layout in self.layouts])

    def _by_place(self, by_player: Sequence[I64]) -> I64:
        """[place] the entry of the player who acts there."""
        program = self.engine.program.arrays
        return np.where(program.player == 1, by_player[1][program.node], by_player[0][program.node])

    @cached_property
    def _buffers(self) -> list[BucketBuffers]:
        actions, most = int(self.tree.num_children.max()), int(self.present.counts.max())
        return [bucket_buffers(actions, most, self.precision) for _ in range(max(1, self.engine.threads))]


def _check(tree: BettingTree, maps: Sequence[BucketMap]) -> None:
    if any(card_fingerprint(tree.rules) != card_fingerprint(buckets.rules) for buckets in maps):
        raise InputError("buckets of a game with other cards", remedy="build the abstraction for this game")
    check_boards(tree.rules)


def check_boards(rules: GameRules) -> None:
    """Refuse a game with too many boards."""
    if PLAYERS * sum(holes_by_street(rules)) > MOST_PLACES:
        raise InputError(
            f"{rules.name} has too many boards to walk them all in every iteration",
            remedy="use a smaller game, e.g. holdem.two-four, or another method",
        )


def holes_by_street(rules: GameRules) -> list[int]:
    """By street, the number of holes on all boards, for one player."""
    holes = [comb(rules.deck.size - rules.board_size(street), rules.hole_cards) for street in range(rules.rounds)]
    return [count * size for count, size in zip(boards(rules), holes, strict=True)]
