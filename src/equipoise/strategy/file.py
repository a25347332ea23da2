"""Strategy files: the probabilities of a profile, as float32 or as bytes, with everything needed to play them.

`packed.py` has the format of small files for agents that travel.

The header holds the gamedef, the bet menu and the card recipe, so that the tree and the buckets can be made again, and
the fingerprints of both, so that a file is never read with others. A file is checked to the last bit whenever it is
opened. Byte files follow the rule of `tables.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from equipoise.abstraction.maps.live_map import Buckets, LiveMap
from equipoise.core.errors import InputError, shown
from equipoise.core.files.array_file import load_arrays, load_header, save_arrays
from equipoise.core.files.text import is_folder
from equipoise.core.jit import F32, U8
from equipoise.core.machine import available_memory
from equipoise.core.visible_text import shell_word
from equipoise.games.rules import GameRules
from equipoise.strategy.about import StrategyHeader, kept_about
from equipoise.strategy.abstract_game import AbstractGame
from equipoise.strategy.packed import SUFFIX, load_packed
from equipoise.strategy.profile import Profile
from equipoise.strategy.shipped import find_stored
from equipoise.strategy.tables import are_chances, from_bytes, to_bytes
from equipoise.tree.betting_tree import DECISION, BettingTree

FORMAT = "equipoise strategy 2"
FLOAT32, BYTES = "float32", "u8"
KINDS = (FLOAT32, BYTES)
IN_A_RUN = tuple(f"strategy.{kind}" for kind in KINDS)  # the finer first
NETWORKS = "strategy.networks"  # in a run of method "deep"
REMEDY = "train again, or take another copy of the file"


@dataclass(frozen=True, eq=False)
class StrategyFile:
    """A strategy from a file. `stored` is float32[slot] or uint8[slot]."""

    game: AbstractGame
    stored: Any
    path: Path
    about: Mapping[str, Any]  # from the run: strategy (average or current), iterations, seconds, nodes
    live: LiveMap | None = None  # of a packed file, which needs no tables of hands

    def __repr__(self) -> str:
        iterations = f", {self.about['iterations']:,} iterations" if "iterations" in self.about else ""
        return f"StrategyFile({self.path}: {self.strategy} strategy of {self.rules.name or 'a game'}{iterations})"

    @cached_property
    def name(self) -> str:
        """A checksum of its numbers, stored in files made for it."""
        return f"{self.path.name} {xxhash.xxh3_64_hexdigest(self.stored.view(np.uint8).data)}"

    @property
    def strategy(self) -> str:
        """Which strategy of its run it is: average or current."""
        return str(self.about.get("strategy", "average"))

    @property
    def kind(self) -> str:
        return FLOAT32 if self.stored.dtype == np.float32 else BYTES

    @property
    def rules(self) -> GameRules:
        return self.game.rules

    @property
    def tree(self) -> BettingTree:
        return self.game.tree

    @cached_property
    def buckets(self) -> Buckets:
        """The map of its cards; one of all hands is built if necessary."""
        return self.live or self.game.buckets()

    @cached_property
    def profile(self) -> Profile:
        """All probabilities as float32, converted from bytes if necessary."""
        return Profile(self.game.layout, self.stored if self.kind == FLOAT32 else from_bytes(self.stored))

    def at(self, node: int) -> F32:
        """[bucket, action] the probabilities of one decision node."""
        tree, layout = self.tree, self.game.layout
        if not 0 <= node < len(tree) or tree.kind[node] != DECISION:
            raise InputError(f"node {node} is not a decision", remedy="give one where a player acts")
        part: F32 = layout.at(self.stored, node)
        return part if self.kind == FLOAT32 else from_bytes(part)  # type: ignore[arg-type]

    def require(self, rules: GameRules) -> None:
        """Refuse to be used for another game."""
        if rules.fingerprint != self.rules.fingerprint:
            games = f"made for {self.rules.name or 'a game'} ({self.rules.fingerprint})"
            raise InputError(f"{games}, not {rules.fingerprint}", where=str(self.path), remedy="name its own game")


def save_strategy(path: str | Path, game: AbstractGame, chances: F32, kind: str, about: Mapping[str, Any]) -> None:
    """Write probabilities as float32 or as bytes."""
    if kind not in KINDS:
        raise InputError(f"kind {shown(kind)} of a strategy", remedy=f"use {' or '.join(KINDS)}")
    save_stored(path, game, chances if kind == FLOAT32 else to_bytes(game.layout, chances), about)


def save_stored(path: str | Path, game: AbstractGame, stored: F32 | U8, about: Mapping[str, Any]) -> None:
    """Write probabilities that are float32 or bytes already."""
    save_arrays(path, FORMAT, {**game.text().model_dump(), "about": dict(about)}, {"chances": stored})


def load_strategy(path_or_run: str | Path, *, copied: bool = False) -> StrategyFile:
    """The strategy of a file, of a run folder (its float32 file, or else its bytes), or of a shipped agent by its name.

    Its probabilities are memory-mapped, or `copied` if they take at most half of the free memory: for servers, which
    must survive a truncation of the file.
    """
    path = _find(find_stored(path_or_run))
    if path.suffix == SUFFIX:
        game, table, live, about = load_packed(path, REMEDY)
        return StrategyFile(game, table, path, about, live)
    header, arrays = load_arrays(path, FORMAT, StrategyHeader, remedy=REMEDY, copied=copied and _fits_in_memory(path))
    game = AbstractGame.of_text(header, str(path), REMEDY)
    stored = arrays.get("chances")
    if stored is None or stored.dtype not in (np.float32, np.uint8) or stored.shape != (game.layout.slots,):
        raise InputError("damaged: not the table of its tree and buckets", where=str(path), remedy=REMEDY)
    if not are_chances(game.layout, stored):
        raise InputError("damaged: its probabilities do not sum to one", where=str(path), remedy=REMEDY)
    return StrategyFile(game, stored, path, kept_about(header.about))


def read_about(path: str | Path) -> dict[str, Any]:
    """How a strategy file was made: its strategy, iterations, seconds, nodes."""
    return kept_about(load_header(path, FORMAT, StrategyHeader, remedy=REMEDY).about)


def _fits_in_memory(path: Path) -> bool:
    """Does a file take at most half of the free memory?"""
    try:
        return 2 * path.stat().st_size <= available_memory()
    except (OSError, ValueError):
        return True  # it cannot be opened either


def _find(path: Path) -> Path:
    if not is_folder(path):
        return path
    for name in IN_A_RUN:
        if (path / name).is_file():
            return path / name
    if (path / NETWORKS).is_file():
        raise InputError(
            f"the strategy of {shown(str(path))} is networks, not a table", remedy="measure it, or play it"
        )
    is_run = (path / "checkpoints").is_dir()
    remedy = f"finish its training: equipoise train --resume {shell_word(str(path))}" if is_run else "name a run folder"
    raise InputError(f"no strategy in {shown(str(path))}", remedy=remedy)
