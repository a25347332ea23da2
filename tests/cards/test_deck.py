"""Cards and holes: numbers, text, and the refusal of anything else."""

from __future__ import annotations

import itertools
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.cards.deck import FULL_DECK, RANKS, SUITS, Deck, hole_cards, hole_index
from equipoise.core.errors import InputError

decks = st.builds(Deck, st.integers(1, 13), st.integers(1, 4))


def test_numbering_is_the_acpc_dealers() -> None:
    assert FULL_DECK.read_cards("2c 2d 2h 2s 3c As") == (0, 1, 2, 3, 4, 51)
    assert Deck(3, 2).read_cards("2c2d3c3d4c4d") == tuple(range(6))


@pytest.mark.parametrize("deck", [FULL_DECK, Deck(3, 2), Deck(13, 1), Deck(1, 4)], ids=str)
def test_text_both_ways(deck: Deck) -> None:
    texts = [rank + suit for rank in RANKS[: deck.ranks] for suit in SUITS[: deck.suits]]
    assert [deck.text([card]) for card in range(deck.size)] == texts
    assert [deck.read_card(text) for text in texts] == list(range(deck.size))
    assert all(deck.card(deck.rank(card), deck.suit(card)) == card for card in range(deck.size))


@given(decks, st.data())
def test_many_cards_both_ways(deck: Deck, data: st.DataObject) -> None:
    cards = tuple(data.draw(st.lists(st.integers(0, deck.size - 1), unique=True)))
    for separator in ("", " ", ",", ", ", "\t"):
        text = deck.text(cards, separator)
        assert deck.read_cards(text) == deck.read_cards(text.upper()) == deck.read_cards(text.lower()) == cards


@pytest.mark.parametrize(
    ("deck", "text", "message"),
    [
        (FULL_DECK, "1c", "no card '1c' in this deck; a card is one of 23456789TJQKA and one of cdhs, like 2c"),
        (FULL_DECK, "c2", "no card 'c2'"),
        (FULL_DECK, "10c", "cards '10c' end in half a card; a card is one of"),
        (FULL_DECK, "AhKhAh", "Ah appears twice in 'AhKhAh'; name each card once"),
        (FULL_DECK, "A\nh2\x00", r"no card '2\x00'"),
        (FULL_DECK, "2c" * 5000 + "x", "cards '2c2c"),
        (Deck(3, 2), "5c", "no card '5c' in this deck; a card is one of 234 and one of cd, like 2c"),
        (Deck(3, 2), "2h", "no card '2h'"),
    ],
)
def test_bad_text(deck: Deck, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        deck.read_cards(text)
    assert message in str(caught.value)
    assert "; " in str(caught.value)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 200


@given(decks, st.text() | st.text("23456789TJQKAtjqkacdhsCDHS ,"))
def test_any_text_gives_distinct_cards_or_one_line(deck: Deck, text: str) -> None:
    try:
        cards = deck.read_cards(text)
    except ValueError as error:
        assert type(error) is InputError
        assert len(str(error).splitlines()) == 1
    else:
        assert len(set(cards)) == len(cards) and all(0 <= card < deck.size for card in cards)


def test_bad_numbers() -> None:
    for cards in ([52], [-1], [3, 4, 3]):
        with pytest.raises(InputError, match="; "):
            FULL_DECK.check_cards(cards)
    for ranks, suits in ((0, 4), (14, 4), (13, 0), (13, 5)):
        with pytest.raises(InputError, match="; use 1 to"):
            Deck(ranks, suits)


def test_holes_of_two_cards() -> None:
    assert FULL_DECK.holes(2) == 1326
    for high in range(52):
        for low in range(high):
            assert hole_index((low, high)) == hole_index((high, low)) == high * (high - 1) // 2 + low
    assert [hole_index(hole_cards(hole)) for hole in range(1326)] == list(range(1326))


@pytest.mark.parametrize(("size", "count"), [(52, 1), (12, 3), (9, 4), (8, 8)])
def test_holes_are_numbered_colexicographically(size: int, count: int) -> None:
    holes = sorted(itertools.combinations(range(size), count), key=lambda hole: hole[::-1])
    assert [hole_cards(index, count) for index in range(comb(size, count))] == holes
    assert [hole_index(hole) for hole in holes] == list(range(len(holes)))
