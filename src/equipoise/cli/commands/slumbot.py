"""`slumbot play|serve`: Slumbot's web API, both sides."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from equipoise.cli.agents import load_agent
from equipoise.cli.app import FreshSeed, Game, Json, Log, What, examples, noun, print_json, refuse_options
from equipoise.cli.files import Force, new_log
from equipoise.cli.render.progress import progress_bar

slumbot = noun("slumbot", "Play at a server with Slumbot's API, or serve.")


@slumbot.command("serve", epilog=examples("equipoise slumbot serve always-call --port 8080"))
def slumbot_serve(
    what: What,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free port.")] = 8080,
    host: Annotated[str, typer.Option(help="Address to listen on (default: this machine only).")] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name under which clients may reach the server; repeatable."),
    ] = None,
    game: Game = "holdem.nolimit",
    seed: FreshSeed = None,
    as_json: Json = False,
) -> None:
    """Serve an agent to clients written for Slumbot; Ctrl-C stops."""
    agent = load_agent(what, game)
    import equipoise

    sessions = equipoise.SlumbotTable(agent, seed=seed)
    with equipoise.SlumbotServer(sessions, host, port, allow_hosts=allow_host or ()) as server:
        if as_json:
            print_json({"url": server.url, "agent": agent.name})
        else:
            print(f"{agent.name} at {server.url}/api/new_hand and {server.url}/api/act")
        sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print(file=sys.stderr)


@slumbot.command(
    "play",
    epilog=examples(
        "equipoise slumbot serve always-call --port 8080 &",
        "sleep 10",
        "equipoise slumbot play uniform http://127.0.0.1:8080 --hands 100",
    ),
)
def slumbot_play(
    context: typer.Context,
    what: What,
    url: Annotated[str, typer.Argument(help="The part of the URL before /api/new_hand.")],
    hands: Annotated[int, typer.Option(min=1, help="Number of hands to play.")] = 1000,
    game: Game = "holdem.nolimit",
    seed: FreshSeed = None,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds to wait for a complete response.")] = 60.0,
    log: Log = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Play an agent against a server with Slumbot's API."""
    if log is None:
        refuse_options(context, "is for --log", "force")
    agent = load_agent(what, game)
    new_log(log, force=force)
    import equipoise

    played = 0
    with progress_bar("hands") as progress:

        def count(_chips: int) -> None:
            nonlocal played
            played += 1
            progress(played / hands)

        won = equipoise.play_slumbot(agent, url, hands=hands, seed=seed, timeout=timeout, log=log, on_hand=count)
    if as_json:
        print_json(won.as_json())
    else:
        print(won)
