"""Card features: the exact strength of every hand of a street, computed board by board for all holes at once.

The strength HS of a hand on the last street is the share of live opponent holes that it beats, ties counting half.
On earlier streets a hand has a distribution of HS over all completions of the board. Features are its mean E[HS] and
mean square E[HS^2] (Johanson and others 2007), its histogram (Gilpin, Sandholm and Sorensen 2007), HS against clusters
of opponent holes (OCHS: Johanson and others 2013), and the buckets of the next street (potential-aware: Ganzfried and
Sandholm 2014). Counts are exact integers. Large arrays are cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from equipoise.abstraction.features import strength
from equipoise.abstraction.features.hand_space import HandBlock, HandSpace, fill, walk_hands
from equipoise.cards.deck import check_hole_cards
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, F64, U8, U16, U64
from equipoise.core.progress import Fraction
from equipoise.core.simd import LANES
from equipoise.core.wording import size_text
from equipoise.games.rules import GameRules

BINS = 50
MOST_DEALS = 2000  # deals of the next street, for potential-aware features
MOST_BYTES = 4_000_000_000  # of one array


@dataclass(frozen=True, eq=False)
class Strengths:
    """The distribution of HS of every hand of a street over the completions of its board.

    `histogram[hand, bin]` counts completions, in the smallest unsigned type. A completion counts in bin
    min(bins - 1, strength * bins // top), where strength is 2 x (holes beaten) + (holes tied), from 0 to `top`. So bin
    b has b / bins <= HS < (b + 1) / bins, and the last bin includes HS = 1. The totals are sums of strengths.
    """

    histogram: Any
    total: Any  # [hand]
    total_of_squares: Any  # [hand]
    completions: int  # of each hand
    top: int  # the strength of a hand that beats all holes

    @property
    def expected(self) -> F64:
        """float64[hand]: E[HS]."""
        return np.asarray(self.total / (self.completions * self.top))

    @property
    def expected_square(self) -> F64:
        """float64[hand]: E[HS^2]."""
        return np.asarray(self.total_of_squares / (self.completions * self.top**2))


@dataclass(frozen=True, eq=False)
class Feature:
    """A row of numbers for each hand of a street, computed block by block."""

    space: HandSpace
    columns: int
    dtype: type
    work: Callable[[HandBlock], Any]  # the rows of a block's hands
    deals: int  # the work for one board, in deals of further cards

    def table(self, *, threads: int | None = None, progress: Fraction | None = None) -> Any:
        """[hand, column] of all hands of the street."""
        _check_size(self.space.size * self.columns * np.dtype(self.dtype).itemsize)
        out: Any = np.empty((self.space.size, self.columns), self.dtype)

        def rows(block: HandBlock) -> tuple[Any]:
            return (self.work(block),)

        fill(self.space, rows, (out,), deals=self.deals, threads=threads, progress=progress)
        return out

    def stream(self, *, threads: int | None = None, progress: Fraction | None = None) -> Iterator[tuple[U64, Any]]:
        """Blocks of hands, every hand once, with their rows: uint64[hand], [hand, column]. Nothing is kept."""
        for block, rows in walk_hands(self.space, self.work, deals=self.deals, threads=threads, progress=progress):
            yield block.hand, rows


class StreetFeatures:
    """A street's hands, and the features that can be computed for them."""

    def __init__(self, rules: GameRules, street: int) -> None:
        check_hole_cards(rules.hole_cards, "card abstraction")
        self.rules = rules
        self.space = HandSpace(rules, street)
        self.to_come = sum(rules.board_cards) - self.space.board_cards
        unseen = rules.deck.size - rules.hole_cards - self.space.board_cards
        self.completions = comb(unseen, self.to_come)
        self.top = 2 * comb(unseen - self.to_come, rules.hole_cards)
        self.holes = rules.deck.holes(rules.hole_cards)
        # An upper bound on the work for a board: symmetric completions are evaluated once.
        self.deals = comb(rules.deck.size - self.space.board_cards, self.to_come)

    def summed(self, bins: int) -> Callable[[HandBlock], strength.Sums]:
        """A function that sums the strengths of a block's hands over all completions of their boards."""
        bin_of = np.minimum(np.arange(self.top + 1) * bins // self.top, max(bins - 1, 0)).astype(np.uint16)

        def empty_sums(rows: int) -> strength.Sums:
            total, squares = np.empty((2, rows), np.uint64)
            return strength.Sums(total, squares, np.empty((rows, bins), np.uint32))

        def work(block: HandBlock) -> strength.Sums:
            out = empty_sums(len(block.hand))
            strength.sum_strengths(
                block, self.space.tables, strength.showdowns(self.space), strength.deals(self.space, self.to_come),
                bin_of, empty_sums(self.holes), out,
            )  # fmt: skip
            return out

        return work

    def histogram(self, bins: int = BINS) -> Feature:
        """uint32[hand, bin]: the histogram of HS, as in `Strengths`."""
        work = self.summed(bins)
        return Feature(self.space, bins, np.uint32, lambda block: work(block).bins, self.deals)

    def ochs(self, opponent: U8, clusters: int = 8) -> Feature:
        """float32[hand, cluster]: HS against each cluster of opponent holes, averaged over completions.

        `opponent` is the cluster of every hole, the same for holes that are one hand. HS is 0.5 against a cluster
        whose holes are all blocked.
        """
        self._check_clusters(opponent, clusters)
        member = np.zeros((self.holes, LANES), np.float32)
        member[np.arange(self.holes), opponent] = 1

        def work(block: HandBlock) -> F32:
            out = np.empty((len(block.hand), clusters), np.float32)
            strength.sum_cluster_strengths(
                block, self.space.tables, strength.showdowns(self.space), strength.deals(self.space, self.to_come),
                member, strength.lanes(self.holes), np.empty((self.holes, LANES)), out, self.completions,
            )  # fmt: skip
            return out

        return Feature(self.space, clusters, np.float32, work, self.deals)

    def _check_clusters(self, opponent: U8, clusters: int) -> None:
        if not 1 <= clusters <= LANES:
            raise InputError(f"{clusters} clusters", remedy=f"use 1 to {LANES}")
        if opponent.shape != (self.holes,) or opponent.min() < 0 or opponent.max() >= clusters:
            raise InputError(
                "clusters of opponent holes", remedy=f"give each of {self.holes} holes 0 to {clusters - 1}"
            )
        if any((opponent[renamed] != opponent).any() for renamed in self.space.tables.renamed_hole):
            raise InputError("clusters of opponent holes distinguish suits", remedy="cluster hands, not holes")

    def next_buckets(self, table: Any) -> Feature:
        """uint16[hand, deal]: the bucket on the next street for each deal of its cards, in ascending order.

        `table` is the bucket of every hand of the next street, unsigned, by the index of that street's `HandSpace`.
        """
        if self.space.street + 1 >= self.rules.rounds:
            raise InputError("no street comes after the last", remedy="use an earlier street")
        after = HandSpace(self.rules, self.space.street + 1)
        count = after.board_cards - self.space.board_cards
        deals = comb(self.rules.deck.size - self.rules.hole_cards - self.space.board_cards, count)
        if deals > MOST_DEALS:
            raise InputError(f"{deals} deals of the next street", remedy=f"use a street with at most {MOST_DEALS}")
        if table.shape != (after.size,) or table.dtype.kind != "u" or table.max() > 0xFFFF:
            raise InputError("a table of the next street's buckets", remedy=f"give {after.size} buckets below 65536")

        def work(block: HandBlock) -> U16:
            rows = np.empty((len(block.hand), deals), np.uint16)
            strength.next_rows(
                block, self.space.tables, strength.deals(self.space, count), after.indexer.tables, np.asarray(table),
                np.empty(sum(after.indexer.rounds), np.uint8), rows,
            )  # fmt: skip
            rows.sort(axis=1)
            return rows

        return Feature(self.space, deals, np.uint16, work, deals)


def strengths(rules: GameRules, *, threads: int | None = None, progress: Fraction | None = None) -> U16:
    """uint16[hand of the last street]: 2 x (opponent holes it beats) + (those it ties); 0 to 1980 in hold'em."""
    street = StreetFeatures(rules, rules.rounds - 1)
    work = street.summed(0)

    def build() -> dict[str, Any]:
        out = np.empty(street.space.size, np.uint16)
        fill(street.space, lambda block: (work(block).total,), (out,), threads=threads, progress=progress)
        return {"strength": out}

    out: U16 = street.space.kept("strengths", ("strength",), 2 * street.space.size, build)["strength"]
    return out


def expected(
    rules: GameRules, street: int, *, threads: int | None = None, progress: Fraction | None = None
) -> tuple[F64, F64]:
    """float64[hand] x 2: E[HS] and E[HS^2] of every hand of a street."""
    if HandSpace(rules, street).last:
        here = StreetFeatures(rules, street)
        share = strengths(rules, threads=threads, progress=progress) / here.top
        return share, share * share
    found = histograms(rules, street, 0, threads=threads, progress=progress)
    return found.expected, found.expected_square


def histograms(
    rules: GameRules, street: int, bins: int = BINS, *, threads: int | None = None, progress: Fraction | None = None
) -> Strengths:
    """The histogram of HS of every hand of a street, and the sums of HS and its square, from one pass."""
    if not 0 <= bins <= 0x10000:
        raise InputError(f"{bins} bins", remedy="use 0 (no histogram) to 65536")
    here = StreetFeatures(rules, street)
    size = here.space.size
    types = [np.min_scalar_type(here.completions * here.top**power) for power in (0, 1, 2)]
    bytes_needed = size * (bins * types[0].itemsize + types[1].itemsize + types[2].itemsize)
    _check_size(bytes_needed)
    members = ("histogram", "total", "total_of_squares")
    work = here.summed(bins)

    def build() -> dict[str, Any]:
        out = np.empty((size, bins), types[0]), np.empty(size, types[1]), np.empty(size, types[2])

        def rows(block: HandBlock) -> tuple[Any, ...]:
            sums = work(block)
            return sums.bins, sums.total, sums.squares

        fill(here.space, rows, out, deals=here.deals, threads=threads, progress=progress)
        return dict(zip(members, out, strict=True))

    return Strengths(
        **here.space.kept("histograms", members, bytes_needed, build, bins), completions=here.completions, top=here.top
    )


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise InputError(f"an array of {size_text(size)} is too large", remedy="use the streamed form")
