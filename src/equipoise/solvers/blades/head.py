"""The head: regrets and averages of the top, and the order of the steps (`solvers/split.py`)."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.array_checks import check_array, check_range
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, F64, I64, U64
from equipoise.games.rules import PLAYERS
from equipoise.solvers.blades.messages import Message, Reply, random_state, random_states
from equipoise.solvers.blades.table_split import TableSplit
from equipoise.solvers.blades.top_walk import TopState, deal_holes, walk_top
from equipoise.solvers.external_sampling import make_buffers
from equipoise.solvers.schedule import Periods
from equipoise.solvers.solver import check_tables

LEAST_BATCH = 10  # iterations
_NO_VALUES = np.zeros(0)


class _Step(NamedTuple):
    """What the second pass needs to repeat the first."""

    message: Message
    bucket: I64  # [deal, player, street]
    random: np.uint64  # the state of the generator before the first pass
    played: F32  # the regrets that strategies come from


class BladesHead:
    """A head (`split.Head`) of some parts. A step has `batch` iterations, or fewer at the end of a period.

    The first steps are shorter, 1/`growth` of the iterations before them: the strategies of the top are fixed within a
    step, and early on they change quickly.

    Strategies of a step come from the regrets `most_begun` steps before it, whether that many steps are under way or
    the steps are done one after another. We play by the regrets that are expected when those steps are done: each is
    expected to add what the last one added (as predictive regret matching does, Farina and others 2021).
    """

    def __init__(
        self,
        split: TableSplit,
        parts: int,
        *,
        periods: Periods,
        batch: int,
        growth: int,
        most_begun: int,
        seed: int,
    ) -> None:
        if min(batch, growth, most_begun) < 1:
            raise InputError(
                f"steps of {batch} hands (growth {growth}), {most_begun} at a time", remedy="give at least one of each"
            )
        self.split, self.parts, self.periods, self.seed = split, parts, periods, seed
        self.batch, self.growth, self._most_begun = batch, growth, most_begun
        self.regret: F32 = np.zeros(split.top.slots, np.float32)
        self.average: F32 = np.zeros(split.top.slots, np.float32)
        self.iteration = self.nodes = 0
        self._begun: deque[_Step] = deque()
        self._played = deque(self.regret.copy() for _ in range(most_begun))  # for the next steps
        self._random: U64 = random_states(1)
        self._buffers = make_buffers(split.tree, self._random)[0]
        self._room = 8 * batch  # for continuations; grows

    @property
    def most_begun(self) -> int:
        """How many steps may have begun and not finished."""
        return self._most_begun

    @property
    def begun(self) -> int:
        """The number of iterations that are done or under way."""
        return self.iteration + sum(len(step.message.hands) for step in self._begun)

    def begin(self) -> list[Message]:
        """Deal a batch and walk the top for the first time."""
        if not self._played:
            raise RuntimeError(f"{len(self._begun)} steps are under way")
        first = self.begun
        rules, deals = self.split.rules, self._deals(first)
        self._random[0] = random_state(self.seed, first, 0)
        hands = np.empty((deals, PLAYERS * rules.hole_cards), np.uint8)
        deal_holes(np.arange(rules.deck.size, dtype=np.uint8), self._random, hands)
        bucket = self.split.buckets.buckets_of_deals(hands.reshape(-1, rules.hole_cards))
        bucket = bucket.reshape(deals, PLAYERS, -1)
        random, played = self._random[0], self._played.popleft()
        starts, nodes = np.zeros(2 * deals + 1, np.uint32), int(self._buffers.nodes[0])
        while True:
            node = np.empty(self._room, np.uint32)
            met = walk_top(bucket, False, _NO_VALUES, self._state(played), self._buffers, starts, node)
            if met <= self._room:
                break
            self._room = 2 * met
            self._random[0], self._buffers.nodes[0] = random, nodes
        message = Message(first, hands, starts, node[:met].copy())
        self._begun.append(_Step(message, bucket, random, played))
        return [message] * self.parts

    def _deals(self, first: int) -> int:
        """The number of iterations in the step that starts at an iteration."""
        return min(self.batch, max(LEAST_BATCH, first // self.growth), self.periods.left(first))

    def finish(self, replies: list[Reply]) -> None:
        """Walk the top of the oldest step again, with the values of the parts."""
        step = self._begun.popleft()
        message, values = step.message, self._values(replies)
        if self.periods.starts(message.iteration):
            self.periods.discount(message.iteration, self.regret, self.average)
        before = self.regret.copy()
        self._random[0] = step.random
        walk_top(step.bucket, True, values, self._state(step.played), self._buffers, message.first, message.node)
        self._played.append(self.regret + np.float32(self.most_begun) * (self.regret - before))
        self.iteration += len(message.hands)
        self.nodes += int(self._buffers.nodes[0]) + sum(reply.nodes for reply in replies)
        self._buffers.nodes[0] = 0

    def _values(self, replies: list[Reply]) -> F64:
        """The mean over all boards that the hands leave possible."""
        total: F64 = np.sum([reply.values for reply in replies], axis=0)
        return total / self.split.boards_left

    def _state(self, played: F32) -> TopState:
        split = self.split
        record = split.records_of(split.top)
        return TopState(record, played, self.regret, self.average, self.periods.plus, split.street)

    def arrays(self) -> dict[str, Any]:
        """The tables, and the regrets that the next steps play by. No step may be under way."""
        if self._begun:
            raise RuntimeError(f"{len(self._begun)} steps are under way")
        return {"regret": self.regret, "average": self.average, "played": np.stack(self._played)}

    def restore(self, iteration: int, nodes: int, arrays: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        played = arrays.get("played", np.zeros(0))
        if len(played) != self.most_begun:
            raise InputError(f"a run with {len(played)} steps at a time", remedy="resume it with as many")
        tables = check_tables(arrays, {"regret": self.regret, "average": self.average})
        check_array(played, "played", (self.most_begun, len(self.regret)), np.float32)
        check_range(played, "played")
        self.regret[:], self.average[:] = tables["regret"], tables["average"]
        self._played, self._begun = deque(np.array(each, np.float32) for each in played), deque()
        self.iteration, self.nodes = iteration, nodes
        self._buffers.nodes[0] = 0
