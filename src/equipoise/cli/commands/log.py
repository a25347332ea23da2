"""`log replay`: check a log of hands."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.app import Json, examples, noun, print_json
from equipoise.cli.render.match import print_replay
from equipoise.cli.render.progress import progress_bar

log = noun("log", "Check logs of hands.")


@log.command(
    "replay",
    epilog=examples(
        "equipoise match uniform always-call --game leduc --hands 500 --log leduc.log",
        "equipoise log replay leduc.log --game leduc",
    ),
)
def log_replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A log: .acpc, .log, .phh or .phhs.")],
    game: Annotated[str, typer.Option(help="Game of the log: built-in, or an ACPC gamedef file.")],
    as_json: Json = False,
) -> None:
    """Replay every hand of a log and check its values."""
    import equipoise

    rules = equipoise.load_game(game)
    with progress_bar("replay") as progress:
        replayed = equipoise.replay(file, rules, progress=progress)
    if as_json:
        print_json(replayed.as_json())
    else:
        print_replay(replayed)
