"""Packed strategy files: an agent in a few megabytes, which plays without tables of hands.

The probabilities of an information set are whole numbers of units that sum to the same (`tables.py`), so the last one
is left out. What remains is one byte each: node by node, bucket by bucket, action by action. It is cut into pieces,
which LZMA compresses on several cores. The file also has the centroids of the cards (`LiveMap`), which take the place
of tables of all hands, and everything else that a strategy file has: gamedef, menu, card recipe, fingerprints.
"""

from __future__ import annotations

import lzma
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from equipoise.abstraction.maps.live_map import LiveMap
from equipoise.core.array_checks import check_array
from equipoise.core.errors import InputError, shown
from equipoise.core.files.array_file import load_arrays, save_arrays
from equipoise.core.jit import F32, I64, U8, kernel
from equipoise.strategy.about import StrategyHeader, kept_about
from equipoise.strategy.abstract_game import AbstractGame
from equipoise.strategy.tables import UNITS, to_bytes
from equipoise.tree.betting_tree import DECISION
from equipoise.tree.infosets import SlotLayout

FORMAT = "equipoise packed 1"
SUFFIX = ".packed"
PIECE = 1 << 20  # bytes that are compressed at once
LEVELS = "levels"
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 3, "lp": 0, "pb": 0}]


class PackedHeader(StrategyHeader):
    """The header of a packed file."""

    units: Annotated[int, Field(ge=1, le=UNITS)]
    pieces: tuple[Annotated[int, Field(ge=0, le=2 * PIECE)], ...]  # bytes of each, compressed


class PackedNodes(NamedTuple):
    """Where the information sets of each decision node are, in the order in which they are packed."""

    offset: I64  # [node] in the table
    stride: I64  # [node]
    actions: I64  # [node]
    buckets: I64  # [node]

    @classmethod
    def of(cls, layout: SlotLayout) -> PackedNodes:
        tree = layout.tree
        nodes = np.flatnonzero(tree.kind == DECISION)
        return cls(
            layout.offset[nodes].astype(np.int64),
            layout.stride[nodes].astype(np.int64),
            tree.num_children[nodes].astype(np.int64),
            np.array(layout.buckets, np.int64)[tree.street[nodes]],
        )

    @property
    def bytes(self) -> int:
        """The number of bytes before compression."""
        return int(self.buckets @ (self.actions - 1))


@kernel
def take_levels(nodes: PackedNodes, table: U8, worth: int, levels: U8) -> None:
    """IN: uint8[slot], the value of a unit in it; OUT: uint8[byte] units, without the last action."""
    at = 0
    for node in range(nodes.offset.size):
        for bucket in range(nodes.buckets[node]):
            slot = nodes.offset[node] + bucket * nodes.stride[node]
            for action in range(nodes.actions[node] - 1):
                levels[at] = table[slot + action] // worth
                at += 1


@kernel
def put_levels(nodes: PackedNodes, levels: U8, units: int, worth: int, table: U8) -> bool:
    """IN: uint8[byte]; OUT: uint8[slot]. Returns whether no information set has more than all units."""
    at = 0
    for node in range(nodes.offset.size):
        for bucket in range(nodes.buckets[node]):
            slot = nodes.offset[node] + bucket * nodes.stride[node]
            last = nodes.actions[node] - 1
            left = units
            for action in range(last):
                left -= int(levels[at])
                table[slot + action] = np.uint8(levels[at] * worth)
                at += 1
            if left < 0:
                return False
            table[slot + last] = np.uint8(left * worth)
    return True


@dataclass(frozen=True)
class Packed:
    """What was packed, for people and for `--json`."""

    path: Path
    units: int
    slots: int
    infosets: int
    bytes: int  # of the file
    levels_bytes: int  # of the compressed probabilities
    cards_bytes: int  # of the centroids and tables

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**self.__dict__, "path": str(self.path)}


def save_packed(
    path: str | Path, game: AbstractGame, chances: F32, live: LiveMap, units: int, about: Mapping[str, Any]
) -> Packed:
    """Write probabilities, float32[slot], in some number of units (a divisor of 255), and the cards they are for."""
    if Path(path).suffix != SUFFIX:
        raise InputError(f"packed file {shown(str(path))}", remedy=f"give it a name that ends in {SUFFIX}")
    layout, cards = game.layout, live.arrays()
    table = to_bytes(layout, chances, units)
    nodes = PackedNodes.of(layout)
    levels = np.empty(nodes.bytes, np.uint8)
    take_levels(nodes, table, UNITS // units, levels)
    pieces = _in_threads(_compressed, [levels[at : at + PIECE].data for at in range(0, levels.size, PIECE)])
    stream = np.frombuffer(b"".join(pieces), np.uint8)
    header = {
        **game.text().model_dump(),
        "about": dict(about),
        "units": units,
        "pieces": [len(piece) for piece in pieces],
    }
    save_arrays(path, FORMAT, header, {**cards, LEVELS: stream})
    return Packed(
        Path(path),
        units,
        layout.slots,
        int(nodes.buckets.sum()),
        Path(path).stat().st_size,
        stream.size,
        sum(int(array.nbytes) for array in cards.values()),
    )


def load_packed(path: str | Path, remedy: str) -> tuple[AbstractGame, U8, LiveMap, dict[str, Any]]:
    """The game of a packed file, its probabilities as bytes, its cards, and how it was made."""
    header, arrays = load_arrays(path, FORMAT, PackedHeader, remedy=remedy, copied=True)
    game = AbstractGame.of_text(header, str(path), remedy)
    nodes = PackedNodes.of(game.layout)
    try:
        units, ends = header.units, np.cumsum([0, *header.pieces])
        stream = check_array(arrays.pop(LEVELS, None), LEVELS, (int(ends[-1]),), np.uint8)
        if UNITS % units or len(header.pieces) != -(-nodes.bytes // PIECE):
            raise ValueError
        pieces = [stream[first:last].data for first, last in pairwise(ends)]
        levels = np.frombuffer(b"".join(_in_threads(_decompressed, pieces)), np.uint8)
        if levels.size != nodes.bytes:
            raise ValueError
        table = np.empty(game.layout.slots, np.uint8)
        if not put_levels(nodes, levels, units, UNITS // units, table):
            raise ValueError
        live = LiveMap.of_arrays(game.rules, game.cards, arrays)
    except (ValueError, lzma.LZMAError):  # an InputError is a ValueError
        raise InputError("damaged: not the table of its tree and buckets", where=str(path), remedy=remedy) from None
    return game, table, live, kept_about(header.about)


def _compressed(piece: Any) -> bytes:
    return lzma.compress(piece, format=lzma.FORMAT_RAW, filters=_FILTERS)


def _decompressed(piece: Any) -> bytes:
    return lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=_FILTERS).decompress(piece, PIECE)


def _in_threads(work: Any, pieces: list[Any]) -> list[bytes]:
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(work, pieces))
