"""Counterfactual values of all my holes at sixteen terminal nodes at once, in one pass over the sorted holes.

Let A(x) be the reach of the opponent's holes before place x in the order of strength that share no card with mine:
(all) - (those with my first card) - (those with my second). Then win minus lose is
A(start of my group of ties) + A(its end) - A(end of all), and my own hole, counted wrongly in the last two, cancels.
(Johanson and others 2011, with one pass instead of two.) The value of a fold needs A(end of all) + my own hole.

Arrays `reach` and `out` are [hole, lane], sixteen lanes: see `core/simd.py`. `theirs` and `mine` hold the cards of the
opponent's holes and of mine; on the last street both are sorted by strength, and `groups` says where each distinct
strength starts in mine (column `me`) and in theirs (the other). Holes have one or two cards; card2 of one is not read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from equipoise.core.arrays import Int
from equipoise.core.jit import F32, U8, U16, inlined, inner, kernel
from equipoise.core.simd import LANES, add, load, store, subtract, zeros

DECK = 52


class Cards(NamedTuple):
    """The cards of one player's holes on a board, in that board's order."""

    card1: U8  # [hole]
    card2: U8  # [hole]


@inlined
def showdown_lanes(
    reach: F32, out: F32, run: F32, mine: Cards, theirs: Cards, groups: U16, me: int, two_cards: bool
) -> None:
    """Win minus lose. IN: float[their hole, lane]; OUT: float[my hole, lane]; scratch: float[card, lane]."""
    if two_cards:
        _showdown_two(reach, out, run, mine.card1, mine.card2, theirs.card1, theirs.card2, groups, me)
    else:
        _showdown_one(reach, out, run, mine.card1, theirs.card1, groups, me)


@inner
def _showdown_two(
    reach: F32, out: F32, run: F32, mine1: U8, mine2: U8, theirs1: U8, theirs2: U8, groups: U16, me: int
) -> None:
    total = sum_upto(reach, out, run, Cards(mine1, mine2), Cards(theirs1, theirs2), groups, me)
    for i in range(mine1.size):
        store(out, i, subtract(load(out, i), without(total, run, mine1[i], mine2[i])))


@inlined
def without(total: Any, run: F32, card1: Int, card2: Int) -> Any:
    """A: the sum without the holes that have one of my cards."""
    return subtract(subtract(total, load(run, card1)), load(run, card2))


@inlined
def sum_upto(reach: F32, out: F32, run: F32, mine: Cards, theirs: Cards, groups: U16, me: int) -> Any:
    """A(start) + A(end of ties) of holes of two cards; returns the reach of all.

    IN: float[their hole, lane]; OUT: float[my hole, lane], float[card, lane] the reach with each card.
    """
    for card in range(run.size // LANES):
        store(run, card, zeros(run))
    total = zeros(run)
    behind = 0
    for group in range(groups.shape[0]):
        here = groups[group, me]
        for i in range(behind, here):  # the end of the previous group is the start of this one
            store(out, i, add(load(out, i), without(total, run, mine.card1[i], mine.card2[i])))
        behind = here
        if group + 1 == groups.shape[0]:
            break
        for i in range(here, groups[group + 1, me]):
            store(out, i, without(total, run, mine.card1[i], mine.card2[i]))
        for j in range(groups[group, 1 - me], groups[group + 1, 1 - me]):
            weight, a, b = load(reach, j), theirs.card1[j], theirs.card2[j]
            total = add(total, weight)
            store(run, a, add(load(run, a), weight))
            store(run, b, add(load(run, b), weight))
    return total


@inner
def _showdown_one(reach: F32, out: F32, run: F32, mine1: U8, theirs1: U8, groups: U16, me: int) -> None:
    for i in range(mine1.size):
        store(run, mine1[i], zeros(run))
    for j in range(theirs1.size):
        store(run, theirs1[j], zeros(run))
    total = zeros(run)
    for group in range(groups.shape[0] - 1):
        first, last = groups[group, me], groups[group + 1, me]
        for i in range(first, last):
            store(out, i, subtract(total, load(run, mine1[i])))
        for j in range(groups[group, 1 - me], groups[group + 1, 1 - me]):
            here = load(reach, j)
            total = add(total, here)
            store(run, theirs1[j], add(load(run, theirs1[j]), here))
        for i in range(first, last):
            store(out, i, add(load(out, i), subtract(total, load(run, mine1[i]))))
    for i in range(groups[groups.shape[0] - 1, me]):
        store(out, i, subtract(load(out, i), subtract(total, load(run, mine1[i]))))


@kernel
def meeting_lanes(reach: F32, out: F32, run: F32, mine: Cards, theirs: Cards, same: U16, two_cards: bool) -> None:
    """The opponent's reach that can meet each of my holes: the factor of a fold's value.

    IN: float[their hole + 1, lane], its last row zero; uint16[my hole], which of theirs is the same hole (or that row);
    OUT: float[my hole, lane]; scratch: float[card, lane].
    """
    total = zeros(run)
    if two_cards:
        for card in range(DECK):
            store(run, card, zeros(run))
        for j in range(theirs.card1.size):
            here, a, b = load(reach, j), theirs.card1[j], theirs.card2[j]
            total = add(total, here)
            store(run, a, add(load(run, a), here))
            store(run, b, add(load(run, b), here))
        for i in range(mine.card1.size):
            met = subtract(subtract(total, load(run, mine.card1[i])), load(run, mine.card2[i]))
            store(out, i, add(met, load(reach, same[i])))
    else:
        for j in range(theirs.card1.size):
            total = add(total, load(reach, j))
        for i in range(mine.card1.size):
            store(out, i, subtract(total, load(reach, same[i])))
