"""May a command write there? Asked before the work, so that nothing is overwritten and no hour of work is lost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from equipoise.core.errors import InputError, shown

MOST_PATH = 200  # characters of a path in a message: its end is what tells files apart
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that are there already.")]


def check_output(path: str | Path, *, force: bool = False, resumes: bool = False) -> None:
    """Refuse a file that cannot be written, or that is there and may not be overwritten.

    `resumes`: the command goes on in a file of its own, and itself refuses any other.
    """
    file = Path(path)
    try:
        there = file.exists()
        plain = file.is_file()
        folder = file.is_dir()
    except (OSError, ValueError) as error:  # too long, or with a NUL
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot write {shown(str(path), MOST_PATH)}: {reason}", remedy="choose another name"
        ) from None
    if folder:
        raise InputError(f"{shown(str(path), MOST_PATH)} is a folder", remedy="name a file")
    if there and not plain:
        raise InputError(f"{shown(str(path), MOST_PATH)} is no plain file", remedy="name another file")
    if there and not (force or resumes):
        raise InputError(
            f"{shown(str(path), MOST_PATH)} is there already",
            remedy="name another file, or add --force to overwrite it",
        )
    _check_folder(file.parent, str(path))


def check_outputs(paths: Iterable[str | Path], *, force: bool = False) -> None:
    """The same of several files in one folder, which need not be there yet: commands that take a folder make it."""
    for path in map(Path, paths):
        if path.parent.is_dir():
            check_output(path, force=force)


def report_files(*stems: str | Path) -> list[Path]:
    """The files of results: STEM.json, .csv and .png."""
    return [Path(f"{stem}{suffix}") for stem in stems for suffix in (".json", ".csv", ".png")]


def new_log(path: str | None, *, force: bool) -> None:
    """The same of a log, which is always begun anew: with `force` an old one is removed."""
    if path is None:
        return
    check_output(path, force=force)
    Path(path).unlink(missing_ok=True)


def _check_folder(folder: Path, path: str) -> None:
    """Refuse a folder in which no file can be made."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"cannot write {shown(path, MOST_PATH)}: {error.strerror}", remedy="choose another place"
        ) from None
