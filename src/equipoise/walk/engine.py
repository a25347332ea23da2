"""The vector engine: a betting program and the boards of a game, tables laid out on them, threads to walk them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from equipoise.cards.showdown import DECK
from equipoise.core.arrays import aligned_zeros
from equipoise.core.jit import F32, F64, I64
from equipoise.core.simd import LANES
from equipoise.games.rules import PLAYERS
from equipoise.tree.betting_tree import DECISION, SHOWDOWN, BettingTree
from equipoise.tree.boards import PublicCards, all_in_matrix, runouts_of_a_pair
from equipoise.tree.infosets import board_blocks
from equipoise.walk.betting_program import CACHE_BYTES, BettingProgram, Stakes, compile_tree
from equipoise.walk.plan import BEST, EMPTY, EVALUATE, HoleRule, Plan, RunoutMatrices, Tables, WalkBuffers, padded
from equipoise.walk.walk import ENTER, LEAVE, WHOLE, Rule, walk_boards


@dataclass(frozen=True, eq=False)
class Engine:
    """Walks a game. `precision` is the type of tables and rows: float32 for solving, float64 for measuring small games.
    Tables may hold 16-bit numbers instead (`stored`, see `table_storage.py`).
    """

    tree: BettingTree
    cards: PublicCards
    stakes: Stakes = Stakes()  # noqa: RUF009
    locked: tuple[tuple[int, int], ...] = ()  # (node, board) whose strategy is fixed; board -1: all
    precision: type = np.float32
    threads: int = 1
    cache_bytes: int = CACHE_BYTES
    stored: type | None = None  # the type of table entries: int16, or None for `precision`

    @cached_property
    def program(self) -> BettingProgram:
        boards = self.cards.arrays
        widest = int(boards.counts[boards.street == self.tree.rules.rounds - 1].max(initial=1))
        cache_rows = self.cache_bytes // (widest * np.dtype(self.precision).itemsize)
        return compile_tree(self.tree, self.stakes, self.locked, cache_rows)

    def on(self, cards: PublicCards) -> Engine:
        """The same game on other boards whose lists are as long: the betting program is shared."""
        engine = replace(self, cards=cards)
        vars(engine)["program"] = self.program
        return engine

    @cached_property
    def _blocks(self) -> tuple[I64, int]:
        boards = self.cards.arrays
        return board_blocks(self.program.arrays.table_rows[boards.street], boards.counts)

    @property
    def table_first(self) -> I64:
        """[board, player] where a board's block starts in a flat table of both players."""
        return self._blocks[0]

    @property
    def slots(self) -> int:
        """The length of a flat table: one number for each live hole, action and board."""
        return self._blocks[1]

    @cached_property
    def _scales(self) -> tuple[I64, int]:
        rows = self.program.arrays.table_rows[self.cards.arrays.street]
        return board_blocks(rows, np.ones(rows.shape, np.int32))

    @property
    def rows(self) -> int:
        """The number of rows of a table."""
        return self._scales[1]

    @property
    def scales(self) -> int:
        """The number of scales: one for each row of a 16-bit table, none for other tables."""
        return self.rows if self.stored == np.int16 else 0

    @property
    def infosets(self) -> int:
        """Decisions of live holes, over all boards walked."""
        program, boards = self.program.arrays, self.cards.arrays
        decisions = np.zeros((self.tree.rules.rounds, PLAYERS), np.int64)
        chosen = program.table_row >= 0
        np.add.at(decisions, (self.tree.street[program.node[chosen]], program.player[chosen]), 1)
        return int((decisions[boards.street] * boards.counts).sum())

    def zeros(self) -> Any:
        """A flat table."""
        return np.zeros(self.slots, self.stored or self.precision)

    def unit_scales(self) -> F32:
        """The scales of empty 16-bit tables: [row of a board, REGRET or AVERAGE]; none for other tables."""
        return np.ones((self.scales, 2), np.float32)

    @cached_property
    def runouts(self) -> RunoutMatrices:
        return find_runouts(self.tree, self.cards)

    def make_buffers(self) -> WalkBuffers:
        """Memory for one thread."""
        boards = self.cards.arrays
        most = [int(boards.counts[boards.street == s].max(initial=0)) for s in range(self.tree.rules.rounds)]
        return make_walk_buffers(self.program, most, self.precision)

    @cached_property
    def buffers(self) -> list[WalkBuffers]:
        """By thread; the first has the rows of the root as well."""
        return [self.make_buffers() for _ in range(max(1, self.threads))]

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads)

    @cached_property
    def root_reach(self) -> tuple[Any, Any]:
        """The ranges, as reach at the root."""
        first, second = self.cards.root_weights
        return first.astype(self.precision), second.astype(self.precision)

    def tables(
        self,
        source: Any,
        regret: Any = None,
        average: Any = None,
        scale: F32 | None = None,
        fixed: F64 | None = None,
    ) -> Tables:
        """Tables for a walk; unused ones may be omitted."""
        empty: Any = EMPTY.astype(self.precision if source is None else source.dtype)
        nothing = np.zeros(0)
        return Tables(
            self.table_first,
            empty if source is None else source,
            empty if regret is None else regret,
            empty if average is None else average,
            self._scales[0],
            EMPTY.reshape(0, 2) if scale is None else scale,
            nothing if fixed is None else fixed,
            np.zeros((PLAYERS, 0)) if fixed is None else self._paths(fixed),
        )

    def _paths(self, fixed: F64) -> F64:
        """[walker, place] the reach of an opponent who plays all holes alike; empty if ranges have weights."""
        program = self.program.arrays
        paths = np.ones((PLAYERS, len(fixed)))
        if any((weights != 1).any() for weights in self.cards.root_weights):
            return np.zeros((PLAYERS, 0))
        above = np.full(len(fixed), -1)
        for parent in np.flatnonzero(program.num_children):
            first = program.first_child[parent]
            above[first : first + program.num_children[parent]] = parent
        for place in range(len(fixed)):  # parents come before children
            if above[place] >= 0:
                paths[:, place] = paths[:, above[place]]
                if program.kind[above[place]] == DECISION:
                    paths[1 - program.player[above[place]], place] *= fixed[place]
        return paths

    def plan(self, walker: int, weights: F64 | None = None) -> Plan:
        """The geometry of one walk; `weights` replace those of the boards."""
        boards = self.cards.arrays
        return Plan(
            program=self.program.arrays,
            boards=boards,
            walker=walker,
            two_cards=self.tree.rules.hole_cards == 2,
            runouts=self.runouts,
            weights=boards.weight if weights is None else weights,
            root_reach=self.root_reach[1 - walker],
            root_value=np.zeros(boards.counts[0, walker], self.precision),
        )

    @property
    def in_threads(self) -> bool:
        """Whether walks use threads: there must be boards to share."""
        return self.threads > 1 and self.cards.arrays.num_children[0] > 1

    def walk(self, walker: int, rule: HoleRule, weights: F64 | None = None) -> Any:
        """One walk; returns the walker's counterfactual values at the root, in the order of its list."""
        plan = self.plan(walker, weights)
        self.run_walk(plan, [rule] * max(1, self.threads), 8 * self.threads)
        return plan.root_value

    def run_walk(self, plan: Plan, rules: Sequence[Rule], pieces: int, *, in_order: bool = False) -> None:
        """One walk, the boards below the root cut into pieces for threads. `rules` are by thread.

        Each thread adds to values of its own, which are summed in the end. It takes the next piece that is left, or,
        `in_order`, always the same pieces.
        """
        main = self.buffers[0]
        if not self.in_threads:
            walk_boards(0, 1, WHOLE, plan, rules[0], main, main)
            return
        walk_boards(0, 1, ENTER, plan, rules[0], main, main)
        first, count = int(plan.boards.first_child[0]), int(plan.boards.num_children[0])
        pieces = min(count, pieces)
        cuts = [(first + count * i // pieces, first + count * (i + 1) // pieces) for i in range(pieces)]
        waiting = iter(cuts)

        def work(thread: int) -> None:
            mine = self.buffers[thread]
            if thread:
                mine.value[:] = 0
            above = main._replace(value=mine.value)
            for start, stop in cuts[thread :: self.threads] if in_order else waiting:
                walk_boards(start, stop, WHOLE, plan, rules[thread], above, mine)

        list(self._pool.map(work, range(self.threads)))
        street = self.cards.root_street
        base = int(main.value_base[street])
        end = base + self.program.value_rows[street] * padded(len(plan.root_value))
        for other in self.buffers[1:]:
            main.value[base:end] += other.value[base:end]
        walk_boards(0, 1, LEAVE, plan, rules[0], main, main)

    def evaluate(self, walker: int, tables: Tables, mode: int = EVALUATE) -> float:
        """The walker's value against the tables' opponent, in chips a hand."""
        return self.chips(walker, self.walk(walker, HoleRule(tables, mode)))

    def chips(self, walker: int, values: Any) -> float:
        """Counterfactual values at the root as chips a hand."""
        return float(values.astype(np.float64) @ self.cards.root_weights[walker] / self.meetings)

    def best_responses(self, tables: Tables) -> tuple[float, float]:
        """The value of each player's best response to the tables, in chips a hand."""
        return self.evaluate(0, tables, BEST), self.evaluate(1, tables, BEST)

    def exploitability(self, tables: Tables) -> float:
        """The average of both players' gains by best responses; without rake, of their values."""
        gain = sum(self.best_responses(tables))
        if self.stakes.rake:
            gain -= self.evaluate(0, tables) + self.evaluate(1, tables)
        return gain / 2

    @cached_property
    def meetings(self) -> float:
        """The total weight of pairs of holes that can meet: values at the root are divided by it."""
        return self.cards.meetings(0)


def find_runouts(tree: BettingTree, cards: PublicCards) -> RunoutMatrices:
    """The all-in matrices of the boards before the last street that need one."""
    boards = cards.arrays
    first = np.full((len(boards.street), PLAYERS), -1, np.int64)
    scale = np.zeros(len(boards.street))
    parts: list[Any] = []
    length = 0
    streets = np.unique(tree.street[tree.kind == SHOWDOWN])
    for board in np.flatnonzero(np.isin(boards.street, streets) & (boards.street < tree.rules.rounds - 1)):
        matrix = all_in_matrix(cards, int(board))
        scale[board] = 1 / runouts_of_a_pair(cards, int(board))
        for player, mine in enumerate((matrix, -matrix.T)):
            first[board, player] = length
            parts.append(mine.ravel())
            length += mine.size
    return RunoutMatrices(first, np.concatenate(parts) if parts else np.zeros(0, np.int16), scale)


def make_walk_buffers(program: BettingProgram, holes: Sequence[int], precision: type = np.float32) -> WalkBuffers:
    """Memory for one thread; `holes` is the longest list of each street."""
    most, rounds = [padded(count) for count in holes], len(holes)
    reach = np.array([rows * size for rows, size in zip(program.reach_rows, most, strict=True)], np.int64)
    value = np.array([rows * size for rows, size in zip(program.value_rows, most, strict=True)], np.int64)
    widest = max(most)
    return WalkBuffers(
        reach=aligned_zeros(int(reach.sum()), precision),
        value=aligned_zeros(int(value.sum()) + widest, precision),  # and a row to spare
        reach_base=np.cumsum(reach) - reach,
        value_base=np.cumsum(value) - value,
        lanes_in=aligned_zeros((widest + 1) * LANES, precision),
        lanes_out=aligned_zeros(widest * LANES, precision),
        lanes_met=aligned_zeros(widest * LANES, precision),
        run=aligned_zeros(DECK * LANES, precision),
        run_share=aligned_zeros(LANES, precision),
        reach_at=np.zeros(LANES, np.int64),
        value_at=np.zeros(LANES, np.int64),
        factor=aligned_zeros(LANES, precision),
        spare=aligned_zeros(widest, precision),
        decoded=aligned_zeros(widest * int(program.arrays.num_children.max()), precision),
        board=np.zeros(rounds, np.int32),
        cursor=np.zeros(rounds, np.int32),
    )
