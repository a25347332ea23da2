"""Two tables against each other, hand after hand in one kernel: the betting of the real game, cards of the full deck.

Each side stands at a node of its own tree and reads the other's bets as `agents/translate.py` says; here it draws once
and remembers, which is what the mixture of `agents/table.py` is seen from outside. The betting state is a row as in
`tree/public_tree.py`, whose `take` this is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise._arrays import Int
from equipoise._jit import F64, I32, I64, U8, U64, inlined, kernel
from equipoise.abstraction.buckets import BEFORE, PUBLIC, BucketTables, bucket_of_street, public_cluster
from equipoise.agents.table import Table, read_row
from equipoise.agents.translate import LIVE, call_child, landing, read_bet, said_action, standing
from equipoise.cards.evaluate import RankTables, rank_of_cards
from equipoise.games.rules import GameRules
from equipoise.games.state import CALL, FOLD
from equipoise.solve.sampled_walk import draw
from equipoise.tree.public_tree import (
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


class Side(NamedTuple):
    """One of the two that play."""

    table: Table
    buckets: BucketTables


class Room(NamedTuple):
    """One thread's memory; by side unless it says otherwise."""

    random: U64  # [1]
    state: I32  # [column] of the betting
    node: I64
    bucket: I64  # [side, street], -1: not looked up yet
    hand: U8  # [side, card]
    chances: F64  # [action]
    scratch: F64  # [action]
    found: I64  # [2]

    @classmethod
    def of(cls, rules: GameRules, seed: np.random.SeedSequence) -> Room:
        return cls(
            seed.generate_state(1, np.uint64) | np.uint64(1),
            np.zeros(COLUMNS, np.int32),
            np.zeros(2, np.int64),
            np.zeros((2, rules.rounds), np.int64),
            np.zeros((2, rules.hand_cards), np.uint8),
            np.zeros(MOST_ACTIONS),
            np.zeros(MOST_ACTIONS),
            np.zeros(2, np.int64),
        )


@inlined
def _share(random: U64) -> float:
    return np.float64(draw(random) >> _11) * _UNIT


@inlined
def _bucket(side: Side, who: Int, street: Int, room: Room) -> Int:
    """The bucket of a side on a street, looked up when it is first asked for."""
    known, hand = room.bucket[who], room.hand[who]
    first = street
    while first > 0 and side.buckets.context[first] == BEFORE and known[first - 1] < 0:
        first -= 1
    for s in range(first, street + 1):
        if known[s] < 0:
            context = np.int64(0)
            if side.buckets.context[s] == BEFORE:
                context = known[s - 1]
            elif side.buckets.context[s] == PUBLIC:
                context = np.int64(public_cluster(hand, side.buckets))
            known[s] = np.int64(bucket_of_street(hand, s, context, side.buckets))
    return np.int64(known[street])


@inlined
def _act(side: Side, who: Int, street: Int, plan: BettingPlan, room: Room) -> Int:
    """What a side does where it is to act; it moves on in its tree. Returns the action."""
    table, state, node = side.table, room.state, room.node[who]
    player = state[PLAYER]
    if standing(table.tree, node, street, player) != LIVE:
        return CALL
    count = read_row(table, node, _bucket(side, who, street, room), room.chances, room.scratch)
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
def _watch(side: Side, who: Int, action: Int, street: Int, room: Room) -> None:
    """The other side's action, before it is taken: move on in the tree."""
    tree, state, node = side.table.tree, room.state, room.node[who]
    if action == FOLD or standing(tree, node, street, state[PLAYER]) != LIVE:
        return
    if action == CALL:
        room.node[who] = landing(tree, call_child(tree, node))
        return
    most = max(state[SPENT], state[SPENT + 1])
    chance = read_bet(tree, node, action, most, side.table.reading, room.found)
    room.node[who] = room.found[0] if chance >= 1.0 or _share(room.random) < chance else room.found[1]


@inlined
def _open(street: Int, plan: BettingPlan, state: I32) -> None:
    """The start of a street."""
    state[KIND] = DECISION
    state[PLAYER] = plan.first[street]
    state[RAISES] = 0
    state[WAITING] = 2
    state[MIN_RAISE] = max(state[SPENT], state[SPENT + 1]) + plan.big_blind


@kernel
def play_hand(
    one: Side, two: Side, seat: Int, plan: BettingPlan, blinds: I64, ranking: RankTables, room: Room, history: I32
) -> float:
    """One hand; `seat` is the player that side one is. OUT: int32[action] ended by END, if it has room; returns chips."""
    state, street, length = room.state, np.int64(0), 0
    for player in range(2):
        state[SPENT + player] = blinds[player]
        room.node[player] = 0
        for s in range(room.bucket.shape[1]):
            room.bucket[player, s] = -1
    _open(0, plan, state)
    state[MIN_RAISE] = 2 * plan.big_blind
    while state[KIND] == DECISION:
        if state[PLAYER] == seat:
            action = np.int64(_act(one, 0, street, plan, room))
            _watch(two, 1, action, street, room)
        else:
            action = np.int64(_act(two, 1, street, plan, room))
            _watch(one, 0, action, street, room)
        if length < history.size - 1:
            history[length] = action
            length += 1
        folder = state[PLAYER]
        take(action, street, plan, state)
        if state[KIND] == DEAL:
            street += 1
            _open(street, plan, state)
        elif state[KIND] == FOLDED:
            state[PLAYER] = folder
    if history.size:
        history[length] = END
    stake = float(min(state[SPENT], state[SPENT + 1]))
    if state[KIND] == FOLDED:
        return -stake if state[PLAYER] == seat else stake
    cards = room.hand.shape[1]
    mine, other = rank_of_cards(room.hand[0], cards, ranking), rank_of_cards(room.hand[1], cards, ranking)
    return stake * float(np.int64(mine > other) - np.int64(mine < other))


@kernel
def play_deals(
    one: Side,
    two: Side,
    plan: BettingPlan,
    blinds: I64,
    hole_cards: int,
    duplicate: bool,
    ranking: RankTables,
    deck: U8,
    room: Room,
    deals: U8,
    values: F64,
    history: I32,
) -> None:
    """Deals, each played twice with seats changed; without `duplicate` the second time with other cards.

    IN: uint8[card] a deck; OUT: uint8[deal, seat, card], the holes of player 0, of player 1 and the board;
    float64[deal, seat] chips of side one as player 0 and as player 1; int32[deal, seat, action].
    """
    for i in range(deals.shape[0]):
        for seat in range(2):
            if seat == 0 or not duplicate:
                _shuffle(deck, deals.shape[2], room.random)
            for at in range(deals.shape[2]):
                deals[i, seat, at] = deck[at]
            for side in range(2):
                player = seat if side == 0 else 1 - seat
                for at in range(hole_cards):
                    room.hand[side, at] = deck[player * hole_cards + at]
                for at in range(deals.shape[2] - 2 * hole_cards):
                    room.hand[side, hole_cards + at] = deck[2 * hole_cards + at]
            values[i, seat] = play_hand(one, two, seat, plan, blinds, ranking, room, history[i, seat])


@inlined
def _shuffle(deck: U8, cards: Int, random: U64) -> None:
    """Draw the first cards of a deck."""
    for at in range(cards):
        other = np.uint64(at) + (((draw(random) >> _32) * np.uint64(deck.size - at)) >> _32)
        card = deck[other]
        deck[other] = deck[at]
        deck[at] = card
