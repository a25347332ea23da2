"""CFR-BR with a full best response, and CFR with an abstraction for each player (Johanson and others 2012).

In every iteration, an abstracted player that minimises regret meets a best response of the whole game to its current
strategy. Its average and its current strategy both approach the least exploitable strategy of its buckets. The seats
are two runs, each with an opponent of its own that has no tables. Ties keep the opponent's previous action. With
`keep="current"` there is no table of averages. `AbstractCFR` has a table for each player: with the lossless map for one
of them it is the paper's A-vs-U.

The error falls with the square root of the iterations. Stages, our addition: every `stage` iterations the current
strategy is set to the average, regrets are multiplied by `growth` (smaller steps; 1 in `AbstractCFR`), and averaging
restarts. The objective is piecewise linear, so the error then falls geometrically.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.array_checks import check_like
from equipoise.core.errors import InputError, shown
from equipoise.core.jit import F32, F64
from equipoise.core.machine import available_memory
from equipoise.core.wording import size_text
from equipoise.games.rules import PLAYERS
from equipoise.solvers.schedule import schedule
from equipoise.solvers.solver import AVERAGE, CURRENT, table_of
from equipoise.strategy.profile import Profile
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.bucketed_engine import BucketedEngine

GROWTH = 1.05  # factor of regrets from stage to stage


class CFRBR:
    """A solver (`solver.py`): both seats' abstracted players, each against a best response in every iteration."""

    def __init__(
        self,
        tree: BettingTree,
        buckets: BucketMap,
        *,
        schedule: str = "cfr+",
        stage: int | None = None,
        growth: float = GROWTH,
        keep: str = "both",
        threads: int = 1,
        precision: type = np.float32,
    ) -> None:
        _check(schedule, stage, growth)
        self.averaging = keeps_average(keep)
        if stage is not None and not self.averaging:
            raise InputError("a stage begins with the average, and none is kept", remedy="leave out stage or keep")
        self.tree, self.buckets, self.variant = tree, buckets, schedule
        self.stage, self.growth = stage, growth
        self.engine = BucketedEngine(tree, (buckets, buckets), threads=threads, precision=precision)
        self.layout: SlotLayout = self.engine.layouts[0]
        self.regret: F32 = self.engine.zeros(0)
        self.average: F32 = self.engine.zeros(0) if self.averaging else np.zeros(0, precision)
        self.iteration = self.nodes = 0
        self.choice = self.engine.choices()
        self.current_losses = (0.0, 0.0)  # of the strategies at the start of the last iteration

    def run(self, iterations: int) -> None:
        """Do some more iterations."""
        engine, average = self.engine, self.average if self.averaging else None
        for _ in range(iterations):
            done = self.iteration % self.stage if self.stage else self.iteration
            if done == 0 and self.iteration:
                begin_stage(self.layout, self.growth, self.regret, self.average)
            weights = schedule(self.variant)(done + 1)
            losses = []
            for player in range(PLAYERS):
                lost = engine.respond(
                    1 - player, self.regret, choice=self.choice, average=average, keep=weights.average
                )
                engine.update(player, self.regret, weights, choice=self.choice)
                losses.append(lost)
            self.current_losses = losses[0], losses[1]
            self.iteration += 1
            self.nodes += 2 * PLAYERS * len(self.tree) * len(engine.engine.cards.cards)

    def losses(self, *, current: bool = False) -> tuple[float, float]:
        """What each player's average (or current) strategy loses to a best response, in chips a hand."""
        table = table_of(self, CURRENT if current else AVERAGE)
        return self.engine.respond(1, table), self.engine.respond(0, table)

    def profile(self, *, current: bool = False) -> Profile:
        """The average strategy, or the current one."""
        return profile_of(self.layout, table_of(self, CURRENT if current else AVERAGE))

    def state(self) -> dict[str, Any]:
        """The opponents' actions: ties keep them."""
        return {"choice": self.choice}

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Resume a run whose tables have been restored."""
        choice = check_like(state, {"choice": self.choice})["choice"]
        self.engine.check_choices(choice)
        self.iteration, self.nodes = iteration, nodes
        self.choice[:] = choice


class AbstractCFR:
    """CFR without sampling, with a map for each player; a player with the lossless map is unabstracted."""

    def __init__(
        self,
        tree: BettingTree,
        maps: tuple[BucketMap, BucketMap],
        *,
        schedule: str = "cfr+",
        stage: int | None = None,
        threads: int = 1,
        precision: type = np.float32,
    ) -> None:
        _check(schedule, stage)
        _check_memory(tree, maps, precision)
        self.tree, self.maps, self.variant, self.stage = tree, maps, schedule, stage
        self.engine = BucketedEngine(tree, maps, threads=threads, precision=precision)
        self.regret = [self.engine.zeros(player) for player in range(PLAYERS)]
        self.average = [self.engine.zeros(player) for player in range(PLAYERS)]
        self.iteration = 0

    def run(self, iterations: int) -> None:
        """Do some more iterations, players in turn."""
        for _ in range(iterations):
            done = self.iteration % self.stage if self.stage else self.iteration
            if done == 0 and self.iteration:
                for layout, regret, average in zip(self.engine.layouts, self.regret, self.average, strict=True):
                    begin_stage(layout, 1.0, regret, average)
            weights = schedule(self.variant)(done + 1)
            for player in range(PLAYERS):
                theirs, average = self.regret[1 - player], self.average[1 - player]
                self.engine.update(player, self.regret[player], weights, theirs=theirs, average=average)
            self.iteration += 1

    def losses(self) -> tuple[float, float]:
        """What each player's average strategy loses to a best response of the whole game, in chips a hand."""
        return self.engine.respond(1, self.average[0]), self.engine.respond(0, self.average[1])

    def profile(self, player: int) -> Profile:
        """A player's average strategy; the other player's part is uniform."""
        return profile_of(self.engine.layouts[player], self.average[player])


def table_bytes(tree: BettingTree, maps: tuple[BucketMap, BucketMap], precision: type = np.float32) -> int:
    """Memory of `AbstractCFR`'s tables: regrets and averages of each player's own slots."""
    slots = 0
    for player, buckets in enumerate(maps):
        layout = SlotLayout(tree, buckets.buckets)
        slots += int(layout.width[:, player] @ np.array(layout.buckets, np.int64))
    return 2 * slots * np.dtype(precision).itemsize


def begin_stage(layout: SlotLayout, growth: float, regret: Any, average: Any) -> None:
    """Make the average strategy current, with regrets multiplied by `growth`; unreached buckets keep theirs."""
    for node in np.flatnonzero(layout.tree.kind == DECISION).tolist():
        mine, kept = layout.at(regret, node), layout.at(average, node)
        positive = np.maximum(mine, 0)
        size, reach = positive.sum(axis=1, keepdims=True), kept.sum(axis=1, keepdims=True)
        mine[:] = growth * np.where(reach > 0, size * kept / np.where(reach > 0, reach, 1), positive)
    average[:] = 0


def profile_of(layout: SlotLayout, table: F32 | F64) -> Profile:
    """The strategy in proportion to the positive part of a table; uniform where that is zero."""
    profile = Profile(layout, np.maximum(table, 0).astype(np.float32))
    for node in np.flatnonzero(layout.tree.kind == DECISION).tolist():
        chances = profile.at(node)
        total = chances.sum(axis=1, keepdims=True)
        played = total > 0
        chances[:] = np.where(played, chances / np.where(played, total, 1), 1 / chances.shape[1])
    return profile


def keeps_average(keep: str) -> bool:
    """Whether `keep` (both or current) asks for a table of averages."""
    if keep not in ("both", "current"):
        raise InputError(f"keep {shown(keep)}", remedy="use both or current")
    return keep == "both"


def _check(variant: str, stage: int | None, growth: float = 1.0) -> None:
    schedule(variant)
    if (stage is not None and stage < 1) or not growth >= 1:
        raise InputError(f"stages of {stage} iterations, growth {growth}", remedy="use 1 or more for both")
    if variant == "predictive":
        raise InputError("the predictive variant needs tables of its own", remedy="use another, e.g. cfr+")


def _check_memory(tree: BettingTree, maps: tuple[BucketMap, BucketMap], precision: type) -> None:
    needed, free = table_bytes(tree, maps, precision), available_memory()
    if needed > free:
        raise InputError(
            f"the tables need {size_text(needed)}, and only {size_text(free)} is free",
            remedy="use fewer buckets, or CFR-BR, whose opponent has no tables",
        )
