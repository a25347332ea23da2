"""What `measure` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.render.names import short_names
from equipoise.cli.render.tables import Table, print_table, rate_text, say
from equipoise.core.wording import counted, the_street

if TYPE_CHECKING:
    from equipoise.measure.best_response import Exploitability
    from equipoise.measure.lbr import LocalBestResponse
    from equipoise.measure.reference import Referenced


def print_measured(result: Exploitability | Referenced | LocalBestResponse) -> None:
    """The result of any measure of an agent."""
    from equipoise.measure.lbr import LocalBestResponse
    from equipoise.measure.reference import Referenced

    if isinstance(result, LocalBestResponse):
        _print_lower_bound(result)
    elif isinstance(result, Referenced):
        _print_exploitability(result.found)
        _print_reference(result)
    else:
        _print_exploitability(result)


def _print_reference(result: Referenced) -> None:
    """The difference to a reference on the same flops."""
    less, width = result.difference
    (name,) = short_names([result.reference])
    say(f"less {name} on the same flops: {less:+.2f} ± {width:.2f} (95%) mbb/g")
    if result.level:
        say(f"exploitability of the reference over all flops: {result.exact:.2f} mbb/g")
        say(f"so this agent has {result.level[0]:.2f} ± {result.level[1]:.2f} (95%) mbb/g")


def _print_lower_bound(result: LocalBestResponse) -> None:
    """The lower bound by local best response."""
    say(f"LBR lower bound on exploitability {result.lbr:.2f} ± {result.ci95:.2f} (95%) mbb/g")
    values = result.as_json()["player_values_mbb"]
    for player, value in enumerate(values):
        print(f"  as player {player}  {value:,.2f} mbb/g")
    streets = [", ".join(str(bet) for bet in sizes) or "none" for sizes in result.bets]
    bets = f", bets {' / '.join(streets)}" if any(result.bets) else ""
    holes = f" with {result.holes} holes each" if result.holes > 1 else ""
    say(
        f"local best response from {the_street(result.from_street)}{bets}: {counted(result.hands, 'hand')}{holes},"
        f" {result.seconds:.1f} s, {rate_text(result.hands_per_second)} hands/s"
    )
    if result.ended:
        say(f"without the last hands: {result.ended}")


def _print_exploitability(result: Exploitability) -> None:
    """What best responses win, by player and by the street where hands end."""
    exact = result.as_json()
    interval = "" if result.ci95_mbb is None else f" ± {result.ci95_mbb:.2f} (95%)"
    print(f"exploitability {result.exploitability:.2f}{interval} mbb/g")
    table = Table("what the best response wins, mbb/g", ["hands that end on", "player 0", "player 1"])
    for street, values in exact["by_street_mbb"].items():
        table.add_row(street, *(f"{value:,.2f}" for value in values))
    table.add_section()
    table.add_row("all", *(f"{value:,.2f}" for value in exact["player_values_mbb"]))
    print_table(table)
    say(f"{_how_measured(result)}, {result.seconds:.1f} s")


def _how_measured(result: Exploitability) -> str:
    """Whether the number is exact or an estimate, and from how many flops."""
    if result.sample is None:
        return f"exact, {counted(result.flops, 'flop')}" if result.flops else "exact"
    drawn = f"{counted(len(result.sample.flops), 'draw')} of {counted(result.all_flops, 'flop')}"
    return f"estimated from {drawn} ({result.flops:,} different ones), 95% interval"
