"""`games`: the built-in games, or one game's rules, tree size and memory."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.app import Json, app, examples, print_json, refuse_all_but
from equipoise.cli.render.games import print_game, print_list


@app.command(
    epilog=examples("equipoise games", "equipoise games holdem.nolimit --menu pot --buckets 169,200,200,200"),
)
def games(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A built-in game or an ACPC gamedef file.")] = None,
    menu: Annotated[
        str | None, typer.Option(help="No-limit only: a built-in bet menu (pot, standard, slumbot-nl) or a TOML file.")
    ] = None,
    buckets: Annotated[str, typer.Option(help="Buckets by street, e.g. 169,200,200,200 (default: lossless).")] = "",
    trunk: Annotated[
        int | None, typer.Option(help="Also show CFR-BR's memory with a trunk of this many rounds.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the games, or show one game's rules, tree and memory."""
    from equipoise.games.gamedef import preset_about, preset_names

    if name is None:
        refuse_all_but(context, "is for one game", "name")
        listed = [(preset, preset_about(preset)) for preset in preset_names()]
        if as_json:
            print_json({"games": [{"name": preset, "about": about} for preset, about in listed]})
        else:
            print_list("game", listed)
        return
    from equipoise.games.gamedef import load_game
    from equipoise.games.rules import read_numbers

    rules = load_game(name)
    by_street = read_numbers(buckets, "buckets", "169,200,200,200") if buckets else ()
    import equipoise

    report = equipoise.game_report(rules, menu, by_street, trunk)
    if as_json:
        print_json(report.as_json())
    else:
        print_game(report)
