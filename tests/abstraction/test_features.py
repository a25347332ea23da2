"""Card features of every hand: naive twins on small decks, brute force on boards of the full deck, and laws."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import naive_features as naive
from equipoise import GameRules, load_game
from equipoise.abstraction.features import card_features as features
from equipoise.abstraction.features import hand_space as hands
from equipoise.abstraction.features.card_features import StreetFeatures
from equipoise.abstraction.features.hand_space import HandBlock, HandSpace
from equipoise.cards.deck import FULL_DECK, Deck, hole_index
from equipoise.core.errors import InputError
from equipoise.core.files.cache import mapped_arrays

HOLDEM = load_game("holdem.limit")
TWO_FOUR = load_game("holdem.two-four")
SMALL = {
    "kuhn": load_game("kuhn"),
    "leduc": load_game("leduc"),
    "rhode island": dataclasses.replace(load_game("rhode-island"), deck=Deck(5, 4)),
    "flushes": dataclasses.replace(
        HOLDEM, deck=Deck(6, 2), board_cards=(0, 3, 1), first=(1, 0, 0), max_raises=(3, 4, 4), raise_sizes=(1, 1, 1)
    ),
    "three suits": dataclasses.replace(TWO_FOUR, deck=Deck(5, 3), board_cards=(0, 3)),
    "four suits": dataclasses.replace(
        HOLDEM, deck=Deck(3, 4), board_cards=(0, 1, 1), first=(1, 0, 0), max_raises=(3, 4, 4), raise_sizes=(1, 1, 1)
    ),
    "one hole card": dataclasses.replace(TWO_FOUR, deck=Deck(6, 2), hole_cards=1, board_cards=(0, 4)),
}
STREETS = [(name, street) for name, rules in SMALL.items() for street in range(rules.rounds)]
SAMPLES = [("AhKh", "2c7dJh"), ("7s7h", "7d7c2c"), ("AcTd", "8c9cJc"), ("QsJs", "2c7dJh3h"), ("3c2d", "KcKdKhKs")]


@cache
def deals(name: str, street: int) -> tuple[HandSpace, list[tuple[naive.Cards, naive.Cards]], list[int], list[int]]:
    """A random deal of each hand, the hand's index, and how many deals it has."""
    space = HandSpace(SMALL[name], street)
    classes = naive.hands(SMALL[name], street)
    rng = np.random.default_rng(street)
    chosen = [same[rng.integers(len(same))] for same in classes]
    indices = space.indexer.indices(np.array([(*hole, *board) for hole, board in chosen], np.uint8)).tolist()
    return space, chosen, indices, [len(same) for same in classes]


def some(name: str, street: int, most: int) -> list[tuple[int, naive.Cards, naive.Cards]]:
    """At most so many hands of a street: index, hole, board."""
    _, chosen, indices, _ = deals(name, street)
    picked = np.random.default_rng(1).permutation(len(chosen))[:most]
    return [(indices[i], *chosen[i]) for i in picked]


def suit_blind_clusters(rules: GameRules, clusters: int, seed: int = 1) -> npt.NDArray[np.uint8]:
    """A random cluster for each hand of no board, as an array by hole."""
    space = HandSpace(rules, 0)
    by_hand = np.random.default_rng(seed).integers(clusters, size=space.size, dtype=np.uint8)
    return by_hand[space.indexer.indices(space.tables.hole_card)]


def block_of(space: HandSpace, board: naive.Cards) -> HandBlock:
    """The block of the one board of the walk that is the given one up to suits."""
    deck = space.rules.deck
    images = [
        sorted(deck.card(deck.rank(card), suits[deck.suit(card)]) for card in board)
        for suits in itertools.permutations(range(deck.suits))
    ]
    number = next(i for i, cards in enumerate(space.boards.tolist()) if sorted(cards) in images)
    return space.list_block(number, number + 1)


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hands, "BOARDS_AT_ONCE", 3)


# Hands


@pytest.mark.parametrize(("street", "size", "boards"), [(0, 169, 1), (1, 1286792, 1755), (2, 13960050, 16432)])
def test_sizes_of_hold_em(street: int, size: int, boards: int) -> None:
    space = HandSpace(HOLDEM, street)
    assert (space.size, len(space.boards)) == (size, boards)
    assert space.board_sizes.sum() == comb(52, space.board_cards)


def test_weights_of_flops_count_all_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hands, "BOARDS_AT_ONCE", 64)
    weights = HandSpace(HOLDEM, 1).weights
    assert weights.min() > 0
    assert weights.sum() == comb(52, 2) * comb(50, 3)


@pytest.mark.parametrize(("name", "street"), STREETS)
def test_weights_are_the_numbers_of_deals(name: str, street: int) -> None:
    space, _, indices, sizes = deals(name, street)
    assert space.size == len(sizes)
    assert space.weights[indices].tolist() == sizes


@pytest.mark.parametrize(("name", "street"), STREETS)
def test_the_walk_meets_every_hand_once(name: str, street: int) -> None:
    space = HandSpace(SMALL[name], street)
    fractions: list[float] = []
    met = [block.hand for block, _ in hands.walk_hands(space, len, threads=2, progress=fractions.append)]
    np.testing.assert_array_equal(np.sort(np.concatenate(met)), np.arange(space.size))
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1


# Strengths


@pytest.mark.parametrize("name", SMALL)
def test_strengths_equal_their_twin(name: str) -> None:
    rules = SMALL[name]
    found = features.strengths(rules)
    assert found.dtype == np.uint16
    for index, hole, board in some(name, rules.rounds - 1, 2500):
        assert found[index] == naive.strength(rules, hole, board)


@pytest.mark.parametrize(("name", "street"), STREETS)
def test_distributions_equal_their_twin(name: str, street: int) -> None:
    rules = SMALL[name]
    for bins in (50, 7):
        found = features.histograms(rules, street, bins)
        mean, square = features.expected(rules, street)
        np.testing.assert_allclose(found.expected, mean, rtol=1e-14)
        np.testing.assert_allclose(found.expected_square, square, rtol=1e-14)
        for index, hole, board in some(name, street, 120):
            values = naive.strengths(rules, hole, board)
            top = 2 * len(naive.opponents(rules, hole, naive.completions(rules, hole, board)[0]))
            counts = Counter(min(bins - 1, value * bins // top) for value in values)
            assert (found.top, found.completions) == (top, len(values))
            assert found.histogram[index].tolist() == [counts[i] for i in range(bins)]
            assert found.total[index] == sum(values)
            assert found.total_of_squares[index] == sum(value * value for value in values)
            assert mean[index] == pytest.approx(sum(values) / top / len(values), rel=1e-14)


@pytest.mark.parametrize(("name", "street"), STREETS)
def test_histograms_count_all_completions_around_the_mean(name: str, street: int) -> None:
    bins = 20
    found = features.histograms(SMALL[name], street, bins)
    counts = found.histogram.astype(float)
    assert (counts.sum(axis=1) == found.completions).all()
    low = counts @ np.arange(bins) / bins / found.completions
    assert (low <= found.expected + 1e-12).all()
    assert (found.expected <= low + 1 / bins + 1e-12).all()
    assert (found.expected_square >= found.expected**2 - 1e-12).all()
    weights = HandSpace(SMALL[name], street).weights
    assert np.average(found.expected, weights=weights) == pytest.approx(0.5)  # what one wins, another loses


def test_number_types_are_the_smallest_that_hold_all() -> None:
    found = features.histograms(SMALL["flushes"], 1)
    assert (found.histogram.dtype, found.total.dtype, found.total_of_squares.dtype) == (np.uint8, np.uint8, np.uint16)
    assert features.histograms(SMALL["flushes"], 0).histogram.dtype == np.uint8  # 210 completions
    assert features.histograms(SMALL["three suits"], 0).histogram.dtype == np.uint16  # 286


@pytest.mark.parametrize(("hole", "board"), SAMPLES)
def test_distributions_on_boards_of_the_full_deck(hole: str, board: str) -> None:
    cards, given = FULL_DECK.read_cards(hole), FULL_DECK.read_cards(board)
    street = StreetFeatures(HOLDEM, len(given) - 2)
    block = block_of(street.space, given)
    sums = street.summed(50)(block)
    place = int(np.flatnonzero(block.hand == street.space.indexer.index((*cards, *given)))[0])
    values = []
    for full in naive.completions(HOLDEM, cards, given):
        theirs = naive.opponents(HOLDEM, cards, full)
        ranks = HOLDEM.ranker.ranks(np.array([(*their, *full) for their in [cards, *theirs]], np.uint8)).astype(int)
        values.append(int(2 * (ranks[1:] < ranks[0]).sum() + (ranks[1:] == ranks[0]).sum()))
    assert street.top == 1980
    assert len(values) == street.completions
    assert sums.total[place] == sum(values)
    assert sums.squares[place] == sum(value * value for value in values)
    assert (
        sums.bins[place].tolist()
        == np.bincount(np.array(values) * 50 // 1980 - np.equal(values, 1980), minlength=50).tolist()
    )


def test_published_strengths_before_the_flop() -> None:
    space = HandSpace(HOLDEM, 0)
    mean, _ = features.expected(HOLDEM, 0)
    for hole, share in {"AsAh": 0.8520, "KdKc": 0.8240, "AhKh": 0.6704, "7c2d": 0.3458, "3h2s": 0.3230}.items():
        assert mean[space.indexer.index(FULL_DECK.read_cards(hole))] == pytest.approx(share, abs=5e-5)
    assert np.average(mean, weights=space.weights) == pytest.approx(0.5, abs=1e-12)


# Clusters of opponents


@pytest.mark.parametrize(("name", "street"), STREETS)
def test_cluster_strengths_equal_their_twin(name: str, street: int) -> None:
    rules = SMALL[name]
    clusters = 5 if rules.hole_cards == 2 else 3
    opponent = suit_blind_clusters(rules, clusters - 1)  # nobody is in the last
    found = StreetFeatures(rules, street).ochs(opponent, clusters).table()
    assert (found[:, -1] == 0.5).all()
    holes = list(itertools.combinations(range(rules.deck.size), rules.hole_cards))
    members: list[set[naive.Cards]] = [
        {hole for hole in holes if opponent[hole_index(hole)] == cluster} for cluster in range(clusters)
    ]
    for index, hole, board in some(name, street, 30):
        expected = [float(naive.cluster_strength(rules, hole, board, same)) for same in members]
        np.testing.assert_allclose(found[index], expected, atol=1e-6)


def test_one_cluster_of_all_holes_is_plain_strength() -> None:
    rules = SMALL["flushes"]
    for street in range(3):
        found = StreetFeatures(rules, street).ochs(np.zeros(rules.deck.holes(2), np.uint8), 1).table()
        np.testing.assert_allclose(found[:, 0], features.expected(rules, street)[0], atol=1e-6)


def test_sixteen_clusters_on_a_river_of_the_full_deck() -> None:
    opponent = suit_blind_clusters(HOLDEM, 16)
    street = StreetFeatures(HOLDEM, 3)
    board = FULL_DECK.read_cards("2c7dJhJs3c")
    block = block_of(street.space, board)
    rows = street.ochs(opponent, 16).work(block)
    ranks = HOLDEM.ranker.ranks_on_board(block.boards[0]).astype(int)
    for place in range(0, len(block.hand), 97):
        mine = block.hole[place]
        cards = street.space.tables.hole_card
        live = ~np.isin(cards, [*cards[mine], *block.boards[0]]).any(axis=1)
        for cluster in range(16):
            theirs = ranks[live & (opponent == cluster)]
            share = ((theirs < ranks[mine]) + 0.5 * (theirs == ranks[mine])).mean() if len(theirs) else 0.5
            assert rows[place, cluster] == pytest.approx(share, abs=1e-6)


# Buckets of the next street


@pytest.mark.parametrize(("name", "street"), [(n, s) for n, s in STREETS if s + 1 < SMALL[n].rounds])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
def test_next_buckets_equal_their_twin(name: str, street: int, dtype: type) -> None:
    rules = SMALL[name]
    after = HandSpace(rules, street + 1)
    table = np.random.default_rng(2).integers(200, size=after.size).astype(dtype)
    table.flags.writeable = dtype == np.uint8  # a table may come from a file
    found = StreetFeatures(rules, street).next_buckets(table).table(threads=2)
    assert found.dtype == np.uint16
    count = after.board_cards - rules.board_size(street)
    for index, hole, board in some(name, street, 100):
        dealt = list(itertools.combinations(naive.unseen(rules, hole, board), count))
        indices = after.indexer.indices(np.array([(*hole, *board, *more) for more in dealt], np.uint8))
        assert found[index].tolist() == sorted(table[indices].tolist())


# Threads, streams, files


def test_threads_do_not_matter() -> None:
    rules = SMALL["flushes"]
    opponent = suit_blind_clusters(rules, 8)
    for street in range(3):
        one, two = (features.histograms(rules, street, threads=threads) for threads in (1, 2))
        for member in ("histogram", "total", "total_of_squares"):
            np.testing.assert_array_equal(getattr(one, member), getattr(two, member))
        both = [StreetFeatures(rules, street).ochs(opponent).table(threads=threads) for threads in (1, 2)]
        np.testing.assert_array_equal(*both)


@pytest.mark.parametrize("street", range(3))
def test_streams_give_the_rows_of_the_arrays(street: int) -> None:
    rules = SMALL["flushes"]
    opponent = suit_blind_clusters(rules, 8)
    here = StreetFeatures(rules, street)
    ochs = here.ochs(opponent)
    pairs: list[tuple[Any, Any]] = [
        (here.histogram(11).stream(threads=2), features.histograms(rules, street, 11).histogram),
        (ochs.stream(threads=2), ochs.table()),
    ]
    if street < 2:
        table = np.arange(HandSpace(rules, street + 1).size).astype(np.uint16)
        pairs.append((here.next_buckets(table).stream(), here.next_buckets(table).table()))
    for stream, array in pairs:
        indices, rows = zip(*stream, strict=True)
        met = np.concatenate(indices)
        np.testing.assert_array_equal(np.sort(met), np.arange(len(array)))
        np.testing.assert_array_equal(np.concatenate(rows), array[met])


def test_a_stream_may_be_left_early() -> None:
    stream = StreetFeatures(SMALL["flushes"], 1).histogram().stream()
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert list(stream) == []  # and no thread is left that waits


def test_large_arrays_are_kept_and_damaged_ones_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hands, "SMALL", 1000)
    rules = SMALL["flushes"]
    calls: list[float] = []

    def build(bins: int = 50) -> tuple[features.Strengths, bool]:
        """The distributions, and whether they were worked out just now."""
        calls.clear()
        return features.histograms(rules, 1, bins, progress=calls.append), bool(calls)

    first, built = build()
    assert built
    again, built = build()
    assert not built
    assert not again.histogram.flags.writeable
    richer = dataclasses.replace(rules, stacks=(10**6, 10**6))
    features.histograms(richer, 1, progress=calls.append)
    assert not calls  # the same cards, other bets
    (path,) = tmp_path.rglob("*.arrays")
    whole = path.read_bytes()
    for damaged in (
        whole[:-1], whole[: len(whole) // 2], b"", whole[:3] + b"?" + whole[4:], whole[:-20] + b"?" + whole[-19:],
        whole + b"?",
    ):  # fmt: skip
        assert damaged != whole
        path.write_bytes(damaged)
        found, built = build()
        assert built
        assert path.read_bytes() == whole
        np.testing.assert_array_equal(found.histogram, first.histogram)
        np.testing.assert_array_equal(found.total, first.total)
    path.unlink()
    assert build()[1]
    assert not build()[1]
    assert build(49)[1]
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_a_change_of_cards_or_format_is_another_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hands, "SMALL", 1)
    rules = SMALL["leduc"]
    variants = [rules, dataclasses.replace(rules, deck=Deck(4, 2)), dataclasses.replace(rules, deck=Deck(2, 4))]
    for variant in variants:
        features.strengths(variant)
    monkeypatch.setattr(hands, "FORMAT", 0)
    features.strengths(rules)
    assert len(list(tmp_path.rglob("*.arrays"))) == 4


def test_without_a_disk_everything_still_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "file"))
    found = mapped_arrays("name", ("a",), "key", lambda: {"a": np.arange(5)})["a"]
    assert found.tolist() == [0, 1, 2, 3, 4]
    assert not found.flags.writeable


# Bad input


@pytest.mark.parametrize(
    "call",
    [
        lambda: HandSpace(HOLDEM, 4),
        lambda: HandSpace(HOLDEM, -1),
        lambda: features.histograms(HOLDEM, 1, -1),
        lambda: features.histograms(HOLDEM, 3),
        lambda: features.histograms(dataclasses.replace(TWO_FOUR, hole_cards=3), 1),
        lambda: StreetFeatures(HOLDEM, 3).ochs(np.zeros(1326, np.uint8), 17).table(),
        lambda: StreetFeatures(HOLDEM, 3).ochs(np.zeros(1326, np.uint8), 16).table(),
        lambda: StreetFeatures(HOLDEM, 1).ochs(np.full(1326, 8, np.uint8)).table(),
        lambda: StreetFeatures(HOLDEM, 1).ochs(np.zeros(169, np.uint8)).table(),
        lambda: StreetFeatures(HOLDEM, 1).ochs((np.arange(1326) % 2).astype(np.uint8)).table(),
        lambda: StreetFeatures(HOLDEM, 0).next_buckets(np.zeros(1286792, np.uint16)).table(),
        lambda: StreetFeatures(HOLDEM, 3).next_buckets(np.zeros(1, np.uint16)).table(),
        lambda: StreetFeatures(SMALL["leduc"], 0).next_buckets(np.zeros(5, np.uint16)).table(),
        lambda: StreetFeatures(SMALL["leduc"], 0).next_buckets(np.zeros(HandSpace(SMALL["leduc"], 1).size)).table(),
        lambda: StreetFeatures(SMALL["leduc"], 0).next_buckets(np.full(15, 1 << 16, np.uint32)).table(),
    ],
)  # fmt: skip
def test_bad_input(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="; "):
        call()
