"""Seating at the ACPC dealer: a seat goes to the first connection at its port that sends its version.

Silent or invalid connections do not block a seat: all are read at the same time, and if too many wait, the oldest is
closed.
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from contextlib import suppress
from functools import partial

from equipoise.core.errors import InputError, shown
from equipoise.core.progress import Say
from equipoise.play.acpc.lines import Lines

_VERSION = re.compile(r"VERSION:(\d{1,9})\.(\d{1,9})\.(\d{1,9})\s*")
_MOST_WAITING = 32  # connections at all doors that have not sent their version


class Reception:
    """The doors of a table, one a seat, and who waits behind them. `close` leaves the seated connections open."""

    def __init__(self, doors: list[socket.socket], labels: list[str], say: Say) -> None:
        self.labels, self.say = labels, say
        self.seated: dict[int, Lines] = {}
        self._doors = dict(enumerate(doors))
        self._waiting: dict[socket.socket, int] = {}  # and for which seat; the longest waiting first
        self._told: set[int] = set()
        self._selector = selectors.DefaultSelector()
        for seat, door in self._doors.items():
            door.setblocking(False)
            self._selector.register(door, selectors.EVENT_READ, partial(self._admit, seat))

    def seat_all(self, deadline: float) -> list[Lines]:
        """One connection a seat, in any order; `TimeoutError` with the first free seat past the deadline."""
        while self._doors:
            for key, _events in self._selector.select(max(deadline - time.monotonic(), 0.0)):
                key.data()
            if self._doors and time.monotonic() >= deadline:
                raise TimeoutError(f"{self.labels[min(self._doors)]}: nobody has connected and said VERSION:2.0.0")
        return [self.seated[seat] for seat in sorted(self.seated)]

    def close(self) -> None:
        """Close all but the seated."""
        for connection in list(self._waiting):
            self._dismiss(connection)
        self._selector.close()

    def _admit(self, seat: int) -> None:
        if seat not in self._doors:  # taken since the door was seen to be ready
            return
        with suppress(OSError):  # gone again
            connection, _ = self._doors[seat].accept()
            connection.setblocking(False)
            if len(self._waiting) == _MOST_WAITING:
                self._dismiss(next(iter(self._waiting)))
            self._waiting[connection] = seat
            self._selector.register(connection, selectors.EVENT_READ, partial(self._hear, seat, Lines(connection)))

    def _hear(self, seat: int, lines: Lines) -> None:
        if lines.connection not in self._waiting:  # dismissed since it was seen to be ready
            return
        is_open = lines.receive()
        try:
            line = lines.whole()
        except InputError as error:
            self._turn_away(seat, lines, f"sent {error.what}")
            return
        if line is None:
            if not is_open:
                self._dismiss(lines.connection)
            return
        version = _VERSION.fullmatch(line)
        if not version:
            self._turn_away(seat, lines, f"said {shown(line)} instead of VERSION:2.0.0")
            return
        if version[1] != "2":
            self.say(f"{self.labels[seat]} speaks version {version[1]}, this is 2.0.0")
        self._sit_down(seat, lines)

    def _sit_down(self, seat: int, lines: Lines) -> None:
        """Take a seat; its door closes, and so does every other connection that came through it."""
        door = self._doors.pop(seat)
        self._selector.unregister(door)
        door.close()
        self._selector.unregister(lines.connection)
        del self._waiting[lines.connection]
        for other in [other for other, wanted in self._waiting.items() if wanted == seat]:
            self._dismiss(other)
        lines.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.seated[seat] = lines

    def _turn_away(self, seat: int, lines: Lines, why: str) -> None:
        if seat not in self._told:  # at most one report per seat
            self._told.add(seat)
            self.say(f"{self.labels[seat]}: turned away a connection that {why}")
        self._dismiss(lines.connection)

    def _dismiss(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._waiting[connection]
        connection.close()
