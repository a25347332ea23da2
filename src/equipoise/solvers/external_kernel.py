"""The walk of external sampling: one deal, all actions of the walker, one sampled action of the opponent.

(Lanctot and others 2009; Brown, Ganzfried and Sandholm 2015, Algorithm 4.) An explicit stack holds the walker's
decisions that are not finished. A node is one record of 32 bytes, a DEAL node a copy of the one it opens, so that a
step reads one cache line of the tree and one of the tables. Values are chips; regrets are sums of (value of action -
value of node), times a weight; what the opponent plays is added to its average strategy where it is sampled, which
weighs it by its own reach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.abstraction.maps.bucket_map import BEFORE, BucketTables, bucket_of_street, public_cluster
from equipoise.cards.hand_ranks import RankTables, rank_of_cards
from equipoise.core.arrays import Float, Int
from equipoise.core.jit import F32, I64, U8, U32, U64, inlined, kernel
from equipoise.tree.betting_tree import DECISION, FOLDED
from equipoise.walk.regret_matching import LEAST

ABOUT, CHILD, LOW, HIGH, CHIPS, STRIDE, COLUMNS = 0, 1, 2, 3, 4, 5, 8  # columns of a record
SKIPPED = np.float32(-3e38)  # the value of an action that was pruned
EXPLORED = np.float32(0.05)  # the share of iterations that prune nothing
FLOOR = np.float32(1.05)  # regrets fall no lower than this times the threshold, so that they can rise again

_0, _1, _2, _8, _12, _16, _24, _25, _27, _32, _40, _255 = (
    np.uint64(n) for n in (0, 1, 2, 8, 12, 16, 24, 25, 27, 32, 40, 255)
)
_MULTIPLIER = np.uint64(0x2545F4914F6CDD1D)
_STEP = np.float32(2.0**-24)


class Sampling(NamedTuple):
    """What an iteration reads and changes."""

    record: U32  # [node, column]; ABOUT is kind, player, street and number of actions, a byte each
    regret: F32  # [slot]
    average: F32  # [slot]
    buckets: BucketTables
    raw: U32  # buckets of the first streets by their cards as they come, where those are few
    raw_first: I64  # [street] where its part starts; -1: by the index of the hand
    ranking: RankTables
    streets: int
    hole_cards: int
    board_cards: int
    plus: bool  # regrets do not fall below zero
    threshold: np.float32  # actions whose regret is below minus this are skipped by most iterations; 0: none


class Room(NamedTuple):
    """One thread's memory."""

    random: U64  # [1] the state of the generator
    nodes: I64  # [1] how many have been touched
    deck: U8  # [card]
    hand: U8  # [player, card] hole cards, then the board
    bucket: I64  # [player, street]
    slot: U64  # [depth] of the walker's unfinished decisions
    child: U32  # [depth]
    action: U8  # [depth] the one being walked
    actions: U8  # [depth]
    chance: F32  # [depth, action]
    value: F32  # [depth, action]


@inlined
def draw(random: U64) -> np.uint64:
    """A random word: xorshift64* (Vigna 2016)."""
    x = random[0]
    x ^= x >> _12
    x ^= x << _25
    x ^= x >> _27
    random[0] = x
    return np.uint64(x * _MULTIPLIER)


@inlined
def draw_share(random: U64) -> np.float32:
    """A random number from 0 to 1, of 24 bits."""
    return np.float32(np.float32(draw(random) >> _40) * _STEP)


@inlined
def deal(plan: Sampling, room: Room) -> int:
    """Deal to both players and the board; their buckets. Returns who wins: 1 the first, -1 the second, 0 neither."""
    hole_cards, deck = plan.hole_cards, room.deck
    for i in range(2 * hole_cards + plan.board_cards):
        j = np.uint64(i) + (((draw(room.random) >> _32) * np.uint64(deck.size - i)) >> _32)
        card = deck[j]
        deck[j] = deck[i]
        deck[i] = card
    for player in range(2):
        hand = room.hand[player]
        for i in range(hole_cards):
            hand[i] = deck[player * hole_cards + i]
        for i in range(plan.board_cards):
            hand[hole_cards + i] = deck[2 * hole_cards + i]
        _find_buckets(hand, deck.size, plan, room.bucket[player])
    first = rank_of_cards(room.hand[0], hole_cards + plan.board_cards, plan.ranking)
    second = rank_of_cards(room.hand[1], hole_cards + plan.board_cards, plan.ranking)
    return int(first > second) - int(first < second)


@inlined
def _find_buckets(hand: U8, deck: Int, plan: Sampling, buckets: I64) -> None:
    """The buckets of one hand on all streets. IN: uint8[card]; OUT: int64[street]."""
    tables, cluster = plan.buckets, np.int64(0)
    if tables.public_label.size:
        cluster = np.int64(public_cluster(hand, tables))
    for street in range(plan.streets):
        first = plan.raw_first[street]
        if first >= 0:
            place = np.int64(0)
            for i in range(tables.seen[street]):
                place = place * deck + hand[i]
            buckets[street] = plan.raw[first + place]
        else:
            context = buckets[street - 1] if tables.context[street] == BEFORE else cluster
            buckets[street] = bucket_of_street(hand, street, context, tables)


@inlined
def match_regrets(regret: F32, slot: Int, count: Int, chance: F32) -> None:
    """Play each action in proportion to its positive regret. IN: float32[slot]; OUT: float32[action]."""
    zero, one = np.float32(0), np.float32(1)
    if count == _2:  # the most common by far: no loops, whose ends are guessed wrong
        first, second = max(regret[slot], zero), max(regret[slot + _1], zero)
        total = first + second
        share = first / total if total > zero else np.float32(0.5)
        chance[0] = share
        chance[1] = one - share
        return
    total = zero
    for action in range(count):
        positive = np.float32(max(regret[slot + action], zero))
        chance[action] = positive
        total += positive
    played = total > LEAST
    scale = one / total if played else one / np.float32(count)
    for action in range(count):
        chance[action] = chance[action] * scale if played else scale


@inlined
def _play(left: Float, count: Int, chance: F32) -> np.uint64:
    """The action that a random number picks."""
    if count == _2:
        return np.uint64(left >= chance[0])
    action = _0
    while action < count - _1 and left >= chance[action]:
        left -= chance[action]
        action += _1
    return action


@inlined
def finish(slot: Int, count: Int, weight: Float, chance: F32, value: F32, plan: Sampling) -> np.float32:
    """The value of the walker's decision, and its regrets."""
    bounded = plan.plus or plan.threshold > np.float32(0)
    if count == _2 and not bounded:
        mean = chance[0] * value[0] + chance[1] * value[1]
        plan.regret[slot] += np.float32(weight) * (value[0] - mean)
        plan.regret[slot + _1] += np.float32(weight) * (value[1] - mean)
        return np.float32(mean)
    mean = np.float32(0)
    for action in range(count):
        if value[action] != SKIPPED:
            mean += chance[action] * value[action]
    floor = np.float32(0) if plan.plus else -FLOOR * plan.threshold
    for action in range(count):
        if value[action] != SKIPPED:
            regret = plan.regret[slot + action] + np.float32(weight) * (value[action] - mean)
            plan.regret[slot + action] = max(regret, floor) if bounded else regret
    return np.float32(mean)


# Everything that indexes is unsigned: a signed index costs a test for being negative at each use.


@kernel
def walk_sampled(walker: int, winner: int, pruning: bool, weight: Float, plan: Sampling, room: Room) -> float:
    """One walk. Returns the walker's value, in chips."""
    record, regret, average = plan.record, plan.regret, plan.average
    depth, node, nodes = _0, _0, 0
    walking = np.uint64(walker)
    top = np.uint64(room.chance.shape[0] - 1)  # a row to spare, for the opponent's decisions
    won = np.float32(winner if walker == 0 else -winner)
    while True:
        value = np.float32(0)
        while True:
            nodes += 1
            here = record[node]
            about = np.uint64(here[ABOUT])
            kind, player, count = about & _255, (about >> _8) & _255, about >> _24
            if kind != DECISION:
                chips = np.float32(here[CHIPS])
                if kind == FOLDED:
                    value = -chips if player == walking else chips
                else:
                    value = chips * won
                break
            first = np.uint64(here[LOW]) | (np.uint64(here[HIGH]) << _32)
            slot = first + np.uint64(room.bucket[player, (about >> _16) & _255]) * np.uint64(here[STRIDE])
            action = _0
            if player == walking:
                match_regrets(regret, slot, count, room.chance[depth])
                room.slot[depth], room.child[depth] = slot, here[CHILD]
                room.actions[depth] = np.uint8(count)
                action = _next(_0, slot, count, here[CHILD], pruning, plan, room.value[depth])
                room.action[depth] = np.uint8(action)
                depth += _1
            else:
                chance = room.chance[top]
                match_regrets(regret, slot, count, chance)
                action = _play(draw_share(room.random), count, chance)
                for a in range(count):
                    average[slot + a] += np.float32(weight) * chance[a]
            node = np.uint64(here[CHILD]) + action
        while depth > _0:
            k = depth - _1
            action, count = np.uint64(room.action[k]), np.uint64(room.actions[k])
            room.value[k, action] = value
            action = _next(action + _1, room.slot[k], count, room.child[k], pruning, plan, room.value[k])
            if action < count:
                room.action[k] = np.uint8(action)
                node = np.uint64(room.child[k]) + action
                break
            value = finish(room.slot[k], count, weight, room.chance[k], room.value[k], plan)
            depth = k
        if depth == _0:
            break
    room.nodes[0] += nodes
    return float(value)


@inlined
def _next(action: np.uint64, slot: Int, count: Int, child: Int, pruning: bool, plan: Sampling, value: F32) -> np.uint64:
    """The next action to walk, from `action` on; those with very negative regret are skipped unless they end the hand.

    The last action of a decision is never skipped as the first one walked, so that there always is one.
    """
    if pruning:
        while action < count - _1:
            ends = (plan.record[np.uint64(child) + action, ABOUT] & 255) != DECISION
            if ends or plan.regret[slot + action] >= -plan.threshold:
                break
            value[action] = SKIPPED
            action += _1
    return action


@kernel
def sample_iterations(iterations: int, weight: Float, plan: Sampling, room: Room) -> None:
    """Iterations of one thread, each a deal walked by both players."""
    for _ in range(iterations):
        winner = deal(plan, room)
        pruning = bool(plan.threshold > np.float32(0) and draw_share(room.random) >= EXPLORED)
        walk_sampled(0, winner, pruning, weight, plan, room)
        walk_sampled(1, winner, pruning, weight, plan, room)
