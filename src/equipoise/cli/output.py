"""Standard output and standard error, whatever they are connected to.

If output cannot be written, the command ends with one line. Progress is optional: if standard error is closed or full,
the work continues without it. Characters that the terminal cannot show are replaced by plain ones, and those that it
would obey are shown, whoever's text they are in.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import TextIO

from equipoise.core.visible_text import visible_stream

PLAIN = {"±": "+-", "…": "...", "─": "-", "━": "-", "╸": " ", "╺": " ", "♣": "c", "♦": "d", "♥": "h", "♠": "s"}
_ERRORS = "equipoise.plain"


class _Lossy(io.FileIO):
    """A file that drops what cannot be written to it."""

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
    sys.stderr = visible_stream(_progress())
    if closed:
        raise OSError(errno.EBADF, "standard output is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_ERRORS)
    sys.stdout = visible_stream(sys.stdout)


def close_output() -> None:
    """Flush; errors of the device appear here at the latest."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _fill_descriptors() -> None:
    """Open closed standard descriptors on the null device; else the next file opened would take their place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _progress() -> TextIO:
    """Standard error that drops what cannot be written."""
    before = sys.stderr
    if before is not None and not isinstance(before, io.TextIOWrapper):
        return before  # replaced by the caller
    encoding = before.encoding if before is not None else "utf-8"
    raw = io.BufferedWriter(_Lossy(2, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding, _ERRORS, line_buffering=True)


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that an encoding lacks by plain letters, or escape them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    plain = (PLAIN.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in text)
    return "".join(plain), error.end
