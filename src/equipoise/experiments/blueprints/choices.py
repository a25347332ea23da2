"""What each choice of a blueprint is worth: bets, buckets, schedule and pruning, one change at a time.

Every blueprint gets the same core time on one thread (time of its process: other work on the machine does not count).
On several cores several blueprints are trained and measured at once, each in a process of its own. No-limit blueprints
are compared by local best response, a lower bound on exploitability, and one-on-one with the base; limit ones by the
exploitability on sampled flops, the same for all, and one-on-one. There are no published values.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.cards.matchups import equity_table, needs_table
from equipoise.core.machine import available_memory, thread_count
from equipoise.core.progress import Say
from equipoise.core.workers import workers
from equipoise.experiments.curves import remembered, train_to
from equipoise.measure.agent import measure_agent
from equipoise.measure.best_response import Exploitability
from equipoise.measure.lbr import local_best_response
from equipoise.measure.report import write_report
from equipoise.play.match import match
from equipoise.runs.recipe import Recipe, load_recipe
from equipoise.solvers.registry import make_solver

NAME = "blueprint-choices"
ABOUT = "what bets, buckets, schedule and pruning are worth at equal core time (a core-hour)"
BASE = "base"
ROUNDS = ("flop", "turn", "river")
FIRST = 200_000  # iterations that show the pace
SEED = 11
PROCESS_BYTES = 1 << 30  # of memory: more than a blueprint of any choice needs


class Base(NamedTuple):
    """A recipe, and what its variants change."""

    recipe: str
    variants: dict[str, tuple[str, ...]]


def buckets(count: int) -> tuple[str, ...]:
    """Overrides: a number of buckets on every street after the first."""
    return tuple(f"cards.{street}.buckets={count}" for street in ROUNDS)


def by_percentile(count: int) -> tuple[str, ...]:
    """Overrides: percentile buckets on every street after the first."""
    return tuple(f"cards.{street}={{method='percentile', buckets={count}, nested=false}}" for street in ROUNDS)


NO_LIMIT = {
    "bets pot": ("betting=pot",),
    "bets standard": ("betting=standard",),
    "late raises all-in": tuple(f"betting.{street}.raise=['all-in']" for street in ("turn", "river")),
    "1,000 flop buckets": ("cards.flop.buckets=1000",),
}
CARDS_AND_SOLVER: dict[str, tuple[str, ...]] = {
    "100 buckets": buckets(100),
    "300 buckets": buckets(300),
    "1,000 percentile buckets": by_percentile(1000),
    "schedule discounted": ("solver.schedule=discounted",),
    "schedule cfr": ("solver.schedule=cfr",),
    "pruning": ("solver.prune=1e6",),
}
BASES = {
    "no-limit": Base("nolimit-strong", {**NO_LIMIT, **CARDS_AND_SOLVER}),
    "limit": Base("limit-strong", CARDS_AND_SOLVER),
}


class Dose(NamedTuple):
    """How much of everything each choice gets."""

    minutes: float  # of core time for training
    hands: int  # of the match with the base
    lbr_hands: int
    flops: int


QUICK = Dose(2.0, 2_000_000, 4_000, 6)
FULL = Dose(60.0, 4_000_000, 40_000, 40)


class Cell(NamedTuple):
    """A choice: its recipe, what it changes, and the folder of its run."""

    game: str
    choice: str
    recipe: str
    changes: tuple[str, ...]
    folder: Path

    def load(self) -> Recipe:
        return load_recipe(self.recipe, (*self.changes, "measure={method='none'}"))

    def remembered_as(self, what: str) -> Path:
        """The file of a result."""
        return self.folder.parent / f"{self.folder.name}.{what}"


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """Train, measure and play every variant; `full` takes thirty times as long."""
    return compare_choices(BASES, out, FULL if full else QUICK, say)


def compare_choices(bases: Mapping[str, Base], out: Path, dose: Dose, say: Say) -> dict[str, Any]:
    """All choices of some games, as many at once as there are cores and memory for. A stopped run continues."""
    folder = out / f"{NAME}-{dose.minutes:g}-minutes"
    cells = [cell for game, base in bases.items() for cell in choice_cells(game, base, folder)]
    for cell in cells:
        prepare(cell, say)
    count = min(thread_count(0), len(cells), max(1, available_memory() // PROCESS_BYTES))
    say(f"{len(cells)} choices, {count} at once")
    rows = []
    with workers(find_row, count) as start:
        trained = [start(cell, dose) for cell in cells]
        played = []
        for cell, future in zip(cells, trained, strict=True):  # the base of a game comes before its variants
            say(f"{cell.game}, {cell.choice}: {future.result()}")
            played.append(start(cell, dose, cell.folder.parent / BASE))
        for cell, first, second in zip(cells, trained, played, strict=True):
            rows.append({"game": cell.game, "choice": cell.choice, **first.result(), **second.result()})
            say("; ".join(f"{key} {value}" for key, value in rows[-1].items() if value is not None))
    summary = {"experiment": NAME, **dose._asdict()}
    write_report(out / NAME, summary, rows, _draw)
    return summary | {"found": rows}


def choice_cells(game: str, base: Base, folder: Path) -> list[Cell]:
    """The base of a game, then its variants."""
    return [
        Cell(game, name, base.recipe, changes, folder / game / name.replace(" ", "-").replace(",", ""))
        for name, changes in {BASE: (), **base.variants}.items()
    ]


def prepare(cell: Cell, say: Say) -> None:
    """Build buckets, compile, and build the table of local best response: before the clock starts, and for all."""
    say(f"{cell.game}, {cell.choice}: {cell.recipe} {' '.join(cell.changes)}".rstrip())
    recipe = cell.load()
    settings = recipe.solver.settings() | {"period": 1}
    make_solver(recipe.solver.method, recipe.game.tree, recipe.game.buckets(), threads=1, **settings).run(2)
    if needs_table(recipe.game.rules):
        equity_table(recipe.game.rules)
    cell.folder.mkdir(parents=True, exist_ok=True)


def find_row(cell: Cell, dose: Dose, against: Path | None = None) -> dict[str, Any]:
    """Half of a row: training and how exploitable the result is; or, with a base, the match. All on one thread."""
    if against is not None:
        return one_on_one(cell, against, dose.hands)
    return train_for(cell, 60 * dose.minutes) | measured(cell, dose.lbr_hands, dose.flops)


def train_for(cell: Cell, seconds: float) -> dict[str, Any]:
    """Train until this process has spent the time on it."""

    def find() -> dict[str, Any]:
        recipe, spent, iterations = cell.load(), 0.0, FIRST
        while True:
            start = time.process_time()
            train_to(recipe, cell.folder, None, iterations, threads=1)
            spent += time.process_time() - start
            if spent >= 0.97 * seconds:
                return {"iterations": iterations, "core_seconds": spent}
            iterations += max(FIRST, int(iterations * (seconds - spent) / spent))

    return remembered(cell.remembered_as("trained"), find)


def measured(cell: Cell, lbr_hands: int, flops: int) -> dict[str, Any]:
    """How exploitable a run is: on sampled flops in limit, at least, by local best response, in no-limit."""

    def find() -> dict[str, Any]:
        if cell.load().game.rules.limit:
            on_flops = measure_agent(str(cell.folder), method="exact", sample_flops=flops, threads=1)
            assert isinstance(on_flops, Exploitability)
            return _limits(on_flops.exploitability, on_flops.ci95_mbb, None, None)
        found = local_best_response(str(cell.folder), hands=lbr_hands, threads=1)
        return _limits(None, None, found.lbr, found.ci95)

    return remembered(cell.remembered_as("measured"), find)


def _limits(*values: float | None) -> dict[str, float | None]:
    """The same columns for all games."""
    return dict(zip(("exploitability", "± exploitability", "lbr", "± lbr"), values, strict=True))


def one_on_one(cell: Cell, base: Path, hands: int) -> dict[str, Any]:
    """What a run wins from the base, in mbb/hand; nothing if it is the base."""

    def find() -> dict[str, Any]:
        if cell.folder == base:
            return {"wins": None, "± wins": None}
        played = match(str(cell.folder), str(base), hands=hands, seed=SEED, threads=1)
        return {"wins": played.mbb_per_hand, "± wins": played.ci95}

    return remembered(cell.remembered_as("played"), find)


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """What each variant wins from the base, in mbb/hand; nothing is published."""
    found = [row for row in summary["found"] if row["wins"] is not None]
    return [{"name": f"{row['game']}, {row['choice']}", "published": None, "ours": row["wins"]} for row in found]


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    shown = [row for row in rows if row["wins"] is not None]
    axes.errorbar(
        [row["wins"] for row in shown], range(len(shown)), xerr=[row["± wins"] for row in shown], fmt="o", capsize=3
    )
    axes.set_yticks(range(len(shown)), [f"{row['game']}: {row['choice']}" for row in shown])
    axes.invert_yaxis()
    axes.axvline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("one-on-one with the base, mbb/hand")
    axes.set_title("What a choice is worth at equal core time")
