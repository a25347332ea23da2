"""`reproduce`: tables and figures of the papers, published values beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.app import Json, app, examples, print_json, refuse_all_but
from equipoise.cli.files import Force, check_outputs, report_files
from equipoise.cli.render.games import print_list
from equipoise.cli.render.progress import stage_bar, tell
from equipoise.cli.render.reproduce import print_rows


@app.command(epilog=examples("equipoise reproduce", "equipoise reproduce time-to-20-mbb --out results"))
def reproduce(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="An experiment (default: list all).")] = None,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the JSON, CSV and PNG files.")] = "results",
    force: Force = False,
    full: Annotated[bool, typer.Option("--full/--quick", help="The long version, for a larger machine.")] = False,
    as_json: Json = False,
) -> None:
    """List or reproduce tables and figures of the papers."""
    from equipoise.experiments import experiment_names
    from equipoise.experiments import reproduce as run

    if name is None:
        refuse_all_but(context, "is for one experiment", "name")
        listed = experiment_names()
        if as_json:
            print_json({"experiments": [{"name": key, "about": about} for key, about in listed.items()]})
        else:
            print_list("experiment", list(listed.items()))
        return
    files = report_files(Path(out) / name)
    check_outputs(files, force=force)
    with stage_bar(f"reproducing {name}"):
        found = run(name, out, full=full, say=tell)
    if as_json:
        print_json(found)
    else:
        print_rows(name, found["rows"], [str(file) for file in files])
