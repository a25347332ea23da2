"""A cluster gives the tables of one process, whatever dies meanwhile; cuts are whole or not there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from waiting import GUARD

pytest.importorskip("ray", reason="needs pip install 'equipoise[cluster]'")

from equipoise.cluster.engine import Engine, Patience, cut_info
from equipoise.cluster.ray_door import Cluster
from equipoise.core.errors import InputError
from equipoise.runs.folder import CUT, Checkpoint, LostPartError
from equipoise.runs.progress import Measured
from toy_split import ToyHead, run_here, table_of, toy_makers

LONG, SHORT = Patience(start=GUARD, least=GUARD), Patience(start=GUARD, least=5.0, times=20.0)


class _Run:
    """An engine with some toys, and its log."""

    def __init__(self, cluster: Cluster, folder: Path, *, parts: int = 2, most_begun: int = 1) -> None:
        self.folder, self.parts, self.most_begun, self.lines = folder, parts, most_begun, list[str]()
        self.engine = Engine(
            cluster, ToyHead(parts, most_begun), toy_makers(parts, folder), folder=folder / "parts", fingerprint="toy",
            patience=LONG, say=self.lines.append,
        )  # fmt: skip

    def save(self) -> Checkpoint:
        head = self.engine.head
        arrays = {name: np.array(array) for name, array in self.engine.save().items()}
        self.engine.confirm([head.iteration])
        return Checkpoint(head.iteration, head.nodes, 0.0, 1, Measured(), arrays)

    def order(self, what: str) -> None:
        (self.folder / what).touch()

    def check(self, iterations: int) -> None:
        """The tables are those of a run in one process that nothing happened to."""
        assert self.engine.head.iteration == iterations
        head, parts = run_here(self.parts, iterations, self.most_begun)
        assert np.array_equal(self.engine.head.arrays()["table"], head)
        for found, wanted in zip((self.engine.ask(part, table_of) for part in range(self.parts)), parts, strict=True):
            assert np.array_equal(found, wanted)


@pytest.fixture
def run(cluster: Cluster, tmp_path: Path) -> Iterator[_Run]:
    made = _Run(cluster, tmp_path)
    yield made
    made.engine.close()


def test_one_process_and_a_cluster_have_the_same_tables(run: _Run) -> None:
    run.engine.run(7)
    run.check(7)
    assert run.engine.head.nodes == 4 * 2 * 10
    with pytest.raises(AssertionError):
        run.check(9)
    run.engine.run(1)  # whole steps
    run.check(9)


def test_several_steps_under_way_end_where_they_should(cluster: Cluster, tmp_path: Path) -> None:
    run = _Run(cluster, tmp_path, most_begun=3)
    try:
        for iterations in (1, 9, 5):
            run.engine.run(iterations)
        run.check(17)
        one_at_a_time, _ = run_here(2, 17)
        assert not np.array_equal(run.engine.head.arrays()["table"], one_at_a_time)
    finally:
        run.engine.close()


@pytest.mark.parametrize("fault", ["die-1", "hang-0"])
def test_a_lost_part_changes_no_bit(run: _Run, fault: str) -> None:
    run.engine.run(3)
    run.save()
    run.engine.run(2)
    run.order(fault)
    if "hang" in fault:
        run.engine.patience = SHORT
    run.engine.run(4)
    run.check(9)
    assert len(run.lines) == 1
    assert f"lost part {fault[-1]}" in run.lines[0]
    assert "back to iteration 3: 2 iterations" in run.lines[0]


def test_a_part_that_dies_before_the_first_cut_starts_again(run: _Run) -> None:
    run.engine.run(2)
    os.kill(run.engine.abouts()[0].process, signal.SIGKILL)
    run.engine.run(2)
    run.check(5)
    assert "back to iteration 0" in run.lines[0]


def test_a_run_resumes_from_its_cut(run: _Run, cluster: Cluster) -> None:
    run.engine.run(3)
    kept = run.save()
    run.engine.run(2)
    run.engine.close()
    again = _Run(cluster, run.folder)
    try:
        again.engine.restore(kept)
        again.engine.run(4)
        again.check(7)
        assert cut_info(kept).parts == 2
    finally:
        again.engine.close()


def test_a_run_resumes_in_another_number_of_parts(run: _Run, cluster: Cluster) -> None:
    """The toys are as many as the parts, so one that is resumed alone has lost the other; its own table is right."""
    run.engine.run(3)
    kept = run.save()
    tables = [run.engine.ask(part, table_of) for part in range(2)]
    run.engine.close()
    again = _Run(cluster, run.folder, parts=1)
    try:
        again.engine.restore(kept)
        assert np.array_equal(again.engine.ask(0, table_of), tables[0])
    finally:
        again.engine.close()


def test_a_part_without_its_file_is_said_before_anything_is_done(run: _Run) -> None:
    run.engine.run(3)
    kept = run.save()
    [path] = (run.folder / "parts" / "01").glob("*.ckpt")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(LostPartError, match=r"part 1: damaged"):
        run.engine.restore(kept)
    path.unlink()
    with pytest.raises(LostPartError, match=r"part 1: cannot read"):
        run.engine.restore(kept)


def test_a_full_disk_leaves_the_cut_before(run: _Run) -> None:
    run.engine.run(3)
    run.save()
    run.order("full-1")
    run.engine.run(2)
    with pytest.raises(InputError, match=r"iteration 5 could not be written \(part 1: .*iteration 3 is intact"):
        run.engine.save()
    assert (run.folder / "parts" / "01" / "000000000003.ckpt").exists()
    assert not (run.folder / "parts" / "01" / "000000000005.ckpt").exists()


def test_a_game_that_was_cut_otherwise_is_refused(run: _Run) -> None:
    run.engine.run(1)
    kept = run.save()
    kept.arrays[CUT] = np.frombuffer(b'{"parts": 2, "step": 1, "plan": {"groups": 2}}', np.uint8)
    with pytest.raises(InputError, match=r"cut otherwise"):
        run.engine.restore(kept)


def test_a_part_repeats_a_reply_and_refuses_a_step_out_of_order(run: _Run) -> None:
    run.engine.run(2)
    ray, actor = run.engine._ray, run.engine._actors[0]
    before = [run.engine.ask(part, table_of) for part in range(2)]
    assert ray.get(actor.step.remote(2, b"not read")).busy >= 0  # iterations 2 and 3
    assert ray.get(actor.step.remote(1, b"not read")).is_lost
    assert ray.get(actor.step.remote(4, b"not read")).is_lost
    assert np.array_equal(before, [run.engine.ask(part, table_of) for part in range(2)])


def test_load_counts_work_and_bytes(run: _Run) -> None:
    run.engine.run(5)
    load = run.engine.load()
    assert len(load.part_loads) == 2
    assert all(0 < share < 1 for share in load.part_loads)
    assert 0 < load.message_share <= 1
    assert load.bytes_per_second > 0
    assert run.engine.load().bytes_per_second == 0
