"""The public `train`: the training loop, with measurements of exploitability and a progress report at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.agents.agent import Agent
from equipoise.agents.blueprint import profile_agent
from equipoise.agents.card_blind import CardBlindStrategy
from equipoise.agents.table import TableAgent
from equipoise.core.disk import disk_remedy
from equipoise.core.errors import InputError
from equipoise.core.machine import thread_count
from equipoise.core.progress import Progress, Say
from equipoise.measure.best_response import Measurement, exploitability
from equipoise.measure.lbr import local_best_response
from equipoise.measure.report import write_report
from equipoise.runs.cost import MOST_SLOTS
from equipoise.runs.folder import RunFolder
from equipoise.runs.progress import Measured
from equipoise.runs.recipe import RECIPE_FILE, Recipe, load_recipe, with_device
from equipoise.training.loop import Measure, OnProgress, Run, run_training
from equipoise.training.trainee import TableStrategy, Trained

if TYPE_CHECKING:
    from equipoise.training.cluster_trainee import ClusterOptions

HANDS = 1000  # of local best response
PROGRESS = "progress"  # stem of the report files
PREFIXES = {"": ("average strategy", "o-"), "current_": ("current strategy", "s--")}  # label, line style


def train(
    recipe: Recipe | str | Path,
    out: str | Path,
    *,
    resume: bool = False,
    minutes: float | None = None,
    iterations: int | None = None,
    threads: int | None = None,
    device: str | None = None,
    overrides: Sequence[str] = (),
    cluster: str | None = None,
    parts: int | None = None,
    part_folder: str | Path | None = None,
    on_progress: OnProgress | None = None,
    on_stage: Progress | None = None,
    say: Say | None = None,
) -> Run:
    """Train a recipe (a value, a built-in name or a TOML file) in the folder `out`, or continue there with `resume`.
    If `out` has a run of this very recipe that is at its end already, its result is returned and nothing is trained.

    `overrides` are texts such as `solver.seed=7`. `minutes` and `iterations` are totals of the run and replace those of
    the recipe. `threads`: 0 for all cores. `device` is where networks are trained: cpu, cuda or auto. `on_progress` is
    called about once a second, `on_stage` while buckets are built, `say` with each line of the log. Ctrl-C saves the
    run and stops it.

    `cluster` trains in parts with Ray: `local` on this machine, or at an address. `parts` is their number (default: the
    cores of the cluster divided by `threads`, which are those of a part). `part_folder` is where parts keep their files
    if the machines do not share the folder `out`.
    """
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe, overrides)
    elif overrides:
        raise InputError("overrides for a recipe that is already loaded", remedy="give them to load_recipe")
    if device is not None:
        recipe = with_device(recipe, device)
    run = run_training(
        recipe, out, resume=resume, minutes=minutes, iterations=iterations, threads=threads, on_progress=on_progress,
        on_stage=on_stage, say=say, measure=measure_of(recipe, threads or 0),
        cluster=_cluster_options(cluster, parts, part_folder),
    )  # fmt: skip
    draw_progress(run)
    return run


def resume_training(
    run: str | Path,
    *,
    minutes: float | None = None,
    iterations: int | None = None,
    threads: int | None = None,
    device: str | None = None,
    overrides: Sequence[str] = (),
    cluster: str | None = None,
    parts: int | None = None,
    part_folder: str | Path | None = None,
    on_progress: OnProgress | None = None,
    on_stage: Progress | None = None,
    say: Say | None = None,
) -> Run:
    """Continue the run in a folder by the recipe that it holds; arguments as in `train`."""
    folder = RunFolder(Path(run))
    folder.check_run()
    return train(
        folder.path / RECIPE_FILE, folder.path, resume=True, minutes=minutes, iterations=iterations, threads=threads,
        device=device, overrides=overrides, cluster=cluster, parts=parts, part_folder=part_folder,
        on_progress=on_progress, on_stage=on_stage, say=say,
    )  # fmt: skip


def _cluster_options(cluster: str | None, parts: int | None, part_folder: str | Path | None) -> ClusterOptions | None:
    if cluster is None:
        if parts is not None or part_folder is not None:
            raise InputError("parts without a cluster", remedy="add --cluster local, or an address")
        return None
    from equipoise.training.cluster_trainee import ClusterOptions

    return ClusterOptions(cluster, parts, Path(part_folder).absolute() if part_folder else None)


def measure_of(recipe: Recipe, threads: int) -> Measure | None:
    """The measure function of a recipe. Refused if one measurement would take longer than the run."""
    if recipe.measure.method == "none":
        return None
    if recipe.measure.method == "lbr":
        return _bound(recipe, threads)
    rules, menu = recipe.game.rules, recipe.game.menu
    if _is_large(recipe, thread_count(threads)):
        raise InputError(
            f"measure.method: an exact measurement of {rules.name} takes longer than a run can wait",
            remedy='set measure.method = "lbr", or "none" and use equipoise measure afterwards',
        )

    def measure(strategy: Trained) -> Measured:
        assert isinstance(strategy, TableStrategy)
        agent = profile_agent("trained", *strategy)
        return Measured(exploitability(rules, agent, menu=menu, threads=threads).exploitability)

    return measure


def _is_large(recipe: Recipe, threads: int) -> bool:
    """Does an exact measurement take too long, or networks a table that is too large?"""
    game = recipe.game
    if recipe.deep and game.layout.slots > MOST_SLOTS:
        return True
    if game.rules.rounds == 1:
        return False
    try:
        return Measurement(game.rules, CardBlindStrategy("uniform"), game.tree, threads).is_large
    except InputError:
        return True


def _bound(recipe: Recipe, threads: int) -> Measure:
    """Local best response, always on the same deals, so that the values differ by strategy only."""

    def measure(strategy: Trained) -> Measured:
        found = local_best_response(_agent(strategy), hands=recipe.measure.hands or HANDS, threads=threads)
        return Measured(lbr_mbb=found.lbr, lbr_ci95_mbb=found.ci95)

    return measure


def _agent(strategy: Trained) -> Agent:
    """A strategy as a player."""
    if isinstance(strategy, TableStrategy):
        return TableAgent("trained", strategy.profile.layout, strategy.profile.chances, strategy.buckets)
    from equipoise.agents.network import NetworkAgent  # here: it imports torch

    return NetworkAgent("trained", strategy.on("cpu"))  # hands are played in forked processes


def draw_progress(run: Run) -> None:
    """Write the metrics of a run as CSV and JSON, and plot regret or loss, and exploitability, against time."""
    rows = RunFolder(run.folder).read_metrics()
    try:
        write_report(run.folder / PROGRESS, run.as_json(), rows, _draw)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", where=str(run.folder), remedy=disk_remedy(error)) from None


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    key = "loss" if rows and "loss" in rows[0] else "regret"
    drawn = [row for row in rows if row.get(key, 0) > 0]  # runs on a cluster do not sum regrets
    axes.plot([row["seconds"] for row in drawn], [row[key] for row in drawn], color="tab:gray")
    axes.set_xlabel("seconds of training")
    axes.set_ylabel({"loss": "loss of the networks", "regret": "average positive regret"}[key], color="tab:gray")
    if drawn:
        axes.set_yscale("log")
    if any(row.get(f"{prefix}exploitability_mbb") for row in rows for prefix in PREFIXES):
        _draw_exploitability(axes.twinx(), rows)
    elif any(row.get(f"{prefix}lbr_mbb") is not None for row in rows for prefix in PREFIXES):
        _draw_bounds(axes.twinx(), rows)


def _draw_exploitability(right: Any, rows: list[dict[str, Any]]) -> None:
    for prefix, (name, style) in PREFIXES.items():
        known = [row for row in rows if row.get(f"{prefix}exploitability_mbb")]
        seconds, values = ([row[key] for row in known] for key in ("seconds", f"{prefix}exploitability_mbb"))
        right.plot(seconds, values, style, color="tab:blue", label=name if known else None)
    right.set_yscale("log")
    right.set_ylabel("exploitability, mbb/g", color="tab:blue")
    right.legend()


def _draw_bounds(right: Any, rows: list[dict[str, Any]]) -> None:
    for prefix, (name, style) in PREFIXES.items():
        known = [row for row in rows if row.get(f"{prefix}lbr_mbb") is not None]
        keys = ("seconds", f"{prefix}lbr_mbb", f"{prefix}lbr_ci95_mbb")
        seconds, values, widths = ([row[key] for row in known] for key in keys)
        right.errorbar(seconds, values, widths, fmt=style, color="tab:red", capsize=3, label=name if known else None)
    right.set_ylabel("LBR, a lower bound on exploitability, mbb/hand, ± 95%", color="tab:red")
    right.legend()
