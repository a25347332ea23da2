"""Games of three and more hole cards: right where they are played, refused in one line where they are not known."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
import naive
from equipoise import Deck, GameRules, InputError, SlotLayout, build_tree, load_game, load_player
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.table import TableAgent
from equipoise.cards.deck import FULL_DECK
from equipoise.cards.runouts import Runouts
from equipoise.games.gamedef import write_gamedef
from equipoise.play.logs import LogWriter
from equipoise.runs.recipe import read_recipe
from equipoise.solvers.external_sampling import External
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import probabilities
from equipoise.tree.betting_tree import DECISION, FOLDED, BettingTree

HOLES = (3, 4)


def game(holes: int) -> GameRules:
    limit = load_game("leduc")
    return replace(limit, deck=Deck(5, 2), hole_cards=holes, max_raises=(1, 1), name=f"{holes} hole cards")


def values(tree: BettingTree, strategy: naive.Strategy, *, best: bool) -> list[float]:
    """What each player wins a hand, in chips, by enumerating all deals."""
    rules = tree.rules
    holes = dict.fromkeys(itertools.combinations(range(rules.deck.size), rules.hole_cards), 1.0)
    boards = list(itertools.combinations(range(rules.deck.size), sum(rules.board_cards)))
    ranks = {}

    def rank(cards: list[int]) -> int:
        key = tuple(sorted(cards))
        ranks.setdefault(key, rules.ranker.rank(key))
        return ranks[key]

    found = []
    for walker in range(2):

        def payoff(node: int, outcome: int, walker: int = walker) -> float:
            if tree.kind[node] == FOLDED:
                outcome = -1 if tree.player[node] == walker else 1
            return outcome * int(tree.chips[node].min())

        deals = naive.deals_of(walker, [holes, holes], boards, rank)
        found.append(naive.walker_value(tree, walker, deals, strategy, payoff, best))
    return found


def by_bucket(profiles: Sequence[Profile], buckets: BucketMap) -> naive.Strategy:
    """The strategy of two players' profiles, hole by hole."""
    tree, known = profiles[0].layout.tree, dict[Any, Any]()

    def chances(node: int, hole: naive.Cards, board: naive.Cards) -> Sequence[float]:
        key = node, hole, board
        if key not in known:
            known[key] = profiles[int(tree.player[node])].at(node)[buckets.bucket(hole, board)].tolist()
        return known[key]  # type: ignore[no-any-return]

    return chances


def averaged(solver: External) -> Profile:
    return Profile(solver.layout, probabilities(solver.layout, solver.average))


@pytest.mark.parametrize("holes", HOLES)
def test_external_sampling_converges(holes: int) -> None:
    rules = game(holes)
    tree, buckets = build_tree(rules), BucketMap.lossless(rules)
    solver = External(tree, buckets, seed=1)
    solver.run(500_000)
    uniform = Profile(solver.layout, np.ones_like(solver.average))
    for node in np.flatnonzero(tree.kind == DECISION).tolist():
        uniform.at(node)[:] = 1 / int(tree.num_children[node])
    before, after = (
        sum(values(tree, by_bucket([profile] * 2, buckets), best=True)) for profile in (uniform, averaged(solver))
    )
    assert 0 < after < before / 10


@pytest.mark.parametrize("holes", HOLES)
def test_matches_are_worth_what_all_deals_say(holes: int) -> None:
    rules, rng = game(holes), np.random.default_rng(holes)
    tree, buckets = build_tree(rules), BucketMap.lossless(rules)
    layout = SlotLayout(tree, buckets.buckets)
    one, two = Profile.random(layout, rng), Profile.random(layout, rng)
    agents = [TableAgent(name, layout, profile.chances, buckets) for name, profile in (("one", one), ("two", two))]
    result = equipoise.match(agents[0], agents[1], hands=400_000, duplicate=False, threads=1)
    seats = [by_bucket(profiles, buckets) for profiles in ([one, two], [two, one])]
    exact = [values(tree, strategy, best=False)[seat] for seat, strategy in enumerate(seats)]
    unit = 1000 / rules.big_blind
    assert abs(result.mbb_per_hand - unit * sum(exact) / 2) < 5 / 1.96 * result.ci95
    for found, value in zip(result.by_player, exact, strict=True):
        assert abs(found - unit * value) < 5 / 1.96 * sqrt(2) * result.ci95


@pytest.mark.parametrize("holes", HOLES)
def test_hands_of_many_hole_cards_are_logged_and_played_again(holes: int, tmp_path: Path) -> None:
    rules = game(holes)
    agents = [load_player(name, str(gamedef(rules, tmp_path))) for name in ("uniform", "always-raise")]
    result = equipoise.match(*agents, hands=200, log=tmp_path / "match.log")
    again = equipoise.replay(tmp_path / "match.log", rules)
    assert again.hands == 200 and again.mbb_per_hand[0] == pytest.approx(result.mbb_per_hand)


def gamedef(rules: GameRules, folder: Path) -> Path:
    path = folder / "many.game"
    path.write_text(write_gamedef(rules))
    return path


def recipe(rules: GameRules, folder: Path, **sections: Any) -> dict[str, Any]:
    return {"game": str(gamedef(rules, folder)), **sections}


PERCENTILE = {"preflop": {"method": "percentile", "buckets": 3}}
REFUSED: dict[str, Callable[[GameRules, Path], object]] = {
    "solve": lambda rules, _: equipoise.solve(rules),
    "best response": lambda rules, _: equipoise.exploitability(rules, "uniform"),
    "lbr": lambda rules, folder: equipoise.local_best_response(load_player("uniform", str(gamedef(rules, folder)))),
    "measure": lambda rules, folder: equipoise.measure_agent("uniform", game=str(gamedef(rules, folder))),
    "aivat": lambda rules, folder: equipoise.match(
        *(load_player(name, str(gamedef(rules, folder))) for name in ("uniform", "always-call")), aivat=True
    ),
    "equities": lambda rules, _: equipoise.equities_against(rules, 0),
    "runouts": lambda rules, _: Runouts.of(rules, ()),
    "report": lambda rules, folder: equipoise.abstraction_report(recipe(rules, folder)),
    "bucket": lambda rules, folder: equipoise.abstraction_bucket(
        recipe(rules, folder), rules.deck.text(range(rules.hole_cards))
    ),
    "cards": lambda rules, folder: read_recipe(recipe(rules, folder, cards=PERCENTILE)),
    "pcs": lambda rules, folder: read_recipe(recipe(rules, folder, solver={"method": "pcs"})),
    "cfr-br": lambda rules, folder: read_recipe(recipe(rules, folder, solver={"method": "cfr-br"})),
    "trunk": lambda rules, folder: read_recipe(recipe(rules, folder, solver={"method": "cfr-br", "trunk": 1})),
    "measured": lambda rules, folder: read_recipe(recipe(rules, folder, measure={"method": "exact"})),
}  # fmt: skip


@pytest.mark.parametrize("holes", HOLES)
@pytest.mark.parametrize("part", REFUSED)
def test_parts_that_know_two_hole_cards_refuse_more(part: str, holes: int, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        REFUSED[part](game(holes), tmp_path)
    assert f"{holes} hole cards" in str(caught.value) and "supports one or two" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_formats_know_or_refuse_other_games(tmp_path: Path) -> None:
    rules = replace(load_game("holdem.nolimit"), hole_cards=4, board_cards=(0, 3, 0, 0), deck=FULL_DECK, name="omaha")
    agent = load_player("always-call", str(gamedef(rules, tmp_path)))
    with equipoise.SlumbotServer(equipoise.SlumbotTable(agent, seed=1), port=0) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        try:
            won = equipoise.play_slumbot(agent, server.url, hands=20, seed=2)
        finally:
            server.shutdown()
    assert won.hands == 20 and won.chips % 100 == 0
    with pytest.raises(InputError, match="PHH cannot express"):
        LogWriter(tmp_path / "x.phh", rules)
    assert not (tmp_path / "x.phh").exists()
    report = equipoise.game_report(rules)
    assert report.streets[0].raw_hands == 270_725 and report.streets[0].hands == 16_432
