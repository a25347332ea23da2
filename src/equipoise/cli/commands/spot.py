"""Commands about spots: solve, show, report, walk."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.app import Json, Threads, examples, given, miss_target, noun, print_json, refuse_options
from equipoise.cli.files import Force, check_output
from equipoise.cli.render.progress import stage_bar, tell
from equipoise.core.wording import counted

if TYPE_CHECKING:
    from equipoise.spots.problem import Problem
    from equipoise.spots.progress import SolveProgress
    from equipoise.spots.solution import Solution

spot = noun("spot", "Solve postflop spots and small games, and study solutions.")

SolutionFile = Annotated[str, typer.Argument(metavar="FILE", help="A solution that spot solve wrote.")]
Line = Annotated[str, typer.Option(help='The betting line, e.g. "check, bet 100".')]
Target = Annotated[
    float | None, typer.Option(min=0, help="Stop at this exploitability, in percent of the pot (big blind); 0: never.")
]
Iterations = Annotated[int, typer.Option(min=1, help="Maximum number of iterations.")]
Csv = Annotated[str, typer.Option("--csv", metavar="FILE", help="Also write the rows as CSV.")]
Png = Annotated[str, typer.Option("--png", metavar="FILE", help="Also draw a picture.")]


@spot.command(
    epilog=examples(
        "equipoise spot solve turn",
        "equipoise spot solve flop --dry-run",
        "equipoise spot solve leduc",
        "equipoise spot solve turn.solution --target 0.05 --out better.solution",
    )
)
def solve(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="SPOT",
            help="A spot (TOML, or desktop-postflop's JSON), a solution to solve again, or a small game.",
        ),
    ],
    menu: Annotated[
        str | None,
        typer.Option(help="No-limit games: a built-in bet menu (pot, slumbot-nl) or a TOML file (default: standard)."),
    ] = None,
    out: Annotated[str, typer.Option(help="File for the solution (default: the spot's name.solution).")] = "",
    force: Force = False,
    target: Target = None,
    iterations: Iterations = 10_000,
    variant: Annotated[
        str, typer.Option(help="cfr, cfr+, linear, discounted, practical, steep or predictive.")
    ] = "practical",
    threads: Threads = 0,
    storage: Annotated[str, typer.Option(help="Table storage: float32, or int16 for half the memory.")] = "float32",
    resumable: Annotated[
        bool,
        typer.Option(
            "--resumable",
            help="Save the solve's tables, so that a later solve can continue: a file up to 8 times as large.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what the solve would take (memory, file, time), and do not solve.")
    ] = False,
    by_hand: Annotated[bool, typer.Option("--by-hand", help="Also show each hand's strategy, EV and equity.")] = False,
    as_json: Json = False,
) -> None:
    """Solve a postflop spot or a small game. Ctrl-C saves the solution so far and stops.

    If the file for the solution already has one of this spot that is as exact, it is shown and stays as it is.
    """
    import equipoise
    from equipoise.cli.render import spot as screen
    from equipoise.spots.solution import SUFFIX
    from equipoise.spots.solve import continues, problem_of, solved_already

    earlier = equipoise.Solution.load(what) if what.endswith(SUFFIX) else None
    problem = problem_of(earlier or what, menu)
    if dry_run:
        _print_cost(problem, as_json=as_json, target=target, iterations=iterations, variant=variant, threads=threads,
                    storage=storage, resumable=resumable)  # fmt: skip
        return
    saved = out or f"{problem.name}{SUFFIX}"
    if not any(given(context, name) for name in ("force", "iterations", "variant", "storage", "resumable")):
        there = solved_already(saved, problem, target)
        if there:
            screen.say_it_is_there(saved)
            _print(there, saved, by_hand=by_hand, as_json=as_json)
            return
    check_output(saved, force=force)
    if earlier:
        screen.say_how_it_starts(what, earlier, continues=continues(earlier, variant, storage))
    with screen.solve_progress(problem, quiet=as_json) as on_progress:
        solution = equipoise.solve(
            earlier or problem,
            target=target,
            iterations=iterations,
            variant=variant,
            threads=threads,
            storage=storage,
            resumable=resumable,
            on_progress=on_progress,
        )
    with stage_bar("storing the strategy"):
        solution = solution.compact()
        solution.save(saved)
    _print(solution, saved, by_hand=by_hand, as_json=as_json)
    if solution.stopped == "interrupted":
        raise KeyboardInterrupt
    if solution.stopped == "iterations":
        miss_target(
            f"after {counted(solution.iterations, 'iteration')} the target of {solution.target:g}% is not reached"
        )


def _print_cost(problem: Problem, *, as_json: bool, target: float | None, **options: Any) -> None:
    import equipoise
    from equipoise.cli.render import spot as screen

    with stage_bar("estimating"):
        cost = equipoise.solve_cost(problem, target=target, **options)
    if as_json:
        print_json(cost.as_json())
    else:
        wanted = problem.target if target is None else target
        screen.print_cost(problem.name, cost, wanted, screen.percent_unit(problem))


def _print(solution: Solution, saved: str, *, by_hand: bool, as_json: bool) -> None:
    from equipoise.cli.render import spot as screen

    if as_json:
        size = Path(saved).stat().st_size
        print_json({**solution.as_json(by_hand=by_hand), "file": saved, "file_bytes": size})
    else:
        screen.print_solution(solution, saved, by_hand=by_hand)


@spot.command(
    epilog=examples(
        "equipoise spot solve turn",
        'equipoise spot show turn.solution --line "check, bet 100" --png turn.png',
        'equipoise spot show turn.solution --line "x b100 c" --board 5c',
    )
)
def show(
    file: SolutionFile,
    line: Line = "",
    board: Annotated[str, typer.Option(help="The cards dealt since the spot's board.")] = "",
    by_hand: Annotated[bool, typer.Option("--by-hand", help="Also show each hand's strategy, EV and equity.")] = False,
    csv: Csv = "",
    png: Png = "",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Show a decision of a solution. Frequencies, EV, equity and the grid of hands."""
    for path in filter(None, (csv, png)):
        check_output(path, force=force)
    import equipoise
    from equipoise.cli.render import spot as screen

    view = equipoise.Solution.load(file).strategy(line, board)
    if csv:
        from equipoise.spots.report import save_csv

        save_csv(csv, view.to_rows())
    if png:
        from equipoise.spots.pictures import draw_node

        draw_node(view, png)
    if as_json:
        print_json(view.as_json())
    else:
        screen.print_node(view, by_hand=by_hand)


@spot.command(
    epilog=examples(
        "equipoise spot solve turn",
        'equipoise spot report turn.solution --line "x b100 c" --sort ev',
        'equipoise spot report flop --on "QsJh2h, AsKd2c" --target 5',
    )
)
def report(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A solution; with --on also a spot.")],
    line: Annotated[
        str, typer.Option(help="The betting line; without --on it goes on to the next street (default: both check).")
    ] = "",
    board: Annotated[str, typer.Option(help="The cards dealt before the next one, if the line has two deals.")] = "",
    on: Annotated[
        str,
        typer.Option(metavar="FLOPS", help='Solve the spot on these flops: "QsJh2h, AsKd2c", or a file, one a line.'),
    ] = "",
    sort: Annotated[
        str,
        typer.Option(help='Column to sort by: card, chance, ev, equity, ev_ip, ... or an action like "bet 100".'),
    ] = "card",
    csv: Csv = "",
    png: Png = "",
    force: Force = False,
    target: Target = None,
    iterations: Iterations = 10_000,
    threads: Threads = 0,
    as_json: Json = False,
) -> None:
    """Report a decision on every next card or flop. Frequencies, EV and equity, a row each."""
    for path in filter(None, (csv, png)):
        check_output(path, force=force)
    if on:
        refuse_options(context, "is for reports over the next card", "board")
    else:
        refuse_options(context, "is for --on, which solves", "target", "iterations", "threads")
    import equipoise
    from equipoise.cli.render import spot as screen
    from equipoise.spots.report import flop_report, read_flops, runout_report, save_csv, spot_of

    if on:
        with stage_bar("solving") as progress:
            here = ""

            def say_flop(done: int, flops: int, flop: str) -> None:
                nonlocal here
                here = f"flop {done + 1} of {flops}"
                tell(f"{here}: {flop}")

            def show(now: SolveProgress) -> None:
                if now.cost.heavy and here.startswith("flop 1 ") and now.percent is None and not now.iteration:
                    tell(screen.heavy_line(now.cost))
                progress(here, now.fraction)

            found = flop_report(
                spot_of(file),
                read_flops(on),
                line,
                on_flop=say_flop,
                target=target,
                iterations=iterations,
                threads=threads,
                on_progress=show,
            )
    else:
        found = runout_report(equipoise.Solution.load(file), line, board)
    found = found.sorted_by(sort)
    if csv:
        save_csv(csv, found.to_rows())
    if png:
        from equipoise.spots.pictures import draw_report

        draw_report(found, png)
    if as_json:
        print_json(found.as_json())
    else:
        screen.print_report(found, sort)


@spot.command(epilog=examples("equipoise spot solve turn", "equipoise spot walk turn.solution"))
def walk(file: SolutionFile, as_json: Json = False) -> None:
    """Walk through a solution at the terminal. Actions by number, cards by name, b for back, q to quit.

    With --json the walk is on standard error, and the result is the list of all decisions that were visited.
    """
    import equipoise
    from equipoise.cli.render.spot_walk import Walk

    walk = Walk(equipoise.Solution.load(file))
    if not as_json:
        walk.run()
        return
    with redirect_stdout(sys.stderr):
        walk.run()
    print_json({"visited": [view.as_json() for view in walk.visited]})
