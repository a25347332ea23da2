"""The exception for bad input: a card, a range, a gamedef, a menu, a protocol line, a damaged file.

Its text is one line: what is wrong, where, and what would be right. The command line prints the line and exits with
code 2; library callers can catch it as a `ValueError`.
"""

from __future__ import annotations


class InputError(ValueError):
    """Bad input. `where` is the file and line, `remedy` says what would be right; both may be empty."""

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what = _one_line(what)
        self.where = _one_line(where)
        self.remedy = _one_line(remedy)
        text = f"{self.where}: {self.what}" if where else self.what
        super().__init__(f"{text}; {self.remedy}" if remedy else text)

    def at(self, where: str) -> InputError:
        """The same error with a location: a file reader adds it to the error of a field parser."""
        return InputError(self.what, where=where, remedy=self.remedy)


def _one_line(text: str) -> str:
    """A text without line breaks; what is longer than a message is cut."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_MESSAGE else f"{line[: MOST_MESSAGE - 3]}..."


MOST_MESSAGE = 1000  # characters of each part of a message
MOST_COUNT = 10**18  # hands, deals or iterations: more than anybody waits for, and still a machine integer


def check_count(value: int, what: str, least: int = 1, most: int = MOST_COUNT) -> int:
    """Check a requested number of things, from `least` to `most`; `what` is their name."""
    if not least <= value <= most:
        raise InputError(f"{_text(value)} {what}", remedy=f"use {least:,} to {most:,}")
    return value


def check_minutes(minutes: float | None) -> None:
    """Check a limit of time, if there is one."""
    if minutes is not None and not minutes > 0:
        raise InputError(f"{minutes} minutes", remedy="play for some time")


def shown(value: object, most: int = 40) -> str:
    """Input of any type, quoted for a message: escaped, and cut if it is long. Of a path the end is kept."""
    text = _text(value)
    if len(text) > most:
        text = f"...{text[3 - most :]}" if "/" in text else f"{text[: most - 3]}..."
    return repr(text)


def _text(value: object) -> str:
    """A value as text; Python refuses to print integers of thousands of digits."""
    try:
        return str(value)
    except (ValueError, RecursionError):
        return f"an integer of {value.bit_length():,} bits" if isinstance(value, int) else "too large to be shown"
