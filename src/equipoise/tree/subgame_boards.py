"""The boards of a sampled subgame, one for each street of the trunk and then all that may follow; and its buckets.

A public deal is sampled down to some street, and everything below it is walked. All boards of the trunk have the holes
that the sampled cards do not block (as in `solvers/board_samples.py`: given two holes, all deals that block neither are
equally likely, so there is no bias). Within a subgame, the buckets that occur on a street are numbered from 0: these
are its *rows*. A walk works on tables of rows; its sums are then added to the tables of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.jit import F64, U16, U32
from equipoise.games.rules import PLAYERS
from equipoise.tree.board_buckets import buckets_of_places
from equipoise.tree.boards import Boards, PublicCards, deal_boards

FEW_BUCKETS = 1 << 20  # streets with more buckets are numbered by sorting, not with a table of all buckets
ABSTRACTED, UNABSTRACTED = range(2)  # roles
ROLES = 2


@dataclass(frozen=True, eq=False)
class Subgame:
    """Boards, and the rows of both roles."""

    cards: PublicCards
    weight: float  # of the sample
    above: int  # number of streets above the sampled board, each with one board
    rows: tuple[tuple[U32, ...], tuple[U32, ...]]  # [role][street] the bucket of each row
    local_bucket: tuple[U16, U16]  # [player who is abstracted][hole of a board's list] its row

    @property
    def with_sampled_cards(self) -> PublicCards:
        """The boards, those of the trunk with all sampled cards: showdowns there see them."""
        dealt = [self.cards.cards[max(board, self.above)] for board in range(len(self.cards.cards))]
        return replace(self.cards, cards=dealt)

    @property
    def bytes(self) -> int:
        """Approximate memory."""
        return sum(int(part.nbytes) for part in (*self.cards.arrays, *self.local_bucket))


class SubgameDealer:
    """Deals subgames. The unabstracted player has rows on the first `trunk` streets only."""

    def __init__(self, buckets: BucketMap, lossless: BucketMap, trunk: int) -> None:
        self.rules, self.trunk = buckets.rules, trunk
        self.sizes = buckets.buckets, lossless.buckets
        self._cells: tuple[Callable[[PublicCards], U32], Callable[[PublicCards], U32]] = (
            buckets_of_places(buckets),
            buckets_of_places(lossless),
        )

    def deal(self, board: Sequence[int], weight: float, *, first_deals: Sequence[int] | None = None) -> Subgame:
        """The subgame of a sampled board; `first_deals` selects classes of the next deal (for benchmarks)."""
        keep = (self._when_dealt(board),)
        below = deal_boards(self.rules, board=tuple(board), also_keep=keep, first_deals=first_deals)
        cards = with_streets_above(below)
        first, second = np.zeros((PLAYERS, len(cards.arrays.hole)), np.uint16)
        local = first, second
        mine = self._number_rows(cards, ABSTRACTED, self.rules.rounds, local)
        theirs = self._number_rows(cards, UNABSTRACTED, self.trunk, local)
        return Subgame(cards, weight, below.root_street, (mine, theirs), local)

    def _when_dealt(self, board: Sequence[int]) -> F64:
        """[hole] what a renaming of suits must preserve: swapping a flop card and a turn card gives another deal."""
        rounds = np.zeros(self.rules.deck.size)
        rounds[list(board)] = np.repeat(np.arange(self.rules.rounds), self.rules.board_cards)[: len(board)]
        return np.asarray(rounds[hole_card_table(self.rules.deck, self.rules.hole_cards)].sum(axis=1))

    def _number_rows(self, cards: PublicCards, role: int, streets: int, local: tuple[Any, Any]) -> tuple[U32, ...]:
        """Number the rows of the first streets for a role. OUT: [player who is abstracted][hole of a list] the row."""
        above = _upto(cards, streets)
        cells = self._cells[role](above)
        rows = []
        for street in range(streets):
            first, last = cards.street_first[street], cards.street_first[street + 1]
            start, count = int(cards.arrays.first[first, 0]), int(cards.arrays.counts[first, 0])
            part = slice(start, start + (last - first) * PLAYERS * count)
            shape = (last - first, PLAYERS, count)  # both players have the same holes
            found, row = _numbered(cells[part].reshape(shape)[:, 0], self.sizes[role][street])
            rows.append(found)
            for seat in range(PLAYERS):
                local[seat][part].reshape(shape)[:, seat if role == ABSTRACTED else 1 - seat] = row
        return tuple(rows)


def _numbered(cells: U32, buckets: int) -> tuple[U32, Any]:
    """The buckets that occur, ascending, and the index of each cell among them."""
    if buckets > FEW_BUCKETS:
        found, index = np.unique(cells, return_inverse=True)
        return found.astype(np.uint32), index.reshape(cells.shape)
    present = np.zeros(buckets, np.bool_)
    present[cells] = True
    return np.flatnonzero(present).astype(np.uint32), (np.cumsum(present) - 1)[cells]


def _upto(cards: PublicCards, streets: int) -> PublicCards:
    """The boards of the first streets."""
    end = cards.street_first[min(streets, len(cards.street_first) - 1)]
    return replace(cards, cards=cards.cards[:end])


def with_streets_above(cards: PublicCards) -> PublicCards:
    """Boards below a root, and above it one for each earlier street, with the root's holes."""
    arrays, above = cards.arrays, cards.root_street
    size = int(arrays.counts[0].sum())
    root = slice(0, size)

    def by_board(field: Any, first: Any) -> Any:
        return np.concatenate([np.asarray(first, field.dtype).reshape(above, *field.shape[1:]), field])

    def by_hole(field: Any) -> Any:
        return np.concatenate([field[root]] * above + [field])

    streets = np.arange(above)
    starts = arrays.first[:1] + streets[:, np.newaxis] * size
    parent_pos = np.concatenate([np.arange(count, dtype=np.uint16) for count in arrays.counts[0].tolist()])
    joined = Boards(
        street=by_board(arrays.street, streets),
        parent=by_board(arrays.parent + np.int32(above), streets - 1),
        first_child=by_board(arrays.first_child + np.int32(above), streets + 1),
        num_children=by_board(arrays.num_children, np.ones(above)),
        weight=by_board(arrays.weight, np.ones(above)),
        first=by_board(arrays.first + above * size, starts),
        counts=by_board(arrays.counts, np.repeat(arrays.counts[:1], above, axis=0)),
        hole=by_hole(arrays.hole),
        card1=by_hole(arrays.card1),
        card2=by_hole(arrays.card2),
        same=by_hole(arrays.same),
        before=np.concatenate([np.tile(parent_pos, above + 1), arrays.before[size:]]),
        symmetric=by_board(arrays.symmetric, np.zeros(above)),
        orbit=by_hole(arrays.orbit),
        group_first=by_board(arrays.group_first, np.zeros(above)),
        num_groups=by_board(arrays.num_groups, np.zeros(above)),
        groups=arrays.groups,
    )
    sizes = [cards.rules.board_size(street) for street in range(above)]
    first = (*range(above), *(above + board for board in cards.street_first[above:]))
    dealt = [*(cards.cards[0][:size] for size in sizes), *cards.cards]
    return PublicCards(cards.rules, 0, cards.weights, dealt, first, joined)
