"""Hypothesis without deadlines, since the first example of a test may compile a kernel; a cache folder for one test; a
local cluster of two cores for all quick tests of the cluster.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from equipoise.cluster.ray_door import Cluster, open_cluster
from equipoise.core.files.cache import cache_folder

HELPERS = str(Path(__file__).parent / "helpers")

settings.register_profile("equipoise", deadline=None)
settings.load_profile("equipoise")


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache folder without results, for this process and its children. It links to the user's compiled kernels:
    a process looks up the folder of a module's kernels once, so with an empty one it would compile all of them again.
    """
    compiled = cache_folder("compiled")
    own = tmp_path / "cache"
    own.mkdir(mode=0o700)
    (own / "compiled").symlink_to(compiled)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(own))
    return own


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster on this machine whose workers find the toys of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (HELPERS, os.environ.get("PYTHONPATH")))))
        with open_cluster("local", cores=2, object_store=100 << 20) as found:
            yield found
