"""CFR-BR, figure 6: limit hold'em, 10 buckets a round, perfect recall, 57,337,080 information sets.

Published (Johanson and others 2012): CFR falls to 277 mbb/g and rises to 305, because it overfits; CFR-BR with a trunk
of two rounds reaches 92.638 (current strategy) and 93.539 (average), on 48 cores. Our buckets are percentiles of
E[HS^2]; the paper does not name its feature. Our CFR is external sampling, which is faster here than the paper's public
chance sampling.

The short version has 3 buckets a round, which two cores train in minutes (its CFR-BR is the run of figure 11), and
samples flops, the same at all points. The full version has the paper's buckets, walks all flops, and adds a trunk of
one round if memory allows: a best response to three rounds at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equipoise.core.errors import InputError
from equipoise.core.progress import Say
from equipoise.experiments.cfr_br.limit_curves import (
    Contender,
    Scale,
    cfr_br_contender,
    cfr_contender,
    check_memory,
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

NAME = "cfr-br-figure-6"
ABOUT = "limit hold'em, 3 buckets a round: CFR and CFR-BR, exploitability against time (an hour on two cores)"
SCALED = Scale(buckets=(3,), minutes=14, points=4, cfr_points=6)
FULL = Scale(buckets=(10,), minutes=384, points=7, flops=None, trunks=(2, 1), hands=100_000_000)
CFR_CURVE = "CFR"
PUBLISHED = {"cfr_low": 277, "cfr_final": 305, "cfr_br_current": 92.638, "cfr_br_average": 93.539}
PUBLISHED_BUCKETS = 10


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """The curves; `full` trains three runs of 6.4 hours on all cores, with up to 9 GB of memory for the trunk of one
    round, and needs 175 core-hours of best responses.
    """
    scale = FULL if full else SCALED
    return write_figure_6(out, figure_6(out, scale, say), scale)


def figure_6(out: str | Path, scale: Scale = SCALED, say: Say = print) -> list[dict[str, Any]]:
    """A row for each point of each curve; differences are to the last point of CFR."""
    out = Path(out)
    found = []
    for contender in contenders(scale, say):
        found += measure_points(train_points(contender, scale, out, say), scale, say)
    rows = curve_rows(found, CFR_CURVE, _published_ends())
    return [{**row, "published_buckets": PUBLISHED_BUCKETS} for row in rows]


def trunk_curve(trunk: int, strategy: str) -> str:
    """The name of a curve of CFR-BR."""
    return f"CFR-BR {strategy}, {trunk}-round trunk"


def contenders(scale: Scale, say: Say) -> list[Contender]:
    """CFR first, then CFR-BR with each trunk. Memory is checked before anything runs."""
    (buckets,) = scale.buckets
    found = [cfr_contender(scale, buckets, CFR_CURVE)]
    for trunk in scale.trunks:
        curves = {strategy: trunk_curve(trunk, strategy) for strategy in (AVERAGE, CURRENT)}
        contender = cfr_br_contender(scale, buckets, trunk, curves)
        try:
            check_memory(contender, scale, say)
        except InputError as error:
            if trunk == scale.trunks[0]:
                raise
            say(f"left out: {error}")
            continue
        found.append(contender)
    return found


def write_figure_6(out: str | Path, rows: list[dict[str, Any]], scale: Scale = SCALED) -> dict[str, Any]:
    """Write the JSON, CSV and PNG files; returns the summary."""
    (buckets,) = scale.buckets
    summary = {
        "experiment": NAME,
        "buckets": buckets,
        "minutes": scale.minutes,
        "cfr": "external sampling, linear",
        "sampled_flops": scale.flops,
        "reference": f"the last point of {CFR_CURVE}",
        "ours": last_and_lowest(rows),
        "published_mbb": PUBLISHED,
        "published_buckets": PUBLISHED_BUCKETS,
    }
    write_report(Path(out) / NAME, summary, rows, lambda axes, drawn: _draw(axes, drawn, buckets))
    return summary


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The lowest point of CFR and the ends of all curves, in mbb/g; published with 10 buckets a round."""
    lowest = f"{CFR_CURVE}, lowest"
    ours = {lowest: summary["ours"][CFR_CURVE]["lowest"]["exploitability_mbb"], **curve_ends(summary["ours"])}
    return side_by_side(ours, {lowest: PUBLISHED["cfr_low"], **_published_ends()})


def _published_ends() -> dict[str, float]:
    by_trunk = {trunk_curve(2, strategy): PUBLISHED[f"cfr_br_{strategy}"] for strategy in (CURRENT, AVERAGE)}
    return {CFR_CURVE: PUBLISHED["cfr_final"], **by_trunk}


def _draw(axes: Any, rows: list[dict[str, Any]], buckets: int) -> None:
    title = f"Limit hold'em, {buckets} buckets a round, perfect recall"
    draw_exploitability(axes, rows, title, f"{PUBLISHED_BUCKETS} buckets")
