"""Bucket maps of every kind on games whose deals can all be listed: both questions, suits, recall; and their files."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from containers import read_container
from equipoise import load_game
from equipoise.abstraction.maps import bucket_map as module
from equipoise.abstraction.maps.bucket_map import BEFORE, BLOCKED, FORMAT, PUBLIC, BucketMap, card_fingerprint
from equipoise.cards.deck import hole_index
from equipoise.cards.isomorphism import HandIndexer
from equipoise.core.errors import InputError
from equipoise.core.files.array_file import save_arrays
from naive import canonical
from naive_abstraction import GAMES, HOLDEM, RECIPES, every_bucket, every_deal, small, small_map

MAPS = list(RECIPES)
TELLING = {"lossless", "nested", "both"}  # kinds of perfect recall


def reached(game: str, street: int) -> int:
    """How many cards of a deal are out."""
    return GAMES[game].hole_cards + GAMES[game].board_size(street)


@functools.cache
def dealt_boards(game: str, street: int) -> tuple[Any, Any, Any, Any]:
    """Every deal up to a street: its place in `every_deal`, its hole, and which of the boards it has."""
    rules = GAMES[game]
    deals, first = np.unique(every_deal(game)[:, : reached(game, street)], axis=0, return_index=True)
    hole = np.array([hole_index(cards) for cards in deals[:, : rules.hole_cards].tolist()])
    boards, which = np.unique(deals[:, rules.hole_cards :], axis=0, return_inverse=True)
    return first, hole, boards, which.ravel()


# The two questions


@pytest.mark.parametrize(("game", "kind"), MAPS)
def test_a_board_and_its_deals_have_the_same_buckets(game: str, kind: str) -> None:
    rules, found = GAMES[game], small_map(game, kind)
    rng = np.random.default_rng(1)
    for street in range(rules.rounds):
        first, hole, boards, which = dealt_boards(game, street)
        by_deal = every_bucket(game, kind)[first, street]
        assert 0 <= by_deal.min() <= by_deal.max() < found.buckets[street]
        rows = np.full((len(boards), rules.deck.holes(rules.hole_cards)), BLOCKED)
        rows[which, hole] = by_deal  # a hole that no deal has with this board is blocked
        for number in rng.permutation(len(boards))[:100]:
            ends = np.cumsum(rules.board_cards[: street + 1])[:-1]
            dealt = [card for round_ in np.split(boards[number], ends) for card in rng.permutation(round_).tolist()]
            answer = found.buckets_of_board(street, dealt)
            assert answer.dtype == np.int32
            np.testing.assert_array_equal(answer, rows[number])


@pytest.mark.parametrize(("game", "kind"), MAPS)
def test_suits_and_the_order_within_a_round_do_not_matter(game: str, kind: str) -> None:
    rules, found = GAMES[game], small_map(game, kind)
    rng = np.random.default_rng(2)
    some = rng.choice(len(every_deal(game)), min(3000, len(every_deal(game))), replace=False)
    deals, expected = every_deal(game)[some], every_bucket(game, kind)[some]
    ends = np.cumsum(rules.deals(rules.rounds - 1))[:-1]
    for suits in itertools.permutations(range(rules.deck.suits)):
        renamed = np.array(suits, np.uint8)[deals % rules.deck.suits] + deals // rules.deck.suits * rules.deck.suits
        shuffled = np.hstack([rng.permuted(round_, axis=1) for round_ in np.split(renamed, ends, axis=1)])
        np.testing.assert_array_equal(found.buckets_of_deals(shuffled), expected)


@pytest.mark.parametrize("game", GAMES)
def test_partial_deals_and_single_hands(game: str) -> None:
    rules = GAMES[game]
    rng = np.random.default_rng(3)
    for kind in [kind for name, kind in MAPS if name == game]:
        found, deals, expected = small_map(game, kind), every_deal(game), every_bucket(game, kind)
        for street in range(rules.rounds):
            part = found.buckets_of_deals(deals[:50, : reached(game, street)])
            assert part.shape[1] == sum(reached(game, s) <= reached(game, street) for s in range(rules.rounds))
            np.testing.assert_array_equal(part, expected[:50, : part.shape[1]])
            deal = deals[(number := int(rng.integers(len(deals))))].tolist()
            hole, board = deal[: rules.hole_cards], deal[rules.hole_cards : reached(game, street)]
            first = next(s for s in range(rules.rounds) if rules.board_size(s) == len(board))
            assert found.bucket(hole, board) == expected[number, first]


@pytest.mark.parametrize("game", ["three", "still", "leduc"])
def test_lossless_numbers_the_hands_with_their_deals_told_apart(game: str) -> None:
    rules, found = GAMES[game], small_map(game, "lossless")
    assert BucketMap.lossless(rules).buckets == found.buckets
    np.testing.assert_array_equal(
        BucketMap.lossless(rules).buckets_of_deals(every_deal(game)), every_bucket(game, "lossless")
    )
    for street in range(rules.rounds):
        rounds = rules.deals(street)
        deals, first = np.unique(every_deal(game)[:, : sum(rounds)], axis=0, return_index=True)
        bucket = every_bucket(game, "lossless")[first, street]
        assert np.unique(bucket).tolist() == list(range(found.buckets[street]))
        np.testing.assert_array_equal(bucket, HandIndexer(rounds, rules.deck).indices(deals))
        some = np.random.default_rng(street).permutation(len(deals))[:4000]
        forms = {(canonical(rounds, deals[i].tolist(), rules.deck), int(bucket[i])) for i in some}
        assert len(forms) == len({form for form, _ in forms}) == len({number for _, number in forms})


def test_every_hold_em_flop_hand_is_told_apart() -> None:
    found = BucketMap.lossless(HOLDEM)
    assert found.buckets == (169, 1286792, 55190538, 2428287420)
    row = found.buckets_of_board(1, HOLDEM.deck.read_cards("Ah 7d 6s"))
    assert (row == BLOCKED).sum() == 1326 - 49 * 48 // 2
    assert len(np.unique(row)) == 1176 + 1  # the identity and nothing else keeps this flop


# Recall


@pytest.mark.parametrize(("game", "kind"), MAPS)
def test_recall_is_perfect_exactly_where_a_bucket_tells_the_one_before(game: str, kind: str) -> None:
    found = every_bucket(game, kind)
    tells = [
        len(np.unique(found[:, street - 1 : street + 1], axis=0)) == len(np.unique(found[:, street]))
        for street in range(1, GAMES[game].rounds)
    ]
    assert small_map(game, kind).perfect_recall == all(tells)
    assert all(tells) == (kind in TELLING or kind == "forgets at first")


# What is refused


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.buckets_of_board(3, [0, 1, 2]),
        lambda m: m.buckets_of_board(-1, []),
        lambda m: m.buckets_of_board(1, [0]),
        lambda m: m.buckets_of_board(1, [0, 0]),
        lambda m: m.buckets_of_board(1, [0, 16]),
        lambda m: m.bucket([0], []),
        lambda m: m.bucket([0, 1], [2]),
        lambda m: m.bucket([0, 1], [1, 2]),
        lambda m: m.buckets_of_deals(np.array([[0, 16]])),
        lambda m: m.buckets_of_deals(np.array([[0, -1]])),
        lambda m: m.buckets_of_deals(np.array([[0, 256]])),
        lambda m: m.buckets_of_deals(np.array([0, 1])),
        lambda m: m.buckets_of_deals(np.array([[0]])),
        lambda m: dataclasses.replace(m, streets=m.streets[:2]),
        lambda _: BucketMap.lossless(HOLDEM).buckets_of_board(3, [0, 1, 2, 3, 4]),
    ],
)
def test_cards_that_cannot_be(call: Callable[[BucketMap], object]) -> None:
    with pytest.raises(InputError, match="; "):
        call(small_map("three", "emd"))


# Files


@pytest.mark.parametrize(("game", "kind"), MAPS)
def test_a_file_gives_the_same_map_back(game: str, kind: str, tmp_path: Path) -> None:
    found = small_map(game, kind)
    found.save(tmp_path / "a.buckets")
    again = BucketMap.load(tmp_path / "a.buckets", GAMES[game])
    for name in ("buckets", "perfect_recall", "recipe", "about", "fingerprint", "bytes"):
        assert getattr(again, name) == getattr(found, name)
    assert [(s.deals, s.context, s.method) for s in again.streets] == [
        (s.deals, s.context, s.method) for s in found.streets
    ]
    np.testing.assert_array_equal(again.buckets_of_deals(every_deal(game)), every_bucket(game, kind))
    again.save(tmp_path / "b.buckets")
    assert (tmp_path / "a.buckets").read_bytes() == (tmp_path / "b.buckets").read_bytes()


def test_a_file_is_for_its_cards_whatever_the_betting(tmp_path: Path) -> None:
    path = tmp_path / "a.buckets"
    small_map("three", "hierarchical").save(path)
    rules = GAMES["three"]
    other_bets = dataclasses.replace(rules, raise_sizes=(2, 4, 8), blinds=(3, 1))
    assert BucketMap.load(path, other_bets).buckets == small_map("three", "hierarchical").buckets
    others = [small(5, 4, (0, 2, 1)), small(4, 3, (0, 2, 1)), small(4, 4, (0, 1, 2)), small(4, 4, (0, 2, 1, 0))]
    for rules in [*others, GAMES["four"], GAMES["leduc"], HOLDEM]:
        with pytest.raises(InputError, match=rf"^{path}: made for a game with other cards; build") as caught:
            BucketMap.load(path, rules)
        assert "\n" not in str(caught.value)
    rhode = load_game("rhode-island")
    assert card_fingerprint(rhode) != card_fingerprint(dataclasses.replace(rhode, three_card=False))


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """The file as another program might write it: sound in itself, but with a changed header or changed arrays."""
    header, arrays = read_container(path)
    arrays = {name: array.copy() for name, array in arrays.items()}
    header.pop("format", None)
    change(header, arrays)
    save_arrays(path, FORMAT, header, arrays)


def put(key: str, *places: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """Sets header[key][place]... to the last of the places."""

    def change(header: dict[str, Any], _arrays: dict[str, Any]) -> None:
        here, names = header, [key, *places[:-1]]
        for name in names[:-1]:
            here = here[name]
        here[names[-1]] = places[-1]

    return change


def change_array(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def work(_header: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = change(arrays[name])

    return work


def _raised(array: Any) -> Any:
    array.flat[-1] = 60000
    return array


@pytest.mark.parametrize(
    "change",
    [
        put("streets", 1, 1, 3),  # fewer buckets than the table has
        put("streets", 1, 0, [2, 1]),  # another index
        put("streets", 1, 0, [2, 0]),
        put("streets", 1, 0, [2, 1, 1, 1, 1, 1]),
        put("streets", 1, 0, "2"),
        put("streets", 1, 2, 7),  # no such context
        put("streets", 2, 2, BEFORE),  # a join by cluster read by bucket
        put("streets", 0, 2, PUBLIC),
        put("streets", 0, 1, 3),
        put("streets", 1, 1, "many"),
        put("streets", []),
        put("public", None),
        put("public", [0, 4]),
        put("public", [2, 4]),
        put("public", [9, 4]),
        put("public", [1, 3]),
        put("public", 5),
        put("recipe", 5),
        put("perfect_recall", "yes"),
        put("about", None),
        lambda header, _: header.pop("streets"),
        lambda header, _: header.pop("about"),
        lambda header, _: header.pop("cards"),
        change_array("cell 1", lambda array: array[:-1]),
        change_array("cell 1", _raised),
        change_array("cell 1", lambda array: array.astype(np.int16)),
        change_array("cell 1", lambda array: array.astype(np.float32)),
        change_array("cell 1", lambda array: array[np.newaxis]),
        change_array("cell 1", lambda array: array[:0]),
        change_array("cell 2", _raised),
        change_array("join 2", _raised),
        change_array("join 2", lambda array: array[:-1]),
        change_array("join 2", lambda array: array[:, :-1]),
        change_array("join 2", lambda array: array.ravel()),
        change_array("join 2", lambda array: array.astype(np.int64)),
        change_array("public", lambda array: array[:-1]),
        change_array("public", _raised),
        change_array("public", lambda array: array.astype(np.float64)),
        lambda _, arrays: arrays.pop("public"),
        lambda _, arrays: arrays.pop("cell 1"),
        lambda _, arrays: arrays.pop("join 2"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    change: Callable[[dict[str, Any], dict[str, Any]], None], tmp_path: Path
) -> None:
    path = tmp_path / "a.buckets"
    small_map("three", "hierarchical").save(path)
    rewritten(path, lambda _header, _arrays: None)
    BucketMap.load(path, GAMES["three"])
    rewritten(path, change)
    with pytest.raises(InputError) as caught:
        BucketMap.load(path, GAMES["three"])
    assert str(caught.value).startswith(f"{path}: ") and "build the abstraction again" in str(caught.value)


def test_a_file_is_mapped_and_never_written_to(tmp_path: Path) -> None:
    path = tmp_path / "a.buckets"
    small_map("three", "hierarchical").save(path)
    before = path.read_bytes()
    found = BucketMap.load(path, GAMES["three"])
    assert found.public is not None
    for array in (found.streets[1].cell, found.streets[2].cell, found.streets[2].join, found.public.label):
        assert type(array) is np.ndarray and isinstance(array.base, np.memmap)
        array[...] = 0
    assert not found.buckets_of_deals(every_deal("three"))[:, 1:].any()
    assert path.read_bytes() == before
    np.testing.assert_array_equal(
        BucketMap.load(path, GAMES["three"]).buckets_of_deals(every_deal("three")),
        every_bucket("three", "hierarchical"),
    )


def test_tables_of_any_width_and_flags_serve_a_kernel() -> None:
    found = small_map("three", "hierarchical")
    streets = list(found.streets)
    frozen = streets[2].cell.copy()
    frozen.flags.writeable = False  # as features from the cache are
    streets[2] = dataclasses.replace(streets[2], cell=frozen)
    mixed = dataclasses.replace(found, streets=tuple(streets))
    np.testing.assert_array_equal(mixed.buckets_of_deals(every_deal("three")), every_bucket("three", "hierarchical"))
    streets[1] = dataclasses.replace(streets[1], cell=streets[1].cell.astype(np.uint32))
    wide = dataclasses.replace(found, streets=tuple(streets))
    np.testing.assert_array_equal(wide.buckets_of_deals(every_deal("three")), every_bucket("three", "hierarchical"))


def test_fingerprints_tell_cards_and_recipes_apart() -> None:
    prints = [small_map(game, kind).fingerprint for game, kind in MAPS]
    assert len(set(prints)) == len(prints)
    assert module.fingerprint(GAMES["three"], small_map("three", "emd").recipe) == small_map("three", "emd").fingerprint
    assert json.loads(small_map("three", "emd").recipe)["streets"][1]["buckets"] == 7
