"""Current strategies: kept alone, kept of iterations drawn at random, measured beside the average."""

from __future__ import annotations

import json
import multiprocessing
import random
import signal
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import equipoise
from containers import read_container
from equipoise import CFRBR, InputError, build_tree, load_game, load_strategy, measure_agent, run_strategy
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.runs.cost import cost_of
from equipoise.runs.folder import RunFolder
from equipoise.runs.iteration_reservoir import IterationReservoirs
from equipoise.runs.progress import Measured, TrainingProgress
from equipoise.runs.recipe import Recipe, load_recipe
from equipoise.runs.strategy_snapshots import StrategySnapshots
from equipoise.solvers.cfr_br.hybrid import HybridCFRBR
from equipoise.strategy.tables import probabilities, to_bytes
from equipoise.training import loop as runs
from equipoise.training.train import _draw, draw_progress, measure_of
from equipoise.tree.infosets import SlotLayout
from waiting import newest, wait_until

LEDUC = load_game("leduc")
CUTS = {9: 33.7, 15: 44.3}  # what chi-square exceeds once in ten thousand, by degrees of freedom


def recipe(solver: str = "", *more: str) -> Recipe:
    quiet = ["measure.method=none", "stop={iterations=1000}"]
    return load_recipe("leduc", [f'solver={{method="cfr-br"{solver and ","}{solver}}}', *quiet, *more])


def train(chosen: Recipe, out: Path, iterations: int | None = None, **more: Any) -> runs.Run:
    """In one thread, and not drawn."""
    return runs.run_training(chosen, out, iterations=iterations, measure=measure_of(chosen, 1), threads=1, **more)


def solver_at(iterations: int, **settings: Any) -> CFRBR:
    solver = CFRBR(build_tree(LEDUC), BucketMap.lossless(LEDUC), **settings)
    solver.run(iterations)
    return solver


def chi_square(counts: Any) -> float:
    counts = np.asarray(counts, np.float64).ravel()
    return float(((counts - counts.mean()) ** 2 / counts.mean()).sum())


def written(out: Path) -> dict[str, bytes]:
    """What a run has to show at its end, without the seconds it took."""
    files = sorted(out.glob("strategy.*"))
    found = {path.name: load_strategy(path) for path in files}
    return {
        name: bytes(file.stored.tobytes()) + json.dumps({**file.about, "seconds": 0}).encode()
        for name, file in found.items()
    }


def tables(out: Path) -> dict[str, Any]:
    """What the newest checkpoint holds."""
    found: dict[str, Any] = read_container(RunFolder(out).listed()[-1])[1]
    return found


def test_every_iteration_is_drawn_equally_often() -> None:
    seeds, iterations = 12_000, 10
    held = np.array([IterationReservoirs(seed, 2).held(iterations) for seed in range(seeds)])
    assert held.min() == 1 and held.max() == iterations
    for number in range(2):
        assert chi_square(np.bincount(held[:, number], minlength=11)[1:]) < CUTS[9]
    early = np.array([IterationReservoirs(seed, 2).held(4) for seed in range(seeds)])  # stopped earlier
    assert chi_square(np.histogram2d(early[:, 0], early[:, 1], bins=4)[0]) < CUTS[15]  # reservoirs are independent
    # The test has power: a reservoir that replaces with the chance of the iteration before does not pass.
    late = [min(max(n for n in draws if n <= iterations) + 1, iterations) for draws in _firsts(seeds)]
    assert chi_square(np.bincount(late, minlength=11)[1:]) > 10 * CUTS[9]


def _firsts(seeds: int) -> list[list[int]]:
    return [
        [drawn for drawn, _ in zip(IterationReservoirs(seed, 1).of(0), range(12), strict=False)]
        for seed in range(seeds)
    ]


def test_jumps_are_what_a_reservoir_does_step_by_step() -> None:
    """Iteration t is taken in with probability 1/t, whatever was before."""
    taken = np.zeros(9)
    seeds = 20_000
    for draws in _firsts(seeds):
        assert draws == sorted(set(draws)) and draws[0] == 1
        for drawn in draws:
            if drawn < len(taken):
                taken[drawn] += 1
    for iteration in range(1, len(taken)):
        chance = 1 / iteration
        assert taken[iteration] / seeds == pytest.approx(chance, abs=4 * np.sqrt(chance * (1 - chance) / seeds) + 1e-12)


def test_draws_are_found_from_anywhere() -> None:
    reservoirs = IterationReservoirs(5, 3)
    for number in range(3):
        known = [n for n, _ in zip(reservoirs.of(number), range(10), strict=False)]
        for at in range(1, 40):
            assert reservoirs.held(at)[number] == max(n for n in known if n <= at)
    every = sorted({n for number in range(3) for n, _ in zip(reservoirs.of(number), range(10), strict=False)})
    assert [reservoirs.after(at) for at in (0, every[2], every[3] - 1)] == [1, every[3], every[3]]
    assert IterationReservoirs(5, 0).after(7) is None and IterationReservoirs(5, 0).held(7) == ()
    assert reservoirs.of(0) is not reservoirs.of(0) and IterationReservoirs(6, 3).held(10**9) != reservoirs.held(10**9)


def test_regrets_become_bytes_as_their_probabilities_do() -> None:
    layout = SlotLayout(build_tree(LEDUC), BucketMap.lossless(LEDUC).buckets)
    rng = np.random.default_rng(3)
    table = rng.normal(size=layout.slots).astype(np.float32) * rng.integers(0, 3, layout.slots)
    chances, levels = probabilities(layout, table), to_bytes(layout, table)
    assert np.abs(levels / 255 - chances).max() < 0.004
    assert not levels[(table <= 0) & (chances == 0)].any() and (levels[chances == 1] == 255).all()
    assert levels.sum(dtype=np.int64) == 255 * layout.infosets
    assert np.abs(levels.astype(int) - to_bytes(layout, chances).astype(int)).max() <= 1  # rounded to float32 before


def test_the_file_is_what_its_iteration_played_by(tmp_path: Path) -> None:
    chosen = recipe("seed=3,currents=4", "stop={iterations=60}")
    train(chosen, tmp_path / "run")
    held = chosen.solver.reservoirs.held(60)
    assert len(set(held)) > 1
    for number, iteration in enumerate(held, 1):
        kept = load_strategy(tmp_path / "run" / f"strategy.current-{number}.u8")
        assert kept.about == {"strategy": "current", "iteration": iteration, "iterations": 60}
        twin = solver_at(iteration - 1)
        assert np.array_equal(kept.stored, to_bytes(twin.layout, twin.regret))
        assert np.abs(kept.profile.chances - twin.profile(current=True).chances).max() < 0.004
        other = solver_at(iteration)
        assert not np.array_equal(kept.stored, to_bytes(other.layout, other.regret))
        found = measure_agent(str(kept.path))
        assert found.exploitability == pytest.approx(1000 * sum(twin.losses(current=True)) / 2, abs=20)
        equipoise.show_strategy(kept.path)
    other_seed = recipe("seed=4,currents=4", "stop={iterations=60}")
    assert other_seed.solver.reservoirs.held(60) != held and other_seed.fingerprint != chosen.fingerprint


@pytest.mark.parametrize("solver", ["currents=3,seed=2", 'keep="current",currents=2,seed=2', "stage=40,seed=2"])
def test_cut_into_parts_a_run_ends_with_the_same_bits(tmp_path: Path, solver: str) -> None:
    chosen = recipe(solver)
    train(chosen, tmp_path / "whole", 300)
    rng = random.Random(1)
    for until in (1, 2, 3, *sorted(rng.sample(range(4, 300), 6)), 300):
        train(chosen, tmp_path / "parts", until, resume=RunFolder(tmp_path / "parts").is_run)
    assert written(tmp_path / "parts") == written(tmp_path / "whole")
    first, second = (read_container(RunFolder(tmp_path / n).listed()[-1])[1] for n in ("whole", "parts"))
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_a_run_taken_up_at_an_older_checkpoint_has_what_that_one_held(tmp_path: Path) -> None:
    chosen, out = recipe("seed=1"), tmp_path / "run"
    drawn = [n for n, _ in zip(chosen.solver.reservoirs.of(0), range(8), strict=False)]
    early = next(at for at in range(20, 2000) if at not in drawn)
    later = next(n for n in drawn if n > early)
    train(chosen, out, early)
    train(chosen, out, later + 1, resume=True)
    assert [int(path.stem) for path in sorted((out / "checkpoints").glob("*.u8"))] == [
        *chosen.solver.reservoirs.held(early), later,
    ]  # fmt: skip
    newest = RunFolder(out).listed()[-1]
    newest.write_bytes(newest.read_bytes()[:-5])
    train(chosen, out, early + 1 if early + 1 < later else early, resume=True)
    assert load_strategy(out / "strategy.current-1.u8").about["iteration"] == chosen.solver.reservoirs.held(early)[0]
    train(chosen, out, later + 1, resume=True)
    train(chosen, out, later + 2, resume=True)  # the older checkpoint goes, and with it what only it held
    assert [path.stem for path in (out / "checkpoints").glob("*.u8")] == [f"{later:012d}"]
    (out / "checkpoints" / f"{later:012d}.u8").write_bytes(b"gone")
    said: list[str] = []
    train(chosen, out, later + 3, resume=True, say=said.append)
    lost = chosen.solver.reservoirs.held(later + 3)[0] == later
    assert any("no current strategy 1" in line for line in said) == lost
    assert (out / "strategy.current-1.u8").exists() != lost


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_killed_a_run_ends_with_the_same_bits(tmp_path: Path) -> None:
    """A child of this process, so that it need not start from nothing, killed at random moments."""
    rng, out = random.Random(7), tmp_path / "killed"
    chosen = recipe('keep="current",currents=3', "checkpoint.minutes=0.0005")
    fork, saved = multiprocessing.get_context("fork"), [0]
    for _ in range(6):
        child = fork.Process(target=train, args=(chosen, out, 10**9), kwargs={"resume": RunFolder(out).is_run})
        child.start()
        wait_until(lambda: newest(out) > saved[-1] or not child.is_alive(), "a new checkpoint")  # noqa: B023
        time.sleep(rng.uniform(0, 0.1))
        child.kill()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        saved.append(newest(out))
    assert saved == sorted(set(saved))
    iterations = saved[-1] + 500
    train(chosen, out, iterations, resume=True)
    train(chosen, tmp_path / "whole", iterations)
    assert written(out) == written(tmp_path / "whole")


def test_the_current_strategy_alone_needs_half_the_tables(tmp_path: Path) -> None:
    both, alone = solver_at(50), solver_at(50, keep="current")
    assert np.array_equal(both.regret, alone.regret) and both.current_losses == alone.current_losses
    assert alone.average.nbytes == 0 and not [key for key in alone.engine._sums if key[0] == "average"]
    assert alone.losses(current=True) == both.losses(current=True)
    for ask in (alone.losses, alone.profile):
        with pytest.raises(InputError, match="no average"):
            ask()
    whole, half = (cost_of(recipe(solver)) for solver in ("currents=0", 'keep="current",currents=0'))
    assert whole.table_bytes == 2 * half.table_bytes == 8 * whole.slots
    assert whole.memory_bytes - half.memory_bytes == 4 * whole.slots
    assert whole.disk_bytes - half.disk_bytes == 3 * 4 * whole.slots
    for name, solver in (("both", ""), ("alone", 'keep="current"')):
        train(recipe(solver), tmp_path / name, 50)
    assert tables(tmp_path / "alone")["average"].size == 0
    sizes = [
        sum(table.nbytes for key, table in tables(tmp_path / name).items() if not key.startswith("state"))
        for name in ("both", "alone")
    ]
    assert sizes[0] == 2 * sizes[1]
    for kind in ("float32", "u8"):
        strategies = [load_strategy(tmp_path / name / f"strategy.{kind}") for name in ("both", "alone")]
        assert [strategy.strategy for strategy in strategies] == ["average", "current"]
    assert np.array_equal(strategies[1].stored, to_bytes(alone.layout, probabilities(alone.layout, alone.regret)))


def test_the_cost_counts_what_opponents_do_and_what_is_drawn(tmp_path: Path) -> None:
    costs = [cost_of(recipe(f"currents={count}")) for count in (0, 1, 3)]
    slots, opponents = costs[0].slots, len(solver_at(0).choice)
    assert costs[0].disk_bytes == 3 * (8 * slots + opponents) + 5 * slots
    assert [cost.disk_bytes - costs[0].disk_bytes for cost in costs] == [0, 4 * slots, 12 * slots]
    assert costs[0].memory_bytes == costs[2].memory_bytes
    external = cost_of(load_recipe("leduc", ['solver={method="external"}', "measure.method=none"]))
    assert costs[0].memory_bytes == external.memory_bytes + opponents
    assert 140e6 < cost_of(load_recipe("two-four-cfr-br")).memory_bytes < 150e6
    with pytest.raises(InputError, match="too many boards"):
        equipoise.train(load_recipe("limit-small", ['solver={method="cfr-br"}']), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("trunk", [0, 1])
def test_the_hybrid_agent_keeps_the_same(tmp_path: Path, trunk: int) -> None:
    tree, buckets = build_tree(LEDUC), BucketMap.lossless(LEDUC)

    def hybrid(keep: str) -> HybridCFRBR:
        return HybridCFRBR(tree, buckets, trunk=trunk, boards=2, keep=keep)

    both, alone = hybrid("both"), hybrid("current")
    for solver in (both, alone):
        solver.run(40)
    assert np.array_equal(both.regret, alone.regret) and np.array_equal(both.trunk_regret, alone.trunk_regret)
    assert both.average.size == both.regret.size and alone.average.size == 0
    assert np.array_equal(both.profile(current=True).chances, alone.profile(current=True).chances)
    with pytest.raises(InputError, match="no average"):
        alone.profile()
    with pytest.raises(InputError, match="keep"):
        hybrid("average")
    for name in ("whole", "parts"):
        for until in (1, 7, 23, 40) if name == "parts" else (40,):
            chosen = recipe('keep="current",currents=3')
            train(
                chosen,
                tmp_path / name,
                until,
                resume=RunFolder(tmp_path / name).is_run,
                make=lambda *_: hybrid("current"),
            )
    assert written(tmp_path / "parts") == written(tmp_path / "whole")
    assert np.array_equal(load_strategy(tmp_path / "whole").profile.chances, probabilities(alone.layout, alone.regret))
    drawn = load_strategy(tmp_path / "whole" / "strategy.current-2.u8")
    twin = hybrid("both")
    twin.run(drawn.about["iteration"] - 1)
    assert np.array_equal(drawn.stored, to_bytes(twin.layout, twin.regret))


def metrics(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def test_both_strategies_are_measured_while_a_run_goes_on(tmp_path: Path) -> None:
    every = ("measure={method='exact',every=0.001}",)
    run = train(recipe("", *every), tmp_path / "both", 400)
    row, solver = metrics(tmp_path / "both")[-1], solver_at(400)
    assert row["exploitability_mbb"] == pytest.approx(1000 * sum(solver.losses()) / 2, rel=1e-3)
    assert row["current_exploitability_mbb"] == pytest.approx(1000 * sum(solver.losses(current=True)) / 2, rel=1e-3)
    assert row["current_exploitability_mbb"] != pytest.approx(row["exploitability_mbb"], rel=0.01)
    assert run.as_json()["current_exploitability_mbb"] == row["current_exploitability_mbb"]
    train(recipe('keep="current"', *every), tmp_path / "alone", 400)
    alone = metrics(tmp_path / "alone")[-1]
    assert alone["exploitability_mbb"] is None
    assert alone["current_exploitability_mbb"] == row["current_exploitability_mbb"]
    draw_progress(run)
    assert (tmp_path / "both" / "progress.png").stat().st_size > 5_000
    stops = recipe('keep="current"', *every, "stop={exploitability=150,minutes=2}")
    done = train(stops, tmp_path / "stops")
    assert done.stopped == "exploitability" and done.progress.current_exploitability_mbb <= 150
    bound = recipe("", "measure={method='lbr',every=0.001,hands=100}")
    done = train(bound, tmp_path / "bound", 30)
    assert done.progress.lbr_mbb is not None and done.progress.current_lbr_ci95_mbb is not None
    assert done.progress.exploitability_mbb is None and done.progress.current_exploitability_mbb is None


def test_words_and_curves_tell_both_apart() -> None:
    two = Measured.of({"average": Measured(20.0), "current": Measured(31.5)})
    assert two == Measured(20.0, None, None, 31.5, None, None) and two.exploitability == 20
    assert two.text == "exploitability 20.00 mbb/g, current 31.50"
    one = Measured.of({"current": Measured(31.5)})
    assert one.exploitability == 31.5 and one.text == "current strategy: exploitability 31.50 mbb/g"
    bounds = Measured.of({"average": Measured(None, 90.0, 8.0), "current": Measured(None, 95.0, 9.0)})
    assert bounds.text == "LBR lower bound 90 ± 8 mbb/hand, current 95 ± 9" and Measured().text == ""
    assert Measured.of({"average": Measured(5.0)}) == Measured(5.0)
    row = TrainingProgress(1, 1.0, 1, 1.0, 1.0, 0.5, 1.0, **two._asdict())
    assert row.measured == two and row.measured_text == two.text
    figure, axes = plt.subplots()
    for found, names in ((two, ["average strategy", "current strategy"]), (one, ["current strategy"]),
                         (bounds, ["average strategy", "current strategy"])):  # fmt: skip
        axes = figure.add_subplot()
        before = len(figure.axes)
        _draw(axes, [TrainingProgress(1, at, 1, 1.0, 1.0, 0.5, 1.0, **found._asdict()).as_json() for at in (1.0, 2.0)])
        assert [text.get_text() for text in figure.axes[before].get_legend().get_texts()] == names
    plt.close(figure)


def test_a_run_s_current_strategy_is_measured_from_its_newest_checkpoint(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    train(recipe(), tmp_path / "run", 200)
    solver = solver_at(200)
    assert measure_agent(out).exploitability == pytest.approx(1000 * sum(solver.losses()) / 2, rel=1e-3)
    expected = pytest.approx(1000 * sum(solver.losses(current=True)) / 2, rel=1e-3)
    assert measure_agent(out, current=True).exploitability == expected
    assert run_strategy(out, "current").about["iterations"] == 200
    for path in (tmp_path / "run").glob("strategy.*"):
        path.unlink()  # as in a run that is still going on
    assert measure_agent(out, current=True).exploitability == expected
    assert np.abs(run_strategy(out, "average").profile.chances - solver.profile().chances).max() < 1e-6
    player = equipoise.load_player(f"{out}?strategy=current&post=purify")
    assert player.name.endswith("purify")
    newest = RunFolder(tmp_path / "run").listed()[-1]
    whole = newest.read_bytes()
    newest.write_bytes(whole[:-1])
    with pytest.raises(InputError, match="no whole checkpoint"):
        measure_agent(out, current=True)
    assert newest.exists()  # whoever only reads sets nothing aside


def test_what_has_no_such_strategy_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(recipe('keep="current"'), out, 20)
    with pytest.raises(InputError, match="keeps no average"):
        run_strategy(out, "average")
    assert measure_agent(str(out / "strategy.u8"), current=True).exploitability > 0
    train(recipe("currents=0"), tmp_path / "other", 20)
    assert not list((tmp_path / "other").glob("**/*current*")) + list((tmp_path / "other" / "checkpoints").glob("*.u8"))
    (tmp_path / "empty").mkdir()
    for what, said in (
        ("always-call", "no run"), (str(tmp_path / "none"), "no run"), (str(tmp_path / "empty"), "is no run"),
        (str(tmp_path / "other" / "strategy.u8"), "average strategy"), (f"{out}?strategy=average", "option"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            measure_agent(what, current=True, game="leduc" if what == "always-call" else "")
    with pytest.raises(InputError, match="no strategy 'last'"):
        measure_agent(f"{out}?strategy=last")


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        ('method="cfr-br",keep="average"', "keep"),
        ('method="cfr-br",keep="current",stage=50', "stage"),
        ('method="cfr-br",currents=-1', "currents"),
        ('method="cfr-br",currents=1.5', "currents"),
        ('method="pcs",keep="current"', "keep is not for method pcs"),
        ('method="external",currents=1', "currents is not for method external"),
    ],
)
def test_recipes_that_make_no_sense_are_refused(solver: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        load_recipe("leduc", [f"solver={{{solver}}}"])
    assert "\n" not in str(refused.value)


def test_solvers_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="keep"):
        solver_at(0, keep="average")
    with pytest.raises(InputError, match="stage"):
        solver_at(0, keep="current", stage=5)


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        StrategySnapshots, "path", lambda self, iteration: self.folder.path / "no" / "such" / f"{iteration}.u8"
    )
    with pytest.raises(InputError, match="cannot write"):
        train(recipe(), tmp_path / "run", 20)
