"""Groups of public clusters: the buckets that are theirs alone, and the sampled boards that fall to each.

In a hierarchical abstraction no two clusters of flops share a bucket on the flop or later (`maps/hierarchy.py`). So
tables can be cut by groups of clusters, and a board needs the tables of one group only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BEFORE, PUBLIC, BucketMap
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.arrays import I64, U8, U32
from equipoise.core.errors import InputError
from equipoise.core.wording import the_street
from equipoise.solvers.board_samples import BoardSource, SampledBoards

_HANDS = 1 << 20  # looked at in one go


@dataclass(frozen=True)
class Sampling:
    """The numbers that determine a run of public chance sampling (see `PublicChance`)."""

    boards: int = 1
    cycle: bool = True
    schedule: str = "cfr+"
    seed: int = 1


@dataclass(frozen=True, eq=False)
class CardGroups:
    """The clusters of public boards in `groups` groups, with about as many buckets each."""

    buckets: BucketMap
    groups: int = 1

    def __post_init__(self) -> None:
        public = self.buckets.public
        most = public.clusters if public and public.street == 1 else 1
        if not 1 <= self.groups <= most:
            raise InputError(
                f"{self.groups} groups of public cards",
                remedy=f"use 1 to {most}: the abstraction has {most} clusters of the boards of the second street"
                if most > 1 else "use 1: the abstraction has no clusters of the boards of the second street",
            )  # fmt: skip

    @cached_property
    def _of_cluster(self) -> I64:
        """[cluster] its group: the cluster with the most buckets goes first, to the group with the fewest."""
        sizes = np.array([sum(len(street) for street in own) for own in self._by_cluster])
        found, filled = np.zeros(len(sizes), np.int64), np.zeros(self.groups)
        for cluster in np.argsort(-sizes, kind="stable"):
            found[cluster] = np.argmin(filled)
            filled[found[cluster]] += sizes[cluster]
        return found

    @cached_property
    def _by_cluster(self) -> list[list[Any]]:
        """[cluster][street after the first] its buckets, ascending; an error where clusters share one."""
        public = self.buckets.public
        assert public is not None
        found: list[list[Any]] = [[] for _ in range(public.clusters)]
        for street in range(1, self.buckets.rules.rounds):
            seen = self._seen(street, [own[-1] if own else None for own in found])
            if sum(len(own) for own in seen) > len(np.unique(np.concatenate(seen))):
                raise InputError(
                    f"public clusters share buckets of {the_street(self.buckets.rules.street_name(street))}",
                    remedy="use one group, or an abstraction that keeps them apart",
                )
            for own, more in zip(found, seen, strict=True):
                own.append(more)
        return found

    def _seen(self, street: int, before: list[Any]) -> list[Any]:
        """[cluster] the buckets of a street that its hands have."""
        own, public = self.buckets.streets[street], self.buckets.public
        assert public is not None
        if own.context == PUBLIC:
            return [np.unique(row) for row in own.join]
        if own.context == BEFORE:
            return [np.unique(own.join[rows]) for rows in before]
        rules = self.buckets.rules
        indexer, flop = HandIndexer(own.deals, rules.deck), rules.hole_cards + rules.board_size(1)
        if street > 1 and own.deals != rules.deals(street):  # the hand forgets which cards were the flop
            return [np.arange(own.buckets)] * public.clusters
        used = np.zeros((public.clusters, own.buckets), np.bool_)
        boards = HandIndexer((rules.board_size(1),), rules.deck)
        for first in range(0, indexer.size, _HANDS):
            hands = np.arange(first, min(first + _HANDS, indexer.size))
            cards = np.ascontiguousarray(indexer.hands(hands)[:, rules.hole_cards : flop])
            cells = hands if own.cell is None else own.cell[hands]
            used[public.label[boards.indices(cards)], cells] = True
        return [np.flatnonzero(row) for row in used]

    @cached_property
    def by_group(self) -> list[list[Any]]:
        """[group][street] its buckets, ascending; all of them where nothing is cut."""
        rules = self.buckets.rules
        found: list[list[Any]] = [[slice(None)] for _ in range(self.groups)]
        for street in range(1, rules.rounds):
            if self.groups == 1:
                found[0].append(slice(None))
                continue
            group_of = np.arange(self.buckets.buckets[street]) % self.groups  # those that no hand has go round
            for cluster, own in enumerate(self._by_cluster):
                group_of[own[street - 1]] = self._of_cluster[cluster]
            for group in range(self.groups):
                found[group].append(np.flatnonzero(group_of == group))
        return found

    def counts(self, group: int) -> tuple[int, ...]:
        """[street] the number of buckets of a group."""
        sizes = zip(self.by_group[group], self.buckets.buckets, strict=True)
        return tuple(count if isinstance(own, slice) else len(own) for own, count in sizes)

    @cached_property
    def _local(self) -> list[U32]:
        """[street after the first][bucket] its number among those of its group."""
        found = [np.zeros(count, np.uint32) for count in self.buckets.buckets[1:]]
        for own in self.by_group:
            for numbers, mine in zip(found, own[1:], strict=True):
                numbers[mine] = np.arange(len(mine), dtype=np.uint32)
        return found

    def number_locally(self, present: U32) -> None:
        """Replace buckets by their numbers in their group. IN OUT: uint32[board, street, number]."""
        if self.groups > 1:
            for street, numbers in enumerate(self._local, 1):
                present[:, street] = numbers[present[:, street]]

    def group_of(self, boards: U8) -> I64:
        """[board] the group of full boards: uint8[board, card]."""
        if self.groups == 1:
            return np.zeros(len(boards), np.int64)
        public, rules = self.buckets.public, self.buckets.rules
        assert public is not None
        flops = np.ascontiguousarray(boards[:, : rules.board_size(1)])
        clusters = public.label[HandIndexer((rules.board_size(1),), rules.deck).indices(flops)]
        return np.asarray(self._of_cluster[clusters])


class GroupedBoards:
    """The boards of an iteration, and which of them fall to each group. Present buckets are numbered by group."""

    def __init__(self, groups: CardGroups, sampling: Sampling) -> None:
        self.groups, self.count = groups, sampling.boards
        self.source = BoardSource(groups.buckets.rules, sampling.seed, sampling.cycle)
        self.sampled = SampledBoards(groups.buckets, sampling.boards)
        self.rows: list[I64] = []  # [group] numbers of its boards among those of the iteration
        self._first = -1

    def fill(self, first: int) -> None:
        """Set the boards that begin with a number; nothing to do if they are set."""
        if first == self._first:
            return
        cards, weight = self.source.boards(first, self.count)
        self.sampled.fill(cards, weight)
        self.groups.number_locally(self.sampled.samples.present)
        group = self.groups.group_of(cards)
        self.rows = [np.flatnonzero(group == number) for number in range(self.groups.groups)]
        self._first = first
