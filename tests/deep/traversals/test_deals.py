"""Deals are those of the rules, also when several holes share a board."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy.stats import chisquare

import naive
import small_games
from equipoise import GameRules, build_tree, load_game

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")

from equipoise.deep.encoding import Encoding
from equipoise.deep.hands import HandKeys
from equipoise.deep.traversals.deals import Dealer
from naive_deep import all_deals, cards_of_key


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
    for holes in (1, 3):
        deals = Dealer(encoding.hands, holes).deal(np.random.SeedSequence(5), 50_000)
        mine, theirs = 0, holes - 1  # with several holes: two that were not drawn together
        meets = deals.meet[:, theirs, mine] == 1
        hands = [map(tuple, deals.keys[meets, 0, mine].tolist()), map(tuple, deals.keys[meets, 1, theirs].tolist())]
        won = deals.won[meets, 0, theirs, mine].tolist()
        found: Counter[object] = Counter(zip(zip(*hands, strict=True), won, strict=True))
        assert p_value(found, encoding) > 1e-4
        assert p_value(found, encoding, blockers=False) < 1e-12
        assert p_value(found, encoding, sign=-1) < 1e-12
        assert meets.all() == (holes == 1)
        assert not deals.won[~meets, 0, theirs, mine].any()


@pytest.mark.parametrize("walker", [0, 1])
def test_holes_meet_and_win_as_their_cards_say(walker: int) -> None:
    rules = load_game("holdem.nolimit")
    deals = Dealer(HandKeys(rules), 6, runouts=4).deal(np.random.SeedSequence(3), 40, walker)
    board_keys = deals.keys[:, :, :, 3]
    seen = 0
    for deal in range(40):
        ranks = [[naive.rank_seven(cards_of_key(key), rules.deck) for key in player] for player in board_keys[deal]]
        for theirs in range(6):
            for mine in range(6):
                a, b = ranks[walker][mine], ranks[1 - walker][theirs]
                if deals.meet[deal, theirs, mine]:
                    assert deals.won[deal, 3, theirs, mine] == (a > b) - (a < b)
                    seen += a != b
                else:
                    assert not deals.won[deal, :, theirs, mine].any()
    assert 0.75 < deals.meet.mean() < 0.99
    assert seen > 1000
    assert (np.diagonal(deals.meet, axis1=1, axis2=2) == 1).all()


@pytest.mark.parametrize("holes", [1, 2])
def test_a_pot_before_the_last_street_is_worth_its_mean_over_boards(holes: int) -> None:
    encoding = Encoding(build_tree(small_games.LIMIT))
    deals = Dealer(encoding.hands, holes, runouts=24).deal(np.random.SeedSequence(7), 40_000)
    meets = deals.meet[:, -1, 0] == 1
    keys = np.stack([deals.keys[meets, 0, 0], deals.keys[meets, 1, -1]], axis=1)
    share = deals.won[meets, :, -1, 0]
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
    assert share[:, 0].std() < 0.9 * share[:, -1].std()


def test_deals_of_holdem_fit_together() -> None:
    rules = load_game("holdem.limit")
    hands = HandKeys(rules)
    dealt, _, won = Dealer(hands).deal(np.random.SeedSequence(1), 20_000)
    keys, share = dealt[:, :, 0], won[:, :, 0, 0]
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
