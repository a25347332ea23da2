"""The walk of external sampling: one deal, all actions of the walker, one sampled action of the opponent.

(Lanctot and others 2009; Brown, Ganzfried and Sandholm 2015, Algorithm 4.) It is scalar, one hand at a time, and shares
nothing with the vector walk. An explicit stack holds the walker's unfinished decisions. A node is one record of 32
bytes, and a DEAL node repeats the record of the node it leads to: a step reads one cache line of the tree and one of
the tables. Values are chips; regrets are weighted sums of (value of action - value of node). The opponent's strategy is
added to its average where it is sampled, which weights it by its own reach.
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
SKIPPED = np.float32(-3e38)  # the value of a pruned action
EXPLORED = np.float32(0.05)  # share of iterations without pruning
FLOOR = np.float32(1.05)  # lower bound of regrets, as a multiple of the threshold, so that they can recover

_0, _1, _2, _8, _12, _16, _24, _25, _27, _32, _40, _255 = (
    np.uint64(n) for n in (0, 1, 2, 8, 12, 16, 24, 25, 27, 32, 40, 255)
)
_MULTIPLIER = np.uint64(0x2545F4914F6CDD1D)
_STEP = np.float32(2.0**-24)


class ExternalState(NamedTuple):
    """The arrays and settings that an iteration reads, and the tables that it changes."""

    record: U32  # [node, column]; ABOUT is kind, player, street and number of actions, a byte each
    regret: F32  # [slot]
    average: F32  # [slot]
    buckets: BucketTables
    raw: U32  # buckets of the first streets by cards in dealing order, where there are few deals
    raw_first: I64  # [street] where its part starts; -1: use the index of the hand
    ranking: RankTables
    streets: int
    hole_cards: int
    board_cards: int
    plus: bool  # regrets are clipped at zero
    threshold: np.float32  # most iterations skip actions with a regret below -threshold; 0 disables pruning


class ExternalBuffers(NamedTuple):
    """The memory of one thread."""

    random: U64  # [1] the state of the generator
    nodes: I64  # [1] number of nodes visited
    deck: U8  # [card]
    hand: U8  # [player, card] hole cards, then the board
    bucket: I64  # [player, street]
    slot: U64  # [depth] of the walker's unfinished decisions, as are the others
    child: U32  # [depth]
    action: U8  # [depth] the one being walked
    actions: U8  # [depth]
    chance: F32  # [depth, action]
    value: F32  # [depth, action]


@inlined
def draw_word(random: U64) -> np.uint64:
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
    return np.float32(np.float32(draw_word(random) >> _40) * _STEP)


@inlined
def deal_hands(state: ExternalState, buffers: ExternalBuffers) -> int:
    """Deal holes and board, and find the buckets. Returns 1 if the first player wins, -1 if the second does, or 0."""
    hole_cards, deck = state.hole_cards, buffers.deck
    for i in range(2 * hole_cards + state.board_cards):
        j = np.uint64(i) + (((draw_word(buffers.random) >> _32) * np.uint64(deck.size - i)) >> _32)
        card = deck[j]
        deck[j] = deck[i]
        deck[i] = card
    for player in range(2):
        hand = buffers.hand[player]
        for i in range(hole_cards):
            hand[i] = deck[player * hole_cards + i]
        for i in range(state.board_cards):
            hand[hole_cards + i] = deck[2 * hole_cards + i]
    cluster: Int = np.int64(0)
    if state.buckets.public_label.size:
        cluster = public_cluster(buffers.hand[0], state.buckets)
    for player in range(2):
        find_buckets(buffers.hand[player], deck.size, cluster, 0, state, buffers.bucket[player])
    return find_winner(state, buffers)


@inlined
def find_winner(state: ExternalState, buffers: ExternalBuffers) -> int:
    """1 if the first player has the better hand, -1 if the second does, or 0."""
    cards = state.hole_cards + state.board_cards
    first = rank_of_cards(buffers.hand[0], cards, state.ranking)
    second = rank_of_cards(buffers.hand[1], cards, state.ranking)
    return int(first > second) - int(first < second)


@inlined
def find_buckets(hand: U8, deck: Int, cluster: Int, since: int, state: ExternalState, buckets: I64) -> None:
    """The buckets of one hand on the streets since one. IN: uint8[card], its public cluster; OUT: int64[street]."""
    tables = state.buckets
    for street in range(since, state.streets):
        first = state.raw_first[street]
        if first >= 0:
            index = np.int64(0)
            for i in range(tables.seen[street]):
                index = index * deck + hand[i]
            buckets[street] = state.raw[first + index]
        else:
            context = buckets[street - 1] if tables.context[street] == BEFORE else cluster
            buckets[street] = bucket_of_street(hand, street, context, tables)


@inlined
def match_decision(regret: F32, slot: Int, count: Int, chance: F32) -> None:
    """Regret matching at one decision. IN: float32[slot]; OUT: float32[action]."""
    zero, one = np.float32(0), np.float32(1)
    if count == _2:  # by far the most common case; a loop would cost mispredicted branches
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
def select_action(left: Float, count: Int, chance: F32) -> np.uint64:
    """The action that a random number selects."""
    if count == _2:
        return np.uint64(left >= chance[0])
    action = _0
    while action < count - _1 and left >= chance[action]:
        left -= chance[action]
        action += _1
    return action


@inlined
def finish_decision(
    slot: Int, count: Int, weight: Float, chance: F32, value: F32, regrets: F32, plus: bool, threshold: np.float32
) -> np.float32:
    """The value of the walker's decision; updates its regrets."""
    bounded = plus or threshold > np.float32(0)
    if count == _2 and not bounded:
        mean = chance[0] * value[0] + chance[1] * value[1]
        regrets[slot] += np.float32(weight) * (value[0] - mean)
        regrets[slot + _1] += np.float32(weight) * (value[1] - mean)
        return np.float32(mean)
    mean = np.float32(0)
    for action in range(count):
        if value[action] != SKIPPED:
            mean += chance[action] * value[action]
    floor = np.float32(0) if plus else -FLOOR * threshold
    for action in range(count):
        if value[action] != SKIPPED:
            regret = regrets[slot + action] + np.float32(weight) * (value[action] - mean)
            regrets[slot + action] = max(regret, floor) if bounded else regret
    return np.float32(mean)


# All indices are unsigned: a signed index costs a test for negative values at each use.


@kernel
def walk_deal(
    walker: int, winner: int, pruning: bool, weight: Float, state: ExternalState, buffers: ExternalBuffers
) -> float:
    """One walk from the root. Returns the walker's value, in chips."""
    return walk_from(_0, walker, winner, pruning, weight, state, buffers)


@inlined
def walk_from(
    start: Int, walker: int, winner: int, pruning: bool, weight: Float, state: ExternalState, buffers: ExternalBuffers
) -> float:
    """One walk from a node on. Returns the walker's value, in chips."""
    record, regret, average = state.record, state.regret, state.average
    depth, node, nodes = _0, np.uint64(start), 0
    walking = np.uint64(walker)
    top = np.uint64(buffers.chance.shape[0] - 1)  # a spare row, for the opponent's decisions
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
            slot = first + np.uint64(buffers.bucket[player, (about >> _16) & _255]) * np.uint64(here[STRIDE])
            action = _0
            if player == walking:
                match_decision(regret, slot, count, buffers.chance[depth])
                buffers.slot[depth], buffers.child[depth] = slot, here[CHILD]
                buffers.actions[depth] = np.uint8(count)
                action = _next_action(_0, slot, count, here[CHILD], pruning, state, buffers.value[depth])
                buffers.action[depth] = np.uint8(action)
                depth += _1
            else:
                chance = buffers.chance[top]
                match_decision(regret, slot, count, chance)
                action = select_action(draw_share(buffers.random), count, chance)
                for a in range(count):
                    average[slot + a] += np.float32(weight) * chance[a]
            node = np.uint64(here[CHILD]) + action
        while depth > _0:
            k = depth - _1
            action, count = np.uint64(buffers.action[k]), np.uint64(buffers.actions[k])
            buffers.value[k, action] = value
            action = _next_action(
                action + _1, buffers.slot[k], count, buffers.child[k], pruning, state, buffers.value[k]
            )
            if action < count:
                buffers.action[k] = np.uint8(action)
                node = np.uint64(buffers.child[k]) + action
                break
            value = finish_decision(
                buffers.slot[k], count, weight, buffers.chance[k], buffers.value[k], regret, state.plus, state.threshold
            )
            depth = k
        if depth == _0:
            break
    buffers.nodes[0] += nodes
    return float(value)


@inlined
def _next_action(
    action: np.uint64, slot: Int, count: Int, child: Int, pruning: bool, state: ExternalState, value: F32
) -> np.uint64:
    """The next action to walk, from `action` on. Pruning skips very negative regrets, except of terminal actions.

    The last action of a decision is never skipped, so that at least one is walked.
    """
    if pruning:
        while action < count - _1:
            terminal = (state.record[np.uint64(child) + action, ABOUT] & 255) != DECISION
            if terminal or state.regret[slot + action] >= -state.threshold:
                break
            value[action] = SKIPPED
            action += _1
    return action


@kernel
def sample_iterations(iterations: int, weight: Float, state: ExternalState, buffers: ExternalBuffers) -> None:
    """The iterations of one thread: each walks one deal for both players."""
    for _ in range(iterations):
        winner = deal_hands(state, buffers)
        pruning = bool(state.threshold > np.float32(0) and draw_share(buffers.random) >= EXPLORED)
        walk_deal(0, winner, pruning, weight, state, buffers)
        walk_deal(1, winner, pruning, weight, state, buffers)
