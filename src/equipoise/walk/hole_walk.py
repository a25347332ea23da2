"""One street of the vector walk for players who act by hole: the opponent's reach down, the walker's values up.

Vector CFR, best response and evaluation differ only in what happens at a decision. The opponent plays a table (regrets
or averages) or fixed probabilities, and may add to its average. The walker updates its regrets (UPDATE), takes the best
action (BEST) or plays its table (EVALUATE). Lists of at most sixteen holes have kernels of their own
(`short_ranges.py`).
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Int
from equipoise.core.jit import inner
from equipoise.core.simd import LANES
from equipoise.tree.betting_tree import DECISION
from equipoise.walk.plan import BEST, UPDATE, HoleRule, Plan, WalkBuffers, padded, row_of, rows_of
from equipoise.walk.regret_matching import (
    add_average,
    add_regret,
    best_value,
    mean_value,
    pass_reach,
    predict,
    sum_rows,
    update_three,
    update_two,
)
from equipoise.walk.short_ranges import add_average_short, is_short, pass_reach_short, sum_short, update_short
from equipoise.walk.table_storage import AVERAGE, REGRET, decode_rows, encode_rows, read_rows


@inner
def descend_by_hole(group: Int, board: Int, street: Int, plan: Plan, rule: HoleRule, work: WalkBuffers) -> None:
    """Pass the opponent's reach from a group's entries to all of its nodes."""
    program, boards, walker, tables = plan.program, plan.boards, plan.walker, rule.tables
    size = np.int64(boards.counts[board, 1 - walker])
    base, length = work.reach_base[street], padded(size)
    rows = program.reach_row[walker]
    block, scales = tables.first[board, 1 - walker], tables.scale_first[board, 1 - walker]
    short, first_row = tables.source.size > 0 and is_short(tables.source, size), base // LANES
    for place in range(program.group_first[group], program.group_first[group + 1]):
        if program.kind[place] != DECISION or program.player[place] == walker:
            continue
        child, count = program.first_child[place], np.int64(program.num_children[place])
        row = program.table_row[place]
        averaging = rule.averaging and program.locked[place] != -1 and program.locked[place] != board + 1
        if short:
            start, to = block + row * size, first_row + rows[child]
            pass_reach_short(work.reach, first_row + rows[place], to, tables.source, start, size, count)
            if averaging:
                add_average_short(work.reach, to, rule.keep, tables.average, start, size, count)
            continue
        reach = row_of(work.reach, base, rows[place], length)[:size]
        below = rows_of(work.reach, base, rows[child], count, length)
        if tables.source.size == 0:
            for action in range(count):
                chance = work.reach.dtype.type(tables.fixed[child + action])
                for h in range(size):
                    below[action, h] = reach[h] * chance
            continue
        source, scratch = rows_of(tables.source, block, row, count, size), rows_of(work.decoded, 0, 0, count, size)
        pass_reach(reach, read_rows(source, scratch), below)
        if averaging:
            kept, scale_at = rows_of(tables.average, block, row, count, size), scales + row
            average = decode_rows(kept, tables.scale, scale_at, AVERAGE, scratch)
            add_average(below, rule.keep, average)
            encode_rows(average, kept, tables.scale, scale_at, AVERAGE, rule.phase)


@inner
def ascend_by_hole(group: Int, board: Int, street: Int, plan: Plan, rule: HoleRule, work: WalkBuffers) -> None:
    """Turn the values of a group's terminals and deals into those of its decisions, and apply the rule there."""
    program, boards, walker, tables = plan.program, plan.boards, plan.walker, rule.tables
    size = np.int64(boards.counts[board, walker])
    base, length = work.value_base[street], padded(size)
    start = program.group_first[group]
    block, scales = tables.first[board, walker], tables.scale_first[board, walker]
    short, first_row = tables.source.size > 0 and is_short(tables.source, size), base // LANES - start
    for place in range(program.group_first[group + 1] - 1, start - 1, -1):
        if program.kind[place] != DECISION:
            continue
        child, count = program.first_child[place], np.int64(program.num_children[place])
        mine, row = program.player[place] == walker, program.table_row[place]
        locked = program.locked[place] == -1 or program.locked[place] == board + 1
        updating = rule.mode == UPDATE and not locked
        if short and not mine:
            sum_short(work.value, first_row + place, first_row + child, count)
            continue
        if short and updating and not rule.predictive:
            here, to, at = first_row + place, first_row + child, block + row * size
            update_short(work.value, here, to, rule.positive, rule.negative, tables.source, at, size, count)
            continue
        value = row_of(work.value, base, place - start, length)[:size]
        values = rows_of(work.value, base, child - start, count, length)
        if not mine:
            sum_rows(values, value)
        elif rule.mode == BEST and not locked:
            best_value(values, value)
        elif tables.source.size == 0:
            for h in range(size):
                value[h] = 0
            for action in range(count):
                chance = work.value.dtype.type(tables.fixed[child + action])
                for h in range(size):
                    value[h] += chance * values[action, h]
        else:
            source, scratch = rows_of(tables.source, block, row, count, size), rows_of(work.decoded, 0, 0, count, size)
            scale_at = scales + row
            if updating and 2 <= count <= 3 and not rule.predictive:
                regret = decode_rows(source, tables.scale, scale_at, REGRET, scratch)
                if count == 2:
                    update_two(values, rule.positive, rule.negative, regret, value)
                else:
                    update_three(values, rule.positive, rule.negative, regret, value)
                encode_rows(regret, source, tables.scale, scale_at, REGRET, rule.phase)
                continue
            mean_value(read_rows(source, scratch), values, value, work.spare)
            if updating:
                kept = rows_of(tables.regret, block, row, count, size)
                regret = decode_rows(kept, tables.scale, scale_at, REGRET, scratch)
                add_regret(values, value, rule.positive, rule.negative, regret)
                encode_rows(regret, kept, tables.scale, scale_at, REGRET, rule.phase)
                if rule.predictive:
                    predict(values, value, regret, source)
