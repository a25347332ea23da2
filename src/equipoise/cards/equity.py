"""Exact equity of a hold'em range against a range, on any board.

Every completion of the board is ranked once for all holes of both ranges. One pass over the sorted holes then gives,
for each hole, the weight of the opponent's holes that it beats, ties and meets, with exact card removal: the holes that
share no card with mine weigh (all) - (those with my first card) - (those with my second) + (mine itself).

Completions that differ only by a renaming of suits that keeps the board and the ranges are evaluated once and counted
as often as they occur; results by hole are then averaged over these renamings.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np

from equipoise.cards.deck import FULL_DECK, hole_cards
from equipoise.cards.hand_ranks import BLOCKED, Ranker, RankTables, rank_of_key, showdown_order
from equipoise.cards.ranges import HOLES, Range, hole_text
from equipoise.cards.symmetry import Renaming, deal_classes, renamed_holes, renamings_that_keep
from equipoise.core.display import table_html
from equipoise.core.errors import InputError
from equipoise.core.jit import F64, U8, U16, U32, U64, inlined, kernel
from equipoise.core.machine import thread_count
from equipoise.core.progress import Fraction

BOARD_CARDS = 5
WIN, TIE, MET = 0, 1, 2  # rows of the tallies
_0 = np.uint64(0)


@dataclass(frozen=True)
class Equity:
    """The result, first player's view: shares of the pot won outright and tied, and per-hole equities of both."""

    win: float
    tie: float
    hole_equity: tuple[F64, F64]  # [hole], NaN where the range has no such hole or no opponent's hole fits
    boards: int  # how many completions of the board each pair of hands meets
    walked: int  # how many completions were evaluated

    def __repr__(self) -> str:
        return f"Equity({self.equity[0]:.2%} against {self.equity[1]:.2%})"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each hand of either side."""
        return [
            {"side": side, "hand": hole_text(hole), "equity": share}
            for side, shares in enumerate(self.hole_equity)
            for hole, share in enumerate(shares.tolist())
            if share == share
        ]

    _repr_html_ = table_html

    @property
    def lose(self) -> float:
        return 1 - self.win - self.tie

    @property
    def equity(self) -> tuple[float, float]:
        """Each side's share of the pot if nobody folds."""
        mine = self.win + self.tie / 2
        return mine, 1 - mine

    def as_json(self, *, by_hand: bool = False) -> dict[str, Any]:
        """Plain values, for `--json`; with the equity of each hand of both sides if wanted."""
        values: dict[str, Any] = {
            "equity": list(self.equity),
            "win": self.win,
            "tie": self.tie,
            "lose": self.lose,
            "boards": self.boards,
        }
        if by_hand:
            values["by_hand"] = [
                {hole_text(hole): share for hole, share in enumerate(shares.tolist()) if share == share}
                for shares in self.hole_equity
            ]
        return values


class _Holes(NamedTuple):
    """The holes of either range, as arrays for the kernel."""

    hole: U16  # [n]
    first: U8  # [n] cards
    second: U8
    key: U64
    mask: U64
    weight: F64  # [2, n]


class _Scratch(NamedTuple):
    """Scratch of `tally_boards`."""

    ranks: U16  # [n]
    order: U16  # [n]
    spare: U16  # [n]
    counts: U32  # [256]
    by_card: F64  # [2, card]


def equity(
    first: Range | str,
    second: Range | str,
    board: Iterable[int] | str = (),
    *,
    threads: int = 0,
    progress: Fraction | None = None,
) -> Equity:
    """The equity of one range against another, texts or values; `progress` receives the fraction done.

    >>> result = equity("AhKh", "QdQc", "2c 7d Jh")
    >>> round(result.equity[0], 4)
    0.2899
    """
    first = Range.read(first) if isinstance(first, str) else first
    second = Range.read(second) if isinstance(second, str) else second
    given = FULL_DECK.read_cards(board) if isinstance(board, str) else tuple(board)
    _check_board(given)
    ranges = first.without(given), second.without(given)
    for side, before, after in ((1, first, ranges[0]), (2, second, ranges[1])):
        if not after.weights.any():
            what = f"range {side} ({before}) has no hand left on this board" if given else f"range {side} is empty"
            raise InputError(what, remedy="remove the card from the range or from the board")
    ranker = Ranker()
    holes = _pack(ranges, ranker.tables)
    renamings = renamings_that_keep(FULL_DECK, 2, [side.weights for side in ranges], given)
    more, times = deal_classes(FULL_DECK, given, BOARD_CARDS - len(given), renamings)
    boards = np.hstack([np.tile(np.array(given, np.uint8), (len(more), 1)), more])
    tally = _tally(holes, boards, times, ranker.tables, thread_count(threads), progress)
    return _result(tally, len(boards), holes, renamings, len(given))


def _check_board(board: tuple[int, ...]) -> None:
    FULL_DECK.check_distinct(board)
    if len(board) not in (0, 3, 4, 5):
        raise InputError(f"a board of {len(board)} cards", remedy="give none, three, four or five")


def _pack(ranges: tuple[Range, Range], tables: RankTables) -> _Holes:
    weights = np.stack([ranges[0].weights, ranges[1].weights])
    used = np.flatnonzero(weights.any(axis=0))
    cards = np.array([hole_cards(int(hole)) for hole in used], np.uint8)
    return _Holes(
        hole=used.astype(np.uint16),
        first=np.ascontiguousarray(cards[:, 0]),
        second=np.ascontiguousarray(cards[:, 1]),
        key=tables.card_key[cards[:, 0]] + tables.card_key[cards[:, 1]],
        mask=tables.card_mask[cards[:, 0]] | tables.card_mask[cards[:, 1]],
        weight=np.ascontiguousarray(weights[:, used]),
    )


def _tally(
    holes: _Holes,
    boards: U8,
    times: U16,
    tables: RankTables,
    threads: int,
    progress: Fraction | None,
) -> F64:
    """Tallies float64[2, 3, n] over all boards. Pieces are summed in order: any number of threads gives the same."""
    count = len(holes.hole)
    pieces = max(1, min(200, len(boards) // 500))
    cuts = [len(boards) * i // pieces for i in range(pieces + 1)]

    def work(piece: int) -> F64:
        tally = np.zeros((2, 3, count))
        here = slice(cuts[piece], cuts[piece + 1])
        ranks, order, spare = np.empty((3, count), np.uint16)
        scratch = _Scratch(ranks, order, spare, np.empty(256, np.uint32), np.empty((2, FULL_DECK.size)))
        tally_boards(boards[here], times[here], holes, tables, scratch, tally)
        return tally

    total = np.zeros((2, 3, count))
    with ThreadPoolExecutor(threads) as pool:
        for done, tally in enumerate(pool.map(work, range(pieces)), 1):
            total += tally
            if progress:
                progress(done / pieces)
    return total


@kernel
def tally_boards(
    boards: U8,
    times: U16,
    holes: _Holes,
    tables: RankTables,
    scratch: _Scratch,
    tally: F64,
) -> None:
    """Add what both sides' holes win, tie and meet on each board.

    IN: uint8[board, 5], uint16[board]; OUT: float64[2, 3, n].
    """
    ranks, order = scratch.ranks, scratch.order
    for board in range(boards.shape[0]):
        key = tables.start
        mask = _0
        for i in range(boards.shape[1]):
            key += tables.card_key[boards[board, i]]
            mask |= tables.card_mask[boards[board, i]]
        for i in range(ranks.size):
            if holes.mask[i] & mask:
                ranks[i] = np.uint16(BLOCKED)
            else:
                ranks[i] = rank_of_key(key + holes.key[i], mask | holes.mask[i], tables.row_start, tables.ranks)
        count = showdown_order(ranks, order, scratch.spare, scratch.counts)
        for side in range(2):
            weight = holes.weight[1 - side]
            _tally_side(order[:count], ranks, holes, weight, scratch.by_card, np.float64(times[board]), tally[side])


@inlined
def _tally_side(
    order: U16, ranks: U16, holes: _Holes, weight: F64, by_card: F64, times: np.float64, tally: F64
) -> None:
    """One side's tallies on one board, against the other side's weights. Scratch: float64[2, deck]."""
    weaker, upto = by_card[0], by_card[1]  # by card: the opponent's weight below my group of ties, and up to its end
    weaker[:] = 0.0
    upto[:] = 0.0
    all_weaker = 0.0
    all_upto = 0.0
    start = 0
    while start < order.size:
        end = start
        while end < order.size and ranks[order[end]] == ranks[order[start]]:
            i = order[end]
            all_upto += weight[i]
            upto[holes.first[i]] += weight[i]
            upto[holes.second[i]] += weight[i]
            end += 1
        for i in order[start:end]:
            a, b = holes.first[i], holes.second[i]
            win = all_weaker - weaker[a] - weaker[b]
            tally[WIN, i] += times * win
            tally[TIE, i] += times * (all_upto - upto[a] - upto[b] + weight[i] - win)
        for i in order[start:end]:
            all_weaker += weight[i]
            weaker[holes.first[i]] += weight[i]
            weaker[holes.second[i]] += weight[i]
        start = end
    for i in order:
        tally[MET, i] += times * (all_upto - upto[holes.first[i]] - upto[holes.second[i]] + weight[i])


def _result(tally: F64, walked: int, holes: _Holes, renamings: tuple[Renaming, ...], given: int) -> Equity:
    by_hole = np.zeros((2, 3, HOLES))
    by_hole[:, :, holes.hole] = tally
    by_hole = np.mean([by_hole[:, :, renamed_holes(FULL_DECK, 2, renaming)] for renaming in renamings], axis=0)
    weights = np.zeros((2, HOLES))
    weights[:, holes.hole] = holes.weight
    win, tie, met = (by_hole[0] * weights[0]).sum(axis=1)
    if not met > 0:
        raise InputError("the two ranges never meet: each hand blocks the other", remedy="add hands that share no card")
    with np.errstate(invalid="ignore"):
        shares = np.where(weights > 0, (by_hole[:, WIN] + by_hole[:, TIE] / 2) / by_hole[:, MET], np.nan)
    boards = comb(FULL_DECK.size - given - 4, BOARD_CARDS - given)
    return Equity(float(win / met), float(tie / met), (shares[0], shares[1]), boards, walked)
