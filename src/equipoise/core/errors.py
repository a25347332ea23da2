"""The exception for bad input: a card, a range, a gamedef, a menu, a protocol line, a damaged file.

Its text is one line: what is wrong, where, and what would be right. The command line prints the line and exits with
code 2; library callers can catch it as a `ValueError`. Control characters in it are shown, not obeyed.
"""

from __future__ import annotations

from equipoise.core.visible_text import visible

MOST_MESSAGE = 1000  # characters
MOST_WHERE = 300  # of these for the place, whose end is kept
MOST_REMEDY = 400  # of these for the remedy, where there is no room for more


class InputError(ValueError):
    """Bad input. `where` is the file and line, `remedy` says what would be right; both may be empty."""

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what = _one_line(what)
        self.where = _cut_start(visible(where), MOST_WHERE)
        self.remedy = _one_line(remedy)
        super().__init__(_sentence(self.what, self.where, self.remedy))

    def at(self, where: str) -> InputError:
        """The same error with a location: a file reader adds it to the error of a field parser."""
        return InputError(self.what, where=where, remedy=self.remedy)


def _sentence(what: str, where: str, remedy: str) -> str:
    """The whole message; if it is too long, the remedy is cut first and then what is wrong."""
    signs = len(": ") + len("; ")
    remedy = _cut(remedy, max(MOST_REMEDY, MOST_MESSAGE - signs - len(where) - len(what)))
    what = _cut(what, MOST_MESSAGE - signs - len(where) - len(remedy))
    text = f"{where}: {what}" if where else what
    return f"{text}; {remedy}" if remedy else text


def _one_line(text: str) -> str:
    """A text without line breaks and without anything that a terminal obeys; what is longer than a message is cut."""
    return _cut(visible(" ".join(text.split())), MOST_MESSAGE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _cut_start(text: str, most: int) -> str:
    return text if len(text) <= most else f"...{text[3 - most :]}"


MOST_COUNT = 10**18  # hands, deals or iterations: more than anybody waits for, and still a machine integer


def check_count(value: int, what: str, least: int = 1, most: int = MOST_COUNT) -> int:
    """Check a requested number of things, from `least` to `most`; `what` is their name."""
    if not least <= value <= most:
        raise InputError(f"the number of {what} is {_text(value)}", remedy=f"use {least:,} to {most:,}")
    return value


def check_minutes(minutes: float | None) -> None:
    """Check a limit of time, if there is one."""
    if minutes is not None and not minutes > 0:
        raise InputError(f"minutes must be positive, got {minutes:g}", remedy="leave them out to run to the end")


def shown(value: object, most: int = 40) -> str:
    """Input of any type, quoted for a message: escaped, and cut if it is long. Of a path the end is kept."""
    text = _text(value)
    return repr(_cut_start(text, most) if "/" in text else _cut(text, most))


def _text(value: object) -> str:
    """A value as text; Python refuses to print integers of thousands of digits."""
    try:
        return str(value)
    except (ValueError, RecursionError):
        return f"an integer of {value.bit_length():,} bits" if isinstance(value, int) else "too large to be shown"
