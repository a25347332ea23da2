"""Statistics of the buckets of a street: how often each is dealt, how strong its hands are, and sample hands.

They are exact if a bucket depends only on the hand, or if the game has few deals. Otherwise (buckets that depend on
the previous street's bucket or on the public cluster) they are estimated from a random sample of deals.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
import xxhash

from equipoise.abstraction.features.card_features import StreetFeatures, histograms, strengths
from equipoise.abstraction.features.hand_space import HandSpace
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.files.cache import mapped_arrays
from equipoise.core.jit import F64, I64, U8
from equipoise.core.progress import Fraction
from equipoise.games.rules import GameRules

FORMAT = 1  # of the arrays cached on disk
SMALL = 1 << 16  # hands, and completions of a board: fewer are quicker to count than to look up
AT_ONCE = 1 << 20  # hands
ALL_DEALS = 200_000  # deals: games with at most this many are enumerated
MOST_LISTED = 100_000  # buckets of a street that a report lists


@dataclass(frozen=True, eq=False)
class BucketSummary:
    """The buckets of one street. `moments` are [4, bucket]: the number of deals, and the sums over these deals of
    E[HS], of its square, and of E[HS^2].
    """

    moments: F64
    first: I64  # [bucket] one of its hands, by the index of the unordered board; -1: none was seen
    exact: bool  # all deals were counted, not a sample

    @property
    def share(self) -> F64:
        """[bucket] of all deals."""
        return np.asarray(self.moments[0] / self.moments[0].sum())

    @property
    def filled(self) -> Any:
        """bool[bucket]: whether it was seen."""
        return self.moments[0] > 0

    @cached_property
    def mean(self) -> F64:
        """[bucket] the mean of E[HS]; not a number where the bucket is empty."""
        return self._by_count(self.moments[1])

    @cached_property
    def sd(self) -> F64:
        """[bucket] the standard deviation of E[HS] among its hands."""
        count = self.moments[0]
        variance = np.maximum(self._by_count(self.moments[2]) - self.mean**2, 0)
        if not self.exact:  # one hand gives no estimate
            variance *= np.where(count > 1, count / np.maximum(count - 1, 1), np.nan)
        return np.sqrt(variance)

    @cached_property
    def spread(self) -> F64:
        """[bucket] the root mean square difference between a hand's final strength and its E[HS]."""
        return np.sqrt(np.maximum(self._by_count(self.moments[3] - self.moments[2]), 0))

    def variance(self) -> tuple[float, float]:
        """Of E[HS]: within buckets, and in all; unbiased where deals are a sample."""
        count, total, squares = self.moments[:3]
        deals = float(count.sum())
        inside = float((squares - total * np.nan_to_num(self.mean)).sum())
        overall = float(squares.sum() - total.sum() ** 2 / deals)
        lost = (0.0, 0.0) if self.exact else (float(self.filled.sum()), 1.0)
        tiny = 1e-12 * deals  # rounding error of zero
        within = 0.0 if inside < tiny else inside / max(deals - lost[0], 1.0)
        return within, 0.0 if overall < tiny else overall / max(deals - lost[1], 1.0)

    def _by_count(self, sums: F64) -> F64:
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / np.where(self.filled, self.moments[0], np.nan))


class HandStrengths:
    """E[HS] and E[HS^2] of the hands of a street, by their index."""

    def __init__(self, rules: GameRules, street: int, bins: int = 0, progress: Fraction | None = None) -> None:
        self.features = StreetFeatures(rules, street)
        if self.features.space.last:
            self.total, self.squares = strengths(rules, progress=progress), None
        else:
            found = histograms(rules, street, bins, progress=progress)
            self.total, self.squares = found.total, found.total_of_squares

    def of(self, hands: Any) -> tuple[F64, F64]:
        """float64 x 2 of some hands: a slice, or indices."""
        here = self.features
        mean: F64 = self.total[hands] / (here.completions * here.top)
        if self.squares is None:
            return mean, mean * mean
        return mean, np.asarray(self.squares[hands] / (here.completions * float(here.top) ** 2))


@dataclass(frozen=True, eq=False)
class Deals:
    """Deals of one player's hole and the complete board: all deals of a game, or a random sample."""

    cards: U8  # [deal, card]
    buckets: I64  # [deal, street]
    every: bool


def some_deals(found: BucketMap, samples: int, seed: int) -> Deals:
    """All deals of a game that has few, else `samples` random ones."""
    rules = found.rules
    count, left = 1, rules.deck.size
    for dealt in rules.deals(rules.rounds - 1):
        count *= comb(left, dealt)
        left -= dealt
    if count <= ALL_DEALS:
        listed = itertools.chain.from_iterable(_every_deal(rules.deals(rules.rounds - 1), range(rules.deck.size)))
        cards = np.fromiter(listed, np.uint8).reshape(count, rules.hand_cards)
        return Deals(cards, found.buckets_of_deals(cards), True)
    cards = random_deals(rules, rules.hand_cards, samples, np.random.default_rng(seed))
    return Deals(cards, found.buckets_of_deals(cards), False)


def _every_deal(rounds: tuple[int, ...], live: Any) -> Iterator[tuple[int, ...]]:
    if not rounds:
        yield ()
        return
    for dealt in itertools.combinations(live, rounds[0]):
        for more in _every_deal(rounds[1:], [card for card in live if card not in dealt]):
            yield (*dealt, *more)


def random_deals(rules: GameRules, seen: int, samples: int, rng: np.random.Generator) -> U8:
    """uint8[deal, card]: the first `seen` cards of shuffled decks."""
    deck = np.tile(np.arange(rules.deck.size, dtype=np.uint8), (samples, 1))
    rows = np.arange(samples)
    for place in range(seen):
        other = rng.integers(place, rules.deck.size, samples)
        card = deck[rows, other]
        deck[rows, other] = deck[:, place]
        deck[:, place] = card
    return np.ascontiguousarray(deck[:, :seen])


def lists_every_bucket(found: BucketMap, street: int) -> bool:
    """Whether a street has few enough buckets to list them all."""
    return found.buckets[street] <= MOST_LISTED


def one_hand_per_bucket(found: BucketMap, street: int) -> bool:
    """Whether a street is lossless with too many buckets to list: nothing to summarise."""
    return found.streets[street].method == "lossless" and not lists_every_bucket(found, street)


def by_hand(found: BucketMap, street: int) -> bool:
    """Whether a hand with its unordered board has one bucket."""
    own = found.streets[street]
    return own.join is None and own.deals == found.rules.unordered_deals(street)


def summarize(
    found: BucketMap, street: int, deals: Callable[[], Deals], key: object = (), progress: Fraction | None = None
) -> BucketSummary:
    """The buckets of a street. `deals` is called if hands cannot be enumerated; `key` says how the deals were drawn.

    Slow results are cached on disk by the content of the map's tables.
    """
    bins = _bins(found, street)
    exact = by_hand(found, street)

    def build() -> dict[str, Any]:
        strength = HandStrengths(found.rules, street, bins, progress)
        if exact:
            moments, first = _count_hands(found, street, strength)
            return {"moments": moments, "first": first, "every": np.ones(1, bool)}
        drawn = deals()
        moments, first = _count_deals(found, street, drawn, strength)
        return {"moments": moments, "first": first, "every": np.array([drawn.every])}

    members = ("moments", "first", "every")
    features = StreetFeatures(found.rules, street)
    if features.space.size < SMALL and features.completions < SMALL:
        arrays: Any = build()
    else:
        name = repr((FORMAT, found.fingerprint, _content(found, street), street, () if exact else key))
        arrays = mapped_arrays("summary", members, name, build)
    return BucketSummary(arrays["moments"], arrays["first"], bool(arrays["every"][0]))


def _bins(found: BucketMap, street: int) -> int:
    """The bins of the histograms that the build cached on disk, so that they are reused."""
    if found.streets[street].method not in ("emd", "l2"):
        return 0
    return int(json.loads(found.recipe)["streets"][street]["bins"])


def _content(found: BucketMap, street: int) -> str:
    """A digest of the tables that lead to a street's buckets."""
    digest = xxhash.xxh3_128()
    tables = [table for own in found.streets[: street + 1] for table in (own.cell, own.join)]
    for table in (*tables, found.public.label if found.public else None):
        if table is not None:
            digest.update(np.ascontiguousarray(table).data.cast("B"))
    return digest.hexdigest()


def _count_hands(found: BucketMap, street: int, strength: HandStrengths) -> tuple[F64, I64]:
    """Moments and first hands of a street by hand."""
    space, cell, count = HandSpace(found.rules, street), found.streets[street].cell, found.buckets[street]
    moments, first = np.zeros((4, count)), np.full(count, -1)
    for start in range(0, space.size, AT_ONCE):
        some = slice(start, min(start + AT_ONCE, space.size))
        hands = np.arange(some.start, some.stop)
        bucket = hands if cell is None else cell[some]
        moments += _moments(bucket, space.weights[some], *strength.of(some), count)
        _note_first(first, bucket, hands)
    return moments, first


def _count_deals(found: BucketMap, street: int, deals: Deals, strength: HandStrengths) -> tuple[F64, I64]:
    seen = found.rules.hole_cards + found.rules.board_size(street)
    bucket = deals.buckets[:, street]
    hands = strength.features.space.indexer.indices(deals.cards[:, :seen]).astype(np.int64)
    first = np.full(found.buckets[street], -1)
    _note_first(first, bucket, hands)
    return _moments(bucket, np.ones(len(hands)), *strength.of(hands), found.buckets[street]), first


def _note_first(first: I64, bucket: Any, hands: I64) -> None:
    new = first[bucket] < 0
    first[bucket[new][::-1]] = hands[new][::-1]  # for equal indices the last write wins


def _moments(bucket: Any, weight: Any, mean: F64, square: F64, count: int) -> F64:
    sums = (weight, weight * mean, weight * mean**2, weight * square)
    return np.stack([np.bincount(bucket, of, count) for of in sums])


def hand_text(rules: GameRules, cards: Any) -> str:
    """Hole cards, the highest first, and the board: AhKh on 2c7dJh."""
    hole, board = sorted((int(card) for card in cards[: rules.hole_cards]), reverse=True), cards[rules.hole_cards :]
    text = rules.deck.text(hole)
    return f"{text} on {rules.deck.text(int(card) for card in board)}" if len(board) else text


def sample_hands(found: BucketMap, street: int, summary: BucketSummary, deals: Deals, count: int) -> list[list[str]]:
    """Some different hands of each bucket, as text: the first among the deals, or any that was seen."""
    rules, space = found.rules, HandSpace(found.rules, street)
    cards = deals.cards[:, : rules.hole_cards + space.board_cards]
    bucket = deals.buckets[:, street]
    # All deals of a game come in order: shuffle them, so that the first are not all similar.
    order = np.random.default_rng(0).permutation(len(bucket)) if deals.every else np.arange(len(bucket))
    order = order[np.argsort(bucket[order], kind="stable")]
    place = np.arange(len(order)) - np.searchsorted(bucket[order], bucket[order])
    order = order[place < 4 * count]
    listed: list[dict[int, str]] = [{} for _ in range(found.buckets[street])]
    for deal, hand in zip(order, space.indexer.indices(cards[order]).tolist(), strict=True):
        own = listed[bucket[deal]]
        if len(own) < count and hand not in own:
            own[hand] = hand_text(rules, cards[deal])
    for own, hand in zip(listed, summary.first.tolist(), strict=True):
        if not own and hand >= 0:
            own[hand] = hand_text(rules, space.indexer.hand(hand))
    return [list(own.values()) for own in listed]
