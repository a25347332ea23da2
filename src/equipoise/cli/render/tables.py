"""Tables and sentences as plain text that fits the terminal and never loses a digit.

A table that is wider than the terminal first folds its words, then continues below with its first column repeated.
Without a terminal it is as wide as it needs to be.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

from equipoise.core.digits import whole_number
from equipoise.core.visible_text import visible

GAP = "  "  # between columns
NARROWEST = 40  # columns of a terminal; narrower ones wrap
USUAL_WIDTH = 80  # columns of text to be laid out where there is no terminal


def screen_width() -> int | None:
    """The columns of the terminal, or those that COLUMNS names; None: output may be as wide as it needs."""
    if sys.stdout.isatty() or whole_number(os.environ.get("COLUMNS", "")):
        return max(shutil.get_terminal_size().columns, NARROWEST)
    return None


def layout_width() -> int:
    """The columns to lay text out in: those of the screen, or 80 without one."""
    return screen_width() or USUAL_WIDTH


def say(text: str) -> None:
    """Print a sentence, wrapped at words on a terminal."""
    width = screen_width()
    text = visible(text)
    print("\n".join(_folded(text, width, indent=GAP)) if width else text)


@dataclass
class Table:
    """A table: the first `left` columns, and the last if `words`, hold words; the others hold numbers."""

    title: str
    columns: list[str]
    left: int = 1
    words: bool = False
    rows: list[tuple[str, ...] | None] = field(default_factory=list)  # None: a rule

    def add_row(self, *cells: str) -> None:
        """Add a row."""
        self.rows.append(tuple(map(visible, cells)))

    def add_section(self) -> None:
        """Add a rule."""
        self.rows.append(None)

    def lines(self, width: int | None = None) -> Iterator[str]:
        """The text, no line of which is longer than `width`."""
        if self.title:
            yield from _folded(self.title, width) if width else [self.title]
        widths = [self._widest(at) for at in range(len(self.columns))]
        if width is not None and _total(widths) > width:
            widths = self._narrowed(width)
        for number, part in enumerate(_parts(widths, width)):
            if number:
                yield ""
            yield from self._part(part, widths)

    def _is_words(self, at: int) -> bool:
        return at < self.left or (self.words and at == len(self.columns) - 1)

    def _cells(self, at: int) -> list[str]:
        return [row[at] for row in self.rows if row]

    def _widest(self, at: int) -> int:
        return max(map(len, [self.columns[at], *self._cells(at)]), default=0)

    def _narrowed(self, width: int) -> list[int]:
        """Fold headers, and words if the table then fits; if it does not, only cells wider than half the screen."""
        header = (max(map(len, column.split()), default=0) for column in self.columns)
        widths = [max([word, *map(len, self._cells(at))]) for at, word in enumerate(header)]
        least = [self._longest_word(at, width // 4) if self._is_words(at) else widths[at] for at in range(len(widths))]
        if _total(least) > width:
            half = (width - len(GAP)) // 2
            return [min(each, half) if self._is_words(at) else each for at, each in enumerate(widths)]
        while _total(widths) > width:
            widths[max((at for at in range(len(widths)) if widths[at] > least[at]), key=lambda at: widths[at])] -= 1
        return widths

    def _longest_word(self, at: int, most: int) -> int:
        """The width below which a column of words would break one; words longer than `most` may be broken."""
        words = (word for cell in (self.columns[at], *self._cells(at)) for word in cell.split())
        return min(max(map(len, words), default=0), most)

    def _part(self, part: list[int], widths: list[int]) -> Iterator[str]:
        """Some columns of the table."""
        yield from self._row([self.columns[at] for at in part], part, widths)
        rule = "─" * _total([widths[at] for at in part])
        yield rule
        for row in self.rows:
            if row is None:
                yield rule
            else:
                yield from self._row([row[at] for at in part], part, widths)

    def _row(self, cells: list[str], part: list[int], widths: list[int]) -> Iterator[str]:
        """The lines of a row, one or more: cells that were folded have several."""
        folded = [_folded(cell, widths[at]) for cell, at in zip(cells, part, strict=True)]
        for line in range(max(map(len, folded), default=0)):
            shown = []
            for lines, at in zip(folded, part, strict=True):
                text = lines[line] if line < len(lines) else ""
                shown.append(text.ljust(widths[at]) if self._is_words(at) else text.rjust(widths[at]))
            yield GAP.join(shown).rstrip()


def print_table(table: Table) -> None:
    """Print a table and an empty line."""
    print("\n".join((*table.lines(screen_width()), "")))


def _total(widths: list[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _parts(widths: list[int], width: int | None) -> list[list[int]]:
    """Columns in parts that fit, the first column in each."""
    if width is None:
        return [list(range(len(widths)))]
    parts: list[list[int]] = [[0]]
    for at in range(1, len(widths)):
        if len(parts[-1]) > 1 and _total([widths[column] for column in (*parts[-1], at)]) > width:
            parts.append([0])
        parts[-1].append(at)
    return parts


def _folded(text: str, width: int, indent: str = "") -> list[str]:
    """A text in lines of at most `width`; a longer word is broken."""
    lines = textwrap.wrap(text, max(width, 1), subsequent_indent=indent, break_on_hyphens=False)
    return lines or [""]


def rate_text(value: float) -> str:
    """A rate or count to three digits: 310 M."""
    for limit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {sign}"
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    """1:02:03, or 2:03 below an hour."""
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
