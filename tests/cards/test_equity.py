"""Equity: exact, against enumeration with an independent ranker, and against what is known."""

import itertools

import numpy as np
import pytest
from phevaluator import evaluate_cards

from equipoise import InputError, Range, equity
from equipoise.cards.deck import FULL_DECK, hole_cards, hole_index


def enumerated(first: str, second: str, board: str) -> tuple[float, float]:
    """Win and tie shares by brute force, ranks by phevaluator."""
    given = FULL_DECK.read_cards(board)
    sides = [
        [(hole_cards(int(h)), float(r.weights[h])) for h in np.flatnonzero(r.weights)]
        for r in (Range.read(first), Range.read(second))
    ]
    win = tie = met = 0.0
    for (a, weight_a), (b, weight_b) in itertools.product(*sides):
        dead = {*a, *b, *given}
        if len(dead) < 4 + len(given):
            continue
        for more in itertools.combinations([c for c in range(52) if c not in dead], 5 - len(given)):
            x, y = evaluate_cards(*a, *given, *more), evaluate_cards(*b, *given, *more)
            weight = weight_a * weight_b
            met += weight
            win += weight * (x < y)
            tie += weight * (x == y)
    return win / met, tie / met


@pytest.mark.parametrize(
    ("first", "second", "board"),
    [
        ("AhKh", "QQ+,AKs", "2c 7d Jh"),
        ("AA,AKs:0.5,7h6h", "KK:0.25,AKo,98s", "Th 8h 2c 2d"),
        ("AK", "AK", "Ah Kd 2c 2d 2h"),
        ("66-44,A2s", "55,KdTd:0.125,32o", "5c 4c 3c 9d"),
    ],
)
def test_equals_enumeration_with_another_ranker(first: str, second: str, board: str) -> None:
    result = equity(first, second, board)
    win, tie = enumerated(first, second, board)
    assert result.win == pytest.approx(win, abs=1e-12)
    assert result.tie == pytest.approx(tie, abs=1e-12)


def test_known_equities_before_the_flop() -> None:
    # counted by every exact calculator: 1,712,304 boards
    aces = equity("AsAh", "KdKc")
    assert round(aces.win * 1_712_304) == 1_388_072
    assert round(aces.tie * 1_712_304) == 6_538
    assert equity("AKs", "22").equity[0] == pytest.approx(0.4989, abs=5e-5)
    assert equity("AhKh", "QdQc").equity[0] == pytest.approx(0.4621, abs=5e-5)


def test_sides_swapped_give_the_mirror_image() -> None:
    one, two = equity("QQ+,AKs", "AhKh,T9s", "2c 7d Jh"), equity("AhKh,T9s", "QQ+,AKs", "2c 7d Jh")
    assert one.win == pytest.approx(two.lose)
    assert one.tie == pytest.approx(two.tie)
    assert one.equity[0] == pytest.approx(two.equity[1])
    np.testing.assert_allclose(one.hole_equity[0], two.hole_equity[1])


def test_a_range_against_itself_is_even() -> None:
    assert equity("any", "any", "2c 7d Jh 9s").equity[0] == pytest.approx(0.5, abs=1e-12)


def test_suits_renamed_change_nothing() -> None:
    base = equity("AhKh", "QsQd,7c6c", "2c 7d Jh")
    renamed = equity("AcKc", "QhQs,7d6d", "2d 7s Jc")
    assert base.win == pytest.approx(renamed.win, abs=1e-13)


def test_symmetric_and_plain_walks_agree() -> None:
    """One hand more, of no weight to speak of, breaks the symmetry: all boards are then walked one by one."""
    symmetric = equity("TT+", "AQs,76s", "2c 7c Jc")
    plain = equity("TT+,3h2h:1e-12", "AQs,76s", "2c 7c Jc")
    assert plain.walked > symmetric.walked
    assert plain.equity[0] == pytest.approx(symmetric.equity[0], abs=1e-9)
    held = ~np.isnan(symmetric.hole_equity[0])
    np.testing.assert_allclose(symmetric.hole_equity[0][held], plain.hole_equity[0][held], atol=1e-9)


def test_threads_do_not_matter() -> None:
    one, three = (equity("TT+", "AQs,76s", "2c 7c Jc", threads=n) for n in (1, 3))
    assert one.win == three.win
    np.testing.assert_array_equal(one.hole_equity[0], three.hole_equity[0])


def test_hole_equities_average_to_the_whole() -> None:
    result = equity("QQ+,AKs", "AhKh", "2c 7d Jh")
    ace_king = hole_index(FULL_DECK.read_cards("AsKs"))
    assert result.hole_equity[0][ace_king] == pytest.approx(equity("AsKs", "AhKh", "2c 7d Jh").equity[0])
    assert np.isnan(result.hole_equity[0][hole_index(FULL_DECK.read_cards("AhKh"))])


@pytest.mark.parametrize(
    ("first", "second", "board"),
    [
        ("AhKh", "QQ", "2c"),
        ("AhKh", "QQ", "Ah Kh 2c"),
        ("AhKh", "AhQh", ""),
        ("AA", "KK", "2c 2c 3d"),
        ("AA:0", "KK", ""),
    ],
)
def test_what_cannot_be_is_refused(first: str, second: str, board: str) -> None:
    with pytest.raises(InputError):
        equity(first, second, board)
