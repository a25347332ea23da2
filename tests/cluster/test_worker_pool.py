"""Jobs on workers: results in order, whoever did them and whoever died."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="needs pip install 'equipoise[cluster]'")

from equipoise.cluster.ray_door import Cluster
from equipoise.cluster.worker_pool import WorkerPool
from toy_split import ToyWorker

JOBS = list(range(7))


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def pool(cluster: Cluster, tmp_path: Path, lines: list[str]) -> Iterator[WorkerPool]:
    made = WorkerPool(cluster, partial(ToyWorker, str(tmp_path)), 2, say=lines.append)
    yield made
    made.close()


def test_results_come_in_the_order_of_the_jobs(pool: WorkerPool) -> None:
    for factor in (3, 5):  # the second step has another message
        assert pool.map(factor, JOBS) == [factor * job for job in JOBS]
    load = pool.load()
    assert len(load.part_loads) == 2
    assert load.bytes_per_second > 0


def test_the_job_of_a_lost_worker_is_done_again(pool: WorkerPool, tmp_path: Path, lines: list[str]) -> None:
    assert pool.map(2, JOBS) == [2 * job for job in JOBS]
    (tmp_path / "die-worker").touch()
    assert pool.map(3, JOBS) == [3 * job for job in JOBS]
    assert len(lines) == 1
    assert "its job is done again" in lines[0]


def test_an_error_in_a_job_is_not_tried_again(pool: WorkerPool, lines: list[str]) -> None:
    with pytest.raises(ray.exceptions.RayTaskError, match="a negative job"):
        pool.map(2, [1, -1])
    assert not lines
