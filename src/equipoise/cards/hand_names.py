"""What a hand is called at a table: `two pair, queens and jacks`.

A hand's strength is its class and the ranks that decide within the class, so strengths compare as the hands do. The
classes are those of `rank_tables.py`, whose tables rank millions of hands; this module names one, in plain Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from equipoise.cards.deck import Deck
from equipoise.cards.rank_tables import STANDARD_CLASSES, THREE_CARD_CLASSES, Strength

RANK_NAMES = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king", "ace",
)  # fmt: skip
_ACE = len(RANK_NAMES) - 1
_FORMS = {  # {0}, {1}: the first two deciding ranks; {0s}, {1s}: their plurals
    "high card": "{0} high",
    "pair": "a pair of {0s}",
    "one pair": "a pair of {0s}",
    "two pair": "two pair, {0s} and {1s}",
    "three of a kind": "three of a kind, {0s}",
    "straight": "a straight, {0} high",
    "flush": "a flush, {0} high",
    "full house": "a full house, {0s} full of {1s}",
    "four of a kind": "four of a kind, {0s}",
    "straight flush": "a straight flush, {0} high",
}


def hand_strength(deck: Deck, cards: Iterable[int], *, three_card: bool = False) -> Strength:
    """The class of the best five of one to seven cards, and its deciding ranks, the most important first.

    Fewer than five cards make no straight or flush; `three_card` is the ranking of Rhode Island hold'em.
    """
    hand = list(cards)
    length = 3 if three_card else 5
    ranks = [deck.rank(card) for card in hand]
    by_suit = [[deck.rank(card) for card in hand if deck.suit(card) == suit] for suit in range(deck.suits)]
    flush = next((sorted(suited, reverse=True)[:length] for suited in by_suit if len(suited) >= length), [])
    flush_top = max((_straight_top(suited, length) for suited in by_suit if len(suited) >= length), default=-1)
    straight_top = _straight_top(ranks, length)
    groups = sorted({(ranks.count(rank), rank) for rank in ranks}, reverse=True)
    first, second = groups[0][0], groups[1][0] if len(groups) > 1 else 0
    found: dict[str, list[int]] = {
        "straight flush": [flush_top] if flush_top >= 0 else [],
        "four of a kind": _grouped(groups, 4, length) if first == 4 else [],
        "full house": _full_house(groups) if first == 3 and second >= 2 else [],
        "flush": flush,
        "straight": [straight_top] if straight_top >= 0 else [],
        "three of a kind": _grouped(groups, 3, length) if first == 3 else [],
        "two pair": _two_pair(groups) if first == second == 2 else [],
        "one pair": _grouped(groups, 2, length) if first == 2 else [],
        "pair": _grouped(groups, 2, length) if first == 2 else [],
        "high card": sorted(ranks, reverse=True)[:length],
    }
    classes = _classes(three_card)
    best = next(name for name in reversed(classes) if found[name])
    return (classes.index(best), *found[best])


def hand_class(strength: Strength, *, three_card: bool = False) -> str:
    """The class of a strength: `two pair`."""
    return _classes(three_card)[strength[0]]


def hand_name(strength: Strength, *, three_card: bool = False) -> str:
    """The name of a strength.

    >>> deck = Deck()
    >>> hand_name(hand_strength(deck, deck.read_cards("Qh Js Qd Jc 4s 2d 7h")))
    'two pair, queens and jacks'
    """
    name, ranks = hand_class(strength, three_card=three_card), strength[1:]
    if name == "straight flush" and ranks[0] == _ACE and not three_card:
        return "a royal flush"
    words = {f"{{{at}}}": RANK_NAMES[rank] for at, rank in enumerate(ranks[:2])}
    words |= {f"{{{at}s}}": plural(rank) for at, rank in enumerate(ranks[:2])}
    text = _FORMS[name]
    for form, word in words.items():
        text = text.replace(form, word)
    return text


def names_beside(one: Strength, two: Strength, *, three_card: bool = False) -> tuple[str, str]:
    """The names of two hands that are compared: with the kickers that decide, if the names do not.

    >>> names_beside((1, 10, 12, 5, 4), (1, 10, 11, 9, 8))
    ('a pair of queens, ace kicker', 'a pair of queens, king kicker')
    """
    first, second = (hand_name(strength, three_card=three_card) for strength in (one, two))
    if first != second or one == two:
        return first, second
    mine, theirs = next((a, b) for a, b in zip(one, two, strict=True) if a != b)
    return f"{first}, {RANK_NAMES[mine]} kicker", f"{second}, {RANK_NAMES[theirs]} kicker"


def plural(rank: int) -> str:
    """Cards of a rank: `queens`, `sixes`."""
    name = RANK_NAMES[rank]
    return f"{name}es" if name.endswith("x") else f"{name}s"


def _classes(three_card: bool) -> Sequence[str]:
    return THREE_CARD_CLASSES if three_card else STANDARD_CLASSES


def _straight_top(ranks: Sequence[int], length: int) -> int:
    """The highest rank of the best straight, -1 if there is none; the ace also plays low."""
    held = {*ranks, *([-1] if _ACE in ranks else [])}
    tops = (top for top in held if all(top - step in held for step in range(length)))
    return max(tops, default=-1)


def _grouped(groups: Sequence[tuple[int, int]], count: int, length: int) -> list[int]:
    """The rank of the one group of `count` cards, then the kickers that fill the hand."""
    rank = next(rank for size, rank in groups if size == count)
    others = sorted((other for size, other in groups for _ in range(size) if other != rank), reverse=True)
    return [rank, *others[: length - count]]


def _full_house(groups: Sequence[tuple[int, int]]) -> list[int]:
    three = groups[0][1]
    return [three, max(rank for size, rank in groups[1:] if size >= 2)]


def _two_pair(groups: Sequence[tuple[int, int]]) -> list[int]:
    high, low = groups[0][1], groups[1][1]
    return [high, low, *sorted((rank for _, rank in groups[2:]), reverse=True)[:1]]
