"""Features of public boards: how well a board connects with a strong range of hands (Jackson 2013, section 5.2).

The strong range is the strongest fifth of holes before the flop, by E[HS]. A board's first two features are the mean
and the mean square of E[HS] of those holes on it. The others are what one sees: high cards, the most cards of one suit
and of one rank, and the most ranks that one straight can use. The paper names no formulae; these are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.abstraction.features.card_features import StreetFeatures, expected, strengths
from equipoise.abstraction.features.hand_space import HandBlock, HandSpace, walk_hands
from equipoise.cards.symmetry import hole_card_table
from equipoise.core.jit import F64, U8
from equipoise.core.progress import Fraction
from equipoise.games.rules import GameRules

STRONG = 0.2  # of all holes
STRAIGHT = 5  # ranks


def board_features(rules: GameRules, street: int, progress: Fraction | None = None) -> F64:
    """float64[board, feature]: of the boards of `HandSpace.boards`, each feature with variance one over all deals."""
    space = HandSpace(rules, street)
    found = np.column_stack([*_connections(space, progress), *_shapes(rules, space.boards)])
    weights = space.board_sizes / space.board_sizes.sum(dtype=np.float64)
    spread = np.sqrt(weights @ (found - weights @ found) ** 2)
    return np.asarray(found / np.where(spread > 0, spread, 1))


def strong_range(rules: GameRules) -> U8:
    """uint8[hole]: 1 for the strongest holes before any board card."""
    holes = hole_card_table(rules.deck, rules.hole_cards)
    strength = expected(rules, 0)[0][HandSpace(rules, 0).indexer.indices(holes)]
    least = np.sort(strength)[-max(1, round(STRONG * len(holes)))]
    return np.asarray(strength >= least, np.uint8)


def _connections(space: HandSpace, progress: Fraction | None) -> tuple[F64, F64]:
    """[board] the mean and the mean square of E[HS] of the strong range's holes that the board does not block."""
    strong, top = strong_range(space.rules), 1
    strength: Any
    if space.last:  # many hands: no floats for all of them
        strength, top = strengths(space.rules), StreetFeatures(space.rules, space.street).top
    else:
        strength = expected(space.rules, space.street)[0]

    def work(block: HandBlock) -> F64:
        board = np.repeat(np.arange(len(block.boards)), np.diff(block.first))
        held, value = strong[block.hole] * block.times.astype(np.float64), strength[block.hand] / top
        sums = [np.bincount(board, held * value**power, len(block.boards)) for power in (0, 1, 2)]
        return np.stack(sums, axis=1)

    count, total, squares = np.concatenate([sums for _, sums in walk_hands(space, work, progress=progress)]).T
    count = np.maximum(count, 1)
    return total / count, squares / count


def _shapes(rules: GameRules, boards: U8) -> tuple[F64, F64, F64, F64]:
    """[board] the mean rank, the most cards of one suit, of one rank, and the most ranks within a straight."""
    deck, rows = rules.deck, np.arange(len(boards))
    suits, ranks = np.zeros((len(boards), deck.suits)), np.zeros((len(boards), deck.ranks))
    for cards in boards.T:
        suits[rows, cards % deck.suits] += 1
        ranks[rows, cards // deck.suits] += 1
    with_low_ace = np.hstack([ranks[:, -1:], ranks]) > 0
    width = min(STRAIGHT, deck.ranks)  # no straight has the ace at both ends
    windows = [with_low_ace[:, low : low + width].sum(axis=1) for low in range(deck.ranks + 2 - width)]
    high = (ranks @ np.arange(deck.ranks)) / boards.shape[1]
    return high, suits.max(axis=1), ranks.max(axis=1), np.max(windows, axis=0).astype(np.float64)
