"""Atomic writing of files: a temporary name, a flush, a rename.

A temporary file is locked while it is written. So the file of a killed process, whose lock is free, can be told from
one that another process is writing. Such remains are removed after an hour, or immediately by the owner of the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path

_TEMPORARY = re.compile(r"\.equipoise-tmp-[0-9a-f]{16}(\.[^/]*)?")
_OLD = 3600.0  # seconds


def write_whole(path: Path, write: Callable[[Path], object], *, durable: bool = True) -> None:
    """Let `write` fill a temporary file beside `path`, then flush it to the disk and rename it into place.

    Without `durable` the flush is left to the system: for caches, whose files are checked when they are read.
    """
    remove_remains(path.parent)
    temporary = path.parent / f".equipoise-tmp-{secrets.token_hex(8)}{path.suffix}"
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
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
        if time.time() - os.fstat(descriptor).st_mtime >= older_than:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while its writer lives
            path.unlink()
    finally:
        os.close(descriptor)
