"""The cache folder: everything that Equipoise generates and keeps between runs.

One folder per user (`EQUIPOISE_CACHE`, else the XDG cache folder):

    compiled/                  kernels and tables, by the sources they depend on (`core/kernel_cache.py`)
    arrays/, abstractions/     results that take long to build, named by what determines them

Compiled kernels are loaded and run, and tables are used as indices. So whatever another user owns is refused, from the
cache folder down to the file, and so is a folder that others can write to. A file of our own that others could have
written to is built again. The user may make links of the cache folder and of the three folders above, to private
folders of theirs; further down links are refused. Every file is a container of `core/files/array_file.py`; a damaged
one is built again.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.core.errors import InputError, shown
from equipoise.core.files.array_file import FileHeader, load_arrays, save_arrays

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[np.generic]]

FORMAT = "equipoise cache 1"


class CacheHeader(FileHeader):
    """The header of a cached file: `key` says what it was made for."""

    key: str


def cache_root() -> Path:
    """The user's cache folder of Equipoise, existing or not. Relative paths are ignored, since they would depend on the
    working directory.
    """
    named = Path(os.environ.get("EQUIPOISE_CACHE", ""))
    if named.is_absolute():
        return named
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (xdg if xdg.is_absolute() else Path.home() / ".cache") / "equipoise"


def cache_folder(name: str) -> Path:
    """A private folder of the cache, created if necessary; a temporary one if it cannot be created."""
    return _folder(cache_root(), name)


@functools.cache
def _folder(root: Path, name: str) -> Path:
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        for folder in (root, root / name):
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            _check_top(folder)
    except OSError:  # a read-only home: everything still works, without a cache
        return _temporary_folder()
    return root / name


def _check_top(folder: Path) -> None:
    """Refuse what `check_private` refuses, but follow a link of the user's own."""
    if folder.is_symlink() and folder.lstat().st_uid == os.geteuid():
        folder = folder.resolve(strict=True)
    check_private(folder)


def check_private(folder: Path) -> None:
    """Refuse a folder through which another user could make us load code."""
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) and not stat.S_ISLNK(about.st_mode):
        raise NotADirectoryError
    reason = _distrust(about) or ("can be written by others" if _is_open(about) else "")
    if reason:
        raise _untrusted(f"folder {shown(str(folder), 200)} {reason}")


def is_trusted(path: Path) -> bool:
    """Whether a file of the cache is there, and nobody else can have written it. A file of another user is refused."""
    try:
        about = path.lstat()
    except OSError:
        return False
    if reason := _distrust(about):
        raise _untrusted(f"file {shown(str(path), 200)} {reason}")
    return stat.S_ISREG(about.st_mode) and not _is_open(about)


def _distrust(about: os.stat_result) -> str:
    """Why not to touch a file or folder, if there is a reason."""
    if about.st_uid != os.geteuid():
        return "belongs to another user"
    return "is a link" if stat.S_ISLNK(about.st_mode) else ""


def _is_open(about: os.stat_result) -> bool:
    return bool(about.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _untrusted(what: str) -> InputError:
    return InputError(f"the cache {what}", remedy="remove it, or name a folder of your own in EQUIPOISE_CACHE")


@functools.cache
def _temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="equipoise-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def mapped_arrays(name: str, members: tuple[str, ...], key: str, build: Callable[[], Arrays]) -> Arrays:
    """The large arrays that `build` returns, read-only, mapped from the cache; built if missing or damaged.

    `key` describes everything that determines them, with a format number: edits of the sources do not invalidate them.
    """
    digest = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
    arrays = load_or_build(cache_folder("arrays") / f"{name}-{digest}.arrays", key, members, build)
    for array in arrays.values():
        array.flags.writeable = False
    return {member: arrays[member] for member in members}


def load_or_build(path: Path, key: str, members: tuple[str, ...], build: Callable[[], Arrays]) -> Arrays:
    """The arrays of a file made for `key`; built, and written if possible, when the file is missing or damaged."""
    if is_trusted(path):
        with contextlib.suppress(InputError):  # damaged or made for something else
            header, arrays = load_arrays(path, FORMAT, CacheHeader, remedy="")
            if header.key == key and arrays.keys() >= set(members):
                return arrays
    arrays = dict(build())
    with contextlib.suppress(InputError):  # with a full or read-only disk the result is the same, only slower
        save_arrays(path, FORMAT, {"key": key}, arrays, private=True)
        return load_arrays(path, FORMAT, CacheHeader, remedy="")[1]
    return arrays
