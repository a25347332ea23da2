"""The boards of a sampled subgame: one for each street of the trunk, then all that may follow; and its buckets.

A public deal is sampled down to some street; everything below it is walked. All boards of the trunk have the holes that
the sampled cards do not block (as in `solvers/board_samples.py`: given two holes, all deals that block neither are
equally likely, so that nothing is biased). Buckets of a street are numbered anew, by what is present in the subgame:
its *rows*. A walk works on tables of those rows, and what it has gathered is then added to the tables of the whole.
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

FEW_BUCKETS = 1 << 20  # a street with more is numbered by sorting, not by a list of all


@dataclass(frozen=True, eq=False)
class Subgame:
    """Boards, and rows of the abstracted player and of the one that is not."""

    cards: PublicCards
    weight: float  # of the sample
    above: int  # streets of one board each, above the board that was sampled
    rows: tuple[tuple[U32, ...], tuple[U32, ...]]  # [abstracted, unabstracted][street] the bucket of each row
    number: tuple[U16, U16]  # [seat of the abstracted player][place] the row of a hole

    @property
    def with_sampled_cards(self) -> PublicCards:
        """The boards, those of the trunk with all sampled cards: what showdowns there see."""
        dealt = [self.cards.cards[max(board, self.above)] for board in range(len(self.cards.cards))]
        return replace(self.cards, cards=dealt)

    @property
    def bytes(self) -> int:
        """About how much memory it holds."""
        return sum(int(part.nbytes) for part in (*self.cards.arrays, *self.number))


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
        """The subgame of a sampled board; `first_deals` picks some of the classes of the next deal, to measure."""
        keep = (self._when_dealt(board),)
        below = deal_boards(self.rules, board=tuple(board), also_keep=keep, first_deals=first_deals)
        cards = with_streets_above(below)
        first, second = np.zeros((PLAYERS, len(cards.arrays.hole)), np.uint16)
        number = first, second
        mine = self._number(cards, 0, self.rules.rounds, number)
        theirs = self._number(cards, 1, self.trunk, number)
        return Subgame(cards, weight, below.root_street, (mine, theirs), number)

    def _when_dealt(self, board: Sequence[int]) -> F64:
        """[hole] what a renaming of suits must keep: a flop and a turn card that change places are another deal."""
        rounds = np.zeros(self.rules.deck.size)
        rounds[list(board)] = np.repeat(np.arange(self.rules.rounds), self.rules.board_cards)[: len(board)]
        return np.asarray(rounds[hole_card_table(self.rules.deck, self.rules.hole_cards)].sum(axis=1))

    def _number(self, cards: PublicCards, which: int, streets: int, number: tuple[Any, Any]) -> tuple[U32, ...]:
        """Number the rows of some streets for the abstracted player (0) or the other (1), in both seats."""
        above = _upto(cards, streets)
        cells = self._cells[which](above)
        rows = []
        for street in range(streets):
            first, last = cards.street_first[street], cards.street_first[street + 1]
            start, count = int(cards.arrays.first[first, 0]), int(cards.arrays.counts[first, 0])
            part = slice(start, start + (last - first) * PLAYERS * count)
            shape = (last - first, PLAYERS, count)  # both players have the same holes
            found, place = _numbered(cells[part].reshape(shape)[:, 0], self.sizes[which][street])
            rows.append(found)
            for seat in range(PLAYERS):
                number[seat][part].reshape(shape)[:, seat if which == 0 else 1 - seat] = place
        return tuple(rows)


def _numbered(cells: U32, buckets: int) -> tuple[U32, Any]:
    """The buckets present, ascending, and which of them each cell is."""
    if buckets > FEW_BUCKETS:
        found, place = np.unique(cells, return_inverse=True)
        return found.astype(np.uint32), place.reshape(cells.shape)
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

    def by_place(field: Any) -> Any:
        return np.concatenate([field[root]] * above + [field])

    streets = np.arange(above)
    starts = arrays.first[:1] + streets[:, np.newaxis] * size
    before = np.concatenate([np.arange(count, dtype=np.uint16) for count in arrays.counts[0].tolist()])
    joined = Boards(
        street=by_board(arrays.street, streets),
        parent=by_board(arrays.parent + np.int32(above), streets - 1),
        first_child=by_board(arrays.first_child + np.int32(above), streets + 1),
        num_children=by_board(arrays.num_children, np.ones(above)),
        weight=by_board(arrays.weight, np.ones(above)),
        first=by_board(arrays.first + above * size, starts),
        counts=by_board(arrays.counts, np.repeat(arrays.counts[:1], above, axis=0)),
        hole=by_place(arrays.hole),
        card1=by_place(arrays.card1),
        card2=by_place(arrays.card2),
        same=by_place(arrays.same),
        before=np.concatenate([np.tile(before, above + 1), arrays.before[size:]]),
        symmetric=by_board(arrays.symmetric, np.zeros(above)),
        orbit=by_place(arrays.orbit),
        group_first=by_board(arrays.group_first, np.zeros(above)),
        num_groups=by_board(arrays.num_groups, np.zeros(above)),
        groups=arrays.groups,
    )
    sizes = [cards.rules.board_size(street) for street in range(above)]
    first = (*range(above), *(above + number for number in cards.street_first[above:]))
    dealt = [*(cards.cards[0][:size] for size in sizes), *cards.cards]
    return PublicCards(cards.rules, 0, cards.weights, dealt, first, joined)
