"""Ranges: notation read and written back, and refused with a message."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import InputError, Range
from equipoise.cards.deck import FULL_DECK, hole_index
from equipoise.cards.ranges import GRID, HOLES


def holes(text: str) -> set[int]:
    return set(np.flatnonzero(Range.read(text).weights).tolist())


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("QQ", "QQ"),
        ("QQ+", "QQ KK AA"),
        ("TT-88", "TT 99 88"),
        ("88-TT", "TT 99 88"),
        ("AKs", "AKs"),
        ("KAs", "AKs"),
        ("AK", "AKs AKo"),
        ("ATs+", "ATs AJs AQs AKs"),
        ("T8o+", "T8o T9o"),
        ("A5s-A2s", "A5s A4s A3s A2s"),
        ("JTs-98s", "JTs T9s 98s"),
        ("J9o-97o", "J9o T8o 97o"),
        ("3x", "A3s A3o K3s K3o Q3s Q3o J3s J3o T3s T3o 93s 93o 83s 83o 73s 73o 63s 63o 53s 53o 43s 43o 33 32s 32o"),
        ("Kxs", "AKs KQs KJs KTs K9s K8s K7s K6s K5s K4s K3s K2s"),
        ("qq , aks", "QQ AKs"),
    ],
)
def test_notation_names_cells(text: str, cells: str) -> None:
    by_name = {cell.name: set(cell.holes) for cell in GRID}
    assert holes(text) == set().union(*(by_name[name] for name in cells.split()))


def test_the_grid_partitions_all_holes() -> None:
    assert len(GRID) == 169
    assert sorted(hole for cell in GRID for hole in cell.holes) == list(range(HOLES))
    assert {len(cell.holes) for cell in GRID if cell.high == cell.low} == {6}
    assert {len(cell.holes) for cell in GRID if cell.kind == "s"} == {4}
    for cell in GRID:
        for hole in cell.holes:
            suits = {card % 4 for card in _cards(hole)}
            assert (len(suits) == 1) == (cell.kind == "s")


def _cards(hole: int) -> tuple[int, ...]:
    return next((a, b) for a in range(52) for b in range(a) if hole_index((a, b)) == hole)


def test_weights_and_overrides() -> None:
    weights = Range.read("AA:0.25, AKs, AhKh:0.5, KK:0").weights
    assert weights[hole_index(FULL_DECK.read_cards("AhKh"))] == 0.5
    assert weights[hole_index(FULL_DECK.read_cards("AsKs"))] == 1
    assert Range.read("AA:0.25, AKs, AhKh:0.5, KK:0").combos == pytest.approx(6 * 0.25 + 3 + 0.5)


def test_written_in_the_players_short_forms() -> None:
    assert str(Range.read("AhKh,A5s,A4s,A3s,A2s,AKs,KQo:0.5,AA,KK,QQ")) == "QQ+,AKs,A5s-A2s,KQo:0.5"
    assert str(Range.read("AKs,AKo,AQs")) == "AK,AQs"
    assert str(Range.read("22-AA")) == "22+"
    assert str(Range.read("AcKc,QJs")) == "QJs,AcKc"
    assert str(Range.read("any:0.5")) == "any:0.5"


@given(st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 1.0]), min_size=169, max_size=169), st.data())
def test_what_is_written_reads_back_the_same(by_cell: list[float], data: st.DataObject) -> None:
    weights = np.zeros(HOLES)
    for cell, weight in zip(GRID, by_cell, strict=True):
        weights[list(cell.holes)] = weight
    for hole in data.draw(st.lists(st.integers(0, HOLES - 1), max_size=20)):
        weights[hole] = data.draw(st.floats(0, 1))
    written = Range(weights)
    if weights.any():
        assert Range.read(str(written)) == written


def test_without_takes_out_exactly_the_blocked_holes() -> None:
    left = Range.read("any").without(FULL_DECK.read_cards("Ah2c"))
    assert left.combos == 50 * 49 / 2
    assert left.weights[hole_index(FULL_DECK.read_cards("AhKd"))] == 0


@pytest.mark.parametrize(
    "text", ["", " , ", "AKx", "QQs", "QQ+s", "AhAh", "AhXd", "A5s-K2s", "AKs-AKo", "AA-", "AA:2", "AA:-1",
             "AA:", "AA:1e5", "AA:nan", "1", "AKs+-AQs", "A", "Ax-Kx", "AhK", "\x00", "AA" * 60_000],
)  # fmt: skip
def test_bad_text_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError) as error:
        Range.read(text)
    assert "\n" not in str(error.value)
    assert error.value.remedy


@given(st.text() | st.text("AKQJT98765432shdcox+-:., 01*", max_size=30))
def test_any_text_is_a_range_or_a_value_error(text: str) -> None:
    try:
        found = Range.read(text)
    except ValueError as error:
        assert str(error)
        assert "\n" not in str(error)
    else:
        assert 0 <= found.weights.min() <= found.weights.max() <= 1


def test_reading_takes_linear_time() -> None:
    """A guard of CPU time only: what was quadratic took minutes."""
    started = time.process_time()
    with pytest.raises(InputError, match="an empty range"):
        Range.read(" " * 100_000)
    with pytest.raises(InputError, match="1000000 characters"):
        Range.read("QQ " + " " * 999_997)
    assert Range.read("QQ" + " " * 90_000 + "-" + " " * 900 + "JJ") == Range.read("QQ-JJ")
    assert Range.read("Ax " * 33_000) == Range.read("Ax")
    assert Range.read(f"22{chr(9)}: {chr(10)} 0.5 , 33") == Range.read("22:0.5,33")
    for word in (":", "-", "+", "\t- "):
        with pytest.raises(InputError):
            Range.read(word * 30_000)
    assert time.process_time() - started < 30


def test_a_list_of_1326_weights_is_in_piosolvers_order() -> None:
    """PioSOLVER's `show_hand_order` starts with 2d2c 2h2c 2h2d 2s2c 2s2d 2s2h 3c2c and ends with AsAc AsAd AsAh."""
    cards = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]
    order = [high + low for i, high in enumerate(cards) for low in cards[:i]]
    assert order[:7] == ["2d2c", "2h2c", "2h2d", "2s2c", "2s2d", "2s2h", "3c2c"]
    assert order[-3:] == ["AsAc", "AsAd", "AsAh"]
    for place in (0, 1, 2, 6, 500, 1000, 1325):
        weights = ["0"] * 1326
        weights[place] = "0.25"
        for separator in (" ", ",", "\n"):
            assert Range.read(separator.join(weights)) == Range.read(f"{order[place]}:0.25")
    assert Range.read(" ".join(["1"] * 1326)) == Range.read("any")
    for wrong in (["1"] * 1325, ["0.5"] * 3, ["0"], ["2"] * 1326):
        with pytest.raises(InputError):
            Range.read(" ".join(wrong))
    assert Range.read("22 33 44") == Range.read("22,33,44")  # hands, not weights
