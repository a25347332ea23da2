"""Blades: counts of boards, any number of parts, resuming, convergence, refusals."""

from __future__ import annotations

import dataclasses
import pickle
from collections import deque
from typing import Any

import numpy as np
import pytest

from equipoise import InputError, exploitability, load_game
from equipoise.abstraction.maps.bucket_map import PUBLIC, BucketMap, PublicBuckets, StreetBuckets
from equipoise.agents.card_blind import ByBucket, ProfileStrategy
from equipoise.solvers.blades.build import blades_of, blades_solver
from equipoise.solvers.blades.part import PartPlan
from equipoise.solvers.blades.table_split import TableSplit, count_boards
from equipoise.solvers.external_sampling import External
from equipoise.solvers.solver import Solver
from equipoise.solvers.split_solver import SplitSolver
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import probabilities
from equipoise.tree.betting_tree import build_tree
from equipoise.tree.board_buckets import buckets_of_places
from hierarchies import hierarchy

SETTINGS: dict[str, Any] = {"batch": 150, "period": 1000, "seed": 4}


@pytest.mark.parametrize("name", ["leduc", "limit", "no-limit", "holdem.two-four"])
def test_boards_are_counted_as_by_enumeration(name: str) -> None:
    if name == "holdem.two-four":
        rules = load_game(name)
        labels = np.random.default_rng(1).integers(0, 5, 1755).astype(np.uint16)
        buckets = dataclasses.replace(BucketMap.lossless(rules), public=PublicBuckets(1, labels, 5))
        split = TableSplit(build_tree(rules), buckets)
    else:
        split = TableSplit(*hierarchy(name))
    rules, random = split.rules, np.random.default_rng(2)
    hands = np.array([random.permutation(rules.deck.size)[: 2 * rules.hole_cards] for _ in range(100)], np.uint8)
    total = np.zeros(len(hands), np.int64)
    for cluster in range(split.clusters):
        possible = np.zeros(len(hands), np.int64)
        count_boards(hands, split.counts(cluster), possible)
        boards = split.boards(cluster)
        assert possible.tolist() == [int((~np.isin(boards, hand).any(axis=1)).sum()) for hand in hands]
        total += possible
    assert (total == split.boards_left).all()


def test_the_clusters_own_all_buckets_once() -> None:
    for name in ("leduc", "limit", "no-limit"):
        split = TableSplit(*hierarchy(name))
        slots = sum(split.layout_of(cluster).slots for cluster in range(split.clusters))
        assert split.top.slots + slots == split.layout.slots
        deals = np.array([np.random.default_rng(i).permutation(split.rules.deck.size) for i in range(200)], np.uint8)
        deals = np.ascontiguousarray(deals[:, : split.rules.hand_cards])
        boards, label = split.all_boards
        cluster_of = {tuple(board): cluster for board, cluster in zip(boards.tolist(), label.tolist(), strict=True)}
        holes = split.rules.hole_cards
        for cards, found in zip(deals.tolist(), split.buckets.buckets_of_deals(deals), strict=True):
            cluster = cluster_of[tuple(sorted(cards[holes : holes + split.board_cards]))]
            for street, owner in split.owner.items():
                assert owner[found[street]] == cluster


def tables(solver: Solver) -> tuple[bytes, bytes, int, int]:
    return solver.regret.tobytes(), solver.average.tobytes(), solver.iteration, solver.nodes


@pytest.mark.parametrize("schedule", ["linear", "discounted", "cfr+"])
def test_results_do_not_depend_on_the_number_of_parts(schedule: str) -> None:
    tree, buckets = hierarchy("limit")
    results = []
    for parts, threads in ((1, 1), (1, 2), (2, 2), (3, 1), (4, 1)):
        solver = blades_solver(tree, buckets, parts, schedule=schedule, threads=threads, **SETTINGS)
        solver.run(4000)
        results.append(tables(solver))
    assert len(set(results)) == 1
    other = blades_solver(tree, buckets, 2, schedule=schedule, **SETTINGS | {"seed": 5})
    other.run(4000)
    assert tables(other) != results[0]


@pytest.mark.parametrize("most_begun", [1, 2, 3])
def test_steps_under_way_give_the_same_tables(most_begun: int) -> None:
    tree, buckets = hierarchy("limit")
    one_by_one = blades_solver(tree, buckets, 2, most_begun=most_begun, **SETTINGS)
    one_by_one.run(4000)
    head, plans = blades_of(tree, buckets, 2, most_begun=most_begun, **SETTINGS)
    parts = [pickle.loads(pickle.dumps(plan)).build(tree, buckets) for plan in plans]
    under_way: deque[Any] = deque()
    while head.iteration < one_by_one.iteration:
        while len(under_way) < most_begun:
            messages = pickle.loads(pickle.dumps(head.begin()))
            for array in messages[0][1:]:
                array.flags.writeable = False  # as they arrive from another machine
            under_way.append([part.work(message) for part, message in zip(parts, messages, strict=True)])
        head.finish(under_way.popleft())
    assert head.iteration == one_by_one.iteration
    assert head.regret.tobytes() == one_by_one.head.arrays()["regret"].tobytes()
    assert head.average.tobytes() == one_by_one.head.arrays()["average"].tobytes()


@pytest.mark.parametrize("cut", [1, 990, 2500])
def test_a_resumed_run_is_the_same_to_the_bit(cut: int) -> None:
    tree, buckets = hierarchy("limit")
    whole, first = (blades_solver(tree, buckets, 2, **SETTINGS) for _ in range(2))
    whole.run(4000)
    first.run(cut)
    arrays = pickle.loads(pickle.dumps([first.head.arrays(), *(part.arrays() for part in first.parts)]))
    head, plans = blades_of(tree, buckets, 4, **SETTINGS)  # on another number of machines
    parts = [plan.build(tree, buckets) for plan in plans]
    head.restore(first.iteration, first.nodes, arrays[0])
    for part in parts:
        part.restore({**arrays[1], **arrays[2]})
    second = SplitSolver(head.split, head, parts)
    second.run(4000 - second.iteration)
    assert tables(second) == tables(whole)

    third = blades_solver(tree, buckets, 1, **SETTINGS)  # as a solver: whole tables
    third.regret[:], third.average[:] = first.regret, first.average
    third.restore(first.iteration, first.nodes, first.state())
    third.run(4000 - third.iteration)
    assert tables(third) == tables(whole)


def measured(solver: Solver, buckets: BucketMap) -> float:
    profile = Profile(solver.layout, probabilities(solver.layout, solver.average))
    agent = ProfileStrategy("trained", ByBucket(profile, buckets_of_places(buckets)))
    return exploitability(buckets.rules, agent, threads=1).exploitability


@pytest.mark.parametrize(("threads", "prune"), [(1, 0.0), (4, 0.0), (1, 1000.0)])
def test_leduc_converges_as_plain_external_sampling_does(threads: int, prune: float) -> None:
    tree, buckets = hierarchy("leduc")
    solver = blades_solver(tree, buckets, 1, period=20_000, batch=200, threads=threads, prune=prune)
    solver.run(20_000)
    early = measured(solver, buckets)
    solver.run(400_000)
    plain = External(tree, buckets, period=20_000, seed=7)
    while plain.nodes < solver.nodes:
        plain.run(20_000)
    late, limit = measured(solver, buckets), 2 * measured(plain, buckets) + 5
    assert late < min(limit, 40, early / 2)
    uniform = blades_solver(tree, buckets, 1)
    assert measured(uniform, buckets) > limit


def test_what_makes_no_sense_is_refused() -> None:
    tree, buckets = hierarchy("limit")
    for parts, options in (
        (0, {}),
        (5, {}),
        (1, {"batch": 0}),
        (1, {"growth": 0}),
        (1, {"most_begun": 0}),
        (1, {"threads": 0}),
        (1, {"period": 0}),
        (1, {"schedule": "predictive"}),
        (1, {"prune": 5.0, "schedule": "cfr+"}),
    ):
        with pytest.raises(InputError):
            blades_solver(tree, buckets, parts, **options)
    with pytest.raises(InputError):
        PartPlan((4,), "linear", 100).build(tree, buckets)
    other = blades_solver(tree, buckets, 1, most_begun=3)
    with pytest.raises(InputError, match="3 steps"):
        blades_solver(tree, buckets, 1).restore(0, 0, other.state())


def test_maps_whose_clusters_are_not_apart_are_refused() -> None:
    tree, buckets = hierarchy("limit")
    with pytest.raises(InputError, match="without public clusters"):
        blades_solver(tree, dataclasses.replace(buckets, public=None))
    with pytest.raises(InputError, match="not of the first board"):
        blades_solver(tree, dataclasses.replace(buckets, public=PublicBuckets(2, np.zeros(99, np.uint16), 1)))
    for street in (1, 2):
        shared = list(buckets.streets)
        own = shared[street]
        one = np.zeros_like(own.join if own.context == PUBLIC else own.cell)
        field = {"join": one} if own.context == PUBLIC else {"cell": one}
        shared[street] = dataclasses.replace(own, **field)
        with pytest.raises(InputError, match=f"share buckets on street {street + 1}"):
            blades_solver(tree, dataclasses.replace(buckets, streets=tuple(shared)))
    unordered = StreetBuckets(buckets.rules.unordered_deals(2), 1, np.zeros(1, np.uint16))
    with pytest.raises(InputError, match="share buckets on street 3"):
        blades_solver(tree, dataclasses.replace(buckets, streets=(*buckets.streets[:2], unordered)))
