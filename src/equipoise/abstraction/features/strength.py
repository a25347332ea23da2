"""Kernels for the strengths of all holes of a board at once, on the last street and over all completions of a board.

The strength of a hole on the last street is 2 x (opponent holes it beats) + (those it ties), with exact card removal,
from one pass over the holes in showdown order. Let A(x) be the number of holes before position x that share no card
with mine: (all) - (those with my first card) - (those with my second). The strength is A(start of my group of ties) +
A(its end) + 1; the one corrects the second term, which counts my own hole once and subtracts it twice.

On earlier streets all completions of a board are enumerated, one of each class under the symmetries of the board. The
sum of a hole is then the mean over its images under the symmetries, which is an integer.
"""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

import numpy as np

from equipoise.abstraction.features.hand_space import HandBlock, HandSpace, HandTables, hole_mask, symmetries
from equipoise.cards.hand_ranks import RankTables, rank_cards_on_board, rank_pairs_on_board, showdown_order
from equipoise.cards.isomorphism import IndexTables, hand_index
from equipoise.cards.showdown import DECK, Cards, meeting_lanes, showdown_lanes
from equipoise.cards.symmetry import list_classes
from equipoise.core.arrays import aligned_zeros
from equipoise.core.jit import F32, F64, I64, U8, U16, U32, U64, inlined, inner, kernel
from equipoise.core.simd import LANES, load, store

_0 = np.uint64(0)


class Showdowns(NamedTuple):
    """Tables and scratch for the showdowns of a game."""

    ranking: RankTables
    card1: U8  # [hole]
    card2: U8  # [hole] the first again where holes have one card
    two_cards: bool
    live: U8  # [card]
    rank: U16  # [hole]
    order: U16  # [hole] live holes, weakest first
    sorting: U16  # [hole]
    counts: U32  # [256]
    by_card: I64  # [card]
    strength: U16  # [hole]


class Deals(NamedTuple):
    """Scratch to list the sets of cards that can be dealt on a board."""

    kept: U8  # [renaming]
    lanes: U64  # [renaming, suit]
    live: U8  # [card]
    place: U8  # [card dealt]
    sets: U8  # [set, card dealt]
    sizes: U16  # [set]
    board: U8  # [card] the board before and the cards dealt


def showdowns(space: HandSpace) -> Showdowns:
    """Tables and scratch for one thread."""
    rules, cards = space.rules, space.tables.hole_card
    rank, order, sorting, strength = np.empty((4, len(cards)), np.uint16)
    return Showdowns(
        rules.ranker.tables, np.ascontiguousarray(cards[:, 0]), np.ascontiguousarray(cards[:, -1]),
        rules.hole_cards == 2, np.empty(rules.deck.size, np.uint8), rank, order, sorting, np.empty(256, np.uint32),
        np.empty(rules.deck.size, np.int64), strength,
    )  # fmt: skip


def deals(space: HandSpace, count: int) -> Deals:
    """Scratch for the deals of `count` cards on a board of this street."""
    off_board = space.rules.deck.size - space.board_cards
    sets = comb(off_board, count)
    renamings, suits = space.tables.lanes.shape
    return Deals(
        np.empty(renamings, np.uint8), np.empty((renamings, suits), np.uint64), np.empty(off_board, np.uint8),
        np.empty(count, np.uint8), np.empty((sets, count), np.uint8), np.empty(sets, np.uint16),
        np.empty(space.board_cards + count, np.uint8),
    )  # fmt: skip


@inner
def list_deals(board: U8, tables: HandTables, deals: Deals, symmetric: bool) -> tuple[int, int]:
    """List the sets of cards that can be dealt on a board in `deals.sets`; with `symmetric`, one of each class.

    IN: uint8[card]. Returns the number of sets, and the number of symmetries (in `deals.kept`).
    """
    symmetry_count = symmetries(board, tables, deals.kept) if symmetric else 1
    if not symmetric:
        deals.kept[0] = np.uint8(0)  # the renaming that changes nothing comes first
    for i in range(symmetry_count):
        for suit in range(tables.lanes.shape[1]):
            deals.lanes[i, suit] = tables.lanes[deals.kept[i], suit]
    dead = _0
    for i in range(board.size):
        dead |= tables.card_mask[board[i]]
        deals.board[i] = board[i]
    count = 0
    for card in range(tables.card_mask.size):
        if tables.card_mask[card] & dead == _0:
            deals.live[count] = np.uint8(card)
            count += 1
    for i in range(deals.place.size):
        deals.place[i] = np.uint8(i)
    found = list_classes(
        deals.live, deals.lanes[:symmetry_count], tables.lane_mask, deals.place, deals.sets, deals.sizes
    )
    return found, symmetry_count


@inlined
def complete_board(number: int, deals: Deals) -> None:
    """Complete the board with a set of cards."""
    before = deals.board.size - deals.place.size
    for i in range(deals.place.size):
        deals.board[before + i] = deals.sets[number, i]


@inner
def sort_holes(board: U8, game: Showdowns) -> int:
    """Holes in showdown order. IN: uint8[card]; OUT: `game.rank`, `game.order`. Returns the number of live holes."""
    if game.two_cards:
        rank_pairs_on_board(board, game.ranking, game.live, game.rank)
    else:
        rank_cards_on_board(board, game.ranking, game.live, game.rank)
    return showdown_order(game.rank, game.order, game.sorting, game.counts)


@inner
def count_wins(live: int, game: Showdowns) -> None:
    """The strengths of all live holes, in showdown order: see the module docstring. OUT: `game.strength`."""
    order, rank, strength = game.order[:live], game.rank, game.strength
    card1, card2, by_card = game.card1, game.card2, game.by_card
    by_card[:] = 0
    start = 0
    while start < live:
        end = start
        here = rank[order[start]]
        while end < live and rank[order[end]] == here:
            end += 1
        if not game.two_cards:
            for hole in order[start:end]:
                strength[hole] = np.uint16(start + end - 1)
            start = end
            continue
        for hole in order[start:end]:
            strength[hole] = np.uint16(start - by_card[card1[hole]] - by_card[card2[hole]])
        for hole in order[start:end]:
            by_card[card1[hole]] += 1
            by_card[card2[hole]] += 1
        for hole in order[start:end]:
            strength[hole] += np.uint16(end + 1 - by_card[card1[hole]] - by_card[card2[hole]])
        start = end


class Sums(NamedTuple):
    """Sums over completions of one board: of strengths, of their squares, and how often each bin was hit."""

    total: U64  # [hole]
    squares: U64  # [hole]
    bins: U32  # [hole, bin]


@kernel
def sum_strengths(
    block: HandBlock, tables: HandTables, game: Showdowns, deals: Deals, bin_of: U16, by_hole: Sums, out: Sums
) -> None:
    """The sums of the hands of a block over all completions of their boards.

    IN: the block, uint16[strength]; scratch: sums by hole; OUT: sums by place. With no bins, none are counted.
    """
    boards, first, holes = block.boards, block.first, block.hole
    for board in range(boards.shape[0]):
        by_hole.total[:] = _0
        by_hole.squares[:] = _0
        by_hole.bins[:] = np.uint32(0)
        found, symmetry_count = list_deals(boards[board], tables, deals, True)
        for number in range(found):
            complete_board(number, deals)
            live = sort_holes(deals.board, game)
            count_wins(live, game)
            _add_strengths(game.order[:live], game.strength, deals.sizes[number], bin_of, by_hole)
        for place in range(first[board], first[board + 1]):
            _mean_of_images(holes[place], deals.kept[:symmetry_count], tables.renamed_hole, by_hole, out, place)


@inlined
def _add_strengths(live: U16, strength: U16, times: np.uint16, bin_of: U16, by_hole: Sums) -> None:
    wide = np.uint64(times)
    for hole in live:
        here = np.uint64(strength[hole])
        by_hole.total[hole] += wide * here
        by_hole.squares[hole] += wide * here * here
    if by_hole.bins.shape[1]:
        for hole in live:
            by_hole.bins[hole, bin_of[strength[hole]]] += np.uint32(times)


@inlined
def _mean_of_images(hole: np.uint16, kept: U8, renamed_hole: U16, by_hole: Sums, out: Sums, place: int) -> None:
    """The mean of the sums of a hole's images under the symmetries of the board; exact, since it is the hand's sum."""
    total = _0
    squares = _0
    for renaming in kept:
        total += by_hole.total[renamed_hole[renaming, hole]]
        squares += by_hole.squares[renamed_hole[renaming, hole]]
    out.total[place] = total // np.uint64(kept.size)
    out.squares[place] = squares // np.uint64(kept.size)
    row = out.bins[place]
    row[:] = np.uint32(0)
    for renaming in kept:
        image = by_hole.bins[renamed_hole[renaming, hole]]
        for i in range(row.size):
            row[i] += image[i]
    if kept.size > 1:
        for i in range(row.size):
            row[i] //= np.uint32(kept.size)


class Lanes(NamedTuple):
    """Scratch for one showdown against sixteen clusters of opponent holes."""

    cards: Cards  # of live holes, in showdown order
    place: U16  # [place] 0, 1, 2, ...
    groups: U16  # [group, player]
    reach: F32  # [place + 1, lane] 1 where the hole at that place is in the cluster
    won: F32  # [place, lane] won minus lost
    met: F32  # [place, lane]
    run: F32  # [card, lane]


def lanes(holes: int) -> Lanes:
    """Scratch for one thread."""
    card1, card2 = np.zeros((2, holes), np.uint8)
    reach, won, met = (aligned_zeros((holes + 1) * LANES, np.float32) for _ in range(3))
    run = aligned_zeros(DECK * LANES, np.float32)
    return Lanes(
        Cards(card1, card2), np.arange(holes, dtype=np.uint16), np.empty((holes + 1, 2), np.uint16),
        reach, won, met, run,
    )  # fmt: skip


@kernel
def sum_cluster_strengths(
    block: HandBlock, tables: HandTables, game: Showdowns, deals: Deals, member: F32, work: Lanes,
    by_hole: F64, out: F32, completions: int,
) -> None:  # fmt: skip
    """Strength against each cluster of opponent holes, the mean over completions, of the hands of a block.

    IN: the block, float32[hole, lane] 1 for the hole's cluster; scratch: float64[hole, lane];
    OUT: float32[place, cluster].
    """
    boards, first, holes = block.boards, block.first, block.hole
    for board in range(boards.shape[0]):
        by_hole[:] = 0.0
        found, symmetry_count = list_deals(boards[board], tables, deals, True)
        for number in range(found):
            complete_board(number, deals)
            live = sort_holes(deals.board, game)
            _meet_clusters(game, live, member, work)
            _add_shares(game.order[:live], np.float64(deals.sizes[number]), work, by_hole)
        scale = 1.0 / (np.float64(completions) * symmetry_count)
        for place in range(first[board], first[board + 1]):
            for cluster in range(out.shape[1]):
                total = 0.0
                for renaming in deals.kept[:symmetry_count]:
                    total += by_hole[tables.renamed_hole[renaming, holes[place]], cluster]
                out[place, cluster] = np.float32(total * scale)


@inlined
def _add_shares(live: U16, times: np.float64, work: Lanes, by_hole: F64) -> None:
    one, half = np.float32(1), np.float32(0.5)
    for i in range(live.size):
        row = by_hole[live[i]]
        met, won = work.met[i * LANES : (i + 1) * LANES], work.won[i * LANES : (i + 1) * LANES]
        for lane in range(LANES):
            at_least_one = met[lane] if met[lane] > one else one
            row[lane] += times * np.float64(half + half * won[lane] / at_least_one)  # 0.5 where no hole is met


@inner
def _meet_clusters(game: Showdowns, live: int, member: F32, work: Lanes) -> None:
    """Opponent holes beaten minus lost to, and met, by cluster. OUT: `work.won`, `work.met`."""
    group = 0
    for i in range(live):
        hole = game.order[i]
        work.cards.card1[i] = game.card1[hole]
        work.cards.card2[i] = game.card2[hole]
        store(work.reach, i, load(member, hole))
        if i == 0 or game.rank[hole] != game.rank[game.order[i - 1]]:
            work.groups[group, 0] = work.groups[group, 1] = np.uint16(i)
            group += 1
    work.groups[group, 0] = work.groups[group, 1] = np.uint16(live)
    cards = Cards(work.cards.card1[:live], work.cards.card2[:live])
    groups = work.groups[: group + 1]
    showdown_lanes(work.reach, work.won, work.run, cards, cards, groups, 0, game.two_cards)
    meeting_lanes(work.reach, work.met, work.run, cards, cards, work.place, game.two_cards)


@kernel
def next_rows(
    block: HandBlock, tables: HandTables, deals: Deals, next_index: IndexTables, table: Any, cards: U8, out: U16
) -> None:
    """The next street's buckets of the hands of a block, one for each deal of the next street's cards.

    IN: the block, [hand of the next street]; scratch: uint8[card of such a hand]; OUT: uint16[place, deal].
    """
    boards, first, holes = block.boards, block.first, block.hole
    hole_cards = tables.hole_card.shape[1]
    for board in range(boards.shape[0]):
        found, _ = list_deals(boards[board], tables, deals, False)
        for place in range(first[board], first[board + 1]):
            held = hole_mask(holes[place], tables)
            for i in range(hole_cards):
                cards[i] = tables.hole_card[holes[place], i]
            for i in range(boards.shape[1]):
                cards[hole_cards + i] = boards[board, i]
            at = 0
            for number in range(found):
                dealt = _0
                for i in range(deals.place.size):
                    card = deals.sets[number, i]
                    dealt |= tables.card_mask[card]
                    cards[hole_cards + boards.shape[1] + i] = card
                if dealt & held == _0:
                    out[place, at] = table[hand_index(cards, next_index)]
                    at += 1
