"""Build the card abstraction of a recipe, look up a hand in it, and report on it with the cost of a solve."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.report.lookup import HandBucket, describe_hand, read_hand
from equipoise.abstraction.report.numbers import SAMPLES, AbstractionReport, describe
from equipoise.core.errors import InputError, check_count, shown
from equipoise.core.files.csv_file import write_csv
from equipoise.core.files.strict_json import json_text
from equipoise.core.machine import check_fits
from equipoise.core.progress import Progress
from equipoise.core.wording import counted
from equipoise.games.rules import GameRules
from equipoise.runs.recipe import check_keys, load_table
from equipoise.strategy.abstract_game import AbstractGame, read_abstract_game
from equipoise.tree.game_report import GameReport, game_report

STEM = "abstraction"
MOST_SAMPLES = 100_000_000
BYTES_A_DEAL = 200  # a shuffled deck, its buckets and strengths


@dataclass(frozen=True, eq=False)
class AbstractionFiles:
    """A report, the size of a solve with it (None without bets), and the files written."""

    report: AbstractionReport
    solve: GameReport | None
    files: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        cost = None
        if self.solve is not None:
            wanted = ("menu", "nodes", "infosets", "slots", "memory_bytes")
            cost = {key: getattr(self.solve, key) for key in wanted}
        return {**self.report.as_json(), "solve": cost, "files": list(self.files)}


def abstraction_report(
    recipe: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    game: str | GameRules | None = None,
    samples: int = SAMPLES,
    seed: int = 1,
    progress: Progress | None = None,
) -> AbstractionFiles:
    """Build (or load) the abstraction of a recipe and describe it; with `out`, write JSON, CSV and PNG files there.

    >>> cards = {"preflop": {"method": "percentile", "buckets": 2}}
    >>> found = abstraction_report({"game": "leduc", "cards": cards})
    >>> [(street.buckets, round(street.within_share, 4)) for street in found.report.streets]
    [(2, 0.25), (15, 0.0)]
    """
    check_count(samples, "samples", 1, MOST_SAMPLES)
    check_fits(samples * BYTES_A_DEAL, counted(samples, "sample"), "use fewer")
    read = abstract_game(recipe, game)
    folder = None if out is None else _Folder(Path(out))
    try:
        report = describe(read.name, read.buckets(progress), read.cards, samples=samples, seed=seed, progress=progress)
        cost = _cost(read, report)
        if folder is None:
            return AbstractionFiles(report, cost)
        if progress:
            progress("pictures", 0.0)
        return AbstractionFiles(report, cost, folder.fill(AbstractionFiles(report, cost)))
    finally:
        if folder is not None:
            folder.tidy()


def _cost(game: AbstractGame, report: AbstractionReport) -> GameReport | None:
    if game.menu is None and not game.rules.limit:
        return None
    return game_report(game.rules, game.menu, report.map.buckets)


def abstraction_bucket(
    recipe: str | Path | Mapping[str, Any],
    hole: str,
    board: str = "",
    *,
    game: str | GameRules | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> HandBucket:
    """The bucket of a hand, e.g. `AhKh` on `2c 7d Jh`, in the abstraction of a recipe, which is built if necessary.

    >>> cards = {"preflop": {"method": "percentile", "buckets": 2}}
    >>> found = abstraction_bucket({"game": "leduc", "cards": cards}, "4c")
    >>> found.bucket, found.on_this_board
    (1, ('4d', '3d', '3c'))
    """
    read = abstract_game(recipe, game)
    read_hand(read.rules, hole, board)  # refused before anything is built
    return describe_hand(read.buckets(progress), hole, board, seed=seed, progress=progress)


def build_abstraction(
    recipe: str | Path | Mapping[str, Any], *, game: str | GameRules | None = None, progress: Progress | None = None
) -> BucketMap:
    """Build the buckets of a recipe (a TOML file, or a mapping), or load them from the cache.

    `progress` is called with a stage and the fraction of it that is done.

    >>> cards = {"preflop": {"method": "percentile", "buckets": 2}}
    >>> leduc = build_abstraction({"game": "leduc", "cards": cards})
    >>> leduc.buckets, leduc.perfect_recall
    ((2, 15), True)
    """
    return abstract_game(recipe, game).buckets(progress)


def abstract_game(recipe: str | Path | Mapping[str, Any], game: str | GameRules | None) -> AbstractGame:
    """The abstract game of a recipe, which need not have a solver."""
    if isinstance(recipe, Mapping):
        check_keys(recipe, "")
        return read_abstract_game(recipe, name="recipe", game=game)
    name, where, table = load_table(recipe)
    check_keys(table, where)
    return read_abstract_game(table, name=name, where=where, game=game)


class _Folder:
    """The output folder: files are written to a temporary folder first, then moved into place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.made = not path.exists()
        try:
            path.mkdir(parents=True, exist_ok=True)
            self.room = Path(tempfile.mkdtemp(prefix=".writing-", dir=path))
        except OSError as error:
            raise InputError(
                f"cannot write to {shown(str(path))}: {error.strerror}", remedy="choose another folder"
            ) from None

    def fill(self, found: AbstractionFiles) -> tuple[str, ...]:
        from equipoise.abstraction.report.pictures import draw_pictures

        try:
            names = [f"{STEM}.json", f"{STEM}.csv", *draw_pictures(found.report, self.room, STEM)]
            rows = found.report.rows
            columns = ("street", "bucket", "share", "mean_ehs", "sd_ehs", "spread", "hands")
            write_csv(self.room / names[1], rows, columns)
            files = [str(self.path / name) for name in names]
            value = {**found.as_json(), "files": files, "rows": rows}
            (self.room / names[0]).write_text(json_text(value, indent=1) + "\n")
            for name in names:
                (self.room / name).replace(self.path / name)
        except OSError as error:
            raise InputError(
                f"cannot write to {shown(str(self.path))}: {error.strerror}", remedy="choose another folder"
            ) from None
        return tuple(files)

    def tidy(self) -> None:
        shutil.rmtree(self.room, ignore_errors=True)
        if self.made and not any(self.path.iterdir()):
            self.path.rmdir()
