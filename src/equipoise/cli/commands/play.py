"""`play`: a person against an agent at the terminal."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from equipoise.cli.agents import load_agent
from equipoise.cli.app import FreshSeed, Game, Json, What, app, examples, print_json, refuse_options
from equipoise.cli.files import Force, new_log


@app.command(
    epilog=examples(
        "equipoise play uniform --game holdem.limit --hands 3 --hint",
        "equipoise play always-call --game holdem.nolimit --hands 3 --bb",
    )
)
def play(
    context: typer.Context,
    what: What = "",
    game: Game = "",
    hands: Annotated[int, typer.Option(min=0, help="Number of hands; 0: until you quit.")] = 0,
    hint: Annotated[bool, typer.Option("--hint", help="Show what the agent would do with your cards.")] = False,
    seat: Annotated[str, typer.Option(help="Your seat: button, big-blind, or both in turn.")] = "both",
    in_big_blinds: Annotated[bool, typer.Option("--bb", help="Show and read amounts in big blinds.")] = False,
    log: Annotated[str | None, typer.Option(metavar="FILE", help="Log of hands: .acpc, .log, .phh or .phhs.")] = None,
    force: Force = False,
    seed: FreshSeed = None,
    as_json: Json = False,
) -> None:
    """Play against an agent at the terminal: the shipped no-limit agent with search from the turn, or WHAT.

    Type what the prompt shows, or as players do: c, 3bb, raise 3x, half pot, b33, shove; ? lists all forms. With
    --json, the game is shown on standard error.
    """
    import equipoise

    if log is None:
        refuse_options(context, "is for --log", "force")
    else:
        from equipoise.play.logs import log_format

        log_format(log)
    agent = load_agent(what, game)
    new_log(log, force=force)
    won = equipoise.play_terminal(
        agent,
        sys.stdin,
        sys.stderr if as_json else sys.stdout,
        hands=hands,
        hint=agent if hint else None,
        seat=seat,
        seed=seed,
        big_blinds=in_big_blinds,
        log=log,
    )
    if as_json:
        print_json(won.as_json())
