"""Two tables against each other, hand after hand in one kernel: the betting of the real game, cards of the full deck.

Each side stands at a node of its own tree and reads the other's bets as `agents/translate.py` says; here it draws once
and remembers, which is what the mixture of `agents/table.py` is seen from outside. The betting state is a row as in
`tree/betting_tree.py`, whose `take` this is. Cards are dealt, and buckets and ranks looked up, for many hands at once:
a kernel that had those tables too would take a minute to compile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.agents.table import Table, read_row
from equipoise.agents.translate import LIVE, call_child, landing, read_bet, said_action, standing
from equipoise.core.arrays import Int
from equipoise.core.jit import F64, I32, I64, U8, U16, U64, inlined, kernel
from equipoise.games.betting_state import CALL, FOLD
from equipoise.solvers.external_kernel import draw_word
from equipoise.tree.betting_tree import (
    COLUMNS,
    DEAL,
    DECISION,
    FOLDED,
    KIND,
    MIN_RAISE,
    MOST_ACTIONS,
    PLAYER,
    RAISES,
    SPENT,
    WAITING,
    BettingPlan,
    take,
)

MOST_HISTORY = 512  # actions of a hand that are written down
END = -2
_32, _11 = np.uint64(32), np.uint64(11)
_UNIT = 2.0**-53


class Room(NamedTuple):
    """One thread's memory; by side unless it says otherwise."""

    random: U64  # [1]
    state: I32  # [column] of the betting
    node: I64
    chances: F64  # [action]
    scratch: F64  # [action]
    found: I64  # [2]

    @classmethod
    def of(cls, stream: np.random.SeedSequence) -> Room:
        return cls(
            stream.generate_state(1, np.uint64) | np.uint64(1),
            np.zeros(COLUMNS, np.int32),
            np.zeros(2, np.int64),
            np.zeros(MOST_ACTIONS),
            np.zeros(MOST_ACTIONS),
            np.zeros(2, np.int64),
        )


@inlined
def _share(random: U64) -> float:
    return np.float64(draw_word(random) >> _11) * _UNIT


@inlined
def _act(table: Table, who: Int, bucket: Int, street: Int, plan: BettingPlan, room: Room) -> Int:
    """What a side does where it is to act; it moves on in its tree. Returns the action."""
    state, node = room.state, room.node[who]
    player = state[PLAYER]
    if standing(table.tree, node, street, player) != LIVE:
        return CALL
    count = read_row(table, node, bucket, room.chances, room.scratch)
    left = _share(room.random)
    choice = 0
    while choice < count - 1 and left >= room.chances[choice]:
        left -= room.chances[choice]
        choice += 1
    while room.chances[choice] <= 0.0 and choice > 0:  # rounding left something beyond the last action
        choice -= 1
    child = np.int64(table.tree.first_child[node]) + choice
    spent, opposing = state[SPENT + player], state[SPENT + 1 - player]
    most = max(spent, opposing)
    least, largest = np.int64(0), np.int64(0)
    if state[RAISES] < plan.max_raises[street] and most < plan.stack and opposing < plan.stack:
        if plan.limit:
            least = min(np.int64(most) + np.int64(plan.raise_size[street]), np.int64(plan.stack))
            largest = least
        else:
            least, largest = min(np.int64(state[MIN_RAISE]), np.int64(plan.stack)), np.int64(plan.stack)
    room.node[who] = landing(table.tree, child)
    return said_action(table.tree, node, child, most, least, largest, spent < most)


@inlined
def _watch(table: Table, who: Int, action: Int, street: Int, room: Room) -> None:
    """The other side's action, before it is taken: move on in the tree."""
    tree, state, node = table.tree, room.state, room.node[who]
    if action == FOLD or standing(tree, node, street, state[PLAYER]) != LIVE:
        return
    if action == CALL:
        room.node[who] = landing(tree, call_child(tree, node))
        return
    most = max(state[SPENT], state[SPENT + 1])
    chance = read_bet(tree, node, action, most, table.reading, room.found)
    room.node[who] = room.found[0] if chance >= 1.0 or _share(room.random) < chance else room.found[1]


@inlined
def _open(street: Int, plan: BettingPlan, state: I32) -> None:
    """The start of a street."""
    state[KIND] = DECISION
    state[PLAYER] = plan.first[street]
    state[RAISES] = 0
    state[WAITING] = 2
    state[MIN_RAISE] = max(state[SPENT], state[SPENT + 1]) + plan.big_blind


@inlined
def _play(
    one: Table, two: Table, seat: Int, buckets: I64, plan: BettingPlan, blinds: I64, room: Room, history: I32
) -> Int:
    """The betting of one hand; side one is player `seat`. IN: int64[side, street]; OUT: int32[action] ended by END, if

    it has room. Returns who folded, -1 if nobody did; the chips are in the room's state.
    """
    state, street, length = room.state, np.int64(0), 0
    first, second = np.int64(0), np.int64(1)  # not constants: those would be compiled twice
    for player in range(2):
        state[SPENT + player] = blinds[player]
        room.node[player] = 0
    _open(0, plan, state)
    state[MIN_RAISE] = 2 * plan.big_blind
    while True:
        player = state[PLAYER]
        if player == seat:
            action = np.int64(_act(one, first, buckets[0, street], street, plan, room))
            _watch(two, second, action, street, room)
        else:
            action = np.int64(_act(two, second, buckets[1, street], street, plan, room))
            _watch(one, first, action, street, room)
        if length < history.size - 1:
            history[length] = action
            length += 1
        take(action, street, plan, state)
        if state[KIND] == DEAL:
            street += 1
            _open(street, plan, state)
        elif state[KIND] != DECISION:
            if history.size:
                history[length] = END
            return player if state[KIND] == FOLDED else -1


@kernel
def play_deals(
    one: Table,
    two: Table,
    buckets: I64,
    ranks: U16,
    plan: BettingPlan,
    blinds: I64,
    room: Room,
    values: F64,
    history: I32,
) -> None:
    """Deals, each played twice with seats changed. IN: int64[deal, seat, side, street], uint16[deal, seat, side] of all

    seven cards; OUT: float64[deal, seat] chips of side one as player 0 and as player 1; int32[deal, seat, action].
    """
    for i in range(values.shape[0]):
        for seat in range(2):
            folded = _play(one, two, seat, buckets[i, seat], plan, blinds, room, history[i, seat])
            sign = np.int64(ranks[i, seat, 0] > ranks[i, seat, 1]) - np.int64(ranks[i, seat, 0] < ranks[i, seat, 1])
            if folded >= 0:
                sign = np.int64(-1 if folded == seat else 1)
            values[i, seat] = float(sign * np.int64(min(room.state[SPENT], room.state[SPENT + 1])))


@kernel
def deal_cards(duplicate: bool, deck: U8, random: U64, deals: U8) -> None:
    """Deal at random; without `duplicate`, other cards for each seat. IN: uint8[card]; OUT: uint8[deal, seat, card]."""
    for i in range(deals.shape[0]):
        for seat in range(2):
            for at in range(deals.shape[2] if seat == 0 or not duplicate else 0):
                other = np.uint64(at) + (((draw_word(random) >> _32) * np.uint64(deck.size - at)) >> _32)
                card = deck[other]
                deck[other] = deck[at]
                deck[at] = card
            for at in range(deals.shape[2]):
                deals[i, seat, at] = deck[at]
