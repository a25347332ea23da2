"""BucketMap: the bucket of every hand on every street, as tables on the isomorphism index.

A table maps a hand's index (hole cards and the board, its deals ordered or not) to a *cell*; on a lossless street the
index is the cell. The bucket is the cell, or a second table gives it for the cell and its *context*: the bucket on the
previous street (percentile buckets of perfect recall, where a table of ordered river hands would have billions of
entries) or the cluster of the public cards (hierarchical abstractions). A map answers two questions: the buckets of
all holes on a board and, in a kernel, the buckets of one deal. Files are memory-mapped; their header names the cards
and the recipe they were made for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from equipoise.cards.isomorphism import HandIndexer, IndexTables, hand_index
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.array_checks import check_array, check_indices
from equipoise.core.arrays import Int
from equipoise.core.display import table_html
from equipoise.core.errors import MOST_COUNT, InputError
from equipoise.core.files.array_file import FileHeader, load_arrays, save_arrays
from equipoise.core.jit import I32, I64, U8, U32, inlined, kernel
from equipoise.games.rules import GameRules

FORMAT = "equipoise buckets 2"
NONE, BEFORE, PUBLIC = 0, 1, 2  # contexts: none, the bucket on the previous street, the cluster of the public cards
BLOCKED = -1
MOST_BUCKETS = 2**31 - 1
MOST_DEALT = 255  # cards


class _StreetText(NamedTuple):
    deals: tuple[Annotated[int, Field(ge=0, le=MOST_DEALT)], ...]
    buckets: Annotated[int, Field(ge=1, le=MOST_COUNT)]
    context: Annotated[int, Field(ge=NONE, le=PUBLIC)]
    method: str


class MapHeader(FileHeader):
    """The header of a map."""

    cards: str
    fingerprint: str
    recipe: str
    perfect_recall: bool
    streets: tuple[_StreetText, ...]
    public: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=1, le=MOST_BUCKETS)]] | None
    about: dict[str, Any]


class BucketTables(NamedTuple):
    """A map for kernels; tuples are by street."""

    indexing: tuple[IndexTables, ...]
    cell: tuple[Any, ...]  # [hand]; empty: the hand's index is its cell
    join: tuple[U32, ...]  # [context, cell] flat; empty: the cell is the bucket
    cells: I64  # [street]
    context: U8  # [street]
    seen: U8  # [street] number of cards in a hand
    public_index: IndexTables
    public_label: U32  # [public state]; empty: there are no clusters
    public_seen: int  # number of board cards that are clustered
    hole_cards: int


@inlined
def bucket_of_street(cards: U8, street: Int, context: Int, tables: BucketTables) -> Int:
    """The bucket of one hand on one street. IN: uint8[card], hole cards first, then the board as it was dealt."""
    hand = hand_index(cards[: tables.seen[street]], tables.indexing[street])
    cell = np.int64(hand) if tables.cell[street].size == 0 else np.int64(tables.cell[street][hand])
    if tables.join[street].size == 0:
        return cell
    return np.int64(tables.join[street][context * tables.cells[street] + cell])


@inlined
def public_cluster(cards: U8, tables: BucketTables) -> Int:
    """The cluster of the public cards of a deal. IN: uint8[card] as above."""
    first = tables.hole_cards
    return np.int64(tables.public_label[hand_index(cards[first : first + tables.public_seen], tables.public_index)])


@inlined
def buckets_of_deal(cards: U8, streets: Int, tables: BucketTables, buckets: I64) -> None:
    """The buckets of one deal on the first `streets` streets. IN: uint8[card] as above; OUT: int64[street]."""
    cluster: Int = np.int64(0)
    if tables.public_label.size and cards.size >= tables.hole_cards + tables.public_seen:
        cluster = public_cluster(cards, tables)
    for street in range(streets):
        context: Int = cluster
        if tables.context[street] == BEFORE:
            context = buckets[street - 1]
        buckets[street] = bucket_of_street(cards, street, context, tables)


@kernel
def fill_buckets(deals: U8, streets: int, tables: BucketTables, buckets: I64) -> None:
    """IN: uint8[deal, card]; OUT: int64[deal, street]."""
    for i in range(deals.shape[0]):
        buckets_of_deal(deals[i], streets, tables, buckets[i])


@kernel
def fill_board(
    board: U8, street: int, hole_card: U8, before: I32, tables: BucketTables, cards: U8, buckets: I32
) -> None:
    """The buckets of all holes of a board.

    IN: uint8[card], uint8[hole, card], int32[hole] buckets on the previous street (read only if they are the context);
    scratch: uint8[card of a hand]; OUT: int32[hole], BLOCKED where blocked.
    """
    hole_cards = hole_card.shape[1]
    for i in range(board.size):
        cards[hole_cards + i] = board[i]
    context: Int = np.int64(0)
    if tables.context[street] == PUBLIC:
        context = public_cluster(cards, tables)
    for hole in range(hole_card.shape[0]):
        blocked = False
        for i in range(hole_cards):
            cards[i] = hole_card[hole, i]
            for card in board:
                blocked |= card == cards[i]
        if blocked:
            buckets[hole] = BLOCKED
            continue
        if tables.context[street] == BEFORE:
            context = np.int64(before[hole])
        buckets[hole] = np.int32(bucket_of_street(cards, street, context, tables))


def card_fingerprint(rules: GameRules) -> str:
    """A digest of how a game deals and ranks cards. Games that differ only in their betting share abstractions."""
    deck = rules.deck
    cards = (deck.ranks, deck.suits, rules.hole_cards, rules.board_cards, rules.three_card)
    return blake2b(repr(cards).encode(), digest_size=8).hexdigest()


def fingerprint(rules: GameRules, recipe: str) -> str:
    """A digest of a game's cards and of a recipe."""
    return blake2b(f"{FORMAT} {card_fingerprint(rules)} {recipe}".encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, eq=False)
class StreetBuckets:
    """One street of a map: see the module docstring. `deals` are the cards of each round of the index."""

    deals: tuple[int, ...]
    buckets: int
    cell: Any = None  # unsigned[hand]; None: the hand itself
    join: Any = None  # unsigned[context, cell]; None: the cell itself
    context: int = NONE
    method: str = "lossless"


@dataclass(frozen=True, eq=False)
class PublicBuckets:
    """Clusters of the boards of one street, by the index of the unordered board."""

    street: int
    label: Any  # unsigned[public state]
    clusters: int


@dataclass(frozen=True, eq=False)
class BucketMap:
    """The buckets of a game's hands. `recipe` is the text of what made it."""

    rules: GameRules
    streets: tuple[StreetBuckets, ...]
    public: PublicBuckets | None = None
    recipe: str = "lossless"
    perfect_recall: bool = False
    about: dict[str, Any] = field(default_factory=dict)  # results of the build, for reports

    def __post_init__(self) -> None:
        if len(self.streets) != self.rules.rounds:
            raise InputError(f"buckets of {len(self.streets)} streets", remedy=f"the game has {self.rules.rounds}")

    @classmethod
    def lossless(cls, rules: GameRules) -> BucketMap:
        """A bucket for every hand, up to a renaming of suits: perfect recall."""
        return cls(rules, tuple(lossless_street(rules, s) for s in range(rules.rounds)), perfect_recall=True)

    def __repr__(self) -> str:
        return f"BucketMap({self.rules.name or 'unnamed'}: {', '.join(f'{count:,}' for count in self.buckets)} buckets)"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each street."""
        names = [self.rules.street_name(number) for number in range(self.rules.rounds)]
        parts = zip(names, self.streets, strict=True)
        return [{"street": name, "buckets": street.buckets, "method": street.method} for name, street in parts]

    _repr_html_ = table_html

    @property
    def buckets(self) -> tuple[int, ...]:
        """The number of buckets of each street."""
        return tuple(street.buckets for street in self.streets)

    @property
    def fingerprint(self) -> str:
        """A digest of the game's cards and the recipe, stored in files made with this map."""
        return fingerprint(self.rules, self.recipe)

    @cached_property
    def tables(self) -> BucketTables:
        """The arrays for kernels."""
        kinds = [np.dtype(np.uint16), *(s.cell.dtype for s in self.streets if s.cell is not None)]
        widest = max(kinds, key=lambda kind: kind.itemsize)
        public = self.public
        return BucketTables(
            indexing=tuple(HandIndexer(s.deals, self.rules.deck).tables for s in self.streets),
            cell=tuple(_frozen(s.cell, widest) for s in self.streets),
            join=tuple(_frozen(s.join, np.uint32) for s in self.streets),
            cells=np.array([0 if s.join is None else s.join.shape[1] for s in self.streets]),
            context=np.array([s.context for s in self.streets], np.uint8),
            seen=np.array([sum(s.deals) for s in self.streets], np.uint8),
            public_index=HandIndexer((self._public_seen or 1,), self.rules.deck).tables,
            public_label=_frozen(public.label if public else None, np.uint32),
            public_seen=self._public_seen,
            hole_cards=self.rules.hole_cards,
        )

    @property
    def _public_seen(self) -> int:
        return self.rules.board_size(self.public.street) if self.public else 0

    def buckets_of_board(self, street: int, board: Sequence[int]) -> I32:
        """The bucket of every hole on a board (cards in the order of the deal), -1 where blocked: int32[hole]."""
        rules = self.rules
        if not 0 <= street < rules.rounds:
            raise InputError(f"street {street}", remedy=f"use 0 to {rules.rounds - 1}")
        size = rules.board_size(street)
        if len(board) != size:
            raise InputError(f"a board of {len(board)} cards", remedy=f"street {street} has {size}")
        if self.streets[street].buckets > MOST_BUCKETS:
            raise InputError(f"{self.streets[street].buckets:,} buckets", remedy="abstract this street")
        rules.deck.check_cards(list(board))
        before = np.zeros(0, np.int32)
        if self.streets[street].context == BEFORE:
            before = self.buckets_of_board(street - 1, board[: rules.board_size(street - 1)])
        holes = hole_card_table(rules.deck, rules.hole_cards)
        buckets = np.empty(len(holes), np.int32)
        scratch = np.zeros(rules.hole_cards + size, np.uint8)
        fill_board(np.array(board, np.uint8), street, holes, before, self.tables, scratch, buckets)
        return buckets

    def buckets_of_deals(self, deals: U8) -> I64:
        """The buckets of complete or partial deals, uint8[deal, card], on all streets reached: int64[deal, street]."""
        rules = self.rules
        if deals.ndim != 2 or deals.shape[1] < rules.hole_cards:
            raise InputError(f"deals of shape {deals.shape}", remedy="give a row of hole and board cards for each")
        if deals.size:
            rules.deck.check_numbers((int(deals.min()), int(deals.max())))
        streets = sum(deals.shape[1] >= rules.hole_cards + rules.board_size(s) for s in range(rules.rounds))
        buckets = np.zeros((len(deals), streets), np.int64)
        fill_buckets(np.ascontiguousarray(deals, np.uint8), streets, self.tables, buckets)
        return buckets

    def bucket(self, hole: Sequence[int], board: Sequence[int]) -> int:
        """The bucket of one hand on the street of its board."""
        cards = [*hole, *board]
        self.rules.deck.check_cards(cards)
        sizes = [self.rules.board_size(s) for s in range(self.rules.rounds)]
        if len(hole) != self.rules.hole_cards or len(board) not in sizes:
            raise InputError(
                f"{len(hole)} hole cards and a board of {len(board)}",
                remedy=f"give {self.rules.hole_cards}, and a board of {', '.join(str(size) for size in sizes)}",
            )
        return int(self.buckets_of_deals(np.array([cards], np.uint8))[0, sizes.index(len(board))])

    @property
    def bytes(self) -> int:
        """The size of its tables."""
        parts = [array for street in self.streets for array in (street.cell, street.join) if array is not None]
        return sum(int(array.nbytes) for array in parts) + (int(self.public.label.nbytes) if self.public else 0)

    def save(self, path: str | Path, *, private: bool = False) -> None:
        """Write it to a file; a `private` one is for its owner alone."""
        header = {
            "cards": card_fingerprint(self.rules),
            "fingerprint": self.fingerprint,
            "recipe": self.recipe,
            "perfect_recall": self.perfect_recall,
            "streets": [[list(s.deals), s.buckets, s.context, s.method] for s in self.streets],
            "public": [self.public.street, self.public.clusters] if self.public else None,
            "about": self.about,
        }
        arrays: dict[str, Any] = {}
        for number, street in enumerate(self.streets):
            arrays |= {f"cell {number}": street.cell, f"join {number}": street.join}
        if self.public:
            arrays["public"] = self.public.label
        stored = {name: array for name, array in arrays.items() if array is not None}
        save_arrays(path, FORMAT, header, stored, private=private)

    @classmethod
    def load(cls, path: str | Path, rules: GameRules) -> BucketMap:
        """Open a file made for these rules; its tables are mapped."""
        remedy = "build the abstraction again: equipoise abstraction report RECIPE --out DIR"
        header, arrays = load_arrays(path, FORMAT, MapHeader, remedy=remedy)
        if header.cards != card_fingerprint(rules):
            raise InputError("made for a game with other cards", where=str(path), remedy=remedy)
        streets = tuple(
            StreetBuckets(each.deals, each.buckets, arrays.get(f"cell {i}"), arrays.get(f"join {i}"), *each[2:])
            for i, each in enumerate(header.streets)
        )
        public = PublicBuckets(header.public[0], arrays.get("public"), header.public[1]) if header.public else None
        try:
            found = cls(rules, streets, public, header.recipe, header.perfect_recall, header.about)
            found._check()
        except InputError as error:
            raise InputError(f"damaged: {error.what}", where=str(path), remedy=remedy) from None
        return found

    def _check(self) -> None:
        """Refuse tables that do not fit each other. Kernels do not check their indices, so this must."""
        public, deck = self.public, self.rules.deck
        if public and not (public.street < self.rules.rounds and self._public_seen):
            raise InputError(f"there are no boards on street {public.street}")
        if public:
            _check_table(public.label, "public", (HandIndexer((self._public_seen,), deck).size,), public.clusters)
        for number, street in enumerate(self.streets):
            if street.deals not in (self.rules.deals(number), self.rules.unordered_deals(number)):
                raise InputError(f"street {number} has the wrong deals")
            contexts = {NONE: 1, PUBLIC: public.clusters if public and number >= public.street else 0}
            contexts[BEFORE] = self.streets[number - 1].buckets if number else 0
            rows = contexts.get(street.context, 0)
            if (street.context == NONE) != (street.join is None) or not rows:
                raise InputError(f"street {number} has the wrong context")
            cells = street.buckets if street.join is None else int(street.join.shape[-1])
            hands = HandIndexer(street.deals, deck).size
            if street.cell is not None:
                _check_table(street.cell, f"cell {number}", (hands,), cells)
            elif hands != cells:
                raise InputError(f"street {number} has {cells:,} cells for {hands:,} hands")
            if street.join is not None:
                _check_table(street.join, f"join {number}", (rows, cells), street.buckets)


def _check_table(table: Any, name: str, shape: tuple[int, ...], below: int) -> None:
    kind = table.dtype if table is not None and table.dtype.kind == "u" else np.dtype(np.uint16)
    check_indices(check_array(table, name, shape, kind), below, name)


def _frozen(table: Any, kind: Any) -> Any:
    """A table for kernels: flat and read-only, since all tables of one tuple must have one type; empty for None."""
    flat = np.zeros(0, kind) if table is None else np.ascontiguousarray(table, kind).reshape(-1)
    flat.flags.writeable = False
    return flat


def lossless_street(rules: GameRules, street: int) -> StreetBuckets:
    """A street with a bucket for every hand, its deals ordered."""
    deals = rules.deals(street)
    return StreetBuckets(deals, HandIndexer(deals, rules.deck).size)
