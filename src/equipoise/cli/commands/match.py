"""`match`: two agents, or a tournament of more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.app import Game, Json, Threads, app, examples, print_json, refuse_options
from equipoise.cli.files import Force, check_outputs, new_log, report_files
from equipoise.cli.render.match import print_match, print_tournament
from equipoise.cli.render.progress import progress_bar


@app.command(
    epilog=examples(
        "equipoise match always-raise always-call --game holdem.limit --hands 20000",
        "equipoise match uniform always-call always-fold --game leduc --out cup",
        "equipoise match uniform always-call --game leduc --hands 500 --log leduc.log",
        "equipoise match uniform always-raise --game leduc --boards 20",
    ),
)
def match(
    context: typer.Context,
    agents: Annotated[
        list[str],
        typer.Argument(metavar="A B [C ...]", help="Run folders, strategy files or named agents, options after '?'."),
    ],
    hands: Annotated[int, typer.Option(min=4, help="Number of hands per pair of agents.")] = 100_000,
    minutes: Annotated[
        float | None, typer.Option(min=0.001, help="Two agents: maximum minutes; the result says how many hands.")
    ] = None,
    boards: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=4,
            help="Two agents of one betting tree, without search: deal no hands, but value all pairs of holes and all "
            "betting lines on N random boards, in both seats.",
        ),
    ] = None,
    game: Game = "",
    menu: Annotated[str | None, typer.Option(help="Bet menu of named agents in no-limit games.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the cards and the actions.")] = 1,
    threads: Threads = 0,
    duplicate: Annotated[
        bool, typer.Option("--duplicate/--no-duplicate", help="Play each deal twice, with seats swapped.")
    ] = True,
    aivat: Annotated[bool, typer.Option("--aivat", help="Also reduce variance by AIVAT (a few ms per hand).")] = False,
    log: Annotated[str | None, typer.Option(metavar="FILE", help="Log of hands: .acpc, .log, .phh or .phhs.")] = None,
    out: Annotated[
        str | None, typer.Option(metavar="STEM", help="Three agents or more: results as STEM.json, .csv and .png.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Play agents against each other.

    The result is a win rate in mbb/hand with its 95% interval.
    """
    if len(agents) > 2:
        refuse_options(context, "is for two agents", "log", "aivat", "minutes", "boards")
    else:
        refuse_options(context, "is for three agents and more", "out")
    if boards is not None:
        for_hands = ("hands", "minutes", "threads", "duplicate", "aivat", "log")
        refuse_options(context, "cannot be combined with --boards", *for_hands)
    if log is None and out is None:
        refuse_options(context, "is for --log and --out", "force")
    if out is not None:
        goes_on = any(Path(f"{out}.pairs").glob("*.pair"))  # then the results are those of a tournament
        check_outputs(report_files(out), force=force or goes_on)
    import equipoise
    from equipoise.agents.named import load_players
    from equipoise.play.logs import log_format

    players = load_players(agents, game, menu)
    if log is not None:
        log_format(log)
        new_log(log, force=force)
    with progress_bar("match") as progress:
        if len(players) > 2:
            found = equipoise.round_robin(
                players, hands=hands, duplicate=duplicate, seed=seed, threads=threads, out=out, progress=progress
            )
        else:
            result = equipoise.match(
                *players, hands=hands if boards is None else None, duplicate=duplicate, aivat=aivat, seed=seed,
                threads=threads, log=log, progress=progress, minutes=minutes, boards=boards,
            )  # fmt: skip
    if len(players) > 2:
        if as_json:
            print_json(found.as_json())
        else:
            print_tournament(found)
    elif as_json:
        print_json(result.as_json())
    else:
        print_match(result)
