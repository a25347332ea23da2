"""Runs on a cluster end with the bits of runs on one machine, resume with other parts, and refuse before any work."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from containers import read_container

pytest.importorskip("ray", reason="needs pip install 'equipoise[cluster]'")

from equipoise.cluster.ray_door import Cluster, open_cluster
from equipoise.core.errors import InputError
from equipoise.runs.folder import LostPartError, RunFolder
from equipoise.runs.recipe import Recipe, read_recipe
from equipoise.solvers.blades.build import blades_solver
from equipoise.strategy.file import load_strategy
from equipoise.training.cluster_trainee import ClusterOptions
from equipoise.training.loop import run_training
from equipoise.training.train import measure_of

SOLVERS: dict[str, dict[str, Any]] = {
    "pcs": {"solver": {"method": "pcs", "boards": 2, "seed": 3}},
    "external": {
        "solver": {"method": "external", "seed": 3, "period": 1000},
        "cards": {"flop": "lossless", "public": {"clusters": 3, "base": 3}},
    },
    "deep": {
        "solver": {"method": "deep", "seed": 3},
        "deep": {"hidden": 8, "traversals": 40, "memory": 500, "steps": 5, "batch": 32, "device": "cpu"},
    },
}


PUBLIC = {"sampling": "public", "holes": 3, "heads": True}


def recipe(method: str, **more: Any) -> Recipe:
    return read_recipe({"game": "leduc", "checkpoint": {"minutes": 1e-9}, **SOLVERS[method], **more})


def train(chosen: Recipe, out: Path, iterations: int, parts: int | None, lines: list[str] | None = None) -> Any:
    """Begin or continue a run; on one machine if it has no parts."""
    cluster = None if parts is None else ClusterOptions("auto", parts)
    return run_training(
        chosen, out, iterations=iterations, threads=1, resume=RunFolder(out).is_run, cluster=cluster,
        say=None if lines is None else lines.append, measure=measure_of(chosen, 1),
    )  # fmt: skip


def table(run: Path) -> Any:
    return load_strategy(run / "strategy.float32").profile.chances


def cuts(run: Path) -> list[Path]:
    """The folders of a run in pieces."""
    return sorted(path for path in (run / "parts").iterdir() if path.is_dir())


@pytest.mark.usefixtures("cluster")
def test_blades_on_a_cluster_give_the_strategy_of_one_process(tmp_path: Path) -> None:
    chosen = recipe("external")
    make = partial(blades_solver, parts=1, **chosen.solver.settings())
    run_training(
        chosen, tmp_path / "one", iterations=2500, threads=1, make=lambda _, tree, buckets, __: make(tree, buckets)
    )
    train(chosen, tmp_path / "two", 1000, 2)
    train(chosen, tmp_path / "two", 2500, 3)  # resumed with another number of parts
    assert np.array_equal(table(tmp_path / "one"), table(tmp_path / "two"))
    assert len(list((tmp_path / "two" / "parts").glob("*/*.ckpt"))) == 3 * chosen.checkpoint.keep


@pytest.mark.usefixtures("cluster")
def test_a_link_for_the_folder_of_the_parts_is_refused(tmp_path: Path) -> None:
    chosen = recipe("external")
    (tmp_path / "elsewhere").mkdir()
    for options, link in (
        (ClusterOptions("auto", 2, tmp_path / "disk"), tmp_path / "disk" / f"run-{chosen.fingerprint}"),
        (ClusterOptions("auto", 2), tmp_path / "run" / "parts"),
    ):
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(InputError, match=r"is a link|is not empty"):
            run_training(chosen, tmp_path / "run", iterations=2, threads=1, cluster=options)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.usefixtures("cluster")
def test_tasks_on_a_cluster_give_the_strategy_of_one_machine(tmp_path: Path) -> None:
    chosen = recipe("pcs", measure={"method": "exact", "every": 1e-6})
    wanted = train(chosen, tmp_path / "one", 12, None)
    train(chosen, tmp_path / "two", 6, 2)
    early = table(tmp_path / "two")
    found = train(chosen, tmp_path / "two", 12, 3)  # resumed with another number of parts
    assert np.array_equal(table(tmp_path / "one"), table(tmp_path / "two"))
    assert not np.array_equal(early, table(tmp_path / "two"))
    assert found.progress.exploitability_mbb == wanted.progress.exploitability_mbb
    assert found.progress.nodes == wanted.progress.nodes
    assert len(found.progress.part_loads) == 3
    assert len(cuts(tmp_path / "two")) == chosen.checkpoint.keep


@pytest.mark.usefixtures("cluster")
def test_a_run_whose_part_lost_its_file_takes_the_cut_before(tmp_path: Path) -> None:
    chosen = recipe("pcs")
    train(chosen, tmp_path / "one", 12, None)
    train(chosen, tmp_path / "two", 6, 2)
    newest = cuts(tmp_path / "two")[-1]
    min(newest.iterdir()).unlink()
    lines: list[str] = []
    train(chosen, tmp_path / "two", 12, 2, lines)
    assert np.array_equal(table(tmp_path / "one"), table(tmp_path / "two"))
    assert any(line.startswith("iteration 6: ") and "part " in line for line in lines)
    assert any(line.endswith("iterations are lost") for line in lines)
    (tmp_path / "two" / "parts").rename(tmp_path / "away")
    with pytest.raises(LostPartError, match="part 0: cannot read"):
        train(chosen, tmp_path / "two", 14, 2)
    (tmp_path / "away").rename(tmp_path / "two" / "parts")  # the machine is back: nothing is lost
    assert RunFolder(tmp_path / "two").listed()[-1].stem == "000000000012"


@pytest.mark.usefixtures("cluster")
def test_a_run_remembers_where_its_parts_keep_files(tmp_path: Path) -> None:
    chosen, options = recipe("pcs"), ClusterOptions("auto", 2, tmp_path / "disk")
    run_training(chosen, tmp_path / "run", iterations=2, threads=1, cluster=options)
    train(chosen, tmp_path / "run", 4, 2)
    assert not (tmp_path / "run" / "parts").exists()
    [files] = (tmp_path / "disk").iterdir()  # of the run
    assert (files / "000000000004").is_dir()


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    "sampling",
    [{}, {"sampling": "public", "holes": 3, "heads": True, "strength": True, "table": 4}],
    ids=["external", "public"],
)
def test_traversals_on_a_cluster_give_the_networks_of_one_machine(sampling: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")
    chosen = recipe("deep", deep={**SOLVERS["deep"]["deep"], **sampling})
    train(chosen, tmp_path / "one", 4, None)
    train(chosen, tmp_path / "two", 2, 2)
    train(chosen, tmp_path / "two", 4, 1)
    one, two = (read_container(tmp_path / run / "checkpoints" / "000000000004.ckpt")[1] for run in ("one", "two"))
    assert set(one) == set(two)
    assert all(np.array_equal(one[name], two[name]) for name in one)


@pytest.mark.usefixtures("cluster")
def test_runs_of_one_machine_and_of_parts_do_not_resume_each_other(tmp_path: Path) -> None:
    chosen = recipe("pcs")
    train(chosen, tmp_path / "two", 2, 2)
    with pytest.raises(InputError, match="a run in parts; resume it with --cluster"):
        train(chosen, tmp_path / "two", 4, None)
    train(chosen, tmp_path / "one", 2, None)
    with pytest.raises(InputError, match="a run on one machine; resume it without --cluster"):
        train(chosen, tmp_path / "one", 4, 2)


@pytest.mark.parametrize(
    ("table", "parts", "wanted"),
    [
        ({"game": "leduc", "solver": {"method": "external"}}, 2, "a part for each public cluster"),
        ({"game": "leduc", **SOLVERS["external"]}, 4, "4 parts of .*; use 1 to 3"),
        ({"game": "leduc", "solver": {"method": "cfr-br"}}, 2, "method cfr-br has no parts"),
        ({"game": "kuhn", "solver": {"method": "pcs"}}, 2, "one street and no parts"),
        ({"game": "leduc", "solver": {"method": "pcs"}}, 6, "6 parts of .*; use 1 to 5"),
    ],
)
def test_recipes_without_these_parts_are_refused_before_any_work(
    table: dict[str, Any], parts: int, wanted: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=wanted):
        train(read_recipe(table), tmp_path / "run", 10, parts)
    assert not (tmp_path / "run").exists()


def test_without_ray_a_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"a cluster needs Ray; install it: pip install 'equipoise\[cluster\]'"):
        train(recipe("pcs"), tmp_path / "run", 10, 2)
    assert not (tmp_path / "run").exists()


def test_a_second_local_cluster_in_a_process_is_refused(cluster: Cluster) -> None:
    assert cluster.is_local
    with pytest.raises(InputError, match="already connected"), open_cluster("local"):
        pass
