"""Deep CFR for HUNL, figures 5 to 7: agents of Leduc against each other, at all pairs of checkpoints of one training.

Chitsazan and others (2020) play 1,000 games for each point and say that agents with more iterations win, and that ten
iterations more are worth less late than early. The captions of figures 6 and 7 both say 64 wide. The text has widths of
16, 64 and 128, as figures 2 to 4, so figure 7 is taken to be 128. We play in duplicate, and show beside the 1,000 games
what 100,000 say: the interval of 1,000 is wider than most differences between late agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.core.progress import Say
from equipoise.experiments.curves import side_by_side
from equipoise.experiments.deep_cfr.exploitability import FULL as FULL_TRAINING
from equipoise.experiments.deep_cfr.exploitability import QUICK as QUICK_TRAINING
from equipoise.experiments.deep_cfr.exploitability import Dose, LeducFigure
from equipoise.measure.report import write_report

POINTS = tuple(range(0, 101, 10))
QUICK, FULL = (dose._replace(seeds=1, iterations=POINTS) for dose in (QUICK_TRAINING, FULL_TRAINING))
GAMES = (1_000, 100_000)  # of a point: as published, and enough to see
STEP = 10  # iterations between neighbours on the diagonal that the paper describes
EARLY, LATE = 20, 80  # neighbours up to here, and from here on


@dataclass(frozen=True)
class HeatMap(LeducFigure):
    """Checkpoints of one training against each other."""

    @property
    def ABOUT(self) -> str:  # noqa: N802 (as in the modules of other experiments)
        """One line."""
        return f"Leduc by Deep CFR, networks {self.hidden} wide: checkpoints against each other (2 minutes)"

    def run(self, out: Path, full: bool, say: Say) -> dict[str, Any]:
        """The heat map; `full` has ten times the traversals and six times the training steps."""
        return self.write(out, FULL if full else QUICK, say)

    def write(self, out: Path, dose: Dose, say: Say) -> dict[str, Any]:
        """Train, play, and write the three files."""
        from equipoise.experiments.deep_cfr.training import checkpoints

        agents = dict(checkpoints({**dose.settings, "hidden": self.hidden}, 1, dose.iterations))
        say(f"trained {dose.iterations[-1]} iterations")
        rows = [play(agents, x, y, games) for games in GAMES for x, y in permutations(agents, 2)]
        summary = {
            "experiment": self.name,
            "hidden": self.hidden,
            "settings": dose.settings,
            "more_trained_wins": {str(games): share_won(rows, games) for games in GAMES},
            "ten_more_iterations_mbb": {
                "early": worth(rows, 0, EARLY),
                "late": worth(rows, LATE, dose.iterations[-1]),
            },
            "mean_ci95_mbb": {str(games): mean_width(rows, games) for games in GAMES},
        }
        write_report(out / self.name, summary, rows, self._draw)
        return summary

    def compared(self, summary: dict[str, Any]) -> list[dict[str, Any]]:
        """Shares of pairs, and what ten more iterations win; the paper gives no numbers."""
        won, worths = summary["more_trained_wins"], summary["ten_more_iterations_mbb"]
        ours = {f"share of pairs won by more iterations, {int(games):,} games": share for games, share in won.items()}
        said = dict.fromkeys(ours, "most")
        ours |= {f"ten more iterations, {when}, mbb/hand": value for when, value in worths.items()}
        return side_by_side(ours, {**said, "ten more iterations, late, mbb/hand": "less than early"})

    def _draw(self, axes: Any, rows: list[dict[str, Any]]) -> None:
        figure = axes.figure
        figure.set_size_inches(11, 4.8)
        axes.remove()
        points = sorted({row["x"] for row in rows})
        limit = max(abs(row["mbb_per_hand"]) for row in rows)
        for pane, games in zip(figure.subplots(1, 2, sharey=True), GAMES, strict=True):
            grid = np.full((len(points), len(points)), np.nan)
            for row in rows:
                if row["games"] == games:
                    grid[points.index(row["y"]), points.index(row["x"])] = row["mbb_per_hand"]
            shown = pane.imshow(grid, origin="lower", cmap="RdBu_r", norm=_colours(limit))
            pane.set_xticks(range(len(points)), points, fontsize=8)
            pane.set_yticks(range(len(points)), points, fontsize=8)
            pane.set_xlabel("iterations of agent 1")
            pane.set_title(f"networks {self.hidden} wide, {games:,} games a point", fontsize=10)
            pane.set_ylabel("iterations of agent 2")
            bar = figure.colorbar(shown, ax=pane, label="agent 1 wins, mbb/hand (milli-antes)")
            bar.formatter = lambda value, _place: f"{value:,.0f}"
            bar.update_ticks()


def _colours(limit: float) -> Any:
    """Colours that keep differences of late agents visible beside those of an untrained one."""
    from matplotlib.colors import SymLogNorm

    return SymLogNorm(linthresh=30, vmin=-limit, vmax=limit)


def play(agents: dict[int, Any], x: int, y: int, games: int) -> dict[str, Any]:
    """A duplicate match of two checkpoints; every pair has deals of its own."""
    from equipoise.play.match import match

    found = match(agents[x], agents[y], hands=games, seed=1 + 1000 * x + y, threads=1)
    return {"x": x, "y": y, "games": found.hands, "mbb_per_hand": found.mbb_per_hand, "ci95": found.ci95}


def share_won(rows: Sequence[dict[str, Any]], games: int) -> float:
    """The share of pairs in which the agent with more iterations won."""
    pairs = [row for row in rows if row["games"] == games]
    return float(np.mean([(row["mbb_per_hand"] > 0) == (row["x"] > row["y"]) for row in pairs]))


def worth(rows: Sequence[dict[str, Any]], first: int, last: int) -> float | None:
    """What ten more iterations win on average, of agents between two iterations; None if there are no neighbours."""
    neighbours = [
        row["mbb_per_hand"]
        for row in rows
        if row["games"] == GAMES[-1] and row["x"] - row["y"] == STEP and first <= row["y"] and row["x"] <= last
    ]
    return float(np.mean(neighbours)) if neighbours else None


def mean_width(rows: Sequence[dict[str, Any]], games: int) -> float:
    """Half the width of the 95% interval, on average over points."""
    return float(np.mean([row["ci95"] for row in rows if row["games"] == games]))


FIGURE_5, FIGURE_6, FIGURE_7 = (HeatMap(*each) for each in ((5, 16), (6, 64), (7, 128)))
