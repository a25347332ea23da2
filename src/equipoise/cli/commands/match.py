"""Matches: two agents, a tournament of more, or the replay of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.app import Json, Threads, app, console, print_json, refuse_all_but, refuse_options
from equipoise.cli.files import Force, check_outputs, new_log, report_files
from equipoise.core.errors import InputError


@app.command(
    epilog="Examples: equipoise match runs/demo always-call --hands 1000000; equipoise match runs/demo "
    '"runs/demo?post=purify" --log demo.phh --force; equipoise match runs/demo runs/other uniform --out results/cup; '
    "equipoise match --replay demo.phh --game holdem.nolimit"
)
def match(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B [C ...]", help="Run folders, strategy files or named agents, options after '?'."),
    ] = None,
    hands: Annotated[int, typer.Option(min=4, help="Number of hands per pair of agents.")] = 100_000,
    game: Annotated[str, typer.Option(help="Game of named agents and logs: built-in, or an ACPC gamedef file.")] = "",
    menu: Annotated[str | None, typer.Option(help="Bet menu of named agents in no-limit games.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the cards and the actions.")] = 1,
    threads: Threads = 0,
    duplicate: Annotated[
        bool, typer.Option("--duplicate/--no-duplicate", help="Play each deal twice, with seats swapped.")
    ] = True,
    aivat: Annotated[bool, typer.Option("--aivat", help="Also reduce variance by AIVAT (a few ms per hand).")] = False,
    log: Annotated[str | None, typer.Option(metavar="FILE", help="Log of hands: .acpc, .log, .phh or .phhs.")] = None,
    replay: Annotated[str | None, typer.Option(metavar="LOG", help="Replay and check the hands of a log.")] = None,
    out: Annotated[
        str | None, typer.Option(metavar="STEM", help="Three agents or more: results as STEM.json, .csv and .png.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Play agents against each other: win rate in mbb/hand with its 95% interval."""
    import equipoise
    from equipoise.cli.render import match as console_match

    if replay is not None:
        if agents or not game:
            raise InputError("--replay takes a log and its game", remedy="add --game, leave out the agents")
        refuse_all_but(context, "is for playing, not for --replay", "agents", "replay", "game")
        _replay(replay, game, as_json)
        return
    names = agents or []
    if len(names) > 2:
        refuse_options(context, "is for two agents", "log", "aivat")
    else:
        refuse_options(context, "is for three agents and more", "out")
    if log is None and out is None:
        refuse_options(context, "is for --log and --out", "force")
    if out is not None:
        goes_on = Path(f"{out}.pairs").is_dir()  # then the results are those of a tournament
        check_outputs(report_files(out), force=force or goes_on)
    from equipoise.agents.named import load_players
    from equipoise.play.logs import log_format

    players = load_players(names, game, menu)
    if log is not None:
        log_format(log)
        new_log(log, force=force)
    with console().progress_bar("match") as progress:
        if len(players) > 2:
            found = equipoise.round_robin(
                players, hands=hands, duplicate=duplicate, seed=seed, threads=threads, out=out, progress=progress
            )
        else:
            result = equipoise.match(
                *players, hands=hands, duplicate=duplicate, aivat=aivat, seed=seed, threads=threads, log=log,
                progress=progress,
            )  # fmt: skip
    if len(players) > 2:
        if as_json:
            print_json(found.as_json())
        else:
            console_match.print_tournament(found)
    elif as_json:
        print_json(result.as_json())
    else:
        console_match.print_match(result)


def _replay(log: str, game: str, as_json: bool) -> None:
    import equipoise
    from equipoise.cli.render.match import print_replay

    with console().progress_bar("replay") as progress:
        replayed = equipoise.replay(log, equipoise.load_game(game), progress=progress)
    if as_json:
        print_json(replayed.as_json())
    else:
        print_replay(replayed)
