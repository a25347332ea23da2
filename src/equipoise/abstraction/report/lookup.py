"""One hand in an abstraction: its bucket, other hands in it, and similar buckets."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from math import comb, prod
from typing import Any

import numpy as np

from equipoise.abstraction.features.card_features import StreetFeatures
from equipoise.abstraction.features.hand_space import HandBlock, HandSpace
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.report.numbers import SAMPLES
from equipoise.abstraction.report.summary import (
    BucketSummary,
    hand_text,
    one_hand_per_bucket,
    random_deals,
    some_deals,
    summarize,
)
from equipoise.cards.deck import hole_cards, hole_index
from equipoise.cards.isomorphism import HandIndexer
from equipoise.cards.symmetry import renamed_cards
from equipoise.core.errors import InputError
from equipoise.core.files.strict_json import finite_or_none
from equipoise.core.progress import Progress, stage
from equipoise.games.rules import GameRules

LOOKED_AT = 200_000  # random deals, for other hands of a bucket
SHOWN = 6


@dataclass(frozen=True)
class NearBucket:
    """Another bucket of the street."""

    bucket: int
    share: float
    mean_ehs: float


@dataclass(frozen=True)
class HandBucket:
    """A hand and its bucket. Values that are slow to compute are None."""

    hand: str
    street: str
    method: str
    bucket: int
    buckets: int
    public_cluster: int | None
    share: float | None  # of all deals
    counted: str  # the shares and means: "exact", or a "sample" of deals
    mean_ehs: float | None  # of the bucket
    sd_ehs: float | None
    ehs: float | None  # of the hand
    ehs2: float | None
    on_this_board: tuple[str, ...]  # the other holes in the bucket
    hands: tuple[str, ...]  # some others in it, on any board
    nearest: tuple[NearBucket, ...]  # by mean E[HS]
    fingerprint: str

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def describe_hand(
    found: BucketMap, hole: str, board: str, *, seed: int = 1, progress: Progress | None = None
) -> HandBucket:
    """The bucket of a hand, e.g. `AhKh` on `2c 7d Jh`, and similar hands and buckets."""
    rules = found.rules
    cards, street = read_hand(rules, hole, board)
    bucket = found.bucket(cards[: rules.hole_cards], cards[rules.hole_cards :])
    summary = None
    if not one_hand_per_bucket(found, street):
        fraction = stage(progress, f"strength, {rules.street_name(street)}")
        summary = summarize(found, street, lambda: some_deals(found, SAMPLES, seed), (SAMPLES, seed), fraction)
    ehs, ehs2 = _own_strength(found, street, cards, summary, bucket)
    return HandBucket(
        hand=hand_text(rules, cards),
        street=rules.street_name(street),
        method=found.streets[street].method,
        bucket=bucket,
        buckets=found.buckets[street],
        public_cluster=_cluster(found, street, cards),
        share=_share_of_deal(rules, street, cards) if summary is None else float(summary.share[bucket]),
        counted="exact" if summary is None or summary.exact else "sample",
        mean_ehs=ehs if summary is None else finite_or_none(summary.mean[bucket]),
        sd_ehs=0.0 if summary is None else finite_or_none(summary.sd[bucket]),
        ehs=ehs,
        ehs2=ehs2,
        on_this_board=_on_this_board(found, street, cards, bucket),
        hands=_others(found, street, cards, bucket, seed),
        nearest=() if summary is None else _nearest(found, street, summary, bucket),
        fingerprint=found.fingerprint,
    )


def read_hand(rules: GameRules, hole: str, board: str) -> tuple[tuple[int, ...], int]:
    """Hole and board cards, and the street; refused before anything is built."""
    held, dealt = rules.deck.read_cards(hole), rules.deck.read_cards(board)
    rules.deck.check_distinct((*held, *dealt), f"{hole} {board}".strip())
    sizes = [rules.board_size(street) for street in range(rules.rounds)]
    if len(held) != rules.hole_cards:
        raise InputError(f"{len(held)} hole cards", remedy=f"give {rules.hole_cards} in this game")
    if len(dealt) not in sizes:
        allowed = ", ".join(str(size) for size in dict.fromkeys(sizes))
        raise InputError(f"a board of {len(dealt)} cards", remedy=f"this game's boards have {allowed}")
    return (*held, *dealt), sizes.index(len(dealt))


def _own_strength(
    found: BucketMap, street: int, cards: tuple[int, ...], summary: BucketSummary | None, bucket: int
) -> tuple[float, float]:
    """E[HS] and E[HS^2] of one hand: those of its bucket if it is alone there, else by enumerating all completions."""
    rules = found.rules
    if summary is not None and found.streets[street].method == "lossless" and summary.filled[bucket]:
        return float(summary.mean[bucket]), float(summary.moments[3, bucket] / summary.moments[0, bucket])
    features = StreetFeatures(rules, street)
    held, board = cards[: rules.hole_cards], cards[rules.hole_cards :]
    block = HandBlock(
        boards=np.array([board], np.uint8).reshape(1, len(board)),
        sizes=np.ones(1, np.uint16),
        first=np.array([0, 1]),
        hole=np.array([hole_index(held)], np.uint16),
        times=np.ones(1, np.uint8),
        hand=np.zeros(1, np.uint64),
    )
    sums = features.summed(0)(block)
    unit = features.completions * features.top
    return int(sums.total[0]) / unit, int(sums.squares[0]) / (unit * features.top)


def _cluster(found: BucketMap, street: int, cards: tuple[int, ...]) -> int | None:
    public = found.public
    if public is None or street < public.street:
        return None
    size = found.rules.board_size(public.street)
    board = np.array([cards[found.rules.hole_cards :][:size]], np.uint8)
    return int(public.label[HandIndexer((size,), found.rules.deck).indices(board)[0]])


def _share_of_deal(rules: GameRules, street: int, cards: tuple[int, ...]) -> float:
    """The share of all ordered deals that are one hand: the number of its renamings."""
    deals = rules.deals(street)
    ends = list(itertools.accumulate(deals))
    rounds = [cards[end - size : end] for end, size in zip(ends, deals, strict=True)]
    images = set()
    for renaming in itertools.permutations(range(rules.deck.suits)):
        to = renamed_cards(rules.deck, renaming)
        images.add(tuple(frozenset(int(to[card]) for card in dealt) for dealt in rounds))
    return len(images) / prod(comb(rules.deck.size - end + size, size) for end, size in zip(ends, deals, strict=True))


def _on_this_board(found: BucketMap, street: int, cards: tuple[int, ...], bucket: int) -> tuple[str, ...]:
    rules = found.rules
    here = np.flatnonzero(found.buckets_of_board(street, cards[rules.hole_cards :]) == bucket).tolist()
    here.remove(hole_index(cards[: rules.hole_cards]))
    return tuple(hand_text(rules, hole_cards(hole, rules.hole_cards)) for hole in reversed(here))


def _others(found: BucketMap, street: int, cards: tuple[int, ...], bucket: int, seed: int) -> tuple[str, ...]:
    """Some other hands of the bucket: the first among random deals."""
    rules, space = found.rules, HandSpace(found.rules, street)
    drawn = random_deals(rules, len(cards), LOOKED_AT, np.random.default_rng(seed))
    drawn = drawn[found.buckets_of_deals(drawn)[:, street] == bucket]
    own = int(space.indexer.index(cards))
    shown: dict[int, str] = {}
    for deal, hand in zip(drawn, space.indexer.indices(drawn).tolist(), strict=True):
        if hand != own and hand not in shown:
            shown[hand] = hand_text(rules, deal)
        if len(shown) == SHOWN:
            break
    return tuple(shown.values())


def _nearest(found: BucketMap, street: int, summary: BucketSummary, bucket: int) -> tuple[NearBucket, ...]:
    """Of the same public cluster, where there are clusters."""
    away = np.abs(summary.mean - summary.mean[bucket])
    if found.public is not None and street >= found.public.street and found.streets[street].method != "lossless":
        private = found.buckets[street] // found.public.clusters
        away[np.arange(len(away)) // private != bucket // private] = np.nan
    away[bucket] = np.nan
    order = np.argsort(away, kind="stable")[: min(SHOWN, int(np.isfinite(away).sum()))]
    return tuple(NearBucket(int(b), float(summary.share[b]), float(summary.mean[b])) for b in order)
