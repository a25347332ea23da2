"""`play`: a person against an agent at the terminal."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from equipoise.cli.agents import load_agent
from equipoise.cli.app import FreshSeed, Game, Json, What, app, examples, print_json


@app.command(epilog=examples("equipoise play uniform --game holdem.limit --hands 3 --hint"))
def play(
    what: What = "",
    game: Game = "",
    hands: Annotated[int, typer.Option(min=0, help="Number of hands; 0: until you quit.")] = 0,
    hint: Annotated[bool, typer.Option("--hint", help="Show what the agent would do with your cards.")] = False,
    seat: Annotated[str, typer.Option(help="Your seat: button, big-blind, or both in turn.")] = "both",
    seed: FreshSeed = None,
    as_json: Json = False,
) -> None:
    """Play against an agent at the terminal: the shipped no-limit agent with search from the turn, or WHAT.

    With --json, the game is shown on standard error.
    """
    import equipoise

    agent = load_agent(what, game)
    won = equipoise.play_terminal(
        agent,
        sys.stdin,
        sys.stderr if as_json else sys.stdout,
        hands=hands,
        hint=agent if hint else None,
        seat=seat,
        seed=seed,
    )
    if as_json:
        print_json(won.as_json())
