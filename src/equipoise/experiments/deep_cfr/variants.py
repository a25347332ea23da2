"""Changes to Deep CFR beyond the papers: exploitability on Leduc and flop hold'em at equal CPU time.

Each variant trains SD-CFR on one thread until its CPU time is spent, with the same seeds as the base; cells run side by
side in processes. Exploitability is exact, in flop hold'em on sampled flops, the same ones for all, so differences
between variants are far smaller than the interval of the sample. Measuring is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core.machine import thread_count
from equipoise.core.progress import Say
from equipoise.core.workers import workers
from equipoise.measure.report import write_report
from equipoise.measure.stats import interval

NAME = "deep-cfr-variants"
ABOUT = "Leduc and flop hold'em: changes to Deep CFR beyond the papers at equal CPU time (half an hour on two cores)"
BASE = "external sampling"
SETTINGS: dict[str, Any] = {"growth": 1, "learning_rate": 0.003, "warm_start": True, "device": "cpu"}
LEDUC = {**SETTINGS, "hidden": 64, "traversals": 3000, "memory": 2_000_000, "steps": 50, "batch": 16_384, "keep": 512}
FLOP = {**SETTINGS, "hidden": 32, "traversals": 4096, "memory": 4_000_000, "steps": 60, "batch": 1024, "keep": 64}
PUBLIC = {"thin": 1.0, "strength": True, "sampling": "public", "traversals": 512, "holes": 16}


class Case(NamedTuple):
    """A game, how the base trains on it, and what each variant changes."""

    game: str
    settings: dict[str, Any]
    variants: dict[str, dict[str, Any]]


CASES = {
    "Leduc": Case("leduc", LEDUC, {
        BASE: {},
        "4 holes, whole": {"holes": 4, "whole": 100, "traversals": 200},
        "no scales": {"scales": False},
        "no sums": {"sums": 0},
    }),
    "flop": Case("holdem.flop", FLOP, {
        BASE: {},
        "no scales": {"scales": False},
        "no sums": {"sums": 0},
        "neither": {"scales": False, "sums": 0},
        "late samples thinned": {"thin": 1.0, "traversals": 8192},
        "thinned, percentile of hands": {"thin": 1.0, "traversals": 8192, "strength": True},
        "the same, public": PUBLIC,
        "the same, public, heads": {**PUBLIC, "heads": True},
        "the same, public, heads, table": {**PUBLIC, "heads": True, "table": 100},
        "the same, heads solved": {**PUBLIC, "heads": True, "table": 100, "traversals": 128, "solve_heads": 20},
    }),
}  # fmt: skip


class Budget(NamedTuple):
    """How much is trained and measured."""

    seeds: int
    seconds: float  # of CPU time
    flops: int


QUICK, FULL = Budget(3, 60.0, 20), Budget(5, 240.0, 100)


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """All variants; `full` has more seeds, flops and four times the CPU time."""
    return compare_variants(out, CASES, FULL if full else QUICK, say)


def compare_variants(
    out: Path, cases: Mapping[str, Case], budget: Budget, say: Say, threads: int = 0
) -> dict[str, Any]:  # fmt: skip
    """Train all variants, and write the three files."""
    rows: list[dict[str, Any]] = []
    with workers(partial(trained, budget), thread_count(threads)) as submit:
        cells = [
            (f"{case}, {name}", seed, submit(chosen.game, {**chosen.settings, **changes}, seed))
            for seed in range(1, budget.seeds + 1)
            for case, chosen in cases.items()
            for name, changes in chosen.variants.items()
        ]
        for name, seed, cell in cells:
            rows.append({"variant": name, "seed": seed, **cell.result()})
            say("{variant}, seed {seed}: {iteration} iterations, {exploitability_mbb:.1f} mbb/g".format(**rows[-1]))
    found = [
        against_base(rows, f"{case}, {name}", f"{case}, {BASE}")
        for case, chosen in cases.items()
        for name in chosen.variants
    ]
    summary = {"experiment": NAME, **budget._asdict(), "found": found}
    write_report(out / NAME, summary, rows, partial(_draw, found))
    return summary


def trained(budget: Budget, game: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """One training, and its exploitability, the mean of both seats; in hold'em on the sampled flops."""
    from equipoise.agents.network import NetworkAgent
    from equipoise.deep.learner import DeepCFR
    from equipoise.measure.best_response import exploitability
    from equipoise.runs.deep_recipe import DeepRecipe
    from equipoise.tree.betting_tree import build_tree

    tree = build_tree(game)
    learner = DeepCFR(tree, DeepRecipe.model_validate(settings), seed=seed)
    start = time.process_time()
    while time.process_time() - start < budget.seconds:
        learner.run(1)
    agent = NetworkAgent("networks", learner.mixture())
    flops = budget.flops if tree.rules.hole_cards == 2 else None
    measured = exploitability(game, agent, sample_flops=flops, threads=1)
    return {"iteration": learner.iteration, "exploitability_mbb": measured.exploitability}


def against_base(rows: list[dict[str, Any]], name: str, base: str) -> dict[str, Any]:
    """The mean of a variant's seeds, and its difference to the base, seed by seed."""
    mine, theirs = ([row["exploitability_mbb"] for row in rows if row["variant"] == who] for who in (name, base))
    mean, half = interval(mine)
    less, less_half = interval([a - b for a, b in zip(mine, theirs, strict=True)])
    return {
        "variant": name, "mean_mbb": mean, "ci95_mbb": half, "less_base_mbb": less, "less_base_ci95_mbb": less_half
    }  # fmt: skip


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Every variant less the base, in mbb/g; nothing is published."""
    return [
        {"name": f"{row['variant']}, less the base", "published": None, "ours": row["less_base_mbb"]}
        for row in summary["found"]
        if not row["variant"].endswith(BASE)
    ]


def _draw(found: list[dict[str, Any]], axes: Any, rows: list[dict[str, Any]]) -> None:
    names = [row["variant"] for row in found]
    means, widths = [row["mean_mbb"] for row in found], [row["ci95_mbb"] for row in found]
    axes.errorbar(means, range(len(found)), xerr=widths, fmt="o", capsize=3)
    axes.plot([row["exploitability_mbb"] for row in rows], [names.index(row["variant"]) for row in rows], "k.", ms=3)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("exploitability, mbb/g, mean of seeds ± 95% (flop: on sampled flops)")
    axes.set_title("SD-CFR at equal CPU time")
