"""Slow, obvious twins of the fast kernels, written from the rules and definitions alone."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from equipoise.cards.deck import FULL_DECK, Deck
from equipoise.tree.public_tree import DEAL, DECISION, PublicTree

Cards: TypeAlias = tuple[int, ...]
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


def win_minus_lose(
    mine: Sequence[Cards], theirs: Sequence[Cards], strength: Callable[[Cards], object]
) -> npt.NDArray[np.int64]:
    """[my hole, their hole] 1 where mine wins, -1 where it loses, 0 for a tie and for two that share a card."""
    values = np.zeros((len(mine), len(theirs)), np.int64)
    for (i, a), (j, b) in itertools.product(enumerate(mine), enumerate(theirs)):
        if not set(a) & set(b):
            first, second = strength(a), strength(b)
            values[i, j] = (first > second) - (first < second)  # type: ignore[operator]
    return values


def can_meet(mine: Sequence[Cards], theirs: Sequence[Cards]) -> npt.NDArray[np.int64]:
    """[my hole, their hole] 1 where the two share no card."""
    return np.array([[not set(a) & set(b) for b in theirs] for a in mine], np.int64).reshape(len(mine), len(theirs))


class Deal(NamedTuple):
    """All cards of a hand, and the chance of it: of the cards, and of the opponent's actions so far."""

    mine: Cards
    theirs: Cards
    board: Cards
    chance: float


Strategy: TypeAlias = Callable[[int, Cards, Cards], Sequence[float]]  # node, hole, board -> [action]
Payoff: TypeAlias = Callable[[int, Deal], float]  # at a terminal node


def deals_of(walker: int, ranges: Sequence[dict[Cards, float]], runouts: Sequence[Cards]) -> dict[Cards, list[Deal]]:
    """Every deal by the walker's hole. Their chances sum to one."""
    deals = defaultdict(list)
    for (mine, my_weight), (theirs, their_weight) in itertools.product(
        ranges[walker].items(), ranges[1 - walker].items()
    ):
        for board in runouts:
            if len({*mine, *theirs, *board}) == len(mine) + len(theirs) + len(board):
                deals[mine].append(Deal(mine, theirs, board, my_weight * their_weight))
    total = sum(deal.chance for same in deals.values() for deal in same)
    return {mine: [deal._replace(chance=deal.chance / total) for deal in same] for mine, same in deals.items()}


def walker_value(
    tree: PublicTree,
    walker: int,
    deals: dict[Cards, list[Deal]],
    strategy: Strategy,
    payoff: Payoff,
    best: bool = False,
) -> float:
    """What the walker wins a hand when both play the strategy, or (`best`) against it with a best response."""
    return sum(_walked(tree, 0, walker, same, strategy, payoff, best) for same in deals.values())


def _walked(
    tree: PublicTree, node: int, walker: int, deals: list[Deal], strategy: Strategy, payoff: Payoff, best: bool
) -> float:
    """The walker's value at a node, summed over all deals that look the same to it."""
    children = tree.children(node)
    street = int(tree.street[node])
    if tree.kind[node] == DEAL:
        seen = defaultdict(list)
        for deal in deals:
            seen[deal.board[: tree.rules.board_size(street + 1)]].append(deal)
        return sum(_walked(tree, children[0], walker, same, strategy, payoff, best) for same in seen.values())
    if tree.kind[node] != DECISION:
        return sum(deal.chance * payoff(node, deal) for deal in deals)
    board = deals[0].board[: tree.rules.board_size(street)]
    if tree.player[node] == walker:
        values = [_walked(tree, child, walker, deals, strategy, payoff, best) for child in children]
        chances = strategy(node, deals[0].mine, board)
        return max(values) if best else sum(p * v for p, v in zip(chances, values, strict=True))
    total = 0.0
    for action, child in enumerate(children):
        below = [deal._replace(chance=deal.chance * strategy(node, deal.theirs, board)[action]) for deal in deals]
        total += _walked(tree, child, walker, below, strategy, payoff, best)
    return total
