"""Hands as keys: equal up to a renaming of suits, and only then; random deals are those of the rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import accumulate, pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

import naive
import small_games
from equipoise import GameRules, build_tree, load_game
from equipoise.cards.isomorphism import HandIndexer
from equipoise.cards.symmetry import hole_card_table

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

from equipoise.deep.encoding import Encoding
from equipoise.deep.hands import BLOCKED, HandKeys
from naive_deep import all_deals, cards_of_key

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


def p_value(found: Counter[object], encoding: Encoding, *, blockers: bool = True, sign: int = 1) -> float:
    """Of counts of deals, each with all keys and the winner, by chi-squared against all deals of the rules."""
    expected: Counter[object] = Counter()
    for deal in all_deals(encoding, blockers):
        expected[deal.keys, sign * deal.outcome] += deal.chance  # type: ignore[assignment]
    if found.keys() - expected.keys():
        return 0.0
    counts = np.array([found[cell] for cell in expected])
    return float(chisquare(counts, np.array(list(expected.values())) * counts.sum()).pvalue)


@pytest.mark.parametrize("rules", [load_game("kuhn"), load_game("leduc"), small_games.LIMIT], ids=lambda r: r.name)
def test_deals_are_uniform(rules: GameRules) -> None:
    encoding = Encoding(build_tree(rules))
    keys, share = encoding.hands.deal(np.random.SeedSequence(5), 50_000)
    hands = [[tuple(key) for key in of_player] for of_player in (keys[:, 0].tolist(), keys[:, 1].tolist())]
    found: Counter[object] = Counter(zip(zip(*hands, strict=True), share[:, -1].tolist(), strict=True))
    assert p_value(found, encoding) > 1e-4
    assert p_value(found, encoding, blockers=False) < 1e-12
    assert p_value(found, encoding, sign=-1) < 1e-12


def test_a_pot_before_the_last_street_is_worth_its_mean_over_boards() -> None:
    encoding = Encoding(build_tree(small_games.LIMIT))
    keys, share = encoding.hands.deal(np.random.SeedSequence(7), 40_000, runouts=8)
    expected: defaultdict[object, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for deal in all_deals(encoding):
        first = tuple(of_player[0] for of_player in deal.keys)
        expected[first][0] += deal.chance
        expected[first][1] += deal.chance * deal.outcome
    found: defaultdict[object, list[float]] = defaultdict(list)
    for row, value in zip(keys[:, :, 0].tolist(), share[:, 0].tolist(), strict=True):
        found[tuple(row)].append(value)

    def largest_error(sign: int) -> float:
        """In standard errors, over all pairs of holes; with some slack for pairs that always end the same way."""
        errors = []
        for pair, values in found.items():
            chance, total = expected[pair]
            spread = np.std(values) / np.sqrt(len(values)) + 1e-6
            errors.append(abs(np.mean(values) - sign * total / chance) / spread)
        return float(max(errors))

    assert found.keys() == expected.keys()
    assert largest_error(1) < 5
    assert largest_error(-1) > 50
    last = encoding.hands.deal(np.random.SeedSequence(7), 40_000)[1][:, 0]
    assert share[:, 0].std() < 0.9 * last.std()


def test_deals_of_holdem_fit_together() -> None:
    rules = load_game("holdem.limit")
    hands = HandKeys(rules)
    keys, share = hands.deal(np.random.SeedSequence(1), 20_000)
    last = np.array([[cards_of_key(key) for key in row] for row in keys[:, :, 3].tolist()], np.uint8)
    ranks = [rules.ranker.ranks(np.ascontiguousarray(last[:, player])).astype(np.int64) for player in range(2)]
    assert (share == np.sign(ranks[0] - ranks[1])[:, np.newaxis]).all()
    for player in range(2):
        for street in range(rules.rounds):
            assert (hands.of_hands(last[:, player], street) == keys[:, player, street]).all()
        classes, sizes = np.unique(hands.of_board([]), return_counts=True)
        counts = np.array([(keys[:, player, 0] == key).sum() for key in classes])
        assert len(classes) == 169
        assert chisquare(counts, sizes / sizes.sum() * counts.sum()).pvalue > 1e-4
