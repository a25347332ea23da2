"""`strategy show`: a node of a trained strategy."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.app import Json, examples, noun, print_json
from equipoise.cli.render.strategy import print_strategy

strategy = noun("strategy", "Show trained strategies.")


@strategy.command(
    "show",
    epilog=examples(
        "equipoise train leduc --out runs/leduc --iterations 2000",
        'equipoise strategy show runs/leduc --line "x b2 c" --board 4c',
    ),
)
def strategy_show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a strategy file.")],
    line: Annotated[str, typer.Option(help='The betting line, e.g. "check, bet 2" or "x b2".')] = "",
    board: Annotated[str, typer.Option(help="The board: shows hands instead of buckets.")] = "",
    as_json: Json = False,
) -> None:
    """Show a node of a solved strategy: the preflop grid, or each bucket's frequencies."""
    import equipoise

    view = equipoise.show_strategy(run, line, board)
    if as_json:
        print_json(view.as_json())
    else:
        print_strategy(view)
