"""What a person sees at a table, in lines of at most 80 columns, and what is typed there.

On a terminal, cards have suit symbols and colours, a line says that the agent thinks, and cards of an all-in come after
a pause. Elsewhere there are letters, and nothing waits. A terminal that cannot show a character gets a plain one;
control characters in names are shown, not obeyed.
"""

from __future__ import annotations

import os
import termios
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from equipoise.cards.deck import RANKS, SUITS, Deck
from equipoise.core.visible_text import drawing_stream, visible_lines

WIDTH = 80
THINKING = "thinking ..."  # shorter than the message that kernels are compiled, which may be written over it
PAUSE = 0.8  # seconds before each street of an all-in
MOST_TYPED = 200  # characters of a line that are read
MOST_LINE = 1 << 16  # characters after which a line has no end
_SYMBOLS = "♣♦♥♠"
_COLOURS = ("green", "blue", "red", "default")  # of the suits c, d, h, s
_PLAIN = {"±": "+-", **dict(zip(_SYMBOLS, SUITS, strict=True))}


class Screen:
    """A stream of text for people."""

    def __init__(self, file: TextIO, deck: Deck) -> None:
        self.file, self.deck = drawing_stream(file), deck
        self.is_live = _is_terminal(file)
        width = min(WIDTH, Console(file=self.file).width) if self.is_live else WIDTH
        self.console = Console(file=self.file, width=width, highlight=False, emoji=False, markup=False)
        self.symbols = self.console.is_terminal and self._shows(_SYMBOLS) and not _is_plain_terminal()

    def say(self, *parts: str | Text, end: str = "\n") -> None:
        """Write a line, or several; long ones are broken between words."""
        text = Text()
        for part in parts:
            text.append(self._plain(part) if isinstance(part, str) else part)
        self.console.print(text, end=end)

    def cards(self, cards: Iterable[int]) -> Text:
        """Cards, separated by blanks."""
        suits = _SYMBOLS if self.symbols else SUITS
        return Text(" ").join(
            Text(RANKS[self.deck.rank(card)] + suits[self.deck.suit(card)], f"bold {_COLOURS[self.deck.suit(card)]}")
            for card in cards
        )

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """Shows on a terminal that the agent thinks; nothing of it is left."""
        if not self.is_live:
            yield
            return
        self._write(THINKING)
        try:
            yield
        finally:  # blanks erase the line on every terminal
            self._write(f"\r{' ' * len(THINKING)}\r")

    def pause(self) -> None:
        """Let a person at a terminal look."""
        if self.is_live:
            time.sleep(PAUSE)

    def _write(self, text: str) -> None:
        self.file.write(text)
        self.file.flush()

    def _shows(self, text: str) -> bool:
        """Whether the stream's encoding has all characters."""
        try:
            text.encode(self.file.encoding or "utf-8")
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def _plain(self, text: str) -> str:
        """A text with plain characters in place of those that cannot be shown, or that a terminal would obey."""
        letters = visible_lines(text)
        return "".join(letter if self._shows(letter) else _PLAIN.get(letter, "?") for letter in letters)


class Keyboard:
    """Lines that a person types, or that a script has in store."""

    def __init__(self, source: TextIO) -> None:
        self.source = source
        self.is_live = _is_terminal(source)

    @contextmanager
    def silent(self) -> Iterator[None]:
        """What is typed at a terminal in the meantime is not shown."""
        before = self._mode()
        if before is None:
            yield
            return
        descriptor = self.source.fileno()
        termios.tcsetattr(descriptor, termios.TCSANOW, [*before[:3], before[3] & ~termios.ECHO, *before[4:]])
        try:
            yield
        finally:
            with suppress(termios.error):  # the terminal has gone
                termios.tcsetattr(descriptor, termios.TCSANOW, before)

    def forget(self) -> None:
        """Drop what was typed ahead at a terminal: it answers no question that was seen."""
        if self._mode() is not None:
            termios.tcflush(self.source.fileno(), termios.TCIFLUSH)

    def _mode(self) -> list[Any] | None:
        """The settings of the terminal, if it is one."""
        if not self.is_live:
            return None
        try:
            return termios.tcgetattr(self.source.fileno())
        except (termios.error, OSError, ValueError):  # a stream that only calls itself a terminal
            return None

    def line(self) -> str | None:
        """The next line, cut if it is long; None at the end of the input, or where it is no text or has no end."""
        try:
            line = more = self.source.readline(MOST_TYPED)
            for _ in range(MOST_LINE // MOST_TYPED):
                if len(more) < MOST_TYPED or more.endswith("\n"):
                    break
                more = self.source.readline(MOST_TYPED)
                line = f"{line[:MOST_TYPED]}..."
            else:
                return None
        except UnicodeDecodeError:
            return "" if self.is_live else None
        return line.strip() if line else None


def cut(name: str, most: int) -> str:
    """A name of at most some columns."""
    return name if cell_len(name) <= most else f"{set_cell_size(name, most - 3)}..."


def _is_terminal(file: TextIO) -> bool:
    try:
        return file.isatty()
    except ValueError:  # a closed stream
        return False


def _is_plain_terminal() -> bool:
    """A terminal that says that it has no more than plain letters."""
    return os.environ.get("TERM") in ("dumb", "unknown") or os.environ.get("LC_ALL") in ("C", "POSIX")
