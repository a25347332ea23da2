"""Percentile buckets: the rule against a slow twin in exact arithmetic, and its laws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.abstraction.maps.percentile import bucket_weights, percentile_buckets, percentile_parts, percentile_two
from equipoise.core.errors import InputError

Hands = list[tuple[int, int, int]]  # key, weight, parent
hands_of = st.lists(st.tuples(st.integers(-8, 8), st.integers(0, 30), st.integers(0, 3)), min_size=1, max_size=60)
parts_of = st.integers(1, 9)


def columns(hands: Hands) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    key, weight, parent = zip(*hands, strict=True)
    return np.array(key, np.float32), np.array(weight, np.uint8), np.array(parent)


def naive_buckets(hands: Hands, parts: int) -> list[int]:
    """The rule, word for word, in fractions."""
    class_weight: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for key, weight, parent in hands:
        class_weight[parent][key] += weight
    bucket = {}
    for parent, weights in class_weight.items():
        total = sum(weights.values())
        before = 0
        for key in sorted(weights):
            middle = Fraction(before) + Fraction(weights[key], 2)
            part = min(int(middle * parts / total), parts - 1) if total else 0
            bucket[parent, key] = parent * parts + part
            before += weights[key]
    return [bucket[parent, key] for key, _, parent in hands]


@given(hands_of, parts_of)
def test_buckets_follow_the_rule(hands: Hands, parts: int) -> None:
    key, weight, parent = columns(hands)
    assert percentile_buckets(key, weight, parts, parent).tolist() == naive_buckets(hands, parts)
    alone = [(k, w, 0) for k, w, _ in hands]
    assert percentile_buckets(key, weight, parts).tolist() == naive_buckets(alone, parts)


@given(hands_of, parts_of)
def test_hands_and_dense_classes_give_the_same_parts(hands: Hands, parts: int) -> None:
    key, weight, parent = columns(hands)
    dense = np.zeros((4, 17))
    np.add.at(dense, (parent, key.astype(np.int64) + 8), weight)
    part = percentile_parts(dense, parts)
    assert part.dtype == np.uint16
    np.testing.assert_array_equal(
        percentile_buckets(key, weight, parts, parent), parent * parts + part[parent, key.astype(np.int64) + 8]
    )
    assert (np.diff(part.astype(np.int64), axis=1) >= 0).all()


@pytest.mark.parametrize("parts", [2, 5, 10, 1000])
def test_weights_are_equal_to_within_the_class_at_the_cut(parts: int) -> None:
    rng = np.random.default_rng(parts)
    key = rng.integers(0, 3000, 20_000).astype(np.float32)
    weight = rng.choice([4, 12, 24], key.size)
    buckets = percentile_buckets(key, weight, parts)
    total = int(weight.sum())
    cumulative = np.cumsum(bucket_weights(buckets, weight, parts))
    class_weight = np.bincount(key.astype(np.int64), weight)
    class_end = np.cumsum(class_weight)
    for i in range(1, parts):
        across = np.searchsorted(class_end, i * total / parts, side="right")  # the class that holds the ideal cut
        assert abs(cumulative[i - 1] - i * total / parts) <= class_weight[across] / 2
    assert np.abs(bucket_weights(buckets, weight, parts) - total / parts).max() <= class_weight.max()


def test_one_hand_of_each_key_and_equal_weights_give_equal_buckets() -> None:
    key = np.random.default_rng(1).permutation(1000).astype(np.float32)
    buckets = percentile_buckets(key, np.ones(1000), 10)
    np.testing.assert_array_equal(buckets, key.astype(np.int32) // 100)


@given(hands_of, parts_of)
def test_buckets_are_monotone_nested_and_keep_equal_keys_together(hands: Hands, parts: int) -> None:
    key, weight, parent = columns(hands)
    buckets = percentile_buckets(key, weight, parts, parent)
    np.testing.assert_array_equal(buckets // parts, parent)
    for one in range(4):
        mine = parent == one
        order = np.argsort(key[mine], kind="stable")
        assert (np.diff(buckets[mine][order]) >= 0).all()
    assert len(set(zip(buckets.tolist(), parent.tolist(), key.tolist(), strict=True))) == len(
        set(zip(parent.tolist(), key.tolist(), strict=True))
    )


@given(hands_of, parts_of, st.randoms(use_true_random=False))
def test_order_of_hands_scale_of_keys_and_split_classes_do_not_matter(hands: Hands, parts: int, random: Any) -> None:
    key, weight, parent = columns(hands)
    buckets = percentile_buckets(key, weight, parts, parent)
    order = np.array(random.sample(range(len(hands)), len(hands)))
    np.testing.assert_array_equal(percentile_buckets(key[order], weight[order], parts, parent[order]), buckets[order])
    for other in (key**3, np.exp(key.astype(np.float64)), key.astype(np.int64) * 10**12, (key + 8).astype(np.uint32)):
        np.testing.assert_array_equal(percentile_buckets(other, weight, parts, parent), buckets)
    np.testing.assert_array_equal(percentile_buckets(key, weight * np.int64(7), parts, parent), buckets)
    first = weight // 3
    split = percentile_buckets(
        np.tile(key, 2), np.concatenate([first, weight - first]), parts, np.concatenate([parent, parent])
    )
    np.testing.assert_array_equal(split, np.tile(buckets, 2))


def test_float_keys_sort_as_numbers() -> None:
    key = np.array([-np.inf, -2.5, -1e-40, -0.0, 0.0, 1e-40, 0.5, 3e38, np.inf], np.float32)
    assert percentile_buckets(key, np.array([1, 1, 1, 0.5, 0.5, 1, 1, 1, 1]), 8).tolist() == [0, 1, 2, 3, 3, 4, 5, 6, 7]
    for kind in (np.float32, np.float64):  # the two zeros are one class, even across a cut
        assert percentile_buckets(np.array([-1, -0.0, 0.0, 1], kind), np.ones(4), 2).tolist() == [0, 1, 1, 1]
    np.testing.assert_array_equal(percentile_buckets(-key[::-1], np.ones(9), 3), [0, 0, 0, 1, 1, 1, 2, 2, 2])


def test_two_keys_cut_within_each_other() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.random((2, 5000)).astype(np.float32)
    weight, parent = rng.integers(1, 25, 5000), rng.integers(0, 3, 5000)
    buckets = percentile_two(first, second, weight, 5, 2, parent)
    outer = percentile_buckets(first, weight, 5, parent)
    np.testing.assert_array_equal(buckets // 2, outer)
    np.testing.assert_array_equal(buckets // 10, parent)
    for bucket in range(15):
        mine = outer == bucket
        np.testing.assert_array_equal(buckets[mine] % 2, percentile_buckets(second[mine], weight[mine], 2))
    shares = bucket_weights(buckets, weight, 30) / np.repeat(np.bincount(parent, weight), 10)
    assert np.abs(shares - 0.1).max() < 24 / np.bincount(parent, weight).min()


def test_fewer_classes_than_parts_leave_buckets_empty() -> None:
    key = np.array([1, 1, 2], np.float32)
    buckets = percentile_buckets(key, np.array([1, 2, 3]), 6)
    assert buckets.tolist() == [1, 1, 4]
    assert bucket_weights(buckets, np.array([1, 2, 3]), 6).tolist() == [0, 3, 0, 0, 3, 0]
    assert percentile_buckets(key[:0], np.zeros(0), 6).size == 0


def test_a_class_of_no_weight_has_a_part() -> None:
    assert percentile_parts(np.array([[0.0, 1, 0, 1, 0], [0, 0, 0, 0, 0]]), 2).tolist() == [[0, 0, 1, 1, 1], [0] * 5]
    assert percentile_parts(np.ones((1, 65536)), 65536)[0, -1] == 65535


@pytest.mark.parametrize(
    "call",
    [
        lambda: percentile_buckets(np.ones(3), np.ones(3), 0),
        lambda: percentile_buckets(np.ones(3), np.ones(3), 65537),
        lambda: percentile_buckets(np.ones(3), np.ones(2), 2),
        lambda: percentile_buckets(np.ones(3), np.ones(3), 2, np.zeros(2, np.int32)),
        lambda: percentile_buckets(np.ones(3), np.array([1, -1, 1]), 2),
        lambda: percentile_buckets(np.ones(3), np.array([1, np.nan, 1]), 2),
        lambda: percentile_buckets(np.array([1, np.nan, 1], np.float32), np.ones(3), 2),
        lambda: percentile_buckets(np.ones(3), np.ones(3), 2, np.array([0, -1, 0])),
        lambda: percentile_buckets(np.ones(3), np.ones(3), 2, np.array([0, 2**30, 0])),
        lambda: percentile_parts(np.ones(3), 2),
        lambda: percentile_parts(-np.ones((3, 3)), 2),
    ],
)
def test_bad_input(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="; "):
        call()
