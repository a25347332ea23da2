"""The plan's formula against a simulation of steps under way, and what it says of memory, messages and disks."""

from __future__ import annotations

from collections import deque
from functools import cache

import pytest

from equipoise.cluster.plan import Machines, Pieces, plan_cluster, predict
from equipoise.core.errors import InputError
from equipoise.runs.recipe import Recipe, load_recipe
from equipoise.solvers.blades.build import MOST_BEGUN
from equipoise.tree.infosets import SlotLayout

QUICK = {"latency": 1e-9, "bandwidth": 1e18, "disk": 1e18}


@cache
def recipe() -> Recipe:
    return load_recipe("two-four-blades")


@cache
def tasks() -> Recipe:
    return load_recipe("two-four-holdem", ["solver.method=pcs", "solver.schedule=cfr+", "measure.method=none"])


def layout(of: Recipe) -> SlotLayout:
    return SlotLayout(of.game.tree, of.game.cards.buckets(of.game.rules))


def pieces(**changes: float) -> Pieces:
    found = Pieces(head=0.01, work=0.1, pieces=8, spread=0, out=1e3, back=1e3, iterations=1000, nodes=1e6)
    return found._replace(**changes)


def simulated(work: float, head: float, messages: float, begun: int, steps: int = 400) -> float:
    """Seconds of a step, by following each: the head begins and finishes steps, one part works on them in order."""
    now = busy_until = 0.0
    under_way: deque[float] = deque()
    halfway = 0.0
    for step in range(steps):
        if step == steps // 2:
            halfway = now
        while len(under_way) < begun:
            now += head / 2
            busy_until = max(busy_until, now + messages / 2) + work
            under_way.append(busy_until + messages / 2)
        now = max(now, under_way.popleft()) + head / 2
    return (now - halfway) / (steps - steps // 2)


@pytest.mark.parametrize("work", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("head", [0.001, 0.3])
@pytest.mark.parametrize("latency", [1e-4, 0.2, 3.0])
def test_the_formula_is_that_of_steps_under_way(work: float, head: float, latency: float) -> None:
    machines = Machines(1, 1, latency=latency, bandwidth=1e18)
    plan = predict(recipe(), machines, pieces(pieces=1, work=work, head=head), layout(recipe()))
    assert plan.seconds_per_iteration * 1000 == pytest.approx(simulated(work, head, latency, MOST_BEGUN), rel=0.02)
    alone = simulated(work, head, latency, 1)
    assert alone > simulated(work, head, latency, MOST_BEGUN)  # one step at a time is another formula


def test_more_machines_share_tables_and_work() -> None:
    one, four = (predict(recipe(), Machines(n, 1, **QUICK), pieces(), layout(recipe())) for n in (1, 4))
    assert one.infosets == four.infosets == one.infosets_per_machine == 4 * four.infosets_per_machine
    assert one.bytes_per_machine == 4 * four.bytes_per_machine == 8 * layout(recipe()).slots
    assert one.seconds_per_iteration == pytest.approx(4 * four.seconds_per_iteration)
    assert four.efficiency > 0.99
    assert four.limit == "work"


def test_machines_that_do_not_divide_the_pieces_wait() -> None:
    plan = predict(recipe(), Machines(3, 1, **QUICK), pieces(), layout(recipe()))
    assert plan.idle_share == pytest.approx(1 - 8 / 9)  # three clusters on two machines, two on the third
    spread = predict(recipe(), Machines(4, 1, **QUICK), pieces(spread=0.3), layout(recipe()))
    assert 0.1 < spread.idle_share < 0.5


def test_what_sets_the_pace() -> None:
    of = layout(recipe())
    assert predict(recipe(), Machines(8, 16, **QUICK), pieces(), of).limit == "head"
    slow = predict(recipe(), Machines(8, 1, latency=1.0), pieces(), of)
    assert slow.limit == "messages"
    assert slow.message_share > 0.5
    below = layout(tasks())
    disk = predict(tasks(), Machines(2, 1, disk=1e3), pieces(pieces=4, iterations=0.5), below)
    assert disk.limit == "disk"
    read_and_written = 2 * disk.bytes_per_machine / 1e3
    assert disk.seconds_per_iteration == pytest.approx(2 * read_and_written, rel=0.05)  # for both walkers


def test_tables_that_do_not_fit() -> None:
    of = layout(recipe())
    assert predict(recipe(), Machines(2, 1, ram=1e9), pieces(), of).fits
    large = predict(recipe(), Machines(2, 1, ram=1e9), pieces(), of, scale=1e6)
    assert not large.fits
    assert large.infosets == 1_000_000 * of.infosets


def test_a_piece_of_the_recipe_is_measured() -> None:
    plan = plan_cluster(recipe(), Machines(2, 1), seconds=0.2)
    assert 1e5 < plan.nodes_per_second < 1e9
    twice = plan_cluster(recipe(), Machines(2, 1), seconds=0.2, infosets=2 * plan.infosets)
    assert twice.bytes_per_machine == 2 * plan.bytes_per_machine
    assert plan_cluster(tasks(), Machines(2, 1), seconds=0.2).method == "pcs"


def test_refused() -> None:
    with pytest.raises(InputError, match="5 machines for 4 public clusters"):
        plan_cluster(recipe(), Machines(5, 1), seconds=0.1)
    with pytest.raises(InputError, match="no parts"):
        plan_cluster(load_recipe("leduc"), Machines(2, 1))
    with pytest.raises(InputError, match="latency"):
        Machines(1, 1, latency=0)
