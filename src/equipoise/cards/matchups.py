"""The equity of one hole against every hole when the rest of the board is dealt at random and nobody folds.

Every completion of a partial board is ranked once for all opponent holes. Before any board there are too many
completions for that (hold'em: 2,118,760 for each hole): a table of all pairs is built once and cached, by comparing all
pairs on one board of each class under renamings of the suits and averaging the counts over the renamings. Counts are
integers, so results are exact up to the final rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import comb
from typing import NamedTuple, Protocol

import numpy as np

from equipoise.cards.deck import Deck, check_hole_cards, hole_cards
from equipoise.cards.hand_ranks import BLOCKED, Ranker, RankTables, rank_holes_on_board, rank_of_key
from equipoise.cards.symmetry import deal_classes, renamed_holes, renamings_that_keep
from equipoise.core.arrays import Int
from equipoise.core.errors import InputError
from equipoise.core.files.cache import mapped_arrays
from equipoise.core.jit import F32, F64, I32, U8, U16, inlined, inner, kernel
from equipoise.core.machine import thread_count
from equipoise.core.progress import Fraction

MOST_RUNOUTS = 30_000  # of an empty board: beyond, a table of all pairs is built once
BATCH = 512  # boards whose ranks are held at a time; their number must fit sixteen bits
PIECES = 48
FORMAT = 1  # of the kept table

_0 = np.uint64(0)
FLUSH = np.uint64(0x8888 << 32)  # set in a key that has a flush: see hand_ranks.py
TWO_SUITED = np.uint64(0x2222 << 32)  # two cards more of every suit
_tables: dict[tuple[Ranker, int], F32] = {}


class Game(Protocol):
    """The rules that equities depend on."""

    @property
    def deck(self) -> Deck: ...

    @property
    def hole_cards(self) -> int: ...

    @property
    def ranker(self) -> Ranker: ...


def equities_against(game: Game, hole: int, board: Sequence[int] = ()) -> F64:
    """[opponent's hole] the equity of a hole (ties count half) on a board of any size.

    0 where the opponent's hole shares a card with it or with the board, so that it can be multiplied by weights.
    """
    check_hole_cards(game.hole_cards, "equity")
    if not 0 <= hole < game.deck.holes(game.hole_cards):
        raise InputError(f"no hole number {hole}", remedy=f"use 0 to {game.deck.holes(game.hole_cards) - 1}")
    mine, size = hole_cards(hole, game.hole_cards), game.ranker.cards - game.hole_cards
    game.deck.check_cards((*mine, *board))
    if len(board) > size:
        raise InputError(f"a board of {len(board)} cards", remedy=f"give up to {size}")
    if needs_table(game) and not board:
        return np.asarray(equity_table(game)[hole], np.float64)
    return _enumerated(game, mine, board, size - len(board))


def _enumerated(game: Game, mine: Sequence[int], board: Sequence[int], missing: int) -> F64:
    """The same by enumerating all completions of the board."""
    deck = game.deck
    left = deck.size - len(mine) - len(board)
    halves = np.zeros(deck.holes(game.hole_cards), np.int32)
    cards, place = np.array([*mine, *board], np.uint8), np.arange(missing, dtype=np.uint8)
    pairs = deck.ranks * (deck.ranks + 1) // 2
    buffers = RunoutBuffers(
        np.empty(deck.size, np.uint8),
        np.empty(deck.size, np.uint8),
        np.empty(deck.ranks, np.uint8),
        np.empty(pairs, np.int32),
        np.zeros((deck.size + 1, pairs), np.int32),
    )
    count_runouts(cards, len(mine), comb(left, missing), deck.suits, game.ranker.tables, place, buffers, halves)
    return halves / (2.0 * comb(left - game.hole_cards, missing))


class RunoutBuffers(NamedTuple):
    """Scratch of `count_runouts`."""

    live: U8  # [deck] cards off hole and board
    left: U8  # [deck] cards also off the runout
    held: U8  # [rank] the number on board and runout
    here: I32  # [pair of ranks] on one runout: 2 for a win, 1 for a tie
    sums: I32  # [card + 1, pair of ranks] over runouts with a card; the last row over all; zero at first


@kernel
def count_runouts(
    cards: U8, hole_cards: Int, runouts: Int, suits: Int, tables: RankTables, place: U8, buffers: RunoutBuffers,
    halves: I32,
) -> None:  # fmt: skip
    """Add 2 for every hole that the hole beats on a completed board, 1 for every tie.

    Where no hole of two cards can have a flush, only ranks matter: 91 pairs of ranks represent all holes. Blocked holes
    are corrected for at the end: all runouts - those with the first card - those with the second + those with both.
    IN: uint8[card], the hole and then the board; scratch: uint8[card to come], 0, 1, 2, ...; OUT: int32[hole].
    """
    live, left, held, here, sums = buffers.live, buffers.left, buffers.held, buffers.here, buffers.sums
    start, hole_key, mask, hole_mask = tables.start, _0, _0, _0
    for i in range(cards.size):
        if i < hole_cards:
            hole_key += tables.card_key[cards[i]]
            hole_mask |= tables.card_mask[cards[i]]
        else:
            start += tables.card_key[cards[i]]
            mask |= tables.card_mask[cards[i]]
    count = 0
    for card in range(tables.card_key.size):
        if tables.card_mask[card] & (mask | hole_mask) == _0:
            live[count] = np.uint8(card)
            count += 1
    for _ in range(runouts):
        key, full = start, mask
        for i in range(place.size):
            key += tables.card_key[live[place[i]]]
            full |= tables.card_mask[live[place[i]]]
        rank = rank_of_key(key + hole_key, full | hole_mask, tables.row_start, tables.ranks)
        if hole_cards == 2 and (key + TWO_SUITED) & FLUSH == _0:
            _count_held(cards[hole_cards:], live, place, suits, held)
            _compare_ranks(key, rank, suits, held, tables, here)
            _add_ranks(live, place, suits, here, sums, halves)
        else:
            there, taken = 0, 0
            for i in range(count):
                if taken < place.size and place[taken] == i:
                    taken += 1
                else:
                    left[there] = live[i]
                    there += 1
            if hole_cards == 2:
                _compare_pairs(left[:there], key, full, rank, tables, halves)
            else:
                _compare_cards(left[:there], key, full, rank, tables, halves)
        for i in range(place.size):  # the next set, colexicographically
            if i == place.size - 1 or place[i] + 1 < place[i + 1]:
                place[i] += np.uint8(1)
                for j in range(i):
                    place[j] = np.uint8(j)
                break
    if hole_cards == 2:
        _spread_ranks(live[:count], suits, sums, halves)


@inlined
def _count_held(board: U8, live: U8, place: U8, suits: Int, held: U8) -> None:
    held[:] = np.uint8(0)
    for card in board:
        held[card // suits] += np.uint8(1)
    for i in range(place.size):
        held[live[place[i]] // suits] += np.uint8(1)


@inner
def _compare_ranks(key: np.uint64, rank: np.uint16, suits: Int, held: U8, tables: RankTables, here: I32) -> None:
    """Two ranks against the hole. Those that the cards left cannot make are not looked up: no table has such hands."""
    card_key, row_start, ranks = tables.card_key, tables.row_start, tables.ranks
    at = 0
    for high in range(held.size):
        key_high = key + card_key[np.int64(high * suits)]
        for low in range(high + 1):
            here[at] = 0
            if held[high] + (2 if low == high else 1) <= suits and held[low] < suits:
                other = rank_of_key(key_high + card_key[np.int64(low * suits)], _0, row_start, ranks)
                here[at] = np.int32(rank > other) + np.int32(rank >= other)
            at += 1


@inlined
def _add_ranks(live: U8, place: U8, suits: Int, here: I32, sums: I32, halves: I32) -> None:
    row = sums[sums.shape[0] - 1]
    for at in range(here.size):
        row[at] += here[at]
    for i in range(place.size):
        high = np.int64(live[place[i]])
        row = sums[high]
        for at in range(here.size):
            row[at] += here[at]
        for j in range(i):
            low = np.int64(live[place[j]])
            halves[high * (high - 1) // 2 + low] += here[_pair(high // suits, low // suits)]


@inner
def _spread_ranks(live: U8, suits: Int, sums: I32, halves: I32) -> None:
    everything = sums[sums.shape[0] - 1]
    for i in range(1, live.size):
        high = np.int64(live[i])
        for j in range(i):
            low = np.int64(live[j])
            at = _pair(high // suits, low // suits)
            halves[high * (high - 1) // 2 + low] += everything[at] - sums[high, at] - sums[low, at]


@inlined
def _pair(high: Int, low: Int) -> Int:
    """The number of a pair of ranks, the higher one first."""
    return high * (high + 1) // 2 + low


@inner
def _compare_pairs(left: U8, key: np.uint64, mask: np.uint64, rank: np.uint16, tables: RankTables, halves: I32) -> None:
    row_start, table, card_key, card_mask = tables.row_start, tables.ranks, tables.card_key, tables.card_mask
    for i in range(1, left.size):
        high = np.uint32(left[i])
        key_high, mask_high = key + card_key[high], mask | card_mask[high]
        row = halves[high * (high - np.uint32(1)) >> np.uint32(1) :]
        for j in range(i):
            low = left[j]
            other = rank_of_key(key_high + card_key[low], mask_high | card_mask[low], row_start, table)
            row[low] += np.int32(rank > other) + np.int32(rank >= other)


@inner
def _compare_cards(left: U8, key: np.uint64, mask: np.uint64, rank: np.uint16, tables: RankTables, halves: I32) -> None:
    for card in left:
        other = rank_of_key(key + tables.card_key[card], mask | tables.card_mask[card], tables.row_start, tables.ranks)
        halves[card] += np.int32(rank > other) + np.int32(rank >= other)


def needs_table(game: Game) -> bool:
    """Whether a hole has too many boards to enumerate for each question."""
    deck, board = game.deck, game.ranker.cards - game.hole_cards
    return comb(deck.size - game.hole_cards, board) > MOST_RUNOUTS


def equity_table(game: Game, *, threads: int = 0, progress: Fraction | None = None) -> F32:
    """[hole, opponent's hole] the equities of all pairs before any board, from the cache or built."""
    ranker, count = game.ranker, game.hole_cards
    check_hole_cards(count, "equity")
    if (ranker, count) not in _tables:
        key = f"equities of pairs, format {FORMAT}: {ranker!r}, {count}"
        kept = mapped_arrays(
            "matchups",
            ("share",),
            key,
            lambda: {"share": _build_table(ranker, count, thread_count(threads), progress)},
        )
        _tables[ranker, count] = kept["share"]  # type: ignore[assignment]
    return _tables[ranker, count]


def _build_table(ranker: Ranker, hole_cards: int, threads: int, progress: Fraction | None) -> F32:
    deck, board_cards = ranker.deck, ranker.cards - hole_cards
    holes = deck.holes(hole_cards)
    renamings = renamings_that_keep(deck, hole_cards, [np.ones(holes)])
    boards, times = deal_classes(deck, (), board_cards, renamings)
    order = np.argsort(times, kind="stable")
    boards, times = boards[order], times[order]
    cuts = sorted({*range(0, len(boards), BATCH), *(np.flatnonzero(np.diff(times)) + 1).tolist(), len(boards)})
    batches = list(pairwise(cuts))  # within a batch all classes have the same size

    def work(piece: int) -> I32:
        wins, beaten = np.zeros((holes, holes), np.int32), np.empty(holes, np.uint16)
        ranks, live = np.empty((BATCH, holes), np.uint16), np.empty(deck.size, np.uint8)
        for first, end in batches[piece::PIECES]:
            rank_batch(boards[first:end], hole_cards, ranker.tables, live, ranks)
            add_wins(ranks[: end - first], np.int32(times[first]), beaten, wins)
        return wins

    wins = np.zeros((holes, holes), np.int32)
    with ThreadPoolExecutor(threads) as pool:
        for done, part in enumerate(pool.map(work, range(PIECES)), 1):
            wins += part
            if progress:
                progress(done / PIECES)
    total = np.zeros((holes, holes), np.int64)
    for renaming in renamings:
        goes_to = renamed_holes(deck, hole_cards, renaming)
        total += wins[np.ix_(goes_to, goes_to)]
    boards_each = comb(deck.size - 2 * hole_cards, board_cards) * len(renamings)
    share = (0.5 + (total - total.T) / (2.0 * boards_each)).astype(np.float32)
    share[_share_a_card(deck, hole_cards)] = 0
    return share


def _share_a_card(deck: Deck, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """[hole, hole]."""
    holds = np.zeros((deck.holes(count), deck.size), np.float32)
    for hole in range(len(holds)):
        holds[hole, list(hole_cards(hole, count))] = 1
    return holds @ holds.T > 0


@kernel
def rank_batch(boards: U8, hole_cards: Int, tables: RankTables, live: U8, ranks: U16) -> None:
    """All holes of some boards. IN: uint8[board, card]; scratch: uint8[deck]; OUT: uint16[board, hole]."""
    for board in range(boards.shape[0]):
        rank_holes_on_board(boards[board], hole_cards, tables, live, ranks[board])


@kernel
def add_wins(ranks: U16, times: np.int32, beaten: U16, wins: I32) -> None:
    """Add how often each hole beats each. IN: uint16[board, hole]; scratch: uint16[hole]; OUT: int32[hole, hole].

    Sixteen bits throughout, so that sixteen holes are compared at a time. A blocked hole has the highest rank: no hole
    beats it, and it is itself skipped.
    """
    for hole in range(ranks.shape[1]):
        beaten[:] = np.uint16(0)
        for board in range(ranks.shape[0]):
            rank = ranks[board, hole]
            if rank != np.uint16(BLOCKED):
                others = ranks[board]
                for other in range(beaten.size):
                    beaten[other] += np.uint16(others[other] < rank)
        row = wins[hole]
        for other in range(beaten.size):
            row[other] += times * np.int32(beaten[other])
