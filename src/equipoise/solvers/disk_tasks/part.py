"""A part of the disk tasks: the tasks of one machine, walked one after the other.

For each task the part maps its tables, walks the task's boards below its deal, and unmaps them: memory is bounded by
one task and its buffers for each thread. A part keeps nothing but tables between steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.core.arrays import F32, I64
from equipoise.core.errors import InputError
from equipoise.core.files.writing import make_folder
from equipoise.games.rules import PLAYERS
from equipoise.solvers.disk_tasks.cards import GroupedBoards, Sampling
from equipoise.solvers.disk_tasks.cut import GameCut, Task
from equipoise.solvers.disk_tasks.head import Step, Values
from equipoise.solvers.disk_tasks.tables import Use, load_task, make_tables, save_task, task_file
from equipoise.solvers.sampled_last_street import (
    BucketedTables,
    LastStreetBuffers,
    make_last_street_buffers,
    pack_by_slot,
)
from equipoise.solvers.sampled_streets import ANY_REGRET, SubtreeRows, add_increments, rule_of, walk_subtree
from equipoise.solvers.schedule import LazyDiscount
from equipoise.solvers.solver import check_tables
from equipoise.tree.betting_tree import BettingTree
from equipoise.tree.infosets import SlotLayout
from equipoise.walk.betting_program import BettingProgram, compile_tree
from equipoise.walk.bucket_decisions import BucketBuffers, bucket_buffers
from equipoise.walk.engine import make_walk_buffers
from equipoise.walk.last_street.packing import EntryBatches
from equipoise.walk.plan import Plan, WalkBuffers


@dataclass(frozen=True)
class PartSpec:
    """What makes a part of a game and an abstraction, on any machine."""

    tasks: tuple[Task, ...]
    sampling: Sampling
    groups: int = 1  # of public clusters
    folder: str | None = None  # where its tables lie; None: in memory
    threads: int = 1
    direct: bool = False  # past the page cache (`DirectTables`)


class _Subtree(NamedTuple):
    """A betting sequence for the walk, whatever the group."""

    program: BettingProgram
    batches: list[EntryBatches]  # [walker]
    layout: SlotLayout  # of the first group


class _Buffers(NamedTuple):
    """The memory of one thread, for the largest of its tasks."""

    walk: WalkBuffers
    last: list[LastStreetBuffers]  # [walker]
    buckets: BucketBuffers
    increment: F32  # [slot] zero between tasks; empty where an iteration has one board


class DiskPart:
    """A part (`solvers/split.py`). Threads walk different tasks: results do not depend on their number."""

    def __init__(self, tree: BettingTree, buckets: BucketMap, spec: PartSpec) -> None:
        self.spec, self.cut = spec, GameCut(tree, buckets, spec.groups)
        self._boards = GroupedBoards(self.cut.cards, spec.sampling)
        self._subtrees = {sequence: self._compiled(sequence) for sequence in sorted({t.sequence for t in spec.tasks})}
        self._layouts = [self.cut.layout(t, self._subtrees[t.sequence].program.tree) for t in spec.tasks]
        slots = [self.cut.slots(task) for task in spec.tasks]
        self.tables = make_tables(slots, spec.folder, direct=spec.direct, threads=spec.threads)
        self._buffers = [self._make_buffers() for _ in range(spec.threads)]

    def _compiled(self, sequence: int) -> _Subtree:
        tree = self.cut.subtree(sequence)
        program, layout = compile_tree(tree), self.cut.layout(Task(sequence, 0), tree)
        slots = layout.offset[program.arrays.node]
        return _Subtree(program, [pack_by_slot(program, walker, slots) for walker in range(PLAYERS)], layout)

    def _make_buffers(self) -> _Buffers:
        subtrees, boards = list(self._subtrees.values()), self._boards.sampled
        rounds = self.cut.tree.rules.rounds
        programs = [subtree.program for subtree in subtrees]
        largest = replace(
            programs[0],
            reach_rows=tuple(max(rows) for rows in zip(*(program.reach_rows for program in programs), strict=True)),
            value_rows=tuple(max(rows) for rows in zip(*(program.value_rows for program in programs), strict=True)),
        )
        present = max(min(boards.holes, count) for count in self.cut.buckets.buckets)
        most = max(self.cut.slots(task) for task in self.spec.tasks) if self.spec.sampling.boards > 1 else 0
        return _Buffers(
            make_walk_buffers(largest, [*[boards.holes] * (rounds - 1), 0]),
            [
                make_last_street_buffers(_largest([s.batches[walker] for s in subtrees]), boards.holes, present)
                for walker in range(PLAYERS)
            ],
            bucket_buffers(max(int(program.arrays.num_children.max()) for program in programs), present),
            np.zeros(most, np.float32),
        )

    def work(self, message: Step) -> Values:
        """Walk all tasks for one walker."""
        self._boards.fill(message.first_board)
        reach = np.require(message.reach, np.float32, ["C", "W"])  # from another process it may be read-only
        rows = [self._boards.rows[task.group] for task in self.spec.tasks]
        ends = np.cumsum([0, *(len(boards) for boards in rows)])
        if len(reach) != ends[-1]:
            raise InputError(
                f"{len(reach)} rows of reach for {ends[-1]} of this part's tasks and boards",
                remedy="give the head and its parts the same tasks and settings",
            )
        chosen = [index for index, boards in enumerate(rows) if len(boards) or self._rescales(message)]
        value, waiting = np.empty_like(reach), iter(range(len(chosen)))

        def walk(buffers: _Buffers) -> None:
            for place in waiting:
                if place + self.spec.threads < len(chosen):
                    self._prefetch(chosen[place + self.spec.threads], message)
                index = chosen[place]
                here = slice(ends[index], ends[index + 1])
                self._walk(index, message, SubtreeRows(rows[index], reach[here], value[here]), buffers)

        for index in chosen[: self.spec.threads]:
            self._prefetch(index, message)
        if self.spec.threads == 1:
            walk(self._buffers[0])
        else:
            list(self._pool.map(walk, self._buffers))
        sizes = [len(self._subtrees[task.sequence].program.arrays.node) - 1 for task in self.spec.tasks]
        return Values(value, int(np.diff(ends) @ np.array(sizes)))  # a deal is a node of the head

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.spec.threads)

    def _rescales(self, step: Step) -> bool:
        """Does the schedule change all tables before this step?"""
        discount = LazyDiscount(self.spec.sampling.schedule)
        factors = discount.discounts(step.iteration)
        of_all = factors.positive if factors.positive == factors.negative or discount.plus else 0.0
        return step.walker == 0 and not (of_all and factors.average)

    def _use(self, index: int, step: Step) -> Use:
        """A step reads all regrets and the opponent's averages; it changes the walker's regrets and those averages."""
        layout = self._layouts[index]
        everything = [slice(0, layout.slots)]
        if self._rescales(step):
            return Use((everything, everything), (everything, everything))
        averages = layout.parts(1 - step.walker)
        return Use((everything, averages), (layout.parts(step.walker), averages))

    def _prefetch(self, index: int, step: Step) -> None:
        """Have a task's tables read, unless its boards touch few rows and only those pages will be mapped."""
        group = self.spec.tasks[index].group
        touched = len(self._boards.rows[group]) * self._boards.sampled.holes
        if self.spec.direct or touched >= self.cut.cards.counts(group)[-1]:
            self.tables.prefetch(index, self._use(index, step))

    def _walk(self, index: int, step: Step, rows: SubtreeRows, buffers: _Buffers) -> None:
        """One task: discounts, its boards, the update of the walker's regrets."""
        discount = LazyDiscount(self.spec.sampling.schedule)
        regret, average = self.tables.open(index)
        if self._rescales(step):
            discount.advance(step.iteration, [regret], [average])  # tables only: the gains are the head's
        if len(rows.boards):
            self._walk_boards(index, step, rows, regret, average, buffers)
        if len(rows.boards) and buffers.increment.size:
            for part in self._layouts[index].parts(step.walker):
                add_increments(discount.floor, buffers.increment[part], regret[part])
        del regret, average
        self.tables.close(index, self._use(index, step).changed)

    def _walk_boards(
        self, index: int, step: Step, rows: SubtreeRows, regret: F32, average: F32, buffers: _Buffers
    ) -> None:
        subtree, several = self._subtrees[self.spec.tasks[index].sequence], buffers.increment.size > 0
        floor = ANY_REGRET if several else LazyDiscount(self.spec.sampling.schedule).floor
        arrays = subtree.program.arrays
        tables = BucketedTables(
            self._offset(index), subtree.layout.stride[arrays.node], regret, buffers.increment if several else regret,
            average, np.float32(step.gain), floor, np.float32(step.average_gain),
        )  # fmt: skip
        two_cards = self.cut.tree.rules.hole_cards == 2
        plan = Plan(arrays, self._boards.sampled.boards, step.walker, two_cards)
        walk_subtree(
            rows, plan, subtree.batches[step.walker], self._boards.sampled.samples, tables,
            rule_of(tables, buffers.buckets), buffers.last[step.walker], buffers.walk,
        )  # fmt: skip

    def _offset(self, index: int) -> I64:
        """[place] the slots of a task's decisions: those of the first group, moved to where rows start in this one."""
        subtree = self._subtrees[self.spec.tasks[index].sequence]
        tree, node = subtree.program.tree, subtree.program.arrays.node
        moved = self._layouts[index].first - subtree.layout.first
        return subtree.layout.offset[node] + moved[tree.street[node], np.maximum(tree.player[node], 0)]

    def task_tables(self, *, changed: bool = False) -> Iterator[tuple[Task, tuple[F32, F32]]]:
        """The regrets and averages of each task, to read or, if `changed`, to set: valid until the next one."""
        for index, task in enumerate(self.spec.tasks):
            try:
                yield task, self.tables.open(index)
            finally:
                self.tables.close(index, None if changed else ((), ()))

    def read_table(self, index: int, which: int) -> F32:
        """A copy of the regrets (0) or averages (1) of one task."""
        found = self.tables.open(index)[which].copy()
        self.tables.close(index, ((), ()))
        return found

    def arrays(self) -> dict[str, Any]:
        """All tables, copied into memory: for small games. Others have `save`."""
        return {
            f"{name} {task.sequence}-{task.group}": table.copy()
            for task, tables in self.task_tables()
            for name, table in zip(("regret", "average"), tables, strict=True)
        }

    def restore(self, arrays: dict[str, Any]) -> None:
        """Continue from `arrays`, of any parts that had these tasks."""
        for task, tables in self.task_tables(changed=True):
            for name, table in zip(("regret", "average"), tables, strict=True):
                of_task = f"{name} {task.sequence}-{task.group}"
                table[:] = check_tables(arrays, {of_task: table})[of_task]

    def file_names(self) -> list[str]:
        """The names of the files of a checkpoint."""
        return [task_file(task) for task in self.spec.tasks]

    def save(self, folder: str, name: str) -> None:
        """Write a checkpoint, a file for each task, under `folder`/`name`: all of it or nothing."""
        target, written = Path(folder) / name, []
        try:
            make_folder(target)
            for task, tables in self.task_tables():
                written.append(save_task(target, task, self._header(task), tables))
                del tables  # unmapped before the next task is mapped
        except BaseException as error:
            for path in written:
                path.unlink()
            if isinstance(error, OSError):
                raise InputError(f"cannot write: {error.strerror}", where=str(target), remedy="give another") from None
            raise

    def load(self, folder: str, name: str) -> None:
        """Continue from a checkpoint that has this part's tasks."""
        for task, tables in self.task_tables(changed=True):
            load_task(Path(folder) / name, task, self._header(task), tables)
            del tables

    def _header(self, task: Task) -> dict[str, Any]:
        """What a checkpoint's file is of."""
        return {"task": list(task), "groups": self.spec.groups, "buckets": self.cut.buckets.fingerprint}


def _largest(batches: list[EntryBatches]) -> EntryBatches:
    """Batches that need as much memory as any of these."""
    return batches[0]._replace(
        reach_rows=max(each.reach_rows for each in batches),
        value_rows=max(each.value_rows for each in batches),
        max_actions=max(each.max_actions for each in batches),
    )
