"""`abstraction report|bucket|compare`: card abstractions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.app import Json, Set, Threads, examples, noun, print_json, refuse_options
from equipoise.cli.files import Force, check_outputs, report_files
from equipoise.cli.render.abstraction import print_abstraction, print_bucket, print_comparison
from equipoise.cli.render.progress import stage_bar, tell

abstraction = noun("abstraction", "Build, inspect and compare card abstractions.")
RecipeFile = Annotated[
    str, typer.Argument(metavar="RECIPE", help="A built-in recipe, or a TOML file with a [cards] table.")
]
GameOption = Annotated[str | None, typer.Option(help="A built-in game or gamedef file, replacing the recipe's.")]


@abstraction.command("report", epilog=examples("equipoise abstraction report two-four-ehs --out ehs"))
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
        stem = Path(out) / "abstraction"
        check_outputs([*report_files(stem), *Path(out).glob(f"{stem.name}-*.png")], force=force)
    import equipoise

    with stage_bar("building buckets") as progress:
        found = equipoise.abstraction_report(recipe, out, game=game, samples=samples, seed=seed, progress=progress)
    if as_json:
        print_json(found.as_json())
    else:
        print_abstraction(found)


@abstraction.command(
    "bucket",
    epilog=examples('equipoise abstraction bucket two-four-ehs AhKh --board "2c 7d Jh"'),
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

    with stage_bar("building buckets") as progress:
        found = equipoise.abstraction_bucket(recipe, hole, board, game=game, progress=progress)
    if as_json:
        print_json(found.as_json())
    else:
        print_bucket(found)


@abstraction.command(
    "compare",
    epilog=examples("equipoise abstraction compare two-four-ehs two-four-ochs --iterations 9"),
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
    overrides: Set = None,
    as_json: Json = False,
) -> None:
    """Rank card abstractions of equal size by exploitability (CFR-BR and CFR) and one-on-one results."""
    if not cfr:
        refuse_options(context, "is for CFR, and there is --no-cfr", "cfr_iterations")
    if out is None:
        refuse_options(context, "is for --out", "force")
    else:
        goes_on = (Path(out) / "runs").is_dir()  # then the results there are those of a comparison
        stems = (Path(out) / name for name in ("compare", "matches"))
        check_outputs(report_files(*stems), force=force or goes_on)
    import equipoise

    with stage_bar("building buckets") as progress:
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
            say=tell,
        )
    if as_json:
        print_json(found.as_json())
    else:
        print_comparison(found)
