"""Slow, obvious twins of the fast kernels, written from the rules and definitions alone."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from equipoise.cards.deck import FULL_DECK, Deck
from equipoise.tree.betting_tree import DEAL, DECISION, BettingTree

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
    """All cards of a hand, who wins it, and the chance of it: of the cards, and of the opponent's actions so far."""

    mine: Cards
    theirs: Cards
    board: Cards
    outcome: int  # 1 if mine wins at a showdown, 0 for a tie, -1
    chance: float


Strategy: TypeAlias = Callable[[int, Cards, Cards], Sequence[float]]  # node, hole, board -> [action]
Payoff: TypeAlias = Callable[[int, int], float]  # terminal node, outcome of a showdown


def deals_of(
    walker: int, ranges: Sequence[dict[Cards, float]], runouts: Sequence[Cards], rank: Callable[[list[int]], int]
) -> dict[Cards, list[Deal]]:
    """Every deal by the walker's hole. Their chances sum to one."""
    deals = defaultdict(list)
    for board in runouts:
        ranks = {
            hole: rank([*hole, *board])
            for hole in {**ranges[0], **ranges[1]}
            if len({*hole, *board}) == len(hole) + len(board)
        }
        for mine, theirs in itertools.product(ranges[walker], ranges[1 - walker]):
            if mine in ranks and theirs in ranks and not set(mine) & set(theirs):
                outcome = (ranks[mine] > ranks[theirs]) - (ranks[mine] < ranks[theirs])
                deals[mine].append(
                    Deal(mine, theirs, board, outcome, ranges[walker][mine] * ranges[1 - walker][theirs])
                )
    total = sum(deal.chance for same in deals.values() for deal in same)
    return {mine: [deal._replace(chance=deal.chance / total) for deal in same] for mine, same in deals.items()}


def walker_value(
    tree: BettingTree,
    walker: int,
    deals: dict[Cards, list[Deal]],
    strategy: Strategy,
    payoff: Payoff,
    best: bool = False,
) -> float:
    """What the walker wins a hand when both play the strategy, or (`best`) against it with a best response."""
    return sum(_walked(tree, 0, walker, same, strategy, payoff, best) for same in deals.values())


def _walked(
    tree: BettingTree, node: int, walker: int, deals: list[Deal], strategy: Strategy, payoff: Payoff, best: bool
) -> float:
    """The walker's value at a node, summed over all deals that look the same to it."""
    children = tree.children(node)
    street = int(tree.street[node])
    if not deals:
        return 0.0  # the opponent never comes here
    if tree.kind[node] == DEAL:
        seen = defaultdict(list)
        size = tree.rules.board_size(street + 1)
        for deal in deals:
            seen[deal.board[:size]].append(deal)
        return sum(_walked(tree, children[0], walker, same, strategy, payoff, best) for same in seen.values())
    if tree.kind[node] != DECISION:
        return sum(deal.chance * payoff(node, deal.outcome) for deal in deals)
    board = deals[0].board[: tree.rules.board_size(street)]
    if tree.player[node] == walker:
        values = [_walked(tree, child, walker, deals, strategy, payoff, best) for child in children]
        chances = strategy(node, deals[0].mine, board)
        return max(values) if best else sum(p * v for p, v in zip(chances, values, strict=True))
    total = 0.0
    chances_of = [strategy(node, deal.theirs, board) for deal in deals]
    for action, child in enumerate(children):
        below = [
            deal._replace(chance=deal.chance * chances[action])
            for deal, chances in zip(deals, chances_of, strict=True)
            if chances[action]
        ]
        total += _walked(tree, child, walker, below, strategy, payoff, best)
    return total


class MixedStrategy:
    """A strategy with a random choice for every class of holes and boards under some renamings of the suits.

    Numbers come from a hash of node, class and action, one action in five never being taken; so that the same strategy
    can be asked for hole by hole, and for arrays of holes.
    """

    def __init__(self, tree: BettingTree, renamings: Sequence[Sequence[int]], seed: int) -> None:
        deck, count = tree.rules.deck, tree.rules.hole_cards
        self.tree, self.seed = tree, seed
        self.cards = [[deck.card(deck.rank(c), suits[deck.suit(c)]) for c in range(deck.size)] for suits in renamings]
        self.index = {hole: i for i, hole in enumerate(colexicographic(deck.size, count))}
        self.holes = [
            np.array([self.index[tuple(sorted(cards[c] for c in hole))] for hole in self.index], np.uint64)
            for cards in self.cards
        ]
        self.known: dict[tuple[int, Cards, Cards], list[float]] = {}

    def __call__(self, node: int, hole: Cards, board: Cards) -> list[float]:
        key = node, hole, board
        if key not in self.known:
            table = self.rows([node], self.classes(np.array([self.index[tuple(sorted(hole))]]), board))[:, 0]
            total = table.sum()
            self.known[key] = (table / total if total else np.full(len(table), 1 / len(table))).tolist()
        return self.known[key]

    def classes(self, holes: npt.NDArray[np.integer], board: Cards) -> npt.NDArray[np.uint64]:
        """[hole] a number of its class on a board: the smallest image over all renamings."""
        ends = [0, *(self.tree.rules.board_size(street) for street in range(self.tree.rules.rounds))]
        images = []
        for cards, renamed in zip(self.cards, self.holes, strict=True):
            code = 1
            for start, end in itertools.pairwise(ends):
                for card in sorted(cards[c] for c in board[start:end]):
                    code = code * 64 + card
            images.append(renamed[holes] + np.uint64(2048 * code))
        return np.min(images, axis=0)

    def rows(self, nodes: Sequence[int], classes: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
        """[action of each node, hole] what actions are taken in proportion to; all zero: equally often."""
        codes = [
            ((node + 1) * 0x9E3779B97F4A7C15 + action * 0xA0761D6478BD642F + self.seed * 0xD1B54A32D192ED03) % 2**64
            for node in nodes
            for action in range(int(self.tree.num_children[node]))
        ]
        mixed = np.array(codes, np.uint64)[:, None] ^ (classes * np.uint64(0xE7037ED1A0B428DB))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        chances = (mixed >> np.uint64(11)) / 2.0**53
        return np.where(chances < 0.2, 0.0, chances)


def colexicographic(size: int, count: int) -> list[Cards]:
    """All sets of cards in the order of their indices: by the highest card, then the next."""
    return sorted(itertools.combinations(range(size), count), key=lambda cards: cards[::-1])


def kept_renamings(
    deck: Deck, hole_cards: int, ranges: Sequence[npt.NDArray[np.float64]], board: Cards
) -> list[tuple[int, ...]]:
    """The renamings of suits that keep a board, as a set, and the weights of all holes."""
    holes = colexicographic(deck.size, hole_cards)
    place = {hole: i for i, hole in enumerate(holes)}
    kept = []
    for suits in itertools.permutations(range(deck.suits)):
        cards = [deck.card(deck.rank(card), suits[deck.suit(card)]) for card in range(deck.size)]
        images = [place[tuple(sorted(cards[card] for card in hole))] for hole in holes]
        if {cards[card] for card in board} == set(board) and all((w[images] == w).all() for w in ranges):
            kept.append(suits)
    return kept
