"""A curriculum of boards for a large trunk: passes over a list of boards that starts short and grows.

The hybrid agent's opponent learns each board of its trunk separately. Where a cycle of samples is long (1,755 flops in
limit hold'em, each with 49 turn cards), nearly every subgame of the first hours is below a board that the opponent has
never seen, where it still plays at random. The abstracted player knows only buckets: what a few boards teach it holds
on most others. So a pass visits each board of a list once, in random order and with a new deal below, and the next
pass has a slightly longer list. (Doubling is worse: then half of a pass is new.) Boards are drawn uniformly, so in the
long run none is left out or overweighted. Ours, not the paper's. The n-th board depends only on the seed and n.
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
GROW = 32  # each pass extends the list of boards by 1/GROW of its length, and by at least one
MANY = 100  # a trunk with more boards on its last street gets a curriculum
_ORDER, _BOARD, _DEAL = range(3)  # streams of random numbers


def default_growth(rules: GameRules, trunk: int) -> int:
    """The default growth: 0 (no curriculum) where the trunk has few boards on its last street."""
    return GROW if trunk and BoardSource(rules, 0, street=trunk - 1).size > MANY else 0


@dataclass(eq=False)
class BoardCurriculum:
    """Boards as from `BoardSource`: one of the trunk's last street from a growing list, then a deal below it."""

    rules: GameRules
    seed: int
    grow: int  # each pass extends the list by 1/grow of its length, and by at least one
    trunk: int  # number of rounds
    cycle: ClassVar[bool] = False
    comes_again: ClassVar[float] = inf  # number of boards until a board returns: none is worth keeping
    _starts: list[int] = field(default_factory=lambda: [0, FIRST], init=False, repr=False)  # of passes, by visits

    def boards(self, first: int, count: int) -> tuple[U8, F32]:
        """Boards `first` to `first + count` and their weights: uint8[board, card] in dealing order, float32[board]."""
        found = np.array([self._board(n) for n in range(first, first + count)], np.uint8)
        return found.reshape(count, -1), np.ones(count, np.float32)

    def visit(self, n: int) -> tuple[int, int]:
        """The pass of a visit, and the index of the board that it visits."""
        starts = self._starts
        while n >= starts[-1]:
            size = starts[-1] - starts[-2]
            starts.append(starts[-1] + size + max(1, size // self.grow))
        number = bisect_right(starts, n) - 1
        order = np.random.default_rng([self.seed, _ORDER, number]).permutation(starts[number + 1] - starts[number])
        return number, int(order[n - starts[number]])

    def _board(self, n: int) -> I64:
        """A board of the trunk and a deal below it: below a board, no card returns before all others have come."""
        number, board = self.visit(n)
        rules, above = self.rules, self.rules.board_size(self.trunk - 1)
        deck = np.random.default_rng([self.seed, _BOARD, board]).permutation(rules.deck.size)
        deal = rules.board_cards[self.trunk] if self.trunk < rules.rounds else 0
        turns = (rules.deck.size - above) // max(deal, 1)
        shuffled, at = divmod(number, turns)
        rest = np.random.default_rng([self.seed, _DEAL, board, shuffled]).permutation(deck[above:])
        return np.concatenate([deck[:above], rest[at * deal : (at + 1) * deal]])
