"""Names of hands: their class by an independent evaluator, their order by our own tables, and the words."""

from __future__ import annotations

import itertools

import numpy as np
import phevaluator
import pytest

from equipoise.cards.deck import FULL_DECK, Deck
from equipoise.cards.hand_names import RANK_NAMES, hand_class, hand_name, hand_strength, names_beside
from equipoise.cards.hand_ranks import Ranker
from equipoise.cards.rank_tables import STANDARD_CLASSES, THREE_CARD_CLASSES
from naive import random_hands

PHEVALUATOR_CLASSES = (  # the worst rank of each class there, 1 being the best hand
    (10, "straight flush"), (166, "four of a kind"), (322, "full house"), (1599, "flush"), (1609, "straight"),
    (2467, "three of a kind"), (3325, "two pair"), (6185, "one pair"), (7462, "high card"),
)  # fmt: skip


def strength(text: str, deck: Deck = FULL_DECK, *, three_card: bool = False) -> tuple[int, ...]:
    return hand_strength(deck, deck.read_cards(text), three_card=three_card)


def rare_hands(cards: int, count: int, seed: int) -> list[list[int]]:
    """Hands of few suits or few ranks, so that straight flushes and four of a kind come often."""
    rng = np.random.default_rng(seed)
    suited = [card for card in range(52) if card % 4 == 1]
    few = [card for card in range(52) if 5 <= card // 4 <= 8]
    return [rng.choice(suited if at % 2 else few, cards, replace=False).tolist() for at in range(count)]


@pytest.mark.parametrize("cards", [5, 6, 7])
def test_classes_agree_with_phevaluator(cards: int) -> None:
    hands = random_hands(cards, 3000, cards).tolist() + rare_hands(cards, 1000, cards)
    seen = set()
    for hand in hands:
        theirs = phevaluator.evaluate_cards(*hand)
        expected = next(name for worst, name in PHEVALUATOR_CLASSES if theirs <= worst)
        assert hand_class(hand_strength(FULL_DECK, hand)) == expected, FULL_DECK.text(hand)
        seen.add(expected)
    assert seen == set(STANDARD_CLASSES)


@pytest.mark.parametrize("deck", [FULL_DECK, Deck(9, 4), Deck(6, 3), Deck(3, 2)], ids=str)
@pytest.mark.parametrize("cards", range(1, 8))
def test_strengths_are_in_the_order_of_the_ranks(cards: int, deck: Deck) -> None:
    if cards > deck.size:
        return
    hands = random_hands(cards, 1500, cards, deck).tolist()
    hands += rare_hands(cards, 500, cards) if deck == FULL_DECK else []
    ranks = Ranker(deck, cards).ranks(np.array(hands, np.uint8)).tolist()
    both = sorted(zip([hand_strength(deck, hand) for hand in hands], ranks, strict=True))
    for (one, low), (two, high) in itertools.pairwise(both):
        assert (one == two) == (low == high), (one, two)
        assert low <= high, (one, two)


def test_three_cards_have_their_own_order() -> None:
    ranker = Ranker(cards=3, three_card=True)
    hands = [list(hand) for hand in itertools.combinations(range(52), 3)][::3]
    ranks = ranker.ranks(np.array(hands, np.uint8)).tolist()
    strengths = [hand_strength(FULL_DECK, hand, three_card=True) for hand in hands]
    both = sorted(zip(strengths, ranks, strict=True))
    assert all((one == two) == (low == high) and low <= high for (one, low), (two, high) in itertools.pairwise(both))
    for found, rank in zip(strengths, ranks, strict=True):
        assert hand_class(found, three_card=True) == ranker.class_name(rank)
    assert {found[0] for found in strengths} == set(range(len(THREE_CARD_CLASSES)))


@pytest.mark.parametrize(
    ("cards", "name"),
    [
        ("Qh Js Qd Jc 4s 2d 7h", "two pair, queens and jacks"),
        ("Qh Js Qd Jc 4s 4d 7h", "two pair, queens and jacks"),
        ("Ah Kd 9s 8c 7h 3d 2c", "ace high"),
        ("6h 6d 9s 8c 2h 3d Ac", "a pair of sixes"),
        ("6h 6d 6s 8c 2h 3d Ac", "three of a kind, sixes"),
        ("Ah 2d 3s 4c 5h 9d 9c", "a straight, five high"),
        ("2h 3d 4s 5c 6h Ad Kc", "a straight, six high"),
        ("2h 9h 4h 5h Kh Ad Kc", "a flush, king high"),
        ("Th Td Ts 5c 5h 5d Kc", "a full house, tens full of fives"),
        ("Th Td Ts 5c 5h 9d 9c", "a full house, tens full of nines"),
        ("2h 2d 2s 2c 5h 9d 9c", "four of a kind, twos"),
        ("9h 8h 7h 6h 5h Ad Ac", "a straight flush, nine high"),
        ("Ah 2h 3h 4h 5h Ad Ac", "a straight flush, five high"),
        ("Ah Kh Qh Jh Th 9h 8h", "a royal flush"),
        ("3h 3s", "a pair of threes"),
        ("4h", "four high"),
    ],
)
def test_words(cards: str, name: str) -> None:
    assert hand_name(strength(cards)) == name


def test_words_of_three_cards() -> None:
    for cards, name in {
        "Ah Kh Qh": "a straight flush, ace high",
        "Ah 2d 3s": "a straight, three high",
        "Ah Kh 2h": "a flush, ace high",
        "7h 7d 2h": "a pair of sevens",
        "7h 7d 7c": "three of a kind, sevens",
        "Th 7d 2c": "ten high",
    }.items():
        assert hand_name(strength(cards, three_card=True), three_card=True) == name


def test_names_side_by_side_tell_the_hands_apart() -> None:
    """Equal names only of equal hands; otherwise the first rank that differs, and the better one is the winner's."""
    rng = np.random.default_rng(3)
    kickers = 0
    for _ in range(4000):
        cards = rng.choice(52, 9, replace=False).tolist()
        one, two = (hand_strength(FULL_DECK, [*cards[:5], *hole]) for hole in (cards[5:7], cards[7:9]))
        first, second = names_beside(one, two)
        assert (first == second) == (one == two)
        assert first.startswith(hand_name(one)) and second.startswith(hand_name(two))
        if first.endswith("kicker") and one != two:
            kickers += 1
            ranks = [RANK_NAMES.index(name.split()[-2]) for name in (first, second)]
            assert (ranks[0] > ranks[1]) == (one > two)
    assert kickers > 100
