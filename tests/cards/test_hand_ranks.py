"""Hand ranks against published counts, an independent evaluator and the naive twins."""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import phevaluator
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.cards import hand_ranks
from equipoise.cards.deck import FULL_DECK, Deck, hole_cards
from equipoise.cards.hand_ranks import BLOCKED, Ranker, RankTables, rank_of_key, showdown_order
from equipoise.core import kernel_cache
from equipoise.core.errors import InputError
from equipoise.core.jit import I64, U8, U16, kernel
from naive import random_hands, rank_five, rank_seven, rank_three_card

PUBLISHED = tomllib.loads((Path(__file__).parents[1] / "data" / "published.toml").read_text())
THREE_CARD = Ranker(cards=3, three_card=True)
FIVE_CARD_FREQUENCIES = {
    "straight flush": 40, "four of a kind": 624, "full house": 3744, "flush": 5108, "straight": 10200,
    "three of a kind": 54912, "two pair": 123552, "one pair": 1098240, "high card": 1302540,
}  # fmt: skip
THREE_CARD_FREQUENCIES = {
    "straight flush": 48, "three of a kind": 52, "straight": 720, "flush": 1096, "pair": 3744, "high card": 16440,
}  # fmt: skip


@kernel
def count_ranks(hand: U8, tables: RankTables, counts: I64) -> None:
    """All hands of `hand.size` cards. Scratch: uint8[card]; OUT: int64[rank], how many hands have it."""
    for i in range(hand.size):
        hand[i] = i
    while hand[hand.size - 1] < tables.card_key.size:
        key = tables.start
        mask = np.uint64(0)
        for card in hand:
            key += tables.card_key[card]
            mask |= tables.card_mask[card]
        counts[rank_of_key(key, mask, tables.row_start, tables.ranks)] += 1
        i = 0
        while i + 1 < hand.size and hand[i] + 1 == hand[i + 1]:
            hand[i] = i
            i += 1
        hand[i] += 1


def frequencies(ranker: Ranker) -> tuple[dict[str, int], int]:
    """How many hands each class has, and how many different ranks there are."""
    counts = np.zeros(1 << 16, np.int64)
    count_ranks(np.zeros(ranker.cards, np.uint8), ranker.tables, counts)
    classes: Counter[str] = Counter()
    for rank in np.flatnonzero(counts).tolist():
        classes[ranker.class_name(rank)] += int(counts[rank])
    return dict(classes), int(np.count_nonzero(counts))


def assert_same_order(strengths: Sequence[object], ranks: U16) -> None:
    """Equal strengths have equal ranks, and better strengths higher ones: all pairs at once."""
    rank_of = dict(zip(strengths, ranks.tolist(), strict=True))
    assert [rank_of[strength] for strength in strengths] == ranks.tolist()
    in_order = [rank_of[strength] for strength in sorted(rank_of)]  # type: ignore[type-var]
    assert all(worse < better for worse, better in itertools.pairwise(in_order))


def test_five_card_frequencies() -> None:
    assert frequencies(Ranker(cards=5)) == (FIVE_CARD_FREQUENCIES, 7462)


def test_seven_card_frequencies() -> None:
    classes, ranks = frequencies(Ranker(cards=7))
    assert {name.replace(" ", "_"): count for name, count in classes.items()} == PUBLISHED["seven_card_frequencies"]
    assert ranks == 4824


def test_three_card_frequencies() -> None:
    assert frequencies(THREE_CARD)[0] == THREE_CARD_FREQUENCIES


def test_three_card_order() -> None:
    hands = np.array(list(itertools.combinations(range(52), 3)), np.uint8)
    assert_same_order([rank_three_card(hand) for hand in hands.tolist()], THREE_CARD.ranks(hands))


@pytest.mark.parametrize(("cards", "count"), [(5, 100_000), (6, 100_000), (7, 300_000)])
def test_order_agrees_with_phevaluator(cards: int, count: int) -> None:
    hands = random_hands(cards, count, cards)
    theirs = [-phevaluator.evaluate_cards(*hand) for hand in hands.tolist()]
    assert_same_order(theirs, Ranker(cards=cards).ranks(hands))


@pytest.mark.parametrize("deck", [FULL_DECK, Deck(9, 4), Deck(13, 2), Deck(6, 3)], ids=str)
@pytest.mark.parametrize(("cards", "count"), [(5, 20_000), (6, 3000), (7, 1500)])
def test_order_agrees_with_naive_twin(cards: int, count: int, deck: Deck) -> None:
    hands = random_hands(cards, count, cards, deck)
    assert_same_order([rank_seven(hand, deck) for hand in hands.tolist()], Ranker(deck, cards).ranks(hands))


@pytest.mark.parametrize("deck", [FULL_DECK, Deck(3, 2), Deck(3, 4)], ids=str)
@pytest.mark.parametrize("cards", [1, 2, 3, 4])
def test_few_cards_make_no_straights_or_flushes(cards: int, deck: Deck) -> None:
    hands = np.array(list(itertools.combinations(range(deck.size), cards)), np.uint8)[:: 7 if deck.size > 12 else 1]
    assert_same_order([rank_five(hand, deck) for hand in hands.tolist()], Ranker(deck, cards).ranks(hands))


def test_leduc() -> None:
    ranker = Ranker(Deck(3, 2), 2)
    assert ranker.rank([0, 1]) > ranker.rank([4, 3]) > ranker.rank([5, 1]) == ranker.rank([4, 0]) > ranker.rank([0, 2])


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("2c3d4h5s6c", "Ac2d3h4s5c"),  # the wheel is the lowest straight
        ("Ac2d3h4s5c", "AcAdAhKsQc"),
        ("Ac2c3c4c5c", "AcAdAhAsKc"),  # and a straight flush if suited
        ("AcAdKhKs3c", "AhAsKcKd2c"),  # kickers
        ("2c2d2h2s4c", "2c2d2h2s3c"),
        ("AcJcTc9c3c", "AdJdTd9d2d"),
        ("3c3d3h2c2d", "2h2s2cAcAd"),  # full houses go by the three
        ("2c4c6c8cTc", "TcJdQhKsAc"),
        ("KcAd2h3s5c", "KdQdJh9s2c"),  # no straight goes around
    ],
)
def test_known_showdowns(better: str, worse: str) -> None:
    ranker = Ranker(cards=5)
    assert ranker.rank(FULL_DECK.read_cards(better)) > ranker.rank(FULL_DECK.read_cards(worse))


@pytest.mark.parametrize("cards", [3, 5, 7])
def test_suits_and_order_do_not_matter(cards: int) -> None:
    ranker = THREE_CARD if cards == 3 else Ranker(cards=cards)
    hands = random_hands(cards, 20_000, cards)
    for suits in itertools.permutations(range(4)):
        renamed = hands // 4 * 4 + np.array(suits, np.uint8)[hands % 4]
        np.testing.assert_array_equal(ranker.ranks(renamed[:, ::-1]), ranker.ranks(hands))


@pytest.mark.parametrize(
    ("ranker", "holes"),
    [
        (Ranker(cards=7), 2),
        (Ranker(cards=7), 1),
        (Ranker(cards=5), 2),
        (Ranker(cards=2), 2),
        (THREE_CARD, 1),
        (THREE_CARD, 2),
        (Ranker(Deck(3, 2), 2), 1),
        (Ranker(Deck(9, 4), 6), 2),
        (Ranker(Deck(13, 3), 5), 1),
    ],
    ids=str,
)
def test_holes_of_a_board_at_once(ranker: Ranker, holes: int) -> None:
    all_holes = [hole_cards(hole, holes) for hole in range(ranker.deck.holes(holes))]
    boards = random_hands(1, 8, ranker.cards - holes, ranker.deck).tolist() if ranker.cards > holes else [[]]
    for board in boards:
        apart = [ranker.rank([*hole, *board]) if not {*hole} & {*board} else BLOCKED for hole in all_holes]
        assert ranker.ranks_on_board(board).tolist() == apart


def ordered(ranks: U16) -> list[int]:
    order, scratch = np.full((2, len(ranks)), 0xABCD, np.uint16)
    live = showdown_order(ranks, order, scratch, np.full(256, 7, np.uint32))
    return order[:live].tolist()  # type: ignore[no-any-return]


@given(st.lists(st.integers(0, (1 << 14) - 1) | st.sampled_from([3, 130, BLOCKED]), max_size=300))
def test_showdown_order_is_a_stable_sort(values: list[int]) -> None:
    live = [hole for hole, rank in enumerate(values) if rank != BLOCKED]
    assert ordered(np.array(values, np.uint16)) == sorted(live, key=values.__getitem__)


def test_showdown_order_of_boards() -> None:
    for board in random_hands(2, 100, 5).tolist():
        ranks = Ranker().ranks_on_board(board)
        assert ordered(ranks) == np.argsort(ranks, kind="stable")[:1081].tolist()


def test_class_names() -> None:
    def name(text: str, ranker: Ranker) -> str:
        return ranker.class_name(ranker.rank(FULL_DECK.read_cards(text)))

    seven = Ranker()
    assert name("Ac2c3c4c5cKdKh", seven) == "straight flush"
    assert name("7c5d4h3s2cAdKh", seven) == "straight"
    assert name("2c3d4h5s7c8d9h", seven) == "high card"
    assert name("Ac2c3c", THREE_CARD) == "straight flush"
    assert name("2c2d2h", THREE_CARD) == "three of a kind"
    assert name("2c2d3h", THREE_CARD) == "pair"
    with pytest.raises(InputError, match="five or more"):
        Ranker(cards=4).class_name(0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Ranker(cards=8),
        lambda: Ranker(cards=0),
        lambda: Ranker(cards=5, three_card=True),
        lambda: Ranker().rank(range(6)),
        lambda: Ranker().rank([]),
        lambda: Ranker().rank([0, 0, 1, 2, 3, 4, 5]),
        lambda: Ranker().rank([46, 47, 48, 49, 50, 51, 52]),
        lambda: Ranker().rank([-1, 1, 2, 3, 4, 5, 6]),
        lambda: Ranker(Deck(3, 2), 2).rank([5, 6]),
        lambda: Ranker().ranks(np.zeros((3, 6), np.uint8)),
        lambda: Ranker().ranks(np.full((3, 7), 52, np.uint8)),
        lambda: Ranker().ranks_on_board([0, 1, 2]),
        lambda: Ranker().ranks_on_board(range(8)),
        lambda: Ranker().ranks_on_board([0, 1, 2, 3, 3]),
    ],
)
def test_bad_input(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="; "):
        call()


def test_tables_are_small() -> None:
    assert sum(np.asarray(table).nbytes for table in Ranker().tables) < 1 << 20


def test_damaged_tables_are_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ranks() -> list[int]:
        hand_ranks._built.cache_clear()
        return Ranker(cards=5).ranks_on_board([12, 17, 33]).tolist()

    right = ranks()
    stored = tmp_path / "ranks.arrays"
    monkeypatch.setattr(kernel_cache, "compiled_folder", lambda _: tmp_path)
    assert not stored.exists() and ranks() == right
    whole = stored.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 3] ^= 0x10
    for damaged in (whole[: len(whole) // 2], bytes(flipped), b""):
        stored.write_bytes(damaged)
        assert ranks() == right
        assert stored.read_bytes() == whole
    hand_ranks._built.cache_clear()
