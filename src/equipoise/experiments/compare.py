"""Which card abstraction is better? The abstraction lab, after figure 10 of Johanson and others (2012).

Abstractions of equal size are ranked by what is left when CFR-BR has found the least exploitable strategy in each.
Beside it stand what they were ranked by before: the exploitability of strategies by CFR, where both players are
abstracted (which equilibrium of many it finds decides, Waugh and others 2009), and one-on-one results. All are measured
in one way: exactly where the game is small, else estimated from flops, else by a lower bound, which is then called so.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from equipoise._errors import InputError, shown
from equipoise.abstraction.build import Tell
from equipoise.agents.table import TableAgent
from equipoise.experiments.curves import Curve, Measuring, Say, Until, follow
from equipoise.measure.report import write_report
from equipoise.play.tournament import Tournament, round_robin
from equipoise.solve.cost import cost_of
from equipoise.solve.recipe import Recipe, load_recipe, with_solver
from equipoise.strategy.file import load_strategy

CFR_BR, CFR = "CFR-BR", "CFR"
METHOD = "cfr-br"
EQUAL = 0.01  # sizes that differ by no more are equal
STEM, MATCHES = "compare", "matches"  # of files
LEAST_MINUTES = 1e-3


@dataclass(frozen=True)
class Winnings:
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
    cfr_br_wins: Winnings
    cfr_wins: Winnings | None

    def curves(self) -> list[tuple[str, Curve]]:
        """Solver and curve."""
        return [(CFR_BR, self.cfr_br), *([(CFR, self.cfr)] if self.cfr else [])]

    def as_json(self, key: str) -> dict[str, Any]:
        """Plain values; `key` is what the measure is called."""

        def plain(curve: Curve | None, wins: Winnings | None) -> dict[str, Any] | None:
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
    """Abstractions by one number, best first; `apart` says of each but the last if its interval leaves the next out."""

    by: str
    names: tuple[str, ...]
    apart: tuple[bool, ...]

    @property
    def text(self) -> str:
        """`a > b ~ c`: a is better; b and c cannot be told apart."""
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
        kept = [_rank(CFR_BR, [(r.name, r.cfr_br.last.mbb, r.cfr_br.last.ci95 or 0.0) for r in rows])]
        by_cfr = [(r.name, r.cfr.last.mbb, r.cfr.last.ci95 or 0.0) for r in rows if r.cfr]
        kept += [_rank(CFR, by_cfr)] if by_cfr else []
        kept += [_rank(f"{CFR_BR} one-on-one", [(r.name, -r.cfr_br_wins.mbb, r.cfr_br_wins.ci95) for r in rows])]
        wins = [(r.name, -r.cfr_wins.mbb, r.cfr_wins.ci95) for r in rows if r.cfr_wins]
        return [*kept, *([_rank(f"{CFR} one-on-one", wins)] if wins else [])]

    def rows(self) -> list[dict[str, Any]]:
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
        """The curves, as the paper's figure 10; CFR dashed."""
        for place, found in enumerate(self.abstractions):
            for solver, curve in found.curves():
                dashed = solver == CFR
                seconds = [max(point.seconds, 1e-3) for point in curve.points]
                widths = [point.ci95 or 0.0 for point in curve.points] if curve.last.ci95 is not None else None
                axes.errorbar(
                    seconds, [point.mbb for point in curve.points], widths, capsize=3, markersize=4, color=f"C{place}",
                    marker="x" if dashed else "o", linestyle="--" if dashed else "-", alpha=0.6 if dashed else 1.0,
                    label=f"{found.name}, {solver}: {curve.last.mbb:,.1f}",
                )  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        for which in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            which(lambda value, _place: f"{value:,.3g}")
        axes.set_xlabel("seconds of training")
        what = "LBR lower bound" if self.measuring.method == "lbr" else "exploitability"
        axes.set_ylabel(f"{what}, mbb/g")
        axes.set_title(f"{self.game}: abstractions of {'equal' if self.equal_size else 'unlike'} size")
        axes.legend(fontsize=8)


def _rank(by: str, values: Sequence[tuple[str, float, float]]) -> Ranking:
    """By name, value (the smaller the better) and half an interval."""
    ordered = sorted(values, key=lambda entry: (entry[1], entry[0]))
    pairs = pairwise(ordered)
    apart = tuple(two[1] - one[1] > one[2] + two[2] for one, two in pairs)
    return Ranking(by, tuple(name for name, *_ in ordered), apart)


def compare_abstractions(
    recipes: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    game: str | None = None,
    overrides: Sequence[str] = (),
    minutes: float | None = None,
    iterations: int | None = None,
    cfr: bool = True,
    cfr_iterations: int | None = None,
    stage: int | None = None,
    trunk: int | None = None,
    points: int = 6,
    flops: int | None = None,
    lbr_hands: int | None = None,
    hands: int = 1_000_000,
    seed: int = 1,
    threads: int = 0,
    progress: Tell | None = None,
    say: Say | None = None,
) -> AbstractionComparison:
    """Rank the card abstractions of two or more recipes of one game and one bet menu.

    Each is trained by CFR-BR (`stage`, `trunk` as in a recipe's [solver]) for `minutes` or `iterations`, or as long as
    the recipes say, and by CFR for the same time or `cfr_iterations`; measured at `points` moments, at half, a quarter
    and so on of the run; then all final strategies play duplicate matches of so many `hands`. `flops` and `lbr_hands`
    are those of estimates where exploitability cannot be had exactly; `seed` is theirs and the matches'. `game` stands
    in for the recipes' own, `overrides` apply to all. With `out`, compare.json, .csv and .png, matches.json, .csv and
    .png, and the runs are kept in that folder: killed at any moment, the same call goes on, and one that asks for more
    minutes or iterations too.
    """
    if points < 1 or hands < 4:
        raise InputError(f"{points} points, {hands} hands", remedy="measure at least once, play at least 4 hands")
    read = _read(recipes, game, overrides)
    until = _until(read, minutes, iterations)
    measuring = Measuring.of(read[0].rules, read[0].menu, flops, lbr_hands, seed)
    plans = [(entry, _by_cfr_br(entry, stage, trunk), _by_cfr(entry) if cfr else None) for entry in read]
    with _folder(out) as folder:
        lab = _Lab(folder, measuring, until, cfr_iterations, points, threads, progress or _quiet, say or _silent)
        try:
            curves = {recipe.name: lab.curves(by_cfr_br, by_cfr) for recipe, by_cfr_br, by_cfr in plans}
            found = lab.matches(curves, hands, seed)
        except KeyboardInterrupt:
            lab.say("stopped" if out is None else f"stopped; the same command goes on in {folder}")
            raise
        rows = [_row(recipe, curves, found) for recipe in read]
        rows.sort(key=lambda row: (row.cfr_br.last.mbb, row.name))
        files = tuple(str(folder / f"{STEM}.{kind}") for kind in ("json", "csv", "png"))
        kept = (folder, files) if out is not None else (None, ())
        result = AbstractionComparison(read[0].rules.name, measuring, tuple(rows), found, *kept)
        if out is not None:
            _write(result, folder)
    return result


def _quiet(stage: str, done: float) -> None:
    del stage, done


def _silent(line: str) -> None:
    del line


def _read(names: Sequence[str | Path], game: str | None, overrides: Sequence[str]) -> list[Recipe]:
    """The recipes: two or more, of one game and menu, of different names and cards."""
    if len(names) < 2:
        raise InputError(f"{len(names) or 'no'} recipe to compare", remedy="name two or more")
    if game is not None:
        game = str(Path(game).resolve()) if Path(game).is_file() else game
        overrides = (*overrides, f"game={json.dumps(game)}")
    read = [load_recipe(name, overrides) for name in names]
    first = read[0]
    for number, recipe in enumerate(read):
        if recipe.rules.fingerprint != first.rules.fingerprint:
            games = f"{first.name} is of {first.rules.name}, {recipe.name} of {recipe.rules.name}"
            raise InputError(f"different games: {games}", remedy="compare recipes of one game, or give --game")
        if _bets(recipe) != _bets(first):
            raise InputError(
                f"different bets: those of {first.name} and of {recipe.name}", remedy="give both the same [betting]"
            )
        for other in read[:number]:
            if recipe.name == other.name:
                raise InputError(f"two recipes called {shown(recipe.name)}", remedy="rename one")
            if recipe.cards.text() == other.cards.text():
                raise InputError(
                    f"{other.name} and {recipe.name} have the same cards", remedy="compare different abstractions"
                )
    return read


def _bets(recipe: Recipe) -> Any:
    menu = recipe.menu
    return (menu.sizes, menu.caps, menu.all_in_threshold) if menu else None


def _until(recipes: Sequence[Recipe], minutes: float | None, iterations: int | None) -> Until:
    """When CFR-BR stops. The iterations of a recipe by another method are not its own."""
    if any(given is not None and not given > 0 for given in (minutes, iterations)):
        raise InputError("runs of no minutes or iterations", remedy="give a positive number")
    if minutes is not None or iterations is not None:
        return Until(minutes, iterations)
    ends = [Until(r.stop.minutes, r.stop.iterations if r.solver.method == METHOD else None) for r in recipes]
    for recipe, end in zip(recipes, ends, strict=True):
        if end == Until():
            raise InputError(
                f"recipe {recipe.name} does not say when CFR-BR stops", remedy="give minutes or iterations"
            )
    if len(set(ends)) > 1:
        raise InputError("recipes that stop at different times", remedy="give minutes or iterations")
    return ends[0]


def _by_cfr_br(recipe: Recipe, stage: int | None, trunk: int | None) -> Recipe:
    """The same cards by CFR-BR: by the recipe's own settings if that is its method, but for what is asked."""
    own = dict(recipe.table.get("solver", {}))
    if recipe.solver.method != METHOD:
        own = {key: own[key] for key in ("seed", "threads") if key in own}
    said = {key: value for key, value in (("stage", stage), ("trunk", trunk)) if value is not None}
    gone = {"stage": ("trunk", "boards", "cycle"), "trunk": ("stage",)}  # stages are for a full best response
    own = {key: value for key, value in own.items() if not any(key in gone[asked] for asked in said)}
    return with_solver(recipe, {**own, "method": METHOD, **said})


def _by_cfr(recipe: Recipe) -> Recipe:
    """The same cards by the recipe's own method, or by external sampling where that is CFR-BR."""
    own = dict(recipe.table.get("solver", {}))
    if recipe.solver.method == METHOD:
        own = {key: own[key] for key in ("seed", "threads") if key in own}
    return with_solver(recipe, own)


@contextlib.contextmanager
def _folder(out: str | Path | None) -> Iterator[Path]:
    """Where runs go: a folder that stays, or one that does not."""
    if out is None:
        with TemporaryDirectory() as name:
            yield Path(name)
        return
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot write to {shown(str(out))}: {reason}", remedy="name another folder") from None
    yield Path(out)


@dataclass(frozen=True)
class _Lab:
    """What all abstractions of a comparison share."""

    folder: Path
    measuring: Measuring
    until: Until
    cfr_iterations: int | None
    points: int
    threads: int
    tell: Tell
    say: Say

    def run(self, name: str, solver: str) -> Path:
        """The folder of a run."""
        return self.folder / "runs" / name / solver.lower()

    def curves(self, by_cfr_br: Recipe, by_cfr: Recipe | None) -> dict[str, Curve]:
        """By solver. CFR has the time that CFR-BR took, unless its iterations are given."""
        found = {CFR_BR: self._follow(by_cfr_br, CFR_BR, self.until)}
        if by_cfr:
            spent = max(found[CFR_BR].last.seconds / 60, LEAST_MINUTES)
            until = Until(minutes=spent) if self.cfr_iterations is None else Until(iterations=self.cfr_iterations)
            found[CFR] = self._follow(by_cfr, CFR, until)
        return found

    def _follow(self, recipe: Recipe, solver: str, until: Until) -> Curve:
        def tell(stage: str, done: float) -> None:
            self.tell(f"{recipe.name} by {solver}" + ("" if stage == recipe.name else f", {stage}"), done)

        return follow(
            recipe, self.run(recipe.name, solver), until, self.measuring, points=self.points, threads=self.threads,
            tell=tell, say=self.say,
        )  # fmt: skip

    def matches(self, curves: Mapping[str, Mapping[str, Curve]], hands: int, seed: int) -> Tournament:
        """All final strategies against each other."""
        players = []
        for name in sorted(curves):
            for solver in curves[name]:
                strategy = load_strategy(self.run(name, solver))
                plan = strategy.plan
                players.append(TableAgent(_player(name, solver), plan.layout, strategy.stored, strategy.buckets))
        return round_robin(
            players, hands=hands, seed=seed, threads=self.threads, out=self.folder / MATCHES,
            progress=lambda done: self.tell("matches", done),
        )  # fmt: skip


def _player(name: str, solver: str) -> str:
    return f"{name} {solver}"


def _row(recipe: Recipe, curves: Mapping[str, Mapping[str, Curve]], matches: Tournament) -> ComparedAbstraction:
    cost, mine = cost_of(recipe), curves[recipe.name]
    others = [name for name in curves if name != recipe.name]
    wins = {solver: _winnings(recipe.name, others, solver, matches) for solver in mine}
    return ComparedAbstraction(
        recipe.name, cost.buckets, cost.infosets, mine[CFR_BR], mine.get(CFR), wins[CFR_BR], wins.get(CFR)
    )


def _winnings(name: str, others: Sequence[str], solver: str, matches: Tournament) -> Winnings:
    """Against the strategies of other abstractions by the same solver; matches are independent."""
    mine = matches.names.index(_player(name, solver))
    theirs = [matches.names.index(_player(other, solver)) for other in others]
    width = float(np.sqrt((matches.ci95[mine, theirs] ** 2).sum())) / len(theirs)
    return Winnings(float(matches.mbb[mine, theirs].mean()), width)


def _write(found: AbstractionComparison, folder: Path) -> None:
    try:
        write_report(folder / STEM, found.as_json(), found.rows(), lambda axes, _rows: found.draw(axes))
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", where=str(folder), remedy="make room") from None
