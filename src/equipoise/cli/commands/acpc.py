"""`acpc play|deal`: the protocol of the Annual Computer Poker Competition, both sides."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from equipoise.cli.agents import load_agent
from equipoise.cli.app import FreshSeed, Game, Json, Log, What, examples, noun, print_json, refuse_options
from equipoise.cli.files import Force, new_log
from equipoise.cli.render.progress import progress_bar, tell
from equipoise.core.addresses import read_port
from equipoise.core.errors import InputError, shown
from equipoise.core.wording import counted

acpc = noun("acpc", "Play at an ACPC dealer, or deal.")


@acpc.command(
    "play",
    epilog=examples(
        "equipoise acpc deal --game leduc --hands 100 --ports 18791,18792 &",
        "sleep 10",
        "equipoise acpc play always-call 127.0.0.1 18791 --game leduc &",
        "equipoise acpc play uniform 127.0.0.1 18792 --game leduc",
    ),
)
def acpc_play(
    what: What,
    host: Annotated[str, typer.Argument(help="Host of the dealer.")],
    port: Annotated[int, typer.Argument(min=1, max=65535, help="Port of the seat.")],
    game: Game = "",
    seed: FreshSeed = None,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds to wait for the dealer's next state.")] = 1300.0,
    as_json: Json = False,
) -> None:
    """Play at an ACPC dealer until it closes the connection."""
    agent = load_agent(what, game)
    import equipoise

    result = equipoise.play_at(agent, host, port, seed=seed, timeout=timeout)
    if as_json:
        print_json(result.as_json())
    else:
        print(result.winnings)
    if not result.finished:
        tell("equipoise: the dealer closed the connection in the middle of a hand, or before the first")
        raise typer.Exit(1)


@acpc.command(
    "deal",
    epilog=examples(
        "equipoise acpc deal --game leduc --hands 100 --ports 18791,18792",
    ),
)
def acpc_deal(
    context: typer.Context,
    game: Annotated[str, typer.Option(help="A built-in game or an ACPC gamedef file.")],
    hands: Annotated[int, typer.Option(min=1, help="Number of hands to deal.")] = 1000,
    seed: FreshSeed = None,
    ports: Annotated[str, typer.Option(help="Ports of the two seats; 0: any free port.")] = "0,0",
    names: Annotated[str, typer.Option(help="Names of the two players.")] = "A,B",
    host: Annotated[str, typer.Option(help="Address to listen on (default: this machine only).")] = "127.0.0.1",
    log: Log = None,
    force: Force = False,
    response_timeout: Annotated[float, typer.Option(min=0.001, help="Seconds a player has for a response.")] = 600.0,
    hand_timeout: Annotated[float, typer.Option(min=0.001, help="Seconds a player has for a hand.")] = 600.0,
    mean_timeout: Annotated[float, typer.Option(min=0.001, help="Seconds per hand, averaged over the match.")] = 7.0,
    start_timeout: Annotated[float, typer.Option(min=0.001, help="Seconds to wait for the players.")] = 600.0,
    as_json: Json = False,
) -> None:
    """Deal a match between two ACPC players.

    A player that fails ends the match with exit code 1 and no score.
    """
    from equipoise.games.gamedef import load_game

    rules, (first, second), (one, other) = load_game(game), _two(ports, "ports"), _two(names, "names")
    seats = read_port(first, 0), read_port(second, 0)
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

    with progress_bar("match") as progress:

        def count(_hand: object) -> None:
            nonlocal dealt
            dealt += 1
            progress(dealt / hands)

        result = equipoise.deal_match(
            rules,
            hands,
            seed=cards,
            names=(one, other),
            ports=seats,
            host=host,
            log=log,
            timeouts=Timeouts(response_timeout, hand_timeout, mean_timeout, start_timeout),
            on_ports=print_ports,
            on_hand=count,
            say=tell,
        )
    if as_json:
        print_json(result.as_json())
    elif not result.stopped:
        print(f"SCORE:{result.score[0]}|{result.score[1]}:{one}|{other}")
    if result.stopped:
        tell(f"equipoise: the match stopped after {counted(result.hands, 'hand')}: {result.stopped}")
        raise typer.Exit(1)


def _two(text: str, what: str) -> tuple[str, str]:
    parts = text.split(",")
    if len(parts) != 2:
        raise InputError(f"{what} {shown(text)}", remedy=f"give two {what}, separated by a comma")
    return parts[0].strip(), parts[1].strip()
