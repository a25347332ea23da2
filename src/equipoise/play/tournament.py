"""Round robins: every agent against every other, who wins how much, and who is best.

The two rankings of the Annual Computer Poker Competition: total bankroll, the mean of an agent's results; and bankroll
instant run-off, which repeatedly removes the agent with the lowest bankroll among those left, so that ranks do not
depend on winnings from weak agents. The competition plays until ranks are significant; we report intervals instead.
Every pair has its own seed, made from its names: other agents and their order do not change a match, and finished pairs
in the folder are not played again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import numpy as np
from pydantic import Field

from equipoise.agents.agent import Agent
from equipoise.agents.named import Playing, load_players
from equipoise.core.arrays import F64
from equipoise.core.display import table_html
from equipoise.core.errors import InputError, shown
from equipoise.core.files.array_file import FileHeader, load_header, save_arrays
from equipoise.core.files.strict_json import finite_or_none
from equipoise.core.files.writing import make_folder
from equipoise.core.progress import Fraction
from equipoise.core.visible_text import visible
from equipoise.games.rules import GameRules
from equipoise.measure.report import write_report
from equipoise.play.match import MatchResult, match

FORMAT = "equipoise pair 2"


class Named(Protocol):
    """An entrant."""

    @property
    def name(self) -> str:
        """Its name, which is unique."""


class Outcome(Protocol):
    """The result of a match for its first agent."""

    @property
    def mbb_per_hand(self) -> float:
        """Its win rate."""

    @property
    def ci95(self) -> float:
        """Half the width of the 95% interval."""


Player = TypeVar("Player", bound=Named)


@dataclass(frozen=True, eq=False)
class Tournament:
    """Results: what the row wins from the column, in mbb/hand, and half the width of its 95% interval."""

    names: tuple[str, ...]
    mbb: F64  # [agent, agent], nan on the diagonal
    ci95: F64
    hands: int  # of each match
    seed: int
    settings: dict[str, Any] = field(default_factory=dict)

    def bankrolls(self, among: Sequence[int] | None = None) -> F64:
        """[agent] the mean of its results against some of the others."""
        chosen = list(range(len(self.names)) if among is None else among)
        return np.asarray(np.nanmean(self.mbb[np.ix_(chosen, chosen)], axis=1))

    @property
    def bankroll_ci95(self) -> F64:
        """[agent] of its bankroll, its matches being independent."""
        return np.asarray(np.sqrt(np.nansum(self.ci95**2, axis=1)) / (len(self.names) - 1))

    @property
    def by_bankroll(self) -> tuple[int, ...]:
        """The agents, best first; those with equal bankrolls as they entered."""
        return tuple(int(agent) for agent in np.argsort(-self.bankrolls(), kind="stable"))

    @property
    def removed(self) -> tuple[tuple[int, float], ...]:
        """The run-off: who was removed, with which bankroll among those left; the winner, removed last, has none.

        Of equal bankrolls the one that is lower in the total ranking goes first.
        """
        left, gone = list(self.by_bankroll), list[tuple[int, float]]()
        while len(left) > 1:
            bankrolls = self.bankrolls(left)
            worst = max(at for at, value in enumerate(bankrolls) if value == bankrolls.min())
            gone.append((left.pop(worst), float(bankrolls[worst])))
        return (*gone, (left[0], math.nan))

    @property
    def by_run_off(self) -> tuple[int, ...]:
        """The agents, best first."""
        return tuple(agent for agent, _ in reversed(self.removed))

    def __repr__(self) -> str:
        return f"Tournament({', '.join(self.names[agent] for agent in self.by_bankroll)}; {self.hands:,} hands a pair)"

    _repr_html_ = table_html

    def to_rows(self) -> list[dict[str, Any]]:
        """One row per agent, best bankroll first; columns in the same order."""
        order, bankrolls, widths = self.by_bankroll, self.bankrolls(), self.bankroll_ci95
        rows: list[dict[str, Any]] = []
        for agent in order:
            row: dict[str, Any] = {"agent": self.names[agent]}
            for other in order:
                same = agent == other
                row[self.names[other]] = "" if same else float(self.mbb[agent, other])
                row[f"± {self.names[other]}"] = "" if same else finite_or_none(self.ci95[agent, other])
            row |= {"bankroll": float(bankrolls[agent]), "± bankroll": finite_or_none(widths[agent])}
            row |= {"bankroll rank": order.index(agent) + 1, "run-off rank": self.by_run_off.index(agent) + 1}
            rows.append(row)
        return rows

    def as_json(self) -> dict[str, Any]:
        """For other programs; the order of the matrices is that of the names."""
        widths = self.bankroll_ci95
        return {
            "names": list(self.names),
            "hands": self.hands,
            "seed": self.seed,
            "settings": self.settings,
            "mbb_per_hand": [[finite_or_none(value) for value in row] for row in self.mbb.tolist()],
            "ci95": [[finite_or_none(value) for value in row] for row in self.ci95.tolist()],
            "bankroll": [float(value) for value in self.bankrolls()],
            "bankroll_ci95": [finite_or_none(value) for value in widths],
            "by_bankroll": [self.names[agent] for agent in self.by_bankroll],
            "by_run_off": [self.names[agent] for agent in self.by_run_off],
            "removed": [[self.names[agent], finite_or_none(value)] for agent, value in self.removed],
        }

    def write(self, stem: str | Path) -> None:
        """STEM.json, STEM.csv (the matrix) and STEM.png (a heat map)."""
        try:
            write_report(Path(stem), self.as_json(), self.to_rows(), lambda axes, _rows: self._draw(axes))
        except OSError as error:
            raise InputError(
                f"cannot write {shown(str(stem))}: {error.strerror}", remedy="choose another place"
            ) from None

    def _draw(self, axes: Any) -> None:
        order = list(self.by_bankroll)
        mbb, ci95, names = self.mbb[np.ix_(order, order)], self.ci95, [short_name(self.names[agent]) for agent in order]
        count, most = len(order), max(float(np.nanmax(np.abs(self.mbb))), 1e-9)
        axes.figure.set_size_inches(3.5 + 1.1 * count, 2.5 + 0.7 * count)
        picture = axes.imshow(mbb, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
        for row, column in np.ndindex(count, count):
            if row != column:
                value, width = mbb[row, column], ci95[order[row], order[column]]
                dark = abs(value) > 0.6 * most
                axes.text(
                    column, row, f"{value:+.0f}\n± {width:.0f}", ha="center", va="center", fontsize=8,
                    color="white" if dark else "black",
                )  # fmt: skip
        axes.set_xticks(range(count), names, rotation=30, ha="right", fontsize=8)
        axes.set_yticks(range(count), names, fontsize=8)
        axes.set_title(f"row wins from column, mbb/hand ({self.hands:,} hands a pair)", fontsize=10)
        axes.figure.colorbar(picture, ax=axes)


def short_name(name: str, most: int = 32) -> str:
    """A name that fits beside a picture: its beginning and its end."""
    name = visible(name)
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most // 2) :]}"


def tournament(
    agents: Sequence[Player],
    play: Callable[[Player, Player, int, int], Outcome],
    *,
    hands: int = 100_000,
    seed: int = 1,
    folder: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Fraction | None = None,
) -> Tournament:
    """Let every agent play every other; `play(one, two, hands, seed)` is a match.

    With a folder, finished pairs are kept there. `settings` is all else that decides a result (the game, fingerprints
    of the agents), as JSON; pairs with other settings, hands or seeds are played again.
    """
    names = tuple(agent.name for agent in agents)
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(
            f"agents {', '.join(names) or 'none'}", remedy="let two or more agents of different names play"
        )
    kept = None if folder is None else _Kept(Path(folder))
    mbb, ci95 = np.full((2, len(names), len(names)), np.nan)
    pairs = list(combinations(sorted(range(len(names)), key=lambda agent: names[agent]), 2))
    for done, (one, two) in enumerate(pairs):
        pair_seed = seed_of(seed, names[one], names[two])
        wanted = {
            "agents": [names[one], names[two]],
            "hands": hands,
            "seed": pair_seed,
            "settings": {key: _of_pair(value, names[one], names[two]) for key, value in (settings or {}).items()},
        }
        found = kept.find(wanted) if kept else None
        if found is None:
            outcome = play(agents[one], agents[two], hands, pair_seed)
            found = float(outcome.mbb_per_hand), float(outcome.ci95)
            if kept:
                kept.keep(wanted, found)
        mbb[one, two], mbb[two, one] = found[0], -found[0]
        ci95[one, two] = ci95[two, one] = found[1]
        if progress:
            progress((done + 1) / len(pairs))
    return Tournament(names, mbb, ci95, hands, seed, dict(settings or {}))


def round_robin(
    agents: Sequence[Playing],
    *,
    game: str | GameRules = "",
    hands: int = 100_000,
    duplicate: bool = True,
    seed: int = 1,
    threads: int = 0,
    out: str | Path | None = None,
    progress: Fraction | None = None,
) -> Tournament:
    """A tournament of matches between agents, functions of a view, or names, as in `match`.

    With `out`, it writes OUT.json, .csv and .png, and keeps finished pairs in the folder OUT.pairs.
    """
    players = load_players(agents, game)

    def play(one: Agent, two: Agent, hands: int, seed: int) -> MatchResult:
        return match(one, two, hands=hands, duplicate=duplicate, seed=seed, threads=threads)

    made = {agent.name: getattr(agent, "fingerprint", agent.name) for agent in players}
    settings = {"duplicate": duplicate, "agents": made}
    folder = None if out is None else Path(f"{out}.pairs")
    found = tournament(players, play, hands=hands, seed=seed, folder=folder, settings=settings, progress=progress)
    if out is not None:
        found.write(out)
    return found


def seed_of(seed: int, one: str, two: str) -> int:
    """A pair's own seed."""
    digest = hashlib.blake2b(json.dumps([seed, one, two]).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "little")


class PairHeader(FileHeader):
    """The result of a finished pair, and what was played."""

    wanted: dict[str, Any]
    mbb_per_hand: float
    ci95: Annotated[float, Field(ge=0)] | None


@dataclass(frozen=True)
class _Kept:
    """Finished pairs in a folder, one file each, written atomically."""

    folder: Path

    def __post_init__(self) -> None:
        try:
            make_folder(self.folder)
        except OSError as error:
            raise InputError(
                f"cannot write to {shown(str(self.folder))}: {error.strerror}", remedy="choose another place"
            ) from None

    def path(self, agents: Sequence[str]) -> Path:
        digest = hashlib.blake2b(json.dumps(list(agents)).encode(), digest_size=4).hexdigest()
        words = "--".join(re.sub(r"[^A-Za-z0-9.=-]+", "_", name)[-40:] for name in agents)
        return self.folder / f"{words}-{digest}.pair"

    def find(self, wanted: dict[str, Any]) -> tuple[float, float] | None:
        """A pair's result, if its file is intact and was played as wanted."""
        with contextlib.suppress(InputError):
            stored = load_header(self.path(wanted["agents"]), FORMAT, PairHeader, remedy="")
            if stored.wanted == json.loads(json.dumps(wanted)):
                return stored.mbb_per_hand, math.inf if stored.ci95 is None else stored.ci95
        return None

    def keep(self, wanted: dict[str, Any], found: tuple[float, float]) -> None:
        """Write a pair's file."""
        value = {"wanted": wanted, "mbb_per_hand": found[0], "ci95": finite_or_none(found[1])}
        save_arrays(self.path(wanted["agents"]), FORMAT, value, {})


def _of_pair(setting: Any, *pair: str) -> Any:
    """A setting; one that is by agent, of these two."""
    return {name: setting[name] for name in pair if name in setting} if isinstance(setting, dict) else setting
