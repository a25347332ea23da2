"""`train`: a blueprint from a recipe, new or resumed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli.app import Json, Set, app, examples, miss_target, print_json
from equipoise.cli.render.progress import training
from equipoise.cli.render.train import print_run
from equipoise.core.errors import InputError

if TYPE_CHECKING:
    from equipoise.training.loop import Run


@app.command(
    epilog=examples(
        "equipoise train leduc --out runs/leduc --minutes 0.1 --set solver.seed=7",
        "equipoise train --resume runs/leduc --minutes 0.2",
        "equipoise train leduc-deep --out runs/deep --iterations 20 --device cpu",
        "equipoise train leduc-deep --out runs/two --iterations 20 --cluster local",
    ),
)
def train(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="RECIPE", help="A shipped recipe (see equipoise recipes), a TOML file, or a run folder."
        ),
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="RUN", help="Folder of the new run.")] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Continue the run in this folder by its own recipe.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Maximum minutes of training, in total.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Maximum number of iterations, in total.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=0, help="Number of threads; 0: all cores; 1: reproducible.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="Where networks are trained: cpu, cuda or auto (method deep).")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Train in parts with Ray (external, pcs, deep): local starts it on this machine, HOST:PORT joins one.",
        ),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(min=1, help="Number of parts (default: cores of the cluster / threads of a part)."),
    ] = None,
    part_folder: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Where parts keep files, if the machines do not share the run's folder."),
    ] = None,
    overrides: Set = None,
    as_json: Json = False,
) -> None:
    """Train a blueprint (tables or networks) from a recipe, or continue a run. Ctrl-C and SIGTERM save it and stop."""
    begin = _trainer(recipe, out, resume)
    with training() as show:
        run = begin(
            minutes=minutes,
            iterations=iterations,
            threads=threads,
            device=device,
            cluster=cluster,
            parts=parts,
            part_folder=part_folder,
            overrides=overrides or (),
            on_progress=show.progress,
            on_stage=show.stage,
            say=show.say,
        )
    if as_json:
        print_json(run.as_json())
    else:
        print_run(run)
    _end(run)


def _trainer(recipe: str | None, out: str | None, resume: str | None) -> Callable[..., Run]:
    """What trains: a new run needs a recipe and a folder, a resumed one has both."""
    from equipoise.training import train as trainings

    if resume is not None:
        if (recipe, out) != (None, None):
            raise InputError("a resumed run has a recipe and a folder", remedy="use --resume RUN without them")
        return partial(trainings.resume_training, resume)
    if recipe is None:
        raise InputError("no recipe to train", remedy="name one; equipoise recipes lists those that are shipped")
    if out is None:
        raise InputError("no folder for the run", remedy="add --out, e.g. --out runs/mine")
    return partial(trainings.train, recipe, out)


def _end(run: Run) -> None:
    """Exit with the code of an interrupted run or of a missed target."""
    if run.stopped == "interrupted":
        raise KeyboardInterrupt
    wanted, reached = run.recipe.stop.exploitability, run.progress.measured.exploitability
    if wanted is not None and (reached is None or reached > wanted):
        miss_target(f"stopped by {run.stopped}: the target of {wanted:g} mbb/g is not reached")
