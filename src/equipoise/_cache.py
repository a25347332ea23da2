"""Where generated things live between runs, and how they get there whole.

One folder per user (`EQUIPOISE_CACHE`, else the XDG cache folder) holds the compiled kernels and the
tables that our own code builds. Both are keyed on a digest of the package's source, so that an edit
can never meet what an older version built. Large arrays that take long to build are keyed on what determines
them instead. Files are written under a temporary name and renamed; tables and arrays end in a digest of their
own, and one that does not match is built again.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[np.generic]]

KEPT_VERSIONS = 4
_DIGEST = 16  # bytes
_CHUNK = 1 << 22


@functools.cache
def source_digest() -> str:
    """A digest of every source file of the package."""
    package = Path(__file__).parent
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def cache_root() -> Path:
    """The user's cache folder of Equipoise, existing or not."""
    named = os.environ.get("EQUIPOISE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equipoise"


@functools.cache
def code_cache() -> Path:
    """The folder of this version's compiled kernels and tables; made here, older versions cleared away."""
    folder = cache_root() / f"code-{source_digest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:  # a read-only home: nothing is kept, everything still works
        folder = Path(tempfile.mkdtemp(prefix="equipoise-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    _forget_old_versions(folder.parent)
    return folder


def _forget_old_versions(root: Path) -> None:
    versions = []
    for path in root.glob("code-*"):
        try:
            versions.append((path.stat().st_mtime, path))
        except OSError:  # another process has just cleared it
            continue
    for _, path in sorted(versions)[:-KEPT_VERSIONS]:
        shutil.rmtree(path, ignore_errors=True)


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then flush it to disk and rename it into place."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def cached_arrays(name: str, build: Callable[[], Arrays]) -> Arrays:
    """The arrays that `build` makes, from the cache when it has them undamaged."""
    import numpy as np

    path = code_cache() / f"{name}.npz"
    try:
        stored = path.read_bytes()
    except OSError:
        stored = b""
    if stored[-_DIGEST:] == _digest(stored[:-_DIGEST]):
        with np.load(io.BytesIO(stored[:-_DIGEST]), allow_pickle=False) as members:
            return {key: members[key] for key in members.files}
    arrays = build()
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]
    with contextlib.suppress(OSError):  # a full or read-only disk costs time, not correctness
        write_whole(path, lambda temporary: temporary.write_bytes(packed.getvalue() + _digest(packed.getvalue())))
    return arrays


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


def mapped_arrays(name: str, members: tuple[str, ...], key: str, build: Callable[[], Arrays]) -> Arrays:
    """The large arrays that `build` makes, read-only, mapped from the cache; built if one is missing or damaged.

    `key` says all that determines them, with a format number: source edits do not make these files stale.
    """
    digest = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
    paths = {member: cache_root() / "arrays" / f"{name}-{digest}" / f"{member}.npy" for member in members}
    found = _mapped(paths)
    if found is not None:
        return found
    arrays = build()
    with contextlib.suppress(OSError):  # a full or read-only disk costs time and memory, not correctness
        for member, path in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, functools.partial(_save, arrays[member]))
        found = _mapped(paths)
    if found is None:
        for array in arrays.values():
            array.flags.writeable = False
    return arrays if found is None else found


def _save(array: npt.NDArray[np.generic], path: Path) -> None:
    import numpy as np

    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)
    digest = _file_digest(path, path.stat().st_size)
    with path.open("ab") as file:
        file.write(digest)


def _mapped(paths: Mapping[str, Path]) -> dict[str, npt.NDArray[np.generic]] | None:
    """The arrays of files that end in their own digest, or nothing if one does not."""
    import numpy as np

    try:
        for path in paths.values():
            size = path.stat().st_size - _DIGEST
            with path.open("rb") as file:
                file.seek(max(size, 0))
                if file.read() != _file_digest(path, size):
                    return None
        # A plain array on the map: compiled code need not know of the subclass.
        return {member: np.asarray(np.load(path, mmap_mode="r")) for member, path in paths.items()}
    except (OSError, ValueError):
        return None


def _file_digest(path: Path, size: int) -> bytes:
    """Of the first `size` bytes: a checksum at the speed of memory, for files too large for a cryptographic one."""
    import xxhash

    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        while size > 0 and (chunk := file.read(min(size, _CHUNK))):
            digest.update(chunk)
            size -= len(chunk)
    return digest.digest()
