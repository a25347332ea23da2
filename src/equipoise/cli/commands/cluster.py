"""`cluster plan`: what a training on many machines needs."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.app import Json, examples, noun, print_json
from equipoise.cli.render.cluster import print_plan
from equipoise.cli.render.progress import stage_bar

cluster = noun("cluster", "Plan a training on many machines.")

Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the recipe.")
]


@cluster.command(
    "plan",
    epilog=examples("equipoise cluster plan two-four-blades --machines 4 --cores 2"),
)
def cluster_plan(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A shipped recipe or a TOML file.")],
    machines: Annotated[int, typer.Option(min=1, help="Number of machines that hold parts.")] = 2,
    cores: Annotated[int, typer.Option(min=1, help="Cores of each machine.")] = 1,
    ram: Annotated[float, typer.Option(help="Memory of each machine, in GB.")] = 16.0,
    latency: Annotated[float, typer.Option(help="Milliseconds of a call to a part and its reply.")] = 1.0,
    network: Annotated[float, typer.Option(help="Speed of the head's network, in MB/s.")] = 125.0,
    disk: Annotated[float, typer.Option(help="Sequential speed of a machine's disk, in MB/s.")] = 500.0,
    infosets: Annotated[
        float | None, typer.Option(help="Plan for a larger abstraction of the same shape: its information sets.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="Seconds to measure a piece of the recipe on this machine.")] = 5.0,
    override: Overrides = None,
    as_json: Json = False,
) -> None:
    """Predict memory, speed and idle time of a training on many machines, from a piece of it measured here."""
    from equipoise.cluster.plan import Machines, plan_cluster
    from equipoise.runs.recipe import load_recipe

    wanted = Machines(machines, cores, 1e9 * ram, latency / 1e3, 1e6 * network, 1e6 * disk)
    with stage_bar("planning") as progress:
        found = plan_cluster(
            load_recipe(recipe, override or ()), wanted, infosets=infosets, seconds=seconds, progress=progress
        )
    if as_json:
        print_json(found.as_json())
    else:
        print_plan(found)
