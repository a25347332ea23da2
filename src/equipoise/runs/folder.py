"""The folder of a run. It stays usable after a full disk, a kill -9, or a second training in the same place.

    recipe.toml         the recipe with overrides applied (and rules.game, if its game is not built in)
    checkpoints/        NNNNNNNNNNNN.ckpt: tables (or networks and memories) after N iterations, the newest few;
                        NNNNNNNNNNNN.u8: the current strategy of iteration N, see strategy_snapshots.py;
                        written: the list of these files
    parts/              of a run on a cluster: the tables of its parts, see cluster/part_actor.py
    metrics.jsonl       a line of JSON per progress report; log.txt is the log
    strategy.float32, strategy.u8, strategy.current-1.u8, strategy.networks, progress.json/.csv/.png
                        written when the run stops
    lock                held by the training process; always empty

A checkpoint is put on the list, written under a temporary name, flushed and renamed; only then are older ones removed.
A damaged checkpoint is renamed and the previous one used. Only files on the list are removed or renamed; a checkpoint
that is not on it (the list was lost, or the user brought a copy back) is read and stays. All other files in the folder
are the user's and stay untouched. Nothing is written through a link: if `checkpoints`, `parts`, the lock, the log or
the metrics are links, the run is refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EEXIST
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from equipoise.core.array_checks import LARGEST, check_array, check_range
from equipoise.core.checked_model import Count, Seconds
from equipoise.core.disk import disk_remedy
from equipoise.core.errors import MOST_COUNT, InputError, shown
from equipoise.core.files.array_file import FileHeader, load_arrays, load_header, save_arrays
from equipoise.core.files.own_files import NotOursError, OwnFiles
from equipoise.core.files.strict_json import json_text
from equipoise.core.files.writing import (
    DAMAGED,
    append,
    check_folder,
    check_plain,
    is_temporary,
    make_folder,
    open_lock,
    remove_remains,
    set_aside,
    write_whole,
)
from equipoise.core.machine import MOST_THREADS
from equipoise.core.progress import Say
from equipoise.core.visible_text import shell_word, visible
from equipoise.games.gamedef import preset_names, write_gamedef
from equipoise.runs.progress import Measured, TrainingProgress
from equipoise.runs.recipe import RECIPE_FILE, Recipe, load_recipe
from equipoise.runs.recipe_text import write_toml

FORMAT = "equipoise checkpoint 2"
LOCK, RULES_FILE, LOG, PARTS = "lock", "rules.game", "log.txt", "parts"
ROUNDING = 1e-3  # mbb/g
CUT = "cut"  # the array of a checkpoint that says of which parts it is the head
_NUMBER = "(0[0-9]{11}|[1-9][0-9]{11,18})"  # an iteration in the names of files


class CheckpointHeader(FileHeader):
    """The header of a checkpoint."""

    fingerprint: str
    iteration: Count
    nodes: Count
    seconds: Seconds
    threads: Annotated[int, Field(ge=1, le=MOST_THREADS)]
    measured: Measured

    @model_validator(mode="after")
    def _could_be_measured(self) -> CheckpointHeader:
        for bound, width in (self.measured[1:3], self.measured[4:6]):
            if (bound is None) != (width is None):
                raise ValueError("a lower bound goes with its interval")
        if any(value is not None and value < -ROUNDING for value in (self.measured[0], self.measured[3])):
            raise ValueError("an exploitability is not negative")
        return self


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

    def check(self, name: str, like: Any, least: float = -LARGEST) -> Any:
        """One of its arrays; refused if it does not have the shape and type of another, or finite values."""
        try:
            found = check_array(self.arrays.get(name), name, like.shape, like.dtype)
        except InputError:
            raise InputError(
                f"not the {name} of this recipe", where=self.where, remedy="train again in a new folder"
            ) from None
        return check_range(found, name, least)


@dataclass(frozen=True)
class RunFolder:
    """A run's folder; everything that writes to it goes through here."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def own(self) -> OwnFiles:
        """The list of what the training wrote in `checkpoints`."""
        return OwnFiles(self.checkpoints, rf"{_NUMBER}\.(ckpt|u8)")

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
                resume = (
                    f"continue it with equipoise train --resume {shell_word(str(self.path))}, or "
                    if self.is_run
                    else ""
                )
                remedy = f"{resume}name a new folder"
                raise InputError(f"{shown(str(self.path))} is not empty", remedy=remedy)
            if self.path.exists() and not self.path.is_dir():
                raise InputError(f"{shown(str(self.path))} is a file", remedy="name a new folder")
        except OSError as error:
            raise InputError(f"{shown(str(self.path))}: {error.strerror}", remedy="name a new folder") from None

    def _is_untouched(self) -> bool:
        """Whether there is nothing but an empty lock, an empty folder `checkpoints` and temporary files of ours."""
        for path in self.path.iterdir():
            is_lock = path.name == LOCK and path.is_file() and path.stat().st_size == 0
            is_empty = path == self.checkpoints and path.is_dir() and not any(path.iterdir())
            is_rest = is_temporary(path.name) and path.is_file()
            if path.is_symlink() or not (is_lock or is_empty or is_rest):
                return False
        return True

    def has_reached(self, recipe: Recipe) -> bool:
        """Whether a run of this very recipe is here that has all that the recipe's stopping rule asks for."""
        if (
            not self.is_run
            or not self.listed()
            or load_recipe(self.path / RECIPE_FILE).fingerprint != recipe.fingerprint
        ):
            return False
        try:
            header, _ = load_checkpoint(self.listed()[-1], remedy="using the previous one")
        except InputError:
            return False
        stop, known = recipe.stop, header.measured.exploitability
        return (
            (stop.iterations is not None and header.iteration >= stop.iterations)
            or (stop.minutes is not None and header.seconds >= 60 * stop.minutes)
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
            make_folder(self.checkpoints)
            check_folder(self.path / PARTS)
            for path in (self.metrics, self.path / LOG):
                check_plain(path)
            file = open_lock(self.path / LOCK)
        except OSError as error:
            remedy = "move it elsewhere, or name another folder" if error.errno == EEXIST else "name another folder"
            raise InputError(f"cannot write in {shown(str(self.path))}: {error.strerror}", remedy=remedy) from None
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
            raise InputError(
                f"cannot write: {error.strerror}", where=str(self.path), remedy=disk_remedy(error)
            ) from None

    def log(self, line: str) -> None:
        """Add a line to the log. A failed write does not stop the run."""
        with contextlib.suppress(OSError):
            append(self.path / LOG, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {visible(line)}\n".encode())

    def add_metrics(self, values: dict[str, Any]) -> None:
        """Add a progress report."""
        with contextlib.suppress(OSError):
            append(self.metrics, f"{json_text(values)}\n".encode())

    def read_metrics(self) -> list[dict[str, Any]]:
        """All progress reports; damaged and incomplete lines are skipped."""
        try:
            lines = self.metrics.read_bytes().splitlines()
        except OSError:
            return []
        return [values for line in lines if (values := _read_metrics(line))]

    def cut_metrics(self, iteration: int) -> None:
        """Remove the reports after an iteration: a resumed run writes them again. A file without any is set aside."""
        rows = self.read_metrics()
        kept = "".join(json_text(row) + "\n" for row in rows if row["iteration"] <= iteration)
        with contextlib.suppress(OSError):
            if self.metrics.exists() and (rows or not self.metrics.stat().st_size or set_aside(self.metrics)):
                write_whole(self.metrics, lambda path: path.write_text(kept))

    def save(self, checkpoint: Checkpoint, recipe: Recipe) -> Path:
        """Write a checkpoint, then remove the oldest of our own."""
        path = self.checkpoints / f"{checkpoint.iteration:012d}.ckpt"
        header = {
            "fingerprint": recipe.fingerprint,
            "iteration": int(checkpoint.iteration),
            "nodes": int(checkpoint.nodes),
            "seconds": checkpoint.seconds,
            "threads": checkpoint.threads,
            "measured": checkpoint.measured._asdict(),
        }
        same = {key: header[key] for key in ("fingerprint", "iteration")}
        try:
            self.own.claim([path.name], lambda there: _is_made_for(there, same))
            save_arrays(path, FORMAT, header, checkpoint.arrays)
        except InputError as error:
            self.own.tidy()
            before = self.listed()
            first = "move that file elsewhere" if isinstance(error, NotOursError) else error.remedy
            kept = f"that of iteration {int(before[-1].stem):,} is intact" if before else "there is none yet"
            kept = kept if self.checkpoints.is_dir() else "its folder is no longer there"
            raise InputError(
                f"the checkpoint of iteration {checkpoint.iteration:,} could not be written ({error.what}); {kept}",
                where=str(self.path),
                remedy=f"{first}, then: equipoise train --resume {shell_word(str(self.path))}",
            ) from None
        names = self.own.names()
        ours = [each.name for each in self.listed() if each.name in names]
        self.own.remove(ours[: -recipe.checkpoint.keep])
        return path

    def listed(self) -> list[Path]:
        """The checkpoints, oldest first: those on the list of our own, and what else has the content of one."""
        names = self.own.names()
        return [
            path
            for path in self._named("ckpt")
            if path.name in names or _is_made_for(path, {"iteration": int(path.stem)})
        ]

    def _named(self, suffix: str) -> list[Path]:
        """The files that are named like checkpoints."""
        found = (path for path in self.checkpoints.glob(f"*.{suffix}") if re.fullmatch(_NUMBER, path.stem))
        return sorted((path for path in found if path.is_file()), key=lambda path: int(path.stem))

    def clear_remains(self) -> None:
        """Remove the temporary files of a killed training. Call it with the lock held: nobody else writes here then."""
        for folder in (self.path, self.checkpoints):
            remove_remains(folder, older_than=0)

    def set_aside(self, path: str | Path) -> None:
        """Rename a damaged checkpoint, if it is ours."""
        if Path(path).name in self.own.names():
            set_aside(Path(path))

    def newest(self, recipe: Recipe, say: Say, before: int = MOST_COUNT) -> Checkpoint | None:
        """The newest intact checkpoint, before an iteration. Damaged ones are reported and renamed.

        A run whose checkpoints are all damaged is refused, because it would silently start from zero.
        """
        for path in reversed([path for path in self.listed() if int(path.stem) < before]):
            try:
                header, arrays = load_checkpoint(path, remedy="using the previous one")
            except InputError as error:
                say(str(error))
                self.set_aside(path)
                continue
            if header.fingerprint != recipe.fingerprint:
                raise InputError(
                    f"a checkpoint of another recipe ({shown(header.fingerprint)}, not {recipe.fingerprint})",
                    where=str(path),
                    remedy="resume it without changes to its recipe, or name a new folder",
                )
            numbers = (header.iteration, header.nodes, header.seconds, header.threads)
            return Checkpoint(*numbers, header.measured, arrays, str(path))
        if before == MOST_COUNT and (self._named("ckpt") or self._named(DAMAGED[1:])):
            raise InputError("every checkpoint is damaged", where=str(self.path), remedy="train again in a new folder")
        return None


def load_checkpoint(path: Path, remedy: str) -> tuple[CheckpointHeader, dict[str, Any]]:
    """The header and the arrays of a checkpoint."""
    header, arrays = load_arrays(path, FORMAT, CheckpointHeader, remedy=remedy)
    if header.iteration != int(path.stem):
        raise InputError(
            f"of iteration {header.iteration:,}, not of the one in its name", where=str(path), remedy=remedy
        )
    return header, arrays


def _is_made_for(path: Path, what: dict[str, Any]) -> bool:
    """Whether a file is a checkpoint whose header says this."""
    try:
        header = load_header(path, FORMAT, CheckpointHeader, remedy="")
    except InputError:
        return False
    return all(getattr(header, key) == value for key, value in what.items())


def _read_metrics(line: bytes) -> dict[str, Any] | None:
    """A line of metrics; None if it is damaged."""
    try:
        return TrainingProgress(**json.loads(line)).checked().as_json()
    except (ValueError, TypeError, RecursionError):
        return None
