"""`strategy show`: a node of a trained strategy; `strategy pack`: a small file of one."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.app import Json, examples, noun, print_json
from equipoise.cli.render.progress import stage_bar
from equipoise.cli.render.strategy import print_packed, print_strategy

strategy = noun("strategy", "Show and pack trained strategies.")


@strategy.command(
    "show",
    epilog=examples(
        "equipoise train leduc --out runs/leduc --iterations 2000",
        'equipoise strategy show runs/leduc --line "x b2 c" --board 4c',
        'equipoise strategy show nolimit-strong --line "raise 300"',
    ),
)
def strategy_show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder, a strategy file or a shipped agent.")],
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


@strategy.command(
    "pack",
    epilog=examples(
        "equipoise train leduc --out runs/leduc --iterations 2000",
        "equipoise strategy pack runs/leduc --out leduc.packed --units 51",
        "equipoise match ./leduc.packed runs/leduc --hands 20000",
    ),
)
def strategy_pack(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a strategy file; RUN?strategy=average.")],
    out: Annotated[str, typer.Option(metavar="FILE.packed", help="The file to write.")],
    units: Annotated[int, typer.Option(help="Probabilities are multiples of 1/UNITS: a divisor of 255.")] = 255,
    note: Annotated[str, typer.Option(help="A text to keep in the file, e.g. what was measured.")] = "",
    as_json: Json = False,
) -> None:
    """Pack a strategy into a small file that plays without tables of hands: see docs/shipped.md."""
    import equipoise

    with stage_bar("packing") as progress:
        packed = equipoise.pack_strategy(run, out, units=units, note=note, progress=progress)
    if as_json:
        print_json(packed.as_json())
    else:
        print_packed(packed)
