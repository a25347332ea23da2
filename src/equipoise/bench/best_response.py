"""The exact best response in full limit hold'em to a strategy by bucket, extrapolated from sampled flops.

Ours is the time of all river boards below the sampled flops, both players, everything included (boards dealt, turns,
flops). The peer is the showdown bound: nine showdowns for each of 567 entries on every river board, at the rate that
the showdown kernel reaches alone in the same run.
"""

from __future__ import annotations

import time
from math import sqrt

import numpy as np

from equipoise.agents.card_blind import ByBucket, ProfileStrategy
from equipoise.bench.measure import Benchmark
from equipoise.core.jit import U32
from equipoise.games.gamedef import load_game
from equipoise.measure.best_response import Measurement
from equipoise.measure.stats import t975
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import SHOWDOWN, build_tree
from equipoise.tree.boards import PublicCards
from equipoise.tree.infosets import SlotLayout, boards

BUCKETS = 16
FLOPS = 4


def limit_holdem(showdowns_per_second: float) -> Benchmark:
    """Core-hours of all canonical river boards, with a 95% interval, as the share of the bound that is reached."""
    rules = load_game("holdem.limit")
    tree = build_tree(rules)
    profile = Profile.random(SlotLayout(tree, (BUCKETS,) * rules.rounds), np.random.default_rng(1))
    measurement = Measurement(rules, ProfileStrategy("random", ByBucket(profile, _by_ranks)), tree, 1)
    measurement.walk([0])  # compiled
    seconds = np.array([_seconds_a_river(measurement, flop) for flop in measurement.draw(FLOPS, 1).tolist()])
    mean, error = seconds.mean(), t975(FLOPS - 1) * seconds.std(ddof=1) / sqrt(FLOPS)
    rivers = boards(rules)[-1]
    hours, spread = (rivers * value / 3600 for value in (mean, error))
    showdowns = 2 * tree.count(SHOWDOWN)[-1]
    return Benchmark(
        f"limit hold'em, best response: {hours:.1f} ± {spread:.1f} core-hours for {rivers:,} river boards",
        "river boards/s and core, both players", 1 / mean, "its showdowns alone", showdowns_per_second / showdowns,
    )  # fmt: skip


def _by_ranks(cards: PublicCards) -> U32:
    """Buckets by the ranks of the hole cards."""
    low, high = (column.astype(np.uint32) // 4 for column in (cards.arrays.card1, cards.arrays.card2))
    return np.asarray((high * 13 + low) * BUCKETS // 169, np.uint32)


def _seconds_a_river(measurement: Measurement, flop: int) -> float:
    start = time.process_time()
    rivers = measurement.walk([flop])[1]
    return (time.process_time() - start) / rivers
