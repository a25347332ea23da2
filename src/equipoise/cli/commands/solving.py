"""Commands that solve, train, show strategies and measure them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from equipoise.cli.app import (
    TARGET_MISSED,
    Json,
    Threads,
    app,
    console,
    print_json,
    refuse_all_but,
    refuse_options,
)
from equipoise.cli.files import Force, check_output
from equipoise.core.errors import InputError


@app.command(
    epilog="Examples: equipoise solve turn --force; "
    'equipoise solve show turn.solution --line "check, bet 100"; equipoise solve my.game --menu pot'
)
def solve(
    context: typer.Context,
    what: Annotated[
        list[str], typer.Argument(metavar="SPOT | show FILE", help="A spot's TOML file or a small game; or a solution.")
    ],
    menu: Annotated[
        str | None,
        typer.Option(help="No-limit games: a built-in bet menu (pot, slumbot-nl) or a TOML file (default: standard)."),
    ] = None,
    out: Annotated[str, typer.Option(help="File for the solution (default: the spot's name.solution).")] = "",
    force: Force = False,
    target: Annotated[
        float | None,
        typer.Option(min=0, help="Stop at this exploitability, in percent of the pot (big blind); 0: never."),
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, help="Maximum number of iterations.")] = 10_000,
    variant: Annotated[str, typer.Option(help="cfr, cfr+, linear, discounted, practical or predictive.")] = "practical",
    threads: Threads = 0,
    storage: Annotated[str, typer.Option(help="Table storage: float32, or int16 for half the memory.")] = "float32",
    line: Annotated[str, typer.Option(help='show: the betting line, e.g. "check, bet 100".')] = "",
    board: Annotated[str, typer.Option(help="show: the cards dealt since the spot's board.")] = "",
    by_hand: Annotated[bool, typer.Option("--by-hand", help="Also show each hand's strategy, EV and equity.")] = False,
    as_json: Json = False,
) -> None:
    """Solve a postflop spot or a small game, or show a solution. Ctrl-C saves the solution so far and stops."""
    screen = console()
    if what[0] == "show":
        refuse_all_but(context, "is for solving, not for show", "what", "line", "board", "by_hand")
        import equipoise

        view = equipoise.Solution.load(_the_one(what[1:], "show needs one file")).strategy(line, board)
        if as_json:
            print_json(view.as_json())
        else:
            screen.print_node(view, by_hand=by_hand)
        return
    refuse_options(context, "is for show: equipoise solve show FILE", "line", "board")
    name = _the_one(what, "solve one thing at a time")
    from equipoise.spots.problem import read_problem

    problem = read_problem(name, menu)
    saved = out or f"{problem.name}.solution"
    check_output(saved, force=force)
    import equipoise

    with screen.solve_progress(problem, storage, quiet=as_json) as on_progress:
        solution = equipoise.solve(
            problem,
            target=target,
            iterations=iterations,
            variant=variant,
            threads=threads,
            storage=storage,
            on_progress=on_progress,
        )
    solution.save(saved)
    if as_json:
        print_json({**solution.as_json(by_hand=by_hand), "file": saved})
    else:
        screen.print_solution(solution, saved, by_hand=by_hand)
    if solution.stopped == "interrupted":
        raise KeyboardInterrupt
    if solution.stopped == "iterations":
        _miss(f"after {solution.iterations:,} iterations the target of {solution.target:g}% is not reached")


def _miss(line: str) -> None:
    """Exit with the code for a missed target."""
    print(f"equipoise: {line}", file=sys.stderr)
    raise typer.Exit(TARGET_MISSED)


def _the_one(names: list[str], complaint: str) -> str:
    if len(names) != 1:
        raise InputError(complaint, remedy="see equipoise solve --help")
    return names[0]


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
        _miss(f"stopped by {run.stopped}: the target of {wanted:g} mbb/g is not reached")


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
