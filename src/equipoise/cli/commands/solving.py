"""Commands that solve, train, show strategies and measure them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from equipoise.cli.app import TARGET_MISSED, Json, Threads, app, print_json, refuse_all_but, refuse_options
from equipoise.cli.files import Force, check_output
from equipoise.cli.render import console as screen
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
