"""CFR-BR and CFR with one player unabstracted: known answers, a slow twin, and what the theorems promise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from equipoise import GameRules, InputError, build_tree, exploitability, load_game
from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.agents.blueprint import profile_agent
from equipoise.core.jit import F64
from equipoise.experiments.cfr_br.leduc_pathology import PUBLISHED, VALUE, class_map, pathology
from equipoise.solvers.cfr_br.full import CFRBR, AbstractCFR, begin_stage, profile_of
from equipoise.solvers.schedule import Discounts
from equipoise.solvers.vector_cfr import VectorCFR
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.bucketed_engine import BucketedEngine
from small_games import LEDUC, LIMIT, TWO_STREETS, forgetful

GAMES = {"kuhn": load_game("kuhn"), "leduc": LEDUC, "small": TWO_STREETS, "streets": LIMIT}


def measured(rules: GameRules, profile: Profile, buckets: BucketMap) -> tuple[float, float]:
    """What the measuring engine says that each player loses."""
    values = exploitability(rules, profile_agent("it", profile, buckets)).player_values
    return values[1], values[0]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", list(GAMES))
def test_losses_are_what_the_measuring_engine_says(name: str, threads: int) -> None:
    rules, buckets = GAMES[name], forgetful(GAMES[name])
    solver = CFRBR(build_tree(rules), buckets, threads=threads, precision=np.float64)
    solver.run(3)
    for current in (False, True):
        expected = measured(rules, solver.profile(current=current), buckets)
        assert solver.losses(current=current) == pytest.approx(expected, abs=1e-5)
    before = solver.losses(current=True)
    solver.run(1)
    assert solver.current_losses == pytest.approx(before, abs=1e-12)


@pytest.mark.parametrize("name", ["leduc", "small", "streets"])
def test_a_bucket_regrets_what_its_holes_regret(name: str) -> None:
    """What a step towards an action brings is what the regrets say, on every street: finite differences.

    The player's own strategy does not look at its cards, so that its reach is one number.
    """
    rules, buckets, rng = GAMES[name], forgetful(GAMES[name]), np.random.default_rng(1)
    tree = build_tree(rules)
    engine = BucketedEngine(tree, (buckets, buckets), precision=np.float64)
    layout = SlotLayout(tree, buckets.buckets)
    theirs = Profile.random(layout, rng).chances.astype(np.float64)
    mine = np.zeros(layout.slots)
    decisions = np.flatnonzero(tree.kind == DECISION)
    for node in decisions.tolist():
        layout.at(mine, node)[:] = rng.dirichlet(np.ones(tree.num_children[node]))
    for player in range(2):
        regret = mine.copy()
        value = engine.update(player, regret, Discounts(1, 1, 1), theirs=theirs)
        own = decisions[tree.player[decisions] == player]
        picked = [*own[:2], *rng.choice(own, 8), *own[-2:]]
        for node, bucket in ((int(node), rng.integers(buckets.buckets[tree.street[node]])) for node in picked):
            row = layout.at(regret - mine, node)[bucket]
            for action in range(len(row)):
                stepped = mine.copy()
                at = layout.at(stepped, node)[bucket]
                at *= 0.5
                at[action] += 0.5
                gained = (engine.update(player, stepped, Discounts(1, 1, 1), theirs=theirs) - value) / 0.5
                reach = _own_reach(tree, layout, mine, node)
                assert gained == pytest.approx(reach * row[action] / engine.engine.meetings, abs=1e-9)


def _own_reach(tree: BettingTree, layout: SlotLayout, chances: F64, node: int) -> float:
    reach, player = 1.0, tree.player[node]
    while tree.parent[node] >= 0:
        above = int(tree.parent[node])
        if tree.kind[above] == DECISION and tree.player[above] == player:
            reach *= float(layout.at(chances, above)[0, node - tree.first_child[above]])
        node = above
    return reach


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_lossless_cfr_is_vector_cfr(name: str) -> None:
    rules = GAMES[name]
    tree, buckets = build_tree(rules), BucketMap.lossless(GAMES[name])
    ours = AbstractCFR(tree, (buckets, buckets), precision=np.float64)
    assert ours.engine.direct == (True, True)
    twin = VectorCFR(ours.engine.engine, "cfr+")
    ours.run(50)
    twin.run(50)
    values = twin.engine.best_responses(twin.engine.tables(twin.average))
    assert ours.losses() == pytest.approx((values[1], values[0]), abs=1e-5)


@pytest.mark.parametrize("stage", [None, 250])
def test_lossless_cfr_br_reaches_the_equilibrium(stage: int | None) -> None:
    solver = CFRBR(build_tree(LEDUC), BucketMap.lossless(LEDUC), stage=stage, growth=1.05, precision=np.float64)
    solver.run(10_000 if stage is None else 20_000)
    average, current = solver.losses(), solver.losses(current=True)
    within = 0.018 if stage is None else 0.001
    for losses in (average, current) if stage else (average,):
        assert losses[0] == pytest.approx(-VALUE, abs=within)
        assert losses[1] == pytest.approx(VALUE, abs=within)
        assert losses[0] >= -VALUE - 1e-9 and losses[1] >= VALUE - 1e-9


@pytest.mark.parametrize("name", ["J.Q.K", pytest.param("[JQK]", marks=pytest.mark.slow)])
def test_cfr_br_finds_what_cfr_against_the_unabstracted_finds(name: str) -> None:
    """Within 1 mbb/g; CFR where both are abstracted stays clearly above."""
    tree, buckets, lossless = build_tree(LEDUC), class_map(LEDUC, name), BucketMap.lossless(LEDUC)
    answer = CFRBR(tree, buckets, stage=250, growth=1.05, precision=np.float64)
    answer.run(20_000)
    pairs = (buckets, lossless), (lossless, buckets)
    yardstick = []
    for seat, pair in enumerate(pairs):
        solver = AbstractCFR(tree, pair, stage=1000, precision=np.float64)
        solver.run(4000)
        yardstick.append(solver.losses()[seat])
    assert answer.losses() == pytest.approx(yardstick, abs=0.001)
    first = 1000 * (answer.losses()[0] + VALUE) / 2
    assert first == pytest.approx(PUBLISHED[f"{name} vs real"], abs=0.6)
    both = AbstractCFR(tree, (buckets, buckets), precision=np.float64)
    both.run(2000)
    assert sum(both.losses()) > sum(answer.losses()) + 0.1


def test_imperfect_recall_and_threads() -> None:
    tree, buckets = build_tree(TWO_STREETS), forgetful(TWO_STREETS)
    solvers = [CFRBR(tree, buckets, threads=threads, precision=np.float64) for threads in (1, 2, 2)]
    for solver in solvers:
        solver.run(1)
    np.testing.assert_allclose(solvers[0].regret, solvers[1].regret, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(solvers[0].average, solvers[1].average, rtol=1e-9, atol=1e-9)
    for solver in solvers:
        solver.run(29)
    assert np.array_equal(solvers[1].regret, solvers[2].regret)
    # Equally good responses are told apart by rounding, so that later iterations differ, but not in what they reach.
    assert sum(solvers[0].losses()) == pytest.approx(sum(solvers[1].losses()), rel=0.1)
    start = CFRBR(tree, buckets)
    start.run(1)
    assert sum(solvers[0].losses()) < 0.7 * sum(start.losses())


def test_taken_up_again() -> None:
    tree, buckets = build_tree(LEDUC), class_map(LEDUC, "J.Q.K")
    whole, half, rest = (CFRBR(tree, buckets, stage=7) for _ in range(3))
    whole.run(40)
    half.run(19)
    rest.regret[:], rest.average[:] = half.regret, half.average
    rest.restore(half.iteration, half.nodes, half.state())
    rest.run(21)
    assert np.array_equal(rest.regret, whole.regret)
    assert np.array_equal(rest.average, whole.average)
    assert (rest.iteration, rest.nodes) == (whole.iteration, whole.nodes)


def test_a_stage_begins_with_the_average() -> None:
    solver = CFRBR(build_tree(LEDUC), class_map(LEDUC, "J.Q.K"), precision=np.float64)
    solver.run(100)
    average, loss = solver.profile(), solver.losses()
    begin_stage(solver.layout, 3.0, solver.regret, solver.average)
    np.testing.assert_allclose(profile_of(solver.layout, solver.regret).chances, average.chances, atol=0.5)
    assert solver.losses(current=True) == pytest.approx(loss, abs=1e-9)


def test_bad_input() -> None:
    tree, buckets = build_tree(LEDUC), BucketMap.lossless(LEDUC)
    for stage, growth in ((0, 1.1), (5, 0.5), (5, float("nan"))):
        with pytest.raises(InputError, match="stages"):
            CFRBR(tree, buckets, stage=stage, growth=growth)
    with pytest.raises(InputError, match="predictive"):
        CFRBR(tree, buckets, schedule="predictive")
    with pytest.raises(InputError, match="other cards"):
        CFRBR(tree, BucketMap.lossless(load_game("kuhn")))
    with pytest.raises(InputError, match="too many boards"):
        CFRBR(build_tree(load_game("holdem.limit")), BucketMap.lossless(load_game("holdem.limit")))
    solver = CFRBR(tree, buckets)
    with pytest.raises(InputError, match="'choice' is uint8"):
        solver.restore(1, 1, {"choice": np.zeros(3, np.uint8)})


def test_the_experiment_writes_its_table(tmp_path: Path) -> None:
    told: list[str] = []
    summary = pathology(tmp_path, 500, 200, told.append)
    written = json.loads((tmp_path / "leduc-pathology.json").read_text())
    assert [row["row"] for row in written["rows"]] == list(PUBLISHED) and len(told) == len(PUBLISHED)
    assert summary["largest_difference"]["first"] < 10
    assert (tmp_path / "leduc-pathology.png").stat().st_size > 5_000
    assert len((tmp_path / "leduc-pathology.csv").read_text().splitlines()) == 1 + len(PUBLISHED)
