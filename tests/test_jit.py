"""The compiled-code cache and the table cache: never stale, never needed, never trusted when damaged."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import equipoise
from equipoise import _cache
from equipoise._jit import U8, U64, inner, kernel, popcount

PACKAGE = Path(equipoise.__file__).parent
TESTS = Path(__file__).parent
RANK = "from equipoise.cards.evaluate import Ranker; print(Ranker(cards=5).rank([48, 49, 50, 51, 0]))"
FOUR_ACES = "7440\n"  # 7462 ranks, ten straight flushes at the top, then the aces' twelve kickers from the deuce up


def python(*arguments: str, limit: Callable[[], object] = lambda: None, **environment: str) -> str:
    """What a fresh process prints; it must succeed without a word on stderr."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"NUMBA_DISABLE_JIT": "0"} | environment,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


@kernel
def popcounts(words: U64, counts: U8) -> None:
    for i in range(words.size):
        counts[i] = popcount(words[i])


def test_popcount() -> None:
    words = np.random.default_rng(1).integers(1 << 64, size=1000, dtype=np.uint64)
    words[:4] = [0, 1, 1 << 63, (1 << 64) - 1]
    counts = np.zeros(words.size, np.uint8)
    popcounts(words, counts)
    expected = [word.bit_count() for word in words.tolist()]
    assert counts.tolist() == expected
    assert [popcount(word) for word in words] == [popcount(word) for word in words.tolist()] == expected


def test_an_edit_elsewhere_reaches_compiled_callers(tmp_path: Path) -> None:
    package = tmp_path / "source" / "equipoise"
    package.mkdir(parents=True)
    for name in ("__init__.py", "_arrays.py", "_cache.py", "_errors.py", "_jit.py"):
        shutil.copy(PACKAGE / name, package)
    called, caller = package / "called.py", package / "caller.py"
    caller.write_text(
        "from equipoise._jit import kernel\n"
        "from equipoise.called import called\n"
        "@kernel\n"
        "def caller(x): return called(x) + 1\n"
    )

    def result(constant: int) -> tuple[list[str], set[Path]]:
        called.write_text(f"from equipoise._jit import inlined\n@inlined\ndef called(x): return {constant} * x\n")
        printed = python(
            "-c", "from equipoise.caller import caller; print(caller(10), caller.stats.cache_hits)",
            PYTHONPATH=str(package.parent), EQUIPOISE_CACHE=str(tmp_path / "cache"),
            PYTHONDONTWRITEBYTECODE="1",  # Python tells edits of one second and size apart no more than Numba does
        )  # fmt: skip
        return printed.split(), set((tmp_path / "cache").iterdir())

    first, folders = result(2)
    assert first[0] == "21" and len(folders) == 1
    again, same_folders = result(2)
    assert again[0] == "21" and "1" in again[-1] and same_folders == folders  # loaded, not compiled
    edited, more_folders = result(3)
    assert edited[0] == "31" and folders < more_folders
    for constant in range(4, 4 + _cache.KEPT_VERSIONS):
        edited, folders = result(constant)
        assert edited[0] == f"{10 * constant + 1}" and len(folders) <= _cache.KEPT_VERSIONS


def test_works_without_a_cache_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert python("-c", RANK, EQUIPOISE_CACHE=str(tmp_path / "file" / "cache"), TMPDIR=str(temporary)) == FOUR_ACES
    assert list(temporary.iterdir()) == []


def test_works_on_a_full_disk(tmp_path: Path) -> None:
    def at_most_four_kilobytes_a_file() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    assert python("-c", RANK, limit=at_most_four_kilobytes_a_file, EQUIPOISE_CACHE=str(tmp_path)) == FOUR_ACES
    assert list(tmp_path.rglob("ranks.npz")) == []


def test_damaged_compiled_code_is_compiled_again(tmp_path: Path) -> None:
    assert python("-c", RANK, EQUIPOISE_CACHE=str(tmp_path)) == FOUR_ACES
    compiled = [path for path in tmp_path.rglob("*.nb?") if path.is_file()]
    assert compiled
    for path in compiled:
        path.write_bytes(path.read_bytes()[:100])
    assert python("-c", RANK, EQUIPOISE_CACHE=str(tmp_path)) == FOUR_ACES


def test_table_cache_survives_any_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cache, "code_cache", lambda: tmp_path)
    wanted: dict[str, npt.NDArray[np.generic]] = {
        "a": np.arange(20, dtype=np.uint64),
        "b": np.arange(12, dtype=np.uint16).reshape(3, 4),
    }
    built = 0

    def build() -> dict[str, npt.NDArray[np.generic]]:
        nonlocal built
        built += 1
        return wanted

    def right() -> bool:
        arrays = _cache.cached_arrays("small", build)
        return [*arrays] == [*wanted] and all(
            arrays[name].dtype == array.dtype and np.array_equal(arrays[name], array) for name, array in wanted.items()
        )

    assert right() and right() and built == 1
    stored = tmp_path / "small.npz"
    whole = stored.read_bytes()
    damaged = [whole[:size] for size in range(len(whole))]
    damaged += [whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in range(len(whole))]
    for data in damaged:
        stored.write_bytes(data)
        assert right() and stored.read_bytes() == whole
    assert built == 1 + len(damaged)


@pytest.mark.parametrize("mode", ["NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"])
def test_small_kernels_checked_and_in_plain_python(mode: str) -> None:
    if os.environ.get(mode) == "1":
        pytest.skip("this is that run")
    small = "leduc or known_showdowns or few_cards or popcount or same_partition or bad_input"
    tests = [str(TESTS / name) for name in ("test_evaluate.py", "test_isomorphism.py", "test_jit.py")]
    environment: dict[str, Any] = {mode: "1"}
    assert " passed" in python("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", small, **environment)


@inner
def doubled(words: U64) -> None:
    for i in range(words.size):
        words[i] += words[i]


@kernel
def doubled_twice(words: U64) -> None:
    doubled(words)
    doubled(words)


def test_kernels_without_an_entry_run_plainly_from_python() -> None:
    """Before and after a kernel has compiled them, and where they come from the cache."""
    for _ in range(2):
        words = np.arange(5, dtype=np.uint64)
        doubled(words)
        doubled_twice(words)
        assert words.tolist() == [0, 8, 16, 24, 32]
