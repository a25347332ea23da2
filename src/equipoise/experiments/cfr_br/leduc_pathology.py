"""Abstraction pathologies in Leduc hold'em, and what CFR-BR makes of them.

Waugh and others (2009) abstract Leduc hold'em: a player sees the class of its card (Jack and Queen may be one class, or
Queen and King, or all three) and, after the flop, whether it pairs the board, nothing else of the board. The table,
as printed in slides of Johanson and others (2011), has the first player's loss to a best response beyond the value of
the game, in thousandths of the small bet, for equilibria of games where each player has an abstraction of its own.
Against an unabstracted opponent ("X vs real") the answer is unique: the least exploitable strategy of X. The other rows
depend on which of many equilibria is found. We also give the second player's loss.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap, StreetBuckets
from equipoise.core.progress import Say
from equipoise.experiments.curves import side_by_side
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.measure.report import write_report
from equipoise.solvers.cfr_br.full import CFRBR, AbstractCFR
from equipoise.tree.betting_tree import build_tree

ABOUT = "Leduc hold'em: what abstracted equilibria lose, and the least loss by CFR-BR and by A-vs-U (3 minutes)"
VALUE = -0.0856064239  # of the game to the first player, in chips
SMALL_BET = 2
REAL = "real"
CLASSES = {"J.Q.K": (0, 1, 2), "[JQ].K": (0, 0, 1), "J.[QK]": (0, 1, 1), "[JQK]": (0, 0, 0)}  # by rank
PUBLISHED = {
    "real vs real": 0.0, "J.Q.K vs real": 55.2, "[JQ].K vs real": 69.0, "J.[QK] vs real": 126.3, "[JQK] vs real": 219.3,
    "[JQ].K vs [JQ].K": 272.2, "[JQ].K vs J.Q.K": 274.1, "real vs J.[QK]": 345.7, "real vs [JQ].K": 348.9,
    "J.Q.K vs J.Q.K": 359.9, "J.Q.K vs [JQ].K": 401.3, "J.[QK] vs J.[QK]": 440.6, "real vs [JQK]": 459.5,
    "real vs J.Q.K": 491.0, "[JQK] vs [JQK]": 755.8,
}  # fmt: skip
STAGE, GROWTH = 250, 1.05  # of CFR-BR
CFR_STAGE = 1000


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """All rows of the table; `full` does four times the iterations."""
    times = 4 if full else 1
    return pathology(out, 48_000 * times, 10_000 * times, say)


def pathology(out: Path, responses: int, iterations: int, say: Say) -> dict[str, Any]:
    """The table, with given numbers of iterations of CFR-BR and of CFR."""
    rules = load_game("leduc")
    maps = {REAL: BucketMap.lossless(rules), **{name: class_map(rules, name) for name in CLASSES}}
    rows = [_row(name, published, maps, responses, iterations, say) for name, published in PUBLISHED.items()]
    fixed = [row for row in rows if row["one answer"]]
    summary = {
        "experiment": "leduc-pathology",
        "unit": "thousandths of the small bet",
        "cfr_br_iterations": responses,
        "cfr_iterations": iterations,
        "ours": {row["row"]: row["first"] for row in rows},
        "ours_by_cfr_br": {row["row"]: row["first by CFR-BR"] for row in rows if row["first by CFR-BR"] is not None},
        "largest_difference": {
            column: max(abs(row[column] - row["published"]) for row in fixed if row[column] is not None)
            for column in ("first", "first by CFR-BR")
        },
    }
    write_report(out / "leduc-pathology", summary, rows, _draw)
    return summary


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The first player's losses in the unit of the table: by CFR, and by CFR-BR where the answer is unique."""
    by_response = side_by_side(summary["ours_by_cfr_br"], PUBLISHED)
    return side_by_side(summary["ours"], PUBLISHED) + [{**row, "name": f"{row['name']}, CFR-BR"} for row in by_response]


def _row(
    name: str,
    published: float,
    maps: dict[str, BucketMap],
    responses: int,
    iterations: int,
    say: Say,
) -> dict[str, Any]:
    """One row: the first player by its abstraction, the second by its own; and the same with seats exchanged."""
    first, second = name.split(" vs ")
    tree = build_tree(maps[REAL].rules)
    found: dict[str, Any] = {"row": name, "published": published, "one answer": second == REAL}
    for seat, pair in enumerate(((first, second), (second, first))):
        solver = AbstractCFR(tree, (maps[pair[0]], maps[pair[1]]), stage=CFR_STAGE, precision=np.float64)
        solver.run(iterations)
        found[("first", "second")[seat]] = _beyond(solver.losses()[seat], seat)
    found |= {"first by CFR-BR": None, "second by CFR-BR": None}
    if second == REAL and first != REAL:
        answer = CFRBR(tree, maps[first], stage=STAGE, growth=GROWTH, precision=np.float64)
        answer.run(responses)
        for seat, loss in enumerate(answer.losses()):
            found[("first by CFR-BR", "second by CFR-BR")[seat]] = _beyond(loss, seat)
    said = ", ".join(f"{key} {value:.2f}" for key, value in found.items() if isinstance(value, float))
    say(f"{name}: {said}")
    return found


def _beyond(loss: float, seat: int) -> float:
    """A loss in chips as thousandths of the small bet, less what an equilibrium loses in that seat."""
    return 1000 * (loss - (-VALUE if seat == 0 else VALUE)) / SMALL_BET


def class_map(rules: GameRules, name: str) -> BucketMap:
    """The abstraction of a name in CLASSES: the card's class, and whether it pairs the board."""
    classes, suits, size = CLASSES[name], rules.deck.suits, rules.deck.size
    lossless = BucketMap.lossless(rules)
    before, after = (np.zeros(count, np.uint16) for count in lossless.buckets)
    for hole in range(size):
        mine = classes[hole // suits]
        before[lossless.bucket([hole], [])] = mine
        for board in range(size):
            if board != hole:
                after[lossless.bucket([hole], [board])] = 2 * mine + (hole // suits == board // suits)
    count = max(classes) + 1
    streets = StreetBuckets(rules.deals(0), count, before), StreetBuckets(rules.deals(1), 2 * count, after)
    return BucketMap(rules, streets, recipe=f"leduc classes {name}", perfect_recall=True)


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    names, height = [row["row"] for row in rows], np.arange(len(rows))
    axes.figure.set_size_inches(8, 6)
    axes.barh(height, [row["first"] for row in rows], color="tab:blue", label="first player, ours")
    axes.plot([row["second"] for row in rows], height, "|", color="black", markersize=12, label="second player, ours")
    axes.plot([row["published"] for row in rows], height, "o", color="tab:orange", label="first player, published")
    shown = [(row["first by CFR-BR"], i) for i, row in enumerate(rows) if row["first by CFR-BR"] is not None]
    axes.plot([x for x, _ in shown], [y for _, y in shown], "x", color="tab:red", label="first player, CFR-BR")
    axes.set_yticks(height, names)
    axes.invert_yaxis()
    axes.set_xlabel("loss to a best response beyond the game's value, thousandths of the small bet")
    axes.set_title("Leduc hold'em with abstractions")
    axes.legend()
