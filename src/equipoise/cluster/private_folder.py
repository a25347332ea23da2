"""A folder in the temporary folder that only this user can enter, for what another program leaves open to everybody.

Ray makes each of its folders writable for all users of the machine. So they are inside one of ours, which has mode 0700
and is never handed to Ray itself. Its name says which process it belongs to, and a file in it that it is ours: folders
of processes that were killed are removed by the next one that needs a folder, and nothing else is, whatever its name.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from equipoise.core.errors import InputError, shown

PREFIX = "equipoise-ray-"
INNER, MARK = "r", "owner"  # the other program's folder; the file that makes a folder ours
_OURS = re.compile(rf"{PREFIX}([1-9][0-9]{{0,6}})-[a-z0-9_]{{8}}")  # as `mkdtemp` ends a name
_MARKED = b"a temporary folder of equipoise\n"
_LONGEST = 10  # characters of the temporary folder: names of sockets must stay below 108 bytes (on macOS 104)
_MODE = 0o700


@dataclass(frozen=True)
class PrivateFolder:
    """A folder that was found to be ours alone; `identity` is its device and inode."""

    path: Path
    identity: tuple[int, int]

    @property
    def inner(self) -> Path:
        """The folder for the other program."""
        return self.path / INNER

    def check(self) -> None:
        """Refuse to go on if another user can now enter the folder, or has replaced it."""
        try:
            about = self.path.lstat()
        except OSError as error:
            raise InputError(f"the folder {self.path} has gone ({error.strerror})", remedy="start again") from None
        if (about.st_dev, about.st_ino) != self.identity or not _is_private(about):
            raise InputError(f"the folder {self.path} is open to other users", remedy="remove it, then start again")


def _is_private(about: os.stat_result) -> bool:
    mode = about.st_mode
    return stat.S_ISDIR(mode) and stat.S_IMODE(mode) == _MODE and about.st_uid == os.geteuid()


@contextmanager
def private_folder() -> Iterator[PrivateFolder]:
    """A new folder, removed afterwards."""
    root = _temporary_root()
    _remove_abandoned(root)
    path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=root))
    try:
        (path / MARK).write_bytes(_MARKED)
        (path / INNER).mkdir(_MODE)
        about = path.lstat()
        folder = PrivateFolder(path, (about.st_dev, about.st_ino))
        folder.check()
        yield folder
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _temporary_root() -> Path:
    """The temporary folder, or /tmp if its name is too long; refused if others can rename what is in it."""
    root = Path(tempfile.gettempdir())
    if len(os.fsencode(root)) > _LONGEST and Path("/tmp").is_dir():
        root = Path("/tmp")
    about = root.stat()
    mine = about.st_uid in (0, os.geteuid())
    if not mine or (about.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not about.st_mode & stat.S_ISVTX):
        raise InputError(
            f"other users can rename files in the temporary folder {shown(root)}", remedy="use another: set TMPDIR"
        )
    return root


def _remove_abandoned(root: Path) -> None:
    """Remove the folders of processes that have ended. Whatever else is called like them stays."""
    with contextlib.suppress(OSError):  # a folder that may not be listed
        for path in list(root.iterdir()):
            found = _OURS.fullmatch(path.name)
            if found and not _is_alive(int(found[1])) and _is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(path: Path) -> bool:
    """Is it a folder that this user's Equipoise made, with nothing beside what it made?"""
    with contextlib.suppress(OSError):
        mark = path / MARK
        return (
            _is_private(path.lstat())
            and {inner.name for inner in path.iterdir()} <= {MARK, INNER}
            and stat.S_ISREG(mark.lstat().st_mode)
            and mark.stat().st_size == len(_MARKED)
            and mark.read_bytes() == _MARKED
        )
    return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
