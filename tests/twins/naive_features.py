"""Slow, obvious twins of the card features: every opponent hole, every completion, every deal, in plain Python."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from equipoise import GameRules
from naive import Cards, Strength, canonical, rank_five, rank_seven, rank_three_card


def rank(rules: GameRules, cards: Sequence[int]) -> Strength:
    return _rank(rules, tuple(sorted(cards)))


@cache
def _rank(rules: GameRules, cards: Cards) -> Strength:
    if rules.three_card:
        return rank_three_card(cards, rules.deck)
    return (rank_seven if len(cards) > 5 else rank_five)(cards, rules.deck)


def unseen(rules: GameRules, *seen: Sequence[int]) -> list[int]:
    gone = {card for cards in seen for card in cards}
    return [card for card in range(rules.deck.size) if card not in gone]


def opponents(rules: GameRules, hole: Cards, board: Cards) -> list[Cards]:
    return list(itertools.combinations(unseen(rules, hole, board), rules.hole_cards))


def outcome(rules: GameRules, hole: Cards, theirs: Cards, board: Cards) -> int:
    """2 for a win, 1 for a tie, 0."""
    mine, other = rank(rules, (*hole, *board)), rank(rules, (*theirs, *board))
    return 2 if mine > other else 1 if mine == other else 0


def strength(rules: GameRules, hole: Cards, board: Cards) -> int:
    """2 x (opponent holes beaten) + (tied), on a full board."""
    return sum(outcome(rules, hole, theirs, board) for theirs in opponents(rules, hole, board))


def completions(rules: GameRules, hole: Cards, board: Cards) -> list[Cards]:
    count = sum(rules.board_cards) - len(board)
    return [(*board, *more) for more in itertools.combinations(unseen(rules, hole, board), count)]


def strengths(rules: GameRules, hole: Cards, board: Cards) -> list[int]:
    """One for each completion of the board."""
    return [strength(rules, hole, full) for full in completions(rules, hole, board)]


def cluster_strength(rules: GameRules, hole: Cards, board: Cards, members: set[Cards]) -> Fraction:
    """The mean over completions of the share won of the members that can be met; a half if there is none."""
    shares = []
    for full in completions(rules, hole, board):
        met = [theirs for theirs in opponents(rules, hole, full) if theirs in members]
        won = sum(outcome(rules, hole, theirs, full) for theirs in met)
        shares.append(Fraction(won, 2 * len(met)) if met else Fraction(1, 2))
    return sum(shares, Fraction(0)) / len(shares)


def hands(rules: GameRules, street: int) -> list[list[tuple[Cards, Cards]]]:
    """The deals of hole and unordered board, those of one hand together."""
    count = rules.board_size(street)
    classes = defaultdict(list)
    for hole in itertools.combinations(range(rules.deck.size), rules.hole_cards):
        for board in itertools.combinations(unseen(rules, hole), count):
            form = canonical((rules.hole_cards, count), (*hole, *board), rules.deck)
            classes[form].append((hole, board))
    return list(classes.values())
