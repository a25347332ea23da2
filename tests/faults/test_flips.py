"""Flipped bits, cut, grown and zeroed files of every kind that the project writes: none is accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from dose import Tally, doses, seeded
from flips import CACHE_USES, Artefact, Cache, flip_many, make_artefacts

KINDS = (
    "checkpoint", "metrics", "list of files", "strategy.float32", "strategy.u8", "solution", "pair", "flops", "map",
)  # fmt: skip


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Artefact]:
    return make_artefacts(tmp_path_factory.mktemp("artefacts"))


@pytest.mark.parametrize("kind", KINDS)
@doses(quick=8, long=100)
def test_a_damaged_file_is_never_accepted(
    kind: str, tries: int, artefacts: dict[str, Artefact], tmp_path: Path
) -> None:
    tally = Tally(f"flips {kind}")
    flip_many(artefacts[kind], tries, seeded("flips", kind), tmp_path, tally)
    tally.check()


@doses(quick=4, long=150)
def test_a_damaged_kernel_is_compiled_again(tries: int, tmp_path: Path) -> None:
    flip_cache("kernels", tries, tmp_path).check()


@pytest.mark.parametrize("kind", ["cached map", "cached arrays"])
@doses(quick=2, long=50)
def test_a_damaged_abstraction_is_built_again(kind: str, tries: int, tmp_path: Path) -> None:
    flip_cache(kind, tries, tmp_path).check()


def flip_cache(kind: str, tries: int, folder: Path) -> Tally:
    tally = Tally(f"flips {kind}")
    Cache(folder, CACHE_USES[kind]).flip_many(tries, seeded("flips", kind), tally)
    return tally
