"""The cache of compiled kernels and small tables, by the sources they depend on.

    compiled/MODULE-DIGEST/NAME-DIGEST.kernel    the machine code of a function for one signature
    compiled/MODULE-DIGEST/NAME.arrays           tables that the module's code builds

It replaces Numba's own cache, which does not notice an edit in another file that a kernel calls, and does not verify
its files. A kernel is looked up by the digest of all sources its module depends on (`sources.py`), verified by owner
(`files/cache.py`) and checksum before it is loaded, and compiled again if anything is wrong. Cleaning up removes only
our own version folders below a folder with our tag, never the one in use.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import pickle
import platform
import re
import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core import types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.errors import NumbaWarning
from numba.core.serialize import dumps as _dumps

from equipoise.core.errors import InputError
from equipoise.core.files.array_file import load_arrays, save_arrays
from equipoise.core.files.cache import CacheHeader, cache_folder, check_private, is_trusted, load_or_build
from equipoise.core.files.writing import open_lock, write_whole
from equipoise.core.inner_code import rebuild_inner_code
from equipoise.core.sources import source_digest

if TYPE_CHECKING:
    from equipoise.core.files.cache import Arrays

KEPT_VERSIONS = 4  # folders of one module
FORMAT = "equipoise kernel 1"
TAG_FILE = "CACHEDIR.TAG"
TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"  # of all cache folders: backups leave them out
    "# Compiled code and tables of Equipoise. Whatever lies in this folder may be removed.\n"
)
_VERSION = re.compile(r"(.+)-[0-9a-f]{16}")
_DAY = 86400.0  # seconds
PATIENCE = 120.0  # seconds to wait for another process that compiles a kernel


@functools.cache
def compiled_folder(module: str) -> Path:
    """The folder of a module's kernels and tables for its current sources; the oldest versions are removed."""
    compiled = cache_folder("compiled")
    folder = compiled / f"{module}-{source_digest(module)}"
    with contextlib.suppress(OSError):  # without a cache everything still works
        if not folder.is_dir():
            if not os.path.lexists(compiled / TAG_FILE):
                write_whole(compiled / TAG_FILE, lambda path: path.write_text(TAG), durable=False, private=True)
            folder.mkdir(mode=0o700)
            _forget_old_versions(module, folder)
        check_private(folder)
        if time.time() - folder.stat().st_mtime > _DAY:
            os.utime(folder)  # it is in use
    return folder


def _forget_old_versions(module: str, current: Path) -> None:
    compiled = current.parent
    if (compiled / TAG_FILE).read_text() != TAG:
        return
    versions = []
    for entry in os.scandir(compiled):
        named = _VERSION.fullmatch(entry.name)
        is_ours = entry.is_dir(follow_symlinks=False) and entry.stat().st_uid == os.geteuid()
        if named and named[1] == module and is_ours and entry.name != current.name:
            versions.append((entry.stat().st_mtime, entry.path))
    for _, path in sorted(versions, reverse=True)[KEPT_VERSIONS - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


def cached_arrays(name: str, members: tuple[str, ...], build: Callable[[], Arrays]) -> Arrays:
    """The arrays that `build` returns, from the cache if it has them undamaged.

    They are built again after a change of the module that defines `build` or of one that it imports.
    """
    return load_or_build(compiled_folder(build.__module__) / f"{name}.arrays", name, members, build)


class KernelCache(_Cache):
    """Numba's cache of one function. `options` say how it is compiled."""

    def __init__(self, function: Callable[..., Any], options: str) -> None:
        code = function.__code__
        self._module, self._name = function.__module__, function.__qualname__
        self._made_of = repr((options, numba.__version__, platform.python_version(), code.co_code, code.co_names))

    @property
    def cache_path(self) -> str:
        return str(compiled_folder(self._module))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for a signature, or None if it is missing or damaged: it must then be compiled.

        If another process is compiling it, wait for that. A kernel waits only for those that it calls, so two processes
        never wait for each other.
        """
        target_context.refresh()
        path, key = self._file(sig, target_context.codegen())
        found = self._stored(path, key, target_context)
        if found is None and _take_turn(path):
            found = self._stored(path, key, target_context)
            if found is not None:
                _end_turn(path)
        return found

    def _stored(self, path: Path, key: str, target_context: Any) -> Any:
        if not is_trusted(path):
            return None
        with contextlib.suppress(InputError):
            header, arrays = load_arrays(path, FORMAT, CacheHeader, remedy="")
            if header.key == key and "code" in arrays:
                stored = pickle.loads(arrays["code"])
                rebuild = rebuild_inner_code if stored[0][1] == "inner" else _rebuild
                return rebuild(target_context, *stored)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a kernel that was just compiled. A failure to write is ignored: it costs only a compilation."""
        path, key = self._file(sig, data.codegen)
        if data.library.has_dynamic_globals or any(not lifted.can_cache for lifted in data.lifted):
            warnings.warn(NumbaWarning(f"{self._name} cannot be kept: it refers to this process"), stacklevel=2)
            _end_turn(path)
            return
        with contextlib.suppress(InputError):
            code = np.frombuffer(_pickled(data._reduce()), np.uint8)
            save_arrays(path, FORMAT, {"key": key}, {"code": code}, durable=False, private=True)
        _end_turn(path)

    def enable(self) -> None:
        """Always."""

    def disable(self) -> None:
        """Never."""

    def flush(self) -> None:
        """Nothing waits to be written."""

    def _file(self, sig: Any, codegen: Any) -> tuple[Path, str]:
        """The file of a signature's kernel, and everything it depends on besides the sources."""
        signature = ", ".join(_type_text(argument) for argument in sig)
        key = f"{self._name}({signature}) {codegen.magic_tuple()} {self._made_of}"
        digest = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
        name = re.sub(r"[^\w.]+", "", self._name)
        return compiled_folder(self._module) / f"{name}-{digest}.kernel", key


_turns: dict[Path, Any] = {}  # the locks of the kernels that this process is compiling


def _take_turn(path: Path) -> bool:
    """Lock a kernel until this process has compiled it, or has ended. Returns whether another process held the lock."""
    if path in _turns:
        return False
    waited, until = False, time.monotonic() + PATIENCE
    with contextlib.suppress(OSError):  # without a lock it is compiled twice, no more
        file = open_lock(path.with_suffix(".lock"))
        while time.monotonic() < until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waited = True
                time.sleep(0.02)
                continue
            _turns[path] = file
            break
    return waited


def _end_turn(path: Path) -> None:
    """Unlock a kernel that was compiled."""
    if (file := _turns.pop(path, None)) is not None:
        with contextlib.suppress(OSError):
            path.with_suffix(".lock").unlink()
        file.close()


_rebuild: Callable[..., Any] = CompileResult._rebuild
_pickled: Callable[[Any], bytes] = _dumps


def _type_text(type_: Any) -> str:
    """A type in full: Numba's own text is the same for two named tuples of equal class names and members."""
    if not isinstance(type_, types.BaseTuple):
        return str(type_)
    members: Any = type_.types  # type: ignore[attr-defined]
    owner = getattr(type_, "instance_class", tuple)
    return f"{owner.__module__}.{owner.__qualname__}({', '.join(map(_type_text, members))})"
