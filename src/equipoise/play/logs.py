"""Logs of matches, written hand by hand, and their replay, which checks every hand.

Two formats, by the file's suffix: the ACPC dealer's (.acpc, .log), STATE lines and a SCORE at the end, and PHH
(.phh, .phhs), a table for each hand, as PokerKit reads them; PHH covers hold'em only. Both are read and written one
hand at a time, so logs may be of any length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from equipoise.core.disk import disk_remedy
from equipoise.core.display import table_html
from equipoise.core.errors import InputError, shown
from equipoise.core.files.text import not_a
from equipoise.core.progress import Fraction
from equipoise.core.visible_text import visible
from equipoise.games.betting_state import BettingState, Deal
from equipoise.games.gamedef import as_game
from equipoise.games.notation.acpc import LogState, log_state_text, read_log_state
from equipoise.games.notation.phh import check_is_holdem, phh_text, read_phh
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.measure.stats import mean_interval

ACPC, PHH = "acpc", "phh"
FORMATS = {".acpc": ACPC, ".log": ACPC, ".phh": PHH, ".phhs": PHH}
MOST_LINE = 1 << 16  # characters; of a hand of PHH too
_PHH_HAND = re.compile(r"\s*\[\s*\d+\s*\]\s*")
_TELL_EVERY = 1000  # lines


def log_format(path: str | Path) -> str:
    """`acpc` or `phh`, by the suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"a log called {shown(str(path))}", remedy=f"end its name in {', '.join(FORMATS)}")
    return FORMATS[suffix]


def log_names(first: str, second: str) -> tuple[str, str]:
    """Two agents' names for logs: one word of the dealer's format each, and distinct."""
    names = [visible(re.sub(r"[\s|]", "_", name.replace(":", "="))) or "agent" for name in (first, second)]
    return names[0], names[1] if names[0] != names[1] else f"{names[1]}-2"


class LogWriter:
    """A log being written: `with LogWriter(path, rules) as log: log.write(...)`; the score comes at its end."""

    def __init__(self, path: str | Path, rules: GameRules) -> None:
        self.path, self.rules, self.format = Path(path), rules, log_format(path)
        if self.format == PHH:
            check_is_holdem(rules)
        self.hands, self._totals = 0, dict[str, int]()
        try:
            self._file: TextIO = self.path.open("x", encoding="utf-8")
        except FileExistsError:
            raise InputError(f"{shown(str(path))} is there already", remedy="name another log, or move it") from None
        except OSError as error:
            raise InputError(f"cannot write {shown(str(path))}: {error.strerror}", remedy="choose a folder") from None

    def write(self, hand: int, state: BettingState, deal: Deal, names: tuple[str, str]) -> None:
        """A finished hand; the names are those of players 0 and 1 of this hand, as `log_names` gives them."""
        if names != log_names(*names):
            raise InputError(f"names {names} in a log", remedy=f"use {log_names(*names)}")
        values = state.payoffs(deal)
        board = deal.board[: self.rules.board_size(state.round)]
        for name, value in zip(names, values, strict=True):
            self._totals[name] = self._totals.get(name, 0) + value
        self.hands += 1
        if self.format == PHH:
            text = phh_text(state, Deal(deal.holes, board), hand=hand, names=names, finishing=True)
            text = f"[{self.hands}]\n{text}\n"
        else:
            text = log_state_text(LogState(hand, state, Deal(deal.holes, board), values, names)) + "\n"
        with self._writing():
            self._file.write(text)

    def flush(self) -> None:
        """Hand what was written to the system, so that the end of the process loses none of it."""
        with self._writing():
            self._file.flush()

    def close(self, *, finished: bool = True) -> None:
        """Write the score, unless the match was aborted, and close the file."""
        with self._writing():
            if finished and self.format == ACPC and self.hands:
                totals = "|".join(str(total) for total in self._totals.values())
                self._file.write(f"SCORE:{totals}:{'|'.join(self._totals)}\n")
            self._file.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A full disk is an error of the log, by its name."""
        try:
            yield
        except OSError as error:
            raise InputError(
                f"cannot write: {error.strerror}", where=str(self.path), remedy=disk_remedy(error)
            ) from None

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.close(finished=kind is None)


@dataclass(frozen=True)
class Replay:
    """The totals of a log whose every hand was replayed. Tuples are by name."""

    log: str
    game: str
    hands: int
    names: tuple[str, ...]
    chips: tuple[int, ...]
    mbb_per_hand: tuple[float, ...]
    ci95: float  # of either, in mbb/hand; assumes independent hands, so it is too wide for a duplicate match
    scored: bool  # whether it ends with a SCORE; an aborted match has none

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each player."""
        found = zip(self.names, self.chips, self.mbb_per_hand, strict=True)
        return [{"agent": name, "chips": chips, "mbb_per_hand": rate, "ci95": self.ci95} for name, chips, rate in found]

    _repr_html_ = table_html

    def as_json(self) -> dict[str, Any]:
        return {
            "log": self.log,
            "game": self.game,
            "hands": self.hands,
            "names": list(self.names),
            "chips": list(self.chips),
            "mbb_per_hand": list(self.mbb_per_hand),
            "ci95": self.ci95 if math.isfinite(self.ci95) else None,
            "scored": self.scored,
        }


@dataclass
class _Sums:
    """Running sums of a log."""

    rules: GameRules
    hands: int = 0
    total: int = 0  # what the first name wins
    squares: int = 0
    chips: dict[str, int] = field(default_factory=dict)
    scored: bool = False

    def add(self, found: LogState) -> None:
        """Replay one hand."""
        if self.scored:
            raise InputError("a hand after the score", remedy="the score ends a log")
        if found.state.is_showdown and not all(found.deal.holes):
            raise InputError(f"hand {found.hand} ends in a showdown with hidden cards", remedy="log all cards")
        values = found.state.payoffs(found.deal)
        for player, (logged, value) in enumerate(zip(found.values, values, strict=True)):
            if logged != value:
                name = found.names[player]
                raise InputError(f"hand {found.hand} gives {shown(name)} {logged:g}", remedy=f"it is worth {value}")
        if found.names[0] == found.names[1] or len({*self.chips, *found.names}) > PLAYERS:
            raise InputError(f"hand {found.hand} is played by {found.names}", remedy="a log has two agents")
        for name, value in zip(found.names, values, strict=True):
            self.chips[name] = self.chips.get(name, 0) + value
        self.hands += 1
        self.total = next(iter(self.chips.values()))
        self.squares += values[0] ** 2

    def check_score(self, line: str) -> None:
        """Check the dealer's last line against the sum of the hands."""
        parts = line.rstrip("\r\n").split(":")
        values, names = (parts[1].split("|"), parts[2].split("|")) if len(parts) == 3 else ([], [])
        if self.scored or len(values) != PLAYERS or set(names) != set(self.chips):
            raise InputError(f"no score of this match: {shown(line)}", remedy="write SCORE:chips|chips:name|name once")
        for name, value in zip(names, values, strict=True):
            if value != f"{self.chips[name]}":
                raise InputError(
                    f"the score gives {shown(name)} {shown(value)}", remedy=f"its hands add up to {self.chips[name]}"
                )
        self.scored = True


def replay(log: str | Path, game: str | GameRules, *, progress: Fraction | None = None) -> Replay:
    """Replay every hand of a log; the first line that disagrees is an error."""
    rules = as_game(game)
    sums = _Sums(rules)
    read = _read_acpc if log_format(log) == ACPC else _read_phh
    try:
        size = Path(log).stat().st_size
        with Path(log).open(encoding="utf-8") as file:
            read(_lines(file, str(log), size, progress), sums, str(log))
    except OSError as error:
        raise InputError(f"cannot read {shown(str(log))}: {error.strerror}", remedy="name a log") from None
    except UnicodeDecodeError:
        raise InputError("not a text", where=str(log), remedy="name a log") from None
    if not sums.hands:
        raise InputError("no hand in it", where=str(log), remedy="name a log of finished hands")
    _, half = mean_interval(sums.hands, sums.total, sums.squares)
    unit = 1000 / rules.big_blind
    return Replay(
        log=str(log),
        game=rules.name,
        hands=sums.hands,
        names=tuple(sums.chips),
        chips=tuple(sums.chips.values()),
        mbb_per_hand=tuple(unit * total / sums.hands for total in sums.chips.values()),
        ci95=unit * half,
        scored=sums.scored,
    )


def _read_acpc(lines: Iterator[tuple[int, str]], sums: _Sums, name: str) -> None:
    """Add every hand of a dealer's log."""
    for number, line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if not sums.hands and not line.startswith("STATE:"):
            raise not_a("log of the ACPC dealer", name, f"line {number} does not begin with STATE:", "name a log")
        try:
            if line.startswith("SCORE"):
                sums.check_score(line)
            else:
                sums.add(read_log_state(sums.rules, line))
        except InputError as error:
            raise error.at(f"{name}, line {number}") from None


def _read_phh(lines: Iterator[tuple[int, str]], sums: _Sums, name: str) -> None:
    """Add every hand of a PHH file, which has one hand, or many under numbers in brackets."""
    start, text, numbered = 1, "", False
    for number, line in lines:
        if _PHH_HAND.fullmatch(line):
            if numbered or text.strip():
                _add_phh(sums, text, f"{name}, line {start}")
            start, text, numbered = number, "", True
            continue
        text += line
        if len(text) > MOST_LINE:
            raise InputError("a hand without an end", where=f"{name}, line {start}", remedy="name a hand history")
    if numbered or text.strip():
        _add_phh(sums, text, f"{name}, line {start}")


def _add_phh(sums: _Sums, text: str, where: str) -> None:
    try:
        sums.add(read_phh(sums.rules, text))
    except InputError as error:
        raise error.at(", ".join(part for part in (where, error.where) if part)) from None


def _lines(file: TextIO, name: str, size: int, progress: Fraction | None) -> Iterator[tuple[int, str]]:
    """Numbered lines; an endless line is refused before it fills the memory."""
    number = read = 0
    while line := file.readline(MOST_LINE):
        number += 1
        read += len(line)
        if len(line) >= MOST_LINE:
            raise InputError("a line without an end", where=f"{name}, line {number}", remedy="name a log")
        yield number, line
        if progress and number % _TELL_EVERY == 0:
            progress(min(read / size, 1.0))
