"""The edge of every hole against a range when the rest of the board is dealt at random and nobody folds.

Every completion of a board is ranked and sorted once. One pass over a sorted board then gives, for each hole, the
weight of the holes it beats minus the weight of those that beat it, with exact card removal (as in `showdown.py`).
Where there are many completions we sample: neighbours in random circular orders of the remaining cards, so that every
card occurs equally often and every completion is equally likely. The result is then unbiased, but not exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from equipoise.cards.deck import check_hole_cards
from equipoise.cards.hand_ranks import RankTables, rank_holes_on_board, showdown_order
from equipoise.cards.matchups import Game, equity_table
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.arrays import Int
from equipoise.core.jit import F64, I64, U8, U16, U32, kernel

MOST = 50  # completions of a board: all of a turn, one circle of a flop


class SortBuffers(NamedTuple):
    """Scratch of `sort_boards`."""

    live: U8  # [card of the deck]
    spare: U16  # [hole]
    digits: U32  # [256]


def meeting_weights(game: Game, weights: F64) -> F64:
    """[hole] the total weight of the holes that share no card with it. IN: float64[hole]."""
    cards = hole_card_table(game.deck, game.hole_cards).T
    by_card = np.bincount(cards.ravel(), np.concatenate([weights] * game.hole_cards), game.deck.size)
    sharing = sum(by_card[card] for card in cards)
    # A hole of two cards is subtracted twice from its own total: once for each card.
    return np.asarray(weights.sum() - sharing + (game.hole_cards - 1) * weights)


@dataclass(frozen=True, eq=False)
class Runouts:
    """Completions of a board, sorted."""

    game: Game
    order: U16  # [runout, place] holes, from weakest to strongest
    ranks: U16  # [runout, hole]
    counts: I64  # [runout] live holes
    each: float  # the mean number of them that a pair of disjoint holes meets

    @classmethod
    def of(cls, game: Game, board: Sequence[int], seed: Sequence[int] = (), most: int = MOST) -> Runouts:
        """All completions of a board, or about `most` drawn from a seed."""
        check_hole_cards(game.hole_cards, "equity")
        deck, missing = game.deck, game.ranker.cards - game.hole_cards - len(board)
        left = [card for card in range(deck.size) if card not in board]
        if comb(len(left), missing) <= most:
            every = list(combinations(left, missing))
            rests = np.array(every, np.uint8).reshape(len(every), missing)
        else:
            rng = np.random.default_rng([*seed])
            circles = [rng.permutation(left) for _ in range(max(1, most // len(left)))]
            rests = np.concatenate([np.stack([np.roll(circle, -i) for i in range(missing)], 1) for circle in circles])
        boards = np.empty((len(rests), len(board) + missing), np.uint8)
        boards[:, : len(board)], boards[:, len(board) :] = board, rests
        holes = deck.holes(game.hole_cards)
        order, ranks = np.empty((2, len(boards), holes), np.uint16)
        counts = np.empty(len(boards), np.int64)
        scratch = SortBuffers(np.empty(deck.size, np.uint8), np.empty(holes, np.uint16), np.empty(256, np.uint32))
        sort_boards(boards, game.hole_cards, game.ranker.tables, scratch, ranks, order, counts)
        met = comb(len(left) - 2 * game.hole_cards, missing) / comb(len(left), missing)
        return cls(game, order, ranks, counts, len(boards) * met)

    def edges(self, weights: F64) -> F64:
        """[hole] the weight that it beats minus the weight that beats it. IN: float64[hole], 0 where blocked."""
        holes = hole_card_table(self.game.deck, self.game.hole_cards)
        sums, by_card = np.zeros(len(weights)), np.empty(self.game.deck.size)
        add_edges(self.order, self.ranks, self.counts, holes[:, 0].copy(), holes[:, -1].copy(), weights, by_card, sums)
        return sums / self.each


def first_edges(game: Game, weights: F64) -> F64:
    """The edges before any board, from the table of all pairs, for games that need one."""
    chances = equity_table(game) @ weights.astype(np.float32)
    return np.asarray(2.0 * chances - meeting_weights(game, weights))


@kernel
def sort_boards(
    boards: U8, hole_cards: Int, tables: RankTables, scratch: SortBuffers, ranks: U16, order: U16, counts: I64
) -> None:
    """Rank and sort all holes of boards. IN: uint8[board, card]; OUT: uint16[board, hole] twice, int64[board]."""
    for board in range(boards.shape[0]):
        rank_holes_on_board(boards[board], hole_cards, tables, scratch.live, ranks[board])
        counts[board] = showdown_order(ranks[board], order[board], scratch.spare, scratch.digits)


@kernel
def add_edges(order: U16, ranks: U16, counts: I64, card1: U8, card2: U8, weights: F64, by_card: F64, sums: F64) -> None:
    """Add up edges over boards; `card2` is `card1` again where holes have one card.

    IN: uint16[board, place], uint16[board, hole], int64[board], uint8[hole] twice, float64[hole];
    scratch: float64[card]; OUT: float64[hole].
    """
    two = np.float64(card1[0] != card2[0])
    for board in range(order.shape[0]):
        rank, sorted_holes = ranks[board], order[board, : counts[board]]
        by_card[:] = 0.0
        total, start = 0.0, 0
        while start < sorted_holes.size:
            here, end = rank[sorted_holes[start]], start
            while end < sorted_holes.size and rank[sorted_holes[end]] == here:
                hole = sorted_holes[end]
                sums[hole] += total - by_card[card1[hole]] - two * by_card[card2[hole]]
                end += 1
            for hole in sorted_holes[start:end]:
                weight = weights[hole]
                total += weight
                by_card[card1[hole]] += weight
                by_card[card2[hole]] += two * weight
            for hole in sorted_holes[start:end]:  # the errors from counting the hole itself, here and below, cancel
                sums[hole] += total - by_card[card1[hole]] - two * by_card[card2[hole]]
            start = end
        for hole in sorted_holes:
            sums[hole] -= total - by_card[card1[hole]] - two * by_card[card2[hole]]
