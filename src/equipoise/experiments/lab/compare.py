"""Which card abstraction is better? The abstraction lab, after figure 10 of Johanson and others (2012).

Abstractions of equal size are ranked by the exploitability of the least exploitable strategy that CFR-BR finds in each.
Two older rankings are given beside it: the exploitability of CFR strategies with both players abstracted (which depends
on which equilibrium it finds, Waugh and others 2009), and one-on-one results. All are measured in the same way: exactly
if the game is small, else estimated from flops, else by a lower bound, which is named as such.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from equipoise.abstraction.maps.build import build_map
from equipoise.agents.table import TableAgent
from equipoise.core.disk import disk_remedy
from equipoise.core.errors import InputError, check_count, shown
from equipoise.core.files.text import is_file
from equipoise.core.progress import Progress, Say
from equipoise.experiments.lab.comparison import CFR, CFR_BR, AbstractionComparison, ComparedAbstraction, OneOnOne
from equipoise.experiments.lab.curves import Curve, Measuring, Until, train_curve
from equipoise.measure.report import write_report
from equipoise.play.match import LEAST_HANDS
from equipoise.play.tournament import Tournament, round_robin
from equipoise.runs.cost import Cost, cost_of
from equipoise.runs.recipe import Recipe, load_recipe, with_solver
from equipoise.strategy.file import load_strategy

METHOD = "cfr-br"
STEM, MATCHES = "compare", "matches"  # of files
LEAST_MINUTES = 1e-3
MOST_POINTS = 64  # at half, a quarter, an eighth of a run and so on
BOARDS = 64  # that maps are compared on, each street


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
    progress: Progress | None = None,
    say: Say | None = None,
) -> AbstractionComparison:
    """Rank the card abstractions of two or more recipes of one game and one bet menu.

    Each is trained by CFR-BR (`stage`, `trunk` as in a recipe's [solver]) for `minutes` or `iterations` (default: the
    recipes' own), and by CFR for the same time or `cfr_iterations`. Each run is measured at `points` moments: ..., a
    quarter, a half, all of it. Then all final strategies play duplicate matches of `hands` hands. `flops` and
    `lbr_hands` are sample sizes where exploitability cannot be computed exactly; `seed` is that of samples and matches.
    `game` replaces the recipes' own, `overrides` apply to all. With `out`, the results (compare and matches, as .json,
    .csv and .png) and the runs are kept in that folder: after a kill, the same call continues, and so does a call for
    more minutes or iterations.
    """
    check_count(points, "points", 1, MOST_POINTS)
    check_count(hands, "hands", LEAST_HANDS)
    read = _read(recipes, game, overrides)
    until = _until(read, minutes, iterations)
    measuring = Measuring.of(read[0].game.rules, read[0].game.menu, flops, lbr_hands, seed)
    plans = [(_by_cfr_br(recipe, stage, trunk), _by_cfr(recipe) if cfr else None) for recipe in read]
    costs = {recipe.name: cost_of(recipe) for recipe, _ in plans}  # refuses infeasible recipes here
    progress = progress or (lambda _stage, _done: None)
    _check_different(read, progress)
    with _folder(out) as folder:
        lab = _Lab(folder, measuring, until, cfr_iterations, points, threads, progress, say or (lambda _line: None))
        try:
            curves = {by_cfr_br.name: lab.curves(by_cfr_br, by_cfr) for by_cfr_br, by_cfr in plans}
            found = lab.matches(curves, hands, seed)
        except KeyboardInterrupt:
            lab.say("stopped" if out is None else f"stopped; the same command continues in {folder}")
            raise
        rows = [_row(name, cost, curves, found) for name, cost in costs.items()]
        rows.sort(key=lambda row: (row.cfr_br.last.mbb, row.name))
        files = tuple(str(folder / f"{STEM}.{kind}") for kind in ("json", "csv", "png"))
        kept = (folder, files) if out is not None else (None, ())
        result = AbstractionComparison(read[0].game.rules.name, measuring, tuple(rows), found, *kept)
        if out is not None:
            _write(result, folder)
    return result


def _read(names: Sequence[str | Path], game: str | None, overrides: Sequence[str]) -> list[Recipe]:
    """The recipes: two or more, of one game and menu, of different names and cards."""
    if len(names) < 2:
        raise InputError(f"{len(names) or 'no'} recipe to compare", remedy="name two or more")
    if game is not None:
        game = str(Path(game).resolve()) if is_file(game) else game
        overrides = (*overrides, f"game={json.dumps(game)}")
    read = [load_recipe(name, overrides) for name in names]
    first = read[0]
    for number, recipe in enumerate(read):
        if recipe.game.rules.fingerprint != first.game.rules.fingerprint:
            games = f"{first.name} is of {first.game.rules.name}, {recipe.name} of {recipe.game.rules.name}"
            raise InputError(f"different games: {games}", remedy="compare recipes of one game, or give --game")
        if _bets(recipe) != _bets(first):
            raise InputError(
                f"different bets: those of {first.name} and of {recipe.name}", remedy="give both the same [betting]"
            )
        for other in read[:number]:
            if recipe.name == other.name:
                raise InputError(f"two recipes called {shown(recipe.name)}", remedy="rename one")
            if recipe.game.cards.text() == other.game.cards.text():
                raise InputError(
                    f"{other.name} and {recipe.name} have the same cards", remedy="compare different abstractions"
                )
    return read


def _check_different(recipes: Sequence[Recipe], progress: Progress) -> None:
    """Build all maps, and refuse two that differ in words only: the same buckets, renamed, on random boards.

    On a last street, say, E[HS] and E[HS^2] order hands alike.
    """
    rules, rng = recipes[0].game.rules, np.random.default_rng(1)
    boards = [
        [rng.permutation(rules.deck.size)[: rules.board_size(street)].tolist() for _ in range(BOARDS)]
        for street in range(rules.rounds)
    ]
    seen: dict[str, list[Any]] = {}
    for recipe in recipes:
        buckets = build_map(rules, recipe.game.cards, progress)
        mine = [np.concatenate([buckets.buckets_of_board(s, board) for board in of]) for s, of in enumerate(boards)]
        for name, theirs in seen.items():
            if all(_same_parts(one, two) for one, two in zip(mine, theirs, strict=True)):
                raise InputError(
                    f"{name} and {recipe.name} have the same buckets", remedy="compare different abstractions"
                )
        seen[recipe.name] = mine


def _same_parts(one: Any, two: Any) -> bool:
    """Whether two labellings are the same but for the names."""
    pairs = len(np.unique(one.astype(np.int64) << 32 | two))
    return pairs == len(np.unique(one)) == len(np.unique(two))


def _bets(recipe: Recipe) -> Any:
    menu = recipe.game.menu
    return (menu.sizes, menu.caps, menu.all_in_threshold) if menu else None


def _until(recipes: Sequence[Recipe], minutes: float | None, iterations: int | None) -> Until:
    """When CFR-BR stops. The iterations of a recipe with another method do not apply."""
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
    """The same cards by CFR-BR, with the recipe's own settings if that is its method, except what is asked for."""
    own = dict(recipe.table.get("solver", {}))
    if recipe.solver.method != METHOD:
        own = {key: own[key] for key in ("seed", "threads") if key in own}
    said = {key: value for key, value in (("stage", stage), ("trunk", trunk)) if value is not None}
    gone = {"stage": ("trunk", "boards", "cycle", "grow"), "trunk": ("stage",)}  # stages are for a full best response
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
    """The folder of the runs: given, or temporary."""
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
    progress: Progress
    say: Say

    def run(self, name: str, solver: str) -> Path:
        """The folder of a run."""
        return self.folder / "runs" / name / solver.lower()

    def curves(self, by_cfr_br: Recipe, by_cfr: Recipe | None) -> dict[str, Curve]:
        """Curves by solver. CFR gets the time of CFR-BR unless its iterations are given."""
        found = {CFR_BR: self._follow(by_cfr_br, CFR_BR, self.until)}
        if by_cfr:
            spent = max(found[CFR_BR].last.seconds / 60, LEAST_MINUTES)
            until = Until(minutes=spent) if self.cfr_iterations is None else Until(iterations=self.cfr_iterations)
            found[CFR] = self._follow(by_cfr, CFR, until)
        return found

    def _follow(self, recipe: Recipe, solver: str, until: Until) -> Curve:
        def progress(stage: str, done: float) -> None:
            self.progress(f"{recipe.name} by {solver}" + ("" if stage == recipe.name else f", {stage}"), done)

        return train_curve(
            recipe, self.run(recipe.name, solver), until, self.measuring, points=self.points, threads=self.threads,
            progress=progress, say=self.say,
        )  # fmt: skip

    def matches(self, curves: Mapping[str, Mapping[str, Curve]], hands: int, seed: int) -> Tournament:
        """All final strategies against each other."""
        players = []
        for name in sorted(curves):
            for solver in curves[name]:
                strategy = load_strategy(self.run(name, solver))
                players.append(
                    TableAgent(_player(name, solver), strategy.game.layout, strategy.stored, strategy.buckets)
                )
        return round_robin(
            players, hands=hands, seed=seed, threads=self.threads, out=self.folder / MATCHES,
            progress=lambda done: self.progress("matches", done),
        )  # fmt: skip


def _player(name: str, solver: str) -> str:
    return f"{name} {solver}"


def _row(name: str, cost: Cost, curves: Mapping[str, Mapping[str, Curve]], matches: Tournament) -> ComparedAbstraction:
    mine, others = curves[name], [other for other in curves if other != name]
    wins = {solver: winnings(name, others, solver, matches) for solver in mine}
    return ComparedAbstraction(
        name, cost.buckets, cost.infosets, mine[CFR_BR], mine.get(CFR), wins[CFR_BR], wins.get(CFR)
    )


def winnings(name: str, others: Sequence[str], solver: str, matches: Tournament) -> OneOnOne:
    """Against the strategies of other abstractions by the same solver; matches are independent."""
    mine = matches.names.index(_player(name, solver))
    theirs = [matches.names.index(_player(other, solver)) for other in others]
    width = float(np.sqrt((matches.ci95[mine, theirs] ** 2).sum())) / len(theirs)
    return OneOnOne(float(matches.mbb[mine, theirs].mean()), width)


def _write(found: AbstractionComparison, folder: Path) -> None:
    try:
        write_report(folder / STEM, found.as_json(), found.to_rows(), lambda axes, _rows: found.draw(axes))
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", where=str(folder), remedy=disk_remedy(error)) from None
