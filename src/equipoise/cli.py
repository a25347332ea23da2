"""The command line: arguments in, one library call, print. No logic, and nothing heavy imported before it is needed.

Bad input ends in one line on standard error and exit code 2; `--json` prints one JSON object on standard output.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from equipoise._errors import InputError

app = typer.Typer(
    name="equipoise",
    help="Build heads-up hold'em agents, prove how exploitable they are, and play them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"equipoise {version('equipoise')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


@app.command(epilog="Example: equipoise games holdem.nolimit --menu slumbot-nl --buckets 169,3904,3602,2173")
def games(
    name: Annotated[str | None, typer.Argument(help="A built-in game or an ACPC gamedef file.")] = None,
    menu: Annotated[
        str | None, typer.Option(help="No-limit only: a built-in bet menu (pot, standard, slumbot-nl) or a TOML file.")
    ] = None,
    buckets: Annotated[str, typer.Option(help="Buckets by street, e.g. 169,200,200,200; without it, lossless.")] = "",
    as_json: Json = False,
) -> None:
    """List the built-in games; or show one game's rules, tree size and memory estimate."""
    from equipoise.games.gamedef import preset_about, preset_names

    if name is None:
        listed = [(preset, preset_about(preset)) for preset in preset_names()]
        if as_json:
            _print_json({"games": [{"name": preset, "about": about} for preset, about in listed]})
        else:
            _console().print_games(listed)
        return
    from equipoise.games.gamedef import load_game
    from equipoise.games.rules import read_numbers

    rules = load_game(name)
    by_street = read_numbers(buckets, "buckets", "169,200,200,200") if buckets else ()
    import equipoise

    report = equipoise.game_report(rules, menu, by_street)
    if as_json:
        _print_json(report.as_json())
    else:
        _console().print_game(report)


@app.command(epilog='Example: equipoise equity "AhKh" "QQ+,AKs" --board "2c 7d Jh"')
def equity(
    first: Annotated[str, typer.Argument(metavar="HANDS", help="A hand or range: AhKh, or QQ+,AKs,KQo:0.5.")],
    second: Annotated[str, typer.Argument(metavar="HANDS", help="The other side's.")],
    board: Annotated[str, typer.Option(help="Three, four or five board cards; none is before the flop.")] = "",
    by_hand: Annotated[bool, typer.Option("--by-hand", help="Also each hand of the first range.")] = False,
    threads: Annotated[int, typer.Option(min=0, help="0: all cores.")] = 0,
    as_json: Json = False,
) -> None:
    """Exact equity of hands or ranges, if nobody folds."""
    from equipoise.cards.deck import FULL_DECK
    from equipoise.cards.ranges import Range

    ranges = Range.read(first), Range.read(second)
    cards = FULL_DECK.read_cards(board)
    import equipoise

    console = _console()
    with console.progress_bar("equity") as progress:
        result = equipoise.equity(*ranges, cards, threads=threads, progress=progress)
    if as_json:
        _print_json({"board": FULL_DECK.text(cards), **result.as_json(by_hand=by_hand)})
        return
    console.print_equity(result, (first, second))
    if by_hand:
        console.print_hole_equities(result, ranges)


abstraction = typer.Typer(no_args_is_help=True, help="Build and look at card abstractions.", rich_markup_mode=None)
app.add_typer(abstraction, name="abstraction")
RecipeFile = Annotated[str, typer.Argument(metavar="RECIPE", help="A TOML file with a [cards] table.")]
GameOption = Annotated[str | None, typer.Option(help="A built-in game or gamedef file, in place of the recipe's.")]


@abstraction.command(
    "report", epilog="Example: equipoise abstraction report recipes/abstractions/small.toml --out small"
)
def abstraction_report(
    recipe: RecipeFile,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Where JSON, CSV and pictures go.")] = None,
    game: GameOption = None,
    samples: Annotated[
        int, typer.Option(min=1, help="Random deals, for streets whose hands cannot be counted.")
    ] = 1_000_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the sample.")] = 1,
    as_json: Json = False,
) -> None:
    """Build the abstraction of a recipe, or open it if it is there, and say what is in its buckets."""
    import equipoise

    console = _console()
    with console.stage_bar() as progress:
        found = equipoise.abstraction_report(recipe, out, game=game, samples=samples, seed=seed, progress=progress)
    if as_json:
        _print_json(found.as_json())
    else:
        console.print_abstraction(found)


@abstraction.command(
    "bucket",
    epilog='Example: equipoise abstraction bucket recipes/abstractions/small.toml AhKh --board "2c 7d Jh"',
)
def abstraction_bucket(
    recipe: RecipeFile,
    hole: Annotated[str, typer.Argument(metavar="HOLE", help="A player's cards, e.g. AhKh.")],
    board: Annotated[str, typer.Option(help="The board as it was dealt; none is before the flop.")] = "",
    game: GameOption = None,
    as_json: Json = False,
) -> None:
    """The bucket of one hand, and what is like it."""
    import equipoise

    console = _console()
    with console.stage_bar() as progress:
        found = equipoise.abstraction_bucket(recipe, hole, board, game=game, progress=progress)
    if as_json:
        _print_json(found.as_json())
    else:
        console.print_bucket(found)


@app.command(
    epilog='Examples: equipoise solve spots/turn.toml; equipoise solve show turn.solution --line "check, bet 100"; '
    "equipoise solve my.game --menu pot"
)
def solve(
    what: Annotated[
        list[str], typer.Argument(metavar="SPOT | show FILE", help="A spot's TOML file or a small game; or a solution.")
    ],
    menu: Annotated[
        str | None,
        typer.Option(help="No-limit games: a built-in menu (pot, slumbot-nl) or a TOML file; without it, standard."),
    ] = None,
    out: Annotated[str, typer.Option(help="Where to save the solution; default: the spot's name.solution.")] = "",
    target: Annotated[
        float | None, typer.Option(min=0, help="Exploitability in percent of the pot (big blind).")
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, help="At most so many.")] = 10_000,
    variant: Annotated[str, typer.Option(help="cfr, cfr+, linear, discounted, practical or predictive.")] = "practical",
    threads: Annotated[int, typer.Option(min=0, help="0: all cores.")] = 0,
    storage: Annotated[str, typer.Option(help="Of tables: float32, or int16 for half the memory.")] = "float32",
    line: Annotated[str, typer.Option(help='show: a line of betting, e.g. "check, bet 100".')] = "",
    board: Annotated[str, typer.Option(help="show: the cards dealt since the spot's board.")] = "",
    by_hand: Annotated[bool, typer.Option("--by-hand", help="Also each hand's strategy, EV and equity.")] = False,
    as_json: Json = False,
) -> None:
    """Solve a postflop spot or a small game; or look into a solution."""
    console = _console()
    if what[0] == "show":
        import equipoise

        view = equipoise.Solution.load(_the_one(what[1:], "show needs one file")).strategy(line, board)
        if as_json:
            _print_json(view.as_json())
        else:
            console.print_node(view, by_hand=by_hand)
        return
    name = _the_one(what, "solve one thing at a time")
    from equipoise.solve.problem import read_problem

    problem = read_problem(name, menu)
    import equipoise

    with console.solve_progress(problem, storage, quiet=as_json) as on_look:
        solution = equipoise.solve(
            problem,
            target=target,
            iterations=iterations,
            variant=variant,
            threads=threads,
            storage=storage,
            on_look=on_look,
        )
    saved = out or f"{problem.name}.solution"
    solution.save(saved)
    if as_json:
        _print_json({**solution.as_json(by_hand=by_hand), "file": saved})
    else:
        console.print_solution(solution, saved, by_hand=by_hand)


def _the_one(names: list[str], complaint: str) -> str:
    if len(names) != 1:
        raise InputError(complaint, remedy="see equipoise solve --help")
    return names[0]


@app.command(epilog="Example: equipoise train leduc --out runs/leduc --minutes 1 --set solver.seed=7")
def train(
    recipe: Annotated[str, typer.Argument(help="A built-in recipe, a TOML file, or a run folder.")],
    out: Annotated[str, typer.Option(metavar="RUN", help="The run's folder.")],
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in that folder.")] = False,
    minutes: Annotated[float | None, typer.Option(help="Stop after so many minutes of training, in all.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Stop after so many iterations, in all.")] = None,
    threads: Annotated[int | None, typer.Option(min=0, help="0: all cores; one is reproducible.")] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override any key of the recipe.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a blueprint by a recipe; Ctrl-C saves it and stops."""
    import equipoise

    console = _console()
    with console.training() as show:
        run = equipoise.train(
            recipe,
            out,
            resume=resume,
            minutes=minutes,
            iterations=iterations,
            threads=threads,
            overrides=overrides or (),
            on_look=show.look,
            on_stage=show.stage,
            say=show.say,
        )
    if as_json:
        _print_json(run.as_json())
    else:
        console.print_run(run)


strategies = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look into solved strategies.")
app.add_typer(strategies, name="strategy")


@strategies.command(
    "show", epilog='Example: equipoise strategy show runs/demo --line "raise 300, call" --board "Qs Jh 2h"'
)
def strategy_show(
    run: Annotated[str, typer.Argument(help="A run folder or a strategy file.")],
    line: Annotated[str, typer.Option(help='A line of betting, e.g. "call, check, bet 100".')] = "",
    board: Annotated[str, typer.Option(help="The board there: by hand instead of by bucket.")] = "",
    as_json: Json = False,
) -> None:
    """Show a node of a solved strategy: the preflop grid, or each bucket's frequencies."""
    import equipoise

    view = equipoise.show_strategy(run, line, board)
    if as_json:
        _print_json(view.as_json())
    else:
        _console().print_strategy(view)


@app.command(
    epilog="Examples: equipoise measure runs/leduc; equipoise measure always-call --game holdem.limit --sample-flops 20"
)
def measure(
    what: Annotated[
        str, typer.Argument(help="A run folder, a strategy file; always-fold, always-call, always-raise or uniform.")
    ],
    game: Annotated[str, typer.Option(help="Of a named agent: a built-in game or an ACPC gamedef file.")] = "",
    menu: Annotated[str | None, typer.Option(help="No-limit only: the bets both sides may make; see games.")] = None,
    method: Annotated[str, typer.Option(help="auto or exact (the best response in the whole game).")] = "auto",
    sample_flops: Annotated[
        int | None, typer.Option(metavar="N", help="Estimate from N flops drawn at random, with a 95% interval.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the sample.")] = 1,
    threads: Annotated[int, typer.Option(min=0, help="0: all cores.")] = 0,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Keep finished flops here; a later run goes on from them.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure how exploitable an agent is: what best responses to it win."""
    from equipoise.agents.blueprint import load_agent

    agent, rules, bets = load_agent(what, game, menu)
    import equipoise

    console = _console()
    with console.progress_bar("best response") as progress:
        result = equipoise.exploitability(
            rules,
            agent,
            menu=bets,
            method=method,
            sample_flops=sample_flops,
            seed=seed,
            threads=threads,
            out=out,
            progress=progress,
        )
    if as_json:
        _print_json(result.as_json())
    else:
        console.print_exploitability(result)


@app.command(epilog="Example: equipoise reproduce cfr-br-figure-3 --out results")
def reproduce(
    name: Annotated[str | None, typer.Argument(help="An experiment; without it, the list.")] = None,
    out: Annotated[str, typer.Option(help="Where its JSON, CSV and PNG go.")] = "results",
    full: Annotated[bool, typer.Option("--full", help="The long version, for a larger machine.")] = False,
    as_json: Json = False,
) -> None:
    """List, or run, the tables and figures of the works behind this project."""
    from equipoise.experiments import experiment_names
    from equipoise.experiments import reproduce as run

    if name is None:
        listed = experiment_names()
        if as_json:
            _print_json({"experiments": [{"name": key, "about": about} for key, about in listed.items()]})
        else:
            _console().print_games(list(listed.items()))
        return
    summary = run(name, out, full=full, tell=lambda line: print(line, file=sys.stderr))
    _print_json(summary)


@app.command(epilog="Example: equipoise bench cards")
def bench(
    name: Annotated[str | None, typer.Argument(help="A group of benchmarks; without it, all.")] = None,
    as_json: Json = False,
) -> None:
    """Run benchmarks, each as a ratio to a peer or a naive twin measured in the same run."""
    from equipoise.bench import group_names, run_group

    results = {group: run_group(group) for group in ([name] if name else group_names())}
    if as_json:
        _print_json({"benchmarks": [b.as_json() for group in results.values() for b in group]})
        return
    for group, benchmarks in results.items():
        _console().print_benchmarks(group, benchmarks)


def _console() -> Any:
    from equipoise import console

    return console


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value))


def main() -> None:
    """The `equipoise` command."""
    try:
        app()
    except InputError as error:
        print(f"equipoise: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output has gone: nothing more to say
        sys.stderr.close()
        sys.exit(1)
