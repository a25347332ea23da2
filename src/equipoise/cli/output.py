"""Where a command writes: standard output and standard error, whatever they are connected to.

Output that cannot be written ends the command with one line. Progress is only told: where standard error is closed or
its device is full, the work goes on without. Characters that a terminal cannot show are written in its own.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import TextIO

PLAIN = {"±": "+-", "…": "...", "♣": "c", "♦": "d", "♥": "h", "♠": "s"}
_ERRORS = "equipoise.plain"


class _Lossy(io.FileIO):
    """A file that forgets what cannot be written to it."""

    def write(self, data: object) -> int:
        """Write what can be written."""
        try:
            return super().write(data) or 0  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(data))  # type: ignore[arg-type]


def open_output() -> None:
    """Prepare the three standard streams; a closed standard output is refused."""
    codecs.register_error(_ERRORS, _plain)
    closed = sys.stdout is None
    _fill_descriptors()
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123
    sys.stderr = _progress()
    if closed:
        raise OSError(errno.EBADF, "standard output is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_ERRORS)


def close_output() -> None:
    """Write what is waiting; an error of the device shows here at the latest."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _fill_descriptors() -> None:
    """Open closed standard descriptors on the null device: else the next file would be taken for one of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _progress() -> TextIO:
    """Standard error, which loses what cannot be written."""
    before = sys.stderr
    if before is not None and not isinstance(before, io.TextIOWrapper):
        return before  # somebody has replaced it
    encoding = before.encoding if before is not None else "utf-8"
    raw = io.BufferedWriter(_Lossy(2, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding, _ERRORS, line_buffering=True)


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Characters that an encoding does not have: in plain letters, or else escaped."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    plain = (PLAIN.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in text)
    return "".join(plain), error.end
