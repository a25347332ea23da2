"""CFR-BR, figure 11: limit hold'em with 2 and with 3 buckets a round, perfect recall, on a floppy disk.

Published (Johanson and others 2012): 96,056 and 476,934 information sets, and strategies that are exploitable for
218.487 and 175.824 mbb/g; the paper does not say whether those are current or average, nor which feature it buckets by.
Ours are percentiles of E[HS^2] (recipes limit-2-bucket, limit-3-bucket), a trunk of two rounds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equipoise.core.progress import Say
from equipoise.experiments.cfr_br.limit_curves import (
    Scale,
    cfr_br_contender,
    curve_ends,
    curve_rows,
    draw_exploitability,
    last_and_lowest,
    measure_points,
    train_points,
)
from equipoise.experiments.curves import side_by_side
from equipoise.measure.report import write_report
from equipoise.solvers.solver import AVERAGE, CURRENT

NAME = "cfr-br-figure-11"
ABOUT = "limit hold'em, 2 and 3 buckets a round: exploitability of CFR-BR against time (an hour on two cores)"
SCALED = Scale(buckets=(2, 3), minutes=14, points=4)
FULL = Scale(buckets=(2, 3), minutes=256, points=8, flops=None)
PUBLISHED = {2: 218.487, 3: 175.824}


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """The curves; `full` trains sixteen times as long and walks all flops: 160 core-hours of best responses."""
    scale = FULL if full else SCALED
    return write_figure_11(out, figure_11(out, scale, say), scale)


def figure_11(out: str | Path, scale: Scale = SCALED, say: Say = print) -> list[dict[str, Any]]:
    """A row for each point of each curve; differences are to the last average strategy with the fewest buckets."""
    found = []
    published: dict[str, float] = {}
    for buckets in scale.buckets:
        curves = {strategy: bucket_curve(buckets, strategy) for strategy in (AVERAGE, CURRENT)}
        if buckets in PUBLISHED:
            published |= dict.fromkeys(curves.values(), PUBLISHED[buckets])
        contender = cfr_br_contender(scale, buckets, scale.trunks[0], curves)
        found += measure_points(train_points(contender, scale, Path(out), say), scale, say)
    return curve_rows(found, bucket_curve(scale.buckets[0], AVERAGE), published)


def bucket_curve(buckets: int, strategy: str) -> str:
    """The name of a curve."""
    return f"{buckets} buckets, {strategy}"


def write_figure_11(out: str | Path, rows: list[dict[str, Any]], scale: Scale = SCALED) -> dict[str, Any]:
    """Write the JSON, CSV and PNG files; returns the summary."""
    summary = {
        "experiment": NAME,
        "buckets": list(scale.buckets),
        "minutes": scale.minutes,
        "sampled_flops": scale.flops,
        "reference": f"the last point of {bucket_curve(scale.buckets[0], AVERAGE)}",
        "ours": last_and_lowest(rows),
        "published_mbb": {f"{buckets} buckets": value for buckets, value in PUBLISHED.items()},
    }
    write_report(Path(out) / NAME, summary, rows, _draw)
    return summary


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The ends of the curves, in mbb/g."""
    published = {bucket_curve(count, way): value for count, value in PUBLISHED.items() for way in (AVERAGE, CURRENT)}
    return side_by_side(curve_ends(summary["ours"]), published)


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    draw_exploitability(axes, rows, "Limit hold'em, 2 and 3 buckets a round, by CFR-BR", "as many buckets")
