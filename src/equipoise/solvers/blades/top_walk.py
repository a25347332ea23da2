"""The head's walk of the top: as `external_kernel.walk_deal`, down to the continuations that the parts own.

It is walked twice. The first pass records the continuations; the second has their values and updates the tables. Both
draw the same random numbers and read the same strategies, so they take the same paths.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.jit import F32, F64, I64, U8, U32, U64, inner, kernel
from equipoise.solvers.external_kernel import (
    ABOUT,
    CHILD,
    CHIPS,
    HIGH,
    LOW,
    STRIDE,
    ExternalBuffers,
    draw_share,
    draw_word,
    finish_decision,
    match_decision,
    select_action,
)
from equipoise.tree.betting_tree import DECISION, FOLDED

_0, _1, _8, _16, _24, _32, _255 = (np.uint64(n) for n in (0, 1, 8, 16, 24, 32, 255))
_ONE = np.float32(1)


class TopState(NamedTuple):
    """The tables of the top."""

    record: U32  # [node, column]
    played: F32  # [slot] the regrets that strategies come from
    regret: F32  # [slot] the regrets that are updated
    average: F32  # [slot]
    plus: bool  # regrets are clipped at zero
    street: int  # the first below the top


@kernel
def deal_holes(deck: U8, random: U64, hands: U8) -> None:
    """Deal the holes of both players. Scratch: uint8[card] a deck; IN OUT: uint64[1]; OUT: uint8[deal, card]."""
    for deal in range(hands.shape[0]):
        for i in range(hands.shape[1]):
            j = np.uint64(i) + (((draw_word(random) >> _32) * np.uint64(deck.size - i)) >> _32)
            card = deck[j]
            deck[j] = deck[i]
            deck[i] = card
            hands[deal, i] = card


@kernel
def walk_top(
    bucket: I64, second: bool, values: F64, state: TopState, buffers: ExternalBuffers, first: U32, continuation: U32
) -> int:
    """One pass over a batch, for both walkers of each deal. Returns the number of continuations.

    IN: int64[deal, player, street], float64[continuation] (second pass); OUT (first pass): where each walk's
    continuations start, and their nodes, as far as there is room.
    """
    met = 0
    for deal in range(bucket.shape[0]):
        for walker in range(2):
            if not second:
                first[2 * deal + walker] = met
            met = walk_one(bucket[deal], walker, second, met, values, state, buffers, continuation)
    if not second:
        first[first.size - 1] = met
    return met


@inner
def walk_one(
    bucket: I64,
    walker: int,
    second: bool,
    met: int,
    values: F64,
    state: TopState,
    buffers: ExternalBuffers,
    continuation: U32,
) -> int:
    """One walk; `met` counts continuations."""
    depth, node, nodes = _0, _0, 0
    walking, spare = np.uint64(walker), np.uint64(buffers.chance.shape[0] - 1)
    while True:
        value = np.float32(0)
        while True:
            nodes += 1
            here = state.record[node]
            about = np.uint64(here[ABOUT])
            kind, player, street, count = about & _255, (about >> _8) & _255, (about >> _16) & _255, about >> _24
            if kind == FOLDED:
                value = np.float32(here[CHIPS])
                value = -value if player == walking else value
                break
            if kind != DECISION or street >= np.uint64(state.street):  # an all-in before the board needs one too
                if second:
                    value = np.float32(values[met])
                elif met < continuation.size:
                    continuation[met] = node
                met += 1
                break
            slot = np.uint64(here[LOW]) | (np.uint64(here[HIGH]) << _32)
            slot += np.uint64(bucket[player, street]) * np.uint64(here[STRIDE])
            action = _0
            if player == walking:
                match_decision(state.played, slot, count, buffers.chance[depth])
                buffers.slot[depth], buffers.child[depth] = slot, here[CHILD]
                buffers.action[depth], buffers.actions[depth] = np.uint8(0), np.uint8(count)
                depth += _1
            else:
                chance = buffers.chance[spare]
                match_decision(state.played, slot, count, chance)
                action = select_action(draw_share(buffers.random), count, chance)
                if second:
                    for a in range(count):
                        state.average[slot + a] += chance[a]
            node = np.uint64(here[CHILD]) + action
        while depth > _0:
            k = depth - _1
            action, count = np.uint64(buffers.action[k]), np.uint64(buffers.actions[k])
            buffers.value[k, action] = value
            action += _1
            if action < count:
                buffers.action[k] = np.uint8(action)
                node = np.uint64(buffers.child[k]) + action
                break
            if second:
                value = finish_decision(
                    buffers.slot[k], count, _ONE, buffers.chance[k], buffers.value[k], state.regret, state.plus,
                    np.float32(0),
                )  # fmt: skip
            depth = k
        if depth == _0:
            break
    buffers.nodes[0] += nodes
    return met
