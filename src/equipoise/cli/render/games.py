"""What `games` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.render.tables import Table, print_table, say
from equipoise.core.wording import size_text

if TYPE_CHECKING:
    from equipoise.tree.game_report import GameReport
    from equipoise.tree.trunk import TrunkMemory


def print_list(title: str, listed: list[tuple[str, str]]) -> None:
    """Names, each with one line about it."""
    table = Table("", [title, "about"], words=True)
    for name, about in listed:
        table.add_row(name, about)
    print_table(table)


def print_game(report: GameReport) -> None:
    """Rules, tree size by street, and the memory of a solve."""
    print(report.gamedef, end="")
    print(f"fingerprint {report.fingerprint}\n")
    menu = f", menu {report.menu}" if report.menu else ""
    hands = "buckets" if report.cards == "bucketed" else "hands*"
    table = Table(
        f"{report.game}{menu}: betting nodes and information sets",
        ["street", "opens", "decisions", "folds", "showdowns", "deals", hands, "information sets", "slots"],
    )
    for s in report.streets:
        numbers = (s.entries, s.decisions, s.folds, s.showdowns, s.deals, s.hands, s.infosets, s.slots)
        table.add_row(s.street, *(f"{number:,}" for number in numbers))
    table.add_section()
    totals = (
        sum(s.decisions for s in report.streets),
        sum(s.folds for s in report.streets),
        sum(s.showdowns for s in report.streets),
        sum(s.deals for s in report.streets),
    )
    table.add_row("all", "", *(f"{t:,}" for t in totals), "", f"{report.infosets:,}", f"{report.slots:,}")
    print_table(table)
    if report.cards == "lossless":
        say("* hands up to isomorphism of suits, deals in order")
    say(f"{report.nodes:,} betting nodes; {report.raw_infosets:,} information sets without suit isomorphism")
    say(f"a solve with these cards needs {size_text(report.memory_bytes)} (regret and average, float32)")
    if report.trunk:
        _print_trunk(report.trunk)


def _print_trunk(trunk: TrunkMemory) -> None:
    """What CFR-BR's unabstracted player needs, in the units of its paper."""
    from equipoise.tree.trunk import binary_size

    merged = binary_size(trunk.trunk_bytes_merged)
    say(f"CFR-BR with a trunk of {trunk.rounds} rounds: the unabstracted player needs")
    say(f"  {binary_size(trunk.trunk_bytes)} for the trunk, counted as in the paper ({merged} with merged hands)")
    say(f"  {binary_size(trunk.subgame_bytes)} for the subgame of each thread")
