"""Limits on what a peer may use: time, bytes, places, and unambiguous JSON only.

A deadline holds for a whole message, so slow bytes do not extend it. Places (connections, sessions) have total limits
and limits per peer. When they run out, a newcomer replaces another place: of the peer that holds the most, an unused
one first, then the longest idle. A place whose answer is being computed is never taken.
"""

from __future__ import annotations

import io
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from equipoise.core.errors import InputError, shown


class PeerStream(io.RawIOBase):
    """Bytes from a peer, up to a deadline and a maximum number."""

    def __init__(self, connection: socket.socket, seconds: float, most_bytes: int) -> None:
        super().__init__()
        self._connection = connection
        self._file = connection.makefile("rb", buffering=0)
        self.allow(seconds, most_bytes)

    def allow(self, seconds: float, most_bytes: int) -> None:
        """Begin a new message with limits on its time and its bytes."""
        self._deadline = time.monotonic() + seconds
        self._most_bytes = self._bytes_left = most_bytes

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has arrived; `TimeoutError` past the deadline, `ConnectionError` past the last byte allowed."""
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("timed out")
        if self._bytes_left <= 0:
            raise ConnectionError(f"more than {self._most_bytes:,} bytes")
        self._connection.settimeout(seconds)
        count = self._file.readinto(memoryview(buffer)[: self._bytes_left]) or 0
        self._bytes_left -= count
        return count

    def close(self) -> None:
        """Let go of the connection."""
        self._file.close()
        super().close()


@dataclass(eq=False)
class Place:
    """What a peer holds of a server: a connection, or a session."""

    peer: str
    idle_since: float
    engaged: bool = False  # an answer is being computed
    used: bool = False


_P = TypeVar("_P", bound=Place)


@dataclass(frozen=True)
class Limits:
    """The number of places, in total and per peer."""

    in_all: int
    by_peer: int

    def first_to_go(self, held: Collection[_P], peer: str) -> _P | None:
        """The place to take away before a peer gets one more; None if there is a free one.

        `InputError` if all candidates are engaged.
        """
        counts = Counter(place.peer for place in held)
        if counts[peer] >= self.by_peer:
            held = [place for place in held if place.peer == peer]
        elif len(held) < self.in_all:
            return None
        free = [place for place in held if not place.engaged]
        if not free:
            raise InputError("every place is taken", remedy="try again later")
        return min(free, key=lambda place: (-counts[place.peer], place.used, place.idle_since))


class Connections:
    """The open connections of a server. Shutting one down ends the thread that serves it."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._held: dict[socket.socket, Place] = {}
        self._lock = threading.Lock()

    def enter(self, connection: socket.socket, peer: str) -> bool:
        """Give a new connection a place; False if there is none."""
        with self._lock:
            try:
                goes = self.limits.first_to_go(self._held.values(), peer)
            except InputError:
                return False
            for other in [other for other, place in self._held.items() if place is goes]:
                del self._held[other]
                with suppress(OSError):
                    other.shutdown(socket.SHUT_RDWR)
            self._held[connection] = Place(peer, time.monotonic())
        return True

    def leave(self, connection: socket.socket) -> None:
        """Free the place of a connection, if it still has one."""
        with self._lock:
            self._held.pop(connection, None)

    @contextmanager
    def answering(self, connection: socket.socket) -> Iterator[None]:
        """Keep the connection's place while an answer is computed; `ConnectionError` if it is already lost."""
        with self._lock:
            if connection not in self._held:
                raise ConnectionError("closed for another connection")
            place = self._held[connection]
            place.engaged = True
        try:
            yield
        finally:
            with self._lock:
                place.engaged, place.idle_since = False, time.monotonic()


def read_object(text: bytes) -> dict[str, Any]:
    """Parse a JSON object strictly: no duplicate keys, no NaN, limited nesting."""
    try:
        found = json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_number)
    except InputError:
        raise
    except (ValueError, RecursionError):  # UnicodeError, and numbers of too many digits, are ValueErrors
        found = None
    if not isinstance(found, dict):
        raise InputError("no JSON object")
    return found


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise InputError(f"{shown(twice)} is a duplicate key in a JSON object", remedy="give each key once")
    return found


def _no_number(name: str) -> None:
    raise InputError(f"{name} is not a JSON number", remedy="give a number")
