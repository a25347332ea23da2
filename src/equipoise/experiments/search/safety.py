"""Exact exploitability with search in every subgame: by first street, by safety, by what happens on later streets.

Not from a paper. The games are hold'em with a reduced deck, small enough for a best response that faces a search
wherever it goes. Blueprints are real ones: percentile buckets, two a street within each bucket of the street before,
trained by external sampling, so that they are exploitable because of their cards. Search has the bets of the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from time import process_time
from typing import Any, TypeAlias

from equipoise.abstraction.maps.build import build_map
from equipoise.abstraction.maps.card_recipe import read_card_recipe
from equipoise.agents.search.agent import SearchAgent
from equipoise.agents.search.options import LATER, SAFETY, SearchOptions
from equipoise.agents.table import TableAgent
from equipoise.agents.tracked_strategy import TrackedStrategy
from equipoise.cards.deck import Deck
from equipoise.core.progress import Say
from equipoise.experiments.curves import side_by_side
from equipoise.games.bet_menu import BetMenu, street_names
from equipoise.games.gamedef import load_game
from equipoise.games.rules import GameRules
from equipoise.measure.best_response import exploitability
from equipoise.measure.report import write_report
from equipoise.solvers.external_sampling import External
from equipoise.strategy.tables import probabilities
from equipoise.tree.betting_tree import build_tree

NAME = "search-safety"
ABOUT = "exact exploitability with search in every subgame: unsafe, gadget, combined (5 minutes)"
BLUEPRINT = "blueprint"
BUCKETS = 2  # a street, within each bucket of the street before
TRAINING = 200_000  # iterations
ITERATIONS = 100  # of each solve
SOLUTIONS = 2_000_000_000  # bytes that an agent may remember
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A game and the bets of its tree."""

    name: str
    rules: GameRules
    menu: BetMenu | None = None

    def blueprint(self) -> TableAgent:
        """Trained for some seconds, in one thread."""
        rules = self.rules
        cards = {street: {"method": "percentile", "buckets": BUCKETS} for street in street_names(rules.rounds)}
        buckets, tree = build_map(rules, read_card_recipe(cards, rules)), build_tree(rules, self.menu)
        solver = External(tree, buckets, seed=1)
        solver.run(TRAINING)
        return TableAgent(BLUEPRINT, solver.layout, probabilities(solver.layout, solver.average), buckets)


def no_limit(ranks: int) -> Case:
    """Four streets of no-limit hold'em with three suits and one board card a street, 10 big blinds."""
    rules = replace(
        load_game("holdem.nolimit"), deck=Deck(ranks, 3), board_cards=(0, 1, 1, 1), stacks=(1000, 1000)
    )  # fmt: skip
    menu = BetMenu.from_table({"bet": [1.0], "raise": ["all-in"], "cap": 2}, rules.rounds)
    return Case(f"no-limit, {rules.deck.size} cards", rules, menu)


def flop_holdem(ranks: int, suits: int) -> Case:
    """Flop hold'em, two streets and fixed bets, with a reduced deck."""
    rules = replace(load_game("holdem.flop"), deck=Deck(ranks, suits))
    return Case(f"flop hold'em, {rules.deck.size} cards", rules)


def run(out: Path, full: bool, say: Say) -> Row:
    """Nine and twelve cards; `full` adds larger decks."""
    cases = [no_limit(3), flop_holdem(4, 3), *((no_limit(4), flop_holdem(6, 4)) if full else ())]
    return compare_searches(cases, out, say)


def compare_searches(cases: Sequence[Case], out: Path, say: Say) -> Row:
    """All searches in all games."""
    rows: list[Row] = []
    for case in cases:
        for row in searches_of(case):
            say("{game}, {search}: {exploitability_mbb:.2f} mbb/g, {cpu_seconds:.0f} s".format(**row))
            rows.append(row)
    summary = {
        "experiment": NAME,
        "iterations": ITERATIONS,
        "exploitability_mbb": {
            game: {row["search"]: row["exploitability_mbb"] for row in mine}
            for game, mine in groupby(rows, lambda row: row["game"])
        },
    }
    write_report(out / NAME, summary, rows, _draw)
    return summary


def compared(summary: Row) -> list[Row]:
    """Exploitability by game and search, in mbb/g; not from a paper."""
    found = summary["exploitability_mbb"]
    return side_by_side({f"{game}, {name}": mbb for game, mine in found.items() for name, mbb in mine.items()}, {})


def searches_of(case: Case) -> Iterator[Row]:
    """The blueprint of a game without search, then with every kind of search."""
    blueprint = case.blueprint()
    yield _measured(case, BLUEPRINT, blueprint)
    for options in kinds_of_search(case):
        street = street_names(case.rules.rounds)[options.street]
        kept = f", {options.later} later" if options.street < case.rules.rounds - 1 else ""
        agent = SearchAgent("search", blueprint, options, SOLUTIONS)
        yield _measured(case, f"{street}, {options.safety}{kept}", agent)


def kinds_of_search(case: Case) -> Iterator[SearchOptions]:
    """From the last street or, where there are more than two, the one before it."""
    last = case.rules.rounds - 1
    for street in (last, last - 1)[: min(2, last)]:
        for later in LATER if street < last else LATER[:1]:
            for safety in SAFETY:
                yield SearchOptions(
                    street, case.rules, ITERATIONS, bets=case.menu, later_bets=case.menu, later=later, safety=safety
                )  # fmt: skip


def _measured(case: Case, name: str, agent: TableAgent | SearchAgent) -> Row:
    start = process_time()
    strategy = agent.strategy() if isinstance(agent, TableAgent) else TrackedStrategy(agent)
    found = exploitability(case.rules, strategy, menu=case.menu, threads=1).exploitability
    return {"game": case.name, "search": name, "exploitability_mbb": found, "cpu_seconds": process_time() - start}


def _draw(axes: Any, rows: list[Row]) -> None:
    games = list(dict.fromkeys(row["game"] for row in rows))
    axes.figure.set_size_inches(8, 1.2 + 0.3 * len(rows))
    labels = [f"{row['game']}: {row['search']}" for row in rows]
    colours = [f"C{games.index(row['game'])}" for row in rows]
    axes.barh(labels, [row["exploitability_mbb"] for row in rows], color=colours)
    axes.invert_yaxis()
    axes.set_xlabel("exploitability, mbb/g")
