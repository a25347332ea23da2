"""The cache folder: everything that Equipoise generates and keeps between runs.

One folder per user (`EQUIPOISE_CACHE`, else the XDG cache folder):

    compiled/                  kernels and tables, by the sources they depend on (`core/kernel_cache.py`)
    arrays/, abstractions/     results that take long to build, named by what determines them

Compiled kernels are loaded and run, so a folder that another user owns or can write to is refused. Every file is a
container of `core/files/array_file.py`; a damaged one is built again.
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
from equipoise.core.files.array_file import load_arrays, save_arrays

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[np.generic]]

FORMAT = "equipoise cache 1"


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
            _check_private(folder)
    except OSError:  # a read-only home: everything still works, without a cache
        return _temporary_folder()
    return root / name


def _check_private(folder: Path) -> None:
    """Refuse a folder through which another user could make us load code."""
    about = folder.stat()
    if not stat.S_ISDIR(about.st_mode):
        raise NotADirectoryError
    if about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InputError(
            f"the cache folder {shown(str(folder), 200)} belongs to another user or can be written by others",
            remedy="remove it, or name a folder of your own in EQUIPOISE_CACHE",
        )


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
    arrays = load_or_build(cache_folder("arrays") / f"{name}-{digest}.arrays", key, build)
    for array in arrays.values():
        array.flags.writeable = False
    return {member: arrays[member] for member in members}


def load_or_build(path: Path, key: str, build: Callable[[], Arrays]) -> Arrays:
    """The arrays of a file made for `key`; built, and written if possible, when the file is missing or damaged."""
    with contextlib.suppress(InputError):  # missing, damaged or made for something else
        header, arrays = load_arrays(path, FORMAT, remedy="")
        if header["key"] == key:
            return arrays
    arrays = dict(build())
    with contextlib.suppress(InputError):  # with a full or read-only disk the result is the same, only slower
        save_arrays(path, FORMAT, {"key": key}, arrays)
        return load_arrays(path, FORMAT, remedy="")[1]
    return arrays
