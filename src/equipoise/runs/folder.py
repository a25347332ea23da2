"""The folder of a run. It stays usable after a full disk, a kill -9, or a second training in the same place.

    recipe.toml         the recipe with overrides applied (and rules.game, if its game is not built in)
    checkpoints/        NNNNNNNNNNNN.ckpt: tables (or networks and memories) after N iterations, the newest few;
                        NNNNNNNNNNNN.u8: the current strategy of iteration N, see strategy_snapshots.py
    parts/              of a run on a cluster: the tables of its parts, see cluster/part_actor.py
    metrics.jsonl       a line of JSON per progress report; log.txt is the log
    strategy.float32, strategy.u8, strategy.current-1.u8, strategy.networks, progress.json/.csv/.png
                        written when the run stops
    lock                held by the training process

A checkpoint is written under a temporary name, flushed and renamed; only then are older ones removed. A damaged
checkpoint is renamed and the previous one used. All other files in the folder are the user's and stay untouched.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.core.errors import MOST_COUNT, InputError, shown
from equipoise.core.files.array_file import load_arrays, save_arrays
from equipoise.core.files.strict_json import json_text
from equipoise.core.files.writing import is_temporary, remove_remains, write_whole
from equipoise.core.progress import Say
from equipoise.games.gamedef import preset_names, write_gamedef
from equipoise.runs.progress import Measured, TrainingProgress
from equipoise.runs.recipe import RECIPE_FILE, Recipe, load_recipe
from equipoise.runs.recipe_text import write_toml

FORMAT = "equipoise checkpoint 2"
LOCK, RULES_FILE, DAMAGED = "lock", "rules.game", ".damaged"
CUT = "cut"  # the array of a checkpoint that says of which parts it is the head


class LostPartError(InputError):
    """A part of a run on a cluster has no intact file of its own for a checkpoint."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of a run after some iterations; arrays from a file are memory-mapped."""

    iteration: int
    nodes: int
    seconds: float
    threads: int
    measured: Measured
    arrays: dict[str, Any]
    where: str = ""  # its file

    def check(self, name: str, like: Any) -> Any:
        """One of its arrays; refused if it does not have the shape and type of another."""
        found = self.arrays.get(name)
        if found is None or found.shape != like.shape or found.dtype != like.dtype:
            raise InputError(f"not the {name} of this recipe", where=self.where, remedy="train again in a new folder")
        return found


@dataclass(frozen=True)
class RunFolder:
    """A run's folder; everything that writes to it goes through here."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def is_run(self) -> bool:
        """Whether a training has begun here: the recipe is the first file it writes."""
        return (self.path / RECIPE_FILE).is_file() and self.checkpoints.is_dir()

    def check_new(self) -> None:
        """Refuse a folder that is not empty, except for the remains of a run that was killed before it began."""
        try:
            if self.path.is_dir() and not self._is_untouched():
                resume = f"continue it with equipoise train --resume {self.path}, or " if self.is_run else ""
                remedy = f"{resume}name a new folder"
                raise InputError(f"{shown(str(self.path))} is not empty", remedy=remedy)
            if self.path.exists() and not self.path.is_dir():
                raise InputError(f"{shown(str(self.path))} is a file", remedy="name a new folder")
        except OSError as error:
            raise InputError(f"{shown(str(self.path))}: {error.strerror}", remedy="name a new folder") from None

    def _is_untouched(self) -> bool:
        names = {path.name for path in self.path.iterdir() if not is_temporary(path.name)}
        return names <= {LOCK, self.checkpoints.name} and not (
            self.checkpoints.is_dir() and any(self.checkpoints.iterdir())
        )

    def has_reached(self, recipe: Recipe) -> bool:
        """Whether a run of this very recipe is here that has all that the recipe's stopping rule asks for."""
        if (
            not self.is_run
            or not self.listed()
            or load_recipe(self.path / RECIPE_FILE).fingerprint != recipe.fingerprint
        ):
            return False
        try:
            header, _ = load_arrays(self.listed()[-1], FORMAT, remedy="using the previous one")
        except InputError:
            return False
        stop, known = recipe.stop, Measured(**header["measured"]).exploitability
        return (
            (stop.iterations is not None and header["iteration"] >= stop.iterations)
            or (stop.minutes is not None and header["seconds"] >= 60 * stop.minutes)
            or (stop.exploitability is not None and known is not None and known <= stop.exploitability)
        )

    def check_run(self) -> None:
        """Refuse a folder that is not a run."""
        if not self.is_run:
            raise InputError(
                f"{shown(str(self.path))} is not the folder of a run",
                remedy="name one that equipoise train has written",
            )

    def check_same(self, recipe: Recipe) -> None:
        """Refuse a folder that holds a run of another recipe."""
        there = load_recipe(self.path / RECIPE_FILE)
        if there.fingerprint != recipe.fingerprint:
            raise InputError(
                f"a run of another recipe ({there.fingerprint}, not {recipe.fingerprint})",
                where=str(self.path),
                remedy="resume it without changes to its recipe, or name a new folder",
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder and lock it; the system releases the lock however the process ends."""
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            file = (self.path / LOCK).open("w")
        except OSError as error:
            raise InputError(
                f"cannot write in {shown(str(self.path))}: {error.strerror}", remedy="name another folder"
            ) from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(
                    f"another training runs in {shown(str(self.path))}", remedy="wait for it, or name a new folder"
                ) from None
            yield

    def keep_recipe(self, recipe: Recipe) -> None:
        """Write the recipe, so that the folder is complete in itself."""
        table = dict(recipe.table)
        try:
            if table["game"] not in preset_names():
                rules = write_gamedef(recipe.game.rules)
                write_whole(self.path / RULES_FILE, lambda path: path.write_text(rules))
                table["game"] = RULES_FILE
            write_whole(self.path / RECIPE_FILE, lambda path: path.write_text(write_toml(table)))
        except OSError as error:
            raise InputError(f"cannot write: {error.strerror}", where=str(self.path), remedy="make room") from None

    def log(self, line: str) -> None:
        """Add a line to the log. A failed write does not stop the run."""
        with contextlib.suppress(OSError), (self.path / "log.txt").open("a") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")

    def add_metrics(self, values: dict[str, Any]) -> None:
        """Add a progress report."""
        with contextlib.suppress(OSError), self.metrics.open("a") as file:
            file.write(json_text(values) + "\n")

    def read_metrics(self) -> list[dict[str, Any]]:
        """All progress reports; damaged and incomplete lines are skipped."""
        try:
            lines = self.metrics.read_bytes().splitlines()
        except OSError:
            return []
        return [values for line in lines if (values := _read_metrics(line))]

    def cut_metrics(self, iteration: int) -> None:
        """Remove the reports after an iteration: a resumed run writes them again."""
        kept = "".join(json_text(row) + "\n" for row in self.read_metrics() if row["iteration"] <= iteration)
        if self.metrics.exists():
            with contextlib.suppress(OSError):
                write_whole(self.metrics, lambda path: path.write_text(kept))

    def save(self, checkpoint: Checkpoint, recipe: Recipe) -> Path:
        """Write a checkpoint, then remove the oldest ones."""
        path = self.checkpoints / f"{checkpoint.iteration:012d}.ckpt"
        header = {
            "fingerprint": recipe.fingerprint,
            "iteration": int(checkpoint.iteration),
            "nodes": int(checkpoint.nodes),
            "seconds": checkpoint.seconds,
            "threads": checkpoint.threads,
            "measured": checkpoint.measured._asdict(),
        }
        try:
            save_arrays(path, FORMAT, header, checkpoint.arrays)
        except InputError as error:
            before = self.listed()
            kept = f"that of iteration {int(before[-1].stem):,} is intact" if before else "there is none yet"
            raise InputError(
                f"the checkpoint of iteration {checkpoint.iteration:,} could not be written ({error.what}); {kept}",
                where=str(self.path),
                remedy=f"free some disk space, then: equipoise train --resume {self.path}",
            ) from None
        for old in self.listed()[: -recipe.checkpoint.keep]:
            with contextlib.suppress(OSError):
                old.unlink()
        return path

    def listed(self) -> list[Path]:
        """The checkpoints, oldest first."""
        found = (path for path in self.checkpoints.glob("*.ckpt") if path.stem.isdigit())
        return sorted(found, key=lambda path: int(path.stem))

    def clear_remains(self) -> None:
        """Remove the temporary files of a killed training. Call it with the lock held: nobody else writes here then."""
        for folder in (self.path, self.checkpoints):
            remove_remains(folder, older_than=0)

    def set_aside(self, path: str | Path) -> None:
        """Rename a damaged checkpoint."""
        with contextlib.suppress(OSError):
            Path(path).rename(Path(path).with_suffix(DAMAGED))

    def newest(self, recipe: Recipe, say: Say, before: int = MOST_COUNT) -> Checkpoint | None:
        """The newest intact checkpoint, before an iteration. Damaged ones are reported and renamed.

        A run whose checkpoints are all damaged is refused, because it would silently start from zero.
        """
        for path in reversed([path for path in self.listed() if int(path.stem) < before]):
            try:
                header, arrays = load_arrays(path, FORMAT, remedy="using the previous one")
            except InputError as error:
                say(str(error))
                self.set_aside(path)
                continue
            if header["fingerprint"] != recipe.fingerprint:
                raise InputError(
                    f"a checkpoint of another recipe ({header['fingerprint']}, not {recipe.fingerprint})",
                    where=str(path),
                    remedy="resume it without changes to its recipe, or name a new folder",
                )
            numbers = (header["iteration"], header["nodes"], header["seconds"], header["threads"])
            return Checkpoint(*numbers, Measured(**header["measured"]), arrays, str(path))
        if before == MOST_COUNT and any(self.checkpoints.glob(f"*{DAMAGED}")):
            raise InputError("every checkpoint is damaged", where=str(self.path), remedy="train again in a new folder")
        return None


def _read_metrics(line: bytes) -> dict[str, Any] | None:
    """A line of metrics; None if it is damaged."""
    try:
        return TrainingProgress(**json.loads(line)).checked().as_json()
    except (ValueError, TypeError, RecursionError):
        return None
