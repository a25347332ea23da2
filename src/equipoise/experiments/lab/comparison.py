"""The result of a comparison of abstractions: numbers, rankings, rows and curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from equipoise.core.display import table_html
from equipoise.core.visible_text import visible
from equipoise.experiments.lab.curves import Curve, Measuring
from equipoise.measure.report import plain_log
from equipoise.play.tournament import Tournament

CFR_BR, CFR = "CFR-BR", "CFR"
EQUAL = 0.01  # sizes that differ by no more are equal


@dataclass(frozen=True)
class OneOnOne:
    """One-on-one: the mean result against the other abstractions' strategies by the same solver, mbb/hand."""

    mbb: float
    ci95: float


@dataclass(frozen=True)
class ComparedAbstraction:
    """One abstraction. Curves end with the final strategies; what was left out is None."""

    name: str
    buckets: tuple[int, ...]
    infosets: int
    cfr_br: Curve
    cfr: Curve | None
    cfr_br_wins: OneOnOne
    cfr_wins: OneOnOne | None

    def curves(self) -> list[tuple[str, Curve]]:
        """Solver and curve."""
        return [(CFR_BR, self.cfr_br), *([(CFR, self.cfr)] if self.cfr else [])]

    def as_json(self, key: str) -> dict[str, Any]:
        """Plain values; `key` is what the measure is called."""

        def plain(curve: Curve | None, wins: OneOnOne | None) -> dict[str, Any] | None:
            if curve is None or wins is None:
                return None
            points = [{**asdict(point), key: point.mbb, "ci95_mbb": point.ci95} for point in curve.points]
            points = [{k: v for k, v in point.items() if k not in ("mbb", "ci95")} for point in points]
            return {
                "method": curve.method,
                **points[-1],
                "one_on_one": {"mbb_per_hand": wins.mbb, "ci95": wins.ci95},
                "curve": points,
            }

        return {
            "name": self.name,
            "buckets": list(self.buckets),
            "infosets": self.infosets,
            "cfr_br": plain(self.cfr_br, self.cfr_br_wins),
            "cfr": plain(self.cfr, self.cfr_wins),
        }


@dataclass(frozen=True)
class Ranking:
    """Abstractions by one number, best first; `apart`: whether each interval excludes the next one."""

    by: str
    names: tuple[str, ...]
    apart: tuple[bool, ...]

    @property
    def text(self) -> str:
        """`a > b ~ c`: a is better; the intervals of b and c overlap."""
        signs = [f" {'>' if apart else '~'} {name}" for apart, name in zip(self.apart, self.names[1:], strict=True)]
        return self.names[0] + "".join(signs)


@dataclass(frozen=True, eq=False)
class AbstractionComparison:
    """Abstractions, the least exploitable by CFR-BR first; `matches` has all final strategies."""

    game: str
    measuring: Measuring
    abstractions: tuple[ComparedAbstraction, ...]
    matches: Tournament
    folder: Path | None = None
    files: tuple[str, ...] = ()

    @property
    def size_difference(self) -> float:
        """By how much the largest has more information sets than the smallest, as a share."""
        sizes = [found.infosets for found in self.abstractions]
        return max(sizes) / min(sizes) - 1

    @property
    def equal_size(self) -> bool:
        return self.size_difference <= EQUAL

    def rankings(self) -> list[Ranking]:
        """By each number that the table has."""
        rows = self.abstractions
        kept = [rank(CFR_BR, [(r.name, r.cfr_br.last.mbb, r.cfr_br.last.ci95 or 0.0) for r in rows])]
        by_cfr = [(r.name, r.cfr.last.mbb, r.cfr.last.ci95 or 0.0) for r in rows if r.cfr]
        kept += [rank(CFR, by_cfr)] if by_cfr else []
        kept += [rank(f"{CFR_BR} one-on-one", [(r.name, -r.cfr_br_wins.mbb, r.cfr_br_wins.ci95) for r in rows])]
        wins = [(r.name, -r.cfr_wins.mbb, r.cfr_wins.ci95) for r in rows if r.cfr_wins]
        return [*kept, *([rank(f"{CFR} one-on-one", wins)] if wins else [])]

    def __repr__(self) -> str:
        return f"AbstractionComparison({self.game}: {', '.join(found.name for found in self.abstractions)}, best first)"

    _repr_html_ = table_html

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each point of each curve."""
        key = self.measuring.key
        return [
            {"rank": rank, "abstraction": found.name, "buckets": " ".join(map(str, found.buckets)),
             "infosets": found.infosets, "solver": solver, "iteration": point.iteration, "seconds": point.seconds,
             "nodes": point.nodes, key: point.mbb, "ci95_mbb": point.ci95}
            for rank, found in enumerate(self.abstractions, 1)
            for solver, curve in found.curves()
            for point in curve.points
        ]  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """For `--json` and compare.json."""
        return {
            "game": self.game,
            "measured": self.measuring.words,
            "method": self.measuring.method,
            "equal_size": self.equal_size,
            "abstractions": [found.as_json(self.measuring.key) for found in self.abstractions],
            "rankings": {ranking.by: list(ranking.names) for ranking in self.rankings()},
            "matches": self.matches.as_json(),
            "folder": None if self.folder is None else str(self.folder),
            "files": list(self.files),
        }

    def draw(self, axes: Any) -> None:
        """The curves, as the paper's figure 10, by iterations (a busy machine does not bend them); CFR beside it."""
        solvers = [solver for solver, _ in self.abstractions[0].curves()]
        figure = axes.figure
        figure.set_size_inches(6.5 * len(solvers), 4.5)
        axes.remove()
        panes = figure.subplots(1, len(solvers), sharey=True, squeeze=False)[0]
        for place, found in enumerate(self.abstractions):
            for pane, (_, curve) in zip(panes, found.curves(), strict=True):
                widths = None if curve.last.ci95 is None else [point.ci95 or 0.0 for point in curve.points]
                pane.errorbar(
                    [point.iteration for point in curve.points], [point.mbb for point in curve.points], widths,
                    marker="o", capsize=3, markersize=4, color=f"C{place}",
                    label=f"{visible(found.name)}: {curve.last.mbb:,.1f}",
                )  # fmt: skip
        what = "LBR lower bound" if self.measuring.method == "lbr" else "exploitability"
        panes[0].set_ylabel(f"{what}, mbb/g")
        for pane, solver in zip(panes, solvers, strict=True):
            plain_log(pane, "x")
            plain_log(pane, "y")
            pane.set_xlabel(f"iterations of {solver}")
            pane.set_title(f"{self.game}, {'equal' if self.equal_size else 'unlike'} sizes: {solver}")
            pane.legend(fontsize=8)


def rank(by: str, values: Sequence[tuple[str, float, float]]) -> Ranking:
    """By name, value (the smaller the better) and half an interval."""
    ordered = sorted(values, key=lambda entry: (entry[1], entry[0]))
    pairs = pairwise(ordered)
    apart = tuple(two[1] - one[1] > one[2] + two[2] for one, two in pairs)
    return Ranking(by, tuple(name for name, *_ in ordered), apart)
