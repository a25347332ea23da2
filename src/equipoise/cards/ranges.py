"""Ranges of hold'em holes in the usual notation, read and written.

A range is a list of parts separated by commas or spaces: `QQ`, `QQ+`, `TT-77`, `AKs`, `AKo`, `AK` (both), `ATs+` (the
kicker goes up to one below the high card), `A5s-A2s`, `JTs-54s` (same gap), `Axs` (any kicker), `AhKh` (one hole),
`any`. Each may have a weight from 0 to 1: `KQo:0.5`. A later part overrides an earlier one.

Or it is a list of 1,326 weights, as PioSOLVER writes ranges. Its order of hands (`show_hand_order`: 2d2c 2h2c 2h2d 2s2c
... AsAh) is that of our hole indices: by the higher card, then by the lower one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from equipoise.cards.deck import FULL_DECK, RANKS, SUITS, hole_cards, hole_index
from equipoise.core.arrays import F64
from equipoise.core.errors import InputError, shown

HOLES = 1326
MOST_CHARACTERS = 100_000
MOST_REPR = 60  # characters of a range in its repr
MOST_BODIES = 4096  # parts of ranges, without weights, whose holes are remembered
_EXAMPLE = "write e.g. QQ+, AKs, A5s-A2s, KQo:0.5, AhKh"
_CLASS = re.compile(r"([2-9TJQKA])([2-9TJQKAX])([SO]?)")
_WEIGHT = re.compile(r"(\d{1,20}(\.\d{0,20})?|\.\d{1,20})(e-\d{1,3})?")


@dataclass(frozen=True)
class Cell:
    """A cell of the 13 x 13 grid: a pair, or two ranks suited (`s`) or offsuit (`o`); ranks are numbers."""

    high: int
    low: int
    kind: str  # "s", "o", or "" for a pair

    @property
    def name(self) -> str:
        return RANKS[self.high] + RANKS[self.low] + self.kind

    @cached_property
    def holes(self) -> tuple[int, ...]:
        """The indices of its holes: 6 of a pair, 4 suited, 12 offsuit."""
        suits = range(len(SUITS))
        return tuple(
            hole_index((FULL_DECK.card(self.high, a), FULL_DECK.card(self.low, b)))
            for a in suits
            for b in suits
            if (a < b if self.high == self.low else (a == b) == (self.kind == "s"))
        )


GRID: tuple[Cell, ...] = tuple(
    Cell(high, low, kind)
    for high in range(12, -1, -1)
    for low in range(high, -1, -1)
    for kind in (("",) if high == low else ("s", "o"))
)
"""The 169 cells, pairs and high cards first."""


class Range:
    """A weight from 0 to 1 for each of the 1,326 holes. `Range.read(text)` reads one; `str(range)` writes it back."""

    def __init__(self, weights: F64) -> None:
        if weights.shape != (HOLES,) or not np.isfinite(weights).all() or weights.min() < 0 or weights.max() > 1:
            raise InputError("a range needs 1,326 weights from 0 to 1", remedy=_EXAMPLE)
        self.weights = np.array(weights, np.float64)
        self.weights.setflags(write=False)

    @classmethod
    def read(cls, text: str) -> Range:
        """The range of a text."""
        if len(text) > MOST_CHARACTERS:
            raise InputError(f"a range of {len(text)} characters", remedy=f"use at most {MOST_CHARACTERS}")
        weights = np.zeros(HOLES)
        tidy = re.sub(r" ?([-:]) ?", r"\1", " ".join(text.split()))  # spaces are merged first: linear time
        parts = [part for part in re.split(r"[ ,;]+", tidy) if part]
        if not parts:
            raise InputError("an empty range", remedy=_EXAMPLE)
        if all(_WEIGHT.fullmatch(part) for part in parts) and not all(_CLASS.fullmatch(part) for part in parts):
            return cls(_listed_weights(parts))
        for part in parts:
            body, colon, weight = part.partition(":")
            weights[_holes(body)] = _weight(weight, part) if colon else 1.0
        return cls(weights)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and bool(np.array_equal(self.weights, other.weights))

    def __hash__(self) -> int:
        return hash(self.weights.tobytes())

    def __str__(self) -> str:
        if not self.weights.any():
            return ""
        if (self.weights == self.weights[0]).all():
            return "any" + _weight_text(float(self.weights[0]))
        return ",".join(_parts(self.weights))

    def __repr__(self) -> str:
        text = str(self)
        return (
            f"Range.read({text!r})"
            if len(text) <= MOST_REPR
            else f"Range({text[:MOST_REPR]}...: {self.combos:g} holes)"
        )

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each of the 169 hands that the range has: its mean weight, and its holes by weight."""
        weights = [(cell.name, self.weights[list(cell.holes)]) for cell in GRID]
        return [
            {"hand": name, "weight": float(by_hole.mean()), "holes": float(by_hole.sum())}
            for name, by_hole in weights
            if by_hole.any()
        ]

    def _repr_html_(self) -> str:
        from equipoise.cards.grid_html import grid_html
        from equipoise.cards.range_grid import range_grid

        return grid_html(range_grid(np.arange(HOLES), self.weights, np.ones((1, HOLES))), caption=repr(self))

    @property
    def combos(self) -> float:
        """The number of holes, counted by weight."""
        return float(self.weights.sum())

    def without(self, cards: Iterable[int]) -> Range:
        """The range with every hole that holds one of the cards taken out."""
        weights = self.weights.copy()
        for card in cards:
            for other in range(FULL_DECK.size):
                if other != card:
                    weights[hole_index((card, other))] = 0
        return Range(weights)


@lru_cache(MOST_BODIES)
def _holes(body: str) -> list[int]:
    """The holes of one part of a range, its weight taken off."""
    if body.lower() in ("any", "random", "*"):
        return list(range(HOLES))
    if len(body) == 4 and body[1].lower() in SUITS and body[3].lower() in SUITS and body[-1] != "+":
        return [hole_index(FULL_DECK.read_cards(body))]
    text = body.upper()
    if text.endswith("+"):
        ends = [_read_class(text[:-1], body)]
        cells = _upward(*ends[0])
    elif "-" in text:
        first, _, last = text.partition("-")
        cells = _between(_read_class(first, body), _read_class(last, body), body)
    else:
        cells = _any_kicker(*_read_class(text, body))
    return [hole for cell in cells for hole in cell.holes]


def _read_class(text: str, part: str) -> tuple[int, int, str]:
    """High rank, low rank (-1 for x) and kind (empty for both or a pair) of e.g. `AKs`."""
    found = _CLASS.fullmatch(text)
    if not found:
        raise InputError(f"no hands {shown(part)}", remedy=_EXAMPLE)
    first, second, kind = found.groups()
    a, b = RANKS.index(first), RANKS.find(second)
    high, low = max(a, b), min(a, b)
    if high == low and kind:
        raise InputError(f"no hands {shown(part)}: a pair is neither suited nor offsuit", remedy=f"write {text[:2]}")
    return high, low, kind.lower()


def _cells(high: int, low: int, kind: str) -> list[Cell]:
    if high == low:
        return [Cell(high, low, "")]
    return [Cell(high, low, k) for k in (kind or "so")]


def _any_kicker(high: int, low: int, kind: str) -> list[Cell]:
    lows = [low] if low >= 0 else [other for other in range(13) if other != high or not kind]
    return [cell for other in lows for cell in _cells(max(high, other), min(high, other), kind)]


def _upward(high: int, low: int, kind: str) -> list[Cell]:
    if high == low:
        return [Cell(rank, rank, "") for rank in range(high, 13)]
    return [cell for other in range(max(low, 0), high) for cell in _cells(high, other, kind)]


def _between(one: tuple[int, int, str], two: tuple[int, int, str], part: str) -> list[Cell]:
    (high, low, kind), (other_high, other_low, other_kind) = max(one, two), min(one, two)
    if kind == other_kind and min(low, other_low) >= 0:
        if high == other_high and low != high and other_low != other_high:
            return [cell for rank in range(other_low, low + 1) for cell in _cells(high, rank, kind)]
        if high - low == other_high - other_low:
            steps = range(high - other_high + 1)
            return [cell for step in steps for cell in _cells(high - step, low - step, kind)]
    raise InputError(f"no run of hands {shown(part)}", remedy="write e.g. TT-77, A5s-A2s or JTs-54s")


def _listed_weights(parts: list[str]) -> F64:
    """A weight for each hole, in the order of their indices."""
    if len(parts) != HOLES:
        raise InputError(
            f"a range of {len(parts):,} numbers", remedy=f"give all {HOLES:,} weights, or hands: {_EXAMPLE}"
        )
    return np.array([_weight(part, part) for part in parts])


def _weight(text: str, part: str) -> float:
    if not _WEIGHT.fullmatch(text) or not 0 <= float(text) <= 1:
        raise InputError(f"weight {shown(text)} in {shown(part)}", remedy="use a number from 0 to 1, like KQo:0.5")
    return float(text)


def _weight_text(weight: float) -> str:
    return "" if weight == 1 else f":{weight!r}"


def _parts(weights: F64) -> Iterator[str]:
    """The shortest parts we know that read back as these weights."""
    whole: dict[Cell, float] = {}
    for cell in GRID:
        held = weights[list(cell.holes)]
        if held[0] and (held == held[0]).all():
            whole[cell] = float(held[0])
    yield from _runs([(rank, whole.get(Cell(rank, rank, ""), 0.0)) for rank in range(12, -1, -1)], None, "")
    for high in range(12, 0, -1):
        suited = [whole.get(Cell(high, low, "s"), 0.0) for low in range(high)]
        offsuit = [whole.get(Cell(high, low, "o"), 0.0) for low in range(high)]
        both = [s if s == o else 0.0 for s, o in zip(suited, offsuit, strict=True)]
        for kind, values in (("", both), ("s", suited), ("o", offsuit)):
            lows = [(low, 0.0 if kind and both[low] else values[low]) for low in range(high - 1, -1, -1)]
            yield from _runs(lows, high, kind)
    for cell in GRID:
        if cell not in whole:
            for hole in cell.holes:
                if weights[hole]:
                    yield hole_text(hole) + _weight_text(float(weights[hole]))


def _runs(cells: list[tuple[int, float]], high: int | None, kind: str) -> Iterator[str]:
    """Neighbouring cells of equal weight as one part. `cells` descend; without `high` they are pairs."""
    top = cells[0][0]
    for weight, group in groupby(cells, key=lambda cell: cell[1]):
        ranks = [rank for rank, _ in group]
        if not weight:
            continue
        names = [(RANKS[rank] if high is None else RANKS[high]) + RANKS[rank] + kind for rank in (ranks[0], ranks[-1])]
        if len(ranks) == 1:
            text = names[0]
        elif ranks[0] == top:
            text = names[1] + "+"
        else:
            text = "-".join(names)
        yield text + _weight_text(weight)


def hole_text(hole: int) -> str:
    """A hole as text, high card first, e.g. `AhKd`."""
    return FULL_DECK.text(sorted(hole_cards(hole), reverse=True))
