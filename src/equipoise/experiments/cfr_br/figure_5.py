"""CFR-BR, figure 5: [2-4] hold'em with 169 hands before the flop and 570 imperfect-recall buckets on it.

Published (Johanson and others 2012): 41,252 information sets; CFR A-vs-A ends at 103 mbb/g, A-vs-U and CFR-BR at 25.
The paper does not say which 570 buckets. Ours are k-means clusters, by the earth mover's distance, of histograms of
strength in Texas hold'em, turn and river to come.
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

ABOUT = "[2-4] hold'em, 570 imperfect-recall buckets: the same curves as figure 4 (15 minutes on two cores)"
SECONDS = 540
BUCKETS = 570
FIGURE = Figure(
    "cfr-br-figure-5",
    "[2-4] hold'em, 169 hands and 570 buckets on the flop, imperfect recall",
    {BOTH: 103.0, ONE: 25.0, AVERAGE: 25.0, CURRENT: 25.0},
)


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """The curves; `full` takes five times as long."""
    buckets = flop_buckets(load_game("holdem.two-four"), load_game("holdem.limit"))
    return reproduce_figure(FIGURE, buckets, SECONDS * (5 if full else 1), out, say, all_cores())


def flop_buckets(rules: GameRules, source: GameRules, buckets: int = BUCKETS) -> BucketMap:
    """All hands before the flop; on it, clusters of their strength after all cards of the source game."""
    return buckets_by(rules, source, (None, StreetRecipe(method="emd", buckets=buckets)))
