"""The engine of `subgame_walk.py`: a betting program, tables of a subgame's rows, and the memory of a thread.

A seat's abstracted player and its opponent have tables of the rows that a subgame has. They are opened from the tables
of the run, two walks fill them (the opponent's, who responds, then the abstracted player's, who answers), and what they
have gathered is added to the run.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.arrays import aligned_zeros
from equipoise.core.jit import F32, I32, I64, U16
from equipoise.core.simd import LANES
from equipoise.games.rules import PLAYERS
from equipoise.solvers.cfr_br.subgame_last_street import NOWHERE, Above, Choices, LaneRows
from equipoise.solvers.cfr_br.subgame_tables import Pace, RowPlaces, RowTables, Slots, close_rows, open_rows
from equipoise.solvers.cfr_br.subgame_walk import (
    Lanes,
    SeatWalk,
    parts_of,
    walk_and_add,
    walk_batches,
    walk_seat,
    walk_to_last,
)
from equipoise.solvers.sampled_last_street import Batches, LaneSpace, compile_batches, make_lane_space
from equipoise.tree.betting_tree import DECISION, FOLDED, SHOWDOWN, BettingTree
from equipoise.tree.board_buckets import PresentBuckets
from equipoise.tree.infosets import SlotLayout, board_blocks
from equipoise.tree.subgame_boards import Subgame
from equipoise.walk.betting_program import BettingProgram, compile_tree
from equipoise.walk.bucket_decisions import BucketBuffers, bucket_buffers
from equipoise.walk.bucketed_walk import BoardRule, BucketRule, RecordedActions, WalkFlags
from equipoise.walk.engine import find_runouts, make_walk_buffers
from equipoise.walk.plan import EMPTY, NO_RUNOUTS, Plan, RunoutMatrices, WalkBuffers, padded

Found = tuple[RowTables, RowTables]  # of the abstracted player and its opponent
Kept = dict[tuple[int, int], RowTables]  # [abstracted or not, player]


class RunTables(NamedTuple):
    """The tables of a run."""

    regrets: tuple[F32, F32]  # of the abstracted players, and of their opponents in the trunk
    average: F32  # of the abstracted players; empty if it is not kept


@dataclass(frozen=True, eq=False)
class Prepared:
    """A subgame with all that its walks read but for tables."""

    subgame: Subgame
    plan: Plan
    plays: tuple[BoardRule, BoardRule]  # [seat of the abstracted player] without tables
    places: tuple[tuple[RowPlaces, RowPlaces], ...]  # [abstracted, unabstracted][player]
    lanes: U16  # [hole of a last board] which it is
    most: int  # rows of a street before the last


@dataclass(eq=False)
class Worker:
    """The memory of one thread."""

    workspace: WalkBuffers
    spaces: tuple[LaneSpace, LaneSpace]  # [walker]
    above: Above
    scratch: dict[int, BucketBuffers] = field(default_factory=dict)
    at: I64 = field(default_factory=lambda: np.full(1, -1, np.int64))  # where a walk stands
    choice: Any = field(default_factory=lambda: np.zeros(0, np.uint8))
    lanes: Any = field(default_factory=lambda: np.zeros(0, np.uint16))


@dataclass(frozen=True, eq=False)
class Team:
    """Threads that share the last street of a walk, each with rows of its own."""

    pool: ThreadPoolExecutor
    spaces: SimpleQueue[tuple[LaneSpace, LaneSpace]]

    def walk(self, walk: SeatWalk, tables: tuple[F32, F32], worker: Worker) -> None:
        """As `walk_seat`, the last street shared."""
        for places, table, rows in zip(walk.places, tables, walk.tables, strict=True):
            open_rows(places, table, rows)
        for mine in (1, 0):
            plan, play, lanes = parts_of(walk, mine)
            while (board := walk_to_last(plan, play, lanes, worker.workspace, worker.at)) >= 0:
                self._share(board, plan, play, lanes)

    def _share(self, board: int, plan: Plan, play: BoardRule, lanes: Lanes) -> None:
        """Walk the last boards below a board."""

        def some(batch: int) -> None:
            spaces = self.spaces.get()
            try:
                walk_batches(batch, batch + 1, board, plan, play, lanes._replace(space=spaces[plan.walker]))
            finally:
                self.spaces.put(spaces)

        list(self.pool.map(some, range(len(lanes.batches.lanes))))


class SubgameEngine:
    """Walks subgames for one run; `layouts` are those of the abstracted player and of its opponent."""

    def __init__(self, tree: BettingTree, layouts: tuple[SlotLayout, SlotLayout], trunk: int, holes: int) -> None:
        self.tree, self.layouts, self.trunk, self.holes = tree, layouts, trunk, holes
        self.last = tree.rules.rounds - 1
        self.program: BettingProgram = compile_tree(tree)
        nodes = self.program.arrays.node
        self.street = tree.street[nodes]
        self.offset = tuple(layout.offset[nodes] for layout in layouts)
        self.stride = layouts[0].stride[nodes]  # that of both: rows do not depend on how many there are
        self.batches = tuple(compile_batches(self.program, walker, self.offset[0]) for walker in range(PLAYERS))
        self.nodes = _Nodes(self.program, self.batches[0])

    def spaces(self) -> tuple[LaneSpace, LaneSpace]:
        """Memory of a thread for the last street, by walker."""
        first, second = (make_lane_space(batches, self.holes, 1) for batches in self.batches)
        return first, second

    def team(self, pool: ThreadPoolExecutor, threads: int) -> Team:
        """Threads to share walks."""
        team = Team(pool, SimpleQueue())
        for _ in range(threads):
            team.spaces.put(self.spaces())
        return team

    def worker(self) -> Worker:
        """Memory for a thread."""
        rounds, holes = self.tree.rules.rounds, self.holes
        size = len(self.batches[0].lanes) * padded(holes) * LANES
        above = Above(aligned_zeros(size, np.float32), aligned_zeros(size, np.float32))
        return Worker(make_walk_buffers(self.program, [*[holes] * (rounds - 1), 0]), self.spaces(), above)

    def prepare(self, subgame: Subgame) -> Prepared:
        """Make what does not change with the tables."""
        places = self._places(subgame)
        plays = self._play(subgame, places, 0), self._play(subgame, places, 1)
        last = subgame.cards.street_first[self.last]
        every = np.arange(int(subgame.cards.arrays.counts[last, 0]), dtype=np.uint16)
        most = max(len(part) for rows in subgame.rows for part in rows[: self.last])
        return Prepared(subgame, self._plan(subgame), plays, places, every, most)

    def walk(self, prepared: Prepared, seat: int, tables: RunTables, worker: Worker, team: Team | None = None) -> Found:
        """Both walks of a subgame for the abstracted player in a seat, and what they have gathered."""
        walk = self._seat_walk(prepared, seat, tables, worker, {})
        if team is None:
            walk_seat(walk, tables.regrets, worker.workspace, worker.at)
        else:
            team.walk(walk, tables.regrets, worker)
        return walk.tables

    def add(self, prepared: Prepared, seat: int, found: Found, tables: RunTables, pace: Pace) -> None:
        """Add what walks have gathered to the tables of a run."""
        for which, player in enumerate((seat, 1 - seat)):
            places = prepared.places[which][player]
            close_rows(places, found[which], pace, tables.regrets[which], tables.average)

    def walk_and_add(
        self, prepared: Prepared, seat: int, tables: RunTables, worker: Worker, pace: Pace, kept: Kept
    ) -> None:
        """Both at once, for the only subgame of an iteration; its tables are kept for the next."""
        walk = self._seat_walk(prepared, seat, tables, worker, kept)
        walk_and_add(walk, tables.regrets, tables.average, pace, worker.workspace, worker.at)

    def _seat_walk(self, prepared: Prepared, seat: int, tables: RunTables, worker: Worker, kept: Kept) -> SeatWalk:
        opponent, play, averaging = 1 - seat, prepared.plays[seat], tables.average.size > 0
        found = self._rows(prepared, 0, seat, averaging, kept), self._rows(prepared, 1, opponent, False, kept)
        actions = self._room(prepared.subgame, play.rule.recorded.first, opponent, worker)
        recorded = play.rule.recorded._replace(action=actions)
        play = play._replace(rule=play.rule._replace(recorded=recorded, buffers=self._scratch(prepared, worker)))
        answers = WalkFlags(self.trunk, answers=True)
        responds = WalkFlags(self.trunk, responds=True, writes=True, averaging=averaging)
        return SeatWalk(
            prepared.plan, play, (seat, opponent),
            (answers, responds), (prepared.places[0][seat], prepared.places[1][opponent]), found,
            (self.batches[seat], self.batches[opponent]), (worker.spaces[seat], worker.spaces[opponent]),
            self._choices(prepared, opponent, worker), worker.above,
        )  # fmt: skip

    def _rows(self, prepared: Prepared, which: int, player: int, averaging: bool, kept: Kept) -> RowTables:
        """Tables for a subgame's rows: those that are kept, if they fit, or new ones."""
        nodes, places = self.nodes, prepared.places[which][player]
        size = int(places.base[-1])
        rows = len(prepared.subgame.rows[which][self.last]) if self._in_lanes(which) else 0
        found = kept.get((which, player))
        if found and found.regret.size == size and found.lanes.rows == rows:
            return found
        del found
        kept.pop((which, player), None)  # its memory goes first
        whole: F32 = np.zeros((3 if averaging else 2) * size, np.float32)
        regret, increment, average = whole[:size], whole[size : 2 * size], whole[2 * size :]
        actions, reached = nodes.actions[player] * rows * LANES, nodes.decisions[player] * rows * LANES
        lanes = aligned_zeros(2 * actions + (reached if averaging else 0), np.float32)
        chance, total, reach = lanes[:actions], lanes[actions : 2 * actions], lanes[2 * actions :]
        first, before = nodes.first[player], nodes.before[player]
        kept[which, player] = RowTables(regret, increment, average, LaneRows(first, chance, total, reach, before, rows))
        return kept[which, player]

    def _in_lanes(self, which: int) -> bool:
        """Whether a player has tables on the last street; else it responds there."""
        return which == 0 or self.trunk > self.last

    def _places(self, subgame: Subgame) -> tuple[tuple[RowPlaces, RowPlaces], ...]:
        """[abstracted, unabstracted][player] where its rows stand."""
        nodes, found = self.nodes, []
        for which, (layout, rows) in enumerate(zip(self.layouts, subgame.rows, strict=True)):
            counts = np.array([len(part) for part in rows], np.int64)
            buckets = np.concatenate([*rows, np.zeros(0, np.uint32)])
            slots = Slots(self.batches[0].place, nodes.lanes, self.offset[which], self.stride, nodes.width)
            before = np.zeros(self.last, np.int64)
            before[: len(counts)] = counts[: self.last]
            of_players = []
            for player in range(PLAYERS):
                first, width = (np.ascontiguousarray(part[:, player]) for part in (layout.first, layout.width))
                base = _starts(before * width[: self.last])
                of_players.append(RowPlaces(buckets, _starts(counts), base, first, width, slots))
            found.append((of_players[0], of_players[1]))
        return tuple(found)

    def _play(self, subgame: Subgame, places: tuple[tuple[RowPlaces, RowPlaces], ...], seat: int) -> BoardRule:
        """What both walks of a seat have in common, without tables."""
        program, cards, rounds = self.program.arrays, subgame.cards.arrays, self.tree.rules.rounds
        base = np.zeros((PLAYERS, rounds), np.int64)
        counts = np.zeros((rounds, PLAYERS), np.int32)
        for player in range(PLAYERS):
            which = 0 if player == seat else 1
            base[player, : self.last] = places[which][player].base[:-1]
            counts[: len(subgame.rows[which]), player] = [len(part) for part in subgame.rows[which]]
        acting = np.maximum(program.player, 0)
        present = PresentBuckets(
            number=subgame.number[seat],
            bucket=np.arange(counts.max(), dtype=np.uint32),
            first=np.zeros((len(cards.street), PLAYERS), np.int64),
            counts=counts[cards.street],
        )
        rows = self._choice_rows[1][cards.street]
        rows[:, seat] = 0
        recorded = RecordedActions(first=board_blocks(rows, cards.counts)[0], row=self._choice_rows[0])
        offset, nothing = base[acting, self.street] + self._column, BucketBuffers(EMPTY, EMPTY, EMPTY)
        rule = BucketRule(offset, self.stride, EMPTY, EMPTY, EMPTY, EMPTY, nothing, WalkFlags(), recorded)
        return BoardRule(present, subgame.cards.chances, rule)

    @cached_property
    def _column(self) -> I64:
        """[place] where a decision stands in a row."""
        layout, nodes = self.layouts[0], self.program.arrays.node
        first = layout.first[self.street, np.maximum(self.program.arrays.player, 0)]
        return np.where(self.program.arrays.kind == DECISION, layout.offset[nodes] - first, 0)

    @cached_property
    def _choice_rows(self) -> tuple[I32, I64, list[list[Any]]]:
        """[place] a responder's decision among those of its street; [street, player] how many; and their passive

        actions. On the last street and in the trunk there are none.
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

    def _room(self, subgame: Subgame, first: I64, player: int, worker: Worker) -> Any:
        """Room for what a responder does before the last street, filled with its passive actions."""
        cards = subgame.cards.arrays
        _, rows, passive = self._choice_rows
        for street in range(self.trunk, self.last):
            for board in range(subgame.cards.street_first[street], subgame.cards.street_first[street + 1]):
                start, count = int(first[board, player]), int(cards.counts[board, player])
                end = start + int(rows[street, player]) * count
                if worker.choice.size < end:
                    worker.choice = np.concatenate([worker.choice, np.zeros(2 * end - worker.choice.size, np.uint8)])
                worker.choice[start:end].reshape(-1, count)[:] = passive[street][player][:, np.newaxis]
        return worker.choice

    def _choices(self, prepared: Prepared, player: int, worker: Worker) -> Choices:
        """Room for what a responder does on the last street."""
        nodes, first = self.nodes, prepared.subgame.cards.street_first
        boards = first[self.last + 1] - first[self.last]
        size = boards * nodes.actions[player] * prepared.lanes.size if self.trunk <= self.last else 0
        if worker.lanes.size < size:
            worker.lanes = np.zeros(size, np.uint16)
        return Choices(nodes.first[player], worker.lanes, nodes.actions[player], prepared.lanes, first[self.last])

    def _scratch(self, prepared: Prepared, worker: Worker) -> BucketBuffers:
        if prepared.most not in worker.scratch:
            worker.scratch = {prepared.most: bucket_buffers(int(self.tree.num_children.max()), prepared.most)}
        return worker.scratch[prepared.most]

    def _plan(self, subgame: Subgame) -> Plan:
        """What a walk of player 0 reads."""
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


def _starts(sizes: I64) -> I64:
    """[part + 1] where parts of some sizes start, and where the last ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


class _Nodes:
    """Decisions of the last street's batches: [node of a batch] or by player."""

    def __init__(self, program: BettingProgram, batches: Batches) -> None:
        arrays, self._arrays = program.arrays, program.arrays
        places = batches.place[:, 0]
        decides = arrays.kind[places] == DECISION
        self.width: I32 = np.where(decides, arrays.num_children[places], 0).astype(np.int32)
        ends = np.append(batches.first_place[1:], len(places))
        self.lanes: I32 = np.repeat(batches.lanes, ends - batches.first_place).astype(np.int32)
        self.first, self.before, self.actions, self.decisions = [], [], [], []
        for player in range(PLAYERS):
            mine = decides & (arrays.player[places] == player)
            widths = np.where(mine, self.width, 0)
            self.first.append(np.where(mine, np.cumsum(widths) - widths, NOWHERE).astype(np.int32))
            self.before.append(np.where(mine, np.cumsum(mine) - mine, NOWHERE).astype(np.int32))
            self.actions.append(int(widths.sum()))
            self.decisions.append(int(mine.sum()))

    def passive_of(self, place: int) -> int:
        """Which action of a decision checks or calls: the first that does not fold."""
        arrays = self._arrays
        if arrays.kind[place] != DECISION:
            return 0
        return int(arrays.kind[arrays.first_child[place]] == FOLDED)
