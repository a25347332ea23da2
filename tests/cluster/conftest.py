"""One local cluster of two cores for all quick tests of the cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from equipoise.cluster.ray_door import Cluster, open_cluster

HELPERS = str(Path(__file__).parents[1] / "helpers")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster on this machine whose workers find the toys of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (HELPERS, os.environ.get("PYTHONPATH")))))
        with open_cluster("local", cores=2, object_store=100 << 20) as found:
            yield found
