"""Where generated things live between runs, and how they get there whole.

One folder per user (`EQUIPOISE_CACHE`, else the XDG cache folder) holds the compiled kernels and the
tables that our own code builds. Both are keyed on a digest of the package's source, so that an edit
can never meet what an older version built. Files are written under a temporary name and renamed; tables
end in a digest of their own, and one that does not match is built again.
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
