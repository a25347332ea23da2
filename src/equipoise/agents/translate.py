"""Action translation: how an agent with few bet sizes reads any bet, and makes its own bets in the real game.

A bet is a fraction of the pot after calling. One between two sizes A < B of the tree is read as A with probability
(B - x)(1 + A) / ((B - A)(1 + x)), the pseudo-harmonic mapping (Ganzfried and Sandholm 2013), as the likelier of the two
(`deterministic`), or as the `nearest` of them. Below the smallest size, A is 0: no bet at all, a check or call; above
the largest it is the largest; all-in is all-in. A raise where the tree has none is answered as the bet before it.
Its own bets are the same fraction of the real pot, or the same chips while tree and hand agree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Float, Int
from equipoise.core.errors import InputError, shown
from equipoise.core.jit import I8, I32, I64, U8, inlined
from equipoise.games.betting_state import CALL, FOLD
from equipoise.tree.betting_tree import DEAL, DECISION, BettingTree

TRANSLATIONS = ("pseudo-harmonic", "deterministic", "nearest")
RANDOM, LIKELIER, NEAREST = 0, 1, 2
LIVE, AHEAD, LOST = 0, 1, 2  # where a place in the tree is, seen from the hand


class PlayTree(NamedTuple):
    """A betting tree for kernels that play; by node."""

    kind: U8
    player: I8
    street: U8
    parent: I32
    first_child: I32
    num_children: U8
    action: I32
    chips: I32  # [node, player]
    stack: int

    @classmethod
    def of(cls, tree: BettingTree) -> PlayTree:
        return cls(
            tree.kind, tree.player, tree.street, tree.parent, tree.first_child, tree.num_children, tree.action,
            tree.chips, min(tree.rules.stacks),
        )  # fmt: skip


def translation_number(name: str) -> int:
    """The number of a way to read bets, for kernels."""
    if name not in TRANSLATIONS:
        raise InputError(f"translation {shown(name)}", remedy=f"use {', '.join(TRANSLATIONS)}")
    return TRANSLATIONS.index(name)


@inlined
def pseudo_harmonic(below: Float, above: Float, bet: Float) -> Float:
    """The probability to read a bet between two sizes as the smaller one. All are fractions of the pot."""
    return (above - bet) * (1.0 + below) / ((above - below) * (1.0 + bet))


@inlined
def landing(tree: PlayTree, child: Int) -> Int:
    """Where an action leads: through a deal, to the node that opens the next street."""
    return np.int64(tree.first_child[child] if tree.kind[child] == DEAL else child)


@inlined
def standing(tree: PlayTree, node: Int, street: Int, player: Int) -> int:
    """LIVE: the node's player is to act, as in the hand. AHEAD: the tree is on a later street, as when a small bet was

    read as a check: a call gets there. LOST: the tree has nothing more to say, as after an all-in that was none.
    """
    if tree.kind[node] == DECISION and tree.street[node] == street and tree.player[node] == player:
        return LIVE
    return AHEAD if tree.kind[node] == DECISION and tree.street[node] > street else LOST


@inlined
def call_child(tree: PlayTree, node: Int) -> Int:
    """The child of a decision that checks or calls."""
    first = np.int64(tree.first_child[node])
    return first + 1 if tree.action[first] == FOLD else first


@inlined
def read_bet(tree: PlayTree, node: Int, total: Int, most: Int, rule: Int, found: I64) -> Float:
    """Read a raise at a decision of the tree. `most` is what the raiser had to match in the hand, `total` what it

    raised to. OUT: int64[2], two nodes it may be read as; returns the probability of the first.
    """
    call = call_child(tree, node)
    end = np.int64(tree.first_child[node]) + np.int64(tree.num_children[node])
    here = max(tree.chips[node, 0], tree.chips[node, 1])
    if call + 1 == end:  # no raise in the tree: the answer is that to the bet before, if there was one
        before = np.int64(tree.parent[node])
        faced = before >= 0 and tree.kind[before] == DECISION and tree.action[tree.first_child[before]] == FOLD
        found[0] = found[1] = before if faced else landing(tree, call)
        return 1.0
    below: Int = call
    above: Int = end - 1
    bet = (total - most) / (2.0 * most)
    at_most = total >= tree.stack
    for child in range(call + 1, end):
        size = (tree.action[child] - here) / (2.0 * here)
        if (here == most and tree.action[child] == total) or (at_most and tree.action[child] >= tree.stack):
            found[0] = found[1] = child
            return 1.0
        if size <= bet:
            below = child
        elif child < above:
            above = child
    found[0], found[1] = landing(tree, below), above
    low = 0.0 if below == call else (tree.action[below] - here) / (2.0 * here)
    high = (tree.action[above] - here) / (2.0 * here)
    if bet >= high:
        found[0] = above
        return 1.0
    if rule == NEAREST:
        return 1.0 if bet - low <= high - bet else 0.0
    chance = pseudo_harmonic(low, high, bet)
    if rule == LIKELIER:
        return 1.0 if chance >= 0.5 else 0.0
    return chance


@inlined
def said_action(tree: PlayTree, node: Int, child: Int, most: Int, least: Int, largest: Int, may_fold: bool) -> Int:
    """A child's action as it is said in the hand, always legal: raises from `least` to `largest`, or none (0)."""
    action = np.int64(tree.action[child])
    if action == FOLD and may_fold:
        return FOLD
    if action <= CALL or largest == 0:
        return CALL
    here = max(tree.chips[node, 0], tree.chips[node, 1])
    if action >= tree.stack:
        action = np.int64(largest)
    elif here != most:
        action = most + np.int64(np.floor((action - here) / (2.0 * here) * (2.0 * most) + 0.5))
    return max(np.int64(least), min(action, np.int64(largest)))
