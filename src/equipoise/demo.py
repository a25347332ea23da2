"""`make demo`: what Equipoise can do today, shown on the real thing in under a minute; every number is computed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

import equipoise
from equipoise.cards.deck import FULL_DECK
from equipoise.cards.evaluate import Ranker
from equipoise.cards.rank_tables import STANDARD_CLASSES

Result = TypeVar("Result")

# To compare with: combinatorics textbooks, Bowling and others 2015, Jackson 2013.
FIVE_CARD_HANDS = (1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40)
LIMIT_INFOSETS = 319_365_922_522_608
SLUMBOT_FLOP_SEQUENCES = 835
LEDUC_VALUE = -0.0856064

RIVER = """
board = "Qs Jh 2h 8d 5c"
pot = 100
stack = 1000
ranges = { oop = "any", ip = "any" }
betting = { bet = [0.5, 1.0, "all-in"], raise = [1.0, "all-in"] }
"""


def main() -> None:
    """Run the demo."""
    print("Equipoise: heads-up hold'em agents, from the rules to the table.\n")
    _rank_every_hand()
    _exact_equity()
    _game_sizes()
    _solve()
    print("Go on with:  .venv/bin/equipoise --help    (and docs/index.md)")


def _timed(call: Callable[[], Result]) -> tuple[Result, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def _rank_every_hand() -> None:
    ranker = Ranker(cards=5)
    ranker.rank(range(5))  # tables and compiled code are built on the very first run, then cached
    hands = np.fromiter(itertools.chain(*itertools.combinations(range(52), 5)), np.uint8).reshape(-1, 5)
    ranks, seconds = _timed(lambda: ranker.ranks(hands))
    print(f"1. All {len(hands):,} five-card hands, ranked in {1000 * seconds:.0f} ms")
    names = [ranker.class_name(rank) for rank in range(int(ranks.max()) + 1)]
    found = np.bincount([STANDARD_CLASSES.index(name) for name in names], np.bincount(ranks), len(STANDARD_CLASSES))
    for name, count, known in reversed(list(zip(STANDARD_CLASSES, found.astype(int), FIVE_CARD_HANDS, strict=True))):
        print(f"     {name:<16} {count:>9,}   {_verdict(count == known)}")
    print()


def _exact_equity() -> None:
    print("2. Exact equity, every board enumerated")
    for first, second, board in (("AhKh", "QdQc", ""), ("AhKh", "QQ+,AKs", "2c 7d Jh"), ("any", "QQ+,AK", "")):
        result, seconds = _timed(lambda a=first, b=second, c=board: equipoise.equity(a, b, c))  # type: ignore[misc]
        place = FULL_DECK.text(FULL_DECK.read_cards(board)) or "before the flop"
        mine, theirs = result.equity
        print(f"     {first:>5} {mine:7.2%}  -  {theirs:6.2%} {second:<8} {place}  ({seconds:.2f} s)")
    print()


def _game_sizes() -> None:
    print("3. The games")
    for name in equipoise.preset_names():
        report, seconds = _timed(lambda name=name: equipoise.game_report(name))  # type: ignore[misc]
        decisions = sum(street.decisions for street in report.streets)
        menu = f" (menu {report.menu})" if report.menu else ""
        infosets = f"{report.raw_infosets:,} information sets"
        print(f"     {name + menu:<31} {decisions:>7,} betting decisions  {infosets:>44}  ({seconds:.2f} s)")
        if name == "holdem.limit":
            print(f"{'':>92}{_verdict(report.raw_infosets == LIMIT_INFOSETS)}")
    report, seconds = _timed(lambda: equipoise.game_report("holdem.nolimit", "slumbot-nl", (169, 3904, 3602, 2173)))
    to_flop = report.streets[0].deals + report.streets[0].showdowns
    print(f"     Slumbot NL's betting: {report.nodes:,} sequences, {to_flop} of them to the flop  ({seconds:.2f} s)")
    print(f"{'':>92}{_verdict(to_flop == SLUMBOT_FLOP_SEQUENCES)}\n")


def _solve() -> None:
    print("4. Solved by vector CFR, measured by exact best responses (the first run compiles for some seconds)")
    leduc = equipoise.solve("leduc", target=0.01, threads=1)
    value = leduc.value(0)
    print(
        f"     Leduc: value {value:.6f}, exploitability {10 * leduc.percent:.3f} mbb/g, {leduc.seconds:.2f} s",
        end="   ",
    )
    print(_verdict(abs(value - LEDUC_VALUE) < 1e-5))
    river = equipoise.solve(equipoise.read_spot(RIVER), target=0.1, threads=1)
    mix = "  ".join(f"{a} {p:.1%}" for a, p in zip(river.strategy().actions, river.strategy().frequency, strict=True))
    print(f"     Qs Jh 2h 8d 5c, all hands: {mix}   to {river.percent:.2f}% of the pot in {river.seconds:.2f} s\n")


def _verdict(right: bool) -> str:
    return "as published" if right else "DIFFERS FROM WHAT IS PUBLISHED"


if __name__ == "__main__":
    main()
