"""Check output files before the work starts, so that nothing is overwritten and no result is lost."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from equipoise.core.errors import InputError, shown

MOST_PATH = 200  # characters of a path in a message; the end is kept
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]


def check_output(path: str | Path, *, force: bool = False, resumes: bool = False) -> None:
    """Refuse a file that cannot be written, or that exists and may not be overwritten.

    `resumes`: the command continues its own file and refuses any other itself.
    """
    file = Path(path)
    try:
        there = os.path.lexists(file)  # a link to nothing too
        leads_nowhere = there and not file.exists()
        plain = file.is_file()
        folder = file.is_dir()
    except (OSError, ValueError) as error:  # too long, or with a NUL
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot write {shown(str(path), MOST_PATH)}: {reason}", remedy="choose another name"
        ) from None
    if folder:
        raise InputError(f"{shown(str(path), MOST_PATH)} is a folder", remedy="name a file")
    if there and not plain and not leads_nowhere:
        raise InputError(f"{shown(str(path), MOST_PATH)} is no plain file", remedy="name another file")
    if there and not (force or resumes):
        raise InputError(
            f"{shown(str(path), MOST_PATH)} is there already",
            remedy="name another file, or add --force to overwrite it",
        )
    _check_folder(file.parent, str(path))


def check_outputs(paths: Iterable[str | Path], *, force: bool = False) -> None:
    """Check several files in one folder, which need not exist yet: the command creates it."""
    for path in map(Path, paths):
        if path.parent.is_dir():
            check_output(path, force=force)


def report_files(*stems: str | Path) -> list[Path]:
    """The files of a report: STEM.json, .csv and .png."""
    return [Path(f"{stem}{suffix}") for stem in stems for suffix in (".json", ".csv", ".png")]


def new_log(path: str | None, *, force: bool) -> None:
    """Check a log file, and with `force` remove an old one: logs always start empty."""
    if path is None:
        return
    check_output(path, force=force)
    Path(path).unlink(missing_ok=True)


def _check_folder(folder: Path, path: str) -> None:
    """Refuse a folder that is not writable."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"cannot write {shown(path, MOST_PATH)}: {error.strerror}", remedy="choose another place"
        ) from None
