"""The suit-isomorphism index: published sizes, a bijection, and the partition of the naive canonical form."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from equipoise.cards.deck import FULL_DECK, Deck
from equipoise.cards.isomorphism import MOST_IN_GROUP, HandIndexer, IndexTables, hand_index, hand_of_index
from equipoise.core.errors import InputError
from equipoise.core.jit import I64, U8, kernel
from naive import all_deals, canonical, random_hands

PUBLISHED = tomllib.loads((Path(__file__).parents[1] / "data" / "published.toml").read_text())["hand_index"]
LARGE = [(2, 4), (2, 5), (2, 3, 1), (2, 3, 1, 1), (3, 1, 1)]


@kernel
def count_round_trips(first: int, last: int, tables: IndexTables, hand: U8) -> int:
    """How many indices of a range come back as themselves, each by way of a hand of distinct cards."""
    good = 0
    shape = 0
    for i in range(first, last):
        index = np.uint64(i)
        shape = hand_of_index(index, shape, tables, hand)
        held = np.uint64(0)
        distinct = True
        for card in hand:
            bit = np.uint64(1) << np.uint64(card)
            distinct &= held & bit == np.uint64(0)
            held |= bit
        good += distinct and hand_index(hand, tables) == index
    return good


@kernel
def count_hands(tables: IndexTables, hand: U8, counts: I64) -> None:
    """All deals of two cards, then one. Scratch: uint8[3]; OUT: int64[hand index], how many deals have it."""
    for high in range(52):
        for low in range(high):
            for board in range(52):
                if board != low and board != high:
                    hand[0], hand[1], hand[2] = high, low, board
                    counts[hand_index(hand, tables)] += 1


def renamed(hands: U8, suits: tuple[int, ...]) -> U8:
    return np.array(suits, np.uint8)[hands % 4] + hands // 4 * 4


@pytest.mark.parametrize("rounds", PUBLISHED)
def test_published_sizes(rounds: str) -> None:
    assert HandIndexer(tuple(map(int, rounds.strip("[]").split(",")))).size == PUBLISHED[rounds]


@pytest.mark.parametrize(
    ("rounds", "deck"),
    [
        *[(rounds, FULL_DECK) for rounds in [(2,), (3,), (4,), (5,), (2, 3), (3, 1), (1, 1, 1), (1, 1, 1, 1)]],
        ((7,), Deck(8, 3)), ((2, 2), Deck(4, 2)), ((2, 3), Deck(13, 3)), ((1, 1), Deck(3, 2)), ((3, 2), Deck(13, 1)),
        ((5, 5), Deck(4, 4)), ((2, 2, 2, 2), Deck(2, 4)), ((4, 4), Deck(2, 4)), ((2, 2, 1), Deck(3, 4)),
    ],
    ids=str,
)  # fmt: skip
def test_every_index_is_a_hand_and_back(rounds: tuple[int, ...], deck: Deck) -> None:
    indexer = HandIndexer(rounds, deck)
    hands = indexer.hands(np.arange(indexer.size))
    assert hands.max() < deck.size
    assert (np.diff(np.sort(hands, axis=1).astype(int), axis=1) > 0).all()
    np.testing.assert_array_equal(indexer.indices(hands), np.arange(indexer.size))


@pytest.mark.parametrize(
    ("rounds", "deck"),
    [
        ((2,), FULL_DECK), ((1, 1), FULL_DECK), ((1, 1), Deck(3, 2)), ((2, 2, 1), Deck(4, 2)), ((4, 4), Deck(4, 2)),
        ((2, 3), Deck(3, 4)), ((1, 1, 1, 1), Deck(2, 4)), ((4, 1, 2), Deck(2, 4)), ((2, 1), Deck(13, 3)),
        ((1, 3), Deck(4, 3)), ((3, 2), Deck(7, 1)), ((7,), Deck(4, 3)),
    ],
    ids=str,
)  # fmt: skip
def test_same_partition_as_canonical_form(rounds: tuple[int, ...], deck: Deck) -> None:
    indexer = HandIndexer(rounds, deck)
    hands = list(all_deals(rounds, deck))
    indices = indexer.indices(np.array(hands, np.uint8)).tolist()
    pairs = {(canonical(rounds, hand, deck), index) for hand, index in zip(hands, indices, strict=True)}
    assert len(pairs) == len({form for form, _ in pairs}) == indexer.size  # one index a form,
    assert sorted(index for _, index in pairs) == list(range(indexer.size))  # and one form an index


@pytest.mark.parametrize("rounds", LARGE, ids=str)
def test_suits_and_order_within_a_round_do_not_matter(rounds: tuple[int, ...]) -> None:
    indexer = HandIndexer(rounds)
    hands = random_hands(1, 20_000, sum(rounds))
    indices = indexer.indices(hands)
    assert indices.max() < indexer.size
    for suits in itertools.permutations(range(4)):
        np.testing.assert_array_equal(indexer.indices(renamed(hands, suits)), indices)
    rng = np.random.default_rng(2)
    shuffled = np.hstack([rng.permuted(part, axis=1) for part in np.split(hands, np.cumsum(rounds[:-1]), axis=1)])
    np.testing.assert_array_equal(indexer.indices(shuffled), indices)


@pytest.mark.parametrize("rounds", [*LARGE, (4, 4, 4), (7, 7), (2, 2, 2, 2, 2)], ids=str)
def test_random_indices_come_back(rounds: tuple[int, ...]) -> None:
    indexer = HandIndexer(rounds)
    indices = np.random.default_rng(3).integers(indexer.size, size=50_000, dtype=np.uint64)
    indices[:4] = [0, 1, indexer.size - 2, indexer.size - 1]
    hands = indexer.hands(indices)
    assert (np.diff(np.sort(hands, axis=1).astype(int), axis=1) > 0).all()
    np.testing.assert_array_equal(indexer.indices(hands), indices)


def test_numbers_of_pairs_of_suits_are_exact_in_floating_point() -> None:
    largest = np.arange(1, MOST_IN_GROUP + 1, dtype=np.float64)
    for number, expected in ((largest * (largest + 1) / 2, largest), (largest * (largest + 1) / 2 - 1, largest - 1)):
        np.testing.assert_array_equal(np.floor((np.sqrt(number * 8.0 + 1.0) - 1.0) * 0.5), expected)


@pytest.mark.parametrize("rounds", LARGE, ids=str)
def test_same_index_if_and_only_if_same_canonical_form(rounds: tuple[int, ...]) -> None:
    # Hands of two suits and few ranks, so that different hands of one form, and near misses, are common.
    indexer = HandIndexer(rounds)
    few = np.array([0, 1, 4, 5, 8, 9, 20, 21, 22, 51], np.uint8)
    hands = few[random_hands(4, 3000, sum(rounds), Deck(5, 2))]
    pairs = set(zip(indexer.indices(hands).tolist(), [canonical(rounds, hand) for hand in hands.tolist()], strict=True))
    assert len(pairs) == len({index for index, _ in pairs}) == len({form for _, form in pairs}) < len(hands)


def test_rounds_are_told_apart() -> None:
    cards = list(FULL_DECK.read_cards("AhKd 2c7d9s 3c"))
    turn_on_flop = [*cards[:4], cards[5], cards[4]]
    assert HandIndexer((2, 3, 1)).index(cards) != HandIndexer((2, 3, 1)).index(turn_on_flop)
    assert HandIndexer((2, 4)).index(cards) == HandIndexer((2, 4)).index(turn_on_flop)


def test_inside_a_kernel_the_classes_have_their_true_sizes() -> None:
    indexer = HandIndexer((2, 1))
    counts = np.zeros(indexer.size, np.int64)
    count_hands(indexer.tables, np.zeros(3, np.uint8), counts)
    for hand, count in zip(indexer.hands(np.arange(indexer.size)), counts.tolist(), strict=True):
        images = [renamed(hand, suits).tolist() for suits in itertools.permutations(range(4))]
        assert count == len({(frozenset(image[:2]), image[2]) for image in images})


@pytest.mark.slow
def test_all_river_hands_come_back() -> None:
    indexer = HandIndexer((2, 5))
    assert count_round_trips(0, indexer.size, indexer.tables, np.zeros(7, np.uint8)) == indexer.size


def test_a_stretch_of_river_hands_comes_back() -> None:
    for rounds in ((2, 5), (2, 3, 1, 1)):
        indexer = HandIndexer(rounds)
        for first in range(0, indexer.size, indexer.size // 20):
            last = min(first + 20_000, indexer.size)
            assert count_round_trips(first, last, indexer.tables, np.zeros(7, np.uint8)) == last - first


@pytest.mark.parametrize(
    "call",
    [
        lambda: HandIndexer(()),
        lambda: HandIndexer((2, 0)),
        lambda: HandIndexer((8,)),
        lambda: HandIndexer((3, 2), Deck(2, 2)),
        lambda: HandIndexer((7, 7, 7)),
        lambda: HandIndexer((1,) * 13, Deck(13, 1)).size,
        lambda: HandIndexer((2,) * 10, Deck(13, 2)).size,
        lambda: HandIndexer((2, 3)).index(range(4)),
        lambda: HandIndexer((2, 3)).index([]),
        lambda: HandIndexer((2,)).index([7, 7]),
        lambda: HandIndexer((2,)).index([7, 52]),
        lambda: HandIndexer((2,)).index([7, -1]),
        lambda: HandIndexer((2,)).hand(169),
        lambda: HandIndexer((2,)).hand(-1),
        lambda: HandIndexer((2,)).hands(np.array([0, 169])),
        lambda: HandIndexer((2,)).indices(np.array([[0, 52]], np.uint8)),
        lambda: HandIndexer((2,)).indices(np.array([0, 1], np.uint8)),
    ],
)
def test_bad_input(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="; "):
        call()
