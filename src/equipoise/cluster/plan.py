"""What a training on some machines will need and how fast it will be, before anything is rented.

The plan runs a small piece of the recipe on one core of this machine for a few seconds (blades: the head and a few
clusters; disk tasks: the head and a few tasks), and scales what it finds. For a step of the blades with

    W  seconds of work of the slowest machine         H  seconds of the head
    T  seconds of a message there and a reply back    d  steps under way

a step takes P = max(W, H, (W + H + T) / d): a machine works without a pause, or the head does, or all wait for
messages. Disk tasks have d = 1, and W is at least the time to read and write the tables once. Efficiency is the time of
one core for all of the work over P and all cores.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equipoise.cluster.split_recipe import public_clusters
from equipoise.core.display import table_html
from equipoise.core.errors import InputError, check_count
from equipoise.core.progress import Progress, stage
from equipoise.games.rules import PLAYERS
from equipoise.runs.recipe import Recipe, load_recipe
from equipoise.solvers.blades.build import MOST_BEGUN, blades_of
from equipoise.solvers.blades.messages import Reply
from equipoise.solvers.disk_tasks.cards import Sampling
from equipoise.solvers.disk_tasks.cut import GameCut
from equipoise.solvers.disk_tasks.head import DiskHead, Values
from equipoise.solvers.disk_tasks.part import DiskPart, PartSpec
from equipoise.tree.infosets import REGRET_AND_AVERAGE, SlotLayout

TRIED_CLUSTERS, TRIED_TASKS = 4, 3
PACKING = 2e9  # bytes per second: pickling an array is a copy


@dataclass(frozen=True)
class Machines:
    """The machines of a plan, all alike."""

    count: int = 1
    cores: int = 1  # of each
    ram: float = 16e9  # bytes of each
    latency: float = 1e-3  # seconds of a call and its reply
    bandwidth: float = 1.25e8  # bytes per second of the network
    disk: float = 5e8  # bytes per second, read or written in order

    def __post_init__(self) -> None:
        check_count(self.count, "machines")
        check_count(self.cores, "cores")
        for name in ("ram", "latency", "bandwidth", "disk"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} {getattr(self, name):g}", remedy="give a positive number")


class Pieces(NamedTuple):
    """Seconds on one core and bytes of a step, measured here."""

    head: float  # seconds of the head
    work: float  # seconds of one piece (a cluster, or a task)
    pieces: int  # in the whole game
    spread: float  # relative standard deviation of the pieces' work
    out: float  # bytes to a machine
    back: float  # bytes from a machine
    iterations: float  # of a step
    nodes: float  # visited in a step by all pieces


@dataclass(frozen=True)
class ClusterPlan:
    """A prediction. Times are of an iteration: a deal for the blades, all boards of both walkers for disk tasks."""

    recipe: str
    method: str
    machines: Machines
    infosets: int
    infosets_per_machine: int
    bytes_per_machine: int
    fits: bool
    seconds_per_iteration: float
    nodes_per_second: float
    efficiency: float  # useful work of all cores
    idle_share: float  # of the machines' time
    message_share: float  # of the time of a step
    limit: str  # what sets the pace: work, head, messages or disk

    def to_rows(self) -> list[dict[str, Any]]:
        """One row."""
        return [self.as_json()]

    _repr_html_ = table_html

    def as_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        found = asdict(self)
        return {**{key: value for key, value in found.items() if key != "machines"}, **_flat(found["machines"])}


def _flat(machines: dict[str, Any]) -> dict[str, Any]:
    names = {"count": "machines", "ram": "ram_bytes", "latency": "latency_seconds",
             "bandwidth": "network_bytes_per_second", "disk": "disk_bytes_per_second"}  # fmt: skip
    return {names.get(key, key): value for key, value in machines.items()}


def plan_cluster(
    recipe: Recipe | str | Path,
    machines: Machines,
    *,
    infosets: float | None = None,
    seconds: float = 5.0,
    progress: Progress | None = None,
) -> ClusterPlan:
    """Predict a training of a recipe (a value, a built-in name or a TOML file) on some machines.

    Builds its buckets, or loads them from the cache.

    >>> from equipoise import Machines, load_recipe
    >>> leduc = load_recipe("leduc", ["solver={method='pcs'}"])
    >>> plan = plan_cluster(leduc, Machines(2, cores=1), seconds=0.1)
    >>> plan.infosets, plan.bytes_per_machine, plan.fits
    (468, 5241, True)

    `infosets` plans for a larger abstraction of the same shape. `seconds` is the time to measure pieces of it here.
    """
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe)
    layout = SlotLayout(recipe.game.tree, recipe.game.cards.buckets(recipe.game.rules))
    scale = 1.0 if infosets is None else infosets / layout.infosets
    if not scale > 0:
        raise InputError(f"{infosets} information sets", remedy="give a positive number")
    pieces = _measured(recipe, seconds, progress)
    if machines.count > pieces.pieces:
        what = "public clusters" if recipe.solver.method == "external" else "tasks"
        raise InputError(f"{machines.count} machines for {pieces.pieces} {what}", remedy=f"use up to {pieces.pieces}")
    return predict(recipe, machines, pieces, layout, scale)


def _measured(recipe: Recipe, seconds: float, progress: Progress | None) -> Pieces:
    method = recipe.solver.method
    if method == "external" and public_clusters(recipe):
        return measure_blades(recipe, seconds, progress)
    if method == "pcs" and recipe.game.rules.rounds > 1:
        return measure_tasks(recipe, seconds, progress)
    raise InputError(
        f"recipe {recipe.name} has no parts", remedy='use method "external" with public clusters, or "pcs"'
    )


def predict(recipe: Recipe, machines: Machines, pieces: Pieces, layout: SlotLayout, scale: float = 1.0) -> ClusterPlan:
    """The plan from pieces that were measured; `scale` makes the tables larger."""
    blades = recipe.solver.method == "external"
    most = ceil(pieces.pieces / machines.count)  # pieces of the machine with the most
    table_bytes = int(layout.slots * scale * REGRET_AND_AVERAGE * most / pieces.pieces)
    slowest = 1 + pieces.spread / np.sqrt(most) * np.sqrt(2 * np.log(machines.count))
    work = pieces.work * most / machines.cores * slowest
    disk = 0.0 if blades else 2 * table_bytes / machines.disk
    # The head sends a message to each machine through one network card. Shares of a reply get smaller, the message of
    # the blades does not: all clusters see all hands.
    split = 1 if blades else 1 / machines.count
    sent = machines.count * split * (pieces.out + pieces.back)
    messages = machines.latency + sent / machines.bandwidth + sent / PACKING
    steps = MOST_BEGUN if blades else 1
    times = {
        "work": max(work, disk) if steps > 1 else 0.0,
        "head": pieces.head,
        "messages": (max(work, disk) + pieces.head + messages) / steps,
    }
    pace = max(times.values())
    limit = max(times, key=times.__getitem__)
    if steps == 1:
        shares = {"work": work, "disk": disk, "head": pieces.head, "messages": messages}
        limit = max(shares, key=shares.__getitem__)
    busy = pieces.work * pieces.pieces / machines.count / machines.cores
    alone = pieces.work * pieces.pieces + pieces.head
    return ClusterPlan(
        recipe=recipe.name,
        method=recipe.solver.method,
        machines=machines,
        infosets=round(layout.infosets * scale),
        infosets_per_machine=round(layout.infosets * scale * most / pieces.pieces),
        bytes_per_machine=table_bytes,
        fits=table_bytes <= machines.ram,
        seconds_per_iteration=pace / pieces.iterations,
        nodes_per_second=pieces.nodes / pace,
        efficiency=min(1.0, alone / (pace * machines.count * machines.cores)),
        idle_share=max(0.0, 1 - busy / pace),
        message_share=min(1.0, messages / pace) if steps == 1 else max(0.0, 1 - max(work, pieces.head) / pace),
        limit=limit,
    )


def measure_blades(recipe: Recipe, seconds: float, progress: Progress | None = None) -> Pieces:
    """Pieces of the blades: the head, and a few clusters one after the other."""
    tree, buckets = recipe.game.tree, recipe.game.buckets(progress)
    batch, settings = recipe.cluster.batch, recipe.solver.settings()
    head, plans = blades_of(tree, buckets, public_clusters(recipe), batch=batch, growth=1, most_begun=1, **settings)
    tried = plans[:: max(1, len(plans) // TRIED_CLUSTERS)][:TRIED_CLUSTERS]
    parts = [plan.build(tree, buckets) for plan in tried]
    times: list[list[float]] = []
    sizes, nodes = [0.0, 0.0], [0.0]

    def step() -> None:
        started = time.perf_counter()
        message = head.begin()[0]
        laps = [time.perf_counter()]
        replies = []
        for part in parts:
            replies.append(part.work(message))
            laps.append(time.perf_counter())
        values = np.sum([reply.values for reply in replies], axis=0) * (len(plans) / len(parts))
        head.finish([Reply(values, 0)])
        per_hand = batch / len(message.hands)  # the first steps are shorter
        times.append([per_hand * (time.perf_counter() - laps[-1] + laps[0] - started), *per_hand * np.diff(laps)])
        sizes[:] = (per_hand * len(pickle.dumps(sent, 5)) for sent in (message, replies[0]))
        nodes[0] = per_hand * sum(reply.nodes for reply in replies)

    _run(step, seconds, progress)
    found = np.mean(times[len(times) // 2 :], axis=0)
    return Pieces(
        float(found[0]), float(found[1:].mean()), len(plans), float(found[1:].std() / found[1:].mean()),
        sizes[0], sizes[1], batch, nodes[0] * len(plans) / len(parts),
    )  # fmt: skip


def measure_tasks(recipe: Recipe, seconds: float, progress: Progress | None = None) -> Pieces:
    """Pieces of the disk tasks: the head, and a few tasks of middle size in memory."""
    tree, buckets = recipe.game.tree, recipe.game.buckets(progress)
    sampling = Sampling(**recipe.solver.settings())
    cut = GameCut(tree, buckets, max(1, public_clusters(recipe)))
    order = sorted(cut.tasks, key=cut.slots)
    tried = tuple(sorted(order[len(order) // 2 :: max(1, len(order) // (2 * TRIED_TASKS))][:TRIED_TASKS]))
    head, part = DiskHead(cut, [tried], sampling), DiskPart(tree, buckets, PartSpec(tried, sampling, cut.groups))
    times: list[tuple[float, float]] = []
    sizes, nodes = [0.0, 0.0], [0]
    whole = sum(len(cut.subtree(task.sequence)) for task in cut.tasks) / cut.groups
    share = sum(len(cut.subtree(task.sequence)) for task in tried) / cut.groups / whole

    def step() -> None:
        started = time.perf_counter()
        message = head.begin()[0]
        sent = time.perf_counter()
        reply: Values = part.work(message)
        back = time.perf_counter()
        head.finish([reply])
        times.append((time.perf_counter() - back + sent - started, back - sent))
        sizes[:] = len(pickle.dumps(message, 5)), len(pickle.dumps(reply, 5))
        nodes[0] = reply.nodes

    _run(step, seconds, progress)
    found = np.median(times[len(times) // 2 :], axis=0)
    pieces, out, back = len(cut.tasks), *(size * len(cut.tasks) / len(tried) for size in sizes)
    work = float(found[1]) / share / pieces
    return Pieces(float(found[0]), work, pieces, 0.0, out, back, 1 / PLAYERS, nodes[0] / share)


def _run(step: Callable[[], None], seconds: float, progress: Progress | None) -> None:
    """Steps for some time; the first compiles kernels and does not count."""
    tick = stage(progress, "measuring a piece of it") or (lambda _fraction: None)
    step()
    started = time.perf_counter()
    count = 0
    while (past := time.perf_counter() - started) < seconds or count < 3:
        step()
        count += 1
        tick(min(1.0, past / seconds))
