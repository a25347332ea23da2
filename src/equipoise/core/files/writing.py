"""Writing of files: whole under a temporary name that is flushed and renamed, or added to at the end; and locks.

A temporary file is locked while it is written. So the file of a killed process, whose lock is free, can be told from
one that another process is writing. Such remains are removed after an hour, or immediately by the owner of the folder.

Nothing is written through a link. A rename replaces a symbolic link and leaves its target alone; files that are added
to, locks and folders of our own are opened without following one. A file that has other names (hard links) is copied
before it is added to. Where something else is in the way, an OSError says what it is.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_TEMPORARY = re.compile(r"\.equipoise-tmp-[0-9a-f]{16}(\.[^/]*)?")
DAMAGED = ".damaged"  # suffix of what was set aside
_OLD = 3600.0  # seconds
_OWN = os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe without a reader is an error, not a wait


def write_whole(path: Path, write: Callable[[Path], object], *, durable: bool = True, private: bool = False) -> None:
    """Let `write` fill a temporary file beside `path`, then flush it to the disk and rename it into place.

    Without `durable` the flush is left to the system: for caches, whose files are checked when they are read. A
    `private` file is for its owner alone.
    """
    remove_remains(path.parent)
    temporary = path.parent / f".equipoise-tmp-{secrets.token_hex(8)}{path.suffix}"
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if private else 0o666)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: remains stay where they are
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        write(temporary)
        if durable:
            _sync(temporary)
        temporary.replace(path)
        if durable:
            with contextlib.suppress(OSError):  # some file systems cannot flush a folder
                _sync(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def append(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Add bytes at the end of a file, which is made if there is none."""
    descriptor = _open_own(path, os.O_WRONLY | os.O_APPEND)
    try:
        if os.fstat(descriptor).st_nlink > 1:
            before = path.read_bytes()
            write_whole(path, lambda temporary: temporary.write_bytes(before + data), durable=durable)
            return
        while data:
            data = data[os.write(descriptor, data) :]
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_lock(path: Path) -> BinaryIO:
    """Open a file to lock it, made if there is none. Our locks are empty and stay so: one with content is not ours."""
    file = os.fdopen(_open_own(path, os.O_RDWR), "rb")
    if os.fstat(file.fileno()).st_size:
        file.close()
        raise OSError(errno.EEXIST, f"{path.name} is not a lock, it has content")
    return file


def _open_own(path: Path, flags: int) -> int:
    check_plain(path)
    descriptor = os.open(path, flags | _OWN, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EEXIST, f"{path.name} is no plain file")
    return descriptor


def check_plain(path: Path) -> None:
    """Refuse to write where a link, a folder or a device is; a plain file, or nothing, may be there."""
    _check_kind(path, stat.S_ISREG, "no plain file")


def check_folder(path: Path) -> None:
    """Refuse to write in a folder of our own that is a link or something else; there may be nothing yet."""
    _check_kind(path, stat.S_ISDIR, "no folder")


def _check_kind(path: Path, is_right: Callable[[int], bool], otherwise: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        if not is_right(mode):
            raise OSError(errno.EEXIST, f"{path.name} is {'a link' if stat.S_ISLNK(mode) else otherwise}")


def make_folder(path: Path) -> None:
    """Make a folder of our own inside one that the user named, if it is not there."""
    check_folder(path)
    path.mkdir(parents=True, exist_ok=True)


def set_aside(path: Path) -> bool:
    """Rename a damaged file, unless its new name is taken."""
    aside = path.with_suffix(DAMAGED)
    if os.path.lexists(aside):
        return False
    try:
        path.rename(aside)
    except OSError:
        return False
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_remains(folder: Path, *, older_than: float = _OLD) -> None:
    """Remove the temporary files of writers that were killed, and nothing else."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if _TEMPORARY.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(Path(entry.path), older_than)


def is_temporary(name: str) -> bool:
    """Is this the name of a temporary file of ours?"""
    return _TEMPORARY.fullmatch(name) is not None


def _remove_if_abandoned(path: Path, older_than: float) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        about = os.fstat(descriptor)
        is_ours = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()
        if is_ours and time.time() - about.st_mtime >= older_than:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while its writer lives
            path.unlink()
    finally:
        os.close(descriptor)
