"""`equity`: exact equity of hands and ranges."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.app import Json, Threads, app, examples, print_json
from equipoise.cli.render.equity import print_equity, print_hole_equities
from equipoise.cli.render.progress import progress_bar


@app.command(
    epilog=examples("equipoise equity AKs QQ", 'equipoise equity "AhKh" "QQ+,AKs" --board "2c 7d Jh"'),
)
def equity(
    first: Annotated[str, typer.Argument(metavar="HANDS", help="A hand or range: AhKh, or QQ+,AKs,KQo:0.5.")],
    second: Annotated[str, typer.Argument(metavar="HANDS", help="The opponent's hand or range.")],
    board: Annotated[str, typer.Option(help="Three, four or five board cards (default: preflop).")] = "",
    by_hand: Annotated[bool, typer.Option("--by-hand", help="Also show each hand of the first range.")] = False,
    threads: Threads = 0,
    as_json: Json = False,
) -> None:
    """Compute the exact equity of hands or ranges. Nobody folds."""
    from equipoise.cards.deck import FULL_DECK
    from equipoise.cards.ranges import Range

    ranges = Range.read(first), Range.read(second)
    cards = FULL_DECK.read_cards(board)
    import equipoise

    with progress_bar("equity") as progress:
        result = equipoise.equity(*ranges, cards, threads=threads, progress=progress)
    if as_json:
        print_json({"board": FULL_DECK.text(cards), **result.as_json(by_hand=by_hand)})
        return
    print_equity(result, (first, second))
    if by_hand:
        print_hole_equities(result, ranges)
