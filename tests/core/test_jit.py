"""The compiled-code cache and the table cache: never stale, never needed, never trusted when damaged."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import equipoise
from equipoise.core import kernel_cache
from equipoise.core.files import cache
from equipoise.core.jit import U8, U64, inner, kernel, popcount

PACKAGE = Path(equipoise.__file__).parent
TESTS = Path(__file__).parents[1]
RANK = "from equipoise.cards.hand_ranks import Ranker; print(Ranker(cards=5).rank([48, 49, 50, 51, 0]))"
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


@dataclass(frozen=True)
class SmallPackage:
    """A package of a caller and a called kernel, with a cache of its own."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> SmallPackage:
        package = folder / "source" / "equipoise"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        shutil.copytree(PACKAGE / "core", package / "core", ignore=shutil.ignore_patterns("__pycache__"))
        small = cls(folder)
        small.write("other", "VALUE = 1\n")
        small.write(
            "caller",
            "from equipoise.core.jit import kernel\nfrom equipoise.called import called\n"
            "@kernel\ndef caller(x): return called(x) + 1\n",
        )
        return small

    @property
    def compiled(self) -> Path:
        return self.folder / "cache" / "compiled"

    def write(self, module: str, text: str) -> None:
        (self.folder / "source" / "equipoise" / f"{module}.py").write_text(text)

    def write_called(self, constant: int, comment: str = "") -> None:
        text = f"from equipoise.core.jit import inlined\n{comment}\n@inlined\ndef called(x): return {constant} * x\n"
        self.write("called", text)

    def run(self) -> tuple[int, bool]:
        """What the caller makes of ten, and whether it came from the cache."""
        printed = python(
            "-c", "from equipoise.caller import caller; print(caller(10), len(caller.stats.cache_hits))",
            PYTHONPATH=str(self.folder / "source"), EQUIPOISE_CACHE=str(self.folder / "cache"),
            PYTHONDONTWRITEBYTECODE="1",  # Python tells edits of one second and size apart no more than Numba does
        ).split()  # fmt: skip
        return int(printed[0]), printed[1] == "1"

    def versions(self, module: str = "caller") -> set[str]:
        return {path.name for path in self.compiled.iterdir() if path.name.startswith(f"equipoise.{module}-")}


def test_an_edit_elsewhere_reaches_compiled_callers(tmp_path: Path) -> None:
    small = SmallPackage.make(tmp_path)
    small.write_called(2)
    assert small.run() == (21, False)
    assert small.run() == (21, True)
    first = small.versions()
    small.write_called(3)
    assert small.run() == (31, False)
    assert len(first) == 1 and first < small.versions()


def test_edits_that_change_no_code_compile_nothing(tmp_path: Path) -> None:
    small = SmallPackage.make(tmp_path)
    small.write_called(2)
    assert small.run() == (21, False)
    small.write("other", "VALUE = 2\n")  # nobody imports it
    small.write_called(2, '"""A docstring."""\n# A comment.\n')
    assert small.run() == (21, True)


@pytest.fixture
def version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Path]]:
    """The folder of a module's kernels for a version of its sources, in an empty cache."""
    sources = [0]
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    monkeypatch.setattr(kernel_cache, "source_digest", lambda _: f"{sources[0]:016x}")

    def folder(number: int) -> Path:
        sources[0] = number
        kernel_cache.compiled_folder.cache_clear()
        return kernel_cache.compiled_folder("equipoise.caller")

    yield folder
    kernel_cache.compiled_folder.cache_clear()


def test_only_our_own_old_versions_are_cleared(version: Callable[[int], Path]) -> None:
    """What users keep in the cache folder stays, and so does everything if the folder does not carry our tag."""
    kept = kernel_cache.KEPT_VERSIONS
    compiled = version(0).parent
    theirs = [compiled.parent / "code-1", compiled / "code-of-mine", compiled / "equipoise.caller"]
    for path in theirs:
        path.mkdir()
        (path / "thesis.txt").write_text("years of work")
        os.utime(path, (0, 0))
    (compiled / kernel_cache.TAG_FILE).write_text("no tag of ours")
    every = [version(number) for number in range(kept + 3)]
    assert all(path.is_dir() for path in every)
    for number, path in enumerate(every):
        os.utime(path, (number, number))
    (compiled / kernel_cache.TAG_FILE).write_text(kernel_cache.TAG)
    os.utime(every[0], (2**33, 2**33))  # a clock that went wrong
    newest = version(kept + 3)
    left = {newest, every[0], *every[2 - kept :]}  # its own is there, whatever the others' times
    assert len(left) == kept
    assert set(compiled.glob("equipoise.caller-*")) == left
    os.utime(newest, (0, 0))
    assert version(kept + 3) == newest and newest.stat().st_mtime > 0  # in use
    assert all((path / "thesis.txt").read_text() == "years of work" for path in theirs)


COMPILE = """
import sys
from equipoise.core.compiling import on_compile
compiled = []
on_compile(compiled.append)
import equipoise
print("ready", flush=True)
sys.stdin.readline()
equipoise.equity("AA", "KK", "2c 7d Jh")
print(" ".join(compiled))
"""


def test_two_processes_compile_a_kernel_once(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0", "EQUIPOISE_CACHE": str(tmp_path)}
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    both = [subprocess.Popen([sys.executable, "-c", COMPILE], **pipes) for _ in range(2)]
    for child in both:
        assert child.stdout.readline() == "ready\n"
    for child in both:
        child.stdin.write("\n")
        child.stdin.flush()
    compiled = [child.communicate()[0].split() for child in both]
    assert [child.returncode for child in both] == [0, 0]
    assert len(compiled[0]) + len(compiled[1]) > 3
    assert {*compiled[0]} & {*compiled[1]} <= {"impl"}  # one of Numba's own, which it does not keep
    assert not list(tmp_path.glob("**/*.lock"))


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
    assert list(tmp_path.rglob("ranks.arrays")) == []


def test_damaged_compiled_code_is_compiled_again(version: Callable[[int], Path]) -> None:
    """Cut, extended, or with one wrong bit anywhere: the result is the same, and the file is whole again."""
    folder = version(0)

    def doubled_from_cache() -> bool:
        fresh: Any = kernel(lambda x: 2 * x)
        assert fresh(10) == 20
        return len(fresh.stats.cache_hits) == 1

    assert [doubled_from_cache(), doubled_from_cache()] == [False, True]
    (path,) = folder.parent.rglob("*.kernel")
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    damaged = [whole[:100], whole[:-1], whole + b"x", b""]
    for place in (*rng.integers(len(whole), size=20), whole.index(b"ELF") + 500):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(flipped))
    for content in damaged:
        path.write_bytes(content)
        assert [doubled_from_cache(), doubled_from_cache()] == [False, True]


def test_a_cache_folder_of_others_is_refused(tmp_path: Path) -> None:
    """Compiled code is run: a folder in which somebody else can put it is not used."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    said = (
        "from equipoise.core.files.cache import cache_folder\n"
        "try: print(cache_folder('compiled'))\nexcept ValueError as e: print(e)"
    )
    assert python("-c", said, EQUIPOISE_CACHE=str(folder)) == f"{folder / 'compiled'}\n"
    assert (folder / "compiled").stat().st_mode & 0o777 == 0o700
    for bad in (folder, folder / "compiled"):
        bad.chmod(0o777)
        assert "can be written by others; remove it" in python("-c", said, EQUIPOISE_CACHE=str(folder))
        bad.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(folder, 12345, -1)
        assert "belongs to another user" in python("-c", said, EQUIPOISE_CACHE=str(folder))


@pytest.mark.parametrize("variable", ["EQUIPOISE_CACHE", "XDG_CACHE_HOME"])
def test_a_relative_cache_path_is_ignored(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EQUIPOISE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, "relative/cache")
    assert cache.cache_root() == tmp_path / ".cache" / "equipoise"
    monkeypatch.setenv(variable, str(tmp_path / "absolute"))
    assert tmp_path / "absolute" in (cache.cache_root(), cache.cache_root().parent)


def test_table_cache_survives_any_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # hundreds of files, none of which needs to survive a power cut
    wanted: dict[str, npt.NDArray[np.generic]] = {
        "a": np.arange(20, dtype=np.uint64),
        "b": np.arange(12, dtype=np.uint16).reshape(3, 4),
    }
    built = 0
    stored = tmp_path / "small.arrays"

    def build() -> dict[str, npt.NDArray[np.generic]]:
        nonlocal built
        built += 1
        return wanted

    def right() -> bool:
        arrays = cache.load_or_build(stored, "key", ("a", "b"), build)
        return [*arrays] == [*wanted] and all(
            arrays[name].dtype == array.dtype and np.array_equal(arrays[name], array) for name, array in wanted.items()
        )

    assert right() and right() and built == 1
    whole = stored.read_bytes()
    places = [*range(0, 500, 3), *range(500, len(whole), 97)]
    damaged = [whole[:size] for size in places] + [whole + b"\0"]
    damaged += [whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in places]
    for data in damaged:
        stored.write_bytes(data)
        assert right() and stored.read_bytes() == whole
    assert built == 1 + len(damaged)
    assert cache.load_or_build(stored, "another key", ("a", "b"), build) and built == 2 + len(damaged)


@pytest.mark.parametrize("mode", ["NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"])
def test_small_kernels_checked_and_in_plain_python(mode: str) -> None:
    if os.environ.get(mode) == "1":
        pytest.skip("this is that run")
    small = "leduc or known_showdowns or few_cards or popcount or same_partition or bad_input"
    tests = [
        str(TESTS / name) for name in ("cards/test_hand_ranks.py", "cards/test_isomorphism.py", "core/test_jit.py")
    ]
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
