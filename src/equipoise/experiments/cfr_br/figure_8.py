"""CFR-BR, figure 8: CFR-BR's strategies against the last CFR strategy of the same abstraction, hand by hand.

Published (Johanson and others 2012, figure 8a, 10 buckets a round): both the current and the average strategy lose
throughout the run, though they are far less exploitable; the text gives no numbers except an accuracy of 1.2 mbb/g. CFR
finds an equilibrium of the abstract game, which no strategy of the abstraction beats. The runs are those of figure 6,
reused from the same folder or trained. Matches are duplicate, all on the same deals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equipoise.agents.named import load_player
from equipoise.core.progress import Say
from equipoise.experiments.cfr_br import figure_6
from equipoise.experiments.cfr_br.limit_curves import Point, Scale, train_points
from equipoise.experiments.curves import by_curve, draw_intervals, remembered, side_by_side
from equipoise.measure.report import plain_log, write_report
from equipoise.play.match import match

NAME = "cfr-br-figure-8"
ABOUT = "CFR-BR against CFR in play, with the runs of figure 6 (5 minutes after it, else 40, on two cores)"
PUBLISHED = "both curves are below zero, ± 1.2 mbb/g"


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """The curves; `full` plays matches of a hundred million hands with the runs of the full figure 6."""
    scale = figure_6.FULL if full else figure_6.SCALED
    return write_figure_8(out, figure_8(out, scale, say), scale)


def figure_8(out: str | Path, scale: Scale = figure_6.SCALED, say: Say = print) -> list[dict[str, Any]]:
    """A row for each point of CFR-BR: what it wins from the last CFR strategy, mbb/hand."""
    out = Path(out)
    by_cfr, *others = figure_6.contenders(scale, say)
    opponent = train_points(by_cfr, scale, out, say)[-1]
    rows = []
    for contender in others:
        for point in train_points(contender, scale, out, say):
            rows.append({"curve": point.curve, "seconds": point.seconds, "iteration": point.iteration,
                         **match_result(point, opponent, scale)})  # fmt: skip
            say("{curve}: {seconds:.0f} s, {mbb_per_hand:+.1f} ± {ci95:.1f} mbb/hand".format(**rows[-1]))
    return rows


def match_result(point: Point, opponent: Point, scale: Scale) -> dict[str, Any]:
    """The result of a match of a point against an opponent; an earlier result is reused."""

    def play() -> dict[str, Any]:
        players = (load_player(str(each.path)) for each in (point, opponent))
        found = match(*players, hands=scale.hands, seed=scale.seed, threads=scale.threads)
        return {"mbb_per_hand": found.mbb_per_hand, "ci95": found.ci95, "hands": found.hands}

    return remembered(point.result(f"against-cfr-{opponent.iteration}-{scale.hands}-seed-{scale.seed}"), play)


def write_figure_8(out: str | Path, rows: list[dict[str, Any]], scale: Scale = figure_6.SCALED) -> dict[str, Any]:
    """Write the JSON, CSV and PNG files; returns the summary."""
    (buckets,) = scale.buckets
    summary = {
        "experiment": NAME,
        "buckets": buckets,
        "hands": scale.hands,
        "last": {curve: mine[-1] for curve, mine in by_curve(rows).items()},
        "published": PUBLISHED,
        "published_buckets": figure_6.PUBLISHED_BUCKETS,
    }
    write_report(Path(out) / NAME, summary, rows, lambda axes, drawn: _draw(axes, drawn, buckets))
    return summary


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """What the last strategies win from CFR, in mbb/hand; the paper says only that they lose."""
    ours = {curve: last["mbb_per_hand"] for curve, last in summary["last"].items()}
    return side_by_side(ours, dict.fromkeys(ours, "below zero"))


def _draw(axes: Any, rows: list[dict[str, Any]], buckets: int) -> None:
    draw_intervals(axes, rows, "mbb_per_hand", "ci95", first_colour=1)
    axes.axhline(0, color="grey", linewidth=0.8)
    plain_log(axes, "x")
    axes.set_xlabel("seconds of training")
    axes.set_ylabel("win rate against CFR, mbb/hand, ± 95%")
    axes.set_title(f"Limit hold'em, {buckets} buckets a round: CFR-BR against the last CFR strategy")
