"""Runs that train networks: the same bits resumed or not, files that play without torch, refusals before any work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from containers import read_container
from waiting import GUARD

torch = pytest.importorskip("torch", reason="the deep tests need PyTorch: pip install 'equipoise[deep]'")

import equipoise
from equipoise import InputError, build_tree, load_game, load_strategy
from equipoise.agents.blueprint import profile_agent
from equipoise.agents.card_blind import CardBlindStrategy
from equipoise.cli.commands.registry import app
from equipoise.core.files.array_file import save_arrays
from equipoise.deep.encoding import Encoding
from equipoise.deep.file import load_networks
from equipoise.deep.fitting.memory import Memory
from equipoise.deep.fitting.reservoir import Samples
from equipoise.deep.learner import DeepCFR
from equipoise.games.gamedef import write_gamedef
from equipoise.measure.best_response import exploitability
from equipoise.runs import cost
from equipoise.runs.cost import cost_of
from equipoise.runs.folder import FORMAT, RunFolder
from equipoise.runs.network_size import (
    bytes_of_heads,
    bytes_of_sums,
    bytes_per_sample,
    feature_count,
    most_actions,
    parameter_count,
    vector_length,
)  # fmt: skip
from equipoise.runs.recipe import Recipe, load_recipe, read_recipe
from equipoise.runs.recipe_list import shipped_recipes
from equipoise.training.deep_trainee import DeepTrainee
from equipoise.training.loop import Run, run_training
from equipoise.training.train import measure_of
from naive_deep import on_cpu

TINY = {"hidden": 8, "traversals": 40, "memory": 500, "steps": 5, "batch": 32, "average_steps": 20, "device": "cpu"}
ALGORITHMS = ("sd-cfr", "deep-cfr")


def recipe(game: str = "leduc", *, seed: int = 1, measure: str = "none", every: float = 1e-6, **deep: Any) -> Recipe:
    table = {"game": game, "solver": {"method": "deep", "seed": seed}, "deep": {**TINY, **deep}}
    return read_recipe({**table, "measure": {"method": measure, "every": every}, "checkpoint": {"minutes": 1e-9}})


def train(chosen: Recipe, out: Path, iterations: int, **more: Any) -> Run:
    """Begin or continue a run, without pictures."""
    more = {"measure": measure_of(chosen, 1), "threads": 1, "resume": RunFolder(out).is_run, **more}
    return run_training(chosen, out, iterations=iterations, **more)


def held(out: Path, iteration: int) -> dict[str, bytes]:
    """Everything in a checkpoint, and the strategy that was written."""
    _, arrays = read_container(out / "checkpoints" / f"{iteration:012d}.ckpt")
    networks = load_networks(out).mixture
    found = {name: array.tobytes() for name, array in arrays.items()}
    return found | {f"player {p}": networks.parameters[p].numpy().tobytes() for p in range(2)}


@pytest.mark.parametrize("sampling", ["external", "public"])
@pytest.mark.parametrize("game", ["kuhn", "leduc"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_cut_into_parts_a_run_ends_with_the_same_bits(game: str, algorithm: str, sampling: str, tmp_path: Path) -> None:
    """Memories overflow on the way, so that the replacements are resumed too."""
    more = {
        "sampling": sampling,
        "heads": sampling == "public",
        **({"strength": True, "table": 5, "sums": 0} if game == "leduc" else {}),
        "holes": 2,
        **({"keep": 3} if algorithm == "sd-cfr" else {}),
    }
    chosen = recipe(game, algorithm=algorithm, memory=150, growth=1.3, **more)
    train(chosen, tmp_path / "whole", 6)
    for until in (1, 3, 6):
        assert train(chosen, tmp_path / "parts", until).progress.iteration == until
    whole = held(tmp_path / "whole", 6)
    assert held(tmp_path / "parts", 6) == whole
    train(recipe(game, algorithm=algorithm, memory=150, growth=1.3, seed=2, **more), tmp_path / "other", 6)
    assert held(tmp_path / "other", 6) != whole


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_a_run_writes_is_what_it_measured(algorithm: str, tmp_path: Path) -> None:
    """The table is that of the networks, its exploitability that of the last report, and far from uniform play's."""
    more = {"traversals": 300, "steps": 40, "batch": 256, "learning_rate": 0.01, "warm_start": True, "memory": 20_000}
    chosen = recipe("kuhn", algorithm=algorithm, measure="exact", every=1.0, **{**more, "average_steps": 150})
    seen: list[Any] = []
    run = equipoise.train(chosen, tmp_path / "run", iterations=12, threads=1, on_progress=seen.append)
    networks, table = load_networks(tmp_path / "run"), load_strategy(tmp_path / "run")
    assert networks.about == table.about == load_strategy(tmp_path / "run" / "strategy.u8").about
    assert networks.about["iterations"] == 12 and networks.about["strategy"] == "average"
    assert networks.mixture.is_strategy == (algorithm == "deep-cfr")
    assert np.array_equal(networks.mixture.profile(table.game.layout), table.stored)
    found = exploitability(table.rules, profile_agent("trained", table.profile, table.buckets)).exploitability
    assert found == pytest.approx(run.progress.exploitability_mbb, rel=1e-6)
    assert found < 0.4 * exploitability(table.rules, CardBlindStrategy("uniform")).exploitability
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [row.iteration for row in seen]
    assert all(row["loss"] > 0 and row["samples"] > 0 and "regret" not in row for row in rows)
    assert run.as_json()["loss"] == rows[-1]["loss"] and run.as_json()["exploitability_mbb"] == pytest.approx(found)
    assert (tmp_path / "run" / "progress.png").stat().st_size > 5_000
    with pytest.raises(InputError, match="name the run without"):
        equipoise.run_strategy(tmp_path / "run", "current")


def test_an_average_network_is_trained_once_an_iteration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the last measurement and the files; runs without measurements do it at the end only."""
    asked: list[int] = []
    mixture = DeepCFR.mixture

    def counted(self: DeepCFR) -> Any:
        asked.append(self.iteration)
        return mixture(self)

    monkeypatch.setattr(DeepCFR, "mixture", counted)
    train(recipe("kuhn", algorithm="deep-cfr", measure="exact"), tmp_path / "measured", 4)
    assert asked[-1] == 4 and len(asked) == len(set(asked))
    asked.clear()
    train(recipe("kuhn", algorithm="deep-cfr"), tmp_path / "run", 4)
    assert asked == [4]


def test_large_games_write_networks_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.training.deep_trainee.MOST_SLOTS", 100)
    monkeypatch.setattr("equipoise.training.train.MOST_SLOTS", 100)
    train(recipe(), tmp_path / "run", 2)
    assert sorted(path.name for path in (tmp_path / "run").glob("strategy.*")) == ["strategy.networks"]
    with pytest.raises(InputError, match="is networks, not a table"):
        load_strategy(tmp_path / "run")
    with pytest.raises(InputError, match=r"measure\.method: an exact measurement .* takes longer"):
        train(recipe(measure="exact"), tmp_path / "new", 2)
    for name in ("flop-deep", "limit-deep", "nolimit-deep"):
        with pytest.raises(InputError, match=r"measure\.method"):
            train(load_recipe(name, ["measure={method='exact'}"]), tmp_path / "new", 2)
    assert not (tmp_path / "new").exists()


def test_large_networks_are_measured_as_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Local best response asks the agent of the networks; its table gives the same bound."""
    chosen = recipe(measure="lbr", every=1.0)
    small = train(chosen, tmp_path / "small", 3).progress
    monkeypatch.setattr("equipoise.training.deep_trainee.MOST_SLOTS", 100)
    large = train(chosen, tmp_path / "large", 3).progress
    assert small.lbr_mbb is not None and large.exploitability_mbb is None
    assert large.lbr_mbb == pytest.approx(small.lbr_mbb, abs=0.1)
    assert not (tmp_path / "large" / "strategy.u8").exists()


@pytest.mark.parametrize("name", ["kuhn-deep", "leduc-deep", "flop-deep", "limit-deep", "nolimit-deep"])
def test_sizes_are_known_without_torch(name: str) -> None:
    """What `runs/network_size.py` counts is what `deep/` allocates."""
    chosen = load_recipe(name)
    assert chosen.deep
    tree, encoding = chosen.game.tree, Encoding(chosen.game.tree)
    features, actions = feature_count(tree), most_actions(tree)
    assert (features, actions) == (encoding.features.shape[1], encoding.actions)
    for hidden, strength, heads, table in ((8, False, False, 0), (64, False, True, 0), (64, True, False, 20)):
        shape = Encoding(tree, strength).shape(hidden, heads, table)
        if not heads:
            assert parameter_count(tree.rules, features, actions, hidden, strength) == shape.parameters
        assert vector_length(tree, hidden, strength, heads, table) == shape.length
    assert sum(array.nbytes for array in Samples.empty(1, actions)) == bytes_per_sample(actions)


@pytest.mark.parametrize(("sums", "table"), [(0, 0), (100, 0), (8192, 0), (100, 2)])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_cost_covers_the_files(algorithm: str, sums: int, table: int, tmp_path: Path) -> None:
    chosen = recipe(algorithm=algorithm, memory=300, sums=sums, strength=table > 0, table=table)
    run = train(chosen, tmp_path / "run", 4)
    written = sum(path.stat().st_size for path in (tmp_path / "run").glob("**/*") if path.suffix in (".ckpt",))
    assert written <= run.cost.disk_bytes
    tree, encoding = chosen.game.tree, Encoding(chosen.game.tree)
    memories = [Memory(on_cpu(encoding), player, 300, 1.0, sums, table) for player in range(2)]
    summed = sum(array.nbytes for memory in memories for array in (*memory.sums, *memory.cells, *memory.trust))
    assert bytes_of_sums(tree, sums, table) == summed
    times = 1 if algorithm == "sd-cfr" else 2
    samples = 2 * memories[0].rest.capacity * bytes_per_sample(3)
    assert memories[0].rest.capacity == (1 if sums == 8192 else 300)
    assert run.cost.samples_bytes == times * (samples + summed)


def test_the_cost_of_solved_heads() -> None:
    tree, table, hidden = build_tree("leduc"), 2, 16
    memories = [Memory(on_cpu(Encoding(tree)), player, 300, 1.0, 0, table, hidden) for player in range(2)]
    assert bytes_of_heads(tree, hidden, table) == sum(array.nbytes for memory in memories for array in memory.heads)


def test_solved_heads_need_what_they_are_solved_from() -> None:
    more = {"heads": True, "strength": True, "table": 2, "sampling": "public", "holes": 4, "warm_start": True}
    assert recipe(solve_heads=3, **more).deep is not None
    for name in ("heads", "warm_start"):
        with pytest.raises(InputError, match="solve_heads needs heads, a table, public sampling and warm_start"):
            recipe(solve_heads=3, **{**more, name: False})


def test_without_an_average_network_a_table_plays() -> None:
    alone = {"algorithm": "deep-cfr", "average_steps": 0, "sums": 0}
    with pytest.raises(InputError, match="without steps of the average network its table plays: set table, or"):
        recipe(**alone)
    tables = [recipe(strength=True, table=2, **{**alone, "average_steps": steps}) for steps in (0, 20)]
    one, two = (cost_of(chosen).samples_bytes for chosen in tables)
    assert two - one == 2 * 500 * bytes_per_sample(3)  # the strategies have no samples


def test_memories_larger_than_ram_are_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"B of memory, and only .* [kMG]B is free; use a smaller deep\.memory"
    ) as refused:
        train(recipe(memory=10**13, sums=0), tmp_path / "run", 2)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_other_remedies_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = recipe(memory=1000, sums=0)
    monkeypatch.setattr(cost, "available_memory", lambda: 3 * cost_of(chosen).samples_bytes)
    with pytest.raises(InputError, match=r"use a smaller deep\.keep or deep\.hidden"):
        train(chosen, tmp_path / "run", 100)


def test_a_device_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for more, said in (({"device": "cuda"}, "no CUDA device"), ({"device": "tpu"}, "no device 'tpu'")):
        with pytest.raises(InputError, match=said):
            equipoise.train(recipe(), tmp_path / "run", iterations=2, **more)
    with pytest.raises(InputError, match=r"device 'cpu' for method external; leave out --device"):
        equipoise.train("leduc", tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()
    train(recipe(device="auto"), tmp_path / "run", 2)
    equipoise.train(
        tmp_path / "run", tmp_path / "run", iterations=3, resume=True, device="cpu"
    )  # another device is the same run
    assert load_recipe(tmp_path / "run").deep.device == "cpu"  # type: ignore[union-attr]


def test_a_checkpoint_of_another_game_or_network_is_refused(tmp_path: Path) -> None:
    train(recipe(), tmp_path / "run", 2)
    for other in (recipe(hidden=16), recipe("kuhn"), recipe(memory=501), recipe(algorithm="deep-cfr")):
        with pytest.raises(InputError, match="a run of another recipe"):
            train(other, tmp_path / "run", 3)
        with pytest.raises(InputError, match="a checkpoint of another recipe"):
            RunFolder(tmp_path / "run").newest(other, print)
    (path,) = RunFolder(tmp_path / "run").listed()[-1:]
    header, arrays = read_container(path)
    save_arrays(path, FORMAT, header, {**arrays, "networks": arrays["networks"][:, :-1]})
    with pytest.raises(InputError, match="the array 'networks' is float32"):
        train(recipe(), tmp_path / "run", 3)
    for name in ("advantages 1 counts", "advantages 0 sums total"):  # as earlier versions had them
        save_arrays(path, FORMAT, header, {**arrays, name: arrays[name][:-1]})
        short = name.split(" ", 2)[2]
        with pytest.raises(InputError, match=rf"{path}: advantages of player \d: the array '{short}' is "):
            train(recipe(), tmp_path / "run", 3)


def test_networks_that_diverge_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(recipe(), tmp_path / "run", 2)
    monkeypatch.setattr(DeepCFR, "_learn", lambda *_: float("nan"))
    with pytest.raises(InputError, match=r"diverged .* smaller deep\.learning_rate"):
        train(recipe(), tmp_path / "run", 4)
    monkeypatch.undo()
    assert train(recipe(), tmp_path / "run", 4).progress.iteration == 4


def test_games_that_networks_cannot_hold_are_refused(tmp_path: Path) -> None:
    text = write_gamedef(load_game("holdem.limit")).replace("numHoleCards = 2", "numHoleCards = 3")
    text = text.replace("numBoardCards = 0 3 1 1", "numBoardCards = 0 2 1 1")
    (tmp_path / "three.game").write_text(text)
    with pytest.raises(InputError, match=r"3 hole cards: solver\.method deep supports one or two"):
        recipe(str(tmp_path / "three.game"))


def test_no_torch_is_one_line_and_everything_else_works(tmp_path: Path) -> None:
    """In a child process that cannot import torch."""
    train(recipe(), tmp_path / "run", 2)
    lines = [["strategy", "show", str(tmp_path / "run")], ["train", "leduc-deep", "--out", str(tmp_path / "new")]]
    code = (
        "import sys\nsys.modules['torch'] = None\nfrom equipoise.cli import main\n"
        f"for line in {lines}:\n"
        "    sys.argv = ['equipoise', *line]\n"
        "    try: main()\n"
        "    except SystemExit as ended: print('CODE', ended.code or 0, flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GUARD, check=False)
    assert re.findall("CODE (.)", done.stdout) == ["0", "2"], done.stderr
    (line,) = done.stderr.splitlines()
    assert line.endswith("pip install 'equipoise[deep]'")
    assert not (tmp_path / "new").exists()


def test_recipes_are_listed_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "torch" or name.startswith("equipoise.deep")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    listed = {found.name: found for found in shipped_recipes()}
    assert listed["leduc-deep"].method == "deep" and listed["limit-deep"].cost.samples_bytes > 10**8


def test_the_command_trains_stops_and_resumes(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    sets = [f"deep.{key}={value}" for key, value in TINY.items()]
    line = ["leduc-deep", "--out", out, "--iterations", "2", "--threads", "1", "--device", "cpu"]
    done = CliRunner().invoke(app, ["train", *line, *(word for text in sets for word in ("--set", text)), "--json"])
    assert done.exit_code == 0, done.exception
    found = json.loads(done.stdout)
    assert (found["iterations"], found["stopped"]) == (2, "iterations") and found["exploitability_mbb"] > 0
    assert found["loss"] > 0
    more = CliRunner().invoke(app, ["train", "--resume", out, "--iterations", "3"])
    assert more.exit_code == 0, more.exception
    assert "continues from iteration 2" in more.stderr and "stopped at iteration 3: iterations" in more.stderr


def test_an_interrupt_saves_and_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = DeepTrainee.run

    def interrupted(self: DeepTrainee, iterations: int) -> None:
        run(self, iterations)
        if self.iteration >= 3:
            os.kill(os.getpid(), 2)

    monkeypatch.setattr(DeepTrainee, "run", interrupted)
    done = train(recipe(), tmp_path / "run", 100)
    assert done.stopped == "interrupted" and done.progress.iteration < 100
    monkeypatch.undo()
    assert load_networks(tmp_path / "run").about["iterations"] == done.progress.iteration
    train(recipe(), tmp_path / "whole", done.progress.iteration)
    at = done.progress.iteration
    assert held(tmp_path / "run", at) == held(tmp_path / "whole", at)


def test_threads_change_neither_memories_nor_deals(tmp_path: Path) -> None:
    """Several threads may round sums differently; the first iteration's samples come from equal networks."""
    for threads in (1, 2):
        train(recipe(), tmp_path / str(threads), 1, threads=threads)
    one, two = (read_container(tmp_path / name / "checkpoints" / f"{1:012d}.ckpt")[1] for name in "12")
    assert np.array_equal(one["advantages 0 key"], two["advantages 0 key"])
