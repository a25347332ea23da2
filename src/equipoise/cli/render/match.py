"""What commands about matches print for people. Numbers come in, text goes out; nothing is computed here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equipoise.cli.render.names import short_names
from equipoise.cli.render.tables import Table, print_table, say
from equipoise.core.wording import counted

if TYPE_CHECKING:
    from equipoise.play.logs import Replay
    from equipoise.play.match import MatchResult
    from equipoise.play.tournament import Tournament


def win_rate_text(mbb: float, ci95: float) -> str:
    """A win rate with its 95% interval: +39.2 ± 26.1."""
    return f"{mbb:+,.1f}" + (f" ± {ci95:,.1f}" if math.isfinite(ci95) else "")


def print_match(found: MatchResult) -> None:
    """The result of a match."""
    one, two = short_names(found.names)
    kind, over = "duplicate" if found.duplicate else "plain", ""
    if found.boards is None:
        speed = f"{found.hands_per_second:,.0f} hands/s"
        say(f"{one} against {two}: {counted(found.hands, 'hand')} of {found.game}, {kind}, {speed}")
    else:
        over = ", over boards"
        say(f"{one} against {two}: {counted(found.boards, 'board')} of {found.game}, all pairs of holes, both seats")
    say(f"{one} wins {win_rate_text(found.mbb_per_hand, found.ci95)} mbb/hand (95%{over})")
    first, second = (f"{value:+,.1f}" for value in found.by_player)
    say(f"as player 0: {first}   as player 1: {second}")
    if found.aivat:
        rate = win_rate_text(found.aivat["mbb_per_hand"], found.aivat["ci95"])
        times = found.aivat["times_smaller"]
        shrunk = f", a standard deviation {times:.1f} times smaller" if math.isfinite(times) else ", no luck left"
        say(f"by AIVAT {rate} mbb/hand{shrunk}")
    if found.ended:
        say(f"without the last deal: {found.ended}")


def print_replay(found: Replay) -> None:
    """The totals of a log whose every hand was checked."""
    score = "and the score agrees" if found.scored else "no score to compare with"
    say(f"{found.log}: {counted(found.hands, 'hand')} of {found.game} replayed, every value agrees, {score}")
    table = Table("", ["player", "chips", "mbb/hand"])
    for name, chips, mbb in zip(short_names(found.names), found.chips, found.mbb_per_hand, strict=True):
        table.add_row(name, f"{chips:+,}", win_rate_text(mbb, found.ci95))
    print_table(table)


def print_tournament(found: Tournament) -> None:
    """The matrix, best bankroll first, and both rankings."""
    order, bankrolls, widths = found.by_bankroll, found.bankrolls(), found.bankroll_ci95
    run_off, names = found.by_run_off, short_names(found.names)
    ranks = [str(rank) for rank in range(1, len(order) + 1)]
    title = f"row wins from column, mbb/hand, {counted(found.hands, 'hand')} a pair, ± 95%"
    table = Table(title, ["agent", "bankroll", "run-off", *ranks])
    for rank, agent in enumerate(order, 1):
        cells = ["" if other == agent else _cell(found.mbb[agent, other], found.ci95[agent, other]) for other in order]
        total = _cell(bankrolls[agent], widths[agent])
        table.add_row(f"{rank}. {names[agent]}", total, str(run_off.index(agent) + 1), *cells)
    print_table(table)


def _cell(mbb: float, ci95: float) -> str:
    return win_rate_text(float(mbb), float(ci95))
