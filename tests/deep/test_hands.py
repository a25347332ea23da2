"""Hands as keys: equal up to a renaming of suits, and only then."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
import pytest

import naive
import small_games
from equipoise import GameRules, load_game
from equipoise.abstraction.features.card_features import expected
from equipoise.cards.deck import hole_index
from equipoise.cards.isomorphism import HandIndexer
from equipoise.cards.symmetry import hole_card_table

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

from equipoise.deep.hands import BLOCKED, HandKeys
from equipoise.deep.traversals.deals import Dealer
from naive_deep import cards_of_key

GAMES = [load_game(name) for name in ("kuhn", "leduc", "holdem.flop", "holdem.limit")]
SMALL = [small_games.TWO_STREETS, small_games.LIMIT, small_games.NO_LIMIT]
STREETS = [(rules, street) for rules in [*GAMES, *SMALL] for street in range(rules.rounds)]
IDS = [f"{rules.name}-{street}" for rules, street in STREETS]


def look_alikes(rules: GameRules, street: int, count: int) -> np.ndarray:
    """Random hands; each again with suits renamed and deals shuffled; and again with the suit of one card changed."""
    deck, deals = rules.deck, rules.deals(street)
    rng = np.random.default_rng(street)
    hands = naive.random_hands(street, count, sum(deals), deck)
    names = rng.permuted(np.tile(np.arange(deck.suits), (count, 1)), axis=1)
    renamed = hands - hands % deck.suits + np.take_along_axis(names, (hands % deck.suits).astype(np.int64), 1)
    for first, end in pairwise([0, *accumulate(deals)]):
        renamed[:, first:end] = rng.permuted(renamed[:, first:end], axis=1)
    changed = hands.copy()
    column = rng.integers(changed.shape[1], size=count)
    changed[np.arange(count), column] -= changed[np.arange(count), column] % deck.suits
    ordered = np.sort(changed, axis=1)
    changed = changed[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)]
    return np.concatenate([hands, renamed, changed]).astype(np.uint8)


@pytest.mark.parametrize(("rules", "street"), STREETS, ids=IDS)
def test_keys_are_equal_exactly_if_a_renaming_of_suits_maps_the_hands(rules: GameRules, street: int) -> None:
    hands = look_alikes(rules, street, 3000)
    index = HandIndexer(rules.deals(street), rules.deck).indices(hands)
    key = HandKeys(rules).of_hands(hands, street)
    different = len(set(zip(index.tolist(), key.tolist(), strict=True)))
    assert different == len(np.unique(index)) == len(np.unique(key))
    assert (key != BLOCKED).all()


@pytest.mark.parametrize(("rules", "street"), STREETS, ids=IDS)
def test_the_network_sees_the_cards_of_each_deal(rules: GameRules, street: int) -> None:
    hands, keys = naive.random_hands(7, 100, sum(rules.deals(street)), rules.deck), HandKeys(rules)
    seen = keys.multi_hot(keys.of_hands(hands, street)).reshape(len(hands), keys.deals, rules.deck.size)
    for hand, rows in zip(hands, seen, strict=True):
        shown = [np.flatnonzero(row).tolist() for row in rows]
        assert [len(cards) for cards in shown][: len(rules.deals(street))] == list(rules.deals(street))
        cards = [card for dealt in shown for card in dealt]
        assert naive.canonical(rules.deals(street), cards, rules.deck) == naive.canonical(
            rules.deals(street), hand.tolist(), rules.deck
        )
    assert set(np.unique(seen)) == {0, 1}


@pytest.mark.parametrize("rules", GAMES, ids=lambda rules: rules.name)
def test_the_keys_of_a_board_are_those_of_its_hands(rules: GameRules) -> None:
    board = naive.random_hands(3, 1, 5, load_game("holdem.limit").deck)[0] % rules.deck.size
    board = np.unique(board)[: sum(rules.board_cards)]
    holes, keys = hole_card_table(rules.deck, rules.hole_cards), HandKeys(rules)
    found = keys.of_board(board.tolist())
    blocked = np.isin(holes, board).any(axis=1)
    hands = np.concatenate([holes, np.tile(board, (len(holes), 1))], axis=1).astype(np.uint8)
    assert (found[blocked] == BLOCKED).all()
    assert (found[~blocked] == keys.of_hands(hands[~blocked], rules.rounds - 1)).all()


@pytest.mark.parametrize("rules", [*GAMES[:-1], load_game("rhode-island"), *SMALL], ids=lambda rules: rules.name)
def test_strength_is_the_percentile_of_a_hand(rules: GameRules) -> None:
    plain, keys = HandKeys(rules), HandKeys(rules, strength=True)
    for street in range(rules.rounds):
        hands = naive.random_hands(street, 200, sum(rules.deals(street)), rules.deck)
        found = keys.of_hands(hands, street)
        strength = found >> np.uint64(56)
        hand = HandIndexer(rules.unordered_deals(street), rules.deck).indices(hands)
        order = np.argsort(expected(rules, street)[1][hand], kind="stable")
        if (count := HandIndexer(rules.unordered_deals(street), rules.deck).size) > 255:
            assert (np.diff(strength[order].astype(np.int64)) >= 0).all()
        else:  # each has its own, also in a table of as many buckets; hands of about the same strength are in any order
            squares = expected(rules, street)[1][hand]
            stronger = squares[:, np.newaxis] > squares + 0.03
            assert (strength[:, np.newaxis] > strength)[stronger].all() and stronger.mean() > 0.2
            assert np.unique((strength.astype(np.int64) - 1) * count // 255).size == np.unique(hand).size
        values = np.unique(expected(rules, street)[1][hand]).size
        assert strength.min() >= 1 and np.unique(strength).size >= min(20, values)
        assert (found & np.uint64(2**56 - 1) == plain.of_hands(hands, street)).all()
        board = hands[0, rules.hole_cards :].tolist()
        assert found[0] == keys.of_board(board)[hole_index(hands[0, : rules.hole_cards].tolist())]
        some = hole_card_table(rules.deck, rules.hole_cards)[::-3]
        assert (keys.of_board(board, some) == keys.of_board(board)[::-3]).all()
        assert ((keys.of_board(board) == BLOCKED) == (plain.of_board(board) == BLOCKED)).all()
    dealt = Dealer(keys, 3).deal(np.random.SeedSequence(1), 4).keys
    for street in range(rules.rounds):
        last = [[cards_of_key(int(key)) for key in hand] for hand in dealt[..., -1].reshape(-1, 1).tolist()]
        again = keys.of_hands(np.array(last, np.uint8)[:, 0], street)
        assert (again == dealt[..., street].ravel()).all()
