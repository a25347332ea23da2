"""CFR-BR, figure 4: [2-4] hold'em with five buckets a round, perfect recall, 1,790 information sets.

Published (Johanson and others 2012): CFR A-vs-A ends at 144 mbb/g, A-vs-U and CFR-BR at 81. The paper does not
say which five buckets. Ours are equal-weight percentiles of E[HS^2], each bucket split in five on the flop, with the
strength of Texas hold'em, turn and river to come: of what we tried, this is closest to the published values
(docs/cfr-br.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.card_recipe import StreetRecipe
from equipoise.core.machine import all_cores
from equipoise.core.progress import Say
from equipoise.experiments.cfr_br.two_four import (
    AVERAGE,
    BOTH,
    CURRENT,
    ONE,
    Figure,
    buckets_by,
    compared,
    reproduce_figure,
)
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules

__all__ = ["ABOUT", "compared", "run"]

ABOUT = "[2-4] hold'em, 5 buckets a round: CFR A-vs-A, A-vs-U and CFR-BR against time (15 minutes on two cores)"
SECONDS = 540
FIGURE = Figure(
    "cfr-br-figure-4",
    "[2-4] hold'em, 5 buckets a round, perfect recall",
    {BOTH: 144.0, ONE: 81.0, AVERAGE: 81.0, CURRENT: 81.0},
)
FIVE = StreetRecipe(method="percentile", buckets=5, feature="ehs2")


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """The curves; `full` takes five times as long."""
    buckets = five_buckets(load_game("holdem.two-four"), load_game("holdem.limit"))
    return reproduce_figure(FIGURE, buckets, SECONDS * (5 if full else 1), out, say, all_cores())


def five_buckets(rules: GameRules, source: GameRules) -> BucketMap:
    """Five buckets before the flop, each split in five on it, by strength in the source game."""
    return buckets_by(rules, source, (FIVE, FIVE))
