"""Benchmarks of `cards/`: hand ranks, showdown order, isomorphism indices, equity.

Peers: phevaluator called per hand, as one does from Python; the same ranker in C, compiled here, as the bound of what
the machine can do (absent where there is no compiler); for the index, a compiled naive canonical form.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.bench.measure import Benchmark, Work, compare
from equipoise.cards.equity import equity
from equipoise.cards.hand_ranks import Ranker, RankTables, rank_hands, rank_pairs_on_board, showdown_order
from equipoise.cards.isomorphism import (
    HandIndexer,
    IndexTables,
    hand_index,
    hand_of_index,
    hands_of_indices,
    index_hands,
)
from equipoise.core.jit import U8, U16, U32, U64, kernel

HANDS = 200_000
BOARDS = 500
LIVE_HOLES = 1081
C_TWIN = "the same in C, gcc -O3"


def run() -> list[Benchmark]:
    """All benchmarks of the group."""
    rng = np.random.default_rng(1)
    hands = np.argsort(rng.random((HANDS, 52)), axis=1)[:, :7].astype(np.uint8)
    boards = np.ascontiguousarray(hands[:BOARDS, :5])
    return [*_ranks(np.ascontiguousarray(hands), boards), *_indices(np.ascontiguousarray(hands)), _equity()]


def _ranks(hands: U8, boards: U8) -> list[Benchmark]:
    tables = Ranker().tables
    out = np.empty(HANDS, np.uint16)
    live, ranks, order, scratch = np.empty(52, np.uint8), *np.empty((3, 1326), np.uint16)
    counts = np.empty(256, np.uint32)
    twin = _c_twin(tables)
    return [
        compare(
            "random 7-card ranks", "hands/s", Work(lambda: rank_hands(hands, tables, out), HANDS),
            C_TWIN, Work(lambda: twin.hands(hands, out), HANDS) if twin else None,
        ),
        compare(
            "random 7-card ranks", "hands/s", Work(lambda: rank_hands(hands, tables, out), HANDS),
            "phevaluator", _phevaluator_hands(hands[:2000]),
        ),
        compare(
            "all holes of a board", "holes/s",
            Work(lambda: rank_all_boards(boards, tables, live, ranks), BOARDS * LIVE_HOLES),
            C_TWIN, Work(lambda: twin.boards(boards, ranks), BOARDS * LIVE_HOLES) if twin else None,
        ),
        compare(
            "a board's ranks and showdown order", "boards/s",
            Work(lambda: order_boards(boards, tables, live, ranks, order, scratch, counts), BOARDS),
            "phevaluator and sort", _phevaluator_board(boards[0]),
        ),
    ]  # fmt: skip


@kernel
def rank_all_boards(boards: U8, tables: RankTables, live: U8, ranks: U16) -> None:
    """Rank all holes of many boards. IN: uint8[board, 5]; OUT: uint16[hole], of the last."""
    for board in range(boards.shape[0]):
        rank_pairs_on_board(boards[board], tables, live, ranks)


@kernel
def order_boards(boards: U8, tables: RankTables, live: U8, ranks: U16, order: U16, scratch: U16, counts: U32) -> None:
    """Rank and sort all holes of many boards."""
    for board in range(boards.shape[0]):
        rank_pairs_on_board(boards[board], tables, live, ranks)
        showdown_order(ranks, order, scratch, counts)


def _phevaluator_hands(hands: U8) -> Work | None:
    try:
        from phevaluator import evaluate_cards
    except ImportError:
        return None
    rows = hands.tolist()
    return Work(lambda: [evaluate_cards(*row) for row in rows], len(rows))


def _phevaluator_board(board: U8) -> Work | None:
    try:
        from phevaluator import evaluate_cards
    except ImportError:
        return None
    cards = board.tolist()
    holes = list(itertools.combinations([card for card in range(52) if card not in cards], 2))
    return Work(lambda: sorted((evaluate_cards(*cards, *hole), hole) for hole in holes), 1)


class _CTwin:
    """The ranker in C, loaded."""

    def __init__(self, library: ctypes.CDLL, tables: RankTables) -> None:
        self.library = library
        self.tables = tables

    def hands(self, hands: U8, out: U16) -> None:
        self._call(self.library.rank_sevens, hands, out)

    def boards(self, boards: U8, out: U16) -> None:
        self._call(self.library.rank_boards, boards, out)

    def _call(self, function: Any, cards: U8, out: U16) -> None:
        tables = (self.tables.card_key, self.tables.card_mask, self.tables.row_start, self.tables.ranks, out)
        addresses = [ctypes.c_void_p(array.ctypes.data) for array in tables]
        start = ctypes.c_uint64(int(self.tables.start))
        function(ctypes.c_void_p(cards.ctypes.data), ctypes.c_size_t(len(cards)), start, *addresses)


def _c_twin(tables: RankTables) -> _CTwin | None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source = Path(str(resources.files("equipoise.bench") / "c_twin.c"))
        library = Path(folder) / "c_twin.so"
        command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", str(library), str(source)]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            return None
        return _CTwin(ctypes.CDLL(str(library)), tables)


def _indices(hands: U8) -> list[Benchmark]:
    results = []
    indices = np.empty(HANDS, np.uint64)
    naive = "least of 24 suit renamings"
    peer = Work(lambda: canonical_masks(hands, 2, _RENAMINGS, indices), HANDS)
    for rounds in ((2, 5), (2, 3, 1, 1)):
        tables = HandIndexer(rounds).tables
        results.append(
            compare(
                f"hand to index, {list(rounds)}", "hands/s",
                Work(lambda tables=tables: index_hands(hands, tables, indices), HANDS), naive, peer,  # type: ignore[misc]
            )
        )  # fmt: skip
    indexer = HandIndexer((2, 5))
    wanted = np.random.default_rng(2).integers(0, indexer.size, HANDS, np.uint64)
    cards = np.empty((HANDS, 7), np.uint8)
    results.append(
        compare(
            "index to hand, [2, 5]", "hands/s",
            Work(lambda: hands_of_indices(wanted, indexer.tables, cards), HANDS), naive, peer,
        )
    )  # fmt: skip
    sweep = Work(lambda: sweep_all(indexer), indexer.size)
    results.append(
        compare("all of [2, 5] to hands and back, all cores", "hands/s", sweep, naive, peer, rounds=1, seconds=0.0)
    )
    return results


_RENAMINGS = np.array(list(itertools.permutations(range(4))), np.uint64) * np.uint64(16)


@kernel
def canonical_masks(hands: U8, hole: int, renamings: U64, out: U64) -> None:
    """The naive twin: of all renamings of the suits, the least pair of masks (hole, board), hashed into one word."""
    for hand in range(hands.shape[0]):
        least_hole = least_board = np.uint64(0xFFFFFFFFFFFFFFFF)
        for renaming in range(renamings.shape[0]):
            masks_hole = masks_board = np.uint64(0)
            for i in range(hands.shape[1]):
                card = np.uint64(hands[hand, i])
                bit = np.uint64(1) << (renamings[renaming, card & np.uint64(3)] + (card >> np.uint64(2)))
                if i < hole:
                    masks_hole |= bit
                else:
                    masks_board |= bit
            if masks_hole < least_hole or (masks_hole == least_hole and masks_board < least_board):
                least_hole, least_board = masks_hole, masks_board
        out[hand] = least_hole * np.uint64(0x9E3779B97F4A7C15) ^ least_board


@kernel
def sweep_indices(start: int, stop: int, tables: IndexTables, cards: U8) -> int:
    """Turn each index into its hand and back; returns how many did not come back. Scratch: uint8[card]."""
    shape = 0
    wrong = 0
    for index in range(start, stop):
        shape = hand_of_index(np.uint64(index), shape, tables, cards)
        wrong += hand_index(cards, tables) != np.uint64(index)
    return wrong


def sweep_all(indexer: HandIndexer) -> None:
    """The whole index space, to hands and back, on all cores; every index must come back."""
    pieces = 64
    cuts = [indexer.size * i // pieces for i in range(pieces + 1)]

    def work(piece: int) -> int:
        cards = np.empty(sum(indexer.rounds), np.uint8)
        return int(sweep_indices(cuts[piece], cuts[piece + 1], indexer.tables, cards))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if sum(pool.map(work, range(pieces))):
            raise AssertionError("an index did not come back")


def _equity() -> Benchmark:
    ours = Work(lambda: equity("AhKh", "QQ+,AKs", "2c 7d Jh", threads=1), 1)
    return compare("equity of a hand against a range, flop", "calls/s", ours, "phevaluator per pair", _naive_equity())


def _naive_equity() -> Work | None:
    try:
        from phevaluator import evaluate_cards
    except ImportError:
        return None
    from equipoise.cards.deck import FULL_DECK, hole_cards
    from equipoise.cards.ranges import Range

    board = FULL_DECK.read_cards("2c 7d Jh")
    mine = FULL_DECK.read_cards("AhKh")
    theirs = [hole_cards(int(hole)) for hole in np.flatnonzero(Range.read("QQ+,AKs").weights)]
    theirs = [hole for hole in theirs if not set(hole) & {*mine, *board}]

    def enumerate_all() -> float:
        won = count = 0.0
        for hole in theirs:
            live = [card for card in range(52) if card not in {*mine, *board, *hole}]
            for more in itertools.combinations(live, 2):
                a, b = evaluate_cards(*mine, *board, *more), evaluate_cards(*hole, *board, *more)
                won += 1.0 if a < b else 0.5 if a == b else 0.0
                count += 1
        return won / count

    return Work(enumerate_all, 1)
