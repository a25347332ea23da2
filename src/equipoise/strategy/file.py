"""Strategy files: the probabilities of a profile, as float32 or as bytes, with all it takes to play them elsewhere.

The header holds the gamedef, the bet menu and the card recipe, so that the tree and the buckets can be made again, and
the fingerprints of both, so that a file is never read with others. A file is checked to the last bit whenever it is
opened. Byte files follow the rule of `tables.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from equipoise.abstraction.maps.bucket_map import BucketMap
from equipoise.abstraction.maps.bucket_map import fingerprint as map_fingerprint
from equipoise.abstraction.maps.build import Tell, build_map, planned_buckets
from equipoise.abstraction.maps.card_recipe import CardRecipe
from equipoise.core.errors import InputError, shown
from equipoise.core.files.array_file import load_arrays, load_header, save_arrays
from equipoise.core.jit import F32, U8
from equipoise.core.machine import available_memory
from equipoise.games.bet_menu import BetMenu
from equipoise.games.gamedef import read_gamedef, write_gamedef
from equipoise.games.rules import GameRules
from equipoise.strategy.profile import Profile
from equipoise.strategy.tables import from_bytes, to_bytes
from equipoise.tree.betting_tree import DECISION, PublicTree, build_tree
from equipoise.tree.infosets import SlotLayout

FORMAT = "equipoise strategy 2"
FLOAT32, BYTES = "float32", "u8"
KINDS = (FLOAT32, BYTES)
IN_A_RUN = tuple(f"strategy.{kind}" for kind in KINDS)  # the finer first
REMEDY = "train again, or take another copy of the file"


@dataclass(frozen=True, eq=False)
class Plan:
    """What a strategy is for: a game, its bets and its buckets. `betting` is the table of the menu, as written."""

    rules: GameRules
    betting: Mapping[str, Any] | None
    cards: CardRecipe

    @cached_property
    def menu(self) -> BetMenu | None:
        return BetMenu.from_table(self.betting, self.rules.rounds) if self.betting is not None else None

    @cached_property
    def tree(self) -> PublicTree:
        return build_tree(self.rules, self.menu)

    @cached_property
    def layout(self) -> SlotLayout:
        return SlotLayout(self.tree, planned_buckets(self.rules, self.cards))

    def buckets(self, tell: Tell | None = None) -> BucketMap:
        """The map: opened if it was built before, else built."""
        found = build_map(self.rules, self.cards, tell)
        if found.buckets != self.layout.buckets:
            raise InputError(
                f"the map has {found.buckets} buckets, the strategy {self.layout.buckets}", remedy="clear the cache"
            )
        return found

    def marks(self) -> dict[str, str]:
        """Digests of what the numbers of a table mean: the game, the tree, the buckets."""
        tree = self.tree
        nodes = blake2b(tree.parent.tobytes() + tree.action.tobytes() + tree.kind.tobytes(), digest_size=8)
        buckets = map_fingerprint(self.rules, self.cards.text())
        return {"game": self.rules.fingerprint, "tree": nodes.hexdigest(), "buckets": buckets}

    def header(self) -> dict[str, Any]:
        """All of it, for a file."""
        return {
            "name": self.rules.name,
            "gamedef": write_gamedef(self.rules),
            "betting": None if self.betting is None else dict(self.betting),
            "cards": json.loads(self.cards.text()),
            "marks": self.marks(),
        }

    @classmethod
    def of_header(cls, header: Mapping[str, Any], where: str) -> Plan:
        """What a file says it is for; refused if today's code makes another tree or other buckets of it."""
        try:
            rules = read_gamedef(header["gamedef"], name=header["name"], source=where)
            cards = CardRecipe.model_validate_json(json.dumps(header["cards"]))
            plan = cls(rules, header["betting"], cards)
            marks = plan.marks()
            for what, mark in header["marks"].items():
                if marks.get(what) != mark:
                    raise InputError(f"made for another {what}", where=where, remedy=REMEDY)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("damaged: its header makes no sense", where=where, remedy=REMEDY) from None
        return plan


@dataclass(frozen=True, eq=False)
class StrategyFile:
    """A strategy from a file. `stored` is float32[slot] or uint8[slot]."""

    plan: Plan
    stored: Any
    path: Path
    about: Mapping[str, Any]  # strategy (average or current), iterations, seconds, nodes, as the run says

    @cached_property
    def name(self) -> str:
        """What marks files made for it: a checksum of its numbers."""
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
        return self.plan.rules

    @property
    def tree(self) -> PublicTree:
        return self.plan.tree

    @cached_property
    def buckets(self) -> BucketMap:
        """The map of its cards, built if need be."""
        return self.plan.buckets()

    @cached_property
    def profile(self) -> Profile:
        """All probabilities as float32; those of a byte file are made here."""
        return Profile(self.plan.layout, self.stored if self.kind == FLOAT32 else from_bytes(self.stored))

    def at(self, node: int) -> F32:
        """[bucket, action] the probabilities of one decision node."""
        tree, layout = self.tree, self.plan.layout
        if not 0 <= node < len(tree) or tree.kind[node] != DECISION:
            raise InputError(f"node {node} is no decision", remedy="name one where a player acts")
        part: F32 = layout.at(self.stored, node)
        return part if self.kind == FLOAT32 else from_bytes(part)  # type: ignore[arg-type]

    def require(self, rules: GameRules) -> None:
        """Refuse to be used for another game."""
        if rules.fingerprint != self.rules.fingerprint:
            games = f"made for {self.rules.name or 'a game'} ({self.rules.fingerprint})"
            raise InputError(f"{games}, not {rules.fingerprint}", where=str(self.path), remedy="name its own game")


def save_strategy(path: str | Path, plan: Plan, chances: F32, kind: str, about: Mapping[str, Any]) -> None:
    """Write probabilities as float32 or as bytes."""
    if kind not in KINDS:
        raise InputError(f"kind {shown(kind)} of a strategy", remedy=f"use {' or '.join(KINDS)}")
    save_stored(path, plan, chances if kind == FLOAT32 else to_bytes(plan.layout, chances), about)


def save_stored(path: str | Path, plan: Plan, stored: F32 | U8, about: Mapping[str, Any]) -> None:
    """Write probabilities that are float32 or bytes already."""
    save_arrays(path, FORMAT, {**plan.header(), "about": dict(about)}, {"chances": stored})


def load_strategy(path_or_run: str | Path, *, copied: bool = False) -> StrategyFile:
    """The strategy of a file, or of a run folder (its float32 file, or else its bytes).

    Its probabilities are mapped, or `copied` into memory, if they take at most half of what is free: for servers, which
    must play on when somebody truncates the file.
    """
    path = _find(Path(path_or_run))
    header, arrays = load_arrays(path, FORMAT, remedy=REMEDY, copied=copied and _fits_in_memory(path))
    plan = Plan.of_header(header, str(path))
    stored = arrays.get("chances")
    if stored is None or stored.dtype not in (np.float32, np.uint8) or stored.shape != (plan.layout.slots,):
        raise InputError("damaged: not the table of its tree and buckets", where=str(path), remedy=REMEDY)
    return StrategyFile(plan, stored, path, header.get("about", {}))


def read_about(path: str | Path) -> dict[str, Any]:
    """What a strategy file says of its making: its strategy, iterations, seconds, nodes."""
    return dict(load_header(path, FORMAT, remedy=REMEDY)["about"])


def _fits_in_memory(path: Path) -> bool:
    """Does a file take at most half of the free memory?"""
    try:
        return 2 * path.stat().st_size <= available_memory()
    except (OSError, ValueError):
        return True  # it cannot be opened either


def _find(path: Path) -> Path:
    try:
        if not path.is_dir():
            return path
    except (OSError, ValueError):  # a name that no file can have
        return path
    for name in IN_A_RUN:
        if (path / name).is_file():
            return path / name
    raise InputError(
        f"no strategy in {shown(str(path))}", remedy="finish its training: equipoise train RUN --out RUN --resume"
    )
