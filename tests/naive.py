"""Slow, obvious twins of the fast kernels, written from the rules and definitions alone."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from equipoise.cards.deck import FULL_DECK, Deck

Strength: TypeAlias = tuple[int | tuple[int, ...], ...]  # compares as the hands do

PATTERNS = [(1, 1, 1, 1, 1), (2, 1, 1, 1), (2, 2, 1), (3, 1, 1), "straight", "flush", (3, 2), (4, 1), "straight flush"]
THREE_CARD_PATTERNS = [(1, 1, 1), (2, 1), "flush", "straight", (3,), "straight flush"]


def rank_five(cards: Sequence[int], deck: Deck = FULL_DECK) -> Strength:
    """At most five cards; fewer make neither straights nor flushes."""
    if len(cards) < 5:
        counts, ranks = _counted(cards, deck)
        return counts, ranks  # (1, 1) < (2,), (2, 1, 1) < (2, 2) < (3, 1) < (4,)
    return _rank(cards, PATTERNS, deck)


def rank_seven(cards: Sequence[int], deck: Deck = FULL_DECK) -> Strength:
    """Five to seven cards: the best five of them."""
    return max(rank_five(five, deck) for five in itertools.combinations(cards, 5))


def rank_three_card(cards: Sequence[int], deck: Deck = FULL_DECK) -> Strength:
    """The ranking of Rhode Island hold'em."""
    return _rank(cards, THREE_CARD_PATTERNS, deck)


def _counted(cards: Sequence[int], deck: Deck) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How often each rank is held, and the ranks: most often first, then highest first."""
    groups = sorted(((n, rank) for rank, n in Counter(map(deck.rank, cards)).items()), reverse=True)
    return tuple(n for n, _ in groups), tuple(rank for _, rank in groups)


def _rank(cards: Sequence[int], patterns: Sequence[object], deck: Deck) -> Strength:
    counts, ranks = _counted(cards, deck)
    wheel = (12, *range(len(cards) - 2, -1, -1))
    if ranks == wheel:
        ranks = ranks[1:]  # the ace is low
    straight = len(counts) == len(cards) and ranks[0] - ranks[-1] == len(ranks) - 1
    flush = len(set(map(deck.suit, cards))) == 1
    pattern = "straight flush" if straight and flush else "straight" if straight else "flush" if flush else counts
    return patterns.index(pattern), ranks


def canonical(rounds: Sequence[int], cards: Sequence[int], deck: Deck = FULL_DECK) -> tuple[tuple[int, ...], ...]:
    """The smallest image of a hand over all renamings of the suits, the cards of each round sorted."""
    ends = list(itertools.accumulate(rounds))
    dealt = [cards[end - count : end] for end, count in zip(ends, rounds, strict=True)]
    return min(
        tuple(tuple(sorted(deck.card(deck.rank(c), suits[deck.suit(c)]) for c in round_)) for round_ in dealt)
        for suits in itertools.permutations(range(deck.suits))
    )


def all_deals(rounds: Sequence[int], deck: Deck, dead: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """All hands dealt in rounds, each round ascending."""
    if not rounds:
        yield ()
        return
    for cards in itertools.combinations([card for card in range(deck.size) if card not in dead], rounds[0]):
        for rest in all_deals(rounds[1:], deck, (*dead, *cards)):
            yield (*cards, *rest)


def random_hands(seed: int, count: int, cards: int, deck: Deck = FULL_DECK) -> npt.NDArray[np.uint8]:
    """`count` hands of distinct cards in random order: uint8[hand, card]."""
    rng = np.random.default_rng(seed)
    hands = np.empty((0, cards), np.uint8)
    while len(hands) < count:
        drawn = rng.integers(deck.size, size=(count, cards), dtype=np.uint8)
        ordered = np.sort(drawn, axis=1)
        hands = np.concatenate([hands, drawn[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)]])
    return hands[:count]
