"""What figures 4 and 5 of the CFR-BR paper share: abstractions of [2-4] hold'em, and curves of exploitability in time.

Johanson and others (2012) solve one abstraction in three ways. A-vs-A: CFR, both players abstracted. A-vs-U: CFR for an
abstracted player against an unabstracted one, in both seats, which is two games; the measured profile combines the two
abstracted players. CFR-BR: an abstracted player against best responses, by the hybrid agent with
a trunk of one round, as published, and also by full best responses in stages, which is ours.

They used public chance sampling on twelve cores. Our CFR does not sample: each iteration walks all 1,755 flops. The
paper does not say which feature its buckets are made by; ours use features of a longer game. Nor does it say how large
a bet is on the flop, so A-vs-A and CFR-BR are also run with doubled flop bets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from equipoise.abstraction.maps.bucket_map import BucketMap, StreetBuckets, fingerprint, lossless_street
from equipoise.abstraction.maps.card_recipe import KMEANS, StreetRecipe
from equipoise.abstraction.maps.kmeans_street import cluster_street
from equipoise.abstraction.maps.nested_percentile import percentile_street
from equipoise.core.errors import InputError
from equipoise.core.files.cache import cache_folder, is_trusted
from equipoise.core.progress import Say
from equipoise.experiments.curves import side_by_side
from equipoise.games.rules import GameRules
from equipoise.measure.report import write_report
from equipoise.solvers.cfr_br.full import CFRBR, AbstractCFR, table_bytes
from equipoise.solvers.cfr_br.hybrid import HybridCFRBR
from equipoise.tree.betting_tree import BettingTree, build_tree
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.bucketed_engine import BucketedEngine

BOTH, ONE, AVERAGE, CURRENT = "CFR A-vs-A", "CFR A-vs-U", "CFR-BR average", "CFR-BR current"
FULL = "CFR-BR average, full best response"
COLOURS = {
    BOTH: "tab:red",
    ONE: "tab:green",
    AVERAGE: "tab:blue",
    CURRENT: "tab:cyan",
    FULL: "tab:purple",
}
SHARES = {BOTH: 0.1, ONE: 0.5, AVERAGE: 0.25, FULL: 0.15}  # of the time
TWICE = "flop bets doubled"
STAGE = 25  # of full best responses
STEP = 1.5  # ratio of the times of two measurements
FIRST = 0.005  # time of the first measurement, as a share of a curve's time

Losses = tuple[float, float]


@dataclass(frozen=True)
class Figure:
    """A figure: its name and title, and what was published, in mbb/g."""

    name: str
    title: str
    published: dict[str, float]


@dataclass(frozen=True)
class Contest:
    """A way to solve an abstraction: `advance` iterates, `losses` are those of its strategies, in chips."""

    name: str
    advance: Callable[[], None]
    iterations: Callable[[], int]
    losses: Callable[[], dict[str, Losses]]


def reproduce_figure(
    figure: Figure, buckets: BucketMap, seconds: float, out: Path, say: Say, threads: int
) -> dict[str, Any]:
    """Compute all curves of a figure in the given seconds of solving, and write its files."""
    tree = build_tree(buckets.rules)
    infosets = SlotLayout(tree, buckets.buckets).infosets
    needed = table_bytes(tree, (buckets, BucketMap.lossless(buckets.rules)))
    say(f"{infosets:,} information sets; the unabstracted player of A-vs-U needs {needed / 1e9:.2f} GB of tables")
    rows = curves(tree, buckets, seconds, say, threads)
    last = {row["curve"]: row for row in rows}
    ours = {name: row["exploitability_mbb"] for name, row in last.items()}
    doubled = curves(build_tree(doubled_bets(buckets.rules)), buckets, seconds, say, threads, (BOTH, AVERAGE), TWICE)
    summary = {
        "experiment": figure.name,
        "threads": threads,
        "infosets": infosets,
        "buckets": list(buckets.buckets),
        "cards": buckets.recipe,
        "a_vs_u_table_bytes": needed,
        "ours_mbb": ours,
        "published_mbb": figure.published,
        "ours_with_flop_bets_doubled_mbb": {row["curve"]: row["exploitability_mbb"] for row in doubled},
        "cfr_br_less_a_vs_u_mbb": ours[AVERAGE] - ours[ONE],
        "iterations": {name: row["iteration"] for name, row in last.items()},
    }
    write_report(out / figure.name, summary, rows + doubled, lambda axes, drawn: _draw(axes, drawn, figure))
    return summary


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The ends of the curves, in mbb/g."""
    return side_by_side(summary["ours_mbb"], summary["published_mbb"])


def doubled_bets(rules: GameRules) -> GameRules:
    """The same game, bets after the first round twice as large."""
    sizes = (rules.raise_sizes[0], *(2 * size for size in rules.raise_sizes[1:]))
    return replace(rules, raise_sizes=sizes, name=f"{rules.name}, {TWICE}")


def curves(
    tree: BettingTree,
    buckets: BucketMap,
    seconds: float,
    say: Say,
    threads: int = 1,
    names: tuple[str, ...] = tuple(SHARES),
    game: str = "",
) -> list[dict[str, Any]]:
    """Exploitability of several ways to solve an abstraction against seconds; each gets its share of the time."""
    rows: list[dict[str, Any]] = []
    for contest in contests(tree, buckets, threads, names):
        for row in solve_rows(contest, SHARES[contest.name] * seconds, tree.rules.big_blind):
            rows.append({"game": game, **row})
            say(f"{row['curve']}{', ' if game else ''}{game}: iteration {row['iteration']}, {row['seconds']:.0f} s, "
                 f"{row['exploitability_mbb']:.2f} mbb/g")  # fmt: skip
    return rows


def contests(
    tree: BettingTree, buckets: BucketMap, threads: int, names: tuple[str, ...] = tuple(SHARES)
) -> Iterator[Contest]:
    """Ways to solve an abstraction, each created only when the previous one is finished: A-vs-U is large."""
    judge = BucketedEngine(tree, (buckets, buckets), threads=threads)

    def lost(first: Any, second: Any) -> Losses:
        return judge.respond(1, first), judge.respond(0, second)

    if BOTH in names:
        both = AbstractCFR(tree, (buckets, buckets), threads=threads)
        yield Contest(BOTH, lambda: both.run(1), lambda: both.iteration, lambda: {BOTH: lost(*both.average)})
    if AVERAGE in names:
        hybrid = HybridCFRBR(tree, buckets, trunk=1, threads=threads)
        yield Contest(
            AVERAGE,
            lambda: hybrid.run(hybrid.subgames.block),
            lambda: hybrid.iteration,
            lambda: {AVERAGE: lost(hybrid.average, hybrid.average), CURRENT: lost(hybrid.regret, hybrid.regret)},
        )
    if FULL in names:
        full = CFRBR(tree, buckets, stage=STAGE, threads=threads)
        yield Contest(
            FULL, lambda: full.run(1), lambda: full.iteration, lambda: {FULL: lost(full.average, full.average)}
        )
    if ONE in names:
        yield _against_the_unabstracted(tree, buckets, threads, lost)


def _against_the_unabstracted(
    tree: BettingTree, buckets: BucketMap, threads: int, lost: Callable[[Any, Any], Losses]
) -> Contest:
    """A-vs-U: the first player is abstracted in one game, the second in the other."""
    lossless = BucketMap.lossless(tree.rules)
    first, second = (AbstractCFR(tree, pair, threads=threads) for pair in ((buckets, lossless), (lossless, buckets)))

    def advance() -> None:
        first.run(1)
        second.run(1)

    return Contest(ONE, advance, lambda: first.iteration, lambda: {ONE: lost(first.average[0], second.average[1])})


def solve_rows(contest: Contest, seconds: float, unit: float) -> Iterator[dict[str, Any]]:
    """Solve for `seconds` and measure less and less often. The first step, which compiles, is not counted."""
    contest.advance()
    spent, due = 0.0, FIRST * seconds
    while spent < seconds:
        start = time.perf_counter()
        contest.advance()
        spent += time.perf_counter() - start
        if spent < due and spent < seconds:
            continue
        due = STEP * spent
        for curve, (first, second) in contest.losses().items():
            yield {
                "curve": curve,
                "iteration": contest.iterations(),
                "seconds": spent,
                "exploitability_mbb": 1000 * (first + second) / 2 / unit,
                "first_loses_mbb": 1000 * first / unit,
                "second_loses_mbb": 1000 * second / unit,
            }


def buckets_by(
    rules: GameRules, source: GameRules, streets: tuple[StreetRecipe | None, ...], seed: int = 1
) -> BucketMap:
    """Buckets by the features of a source game with the same deals and perhaps more streets; None: lossless.

    Cached on disk, as in `build_map`.
    """
    if source.deals(rules.rounds - 1) != rules.deals(rules.rounds - 1) or source.deck != rules.deck:
        raise InputError(f"{source.name} deals other cards than {rules.name}", remedy="use a longer game")
    said = [street.model_dump_json(exclude_unset=True) if street else "lossless" for street in streets]
    recipe = f"{' '.join(said)}, features of {source.board_cards}, seed {seed}"
    path = cache_folder("abstractions") / f"{fingerprint(rules, recipe)}.buckets"
    if is_trusted(path):
        with suppress(InputError):
            kept = BucketMap.load(path, rules)
            if kept.recipe == recipe:
                return kept
    made: list[StreetBuckets] = []
    for number, street in enumerate(streets):
        made.append(_street(source, number, street, made, seed))
    nested = all(s is None or (s.method == "percentile" and s.nested) for s in streets[1:])
    found = BucketMap(rules, tuple(made), recipe=recipe, perfect_recall=nested)
    with suppress(OSError, InputError):  # a full or read-only disk costs time, not correctness
        found.save(path, private=True)
    return found


def _street(
    source: GameRules, number: int, recipe: StreetRecipe | None, before: list[StreetBuckets], seed: int
) -> StreetBuckets:
    if recipe is None:
        return lossless_street(source, number)
    if recipe.method in KMEANS:
        assert recipe.buckets is not None
        label = cluster_street(source, number, recipe, seed).label
        return StreetBuckets(source.unordered_deals(number), recipe.buckets, label, method=recipe.method)
    spare = replace(lossless_street(source, 0))
    streets = tuple(before[s] if s < number else spare for s in range(source.rounds))
    return percentile_street(source, number, recipe, BucketMap(source, streets) if number else None)


def _draw(axes: Any, rows: list[dict[str, Any]], figure: Figure) -> None:
    for curve, colour in COLOURS.items():
        for game, style in (("", ".-"), (TWICE, "x--")):
            mine = [row for row in rows if (row["curve"], row["game"]) == (curve, game)]
            if mine:
                values = [row["exploitability_mbb"] for row in mine]
                name = f"{curve}, {game}" if game else curve
                axes.loglog([row["seconds"] for row in mine], values, style, color=colour, label=name)
        if curve in figure.published:
            axes.axhline(figure.published[curve], color=colour, linewidth=0.8, linestyle=":")
    axes.set_xlabel("seconds (dotted: published, where the curves ended)")
    axes.set_ylabel("exploitability, mbb/g")
    axes.set_title(figure.title)
    axes.legend(fontsize=7)
