"""The hands of one street (hole cards and unordered board, up to a renaming of suits), and a walk over all of them.

The walk visits one board of each class under renamings of the suits. On a board, holes that its symmetries (the
renamings that keep it) map to each other are one hand, represented by the first hole. So every hand is visited exactly
once, and different boards have different hands: threads that work on different boards write different rows.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from equipoise.cards.isomorphism import HandIndexer, IndexTables, hand_index
from equipoise.cards.symmetry import deal_classes, hole_card_table, renamed_cards, renamed_holes
from equipoise.core.arrays import Int
from equipoise.core.errors import InputError
from equipoise.core.files.cache import mapped_arrays
from equipoise.core.jit import I64, U8, U16, U64, inlined, kernel
from equipoise.core.machine import thread_count
from equipoise.core.progress import Fraction
from equipoise.games.rules import GameRules

FORMAT = 1  # of the arrays cached on disk: increase it when the meaning of a feature changes
SMALL = 1 << 20  # bytes: smaller arrays are faster to compute than to load
BOARDS_AT_ONCE = 64
WORK_AT_ONCE = 1024  # deals of further cards: about ten milliseconds

Result = TypeVar("Result")
_0 = np.uint64(0)


class HandTables(NamedTuple):
    """The tables that a kernel needs to list the hands of a board."""

    indexing: IndexTables
    card_mask: U64  # [card] one bit
    hole_card: U8  # [hole, card]
    renamed_card: U8  # [renaming, card]
    renamed_hole: U16  # [renaming, hole]
    lanes: U64  # [renaming, suit] where the lane of a suit goes: see `cards/symmetry.py`
    lane_mask: U64  # [card]


class HandBlock(NamedTuple):
    """The hands of some boards of the walk; each hand has one place in the block."""

    boards: U8  # [board, card]
    sizes: U16  # [board] the number of boards in its class
    first: I64  # [board + 1] the first place of each board
    hole: U16  # [place]
    times: U8  # [place] the number of holes of the board that are this hand
    hand: U64  # [place] the hand's index


@inlined
def symmetries(board: U8, tables: HandTables, kept: U8) -> int:
    """The renamings that keep a board. IN: uint8[card]; OUT: uint8[renaming]. Returns their number."""
    mask = _0
    for card in board:
        mask |= tables.card_mask[card]
    count = 0
    for renaming in range(tables.renamed_card.shape[0]):
        image = _0
        for card in board:
            image |= tables.card_mask[tables.renamed_card[renaming, card]]
        if image == mask:
            kept[count] = np.uint8(renaming)
            count += 1
    return count


@inlined
def hole_mask(hole: Int, tables: HandTables) -> np.uint64:
    """The cards of a hole, as bits."""
    mask = _0
    for i in range(tables.hole_card.shape[1]):
        mask |= tables.card_mask[tables.hole_card[hole, i]]
    return mask


@kernel
def list_hands(
    boards: U8, tables: HandTables, kept: U8, cards: U8, first: I64, hole: U16, times: U8, hand: U64
) -> None:
    """The hands of boards, each by its first hole.

    IN: uint8[board, card]; scratch: uint8[renaming], uint8[card of a hand]; OUT: see `HandBlock`.
    """
    place = 0
    hole_cards = tables.hole_card.shape[1]
    for board in range(boards.shape[0]):
        first[board] = place
        count = symmetries(boards[board], tables, kept)
        dead = _0
        for i in range(boards.shape[1]):
            cards[hole_cards + i] = boards[board, i]
            dead |= tables.card_mask[boards[board, i]]
        for here in range(tables.hole_card.shape[0]):
            if hole_mask(here, tables) & dead:
                continue
            same = 0
            for i in range(count):
                image = tables.renamed_hole[kept[i], here]
                if image < here:
                    same = 0
                    break
                same += image == here
            if same:
                for i in range(hole_cards):
                    cards[i] = tables.hole_card[here, i]
                hole[place] = np.uint16(here)
                times[place] = np.uint8(count // same)
                hand[place] = hand_index(cards, tables.indexing)
                place += 1
    first[boards.shape[0]] = place


@kernel
def scatter_rows(hand: U64, rows: Any, out: Any) -> None:
    """IN: uint64[row] hands, [row, value]; OUT: [hand, value], the rows of these hands."""
    for row in range(rows.shape[0]):
        here = out[hand[row]]
        for i in range(rows.shape[1]):
            here[i] = rows[row, i]


@dataclass(frozen=True)
class HandSpace:
    """The hands of one street of a game, numbered 0 to `size` - 1.

    >>> from equipoise import load_game
    >>> [HandSpace(load_game("holdem.limit"), street).size for street in range(4)]
    [169, 1286792, 13960050, 123156254]
    """

    rules: GameRules
    street: int

    def __post_init__(self) -> None:
        if not 0 <= self.street < self.rules.rounds:
            raise InputError(f"street {self.street}", remedy=f"use 0 to {self.rules.rounds - 1}")

    @property
    def board_cards(self) -> int:
        """The number of board cards."""
        return self.rules.board_size(self.street)

    @property
    def last(self) -> bool:
        """Whether this is the last deal."""
        return self.board_cards == sum(self.rules.board_cards)

    @cached_property
    def indexer(self) -> HandIndexer:
        """The index of hands: hole cards, then all board cards as one round."""
        return HandIndexer(self.rules.unordered_deals(self.street), self.rules.deck)

    @property
    def size(self) -> int:
        """The number of hands."""
        return self.indexer.size

    @cached_property
    def _classes(self) -> tuple[U8, U16]:
        renamings = tuple(itertools.permutations(range(self.rules.deck.suits)))
        boards, sizes = deal_classes(self.rules.deck, (), self.board_cards, renamings)
        return boards.copy(), sizes.copy()

    @property
    def boards(self) -> U8:
        """uint8[board, card]: one board of each class under renamings of the suits."""
        return self._classes[0]

    @property
    def board_sizes(self) -> U16:
        """uint16[board]: the number of boards in each class."""
        return self._classes[1]

    @cached_property
    def tables(self) -> HandTables:
        """The arrays for kernels."""
        deck, count = self.rules.deck, self.rules.hole_cards
        renamings = tuple(itertools.permutations(range(deck.suits)))
        return HandTables(
            indexing=self.indexer.tables,
            card_mask=np.array([1 << card for card in range(deck.size)], np.uint64),
            hole_card=hole_card_table(deck, count),
            renamed_card=np.array([renamed_cards(deck, renaming) for renaming in renamings], np.uint8),
            renamed_hole=np.array([renamed_holes(deck, count, renaming) for renaming in renamings]),
            lanes=np.array(renamings, np.uint64) * np.uint64(16),
            lane_mask=np.array([1 << 16 * deck.suit(card) + deck.rank(card) for card in range(deck.size)], np.uint64),
        )

    @cached_property
    def weights(self) -> U8:
        """uint8[hand]: the number of deals of hole and board that are this hand (at most 24, the renamings of one)."""

        def work(block: HandBlock) -> tuple[U8]:
            return ((np.repeat(block.sizes, np.diff(block.first)) * block.times).astype(np.uint8),)

        def build() -> dict[str, Any]:
            weights = np.zeros(self.size, np.uint8)
            fill(self, work, (weights,))
            return {"weights": weights}

        weights: U8 = self.kept("hands", ("weights",), self.size, build)["weights"]
        return weights

    def kept(
        self, name: str, members: tuple[str, ...], size: int, build: Callable[[], dict[str, Any]], *parameters: object
    ) -> dict[str, Any]:
        """Arrays of this street's hands, from the disk cache if possible; arrays below SMALL bytes are not cached."""
        if size < SMALL:
            return build()
        rules = self.rules
        ranking = "three-card" if rules.three_card else "standard"
        cards = (rules.deck.ranks, rules.deck.suits, rules.hole_cards, rules.board_cards, ranking, self.street)
        return dict(mapped_arrays(name, members, repr((FORMAT, name, cards, parameters)), build))

    def list_block(self, start: int, end: int) -> HandBlock:
        """The hands of the boards `start` to `end` - 1."""
        return self.hands_of(self.boards[start:end], self.board_sizes[start:end])

    def hands_of(self, boards: U8, sizes: U16) -> HandBlock:
        """The hands of some boards. IN: uint8[board, card], uint16[board] how many boards are in the class of each."""
        holes, renamings = len(self.tables.hole_card), len(self.tables.renamed_card)
        first = np.empty(len(boards) + 1, np.int64)
        hole = np.empty(len(boards) * holes, np.uint16)
        times = np.empty(hole.size, np.uint8)
        hand = np.empty(hole.size, np.uint64)
        cards = np.empty(self.rules.hole_cards + self.board_cards, np.uint8)
        list_hands(boards, self.tables, np.empty(renamings, np.uint8), cards, first, hole, times, hand)
        count = int(first[-1])
        return HandBlock(boards, sizes, first, hole[:count], times[:count], hand[:count])


def walk_hands(
    space: HandSpace,
    work: Callable[[HandBlock], Result],
    *,
    deals: int = 1,
    threads: int | None = None,
    progress: Fraction | None = None,
) -> Iterator[tuple[HandBlock, Result]]:
    """Each block of hands with the result of `work`, in board order; `deals` is the amount of work per board."""
    threads = thread_count(threads)
    step = max(1, min(BOARDS_AT_ONCE, WORK_AT_ONCE // deals))

    def one(start: int) -> tuple[HandBlock, Result]:
        block = space.list_block(start, start + step)
        return block, work(block)

    waiting: deque[Future[tuple[HandBlock, Result]]] = deque()
    done = 0
    with ThreadPoolExecutor(threads) as pool:
        starts = iter(range(0, len(space.boards), step))
        waiting.extend(pool.submit(one, start) for start in itertools.islice(starts, 2 * threads))
        while waiting:
            block, result = waiting.popleft().result()
            waiting.extend(pool.submit(one, start) for start in itertools.islice(starts, 1))
            yield block, result
            done += len(block.boards)
            if progress:
                progress(done / len(space.boards))


def fill(
    space: HandSpace,
    work: Callable[[HandBlock], Sequence[Any]],
    out: Sequence[Any],
    *,
    deals: int = 1,
    threads: int | None = None,
    progress: Fraction | None = None,
) -> None:
    """Fill arrays indexed by hand with the rows that `work` returns for each block; one or two axes."""

    def put(block: HandBlock) -> None:
        for rows, array in zip(work(block), out, strict=True):
            width = array.shape[1] if array.ndim == 2 else 1
            scatter_rows(block.hand, rows.reshape(len(rows), width), array.reshape(len(array), width))

    for _ in walk_hands(space, put, deals=deals, threads=threads, progress=progress):
        pass
