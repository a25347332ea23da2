"""`make demo`: from cards to an agent at the table, every number computed live.

Cards and spots against published values; a training whose exploitability is exact; then the shipped agent of no-limit
hold'em: matches against the named agents, and its lower bound by local best response, without search and with it. The
training is kept in a folder: after an interruption it continues.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

import equipoise
from equipoise.agents.agent import Agent
from equipoise.cards.hand_ranks import Ranker
from equipoise.cards.rank_tables import STANDARD_CLASSES
from equipoise.cli.output import open_output
from equipoise.cli.render.match import win_rate_text
from equipoise.cli.render.progress import progress_bar, stage_bar, training
from equipoise.cli.render.tables import Table, print_table
from equipoise.core.errors import InputError
from equipoise.core.signals import exit_code, interrupt_on_signals
from equipoise.measure.lbr import LocalBestResponse
from equipoise.play.match import MatchResult
from equipoise.runs.folder import RunFolder
from equipoise.strategy.file import read_about

Result = TypeVar("Result")

# Published values: combinatorics textbooks, Bowling and others 2015, Southey and others 2005.
FIVE_CARD_HANDS = (1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40)
LIMIT_INFOSETS = 319_365_922_522_608
LEDUC_VALUE = -0.0856064
RECIPE, MINUTES = "leduc", 0.4
FOLDER = Path("runs") / f"{RECIPE}-demo"
AGENT, SEARCH = "nolimit-strong", "nolimit-strong?search=turn"
OPPONENTS = ("always-call", "always-raise", "uniform", "always-fold")
HANDS = 400_000
LBR_MINUTES = {AGENT: 0.5, SEARCH: 1.0}

RIVER = """
board = "Qs Jh 2h 8d 5c"
pot = 100
stack = 1000
ranges = { oop = "any", ip = "any" }
betting = { bet = [0.5, 1.0, "all-in"], raise = [1.0, "all-in"] }
"""


def main() -> None:
    """Run the demo."""
    interrupt_on_signals()
    open_output()
    print("Equipoise: heads-up hold'em agents, from the rules to the table. About six minutes on two cores.\n")
    try:
        _cards()
        _solve()
        _train()
        _shipped_agent()
    except KeyboardInterrupt:
        print("\ninterrupted; `make demo` continues from here")
        sys.exit(exit_code())
    except InputError as error:
        print(f"equipoise: {error}", file=sys.stderr)
        sys.exit(2)
    print("Play against it:      .venv/bin/equipoise play --hint")
    print("Train your own:       docs/builder.md         All commands: .venv/bin/equipoise --help")


def _timed(call: Callable[[], Result]) -> tuple[Result, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def _cards() -> None:
    ranker = Ranker(cards=5)
    ranker.rank(range(5))  # the first run builds tables and compiles; later runs load them from the cache
    hands = np.fromiter(itertools.chain(*itertools.combinations(range(52), 5)), np.uint8).reshape(-1, 5)
    ranks, seconds = _timed(lambda: ranker.ranks(hands))
    names = [ranker.class_name(rank) for rank in range(int(ranks.max()) + 1)]
    found = np.bincount([STANDARD_CLASSES.index(name) for name in names], np.bincount(ranks), len(STANDARD_CLASSES))
    right = _verdict(found.astype(int).tolist() == list(FIVE_CARD_HANDS))
    print(f"1. Cards: all {len(hands):,} five-card hands ranked in {1000 * seconds:.0f} ms, classes {right}")
    result, seconds = _timed(lambda: equipoise.equity("any", "QQ+,AK"))
    print(f"   a random hand against QQ+,AK, every board: {result.equity[0]:.4%} in {seconds:.2f} s")
    report = equipoise.game_report("holdem.limit")
    verdict = _verdict(report.raw_infosets == LIMIT_INFOSETS)
    print(f"   limit hold'em has {report.raw_infosets:,} information sets, {verdict}\n")


def _solve() -> None:
    print("2. Solved by vector CFR, measured by exact best responses")
    leduc = equipoise.solve("leduc", target=0.01, threads=1)
    value = leduc.value(0)
    exploitability, verdict = 10 * leduc.percent, _verdict(abs(value - LEDUC_VALUE) < 1e-5)
    print(f"   Leduc: value {value:.6f}, {verdict}; exploitability {exploitability:.3f} mbb/g, {leduc.seconds:.2f} s")
    river = equipoise.solve(equipoise.read_spot(RIVER), target=0.1, threads=1)
    mix = "  ".join(f"{a} {p:.1%}" for a, p in zip(river.strategy().actions, river.strategy().frequency, strict=True))
    print(f"   Qs Jh 2h 8d 5c, all hands: {mix}   to {river.percent:.2f}% of the pot in {river.seconds:.2f} s\n")


def _train() -> None:
    print(f"3. Trained by external sampling: the recipe {RECIPE}, {60 * MINUTES:.0f} seconds, in {FOLDER}")
    folder = RunFolder(FOLDER)
    strategy = FOLDER / "strategy.float32"
    trained = float(read_about(strategy)["seconds"]) if strategy.is_file() else 0.0
    if trained < 60 * MINUTES:
        with training() as show:
            run = equipoise.train(
                RECIPE, FOLDER, minutes=MINUTES, resume=folder.is_run, threads=1,
                on_progress=show.progress, on_stage=show.stage, say=show.say,
            )  # fmt: skip
        if run.stopped == "interrupted":
            raise KeyboardInterrupt
    else:
        print("   already trained; remove the folder to train again")
    print("   seconds   iterations   exploitability, exact, mbb/g")
    for row in folder.read_metrics():
        if row.get("exploitability_mbb") is not None:
            print(f"   {row['seconds']:7.0f} {row['iteration']:12,} {row['exploitability_mbb']:30,.2f}")
    print(f"   drawn in {FOLDER / 'progress.png'}\n")


def _shipped_agent() -> None:
    print(f"4. The shipped agent {AGENT}: no-limit hold'em, 200 big blinds deep; tables of its buckets are built once")
    with stage_bar("loading the agent"):
        agent = equipoise.load_player(AGENT)
    matches, bounds = _matches(agent), [_bound(name) for name in LBR_MINUTES]
    table = Table("What it is worth, mbb/hand ± 95%", ["", "mbb/hand", "hands"])
    for result in matches:
        rate = win_rate_text(result.mbb_per_hand, result.ci95)
        table.add_row(f"wins from {result.names[1]}, duplicate", rate, f"{result.hands:,}")
    for name, bound in zip(("without search", "with search from the turn"), bounds, strict=True):
        row = f"{bound.lbr:,.1f} ± {bound.ci95:,.1f}"
        table.add_row(f"loses to local best response from the turn, {name}", row, f"{bound.hands:,}")
    print_table(table)
    print(f"Local best response is a lower bound on exploitability.{nothing_to_win(bounds[-1].lbr, bounds[-1].ci95)}\n")


def nothing_to_win(lbr: float, ci95: float) -> str:
    """A sentence about the bound with search, if its interval lies below zero."""
    return " Below zero, as with search here, it finds nothing to win." if lbr + ci95 < 0 else ""


def _bound(name: str) -> LocalBestResponse:
    with stage_bar(f"local best response against {name}") as progress:
        return equipoise.local_best_response(name, from_street="turn", minutes=LBR_MINUTES[name], progress=progress)


def _matches(agent: Agent) -> list[MatchResult]:
    found = []
    for name in OPPONENTS:
        with progress_bar(f"against {name}") as progress:
            opponent = equipoise.load_player(name, agent.rules)
            found.append(equipoise.match(agent, opponent, hands=HANDS, progress=progress))
    return found


def _verdict(right: bool) -> str:
    return "as published" if right else "DIFFERENT FROM WHAT IS PUBLISHED"


if __name__ == "__main__":
    main()
