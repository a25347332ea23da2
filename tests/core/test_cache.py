"""The cache of a user whose folders another user could reach: nothing of somebody else is loaded, or removed."""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import InputError
from equipoise.abstraction.maps.build import build_map, map_path
from equipoise.abstraction.maps.card_recipe import read_card_recipe
from equipoise.core import kernel_cache
from equipoise.core.files.array_file import load_arrays, save_arrays
from equipoise.core.files.cache import FORMAT, CacheHeader, cache_folder, mapped_arrays
from equipoise.core.jit import kernel
from equipoise.games.gamedef import load_game

OTHER = 12345  # a user
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
planted: list[int] = []


def spring() -> None:
    planted.append(1)


class Planted:
    """What a pickle calls where it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return spring, ()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of this module's kernels in an empty cache."""
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_cache, "source_digest", lambda _: "0" * 16)
    kernel_cache.compiled_folder.cache_clear()
    yield kernel_cache.compiled_folder(__name__)
    kernel_cache.compiled_folder.cache_clear()


def is_cached() -> bool:
    """Whether a kernel, looked up as a new process does, comes from the cache."""
    kernel_cache.compiled_folder.cache_clear()
    fresh: Any = kernel(lambda x: 2 * x)
    assert fresh(10) == 20
    return len(fresh.stats.cache_hits) == 1


def plant(folder: Path) -> Path:
    """A kernel's file, with code in it that runs when it is loaded."""
    assert [is_cached(), is_cached()] == [False, True]
    (path,) = folder.glob("*.kernel")
    header, _ = load_arrays(path, kernel_cache.FORMAT, CacheHeader, remedy="")
    code = np.frombuffer(pickle.dumps(Planted()), np.uint8)
    save_arrays(path, kernel_cache.FORMAT, {"key": header.key}, {"code": code}, private=True)
    planted.clear()
    with pytest.raises(TypeError):
        is_cached()
    assert planted == [1]  # as the user's own file it is loaded: nothing is wrong with it but its owner
    planted.clear()
    return path


def check_refused(path: Path, why: str) -> None:
    before = path.read_bytes()
    with pytest.raises(InputError, match=why) as refused:
        is_cached()
    assert "\n" not in str(refused.value) and "remove it" in str(refused.value)
    assert planted == [] and path.read_bytes() == before


@as_root
@pytest.mark.parametrize("foreign", ["version", "file"])
def test_code_in_a_folder_or_file_of_another_user_is_refused(folder: Path, foreign: str) -> None:
    path = plant(folder)
    os.chown(folder if foreign == "version" else path, OTHER, -1)
    check_refused(path, "belongs to another user")


@pytest.mark.parametrize("linked", ["version", "file"])
def test_code_behind_a_link_is_refused(folder: Path, linked: str, tmp_path: Path) -> None:
    path = plant(folder)
    what = folder if linked == "version" else path
    what.rename(tmp_path / "elsewhere")
    what.symlink_to(tmp_path / "elsewhere")
    check_refused(path, "is a link")


def test_a_folder_that_others_can_write_to_is_refused(folder: Path) -> None:
    path = plant(folder)
    folder.chmod(0o770)
    check_refused(path, "can be written by others")


def test_a_file_that_others_could_write_to_is_compiled_again(folder: Path) -> None:
    path = plant(folder)
    path.chmod(0o666)
    assert [is_cached(), is_cached()] == [False, True]
    assert planted == [] and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_files_of_the_cache_are_private_whatever_the_umask(folder: Path) -> None:
    before = os.umask(0)
    try:
        assert [is_cached(), is_cached()] == [False, True]
        mapped_arrays("some", ("one",), "key", lambda: {"one": np.ones(3)})
    finally:
        os.umask(before)
    for path in folder.parents[1].rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


@pytest.mark.usefixtures("folder")
def test_tables_and_maps_of_another_user_are_refused(tmp_path: Path) -> None:
    def ones() -> Any:
        return mapped_arrays("some", ("one",), "key", lambda: {"one": np.ones(3)})["one"].tolist()

    rules = load_game("leduc")
    recipe = read_card_recipe({"preflop": {"method": "percentile", "buckets": 2}}, rules)
    assert ones() == [1, 1, 1] and build_map(rules, recipe).buckets == (2, 15)
    (table,) = cache_folder("arrays").iterdir()
    for path, read in ((table, ones), (map_path(rules, recipe), lambda: build_map(rules, recipe))):
        save_arrays(path, FORMAT, {"key": "key"}, {"one": np.zeros(3)}, private=True)
        before = path.read_bytes()
        path.chmod(0o666)
        read()
        assert path.read_bytes() != before  # built again
        whole = path.read_bytes()
        if os.geteuid() == 0:
            os.chown(path, OTHER, -1)
            with pytest.raises(InputError, match="belongs to another user"):
                read()
            assert path.read_bytes() == whole
            os.chown(path, 0, -1)
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(InputError, match="is a link"):
            read()
        path.unlink()


@as_root
def test_an_old_version_of_another_user_is_not_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(number: int) -> Path:
        monkeypatch.setattr(kernel_cache, "source_digest", lambda _: f"{number:016x}")
        kernel_cache.compiled_folder.cache_clear()
        return kernel_cache.compiled_folder(__name__)

    os.chown(folder, OTHER, -1)
    for number in range(1, kernel_cache.KEPT_VERSIONS + 3):
        os.utime(version(number), (number, number))
    assert folder.is_dir()
    assert len(list(folder.parent.glob(f"{__name__}-*"))) == kernel_cache.KEPT_VERSIONS + 1
