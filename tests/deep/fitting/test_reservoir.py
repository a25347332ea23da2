"""Memories are uniform samples of all that was added."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2

pytest.importorskip("torch", reason="needs pip install 'equipoise[deep]'")


from equipoise.deep.fitting.reservoir import Reservoir, Samples

SIZE, ITEMS, ROUNDS = 20, 200, 4000
PARTS = (0, 7, 60, 61, 200)  # added in parts of different length, some beyond the capacity


def numbered(first: int, end: int, actions: int = 2) -> Samples:
    numbers = np.arange(first, end)
    return Samples(
        numbers.astype(np.uint64), numbers.astype(np.int32), (numbers + 1).astype(np.uint32),
        np.repeat(numbers[:, np.newaxis], actions, axis=1).astype(np.float32),
    )  # fmt: skip


def reservoir(seed: int) -> np.ndarray:
    memory = Reservoir(SIZE, 2)
    for part, (first, end) in enumerate(pairwise(PARTS)):
        memory.add(numbered(first, end), np.random.SeedSequence(seed, spawn_key=(part,)))
    assert len(memory) == SIZE
    assert memory.seen == ITEMS
    kept = memory.samples
    assert (kept.key == kept.node).all()
    assert (kept.node + 1 == kept.iteration).all()
    assert (kept.target == kept.node[:, np.newaxis]).all()
    return kept.node


def ring_buffer(seed: int) -> np.ndarray:
    """Wrong: the last ones (with a random end, to be generous)."""
    return (np.arange(SIZE) - seed % SIZE + ITEMS - SIZE // 2) % ITEMS


def keep_the_first(_seed: int) -> np.ndarray:
    """Wrong: what comes when the memory is full is dropped."""
    return np.arange(SIZE)


def always_replace(seed: int) -> np.ndarray:
    """Wrong: every new one replaces a random one, so that old ones die out."""
    rng = np.random.default_rng(seed)
    kept = np.arange(SIZE)
    for item in range(SIZE, ITEMS):
        kept[rng.integers(SIZE)] = item
    return kept


def p_value(keep: Callable[[int], np.ndarray], rounds: int = ROUNDS) -> float:
    """Of the number of rounds in which each item was kept, if all are equally likely."""
    counts = np.zeros(ITEMS)
    for seed in range(rounds):
        kept = keep(seed)
        assert len(np.unique(kept)) == SIZE
        counts[kept] += 1
    share = SIZE / ITEMS
    distance = ((counts - rounds * share) ** 2).sum() / (rounds * share * (1 - share))
    return float(chi2.sf(distance * (ITEMS - 1) / ITEMS, ITEMS - 1))


def test_it_is_uniform() -> None:
    assert p_value(reservoir) > 1e-4
    for wrong in (ring_buffer, keep_the_first, always_replace):
        assert p_value(wrong, 200) < 1e-12


def test_it_comes_back_from_its_arrays() -> None:
    for count in (5, 100):
        one, two = Reservoir(SIZE, 2), Reservoir(SIZE, 2)
        one.add(numbered(0, count), np.random.SeedSequence(1))
        two.restore(one.arrays(), lambda _: None)
        for memory in (one, two):
            memory.add(numbered(count, 150), np.random.SeedSequence(2))
        assert len(one) == len(two) == SIZE
        assert all((a == b).all() for a, b in zip(one.samples, two.samples, strict=True))
    assert not (one.samples.node == np.arange(SIZE)).all()


def test_a_copy_can_be_kept_up_to_date() -> None:
    memory, copy = Reservoir(SIZE, 2), Samples.empty(SIZE, 2)
    seeds = np.random.SeedSequence(3).spawn(9)
    sizes, taken = [5, 1, 30, 2, 3, 0, 12, 1, 2], []
    first = 0
    for size, seed in zip(sizes, seeds, strict=True):
        memory.add(numbered(first, first + size), seed)
        first += size
        places = memory.take_written()
        taken.append(places)
        for new, old in zip(copy, memory.samples, strict=True):
            new[places] = old[places]
            assert (new == old).all()
    assert isinstance(taken[0], slice) and isinstance(taken[2], slice)  # all: at first, and after too much at once
    assert not isinstance(taken[1], slice)
    assert len(taken[5]) == 0
