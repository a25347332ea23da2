"""Commands that reproduce and benchmark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.app import Json, app, console, print_json, refuse_all_but
from equipoise.cli.files import Force, check_outputs, report_files


@app.command(epilog="Example: equipoise reproduce cfr-br-figure-3 --out results --force")
def reproduce(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="An experiment (default: list all).")] = None,
    out: Annotated[str, typer.Option(help="Folder for the JSON, CSV and PNG files.")] = "results",
    force: Force = False,
    full: Annotated[bool, typer.Option("--full", help="Run the long version, for a larger machine.")] = False,
    as_json: Json = False,
) -> None:
    """List or reproduce the tables and figures of the papers behind this project."""
    from equipoise.experiments import experiment_names
    from equipoise.experiments import reproduce as run

    if name is None:
        refuse_all_but(context, "is for one experiment", "name")
        listed = experiment_names()
        if as_json:
            print_json({"experiments": [{"name": key, "about": about} for key, about in listed.items()]})
        else:
            console().print_games(list(listed.items()))
        return
    check_outputs(report_files(Path(out) / name), force=force)
    summary = run(name, out, full=full, say=lambda line: print(line, file=sys.stderr))
    print_json(summary)


@app.command(epilog="Example: equipoise bench cards")
def bench(
    name: Annotated[str | None, typer.Argument(help="A group of benchmarks (default: all).")] = None,
    as_json: Json = False,
) -> None:
    """Run benchmarks; each is a ratio to a peer or a naive twin measured in the same run."""
    from equipoise.bench import group_names, run_group

    results = {group: run_group(group) for group in ([name] if name else group_names())}
    if as_json:
        print_json({"benchmarks": [b.as_json() for group in results.values() for b in group]})
        return
    for group, benchmarks in results.items():
        console().print_benchmarks(group, benchmarks)
