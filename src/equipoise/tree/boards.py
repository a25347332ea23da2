"""The boards below a root board, street by street, and on each board the holes that each player can still hold.

The data of a board is built once and serves every betting node. On a board, each player has a list of the live holes of
its range. A hole knows its place on the parent board, so that reach is passed down by a gather and values are passed up
by a scatter. On the last street the lists are sorted by strength, and both players' lists are cut at the same
strengths, so that a showdown is one pass (`cards/showdown.py`).

Deals that differ by a renaming of suits that keeps ranges and board are walked once: the board's weight includes the
size of the class, and values are averaged over the holes that the renamings map to each other (`orbit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any, NamedTuple

import numpy as np

from equipoise.cards.deck import check_hole_cards
from equipoise.cards.hand_ranks import BLOCKED, RankTables, rank_of_key, showdown_order
from equipoise.cards.runouts import meeting_weights
from equipoise.cards.showdown import Cards
from equipoise.cards.symmetry import (
    Renaming,
    deal_classes,
    hole_card_table,
    renamed_holes,
    renamings_that_fix,
    renamings_that_keep,
)
from equipoise.core.errors import InputError
from equipoise.core.jit import F64, I16, I32, I64, U8, U16, U32, inlined, kernel
from equipoise.games.rules import PLAYERS, GameRules

NO_CARD = 255  # second card of a one-card hole


class Boards(NamedTuple):
    """All boards, parents before children, siblings neighbours. Hole arrays are flat, sliced by `first`, `counts`."""

    street: U8  # [board]
    parent: I32  # [board] -1 at the root
    first_child: I32  # [board]
    num_children: I32  # [board]
    weight: F64  # [board] probability of the deal given the parent board and both holes, times the class's size
    first: I64  # [board, player]
    counts: I32  # [board, player]
    hole: U16  # [place]
    card1: U8  # [place]
    card2: U8  # [place]
    same: U16  # [place] the same hole's place in the opponent's list; the list's length if it is missing
    before: U16  # [place] the hole's place on the parent board
    symmetric: U8  # [board] whether some renaming of suits keeps it
    orbit: U16  # [place] the first place that renamings map to this one
    group_first: I64  # [board] last street only
    num_groups: I32  # [board]
    groups: U16  # [group place, player] where each strength starts, and a last row with the ends


@dataclass(frozen=True, eq=False)
class PublicCards:
    """The boards from a root to the last street for two ranges of holes; `arrays` are for kernels."""

    rules: GameRules
    root_street: int
    weights: tuple[F64, F64]  # [hole] of each player, dead holes zero
    cards: list[tuple[int, ...]]  # [board] all its cards, in the order of their deals
    street_first: tuple[int, ...]  # [street + 1] the first board of each street
    arrays: Boards

    @property
    def root_weights(self) -> tuple[F64, F64]:
        """The weights of the holes of the root's lists."""
        return self.gather(0, 0, self.weights[0]), self.gather(0, 1, self.weights[1])

    @cached_property
    def chances(self) -> F64:
        """[board] the probability of all deals from the root, given two holes, times the class's size."""
        found = self.arrays.weight.copy()
        for street in range(self.root_street + 1, len(self.street_first) - 1):
            part = np.s_[self.street_first[street] : self.street_first[street + 1]]
            found[part] *= found[self.arrays.parent[part]]
        return found

    def slice(self, board: int, player: int) -> slice:
        """The slice of a player's holes of a board in the flat arrays."""
        first = int(self.arrays.first[board, player])
        return slice(first, first + int(self.arrays.counts[board, player]))

    def holes(self, board: int, player: int) -> U16:
        """The holes of a board's list."""
        return self.arrays.hole[self.slice(board, player)]

    def gather(self, board: int, player: int, by_hole: Any) -> Any:
        """Values by hole as values by place in a board's list."""
        return by_hole[..., self.holes(board, player)]

    def meetings(self, board: int) -> float:
        """The sum over all pairs of disjoint holes of the product of their weights."""
        theirs = np.zeros(self.rules.deck.holes(self.rules.hole_cards))
        mine = self.weights[0][self.holes(board, 0)]
        theirs[self.holes(board, 1)] = self.weights[1][self.holes(board, 1)]
        return float(mine @ meeting_weights(self.rules, theirs)[self.holes(board, 0)])


def deal_boards(
    rules: GameRules,
    weights: tuple[F64, F64] | None = None,
    board: tuple[int, ...] = (),
    *,
    isomorphism: bool = True,
    also_keep: tuple[F64, ...] = (),
    first_deals: Sequence[int] | None = None,
) -> PublicCards:
    """All boards from a root board (none: the start of the game) to the last street.

    Weights are by hole and default to one. `also_keep` are more weights by hole that a renaming must not change.
    `first_deals` picks some of the classes of the root's deal (as `deal_classes` lists them), weights unchanged.
    """
    check_hole_cards(rules.hole_cards, "the vector engine")
    street = _street_of(rules, board)
    live = np.asarray(~np.isin(hole_card_table(rules.deck, rules.hole_cards), board).any(axis=1))
    holes = len(live)
    ranges = tuple(np.where(live, w, 0.0) for w in (weights or (np.ones(holes), np.ones(holes))))
    if isomorphism:
        renamings = renamings_that_keep(rules.deck, rules.hole_cards, [*ranges, *also_keep], board)
    else:
        renamings = (tuple(range(rules.deck.suits)),)
    return _Dealing(rules, street, (ranges[0], ranges[1]), board, renamings, first_deals).finish()


def _street_of(rules: GameRules, board: tuple[int, ...]) -> int:
    rules.deck.check_distinct(board)
    sizes = [rules.board_size(street) for street in range(rules.rounds)]
    if len(board) not in sizes:
        raise InputError(f"a board of {len(board)} cards", remedy=f"streets have {', '.join(map(str, sizes))}")
    return len(sizes) - 1 - sizes[::-1].index(len(board)) if len(board) else 0


class _Dealing:
    """Boards being dealt, one street after the other."""

    def __init__(
        self,
        rules: GameRules,
        street: int,
        weights: tuple[F64, F64],
        board: tuple[int, ...],
        renamings: tuple[Renaming, ...],
        first_deals: Sequence[int] | None,
    ) -> None:
        self.rules, self.root_street, self.weights = rules, street, weights
        self.first_deals = first_deals
        self.cards = [board]
        self.renamings = [renamings]
        self.parts: dict[str, list[Any]] = {name: [] for name in Boards._fields}
        self.street_first = [0] * (street + 1) + [1]
        self.places = 0
        self.group_rows = 0
        self._lay_root()
        for next_street in range(street + 1, rules.rounds):
            self._deal(next_street)

    def _lay_root(self) -> None:
        every = np.arange(len(self.weights[0]), dtype=np.uint16)
        lists = [every[weights > 0] for weights in self.weights]
        cards = hole_card_table(self.rules.deck, self.rules.hole_cards)
        second = 1 if self.rules.hole_cards == 2 else 0
        parents = HoleLists(
            first=np.array([[0, len(lists[0])]], np.int64),
            counts=np.array([[len(lists[0]), len(lists[1])]], np.int32),
            hole=np.concatenate(lists),
            card1=cards[np.concatenate(lists), 0],
            card2=cards[np.concatenate(lists), second] if second else np.full(sum(map(len, lists)), NO_CARD, np.uint8),
        )
        self._add_street(self.root_street, parents, np.zeros((1, 0), np.uint8), np.zeros(1, np.int32))
        self.parts["parent"].append(np.full(1, -1, np.int32))
        self.parts["weight"].append(np.ones(1))

    def _deal(self, street: int) -> None:
        rules = self.rules
        count = rules.board_cards[street]
        first, last = self.street_first[street - 1], self.street_first[street]
        new: list[U8] = []
        parent, weight, children = [], [], []
        for board in range(first, last):
            dead = self.cards[board]
            sets, sizes = deal_classes(rules.deck, dead, count, self.renamings[board])
            if self.first_deals is not None and street == self.root_street + 1:
                sets, sizes = sets[list(self.first_deals)], sizes[list(self.first_deals)]
            new.append(sets)
            parent.append(np.full(len(sets), board, np.int32))
            ways = comb(rules.deck.size - len(dead) - PLAYERS * rules.hole_cards, count)
            weight.append(sizes / ways)
            children.append(len(sets))
            for cards in sets.tolist():
                self.cards.append((*dead, *cards))
                self.renamings.append(renamings_that_fix(rules.deck, self.renamings[board], cards))
        ends = last + np.cumsum(children)
        self.parts["first_child"].append((ends - children).astype(np.int32))
        self.parts["num_children"].append(np.array(children, np.int32))
        self.parts["parent"].append(np.concatenate(parent))
        self.parts["weight"].append(np.concatenate(weight))
        self.street_first.append(len(self.cards))
        parts = {name: self.parts[name][-1] for name in ("first", "counts", "hole", "card1", "card2")}
        parts["first"] = parts["first"] - parts["first"][0, 0]
        self._add_street(street, HoleLists(**parts), np.concatenate(new), np.concatenate(parent) - np.int32(first))

    def _add_street(self, street: int, before: HoleLists, new: U8, parent: I32) -> None:
        """The lists of all boards of a street, from those of the previous street and the cards dealt."""
        rules, boards = self.rules, len(parent)
        last = street == rules.rounds - 1
        count = np.zeros((boards, PLAYERS), np.int32)
        count_live(before, new, parent, count)
        ends = np.cumsum(count.ravel()).reshape(boards, PLAYERS)
        first = ends - count
        total = int(ends[-1, -1])
        lists = HoleLists(
            first, count, np.empty(total, np.uint16), np.empty(total, np.uint8), np.empty(total, np.uint8)
        )
        from_place = np.empty(total, np.uint16)
        ranks = np.zeros(total, np.uint16)
        on_board = np.array([self.cards[self.street_first[street] + i] for i in range(boards)], np.uint8)
        most = int(count.max(initial=1))
        deal_lists(
            before, DealtBoards(new, parent, on_board.reshape(boards, -1)), last, rules.ranker.tables, lists,
            from_place, ranks, np.empty((4, most), np.uint16), np.empty(256, np.uint32),
        )  # fmt: skip
        same = np.empty(total, np.uint16)
        find_same(lists, same, np.zeros(rules.deck.holes(rules.hole_cards), np.uint16))
        groups = np.zeros((total + boards if last else 0, PLAYERS), np.uint16)
        num_groups = np.zeros(boards, np.int32)
        group_first = np.zeros(boards, np.int64)
        used = cut_groups(lists, ranks, groups, num_groups, group_first) if last else 0
        symmetric, orbit = self._orbits(street, lists)
        for name, value in {
            "street": np.full(boards, street, np.uint8),
            "first": first + self.places,
            **{name: getattr(lists, name) for name in ("counts", "hole", "card1", "card2")},
            "same": same,
            "before": from_place,
            "symmetric": symmetric,
            "orbit": orbit,
            "group_first": group_first + self.group_rows,
            "num_groups": num_groups,
            "groups": groups[:used],
        }.items():
            self.parts[name].append(value)
        self.places += total
        self.group_rows += used

    def _orbits(self, street: int, lists: HoleLists) -> tuple[U8, U16]:
        """The places that the renamings of each board map to each other; not used on the last street."""
        boards = len(lists.first)
        symmetric = np.zeros(boards, np.uint8)
        orbit = np.zeros(len(lists.hole), np.uint16)
        for board in range(boards if street < self.rules.rounds - 1 else 0):
            renamings = self.renamings[self.street_first[street] + board]
            symmetric[board] = len(renamings) > 1
            for player in range(PLAYERS):
                start, count = lists.first[board, player], lists.counts[board, player]
                holes = lists.hole[start : start + count]  # ascending, before the last street
                images = [renamed_holes(self.rules.deck, self.rules.hole_cards, r)[holes] for r in renamings]
                orbit[start : start + count] = np.searchsorted(holes, np.min(images, axis=0))
        return symmetric, orbit

    def finish(self) -> PublicCards:
        boards = len(self.cards)
        leaves = boards - sum(len(part) for part in self.parts["first_child"])
        self.parts["first_child"].append(np.zeros(leaves, np.int32))
        self.parts["num_children"].append(np.zeros(leaves, np.int32))
        arrays = Boards(**{name: np.ascontiguousarray(np.concatenate(parts)) for name, parts in self.parts.items()})
        return PublicCards(self.rules, self.root_street, self.weights, self.cards, tuple(self.street_first), arrays)


class HoleLists(NamedTuple):
    """Lists of live holes of the boards of one street."""

    first: I64  # [board, player]
    counts: I32  # [board, player]
    hole: U16  # [place]
    card1: U8
    card2: U8


@inlined
def _blocked(card1: np.uint8, card2: np.uint8, new: U8) -> bool:
    blocked = False
    for card in new:
        blocked |= card in (card1, card2)
    return blocked


@kernel
def count_live(before: HoleLists, new: U8, parent: I32, count: I32) -> None:
    """IN: lists of the previous street, uint8[board, dealt card], int32[board]; OUT: int32[board, player]."""
    for board in range(count.shape[0]):
        for player in range(count.shape[1]):
            start = before.first[parent[board], player]
            for i in range(start, start + before.counts[parent[board], player]):
                count[board, player] += not _blocked(before.card1[i], before.card2[i], new[board])


class DealtBoards(NamedTuple):
    """The boards of one street."""

    new: U8  # [board, card] the cards dealt on this street
    parent: I32  # [board] among the boards of the previous street
    on_board: U8  # [board, card] all cards


@kernel
def deal_lists(
    before: HoleLists,
    boards: DealtBoards,
    last: bool,
    tables: RankTables,
    lists: HoleLists,
    from_place: U16,
    ranks: U16,
    scratch: U16,
    counts: U32,
) -> None:
    """Fill the lists of all boards of a street; on the last, sorted by strength.

    IN: lists of the previous street; OUT: lists, uint16[place] x 2; scratch: uint16[4, hole], uint32[256].
    """
    new, parent, on_board = boards.new, boards.parent, boards.on_board
    live, live_rank, order, spare = scratch[0], scratch[1], scratch[2], scratch[3]
    for board in range(lists.first.shape[0]):
        key = tables.start
        mask = np.uint64(0)
        for card in on_board[board]:
            key += tables.card_key[card]
            mask |= tables.card_mask[card]
        for player in range(lists.first.shape[1]):
            start = before.first[parent[board], player]
            found = 0
            for i in range(before.counts[parent[board], player]):
                card1, card2 = before.card1[start + i], before.card2[start + i]
                if _blocked(card1, card2, new[board]):
                    continue
                live[found] = i
                if last:
                    hand_key, hand_mask = key + tables.card_key[card1], mask | tables.card_mask[card1]
                    if card2 != NO_CARD:
                        hand_key += tables.card_key[card2]
                        hand_mask |= tables.card_mask[card2]
                    live_rank[found] = rank_of_key(hand_key, hand_mask, tables.row_start, tables.ranks)
                found += 1
            if last:
                showdown_order(live_rank[:found], order, spare, counts)
            target = lists.first[board, player]
            for k in range(found):
                place = order[k] if last else k
                i = live[place]
                lists.hole[target + k] = before.hole[start + i]
                lists.card1[target + k] = before.card1[start + i]
                lists.card2[target + k] = before.card2[start + i]
                from_place[target + k] = i
                if last:
                    ranks[target + k] = live_rank[place]


@kernel
def find_same(lists: HoleLists, same: U16, place_of: U16) -> None:
    """The place of the same hole in the opponent's list. Scratch: uint16[hole], zero; OUT: uint16[place]."""
    for board in range(lists.first.shape[0]):
        for player in range(2):
            start, count = lists.first[board, 1 - player], lists.counts[board, 1 - player]
            for j in range(count):
                place_of[lists.hole[start + j]] = j + 1
            mine = lists.first[board, player]
            for i in range(mine, mine + lists.counts[board, player]):
                place = place_of[lists.hole[i]]
                same[i] = place - 1 if place else count
            for j in range(count):
                place_of[lists.hole[start + j]] = 0


@kernel
def cut_groups(lists: HoleLists, ranks: U16, groups: U16, num_groups: I32, group_first: I64) -> int:
    """Cut both players' sorted lists at every strength. OUT: uint16[row, player], int32[board], int64[board]."""
    row = 0
    for board in range(lists.first.shape[0]):
        group_first[board] = row
        first0, first1 = lists.first[board, 0], lists.first[board, 1]
        count0, count1 = lists.counts[board, 0], lists.counts[board, 1]
        i = j = 0
        while i < count0 or j < count1:
            rank0 = ranks[first0 + i] if i < count0 else np.uint16(BLOCKED)
            rank1 = ranks[first1 + j] if j < count1 else np.uint16(BLOCKED)
            rank = min(rank0, rank1)
            groups[row, 0], groups[row, 1] = i, j
            row += 1
            num_groups[board] += 1
            while i < count0 and ranks[first0 + i] == rank:
                i += 1
            while j < count1 and ranks[first1 + j] == rank:
                j += 1
        groups[row, 0], groups[row, 1] = count0, count1
        row += 1
    return row


def all_in_matrix(cards: PublicCards, board: int) -> I16 | I32:
    """Runouts won minus lost by player 0: [hole of 0, hole of 1], for the lists of a board; 0 where two holes block."""
    rules = cards.rules
    on_board = cards.cards[board]
    missing = sum(rules.board_cards) - len(on_board)
    identity = (tuple(range(rules.deck.suits)),)
    runouts, _ = deal_classes(rules.deck, on_board, missing, identity)
    slices = [cards.slice(board, player) for player in range(PLAYERS)]
    lists = [Cards(cards.arrays.card1[s], cards.arrays.card2[s]) for s in slices]
    dtype = np.int16 if len(runouts) < 2**15 else np.int32
    matrix = np.zeros((len(lists[0].card1), len(lists[1].card1)), dtype)
    ranks, (beaten, beating) = np.empty(len(matrix), np.int16), np.empty((2, matrix.shape[1]), np.int16)
    board_cards, tables = np.array(on_board, np.uint8), rules.ranker.tables
    tally_runouts(board_cards, runouts, lists[0], lists[1], tables, ranks, beaten, beating, matrix)
    return matrix


def runouts_of_a_pair(cards: PublicCards, board: int) -> int:
    """The number of completions of a board when two holes are known."""
    rules, on_board = cards.rules, len(cards.cards[board])
    return comb(rules.deck.size - on_board - PLAYERS * rules.hole_cards, sum(rules.board_cards) - on_board)


@kernel
def tally_runouts(
    on_board: U8,
    runouts: U8,
    first: Cards,
    second: Cards,
    tables: RankTables,
    ranks: I16,
    beaten: I16,
    beating: I16,
    matrix: I16,
) -> None:
    """Add up wins minus losses over runouts. Scratch: int16[hole of 0], int16[hole of 1] x 2; OUT: int[hole, hole]."""
    for runout in range(runouts.shape[0]):
        key = tables.start
        mask = np.uint64(0)
        for card in on_board:
            key += tables.card_key[card]
            mask |= tables.card_mask[card]
        for card in runouts[runout]:
            key += tables.card_key[card]
            mask |= tables.card_mask[card]
        for i in range(first.card1.size):
            ranks[i] = _live_rank(first.card1[i], first.card2[i], key, mask, tables)
        for j in range(second.card1.size):
            rank = _live_rank(second.card1[j], second.card2[j], key, mask, tables)
            beaten[j] = rank if rank >= 0 else np.int16(32767)  # a blocked hole neither wins nor loses
            beating[j] = rank
        for i in range(first.card1.size):
            rank = ranks[i]
            if rank < 0:
                continue
            row = matrix[i]
            for j in range(row.size):
                row[j] += np.int16(rank > beaten[j]) - np.int16(rank < beating[j])
    for i in range(first.card1.size):
        for j in range(second.card1.size):
            if _share_a_card(first.card1[i], first.card2[i], second.card1[j], second.card2[j]):
                matrix[i, j] = 0


@inlined
def _live_rank(card1: np.uint8, card2: np.uint8, key: np.uint64, mask: np.uint64, tables: RankTables) -> np.int16:
    """The rank of a hole on a full board, -1 if it is blocked."""
    more_key, more_mask = tables.card_key[card1], tables.card_mask[card1]
    if card2 != NO_CARD:
        more_key += tables.card_key[card2]
        more_mask |= tables.card_mask[card2]
    if mask & more_mask:
        return np.int16(-1)
    return np.int16(rank_of_key(key + more_key, mask | more_mask, tables.row_start, tables.ranks))


@inlined
def _share_a_card(a1: np.uint8, a2: np.uint8, b1: np.uint8, b2: np.uint8) -> bool:
    return a1 in (b1, b2) or (a2 != NO_CARD and a2 in (b1, b2))
