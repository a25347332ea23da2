"""Commands that play: at the terminal, at an ACPC dealer, over Slumbot's web API."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli.app import Json, app, console, print_json, refuse_options
from equipoise.cli.files import Force, new_log
from equipoise.core.errors import InputError, shown

if TYPE_CHECKING:
    from equipoise.agents.agent import Agent

What = Annotated[str, typer.Argument(help="A run folder, a strategy file or a named agent, options after '?'.")]
Game = Annotated[str, typer.Option(help="Game of a named agent: built-in, or an ACPC gamedef file.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of all randomness (default: a new one each time).")]
NewLog = Annotated[str | None, typer.Option(metavar="FILE", help="Log the hands in the format of the ACPC dealer.")]


@app.command(epilog="Example: equipoise play runs/nolimit --hands 20 --hint")
def play(
    what: What,
    game: Game = "",
    hands: Annotated[int, typer.Option(min=0, help="Number of hands; 0: until you quit.")] = 0,
    hint: Annotated[bool, typer.Option("--hint", help="Show what the agent would do with your cards.")] = False,
    seat: Annotated[str, typer.Option(help="Your seat: button, big-blind, or both in turn.")] = "both",
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Play against an agent at the terminal; with --json, the game is shown on standard error."""
    import equipoise

    agent = _load(what, game)
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


@app.command(epilog="Example: equipoise acpc runs/nolimit 127.0.0.1 18791")
def acpc(
    what: What,
    host: Annotated[str, typer.Argument(help="Host of the dealer.")],
    port: Annotated[int, typer.Argument(min=1, max=65535, help="Port of the seat.")],
    game: Game = "",
    seed: Seed = None,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds to wait for the dealer's next state.")] = 1300.0,
    as_json: Json = False,
) -> None:
    """Play at an ACPC dealer until it closes the connection."""
    agent = _load(what, game)
    import equipoise

    result = equipoise.play_at(agent, host, port, seed=seed, timeout=timeout)
    if as_json:
        print_json(result.as_json())
    else:
        print(result.winnings)
    if not result.finished:
        print(
            "equipoise: the dealer closed the connection in the middle of a hand, or before the first", file=sys.stderr
        )
        raise typer.Exit(1)


@app.command(
    "acpc-dealer",
    epilog="Example: equipoise acpc-dealer --game holdem.nolimit --hands 1000 --seed 7 --log a-b.log --force",
)
def acpc_dealer(
    context: typer.Context,
    game: Annotated[str, typer.Option(help="A built-in game or an ACPC gamedef file.")],
    hands: Annotated[int, typer.Option(min=1, help="Number of hands to deal.")] = 1000,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the cards (default: a random one, printed).")] = None,
    ports: Annotated[str, typer.Option(help="Ports of the two seats; 0: any free port.")] = "0,0",
    names: Annotated[str, typer.Option(help="Names of the two players.")] = "A,B",
    host: Annotated[str, typer.Option(help="Address to listen on (default: this machine only).")] = "127.0.0.1",
    log: NewLog = None,
    force: Force = False,
    response: Annotated[float, typer.Option(min=0.001, help="Seconds a player has for a response.")] = 600.0,
    hand: Annotated[float, typer.Option(min=0.001, help="Seconds a player has for a hand.")] = 600.0,
    per_hand: Annotated[float, typer.Option(min=0.001, help="Seconds per hand, averaged over the match.")] = 7.0,
    start: Annotated[float, typer.Option(min=0.001, help="Seconds to wait for the players to connect.")] = 600.0,
    as_json: Json = False,
) -> None:
    """Deal a match between two ACPC players; a player that fails ends it with exit code 1 and no score."""
    from equipoise.games.gamedef import load_game

    rules, (first, second), (one, other) = load_game(game), _two(ports, "ports"), _two(names, "names")
    if not (first.isascii() and first.isdigit() and second.isascii() and second.isdigit()):
        raise InputError(f"ports {shown(ports)}", remedy="give two numbers, e.g. --ports 18791,18792")
    if log is None:
        refuse_options(context, "is for --log", "force")
    new_log(log, force=force)
    import equipoise
    from equipoise.play.acpc.dealer import Timeouts
    from equipoise.play.dealing import fresh_seed

    told = sys.stderr if as_json else sys.stdout
    cards = fresh_seed() if seed is None else seed
    dealt = 0

    def print_ports(seats: tuple[int, int]) -> None:
        print(f"ports {seats[0]} {seats[1]}", file=told)
        if seed is None:
            print(f"seed {cards}", file=told)
        told.flush()

    with console().progress_bar("match") as progress:

        def count(_hand: object) -> None:
            nonlocal dealt
            dealt += 1
            progress(dealt / hands)

        result = equipoise.deal_match(
            rules,
            hands,
            seed=cards,
            names=(one, other),
            ports=(int(first), int(second)),
            host=host,
            log=log,
            timeouts=Timeouts(response, hand, per_hand, start),
            on_ports=print_ports,
            on_hand=count,
            say=lambda line: print(line, file=sys.stderr),
        )
    if as_json:
        print_json(result.as_json())
    elif not result.stopped:
        print(f"SCORE:{result.score[0]}|{result.score[1]}:{one}|{other}")
    if result.stopped:
        print(f"equipoise: the match stopped after {result.hands} hands: {result.stopped}", file=sys.stderr)
        raise typer.Exit(1)


slumbot = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Slumbot's web API, both sides.")
app.add_typer(slumbot, name="slumbot")


@slumbot.command(epilog="Example: equipoise slumbot serve runs/nolimit --port 8080")
def serve(
    what: What,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free port.")] = 8080,
    host: Annotated[str, typer.Option(help="Address to listen on (default: this machine only).")] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name under which clients may reach the server; repeatable."),
    ] = None,
    game: Game = "holdem.nolimit",
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Serve an agent to clients written for Slumbot; Ctrl-C stops."""
    agent = _load(what, game)
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


@slumbot.command("play", epilog="Example: equipoise slumbot play runs/nolimit http://127.0.0.1:8080 --hands 1000")
def slumbot_play(
    context: typer.Context,
    what: What,
    url: Annotated[str, typer.Argument(help="The part of the URL before /api/new_hand.")],
    hands: Annotated[int, typer.Option(min=1, help="Number of hands to play.")] = 1000,
    game: Game = "holdem.nolimit",
    seed: Seed = None,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds to wait for a complete response.")] = 60.0,
    log: NewLog = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Play an agent against a server with Slumbot's API."""
    if log is None:
        refuse_options(context, "is for --log", "force")
    agent = _load(what, game)
    new_log(log, force=force)
    import equipoise

    played = 0
    with console().progress_bar("hands") as progress:

        def count(_chips: int) -> None:
            nonlocal played
            played += 1
            progress(played / hands)

        won = equipoise.play_slumbot(agent, url, hands=hands, seed=seed, timeout=timeout, log=log, on_hand=count)
    if as_json:
        print_json(won.as_json())
    else:
        print(won)


def _two(text: str, what: str) -> tuple[str, str]:
    parts = text.split(",")
    if len(parts) != 2:
        raise InputError(f"{what} {shown(text)}", remedy=f"give two {what}, separated by a comma")
    return parts[0].strip(), parts[1].strip()


def _load(what: str, game: str) -> Agent:
    from equipoise.agents.named import load_player

    return load_player(what, game, copied=True)
