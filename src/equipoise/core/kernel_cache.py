"""Compiled kernels and small tables between runs, by the sources they depend on.

    compiled/MODULE-DIGEST/NAME-DIGEST.kernel    the machine code of a function for one signature
    compiled/MODULE-DIGEST/NAME.arrays           tables that the module's code builds

Numba's own cache does not notice an edit in another file that a kernel calls, and loads whatever lies in its files.
This one takes its place: a kernel is found by the digest of all sources its module depends on (`sources.py`), checked
to the last bit before it is loaded, and compiled again if anything is wrong with it. Only folders that we made are ever
removed, below a folder that carries our tag, and never the one in use.
"""

from __future__ import annotations

import contextlib
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
from equipoise.core.files.cache import cache_folder, load_or_build
from equipoise.core.sources import source_digest

if TYPE_CHECKING:
    from equipoise.core.files.cache import Arrays

KEPT_VERSIONS = 4  # of a module's folder
FORMAT = "equipoise kernel 1"
TAG_FILE = "CACHEDIR.TAG"
TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"  # of all cache folders: backups leave them out
    "# Compiled code and tables of Equipoise. Whatever lies in this folder may be removed.\n"
)
_VERSION = re.compile(r"(.+)-[0-9a-f]{16}")
_DAY = 86400.0  # seconds


@functools.cache
def compiled_folder(module: str) -> Path:
    """Where kernels and tables of a module lie, for its sources as they are; older versions are cleared away."""
    compiled = cache_folder("compiled")
    folder = compiled / f"{module}-{source_digest(module)}"
    with contextlib.suppress(OSError):  # nothing is kept, everything still works
        if not folder.is_dir():
            if not (compiled / TAG_FILE).exists():
                (compiled / TAG_FILE).write_text(TAG)
            folder.mkdir(mode=0o700)
            _forget_old_versions(module, folder)
        elif time.time() - folder.stat().st_mtime > _DAY:
            os.utime(folder)  # it is in use
    return folder


def _forget_old_versions(module: str, current: Path) -> None:
    compiled = current.parent
    if (compiled / TAG_FILE).read_text() != TAG:
        return
    versions = []
    for entry in os.scandir(compiled):
        named = _VERSION.fullmatch(entry.name)
        if named and named[1] == module and entry.is_dir(follow_symlinks=False) and entry.name != current.name:
            versions.append((entry.stat().st_mtime, entry.path))
    for _, path in sorted(versions, reverse=True)[KEPT_VERSIONS - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


def cached_arrays(name: str, build: Callable[[], Arrays]) -> Arrays:
    """The arrays that `build` makes, from the cache when it has them undamaged.

    They are built again when the module that defines `build`, or one that it imports, has changed.
    """
    return load_or_build(compiled_folder(build.__module__) / f"{name}.arrays", name, build)


class KernelCache(_Cache):
    """What Numba asks for the machine code of one function, and gives it to. `options` say how it is compiled."""

    def __init__(self, function: Callable[..., Any], options: str) -> None:
        code = function.__code__
        self._module, self._name = function.__module__, function.__qualname__
        self._made_of = repr((options, numba.__version__, platform.python_version(), code.co_code, code.co_names))

    @property
    def cache_path(self) -> str:
        return str(compiled_folder(self._module))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for a signature, or nothing if it is not there whole."""
        target_context.refresh()
        path, key = self._file(sig, target_context.codegen())
        with contextlib.suppress(InputError):
            header, arrays = load_arrays(path, FORMAT, remedy="")
            if header["key"] == key:
                return _rebuild(target_context, *pickle.loads(arrays["code"]))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel that was just compiled. What cannot be written costs a compilation, not the run."""
        if data.library.has_dynamic_globals or any(not lifted.can_cache for lifted in data.lifted):
            warnings.warn(NumbaWarning(f"{self._name} cannot be kept: it refers to this process"), stacklevel=2)
            return
        path, key = self._file(sig, data.codegen)
        with contextlib.suppress(InputError):
            code = np.frombuffer(_pickled(data._reduce()), np.uint8)
            save_arrays(path, FORMAT, {"key": key}, {"code": code}, durable=False)

    def enable(self) -> None:
        """Always."""

    def disable(self) -> None:
        """Never."""

    def flush(self) -> None:
        """Nothing waits to be written."""

    def _file(self, sig: Any, codegen: Any) -> tuple[Path, str]:
        """Where a signature's kernel lies, and all that it depends on besides the sources."""
        signature = ", ".join(_type_text(argument) for argument in sig)
        key = f"{self._name}({signature}) {codegen.magic_tuple()} {self._made_of}"
        digest = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
        name = re.sub(r"[^\w.]+", "", self._name)
        return compiled_folder(self._module) / f"{name}-{digest}.kernel", key


_rebuild: Callable[..., Any] = CompileResult._rebuild
_pickled: Callable[[Any], bytes] = _dumps


def _type_text(type_: Any) -> str:
    """A type, spelled out: Numba calls two named tuples the same if their class names and members are."""
    if not isinstance(type_, types.BaseTuple):
        return str(type_)
    members: Any = type_.types  # type: ignore[attr-defined]
    owner = getattr(type_, "instance_class", tuple)
    return f"{owner.__module__}.{owner.__qualname__}({', '.join(map(_type_text, members))})"
