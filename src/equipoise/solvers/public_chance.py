"""Public chance sampling over bucketed tables (Johanson and others 2012), several boards an iteration (Jackson 2013).

An iteration samples full boards. On each, the opponent's reach of all holes goes down the betting tree, card by card;
terminals are worked out for all holes at once; values come up, card by card, by the walker's strategy. At the walker's
decisions, values of actions are summed over the holes of a bucket: what the bucket regrets is linear in them, so that
this is what aggregating at terminals and street transitions gives, for perfect and imperfect recall alike. Regrets are
updated once, after all boards: all see the same strategies.

Holes that the full board blocks are left out on every street. Given two holes, all boards that block neither are
equally likely, so the expected increments are the exact regrets x one constant; and all actions see the same holes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap, card_fingerprint
from equipoise.cards.deck import check_hole_cards
from equipoise.core.arrays import Float, Int, aligned_zeros
from equipoise.core.errors import InputError
from equipoise.core.jit import F32, I64, U32, inlined, inner, kernel, view
from equipoise.games.rules import PLAYERS
from equipoise.solvers.board_samples import BoardSource, BoardSpace, Samples, check_sampling
from equipoise.solvers.sampled_last_street import (
    BucketedTables,
    LastStreetBuffers,
    make_last_street_buffers,
    pack_by_slot,
    walk_sampled_batches,
)
from equipoise.solvers.schedule import Gains
from equipoise.tree.betting_tree import DECISION, BettingTree
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.betting_program import compile_tree
from equipoise.walk.bucket_decisions import Scratch, match_regrets, mean_value, pass_reach, sum_by_bucket
from equipoise.walk.engine import EMPTY, look, make_workspace
from equipoise.walk.last_street.packing import ROOT, EntryBatches
from equipoise.walk.plan import EVALUATE, Plan, Runouts, Tables, Workspace, padded, row_of, rows_of
from equipoise.walk.terminals import evaluate_terminals
from equipoise.walk.walk import sum_rows

_ANY = np.float32(-np.inf)


class PublicChance:
    """A solver (`solver.py`) by public chance sampling.

    `boards` are sampled an iteration, in cycles or independently: see `board_samples.py`. Discounts are those of
    `schedule.Gains`, so that an iteration touches only buckets that are present on its board.
    Threads share the entries of the last street, each its own part of the tables: results do not depend on how many.
    """

    def __init__(
        self,
        tree: BettingTree,
        buckets: BucketMap,
        *,
        boards: int = 1,
        cycle: bool = True,
        schedule: str = "cfr+",
        seed: int = 1,
        threads: int = 1,
    ) -> None:
        _check(tree, buckets, boards)
        self.tree, self.buckets, self.boards = tree, buckets, boards
        self.layout = SlotLayout(tree, buckets.buckets)
        self.regret = np.zeros(self.layout.slots, np.float32)
        self.average = np.zeros(self.layout.slots, np.float32)
        self.iteration = self.nodes = self.visited = 0
        self.source = BoardSource(tree.rules, seed, cycle)
        self.threads = threads
        self._gains = Gains(schedule)
        self._increment = self.regret if boards == 1 else np.zeros(self.layout.slots, np.float32)
        self._space = BoardSpace(buckets, boards)
        holes = [self._space.holes] * tree.rules.rounds
        self._program = compile_tree(tree)
        present = max(min(self._space.holes, count) for count in buckets.buckets)
        slots = int(tree.num_children.max()) * present
        self._scratch = Scratch(*(aligned_zeros(size, np.float32) for size in (slots, slots, present)))
        self._workspace = make_workspace(self._program, [*holes[:-1], 0])
        self._batches = [pack_by_slot(self._program, walker, self._offset) for walker in range(PLAYERS)]
        self._spaces = [
            [make_last_street_buffers(batches, self._space.holes, present) for _ in range(threads)]
            for batches in self._batches
        ]

    def run(self, iterations: int) -> None:
        """Do some more iterations."""
        for _ in range(iterations):
            self._space.lay(*self.source.boards(self.visited, self.boards))
            tables = self._discounted()
            for walker in range(PLAYERS):
                self._walk(walker, tables)
            self.visited += self.boards
            self.iteration += 1
            self.nodes += PLAYERS * self.boards * len(self.tree)

    def _discounted(self) -> BucketedTables:
        """Do a schedule's discounts of the next iteration, in the tables or in what is added to them."""
        gains = self._gains
        gains.advance(self.iteration + 1, [self.regret], [self.average])
        return BucketedTables(
            self._offset, self._stride, self.regret, self._increment, self.average,
            np.float32(gains.regret), gains.floor if self.boards == 1 else _ANY, np.float32(gains.average),
        )  # fmt: skip

    def _walk(self, walker: int, tables: BucketedTables) -> None:
        """All boards of an iteration for one walker, and the update of its regrets."""
        plan, samples = self._plans[walker], self._space.samples
        batches, scratch, work = self._batches[walker], self._scratch, self._workspace
        if self.threads == 1:
            walk_sampled(plan, batches, samples, tables, scratch, self._spaces[walker][0], work)
        else:
            for board in range(self.boards):
                walk_down(board, plan, samples, tables, scratch, work)
                self._walk_last(board, walker, tables)
                walk_up(board, plan, samples, tables, scratch, work)
        if self.boards > 1:
            lengths = self.layout.width * np.array(self.layout.buckets, np.int64)[:, np.newaxis]
            add_increments(self.layout.first[:, walker], lengths[:, walker], self._gains.floor, tables)

    def _walk_last(self, board: int, walker: int, tables: BucketedTables) -> None:
        """The last street of a board in threads, which write rows and parts of tables of their own."""
        plan, batches = self._plans[walker], self._batches[walker]
        count, pieces = len(batches.num_lanes), 4 * self.threads
        waiting = iter([(count * i // pieces, count * (i + 1) // pieces) for i in range(pieces)])

        def work(space: LastStreetBuffers) -> None:
            for first, last in waiting:
                walk_sampled_batches(
                    first, last, board, plan, batches, self._space.samples, tables, space, self._workspace
                )

        list(self._pool.map(work, self._spaces[walker]))

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads)

    @cached_property
    def _offset(self) -> I64:
        return self.layout.offset[self._program.arrays.node]

    @cached_property
    def _stride(self) -> I64:
        return self.layout.stride[self._program.arrays.node]

    @cached_property
    def _plans(self) -> list[Plan]:
        """What the terminals of each walker read: no tables, no runouts before the last street."""
        nowhere, nothing = np.zeros((0, PLAYERS), np.int64), np.zeros(0)
        tables = Tables(nowhere, EMPTY, EMPTY, EMPTY, nowhere, EMPTY.reshape(0, 2), nothing, np.zeros((PLAYERS, 0)))
        runouts = Runouts(nowhere, np.zeros(0, np.int16), nothing)
        return [
            Plan(
                program=self._program.arrays,
                boards=self._space.boards,
                runouts=runouts,
                tables=tables,
                step=look(walker, EVALUATE),
                weights=nothing,
                two_cards=self.tree.rules.hole_cards == 2,
                root_reach=EMPTY,
                root_value=EMPTY,
            )
            for walker in range(PLAYERS)
        ]

    def state(self) -> dict[str, Any]:
        """Where the sequence of boards stands, and what the next increments count."""
        sampling = np.array([*self._sampling.values(), self.visited], np.int64)
        return {"sampling": sampling, "gains": self._gains.state()}

    @property
    def _sampling(self) -> dict[str, int]:
        """What the boards of a run follow from."""
        return {"seed": self.source.seed, "cycle": int(self.source.cycle), "boards": self.boards}

    def restore(self, iteration: int, nodes: int, state: dict[str, Any]) -> None:
        """Take up a run whose tables have been put back."""
        check_sampling(self._sampling, state["sampling"])
        self.iteration, self.nodes, self.visited = iteration, nodes, int(state["sampling"][-1])
        self._gains.restore(state["gains"])


def _check(tree: BettingTree, buckets: BucketMap, boards: int) -> None:
    if boards < 1:
        raise InputError(f"{boards} boards an iteration", remedy="sample at least one")
    if card_fingerprint(tree.rules) != card_fingerprint(buckets.rules):
        raise InputError("buckets of a game with other cards", remedy="build the abstraction for this game")
    check_hole_cards(tree.rules.hole_cards, "public chance sampling")
    if tree.street[0] != 0:
        raise InputError("a tree that public chance sampling cannot walk", remedy="use a whole game")


# --- one decision --------------------------------------------------------------------------------------------------


@inlined
def add_regrets(
    present: U32, chance: F32, total: F32, gain: Float, floor: Float, mean: F32, stride: Int, block: F32
) -> None:
    """IN: uint32[k], float[action, k] strategy, float[action, k] values; scratch: float[k]; IN OUT: float flat."""
    actions = chance.shape[0]
    for k in range(present.size):
        mean[k] = 0
    for action in range(actions):
        for k in range(present.size):
            mean[k] += chance[action, k] * total[action, k]
    for k in range(present.size):
        at = np.int64(present[k]) * stride
        for action in range(actions):
            block[at + action] = max(block[at + action] + gain * (total[action, k] - mean[k]), floor)


@inlined
def add_average(present: U32, chance: F32, total: F32, gain: Float, stride: Int, block: F32) -> None:
    """IN: uint32[k], float[action, k] strategy, float[k] reach; IN OUT: float[slot] from the first."""
    actions = chance.shape[0]
    for k in range(present.size):
        at = np.int64(present[k]) * stride
        reach = gain * total[k]
        for action in range(actions):
            block[at + action] += reach * chance[action, k]


# --- one board -----------------------------------------------------------------------------------------------------


@inner
def go_down(
    group: Int, board: Int, street: Int, plan: Plan, samples: Samples, tables: BucketedTables, scratch: Scratch,
    work: Workspace,
) -> None:  # fmt: skip
    """Pass the opponent's reach from a group's entries to all of its nodes, and add to its average."""
    program, walker = plan.program, plan.step.walker
    number, size = samples.number[board, street], samples.number.shape[2]
    present = samples.present[board, street, : samples.num_present[board, street]]
    base, length = work.reach_base[street], padded(size)
    rows = program.reach_row[walker]
    for place in range(program.group_first[group], program.group_first[group + 1]):
        if program.kind[place] != DECISION or program.player[place] == walker:
            continue
        reach = row_of(work.reach, base, rows[place], length)[:size]
        child, count = program.first_child[place], np.int64(program.num_children[place])
        chance = rows_of(scratch.chance, 0, 0, count, present.size)
        match_regrets(tables.regret[tables.offset[place] :], tables.stride[place], present, count, chance)
        pass_reach(reach, number, chance, rows_of(work.reach, base, rows[child], count, length))
        total = scratch.total[: present.size]
        sum_by_bucket(reach, number, total)
        average = tables.average[tables.offset[place] :]
        add_average(present, chance, total, tables.average_gain, tables.stride[place], average)


@inner
def go_up(
    group: Int, board: Int, street: Int, plan: Plan, samples: Samples, tables: BucketedTables, scratch: Scratch,
    work: Workspace,
) -> None:  # fmt: skip
    """Turn values of a group's terminals and deals into those of its decisions, and add what the walker regrets."""
    program, walker = plan.program, plan.step.walker
    number, size = samples.number[board, street], samples.number.shape[2]
    present = samples.present[board, street, : samples.num_present[board, street]]
    start, base, length = program.group_first[group], work.value_base[street], padded(size)
    for place in range(program.group_first[group + 1] - 1, start - 1, -1):
        if program.kind[place] != DECISION:
            continue
        value = row_of(work.value, base, place - start, length)[:size]
        count = np.int64(program.num_children[place])
        values = rows_of(work.value, base, program.first_child[place] - start, count, length)
        if program.player[place] != walker:
            sum_rows(values, value)
            continue
        chance = rows_of(scratch.chance, 0, 0, count, present.size)
        total = rows_of(scratch.total, 0, 0, count, present.size)
        match_regrets(tables.regret[tables.offset[place] :], tables.stride[place], present, count, chance)
        mean_value(values, number, chance, value)
        for action in range(count):
            sum_by_bucket(values[action][:size], number, total[action])
        block = tables.increment[tables.offset[place] :]
        stride = tables.stride[place]
        add_regrets(present, chance, total, tables.gain, tables.floor, scratch.mean, stride, block)


@view
def bring_reach(
    group: Int, board: Int, street: Int, plan: Plan, samples: Samples, above: Workspace, work: Workspace
) -> None:
    """The reach of a group's entries: that of the deals they open from; at the root, the board's weight."""
    program, size = plan.program, samples.number.shape[2]
    rows = program.reach_row[plan.step.walker]
    for entry in range(program.group_entries[group], program.group_entries[group + 1]):
        reach = row_of(work.reach, work.reach_base[street], rows[program.entries[entry]], padded(size))
        deal = program.entry_deal[entry]
        if deal == ROOT:
            for h in range(size):
                reach[h] = samples.weight[board]
        else:
            source = row_of(above.reach, above.reach_base[int(street) - 1], rows[deal], padded(size))
            for h in range(size):
                reach[h] = source[h]


@view
def hand_back(group: Int, street: Int, plan: Plan, samples: Samples, above: Workspace, work: Workspace) -> None:
    """The values of a group's entries as those of the deals they open from."""
    program, size = plan.program, samples.number.shape[2]
    for entry in range(program.group_entries[group], program.group_entries[group + 1]):
        deal = program.entry_deal[entry]
        if deal == ROOT:
            continue
        row = program.entries[entry] - program.group_first[group]
        value = row_of(work.value, work.value_base[street], row, padded(size))
        row = deal - program.group_first[program.street_groups[street - 1]]
        target = row_of(above.value, above.value_base[int(street) - 1], row, padded(size))
        for h in range(size):
            target[h] = value[h]


@kernel
def walk_down(
    board: Int, plan: Plan, samples: Samples, tables: BucketedTables, scratch: Scratch, work: Workspace
) -> None:
    """The first part of a walk: all streets but the last, down. Showdowns there see the full board."""
    groups = plan.program.street_groups
    for street in range(groups.size - 2):
        for group in range(groups[street], groups[street + 1]):
            bring_reach(group, board, street, plan, samples, work, work)
            go_down(group, board, street, plan, samples, tables, scratch, work)
            evaluate_terminals(group, board, street, True, plan, work)


@kernel
def walk_up(
    board: Int, plan: Plan, samples: Samples, tables: BucketedTables, scratch: Scratch, work: Workspace
) -> None:
    """The last part: all streets but the last, up."""
    groups = plan.program.street_groups
    for street in range(groups.size - 3, -1, -1):
        for group in range(groups[street], groups[street + 1]):
            go_up(group, board, street, plan, samples, tables, scratch, work)
            hand_back(group, street, plan, samples, work, work)


@kernel
def walk_sampled(
    plan: Plan,
    batches: EntryBatches,
    samples: Samples,
    tables: BucketedTables,
    scratch: Scratch,
    space: LastStreetBuffers,
    work: Workspace,
) -> None:
    """All boards of an iteration in one thread."""
    for board in range(samples.weight.size):
        walk_down(board, plan, samples, tables, scratch, work)
        walk_sampled_batches(0, batches.num_lanes.size, board, plan, batches, samples, tables, space, work)
        walk_up(board, plan, samples, tables, scratch, work)


# --- whole tables --------------------------------------------------------------------------------------------------


@kernel
def add_increments(first: I64, length: I64, floor: Float, tables: BucketedTables) -> None:
    """Add what a walker's passes have gathered to its regrets, and clear it. IN: int64[street] x 2, its slots."""
    for street in range(first.size):
        start, end = first[street], first[street] + length[street]
        regret, increment = tables.regret[start:end], tables.increment[start:end]
        for i in range(regret.size):
            regret[i] = max(regret[i] + increment[i], floor)
            increment[i] = 0
