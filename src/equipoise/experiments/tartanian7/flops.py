"""Tartanian7, section 2: 60 clusters of the 1,755 flops over a base abstraction of 169-5,000 buckets.

Brown, Ganzfried and Sandholm (2015) cluster flops by Algorithms 2 and 3. They give no numbers of the clustering; their
worked example says that AhKs3d and AhKs2d should be close, and footnote 4 that summing distances gives more balanced
clusters than averaging them. Here all three objectives are run, from several seeds. `full` uses more of those.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from equipoise.abstraction.clustering.public_boards import cluster_public
from equipoise.abstraction.maps.card_recipe import CardRecipe, PublicRecipe, StreetRecipe
from equipoise.abstraction.maps.hierarchy import board_distances, board_weights
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.progress import Say
from equipoise.experiments.curves import side_by_side
from equipoise.games.gamedef import load_game
from equipoise.measure.report import write_report

ABOUT = "60 clusters of the 1,755 flops over 5,000 base buckets: balance by objective, the worked example (2 minutes)"
BASE, CLUSTERS = 5000, 60
OBJECTIVES = ("sum", "mean", "medoid")
EXAMPLE = ("AhKs3d", "AhKs2d")


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """Make the base abstraction and the distances, then cluster."""
    rules = load_game("holdem.limit")
    lossless = StreetRecipe()
    recipe = CardRecipe(streets=(lossless,) * rules.rounds, public=PublicRecipe(clusters=CLUSTERS, base=BASE))
    say(f"base abstraction: {BASE} flop buckets, k-means with the earth mover's distance")
    distances = board_distances(rules, recipe, 1, None)
    closer = example_share(distances)
    say(f"{EXAMPLE[0]} and {EXAMPLE[1]} are closer than {1 - closer:.2%} of all pairs of flops")
    weights = board_weights(rules, 1)
    rows: list[dict[str, Any]] = []
    for objective in OBJECTIVES:
        for seed in range(1, 11 if full else 4):
            found = cluster_public(distances, CLUSTERS, seed=seed, objective=objective, weights=weights)  # type: ignore[arg-type]
            rows.append(
                {
                    "objective": objective,
                    "seed": seed,
                    "balance": found.balance,
                    "balance_by_deals": found.weighted_balance,
                    "within": found.within,
                    "iterations": found.iterations,
                    "converged": found.converged,
                    "smallest": int(found.sizes.min()),
                    "largest": int(found.sizes.max()),
                }
            )
            say(f"{objective}, seed {seed}: largest / mean {found.balance:.2f}, within {found.within:.3f}")
    summary = {
        "experiment": "tartanian7-flops",
        "flops": len(distances),
        "base_buckets": BASE,
        "clusters": CLUSTERS,
        "example": list(EXAMPLE),
        "example_distance": float(distances[flop(EXAMPLE[0]), flop(EXAMPLE[1])]),
        "mean_distance": float(distances[np.triu_indices(len(distances), 1)].mean()),
        "share_of_pairs_closer_than_the_example": closer,
        "balance": {name: _range(rows, name) for name in OBJECTIVES},
    }
    write_report(out / "tartanian7-flops", summary, rows, _draw)
    return summary


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The balance of the clusters by objective (largest by mean, the best seed); the paper gives no numbers."""
    ours = {f"balance, {name}": found[0] for name, found in summary["balance"].items()}
    closer = {"pairs closer than the example": summary["share_of_pairs_closer_than_the_example"]}
    return side_by_side(ours | closer, {})


def flop(text: str) -> int:
    """The number of a flop, suits renamed."""
    return HandIndexer((3,)).index(load_game("holdem.limit").deck.read_cards(text))


def example_share(distances: Any) -> float:
    """The share of pairs of flops that are closer than those of the worked example."""
    pairs = distances[np.triu_indices(len(distances), 1)]
    return float((pairs < distances[flop(EXAMPLE[0]), flop(EXAMPLE[1])]).mean())


def _range(rows: list[dict[str, Any]], objective: str) -> list[float]:
    found = [row["balance"] for row in rows if row["objective"] == objective]
    return [min(found), max(found)]


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    for objective in OBJECTIVES:
        mine = [row for row in rows if row["objective"] == objective]
        axes.plot([r["within"] for r in mine], [r["balance"] for r in mine], "o", label=objective)
    axes.set_xlabel("mean distance within clusters")
    axes.set_ylabel("largest cluster / mean cluster")
    axes.set_title("60 clusters of the 1,755 flops, by objective and seed")
    axes.legend()
