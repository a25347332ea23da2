"""The buckets of the holes on the boards of a walk, and their numbering on each board among those present."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from equipoise.abstraction.maps.bucket_map import BEFORE, BucketMap, fill_board
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.jit import I32, I64, U16, U32
from equipoise.games.rules import PLAYERS
from equipoise.tree.boards import PublicCards


class PresentBuckets(NamedTuple):
    """The buckets present in each list of holes, and each hole's bucket among them; lists are by board and player."""

    number: U16  # [place] which of its list's present buckets
    bucket: U32  # [present place] flat, ascending in each list
    first: I64  # [board, player] where a list's buckets start
    counts: I32  # [board, player]


def present_buckets(cards: PublicCards, cells: tuple[U32, U32]) -> PresentBuckets:
    """Number the buckets of all lists. `cells` are the buckets by place, in each player's abstraction."""
    number = np.zeros(len(cards.arrays.hole), np.uint16)
    first = np.zeros((len(cards.cards), PLAYERS), np.int64)
    counts = np.zeros((len(cards.cards), PLAYERS), np.int32)
    parts, length = [], 0
    for board in range(len(cards.cards)):
        for player in range(PLAYERS):
            here = cards.slice(board, player)
            found, place = np.unique(cells[player][here], return_inverse=True)
            number[here] = place
            first[board, player], counts[board, player] = length, len(found)
            parts.append(found.astype(np.uint32))
            length += len(found)
    return PresentBuckets(number, np.concatenate(parts), first, counts)


def buckets_of_places(buckets: BucketMap) -> Callable[[PublicCards], U32]:
    """A function that gives the buckets of all places of some boards: one kernel call a board, then a gather."""
    rules = buckets.rules
    hole_card = hole_card_table(rules.deck, rules.hole_cards)
    needs_before = any(street.context == BEFORE for street in buckets.streets)

    def cells(cards: PublicCards) -> U32:
        found = np.zeros(len(cards.arrays.hole), np.uint32)
        kept: dict[int, I32] = {}  # by board, where the next street's buckets depend on these
        for board, dealt in enumerate(cards.cards):
            street, parent = int(cards.arrays.street[board]), int(cards.arrays.parent[board])
            before = kept.get(parent, np.zeros(0, np.int32))
            if needs_before and parent < 0 and street > 0:
                before = buckets.buckets_of_board(street - 1, dealt[: rules.board_size(street - 1)])
            here = np.empty(len(hole_card), np.int32)
            scratch = np.zeros(rules.hole_cards + len(dealt), np.uint8)
            fill_board(np.array(dealt, np.uint8), street, hole_card, before, buckets.tables, scratch, here)
            if needs_before and street + 1 < rules.rounds:
                kept[board] = here
            for player in range(PLAYERS):
                found[cards.slice(board, player)] = cards.gather(board, player, here)
        return found

    return cells
