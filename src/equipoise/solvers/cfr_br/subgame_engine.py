"""The engine of the hybrid agent: it prepares subgames, and updates the tables of a run from them.

`prepare` makes all that the walks of a subgame read and that does not depend on tables. `update` loads the subgame's
rows from the run, walks (the opponent responds, then the abstracted player answers), and adds the sums to the run.
Everything that belongs to a player is indexed by its role, then by the player.

Where an iteration has one subgame and no more threads than seats, one kernel does it all. Otherwise threads walk the
subgames of a seat, or share the last street, and sums are added in the order of the samples: results do not depend on
the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.arrays import aligned_zeros
from equipoise.core.jit import F32, I32, I64, U16
from equipoise.core.simd import LANES
from equipoise.games.rules import PLAYERS
from equipoise.solvers.cfr_br.subgame_last_street import (
    NOWHERE,
    LastStreetChoices,
    LastStreetTables,
    LastStreetWalk,
)
from equipoise.solvers.cfr_br.subgame_tables import (
    LastStreetSlots,
    RowLocations,
    SubgameTables,
    UpdateScale,
    add_to_run,
    load_rows,
)
from equipoise.solvers.cfr_br.subgame_walk import (
    SeatWalk,
    role_walk,
    update_run,
    walk_last_street,
    walk_seat,
    walk_to_last_street,
)
from equipoise.solvers.sampled_last_street import LastStreetBuffers, make_last_street_buffers, pack_by_slot
from equipoise.tree.betting_tree import DECISION, FOLDED, SHOWDOWN, BettingTree
from equipoise.tree.board_buckets import PresentBuckets
from equipoise.tree.infosets import SlotLayout, board_blocks
from equipoise.tree.subgame_boards import ABSTRACTED, ROLES, UNABSTRACTED, Subgame
from equipoise.walk.betting_program import BettingProgram, compile_tree
from equipoise.walk.bucket_decisions import BucketBuffers, bucket_buffers
from equipoise.walk.bucketed_walk import BoardRule, BucketRule, RecordedActions, WalkFlags
from equipoise.walk.engine import find_runouts, make_walk_buffers
from equipoise.walk.last_street.packing import EntryBatches, EntryBuffers, make_entry_buffers
from equipoise.walk.plan import EMPTY, NO_RUNOUTS, Plan, RunoutMatrices, WalkBuffers


class RunTables(NamedTuple):
    """The tables of a run."""

    regrets: tuple[F32, F32]  # [role] of the abstracted players, and of their opponents in the trunk
    average: F32  # of the abstracted players; empty if it is not kept


class SeatBuckets(NamedTuple):
    """How the players of a seat's walks find their buckets."""

    offset: I64  # [place] of a decision in its player's table of the subgame
    present: PresentBuckets
    choice_first: I64  # [board, player] where the responder's recorded actions start


@dataclass(frozen=True, eq=False)
class PreparedSubgame:
    """A subgame with all that its walks read except tables."""

    subgame: Subgame
    plan: Plan  # of player 0
    locations: tuple[tuple[RowLocations, ...], ...]  # [role][player]
    buckets: tuple[SeatBuckets, SeatBuckets]  # [player who is abstracted]
    every_hole: U16  # [hole of a last board] its position
    max_rows: int  # of a street before the last


@dataclass(eq=False)
class SubgameBuffers:
    """The memory of one thread."""

    workspace: WalkBuffers
    last_street: tuple[LastStreetBuffers, LastStreetBuffers]  # [walker]
    entries: EntryBuffers
    scratch: dict[int, BucketBuffers] = field(default_factory=dict)
    at: I64 = field(default_factory=lambda: np.full(1, -1, np.int64))  # where a walk has paused
    choice: Any = field(default_factory=lambda: np.zeros(0, np.uint8))
    choice_lanes: Any = field(default_factory=lambda: np.zeros(0, np.uint16))


KeptTables = dict[tuple[int, int], SubgameTables]  # [role, player]


class SubgameEngine:
    """Updates the tables of a run from subgames; `layouts` are [role]. The tables change in place."""

    def __init__(
        self,
        tree: BettingTree,
        layouts: tuple[SlotLayout, SlotLayout],
        tables: RunTables,
        *,
        trunk: int,
        holes: int,
        boards: int,
        threads: int,
    ) -> None:
        self.tree, self.layouts, self.tables, self.trunk, self.holes = tree, layouts, tables, trunk, holes
        self.last = tree.rules.rounds - 1
        self.program: BettingProgram = compile_tree(tree)
        nodes = self.program.arrays.node
        self.street = tree.street[nodes]
        self.offset = tuple(layout.offset[nodes] for layout in layouts)
        self.stride = layouts[0].stride[nodes]  # that of both: rows do not depend on the number of buckets
        self.batches = tuple(pack_by_slot(self.program, walker, self.offset[0]) for walker in range(PLAYERS))
        self.nodes = _LastStreetNodes(self.program, self.batches[0])
        self._start_threads(boards, threads)

    # --- update -------------------------------------------------------------------------------------------------

    def update(self, subgames: list[PreparedSubgame], seat: int, scale: UpdateScale) -> None:
        """Update the tables of the abstracted player in a seat, and of its opponent, from an iteration's subgames."""
        if len(subgames) == 1 and not self._sharing:
            with self._lent(self._buffers) as buffers:
                walk = self._seat_walk(subgames[0], seat, buffers, self._kept[seat])
                regrets, average = self.tables
                update_run(walk, regrets, average, scale, buffers.workspace, buffers.at)
            return
        walk_each = partial(self._walk, seat=seat)
        walked = list(self._pool.map(walk_each, subgames) if self._leaders > PLAYERS else map(walk_each, subgames))
        for prepared, found in zip(subgames, walked, strict=True):
            for role, player in enumerate((seat, 1 - seat)):
                locations, regret = prepared.locations[role][player], self.tables.regrets[role]
                add_to_run(locations, found[role], scale, regret, self.tables.average)

    def _walk(self, prepared: PreparedSubgame, seat: int) -> tuple[SubgameTables, SubgameTables]:
        with self._lent(self._buffers) as buffers:
            return self.walk(prepared, seat, buffers)

    def walk(
        self, prepared: PreparedSubgame, seat: int, buffers: SubgameBuffers
    ) -> tuple[SubgameTables, SubgameTables]:
        """Both walks of a subgame for the abstracted player in a seat; returns the tables that they filled."""
        walk = self._seat_walk(prepared, seat, buffers, {})
        regrets, work, at = self.tables.regrets, buffers.workspace, buffers.at
        if not self._sharing:
            walk_seat(walk, regrets, work, at)
            return walk.tables
        for role in range(ROLES):
            load_rows(walk.locations[role], regrets[role], walk.tables[role])
        for role in (UNABSTRACTED, ABSTRACTED):
            plan, rule, last = role_walk(walk, role, 1 - role)
            while (board := walk_to_last_street(plan, rule, last, work, at)) >= 0:
                share = partial(self._walk_batch, board=board, parts=(plan, rule, last))
                list(self._sharing.map(share, range(len(last.batches.num_lanes))))
        return walk.tables

    def _walk_batch(self, batch: int, board: int, parts: tuple[Plan, BoardRule, LastStreetWalk]) -> None:
        plan, rule, last = parts
        with self._lent(self._shared_buffers) as buffers:
            walk_last_street(batch, batch + 1, board, plan, rule, last._replace(buffers=buffers[plan.walker]))

    def _seat_walk(self, prepared: PreparedSubgame, seat: int, buffers: SubgameBuffers, kept: KeptTables) -> SeatWalk:
        """The arguments of both walks of a seat; tables that fit are taken from `kept`."""
        opponent, averaging = 1 - seat, self.tables.average.size > 0
        mine = self._subgame_tables(prepared, ABSTRACTED, seat, averaging, kept)
        theirs = self._subgame_tables(prepared, UNABSTRACTED, opponent, False, kept)
        responds = WalkFlags(self.trunk, responds=True, writes=True, averaging=averaging)
        answers = WalkFlags(self.trunk, answers=True)
        buckets = prepared.buckets[seat]
        choice = self._choice(prepared.subgame, buckets.choice_first, opponent, buffers)
        rule = BucketRule(
            buckets.offset, self.stride, EMPTY, EMPTY, EMPTY, EMPTY, self._scratch(prepared, buffers), WalkFlags(),
            RecordedActions(choice, buckets.choice_first, self._choice_rows[0]),
        )  # fmt: skip
        return SeatWalk(
            plan=prepared.plan,
            rule=BoardRule(buckets.present, prepared.subgame.cards.chances, rule),
            walkers=(seat, opponent),
            flags=(answers, responds),
            locations=(prepared.locations[ABSTRACTED][seat], prepared.locations[UNABSTRACTED][opponent]),
            tables=(mine, theirs),
            batches=(self.batches[seat], self.batches[opponent]),
            buffers=(buffers.last_street[seat], buffers.last_street[opponent]),
            choices=self._choices(prepared, opponent, buffers),
            entries=buffers.entries,
        )

    def _subgame_tables(
        self, prepared: PreparedSubgame, role: int, player: int, averaging: bool, kept: KeptTables
    ) -> SubgameTables:
        """Tables for a subgame's rows: the kept ones if they fit, or new ones."""
        nodes, locations = self.nodes, prepared.locations[role][player]
        size = int(locations.base[-1])
        responds = role == UNABSTRACTED and self.trunk <= self.last  # on the last street: no tables there
        rows = 0 if responds else len(prepared.subgame.rows[role][self.last])
        found = kept.get((role, player))
        if found and found.regret.size == size and found.last.rows == rows:
            return found
        del found
        kept.pop((role, player), None)  # free its memory first
        whole: F32 = np.zeros((3 if averaging else 2) * size, np.float32)
        regret, increment, average = whole[:size], whole[size : 2 * size], whole[2 * size :]
        actions, reached = nodes.actions[player] * rows * LANES, nodes.decisions[player] * rows * LANES
        lanes = aligned_zeros(2 * actions + (reached if averaging else 0), np.float32)
        chance, total, reach = lanes[:actions], lanes[actions : 2 * actions], lanes[2 * actions :]
        first, before = nodes.first_action[player], nodes.first_decision[player]
        last = LastStreetTables(first, before, chance, total, reach, rows)
        kept[role, player] = SubgameTables(regret, increment, average, last)
        return kept[role, player]

    # --- threads and memory -------------------------------------------------------------------------------------

    def _start_threads(self, boards: int, threads: int) -> None:
        """Threads that each take a seat of a subgame lead; with more, those share the last street."""
        self._leaders = min(threads, PLAYERS * boards)
        self._kept: tuple[KeptTables, KeptTables] = {}, {}  # [seat]
        self._buffers: SimpleQueue[SubgameBuffers] = SimpleQueue()
        for _ in range(self._leaders):
            self._buffers.put(self.buffers())
        self._pool = ThreadPoolExecutor(self._leaders)
        self._sharing = ThreadPoolExecutor(threads) if threads > self._leaders else None
        self._shared_buffers: SimpleQueue[tuple[LastStreetBuffers, LastStreetBuffers]] = SimpleQueue()
        for _ in range(threads if self._sharing else 0):
            self._shared_buffers.put(self._last_street_buffers())

    @contextmanager
    def _lent(self, queue: SimpleQueue[Any]) -> Iterator[Any]:
        """Memory that no other thread uses meanwhile."""
        buffers = queue.get()
        try:
            yield buffers
        finally:
            queue.put(buffers)

    def buffers(self) -> SubgameBuffers:
        """Memory for one thread."""
        workspace = make_walk_buffers(self.program, [*[self.holes] * self.last, 0])
        entries = make_entry_buffers(len(self.batches[0].num_lanes), self.holes)
        return SubgameBuffers(workspace, self._last_street_buffers(), entries)

    def _last_street_buffers(self) -> tuple[LastStreetBuffers, LastStreetBuffers]:
        first, second = (make_last_street_buffers(batches, self.holes, 1) for batches in self.batches)
        return first, second

    def _choice(self, subgame: Subgame, first: I64, player: int, buffers: SubgameBuffers) -> Any:
        """Memory for a responder's actions before the last street, filled with its passive actions."""
        cards = subgame.cards.arrays
        _, rows, passive = self._choice_rows
        for street in range(self.trunk, self.last):
            for board in range(subgame.cards.street_first[street], subgame.cards.street_first[street + 1]):
                start, count = int(first[board, player]), int(cards.counts[board, player])
                end = start + int(rows[street, player]) * count
                if buffers.choice.size < end:
                    buffers.choice = np.concatenate([buffers.choice, np.zeros(2 * end - buffers.choice.size, np.uint8)])
                buffers.choice[start:end].reshape(-1, count)[:] = passive[street][player][:, np.newaxis]
        return buffers.choice

    def _choices(self, prepared: PreparedSubgame, player: int, buffers: SubgameBuffers) -> LastStreetChoices:
        """Memory for a responder's actions on the last street."""
        nodes, first = self.nodes, prepared.subgame.cards.street_first
        boards = first[self.last + 1] - first[self.last]
        size = boards * nodes.actions[player] * prepared.every_hole.size if self.trunk <= self.last else 0
        if buffers.choice_lanes.size < size:
            buffers.choice_lanes = np.zeros(size, np.uint16)
        return LastStreetChoices(
            nodes.first_action[player],
            buffers.choice_lanes,
            nodes.actions[player],
            prepared.every_hole,
            first[self.last],
        )

    def _scratch(self, prepared: PreparedSubgame, buffers: SubgameBuffers) -> BucketBuffers:
        if prepared.max_rows not in buffers.scratch:
            buffers.scratch = {prepared.max_rows: bucket_buffers(int(self.tree.num_children.max()), prepared.max_rows)}
        return buffers.scratch[prepared.max_rows]

    # --- prepare ------------------------------------------------------------------------------------------------

    def prepare(self, subgame: Subgame) -> PreparedSubgame:
        """All that does not change with the tables."""
        locations = self._locations(subgame)
        last = subgame.cards.street_first[self.last]
        every_hole = np.arange(int(subgame.cards.arrays.counts[last, 0]), dtype=np.uint16)
        max_rows = max(len(part) for rows in subgame.rows for part in rows[: self.last])
        buckets = self._seat_buckets(subgame, locations, 0), self._seat_buckets(subgame, locations, 1)
        return PreparedSubgame(subgame, self._plan(subgame), locations, buckets, every_hole, max_rows)

    def _plan(self, subgame: Subgame) -> Plan:
        """The geometry of a walk of player 0; both players start from the same holes, with the sample's weight."""
        cards = subgame.cards
        holes = int(cards.arrays.counts[0, 0])
        return Plan(
            program=self.program.arrays,
            boards=cards.arrays,
            walker=0,
            two_cards=self.tree.rules.hole_cards == 2,
            runouts=self._runouts(subgame),
            weights=cards.arrays.weight,
            root_reach=np.full(holes, subgame.weight, np.float32),
            root_value=np.zeros(holes, np.float32),
        )

    def _runouts(self, subgame: Subgame) -> RunoutMatrices:
        """Showdowns before the last street, where there are any."""
        kinds = self.program.arrays.kind[self.street < self.last]
        if (kinds == SHOWDOWN).any():
            return find_runouts(self.tree, subgame.with_sampled_cards)
        return NO_RUNOUTS

    def _locations(self, subgame: Subgame) -> tuple[tuple[RowLocations, ...], ...]:
        """[role][player] where its rows are."""
        nodes, places = self.nodes, self.batches[0].places
        found = []
        for role, (layout, rows) in enumerate(zip(self.layouts, subgame.rows, strict=True)):
            counts = np.array([len(part) for part in rows], np.int64)
            buckets = np.concatenate([*rows, np.zeros(0, np.uint32)])
            slots = LastStreetSlots(places, nodes.num_lanes, self.offset[role], self.stride, nodes.num_actions)
            above = np.zeros(self.last, np.int64)
            above[: len(counts)] = counts[: self.last]
            of_players = []
            for player in range(PLAYERS):
                first, width = (np.ascontiguousarray(part[:, player]) for part in (layout.first, layout.width))
                base = _starts(above * width[: self.last])
                of_players.append(RowLocations(buckets, _starts(counts), base, first, width, slots))
            found.append(tuple(of_players))
        return tuple(found)

    def _seat_buckets(
        self, subgame: Subgame, locations: tuple[tuple[RowLocations, ...], ...], seat: int
    ) -> SeatBuckets:
        """How both players of a seat's walks find their buckets."""
        program, cards, rounds = self.program.arrays, subgame.cards.arrays, self.tree.rules.rounds
        base = np.zeros((PLAYERS, rounds), np.int64)
        counts = np.zeros((rounds, PLAYERS), np.int32)
        for role, player in enumerate((seat, 1 - seat)):
            base[player, : self.last] = locations[role][player].base[:-1]
            counts[: len(subgame.rows[role]), player] = [len(part) for part in subgame.rows[role]]
        acting = np.maximum(program.player, 0)
        present = PresentBuckets(
            number=subgame.local_bucket[seat],
            bucket=np.arange(counts.max(), dtype=np.uint32),
            first=np.zeros((len(cards.street), PLAYERS), np.int64),
            counts=counts[cards.street],
        )
        choices = self._choice_rows[1][cards.street]
        choices[:, seat] = 0
        first = board_blocks(choices, cards.counts)[0]
        return SeatBuckets(base[acting, self.street] + self._column, present, first)

    @cached_property
    def _column(self) -> I64:
        """[place] the offset of a decision in a row."""
        layout, nodes = self.layouts[0], self.program.arrays.node
        first = layout.first[self.street, np.maximum(self.program.arrays.player, 0)]
        return np.where(self.program.arrays.kind == DECISION, layout.offset[nodes] - first, 0)

    @cached_property
    def _choice_rows(self) -> tuple[I32, I64, list[list[Any]]]:
        """[place] the index of a responder's decision on its street; [street, player] the number of decisions; their

        passive actions. The last street and the trunk have none.
        """
        program = self.program.arrays
        row = np.full(len(program.kind), -1, np.int32)
        passive: list[list[list[int]]] = [[[] for _ in range(PLAYERS)] for _ in range(self.last + 1)]
        for place in np.flatnonzero(program.kind == DECISION).tolist():
            street, player = int(self.street[place]), int(program.player[place])
            if self.trunk <= street < self.last:
                row[place] = len(passive[street][player])
                passive[street][player].append(int(self.nodes.passive_of(place)))
        counts = np.array([[len(part) for part in parts] for parts in passive], np.int64)
        return row, counts, [[np.array(part, np.uint8) for part in parts] for parts in passive]


def _starts(sizes: I64) -> I64:
    """[part + 1] where parts of these sizes start, and where the last ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


class _LastStreetNodes:
    """Decisions of the last street's batches: arrays are [node of a batch], lists [player]."""

    def __init__(self, program: BettingProgram, batches: EntryBatches) -> None:
        arrays, self._arrays = program.arrays, program.arrays
        places = batches.places[:, 0]
        decides = arrays.kind[places] == DECISION
        self.num_actions: I32 = np.where(decides, arrays.num_children[places], 0).astype(np.int32)
        ends = np.append(batches.first_node[1:], len(places))
        self.num_lanes: I32 = np.repeat(batches.num_lanes, ends - batches.first_node).astype(np.int32)
        self.first_action, self.first_decision, self.actions, self.decisions = [], [], [], []
        for player in range(PLAYERS):
            mine = decides & (arrays.player[places] == player)
            widths = np.where(mine, self.num_actions, 0)
            self.first_action.append(np.where(mine, np.cumsum(widths) - widths, NOWHERE).astype(np.int32))
            self.first_decision.append(np.where(mine, np.cumsum(mine) - mine, NOWHERE).astype(np.int32))
            self.actions.append(int(widths.sum()))
            self.decisions.append(int(mine.sum()))

    def passive_of(self, place: int) -> int:
        """The action of a decision that checks or calls: the first that does not fold."""
        arrays = self._arrays
        if arrays.kind[place] != DECISION:
            return 0
        return int(arrays.kind[arrays.first_child[place]] == FOLDED)
