"""Lines of text over a socket, with a deadline and a maximum length (that of the ACPC dealer)."""

from __future__ import annotations

import socket
import time

from equipoise.core.errors import InputError
from equipoise.games.notation.acpc import MOST_BYTES

_CHUNK = 4096


class Lines:
    """The lines that come in over a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._buffer = b""

    def read(self, deadline: float) -> str | None:
        """The next line without its end, None when the other side has closed; `TimeoutError` past the deadline.

        Bytes become characters one to one, so that anything can be shown in a message. What was sent without an end
        before the other side closed is not a line.
        """
        while True:
            left = deadline - time.monotonic()
            if left <= 0:  # also while there is data: a flood of lines must not extend the deadline
                raise TimeoutError
            line = self.whole()
            if line is not None:
                return line
            self.connection.settimeout(left)
            if not self.receive():
                return None

    def whole(self) -> str | None:
        """The next line if all of it has been received."""
        line, end, rest = self._buffer.partition(b"\n")
        if len(line) > MOST_BYTES:
            raise InputError(f"a line of more than {MOST_BYTES} bytes", remedy="end lines with CR LF")
        if not end:
            return None
        self._buffer = rest
        return line.removesuffix(b"\r").decode("latin-1")

    def receive(self) -> bool:
        """Take what has come, as the connection's timeout says; False when the other side has closed."""
        try:
            chunk = self.connection.recv(_CHUNK)
        except TimeoutError:
            raise
        except OSError:
            return False
        self._buffer += chunk
        return bool(chunk)

    def send(self, text: str, deadline: float) -> bool:
        """Send a line; False when the other side has closed."""
        self.connection.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            self.connection.sendall(text.encode("latin-1") + b"\r\n")
        except TimeoutError:
            raise
        except OSError:
            return False
        return True


def is_comment(line: str) -> bool:
    """Is it a line that both sides ignore?"""
    return line.startswith(("#", ";"))
