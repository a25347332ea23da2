"""Boards for a trunk that is too large to visit often: few boards first, again and again, and more with every pass.

The hybrid agent's opponent learns on each board of its trunk alone. Where a cycle of samples is long (1,755 flops in
limit hold'em, each with 49 turn cards), nearly every subgame of the first hours lies below a board that was never seen
before, on which that opponent still plays at random: the abstracted player learns against a fool. But the abstracted
player knows only buckets, and what a few boards teach it holds on most others. So a pass visits a list of boards once
each, in a random order, each time with another deal below, and the list of the next pass is a little longer: few visits
are first ones. (Lists that double at once are worse: for a while, half of the visits are.) Lists grow with the number
of visits, and their boards are drawn from all boards alike: in the long run nothing is left out and nothing counts for
more. Ours, not the paper's.

What board comes n-th follows from the seed and n alone.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

import numpy as np

from equipoise.core.jit import F32, I64, U8
from equipoise.games.rules import GameRules
from equipoise.solvers.board_samples import BoardSource

FIRST = 8  # boards of the first pass
GROW = 32  # a pass has one board in so many more than the one before, and at least one
MANY = 100  # boards of a trunk, from which it is grown
_ORDER, _BOARD, _DEAL = range(3)  # what is drawn


def growth_of(rules: GameRules, trunk: int) -> int:
    """The growth if it is not said: 0, none, where a trunk has but few boards on its last street."""
    return GROW if trunk and BoardSource(rules, 0, street=trunk - 1).size > MANY else 0


@dataclass(eq=False)
class GrowingBoards:
    """Boards of a street: those of the trunk's last street from a growing list, then a deal. As `BoardSource`."""

    rules: GameRules
    seed: int
    grow: int  # a pass has more boards than the one before: one for every so many, at least one
    trunk: int  # rounds
    cycle: ClassVar[bool] = False
    comes_again: ClassVar[float] = inf  # in so many boards: none is worth keeping
    _starts: list[int] = field(default_factory=lambda: [0, FIRST], init=False, repr=False)  # of passes, by visits

    def boards(self, first: int, count: int) -> tuple[U8, F32]:
        """Some of the boards, in the order of the deals, and what each counts: uint8[board, card], float32[board]."""
        found = np.array([self._board(n) for n in range(first, first + count)], np.uint8)
        return found.reshape(count, -1), np.ones(count, np.float32)

    def visit(self, n: int) -> tuple[int, int]:
        """The pass of a visit, and the number of the board that it visits."""
        starts = self._starts
        while n >= starts[-1]:
            size = starts[-1] - starts[-2]
            starts.append(starts[-1] + size + max(1, size // self.grow))
        number = bisect_right(starts, n) - 1
        order = np.random.default_rng([self.seed, _ORDER, number]).permutation(starts[number + 1] - starts[number])
        return number, int(order[n - starts[number]])

    def _board(self, n: int) -> I64:
        """A board of the trunk and a deal below it: no card comes again there before all others have come."""
        number, board = self.visit(n)
        rules, above = self.rules, self.rules.board_size(self.trunk - 1)
        deck = np.random.default_rng([self.seed, _BOARD, board]).permutation(rules.deck.size)
        deal = rules.board_cards[self.trunk] if self.trunk < rules.rounds else 0
        turns = (rules.deck.size - above) // max(deal, 1)
        shuffled, at = divmod(number, turns)
        rest = np.random.default_rng([self.seed, _DEAL, board, shuffled]).permutation(deck[above:])
        return np.concatenate([deck[:above], rest[at * deal : (at + 1) * deal]])
