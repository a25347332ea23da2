"""Hypothesis without deadlines, since the first example of a test may compile a kernel; a cache folder for one test."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from equipoise.core.files.cache import cache_folder

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
