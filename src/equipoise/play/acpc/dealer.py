"""A dealer for two ACPC players: one TCP port a seat, rotating positions, seeded deals, the original's log.

Bad answers are handled as in the original: a raise out of range is clamped; an impossible, unknown or missing action is
a call; the size of a limit raise is ignored; comments and answers to other states are skipped. A player that times out,
disconnects, or sends an endless line or endless lines stops the match: there is no SCORE, and `stopped` says why. The
cards of a hand depend only on the seed and the hand's number.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from equipoise.core.addresses import Address, network_reason, read_host, read_port
from equipoise.core.disk import disk_remedy
from equipoise.core.errors import InputError, check_count, shown
from equipoise.core.progress import Say
from equipoise.games.betting_state import CALL, FOLD, BettingState, Deal
from equipoise.games.gamedef import as_game
from equipoise.games.notation.acpc import LogState, MatchState, log_state_text, match_state_text
from equipoise.games.rules import PLAYERS, GameRules
from equipoise.play.acpc.lines import Lines, is_comment
from equipoise.play.acpc.seating import Reception
from equipoise.play.dealing import DEALS, deal_hand, fresh_seed, stream

_RAISE = re.compile(r"r([+-]?\d+)")
_NAME = re.compile(r"[^\s:|#;]{1,60}")
_FAREWELL = 1.0  # seconds for the players to close
_STATE_FIELDS = 5  # MATCHSTATE:position:hand:betting:cards
_MOST_PASSED_OVER = 10_000  # lines per question that do not answer it


@dataclass(frozen=True)
class Timeouts:
    """Seconds: for one answer, for a player's answers in a hand, per hand of the match, and to connect."""

    response: float = 600.0
    hand: float = 600.0
    per_hand: float = 7.0
    start: float = 600.0

    def __post_init__(self) -> None:
        if not all(0 < seconds < 1e9 for seconds in (self.response, self.hand, self.per_hand, self.start)):
            raise InputError("a timeout that is not positive", remedy="give seconds")


@dataclass(frozen=True)
class DealerResult:
    """The result of a match, in seat order; `stopped` is empty if all hands were dealt."""

    hands: int
    score: tuple[int, int]
    names: tuple[str, str]
    corrected: tuple[int, int]  # number of illegal answers
    stopped: str
    seed: int  # of the cards

    def as_json(self) -> dict[str, Any]:
        """Numbers of the match; no score for one that was stopped."""
        return {
            "hands": self.hands,
            "score": None if self.stopped else list(self.score),
            "names": list(self.names),
            "corrected": list(self.corrected),
            "stopped": self.stopped or None,
            "seed": self.seed,
        }


class _StopError(Exception):
    """The match cannot continue."""


def deal_match(
    game: GameRules | str,
    hands: int,
    *,
    seed: int | None = None,
    names: tuple[str, str] = ("A", "B"),
    ports: tuple[int, int] = (0, 0),
    host: str = "127.0.0.1",
    log: str | Path | None = None,
    timeouts: Timeouts | None = None,
    on_ports: Callable[[tuple[int, int]], None] | None = None,
    on_hand: Callable[[LogState], None] | None = None,
    say: Say | None = None,
) -> DealerResult:
    """Wait for two players and deal them a match.

    Without a seed, a random one is used; the result and the log name it. Port 0 means any free port; `on_ports` gets
    both ports before anyone can connect. `say` gets a line for each corrected answer. The log must be a new file; it
    grows by one line per hand.
    """
    rules = as_game(game)
    seed = fresh_seed() if seed is None else seed
    check_count(hands, "hands")
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(f"name {shown(name)}", remedy="use up to 60 letters, digits and hyphens")
    if names[0] == names[1]:
        raise InputError(f"both are called {names[0]}", remedy="give two names")
    times = timeouts or Timeouts()
    with ExitStack() as stack:
        doors = [stack.enter_context(_listen(host, port)) for port in ports]
        book = _Book(stack.enter_context(_open_log(log)) if log is not None else None, log)
        if on_ports:
            on_ports((doors[0].getsockname()[1], doors[1].getsockname()[1]))
        match = _Match(rules, hands, seed, names, times, book, say or (lambda _line: None))
        stopped = ""
        try:
            match.seats = match.seat_players(doors, stack)
            match.play(on_hand)
        except _StopError as stop:
            stopped = str(stop)
        corrected = [seat.corrected for seat in match.seats] or [0, 0]
        result = DealerResult(
            match.dealt, (match.score[0], match.score[1]), names, (corrected[0], corrected[1]), stopped, seed
        )
        if not stopped:
            book.write(f"SCORE:{result.score[0]}|{result.score[1]}:{'|'.join(names)}")
    return result


def _listen(host: str, port: int) -> socket.socket:
    address = Address(read_host(host), read_port(port, 0))
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        what = f"cannot listen: {network_reason(error)}"
        raise InputError(what, where=str(address), remedy="name a free port, or 0") from None


def _open_log(path: str | Path) -> TextIO:
    try:
        return Path(path).open("x", encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"no log: {error.strerror}", where=str(path), remedy="name a new file") from None


@dataclass(frozen=True)
class _Book:
    """The log: written line by line."""

    file: TextIO | None
    path: str | Path | None

    @property
    def name(self) -> str:
        return "-".join(Path(self.path or "match").stem.split())

    def write(self, line: str) -> None:
        if self.file is None:
            return
        try:
            self.file.write(line + "\n")
            self.file.flush()
        except OSError as error:
            raise InputError(f"no log: {error.strerror}", where=str(self.path), remedy=disk_remedy(error)) from None


class _Seat:
    """A player's connection and the time it has used."""

    def __init__(self, label: str, lines: Lines) -> None:
        self.label, self.lines = label, lines
        self.hand_seconds = 0.0
        self.match_seconds = 0.0
        self.corrected = 0

    def send(self, line: str, deadline: float) -> None:
        """Send a line, or stop."""
        try:
            sent = self.lines.send(line, deadline)
        except TimeoutError:
            raise _StopError(f"{self.label} does not read what is sent") from None
        if not sent:
            raise _StopError(f"{self.label} has closed its connection")

    def read(self, deadline: float) -> str:
        """The next line, or stop."""
        try:
            line = self.lines.read(deadline)
        except TimeoutError:
            raise _StopError(f"{self.label} is out of time") from None
        except InputError as error:
            raise _StopError(f"{self.label} sent {error.what}") from None
        if line is None:
            raise _StopError(f"{self.label} has closed its connection")
        return line

    def leave(self, deadline: float) -> None:
        """Wait for the player to close: unread data would reset the connection and lose the last state sent."""
        connection = self.lines.connection
        with suppress(OSError):
            while (left := deadline - time.monotonic()) > 0:
                connection.settimeout(left)
                if not connection.recv(65536):
                    return


class _Match:
    """A match being dealt."""

    def __init__(
        self,
        rules: GameRules,
        hands: int,
        seed: int,
        names: tuple[str, str],
        times: Timeouts,
        book: _Book,
        say: Say,
    ) -> None:
        self.rules, self.hands, self.seed, self.names = rules, hands, seed, names
        self.times, self.book, self.say = times, book, say
        self.seats: list[_Seat] = []
        self.score = [0, 0]
        self.dealt = 0

    def seat_players(self, doors: list[socket.socket], stack: ExitStack) -> list[_Seat]:
        """One player a port, in any order."""
        labels = [f"seat {number} ({name})" for number, name in enumerate(self.names)]
        with closing(Reception(doors, labels, self.say)) as reception:
            try:
                seated = reception.seat_all(time.monotonic() + self.times.start)
            except TimeoutError as error:
                raise _StopError(str(error)) from None
            finally:
                for lines in reception.seated.values():
                    stack.enter_context(lines.connection)
        return [_Seat(label, lines) for label, lines in zip(labels, seated, strict=True)]

    def play(self, on_hand: Callable[[LogState], None] | None) -> None:
        """All hands, then farewell."""
        times = self.times
        self.book.write(f"# name/game/hands/seed {self.book.name} {self.rules.name or 'game'} {self.hands} {self.seed}")
        for name, seconds in (("response", times.response), ("hand", times.hand), ("per_hand", times.per_hand)):
            self.book.write(f"#--t_{name} {round(1000 * seconds)}")
        for hand in range(self.hands):
            ended = self.play_hand(hand)
            self.book.write(log_state_text(ended))
            for player, value in enumerate(ended.values):
                self.score[self.seat_of(player, hand)] += int(value)
            self.dealt += 1
            if on_hand:
                on_hand(ended)
        for seat in self.seats:
            with suppress(OSError):
                seat.lines.connection.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + _FAREWELL
        for seat in self.seats:
            seat.leave(deadline)

    def seat_of(self, player: int, hand: int) -> int:
        """The seat that is a player in a hand."""
        return (player + hand) % PLAYERS

    def play_hand(self, hand: int) -> LogState:
        """One hand: both players get every state, and the one to act answers."""
        deal = deal_hand(self.rules, stream(self.seed, DEALS, hand))
        state = BettingState.start(self.rules)
        for seat in self.seats:
            seat.hand_seconds = 0.0
        while True:
            lines = [match_state_text(_seen(hand, state, deal, player)) for player in range(PLAYERS)]
            for player, line in enumerate(lines):
                self.seats[self.seat_of(player, hand)].send(line, time.monotonic() + self.times.response)
            if state.is_over:
                break
            seat = self.seats[self.seat_of(state.player, hand)]
            state = state.apply(self.answer(seat, state, lines[state.player]))
        values, names = state.payoffs(deal), [self.names[self.seat_of(player, hand)] for player in range(PLAYERS)]
        return LogState(hand, state, deal, values, (names[0], names[1]))

    def answer(self, seat: _Seat, state: BettingState, asked: str) -> int:
        """A player's answer to a state, made legal; other lines are skipped."""
        times, begun = self.times, time.monotonic()
        left = min(times.response, times.hand - seat.hand_seconds, times.per_hand * self.hands - seat.match_seconds)
        told = False
        for _ in range(_MOST_PASSED_OVER):
            line = seat.read(begun + left)
            fields = line.split(":", _STATE_FIELDS)
            if ":".join(fields[:_STATE_FIELDS]) == asked:
                break
            if not told and not is_comment(line):  # at most one report per question
                told = True
                self.say(f"{seat.label}: passed over {shown(line)}, which was not asked for")
        else:
            raise _StopError(f"{seat.label} sent {_MOST_PASSED_OVER:,} lines and no answer")
        seconds = time.monotonic() - begun
        seat.hand_seconds += seconds
        seat.match_seconds += seconds
        said = fields[_STATE_FIELDS] if len(fields) > _STATE_FIELDS else ""
        action, as_said = made_legal(state, said)
        if not as_said:
            seat.corrected += 1
            self.say(f"{seat.label}: {shown(said)} is not legal, taken as {_letters(action)}")
        return action


def _seen(hand: int, state: BettingState, deal: Deal, player: int) -> MatchState:
    """What a player is shown: its own cards, and at a showdown all."""
    holes = [hole if i == player or state.is_showdown else () for i, hole in enumerate(deal.holes)]
    return MatchState(player, hand, state, Deal((holes[0], holes[1]), deal.board))


def made_legal(state: BettingState, said: str) -> tuple[int, bool]:
    """The legal action for an answer, and whether the answer was legal itself. Trailing text is ignored."""
    legal = state.legal()
    letter = said[:1]
    if letter == "f" and legal.fold:
        return FOLD, True
    if letter == "r" and legal.can_raise:
        if state.rules.limit:
            return legal.raise_min, True
        size = _RAISE.match(said)
        if size:
            total = min(max(int(size[1]), legal.raise_min), legal.raise_max)
            return total, total == int(size[1])
    return CALL, letter == "c"


def _letters(action: int) -> str:
    return {FOLD: "f", CALL: "c"}.get(action, f"r{action}")
