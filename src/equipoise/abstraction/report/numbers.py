"""An abstraction in numbers: for each street its buckets, how evenly they are dealt and how similar their hands are.

Similarity is the variance of E[HS] within buckets divided by the variance over all hands: 0 if all hands of a bucket
are equally strong, 1 if buckets carry no information about strength. It ignores potential, so buckets by potential may
be better than it suggests.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.card_recipe import CardRecipe
from equipoise.abstraction.report.public_clusters import PublicReport, public_report
from equipoise.abstraction.report.summary import (
    BucketSummary,
    Deals,
    lists_every_bucket,
    one_hand_per_bucket,
    sample_hands,
    some_deals,
    summarize,
)
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.files.strict_json import finite_or_none
from equipoise.core.progress import Progress, stage

SAMPLES = 1_000_000
HANDS = 3  # of each bucket that are shown


@dataclass(frozen=True)
class StreetReport:
    """One street. Shares are of all deals, over buckets that are not empty; None where all of many hands have one."""

    street: str
    method: str
    hands: int  # in its table
    buckets: int
    non_empty: int
    bytes: int
    counted: str  # "exact": every hand, as often as it is dealt; "sample": random deals
    smallest_share: float | None
    mean_share: float
    largest_share: float | None
    variance: float | None  # of E[HS], of all hands
    within: float  # of E[HS], within buckets
    within_share: float  # of all variance: 0 is perfect, 1 useless


@dataclass(frozen=True, eq=False)
class AbstractionReport:
    """A map, statistics of its buckets, and the sample of deals behind some of them."""

    name: str
    map: BucketMap
    streets: tuple[StreetReport, ...]
    public: PublicReport | None
    deals: Deals
    seed: int
    summaries: tuple[BucketSummary | None, ...] = field(repr=False)  # None: a bucket for every one of many hands

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One for each street and bucket."""
        found: list[dict[str, Any]] = []
        for number, (street, summary) in enumerate(zip(self.streets, self.summaries, strict=True)):
            if summary is None or not lists_every_bucket(self.map, number):
                continue
            hands = sample_hands(self.map, number, summary, self.deals, HANDS)
            columns = zip(summary.share, summary.mean, summary.sd, summary.spread, hands, strict=True)
            for bucket, (share, mean, sd, spread, shown) in enumerate(columns):
                found.append(
                    {
                        "street": street.street,
                        "bucket": bucket,
                        "share": float(share),
                        "mean_ehs": finite_or_none(mean),
                        "sd_ehs": finite_or_none(sd),
                        "spread": finite_or_none(spread),
                        "hands": "; ".join(shown),
                    }
                )
        return found

    def as_json(self) -> dict[str, Any]:
        """Plain values, the rows left out."""
        return {
            "name": self.name,
            "game": self.map.rules.name,
            "fingerprint": self.map.fingerprint,
            "recipe": json.loads(self.map.recipe),
            "perfect_recall": self.map.perfect_recall,
            "bytes": self.map.bytes,
            "deals": len(self.deals.cards),
            "deals_are": "all" if self.deals.every else "a random sample",
            "seed": self.seed,
            "streets": [asdict(street) for street in self.streets],
            "public": self.public.as_json() if self.public else None,
            "boards": self.map.about.get("boards"),
        }


def describe(
    name: str,
    found: BucketMap,
    cards: CardRecipe,
    *,
    samples: int = SAMPLES,
    seed: int = 1,
    progress: Progress | None = None,
) -> AbstractionReport:
    """The report of a map that was built from `cards`."""
    if progress:
        progress("deals", 0.0)
    deals = some_deals(found, samples, seed)
    streets, summaries = [], []
    for number in range(found.rules.rounds):
        summary = None
        if not one_hand_per_bucket(found, number):
            fraction = stage(progress, f"strength, {found.rules.street_name(number)}")
            summary = summarize(found, number, lambda: deals, (samples, seed), fraction)
        streets.append(_street(found, number, summary))
        summaries.append(summary)
    public = public_report(found, cards, seed, progress)
    return AbstractionReport(name, found, tuple(streets), public, deals, seed, tuple(summaries))


def _street(found: BucketMap, street: int, summary: BucketSummary | None) -> StreetReport:
    own, rules = found.streets[street], found.rules
    size = sum(int(table.nbytes) for table in (own.cell, own.join) if table is not None)
    numbers: dict[str, Any]
    if summary is None:
        numbers = {
            "non_empty": own.buckets,
            "counted": "exact",
            "smallest_share": None,
            "mean_share": 1 / own.buckets,
            "largest_share": None,
            "variance": None,
            "within": 0.0,
            "within_share": 0.0,
        }
    else:
        within, overall = summary.variance()
        share = summary.share[summary.filled]
        numbers = {
            "non_empty": len(share),
            "counted": "exact" if summary.exact else "sample",
            "smallest_share": float(share.min()),
            "mean_share": 1 / len(share),
            "largest_share": float(share.max()),
            "variance": overall,
            "within": within,
            "within_share": within / overall if overall else 0.0,
        }
    hands = HandIndexer(own.deals, rules.deck).size
    return StreetReport(rules.street_name(street), own.method, hands, own.buckets, bytes=size, **numbers)
