"""`measure`: how exploitable an agent is."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.app import Game, Json, Threads, What, app, examples, print_json
from equipoise.cli.files import check_output
from equipoise.cli.render.measure import print_measured
from equipoise.cli.render.progress import stage_bar


@app.command(
    epilog=examples(
        "equipoise measure uniform --game leduc",
        "equipoise measure always-call --game holdem.limit --flops 5",
        "equipoise measure always-call --game holdem.nolimit --method lbr --hands 200",
    ),
)
def measure(
    what: What,
    game: Game = "",
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
    flops: Annotated[
        int | None, typer.Option(metavar="N", help="exact: estimate from N random flops, with a 95% interval.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="exact: file for finished flops; a later run continues from it.")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="exact: also measure this agent on the same flops, for a narrower interval."),
    ] = None,
    reference_out: Annotated[
        str | None, typer.Option(metavar="FILE", help="exact: file of the reference's finished flops, like --out.")
    ] = None,
    hands: Annotated[int | None, typer.Option(metavar="N", help="lbr: number of hands (default: 10,000).")] = None,
    minutes: Annotated[float | None, typer.Option(help="lbr: maximum minutes.")] = None,
    bets: Annotated[
        str | None,
        typer.Option(
            help="lbr: bets to consider: fractions of the pot, min, all-in, or none; a slash starts the bets of the"
            " next street (default: 1.0,all-in)."
        ),
    ] = None,
    from_street: Annotated[
        str | None, typer.Option(metavar="STREET", help="lbr: only check and call before this street, e.g. flop.")
    ] = None,
    holes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="lbr: from that street on, play each hand with N holes of the responder; cheaper if the agent searches"
            " (default: 16 if it has searched by then, else 1).",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the sample or the hands (default: 1).")] = None,
    threads: Threads = 0,
    device: Annotated[str | None, typer.Option(help="Where networks run: cpu or cuda (default: cpu).")] = None,
    as_json: Json = False,
) -> None:
    """Measure how exploitable an agent is.

    The measure is what best responses win against it, or a lower bound on that from hands of local best response.
    """
    for kept in (out, reference_out):
        if kept is not None:
            check_output(kept, resumes=True)
    import equipoise

    with stage_bar("measuring") as progress:
        result = equipoise.measure_agent(
            what,
            game=game,
            menu=menu,
            current=current,
            method=method,
            sample_flops=flops,
            out=out,
            reference=reference,
            reference_flops=reference_out,
            hands=hands,
            minutes=minutes,
            bets=bets,
            from_street=from_street,
            holes=holes,
            seed=seed,
            threads=threads,
            device=device,
            progress=progress,
        )
    if as_json:
        print_json(result.as_json())
    else:
        print_measured(result)
