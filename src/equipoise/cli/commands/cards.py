"""Commands of games and cards: games, equity, abstraction."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from equipoise.cli.app import Json, Threads, app, console, print_json, refuse_all_but, refuse_options
from equipoise.cli.files import Force, check_outputs, report_files


@app.command(epilog="Example: equipoise games holdem.nolimit --menu slumbot-nl --buckets 169,3904,3602,2173")
def games(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="A built-in game or an ACPC gamedef file.")] = None,
    menu: Annotated[
        str | None, typer.Option(help="No-limit only: a built-in bet menu (pot, standard, slumbot-nl) or a TOML file.")
    ] = None,
    buckets: Annotated[str, typer.Option(help="Buckets by street, e.g. 169,200,200,200 (default: lossless).")] = "",
    trunk: Annotated[
        int | None, typer.Option(help="Also show CFR-BR's memory with a trunk of this many rounds.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the built-in games; or show one game's rules, tree size and memory estimate."""
    from equipoise.games.gamedef import preset_about, preset_names

    if name is None:
        refuse_all_but(context, "is for one game", "name")
        listed = [(preset, preset_about(preset)) for preset in preset_names()]
        if as_json:
            print_json({"games": [{"name": preset, "about": about} for preset, about in listed]})
        else:
            console().print_games(listed)
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
        console().print_game(report)


@app.command(epilog='Example: equipoise equity "AhKh" "QQ+,AKs" --board "2c 7d Jh"')
def equity(
    first: Annotated[str, typer.Argument(metavar="HANDS", help="A hand or range: AhKh, or QQ+,AKs,KQo:0.5.")],
    second: Annotated[str, typer.Argument(metavar="HANDS", help="The opponent's hand or range.")],
    board: Annotated[str, typer.Option(help="Three, four or five board cards (default: preflop).")] = "",
    by_hand: Annotated[bool, typer.Option("--by-hand", help="Also show each hand of the first range.")] = False,
    threads: Threads = 0,
    as_json: Json = False,
) -> None:
    """Compute the exact equity of hands or ranges, if nobody folds."""
    from equipoise.cards.deck import FULL_DECK
    from equipoise.cards.ranges import Range

    ranges = Range.read(first), Range.read(second)
    cards = FULL_DECK.read_cards(board)
    import equipoise

    screen = console()
    with screen.progress_bar("equity") as progress:
        result = equipoise.equity(*ranges, cards, threads=threads, progress=progress)
    if as_json:
        print_json({"board": FULL_DECK.text(cards), **result.as_json(by_hand=by_hand)})
        return
    screen.print_equity(result, (first, second))
    if by_hand:
        screen.print_hole_equities(result, ranges)


abstraction = typer.Typer(
    no_args_is_help=True, help="Build, inspect and compare card abstractions.", rich_markup_mode=None
)
app.add_typer(abstraction, name="abstraction")
RecipeFile = Annotated[str, typer.Argument(metavar="RECIPE", help="A TOML file with a [cards] table.")]
GameOption = Annotated[str | None, typer.Option(help="A built-in game or gamedef file, replacing the recipe's.")]


@abstraction.command("report", epilog="Example: equipoise abstraction report small --out small --force")
def abstraction_report(
    context: typer.Context,
    recipe: RecipeFile,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Folder for the JSON, CSV and PNG files.")] = None,
    force: Force = False,
    game: GameOption = None,
    samples: Annotated[
        int, typer.Option(min=1, help="Number of random deals, for streets with too many hands to count.")
    ] = 1_000_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 1,
    as_json: Json = False,
) -> None:
    """Build (or load) the abstraction of a recipe and describe its buckets."""
    if out is None:
        refuse_options(context, "is for --out", "force")
    else:
        from pathlib import Path

        stem = Path(out) / "abstraction"
        check_outputs([*report_files(stem), *Path(out).glob(f"{stem.name}-*.png")], force=force)
    import equipoise
    from equipoise.cli.render import abstraction as console_abstraction

    screen = console()
    with screen.stage_bar() as progress:
        found = equipoise.abstraction_report(recipe, out, game=game, samples=samples, seed=seed, progress=progress)
    if as_json:
        print_json(found.as_json())
    else:
        console_abstraction.print_abstraction(found)


@abstraction.command(
    "bucket",
    epilog='Example: equipoise abstraction bucket small AhKh --board "2c 7d Jh"',
)
def abstraction_bucket(
    recipe: RecipeFile,
    hole: Annotated[str, typer.Argument(metavar="HOLE", help="A player's cards, e.g. AhKh.")],
    board: Annotated[str, typer.Option(help="The board, in the order of the deal (default: preflop).")] = "",
    game: GameOption = None,
    as_json: Json = False,
) -> None:
    """Show the bucket of one hand, and similar hands."""
    import equipoise
    from equipoise.cli.render import abstraction as console_abstraction

    screen = console()
    with screen.stage_bar() as progress:
        found = equipoise.abstraction_bucket(recipe, hole, board, game=game, progress=progress)
    if as_json:
        print_json(found.as_json())
    else:
        console_abstraction.print_bucket(found)


@abstraction.command(
    "compare",
    epilog="Examples: equipoise abstraction compare two-four-ehs two-four-ehs2 two-four-ochs --out lab; equipoise "
    "abstraction compare one.toml two.toml --game leduc --minutes 0.5 --set solver.seed=7",
)
def abstraction_compare(
    context: typer.Context,
    recipes: Annotated[
        list[str], typer.Argument(metavar="RECIPE...", help="Built-in recipes or TOML files with a [cards] table.")
    ],
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder for results and runs; the same command continues there.")
    ] = None,
    force: Force = False,
    game: GameOption = None,
    minutes: Annotated[float | None, typer.Option(help="Minutes of CFR-BR, replacing the recipes'.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Iterations of CFR-BR, replacing the recipes'.")] = None,
    cfr: Annotated[
        bool, typer.Option("--cfr/--no-cfr", help="Also train by CFR, as the recipe says, for the same time.")
    ] = True,
    cfr_iterations: Annotated[int | None, typer.Option(min=1, help="Iterations of CFR (default: equal time).")] = None,
    stage: Annotated[int | None, typer.Option(min=1, help="Iterations between restarts of CFR-BR.")] = None,
    trunk: Annotated[int | None, typer.Option(min=1, help="Number of rounds in CFR-BR's trunk.")] = None,
    points: Annotated[int, typer.Option(min=1, help="Number of measurements per run.")] = 6,
    flops: Annotated[
        int | None, typer.Option(help="Number of flops to estimate exploitability from (limit hold'em: 40).")
    ] = None,
    lbr_hands: Annotated[int | None, typer.Option(help="No-limit: number of hands of LBR (10,000).")] = None,
    hands: Annotated[int, typer.Option(min=4, help="Number of hands per match.")] = 1_000_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of flops, LBR and matches.")] = 1,
    threads: Threads = 0,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key of all recipes.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Rank card abstractions of equal size by exploitability (CFR-BR and CFR) and one-on-one results."""
    if not cfr:
        refuse_options(context, "is for CFR, and there is --no-cfr", "cfr_iterations")
    if out is None:
        refuse_options(context, "is for --out", "force")
    else:
        from pathlib import Path

        goes_on = (Path(out) / "runs").is_dir()  # then the results there are those of a comparison
        stems = (Path(out) / name for name in ("compare", "matches"))
        check_outputs(report_files(*stems), force=force or goes_on)
    import equipoise
    from equipoise.cli.render import abstraction as console_abstraction

    with console().stage_bar() as progress:
        found = equipoise.compare_abstractions(
            recipes,
            out,
            game=game,
            overrides=overrides or (),
            minutes=minutes,
            iterations=iterations,
            cfr=cfr,
            cfr_iterations=cfr_iterations,
            stage=stage,
            trunk=trunk,
            points=points,
            flops=flops,
            lbr_hands=lbr_hands,
            hands=hands,
            seed=seed,
            threads=threads,
            progress=progress,
            say=lambda line: print(line, file=sys.stderr),
        )
    if as_json:
        print_json(found.as_json())
    else:
        console_abstraction.print_comparison(found)
