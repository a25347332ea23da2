"""`bench`: benchmarks against peers."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.app import Json, app, examples, print_json
from equipoise.cli.render.bench import print_benchmarks
from equipoise.cli.render.progress import progress_bar


@app.command(epilog=examples("equipoise bench tree"))
def bench(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="cards, tree, engine, abstraction, solvers, cfr-br, cluster, deep, play or search (default: all).",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run benchmarks against peers.

    Each is a ratio to a peer or a naive twin that is measured in the same run.
    """
    from equipoise.bench import group_names, run_group

    groups, results = (name,) if name else group_names(), {}
    with progress_bar("benchmarks") as progress:
        for number, group in enumerate(groups):
            progress(number / len(groups))
            results[group] = run_group(group)
    if as_json:
        print_json({"benchmarks": [b.as_json() for group in results.values() for b in group]})
        return
    for group, benchmarks in results.items():
        print_benchmarks(group, benchmarks)
