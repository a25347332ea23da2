"""Commands that train, show strategies and measure them."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.app import (
    Json,
    Threads,
    app,
    console,
    miss_target,
    print_json,
)
from equipoise.cli.files import check_output


@app.command(epilog="Example: equipoise train leduc --out runs/leduc --minutes 1 --set solver.seed=7")
def train(
    recipe: Annotated[str, typer.Argument(help="A built-in recipe, a TOML file, or a run folder.")],
    out: Annotated[str, typer.Option(metavar="RUN", help="Folder of the run.")],
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in that folder.")] = False,
    minutes: Annotated[float | None, typer.Option(help="Maximum minutes of training, in total.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Maximum number of iterations, in total.")] = None,
    threads: Annotated[int | None, typer.Option(min=0, help="Number of threads; 0: all; 1: reproducible.")] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the recipe.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a blueprint from a recipe; Ctrl-C and SIGTERM save it and stop."""
    import equipoise

    screen = console()
    with screen.training() as show:
        run = equipoise.train(
            recipe,
            out,
            resume=resume,
            minutes=minutes,
            iterations=iterations,
            threads=threads,
            overrides=overrides or (),
            on_progress=show.progress,
            on_stage=show.stage,
            say=show.say,
        )
    if as_json:
        print_json(run.as_json())
    else:
        screen.print_run(run)
    if run.stopped == "interrupted":
        raise KeyboardInterrupt
    wanted, reached = run.recipe.stop.exploitability, run.progress.measured.exploitability
    if wanted is not None and (reached is None or reached > wanted):
        miss_target(f"stopped by {run.stopped}: the target of {wanted:g} mbb/g is not reached")


strategies = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Show solved strategies.")
app.add_typer(strategies, name="strategy")


@strategies.command(
    "show", epilog='Example: equipoise strategy show runs/demo --line "raise 300, call" --board "Qs Jh 2h"'
)
def strategy_show(
    run: Annotated[str, typer.Argument(help="A run folder or a strategy file.")],
    line: Annotated[str, typer.Option(help='The betting line, e.g. "call, check, bet 100".')] = "",
    board: Annotated[str, typer.Option(help="The board: shows hands instead of buckets.")] = "",
    as_json: Json = False,
) -> None:
    """Show a node of a solved strategy: the preflop grid, or each bucket's frequencies."""
    import equipoise

    view = equipoise.show_strategy(run, line, board)
    if as_json:
        print_json(view.as_json())
    else:
        console().print_strategy(view)


@app.command(
    epilog="Examples: equipoise measure runs/leduc; equipoise measure runs/br --current; "
    "equipoise measure always-call --game holdem.limit --sample-flops 20"
    "; equipoise measure runs/demo --method lbr --minutes 5"
)
def measure(
    what: Annotated[
        str, typer.Argument(help="A run folder, a strategy file; always-fold, always-call, always-raise or uniform.")
    ],
    game: Annotated[str, typer.Option(help="Game of a named agent: built-in, or an ACPC gamedef file.")] = "",
    menu: Annotated[str | None, typer.Option(help="No-limit only: bet menu of both players; see games.")] = None,
    current: Annotated[
        bool, typer.Option("--current", help="Measure a run's current strategy, from its newest checkpoint.")
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            help="exact (the best response in the whole game), lbr (a lower bound, from hands of local best response)"
            " or auto (exact if the game is small enough)."
        ),
    ] = "auto",
    sample_flops: Annotated[
        int | None, typer.Option(metavar="N", help="exact: estimate from N random flops, with a 95% interval.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="exact: file for finished flops; a later run continues from it.")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="exact: also measure this agent on the same flops, for a narrower interval."),
    ] = None,
    reference_flops: Annotated[
        str | None, typer.Option(metavar="FILE", help="exact: file of the reference's finished flops (its --out).")
    ] = None,
    hands: Annotated[int | None, typer.Option(metavar="N", help="lbr: number of hands (default: 10,000).")] = None,
    minutes: Annotated[float | None, typer.Option(help="lbr: maximum minutes.")] = None,
    bets: Annotated[
        str | None, typer.Option(help="lbr: bets to consider: fractions of the pot, min, all-in (default: 1.0,all-in).")
    ] = None,
    from_street: Annotated[
        str | None, typer.Option(metavar="STREET", help="lbr: only check and call before this street, e.g. flop.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the sample or the hands (default: 1).")] = None,
    threads: Threads = 0,
    as_json: Json = False,
) -> None:
    """Measure how exploitable an agent is: what best responses win against it, or a lower bound."""
    for kept in (out, reference_flops):
        if kept is not None:
            check_output(kept, resumes=True)
    import equipoise

    screen = console()
    with screen.stage_bar() as progress:
        result = equipoise.measure_agent(
            what,
            game=game,
            menu=menu,
            current=current,
            method=method,
            sample_flops=sample_flops,
            out=out,
            reference=reference,
            reference_flops=reference_flops,
            hands=hands,
            minutes=minutes,
            bets=bets,
            from_street=from_street,
            seed=seed,
            threads=threads,
            progress=progress,
        )
    if as_json:
        print_json(result.as_json())
    else:
        screen.print_measured(result)
