"""Slumbot NL, section 4: what several boards an iteration do to the variance of public chance sampling.

Jackson (2013) samples many boards an iteration, in cycles without replacement, and says that this lowers variance; he
gives no numbers. Here the regrets that N boards add, from the same start again and again, are compared: one iteration
of N boards against N iterations of one board (whose strategies change in between), in cycles and drawn independently.
Variance is that of player 0's increments, as estimates of exact ones: summed over all slots, over the sum of their
squares. `full` repeats more often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.cards.deck import Deck
from equipoise.core.jit import F32, F64
from equipoise.core.progress import Say
from equipoise.experiments.curves import side_by_side
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.measure.report import write_report
from equipoise.solvers.board_samples import BoardSource
from equipoise.solvers.public_chance import PublicChance
from equipoise.tree.betting_tree import build_tree
from equipoise.tree.infosets import SlotLayout

ABOUT = "variance of sampled regrets with N boards an iteration against N iterations of one board (1 minute)"
DRAWN = ("cycle", "independent")
BOARDS = (1, 2, 5, 10, 50)  # and a whole cycle
STARTS = (0, 200)  # iterations of one board before: none, or enough that strategies change little
NOTHING = 1e-9  # relative variance that is rounding


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """Flop hold'em with the twenty highest cards, lossless."""
    rules = replace(load_game("holdem.two-four"), deck=Deck(5, 4), max_raises=(1, 2), name="flop hold'em, 20 cards")
    return compare_variance(rules, BOARDS, 1000 if full else 100, out, say)


def compare_variance(rules: GameRules, boards: Sequence[int], samples: int, out: Path, say: Say) -> dict[str, Any]:
    """The variance of each way to divide a number of boards among iterations."""
    tree, buckets = build_tree(rules), BucketMap.lossless(rules)
    rows: list[dict[str, Any]] = []
    whole = PublicChance(tree, buckets, boards=BoardSource(rules, 1).size, schedule="cfr")
    for before, drawn in product(STARTS, DRAWN):
        started = PublicChance(tree, buckets, cycle=drawn == "cycle", schedule="cfr", seed=7)
        started.run(before)
        start = started.regret.copy()
        exact = next(increments(whole, start, 1, 1))
        for count, at_once in _ways([*(n for n in boards if n < whole.boards), whole.boards]):
            solver = PublicChance(tree, buckets, boards=at_once, cycle=drawn == "cycle", schedule="cfr", seed=3)
            found = _relative(increments(solver, start, count // at_once, samples), exact)
            way = {"start": before, "boards": count, "at_once": at_once, "drawn": drawn, "samples": samples}
            rows.append({**way, **found})
            say(f"after {before}: {count} boards, {at_once} at once, {drawn}: variance {found['variance']:.3g}")
    summary = {
        "experiment": "pcs-variance",
        "game": rules.name,
        "cycle": whole.boards,
        "slots": whole.layout.slots,
        "single_boards_over_one_iteration": {
            f"start {start}": {str(n): _ratio(rows, start, n) for n in sorted({row["boards"] for row in rows} - {1})}
            for start in STARTS
        },
    }
    write_report(out / "pcs-variance", summary, rows, _draw)
    return summary


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The variance of single boards over that of one iteration; the paper gives no numbers."""
    ratios = summary["single_boards_over_one_iteration"]
    ours = {f"{start}, {boards} boards": ratio for start, found in ratios.items() for boards, ratio in found.items()}
    return side_by_side(ours, {})


def _ways(boards: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Boards in all, and how many an iteration."""
    for count in boards:
        yield count, count
        if count > 1:
            yield count, 1


def increments(solver: PublicChance, start: F32, iterations: int, samples: int) -> Any:
    """What player 0's regrets gain, as an estimate of what all boards add; each sample begins a cycle."""
    mine, source = _of_player_0(solver.layout), solver.source
    boards = iterations * solver.boards
    scale = source.comes_again / boards
    for sample in range(samples):
        solver.regret[:] = start
        solver.visited = sample * source.size
        solver.run(iterations)
        yield (solver.regret[mine] - start[mine]).astype(np.float64) * scale


def _of_player_0(layout: SlotLayout) -> Any:
    mine = np.zeros(layout.slots, bool)
    for first, width, buckets in zip(layout.first[:, 0], layout.width[:, 0], layout.buckets, strict=True):
        mine[first : first + width * buckets] = True
    return mine


def _relative(estimates: Any, exact: F64) -> dict[str, float]:
    """The variance of estimates about their mean, and how far the mean is off; both relative to the exact squares."""
    count, mean, squares = 0, np.zeros_like(exact), 0.0
    for estimate in estimates:  # Welford, for all slots at once
        count += 1
        before = estimate - mean
        mean += before / count
        squares += float(before @ (estimate - mean))
    size = float(exact @ exact)
    off = mean - exact
    return {"variance": squares / max(count - 1, 1) / size, "squared_bias": float(off @ off) / size}


def _ratio(rows: list[dict[str, Any]], start: int, boards: int) -> float | None:
    """Single boards' variance over that of one iteration, both in cycles; none where the latter is rounding."""
    found = {
        row["at_once"]: row["variance"]
        for row in rows
        if (row["start"], row["boards"], row["drawn"]) == (start, boards, "cycle")
    }
    return found[1] / found[boards] if found[boards] > NOTHING else None


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    figure = axes.figure
    figure.set_size_inches(11, 4.5)
    axes.remove()
    for pane, start in zip(figure.subplots(1, 2, sharey=True), STARTS, strict=True):
        here = [row for row in rows if row["start"] == start and row["variance"] > NOTHING]
        for drawn, colour in (("cycle", "tab:blue"), ("independent", "tab:orange")):
            for single, style in ((False, "o-"), (True, "x--")):
                mine = [r for r in here if r["drawn"] == drawn and r["at_once"] == (1 if single else r["boards"])]
                label = f"{'iterations of one board' if single else 'one iteration'}, {drawn}"
                pane.loglog(
                    [r["boards"] for r in mine], [r["variance"] for r in mine], style, color=colour, label=label
                )
        pane.set_xlabel("boards (a whole cycle in one iteration has no variance: not drawn)", fontsize=8)
        pane.set_title(f"after {start} iterations")
        pane.legend(fontsize=7)
        pane.set_ylabel("relative variance of the regrets added")
