"""A recipe: game, betting, cards, solver and stopping rule, checked as a whole before anything is computed. In a file::

    game = "holdem.nolimit"
    [betting]                       # no-limit: a bet menu, or the name of one
    [cards]                         # buckets of each street, see abstraction/maps/card_recipe.py (default: lossless)
    [solver]                        # method, schedule, seed, threads; boards, cycle (pcs); period, prune (external);
                                    # stage, or trunk, boards, cycle, grow; keep, currents (cfr-br)
    [deep]                          # with solver.method = "deep": see deep_recipe.py
    [stop]                          # minutes, iterations, exploitability: whichever is reached first
    [checkpoint]                    # minutes between checkpoints, number to keep
    [measure]                       # method, minutes between measurements

The fingerprint covers what determines the result: rules, menu, cards, and the solver's settings except threads and
device.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from equipoise.abstraction.maps.card_recipe import RECIPE_KEYS, load_recipe_table
from equipoise.cards.deck import check_hole_cards
from equipoise.core.checked_model import CheckedModel, check_table
from equipoise.core.errors import MOST_COUNT, InputError, shown
from equipoise.core.files.shipped import Shelf
from equipoise.core.files.text import is_file
from equipoise.core.machine import MOST_THREADS
from equipoise.core.wording import did_you_mean
from equipoise.games.bet_menu import street_names
from equipoise.games.rules import MOST_ROUNDS, GameRules
from equipoise.runs.deep_recipe import DEVICES, DeepRecipe
from equipoise.runs.iteration_reservoir import IterationReservoirs
from equipoise.runs.recipe_text import apply_overrides
from equipoise.solvers.schedule import SCHEDULES
from equipoise.solvers.solver import AVERAGE, CURRENT, StrategyName
from equipoise.strategy.abstract_game import AbstractGame, read_abstract_game, resolve_paths
from equipoise.tree.game_report import DEFAULT_MENU

RECIPE_FILE = "recipe.toml"  # of a run folder
SECTIONS = RECIPE_KEYS[1:]  # without the game
METHODS = ("external", "pcs", "cfr-br", "deep")
MOST_MINUTES = 1e9
TRAININGS, ABSTRACTIONS = "runs/recipes", "runs/recipes/abstractions"  # those of abstractions have no solver
RECIPES = Shelf("recipe", (TRAININGS, ABSTRACTIONS), otherwise="give a TOML file or a run folder")
REMEDY = "see docs/training.md"
ELSEWHERE = {"vector": "it keeps tables by hand, not by bucket: use equipoise spot solve"}


class SolverRecipe(CheckedModel):
    """The solver and its settings. Settings that a method does not use must be left out."""

    method: str = "external"
    schedule: str | None = None  # external: linear; pcs, cfr-br: cfr+
    seed: int = Field(default=1, ge=0)
    threads: int = Field(default=0, ge=0, le=MOST_THREADS)  # 0: all cores; one thread is bit-reproducible
    boards: int | None = Field(default=None, ge=1, le=1 << 20)  # pcs, cfr-br with a trunk: boards per iteration
    cycle: bool | None = None  # pcs, cfr-br with a trunk: draw boards without replacement
    grow: int | None = Field(default=None, ge=0, le=MOST_COUNT)  # cfr-br with a trunk: start with few boards, then add
    period: int | None = Field(default=None, ge=1, le=MOST_COUNT)  # external: iterations between discounts
    prune: float | None = Field(default=None, gt=0)  # external: skip actions below minus this regret, in chips
    stage: int | None = Field(default=None, ge=1, le=MOST_COUNT)  # cfr-br: restart from the average every N iterations
    trunk: int | None = Field(default=None, ge=1, le=MOST_ROUNDS)  # cfr-br: rounds above the sampled subgames
    keep: Literal["both", "current"] | None = None  # cfr-br: default both; current: half the memory
    currents: int | None = Field(default=None, ge=0, le=100)  # cfr-br: snapshots to keep (default: 1)

    @model_validator(mode="after")
    def _whole(self) -> SolverRecipe:
        if self.method in ELSEWHERE:
            raise ValueError(f"method {self.method}: {ELSEWHERE[self.method]}")
        if self.method not in METHODS:
            raise ValueError(f"no method {shown(self.method)}: there are {', '.join((*METHODS, *ELSEWHERE))}")
        if self.schedule is not None and self.schedule not in SCHEDULES:
            raise ValueError(f"no schedule {shown(self.schedule)}: there are {', '.join(SCHEDULES)}")
        if self.schedule == "predictive":
            raise ValueError("schedule predictive does not sample: use linear, discounted, cfr+ or cfr")
        if self.prune is not None and self.schedule == "cfr+":
            raise ValueError("prune needs negative regrets: use another schedule than cfr+")
        self._check_keys()
        if self.grow and self.cycle is not None:
            raise ValueError("boards come in a cycle or grow: leave cycle out, or grow = 0")
        if self.stage is not None and self.keep == "current":
            raise ValueError('a stage begins with the average: leave stage out, or keep = "both"')
        return self

    def _check_keys(self) -> None:
        """Refuse settings that the method does not use."""
        sampled = ("boards", "cycle")
        responding = ("stage", "trunk", "grow", "keep", "currents", *sampled)
        own = {"external": ("period", "prune"), "pcs": sampled, "cfr-br": responding, "deep": ()}
        foreign = {key for keys in own.values() for key in keys if key not in own[self.method]}
        foreign |= {"schedule"} if self.method == "deep" else set()
        for key in sorted(foreign):
            if getattr(self, key) is not None:
                raise ValueError(f"{key} is not for method {self.method}: leave it out")
        if self.method == "cfr-br":
            for key in ("stage",) if self.trunk else (*sampled, "grow"):
                if getattr(self, key) is not None:
                    raise ValueError(f"{key} is not for method cfr-br {'with' if self.trunk else 'without'} a trunk")

    def settings(self) -> dict[str, Any]:
        """The given settings that determine the result: keyword arguments of the solver."""
        unused = {"seed"} if self.method == "cfr-br" and self.trunk is None else set()  # it does not sample
        said = self.model_dump(exclude={"method", "threads", "currents", *unused})
        return {key: value for key, value in said.items() if value is not None}

    @property
    def strategies(self) -> tuple[StrategyName, ...]:
        """The strategies that a run measures; it writes the first one at its end."""
        if self.method != "cfr-br":
            return (AVERAGE,)  # elsewhere, current strategies do not converge
        return (CURRENT,) if self.keep == "current" else (AVERAGE, CURRENT)

    @property
    def tables(self) -> int:
        """Number of tables of the solver: regrets, and averages if it keeps them."""
        return 1 + (AVERAGE in self.strategies)

    @property
    def reservoirs(self) -> IterationReservoirs:
        """The iterations at which the current strategy is saved."""
        default = 1 if self.method == "cfr-br" else 0
        return IterationReservoirs(self.seed, default if self.currents is None else self.currents)


class StopRecipe(CheckedModel):
    """The run stops when it reaches the first of these: minutes of training, iterations, exploitability in mbb/g."""

    minutes: float | None = Field(default=None, gt=0, le=MOST_MINUTES)
    iterations: int | None = Field(default=None, ge=1, le=MOST_COUNT)
    exploitability: float | None = Field(default=None, gt=0)


class ClusterRecipe(CheckedModel):
    """Steps of a training in parts (method external): hands of a step, and hands done for each hand of a step.

    Strategies of the top are fixed within a step, so the first steps are shorter.
    """

    batch: int = Field(default=10_000, ge=1, le=MOST_COUNT)
    growth: int = Field(default=1000, ge=1, le=MOST_COUNT)


class CheckpointRecipe(CheckedModel):
    """Minutes between checkpoints, and the number to keep."""

    minutes: float = Field(default=5.0, gt=0, le=MOST_MINUTES)
    keep: int = Field(default=2, ge=1, le=1000)


class MeasureRecipe(CheckedModel):
    """Measurements during the run: exploitability (exact), or a lower bound on it (lbr) from a number of hands.

    `every` is the number of minutes of training between measurements.
    """

    method: Literal["none", "exact", "lbr"] = "none"
    every: float = Field(default=1.0, gt=0, le=MOST_MINUTES)
    hands: int | None = Field(default=None, ge=100, le=MOST_COUNT)

    @model_validator(mode="after")
    def _whole(self) -> MeasureRecipe:
        if self.hands is not None and self.method != "lbr":
            raise ValueError(f"hands are not for method {self.method}: leave them out")
        return self


class _Sections(CheckedModel):
    solver: SolverRecipe = SolverRecipe()
    deep: DeepRecipe | None = None
    cluster: ClusterRecipe = ClusterRecipe()
    stop: StopRecipe = StopRecipe()
    checkpoint: CheckpointRecipe = CheckpointRecipe()
    measure: MeasureRecipe = MeasureRecipe()

    @model_validator(mode="after")
    def _whole(self) -> _Sections:
        if self.stop.exploitability is not None and self.measure.method != "exact":
            raise ValueError('stop.exploitability without a measure: set measure.method = "exact"')
        if self.deep is not None and self.solver.method != "deep":
            raise ValueError(f"[deep] is not for method {self.solver.method}: leave it out")
        return self

    @property
    def networks(self) -> DeepRecipe | None:
        """The settings of the networks; None for methods with tables."""
        return (self.deep or DeepRecipe()) if self.solver.method == "deep" else None


@dataclass(frozen=True, eq=False)
class Recipe:
    """A checked recipe. `table` is its text as a table, with overrides applied."""

    name: str
    game: AbstractGame
    solver: SolverRecipe
    stop: StopRecipe
    checkpoint: CheckpointRecipe
    measure: MeasureRecipe
    table: dict[str, Any]
    deep: DeepRecipe | None = None  # for method "deep"
    cluster: ClusterRecipe = field(default_factory=ClusterRecipe)  # for trainings in parts

    def __repr__(self) -> str:
        return f"Recipe({self.name}: {self.game.rules.name}, method {self.solver.method}, seed {self.solver.seed})"

    @property
    def fingerprint(self) -> str:
        """A digest of what determines the result."""
        game = self.game
        menu = (game.menu.sizes, game.menu.caps, game.menu.all_in_threshold) if game.menu else None
        solver = {"method": self.solver.method, **self.solver.settings(), **self.solver.reservoirs.as_json()}
        parts = [game.rules.fingerprint, menu, game.cards.text(), solver]
        parts += [self.deep.settings()] if self.deep else []
        return blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=8).hexdigest()


def recipe_names() -> list[str]:
    """The shipped recipes for training."""
    return Shelf("recipe", (TRAININGS,)).names()


def load_recipe(name_or_path: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Load a shipped recipe, a TOML file, or that of a run folder; overrides are texts such as `solver.seed=7`."""
    name, where, table = load_table(name_or_path)
    try:
        return read_recipe(apply_overrides(table, overrides), name=name, where=where)
    except InputError as error:
        if error.where != where or not overrides:
            raise
        raise error.at(_blamed(table, overrides, name, where)) from None


def _blamed(table: Mapping[str, Any], overrides: Sequence[str], name: str, where: str) -> str:
    """Where an error of a recipe with overrides is: the override without which there is none, else all or the file."""

    def fits(some: Sequence[str]) -> bool:
        try:
            read_recipe(apply_overrides(table, some), name=name, where=where)
        except InputError:
            return False
        return True

    for at, text in enumerate(overrides):
        if fits([*overrides[:at], *overrides[at + 1 :]]):
            return f"--set {text}"
    return f"--set {' --set '.join(overrides)}" if fits(()) else where


def load_table(name_or_path: str | Path) -> tuple[str, str, dict[str, Any]]:
    """A recipe's name, its file, and its table. Paths in the file are relative to its folder."""
    kept = Path(name_or_path) / RECIPE_FILE
    path = kept if not RECIPES.shipped(str(name_or_path)) and is_file(kept) else RECIPES.find(name_or_path)
    table = resolve_paths(load_recipe_table(path), path.parent)
    return path.parent.name if path.name == RECIPE_FILE else path.stem, str(path), table


def read_recipe(table: Mapping[str, Any], *, name: str = "", where: str = "") -> Recipe:
    """Check a recipe's table; `where` names it in messages."""
    check_keys(table, where)
    sections = check_table(_Sections, {key: table[key] for key in SECTIONS[2:] if key in table}, where, REMEDY)
    game = read_abstract_game(table, name=name, where=where, default_menu=DEFAULT_MENU, in_tables=not sections.networks)
    written = {"game": table["game"], **{key: table[key] for key in SECTIONS if key in table}}
    if game.betting is not None:
        written["betting"] = dict(game.betting)
    _check_hole_cards(game.rules, sections, where)
    if sections.networks:
        _check_lossless(game, where)
    parts = (sections.solver, sections.stop, sections.checkpoint, sections.measure)
    return Recipe(game.name, game, *parts, written, sections.networks, sections.cluster)


def check_keys(table: Mapping[str, Any], where: str) -> None:
    """Refuse unknown keys. `reaches` says in words what a training reached; it determines nothing."""
    if not isinstance(table.get("reaches", ""), str):
        raise InputError("reaches is no text", where=where, remedy='write e.g. reaches = "3 mbb/g after a minute"')
    for key in table:
        if key not in ("game", "reaches", *SECTIONS):
            remedy = did_you_mean(str(key), ("game", *SECTIONS))
            raise InputError(f"unknown key {shown(str(key))}", where=where, remedy=remedy)


def _check_hole_cards(rules: GameRules, sections: _Sections, where: str) -> None:
    """Refuse hole cards that would fail only after the run has begun."""
    try:
        if sections.solver.method != "external":
            check_hole_cards(rules.hole_cards, f"solver.method {sections.solver.method}")
        if sections.measure.method != "none":
            check_hole_cards(rules.hole_cards, f"measure.method {sections.measure.method}")
    except InputError as error:
        raise error.at(where) from None


def _check_lossless(game: AbstractGame, where: str) -> None:
    """Refuse buckets for networks."""
    streets = zip(street_names(game.rules.rounds), game.cards.streets, strict=True)
    given = [f"{name} has {street.method} buckets" for name, street in streets if street.method != "lossless"]
    given += ["public has clusters"] if game.cards.public else []
    if given:
        raise InputError(
            f"cards: {given[0]}, but networks see the cards themselves", where=where, remedy="leave out [cards]"
        )


def with_stop(recipe: Recipe, stop: StopRecipe) -> Recipe:
    """The same recipe with another stopping rule; the fingerprint stays."""
    return replace(recipe, stop=stop, table={**recipe.table, "stop": stop.model_dump(exclude_none=True)})


def with_device(recipe: Recipe, device: str) -> Recipe:
    """The same recipe with networks on another device; the fingerprint stays."""
    if recipe.deep is None:
        raise InputError(f"device {shown(device)} for method {recipe.solver.method}", remedy="leave out --device")
    if device not in DEVICES:
        raise InputError(f"no device {shown(device)}", remedy=f"use {', '.join(DEVICES)}")
    table = {**recipe.table, "deep": {**recipe.table.get("deep", {}), "device": device}}
    return replace(recipe, deep=recipe.deep.model_copy(update={"device": device}), table=table)


def with_solver(recipe: Recipe, solver: Mapping[str, Any]) -> Recipe:
    """The same game, bets and cards with another solver, and without stop and measure settings."""
    checked = check_table(_Sections, {"solver": dict(solver)}, recipe.name, REMEDY)
    table = {key: value for key, value in recipe.table.items() if key not in ("deep", "stop", "measure")}
    return replace(
        recipe, solver=checked.solver, stop=StopRecipe(), measure=MeasureRecipe(),
        table={**table, "solver": dict(solver)}, deep=checked.networks,
    )  # fmt: skip
